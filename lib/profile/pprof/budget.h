/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory that decoding one file may take: an arena with a limit, which tells a
 * file that wants too much from a machine that has too little.
 */
#pragma once

#include "base/base.h"

#include <profcol/errors.h>

struct budget {
	struct arena *arena; /* borrowed */
	size_t max_bytes;    /* of the arena and the batch together */
	size_t refused;      /* bytes of the allocation that failed last; 0 = none did */
};

/* As arena_alloc(). */
void *budget_alloc(struct budget *budget, size_t bytes);

/* Why the last allocation failed: BAD_DATA when it was the limit, NO_MEMORY otherwise. */
struct profcol_error *budget_error(const struct budget *budget);

/* The limit is passed by @bytes in all. */
struct profcol_error *budget_exceeded(const struct budget *budget);
