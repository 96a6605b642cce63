/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that decoding one file may take: an arena with a limit, which tells a
 * file that wants too much from a machine that has too little; and, where several files
 * are decoded at once, its share of what all of them may take.
 */
#pragma once

#include "base/base.h"

#include <profcol/errors.h>

struct budget {
	struct arena *arena; /* borrowed */
	size_t max_bytes;    /* of the arena and the batch together */
	size_t refused;      /* bytes of the allocation that failed last; 0 = none did */

	struct memory_share *share; /* borrowed; NULL = none */
	size_t charged;             /* bytes taken of it here */
	size_t batch_bytes;         /* of the batch, when it was last looked at */
	bool share_refused;
};

/* The batch has grown to @bytes. False when that is more than the share gives. */
bool budget_set_batch(struct budget *budget, size_t bytes);

/* As arena_alloc(). */
void *budget_alloc(struct budget *budget, size_t bytes);

/* Why the last call failed: BAD_DATA when it was the limit, NO_MEMORY otherwise. */
struct profcol_error *budget_error(const struct budget *budget);

/* The limit is passed by @bytes in all. */
struct profcol_error *budget_exceeded(const struct budget *budget);
