/* SPDX-License-Identifier: Apache-2.0 */
/* The section `select` of the receiver's options, decoded (table in options.c). */
#pragma once

#include <profcol/options.h>

#include <stdint.h>

/* A text is one of `values`, or one of `regexes` occurs in it. Both empty: not asked for. */
struct select_text_config {
	struct profcol_list values, regexes;
};

/* All that is asked for has to hold. */
struct select_rule_config {
	struct select_text_config executable, comm, cgroup, container_id;
	int64_t uid; /* negative: not asked for */
	int64_t pid; /* 0: not asked for */
};

struct select_config {
	struct profcol_sections include, exclude; /* struct select_rule_config */
};

extern const struct profcol_option select_options[]; /* of struct select_config */
