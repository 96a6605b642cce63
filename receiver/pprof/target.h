/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A target is one profile of one server: the URLs of a configuration, each with every name that it
 * is asked for. Pure.
 */
#pragma once

#include "config.h"

#include <stdbool.h>
#include <stddef.h>

/* One profile of one server. */
struct target {
	char *url;            /* owned, as all texts */
	char *name;           /* "heap": the last part of its path */
	char *address, *port; /* of the server; an address without brackets */
	char *path; /* "/app": what comes before /debug/pprof, or before the name; or "" */
	uint64_t duration_ns; /* for which the server samples, while we wait */
};

/* URLs that are configured, and one of them, borrowed. */
size_t target_url_count(const struct pprof_remote_config *config);
const char *target_url(const struct pprof_remote_config *config, size_t index);

/* Targets in all. */
size_t target_count(const struct pprof_remote_config *config);

/* Target @index; false without memory. To be deinited after failures, too. */
bool target_init(struct target *target, const struct pprof_remote_config *config, size_t index);
void target_deinit(struct target *target);

/* May @text stand for a profile? Letters, digits, '_', '-', '.', 64 at most. */
bool target_is_name(const char *text);
