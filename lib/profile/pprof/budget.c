// SPDX-License-Identifier: Apache-2.0
#include "budget.h"

enum { CHUNK_HEAD_BYTES = 64 }; /* what an arena adds to an allocation, at most */

void *budget_alloc(struct budget *budget, size_t bytes)
{
	void *memory = arena_alloc(budget->arena, bytes);

	if (!memory)
		budget->refused = bytes ? bytes : 1;
	return memory;
}

struct profcol_error *budget_exceeded(const struct budget *budget)
{
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "pprof takes more than the limit of %zu bytes of memory to "
				    "decode; raise the limit if the file can be trusted",
				    budget->max_bytes);
}

struct profcol_error *budget_error(const struct budget *budget)
{
	size_t left = budget->max_bytes - arena_memory(budget->arena);

	if (left < CHUNK_HEAD_BYTES || budget->refused > left - CHUNK_HEAD_BYTES)
		return budget_exceeded(budget);
	return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to decode pprof");
}
