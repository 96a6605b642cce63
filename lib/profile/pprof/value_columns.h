/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of values of a pprof file being written, and which profile of the
 * batch adds to which.
 *
 * A column is a (type, unit) of samples. Profiles that came from a pprof file say
 * so by the attribute pprof.scope.sample_type_order of their scope: they keep
 * their order, and columns of the same type apart. Without any of those, columns
 * stand in one order whatever the batch begins with: samples, then by type and
 * unit. To other profiles that count
 * samples of a known worth (type samples, unit count, and a period of, say, cpu/nanoseconds) Go's
 * convention adds a derived column of that worth, after all others, since viewers
 * show the last one first; not when the scope has such a profile already.
 */
#pragma once

#include "base/base.h"

#include <profcol/batch.h>

struct value_column {
	uint32_t type, unit; /* string ids of the batch */
	uint32_t repetition; /* columns of the same type and unit before it */
	uint32_t last_scope; /* the last scope with a profile of it, plus 1 */
};

enum { NO_COLUMN = UINT32_MAX };

/* Columns of a file; real ones have up to ten. Each sample has a value in each. */
enum { PPROF_MAX_COLUMNS = 256 };

/* Where a profile's samples go. */
struct profile_columns {
	uint32_t own;
	uint32_t derived; /* value times the period; NO_COLUMN = none */
};

struct value_columns {
	VECTOR(struct value_column) columns;
	struct profile_columns *profiles; /* by profile of the batch */
	uint32_t first_derived;           /* NO_COLUMN = none */
	uint32_t first_seen;              /* the kind that the batch begins with */
	bool is_from_pprof;               /* the first scope is */
};

/* To be deinited after a failure too. */
PROFCOL_MUST_CHECK struct profcol_error *value_columns_init(struct value_columns *columns,
							    const struct profcol_batch *batch);
void value_columns_deinit(struct value_columns *columns);
