/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of one evaluation: bump allocation that is given up all at once, and kept for the next.
 * Zero-initialized, then deinit. One thread at a time.
 */
#pragma once

#include <stddef.h>

enum {
	SCRATCH_CHUNKS = 10,
	SCRATCH_FIRST_BYTES = 4 << 10, /* each chunk is twice the one before: 4 MiB in all */
};

struct scratch {
	char *chunks[SCRATCH_CHUNKS]; /* owned */
	unsigned int chunk;           /* the one in use */
	size_t used;                  /* bytes of it */
};

/* Aligned to 16, valid until the reset. NULL without memory, or when there is no more room. */
void *scratch_alloc(struct scratch *scratch, size_t bytes);

/* As above for @count things of @size bytes. */
void *scratch_array(struct scratch *scratch, size_t count, size_t size);

void scratch_reset(struct scratch *scratch);
void scratch_deinit(struct scratch *scratch);
