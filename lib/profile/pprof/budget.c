// SPDX-License-Identifier: Apache-2.0
#include "budget.h"

enum {
	CHUNK_HEAD_BYTES = 64,        /* what an arena adds to an allocation, at most */
	SHARE_PIECE_BYTES = 256 << 10 /* what is taken of a share at a time: others ask it, too */
};

static bool charge(struct budget *budget, size_t used)
{
	size_t piece;

	if (!budget->share || used <= budget->charged)
		return true;
	piece = used - budget->charged;
	if (piece < SHARE_PIECE_BYTES)
		piece = SHARE_PIECE_BYTES;
	budget->share_refused = !memory_share_take(budget->share, piece);
	if (!budget->share_refused)
		budget->charged += piece;
	return !budget->share_refused;
}

bool budget_set_batch(struct budget *budget, size_t bytes)
{
	budget->batch_bytes = bytes;
	return charge(budget, arena_memory(budget->arena) + bytes);
}

void *budget_alloc(struct budget *budget, size_t bytes)
{
	size_t used = arena_memory(budget->arena) + budget->batch_bytes;
	void *memory = NULL;

	// What is beyond the limit anyway is not asked for.
	if (bytes <= budget->max_bytes && charge(budget, used + bytes))
		memory = arena_alloc(budget->arena, bytes);
	if (!memory)
		budget->refused = bytes ? bytes : 1;
	return memory;
}

struct profcol_error *budget_exceeded(const struct budget *budget)
{
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "pprof takes more than the limit of %zu bytes of memory to "
				    "decode",
				    budget->max_bytes);
}

struct profcol_error *budget_error(const struct budget *budget)
{
	size_t left = budget->max_bytes - arena_memory(budget->arena);

	if (budget->share_refused)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to decode pprof: %s",
					    memory_share_reason(budget->share));
	if (left < CHUNK_HEAD_BYTES || budget->refused > left - CHUNK_HEAD_BYTES)
		return budget_exceeded(budget);
	return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to decode pprof");
}
