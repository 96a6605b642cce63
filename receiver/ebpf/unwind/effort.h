/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds how long the rules of one range of foreign code may take to find: a file may have any
 * number of entries, each of which names the same long program. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	/* Of a page of 64 KiB. Compilers write 100 to 10,000 bytes for one; the last page of a
	 * function of ten megabytes, whose program is run from its start, has taken less than a
	 * million. */
	EFFORT_PAGE = 2 << 20,
	EFFORT_ENTRY = 32, /* of an entry, beside its instructions */
};

/* An effort counts bytes of instructions, or steps of a table, that may still be read. */
struct effort {
	uint64_t left;
};

/* False: so much is not left, and nothing is from now on. */
static inline bool effort_spend(struct effort *effort, uint64_t amount)
{
	bool enough = amount <= effort->left;

	effort->left = enough ? effort->left - amount : 0;
	return enough;
}
