/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front of a batch: its first observations with the rows of the tree above
 * them. Private to lib/profile.
 */
#pragma once

#include "columns.h"

/* How many rows of each table belong to the front; the last of each may do so in part. */
struct front {
	uint32_t resources, scopes, profiles;
	uint32_t samples;      /* whole ones */
	uint32_t observations; /* of the sample after them */
};

/*
 * The front with @samples whole samples and @observations, less than all, of the
 * next. Rows without samples belong to it when they stand before its last sample;
 * those at the very end, too, when all samples do.
 */
struct front front_of(const struct profcol_batch *batch, uint32_t samples, uint32_t observations);

/* Observations of a sample. */
uint32_t front_observations(const struct profcol_sample *sample);

/*
 * The front as a batch of its own with what it refers to and nothing else. Shares
 * the tables of @batch when that is all of it.
 */
PROFCOL_MUST_CHECK struct profcol_error *
front_extract(const struct profcol_batch *batch, struct front front, struct profcol_batch **ret);
