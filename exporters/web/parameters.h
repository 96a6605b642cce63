/* SPDX-License-Identifier: Apache-2.0 */
/* What a client asks for: the query of its URL. docs/web.md has the words. */
#pragma once

#include "base/base.h"
#include "history.h"
#include "ottl/ottl.h"

#include <profcol/errors.h>

enum {
	PARAMETERS_NODES_DEFAULT = 100000,
	PARAMETERS_NODES_MAX = 1000000,
	PARAMETERS_SECONDS_DEFAULT = 30, /* as Go's */
	PARAMETERS_SECONDS_MAX = 600,
};

/* A part of what is kept: all conditions have to be true of a sample. */
struct selection {
	struct history_range range;
	VECTOR(struct ottl_condition *) conditions; /* owned */
};

struct parameters {
	char *type, *unit; /* owned; NULL = not given */
	char *group;       /* owned; NULL = none */
	struct selection now, base;
	bool has_base;
	bool has_range; /* from or to was given */
	bool has_seconds;
	uint64_t seconds;
	size_t nodes_max;
};

/* BAD_DATA with a text for the client, who wrote it. On success the caller's to deinit. */
PROFCOL_MUST_CHECK struct profcol_error *parameters_init(struct parameters *parameters,
							 const char *query, uint64_t now_unix_ns);

/* Narrow what is asked for by one more condition, which the program has written. */
PROFCOL_MUST_CHECK struct profcol_error *parameters_narrow(struct parameters *parameters,
							   const char *condition);
void parameters_deinit(struct parameters *parameters);
