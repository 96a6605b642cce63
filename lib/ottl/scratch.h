/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of one evaluation: bump allocation that is given up all at once, and kept for the next.
 * Zero-initialized, then deinit. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	SCRATCH_CHUNKS = 10,
	SCRATCH_FIRST_BYTES = 4 << 10, /* each chunk is twice the one before: 4 MiB in all */
};

struct scratch {
	char *chunks[SCRATCH_CHUNKS]; /* owned */
	unsigned int chunk;           /* the one in use */
	size_t used;                  /* bytes of it */
	bool is_exhausted;            /* something was refused since the reset */
};

/* What is in use at some time. */
struct scratch_mark {
	unsigned int chunk;
	size_t used;
};

/* Aligned to 16, valid until the reset. NULL without memory, or when there is no more room. */
void *scratch_alloc(struct scratch *scratch, size_t bytes);

/* As above for @count things of @size bytes. */
void *scratch_array(struct scratch *scratch, size_t count, size_t size);

static inline struct scratch_mark scratch_mark(const struct scratch *scratch)
{
	return (struct scratch_mark){ scratch->chunk, scratch->used };
}

/* Give up what was allocated since @mark, which was taken since the reset. */
static inline void scratch_release(struct scratch *scratch, struct scratch_mark mark)
{
	scratch->chunk = mark.chunk;
	scratch->used = mark.used;
}

void scratch_reset(struct scratch *scratch);
void scratch_deinit(struct scratch *scratch);
