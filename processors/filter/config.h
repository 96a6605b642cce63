/* SPDX-License-Identifier: Apache-2.0 */
/* What the options of `filter` are read into. */
#pragma once

#include <profcol/options.h>

#include <stdbool.h>

/* What becomes of a sample that a condition has no answer for. */
enum error_mode {
	ERROR_MODE_IGNORE,    /* it stays, and a line is logged */
	ERROR_MODE_SILENT,    /* it stays */
	ERROR_MODE_PROPAGATE, /* its batch is refused */
};

/* The same in a group of conditions: 0 = as the whole filter has it, else 1 + the mode. */
enum { ERROR_MODE_NOT_GIVEN };

/* Contexts by their options: 0 = to be found out from the paths, else 1 + enum ottl_context. */
enum { CONTEXT_NOT_GIVEN };

struct filter_group_config {
	int context;
	int error_mode;
	struct profcol_list conditions;
};

struct filter_profiles_config {
	struct profcol_list resource, profile;
};

/* One of `include_attributes` or `exclude_attributes`. */
struct filter_rule_config {
	int level; /* enum attributes_level */
	const char *key;
	struct profcol_list values, regexes;
};

struct filter_config {
	int error_mode;                             /* enum error_mode */
	struct profcol_sections profile_conditions; /* struct filter_group_config */
	struct filter_profiles_config profiles;
	/* struct filter_rule_config */
	struct profcol_sections include_attributes, exclude_attributes;
};

extern const struct profcol_option filter_options[];
