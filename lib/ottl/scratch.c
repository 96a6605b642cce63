// SPDX-License-Identifier: Apache-2.0
#include "scratch.h"

#include <stdlib.h>

enum { ALIGNMENT = 16 };

static void *alloc(struct scratch *scratch, size_t bytes)
{
	size_t room = (size_t)SCRATCH_FIRST_BYTES << scratch->chunk;
	void *memory;

	if (bytes > (size_t)SCRATCH_FIRST_BYTES << SCRATCH_CHUNKS)
		return NULL;
	bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	while (scratch->used + bytes > room) {
		if (scratch->chunk + 1 == SCRATCH_CHUNKS)
			return NULL;
		scratch->chunk++;
		scratch->used = 0;
		room *= 2;
	}
	if (!scratch->chunks[scratch->chunk])
		scratch->chunks[scratch->chunk] = malloc(room);
	if (!scratch->chunks[scratch->chunk])
		return NULL;
	memory = scratch->chunks[scratch->chunk] + scratch->used;
	scratch->used += bytes;
	return memory;
}

void *scratch_alloc(struct scratch *scratch, size_t bytes)
{
	void *memory = alloc(scratch, bytes);

	scratch->is_exhausted |= !memory;
	return memory;
}

void *scratch_array(struct scratch *scratch, size_t count, size_t size)
{
	size_t bytes;

	return __builtin_mul_overflow(count, size, &bytes) ? NULL : scratch_alloc(scratch, bytes);
}

void scratch_reset(struct scratch *scratch)
{
	scratch->chunk = 0;
	scratch->used = 0;
	scratch->is_exhausted = false;
}

void scratch_deinit(struct scratch *scratch)
{
	for (unsigned int i = 0; i < SCRATCH_CHUNKS; i++)
		free(scratch->chunks[i]);
	*scratch = (struct scratch){ 0 };
}
