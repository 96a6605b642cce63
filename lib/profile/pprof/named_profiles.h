/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The profiles of a batch that a program shows by a name (PROFCOL_PROFILE_NAME): what they are
 * called, and which of those that tell how things stand are out of date.
 */
#pragma once

#include <profcol/batch.h>

struct value_columns;

/* By profile of the batch. */
struct named_profiles {
	uint32_t *names;     /* string ids; 0 = none */
	bool *is_superseded; /* a later one says it anew: of the same resource, name and column */
};

/* False without memory; to be deinited all the same. */
bool named_profiles_init(struct named_profiles *named, const struct profcol_batch *batch,
			 const struct value_columns *columns);
void named_profiles_deinit(struct named_profiles *named);
