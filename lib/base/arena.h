/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory for many small things that die together: one configuration, one parse.
 * Bump allocation from chunks under a byte budget. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;

/* @max_bytes bounds all memory the arena takes; 0 = unbounded. NULL without memory. */
struct arena *arena_create(size_t max_bytes);
void arena_destroy(struct arena *arena); /* accepts NULL */

/* Zeroed, aligned to 16, valid until destroy. NULL without memory or past the budget. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* NUL-terminated copies; NULL as above. */
char *arena_strdup(struct arena *arena, const char *text);
char *arena_strndup(struct arena *arena, const char *bytes, size_t length);
char *arena_printf(struct arena *arena, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Was something refused because of the budget? */
bool arena_is_exhausted(const struct arena *arena);

/* Bytes taken from the system so far. */
size_t arena_memory(const struct arena *arena);

static inline void arena_cleanup(struct arena **arena)
{
	arena_destroy(*arena);
}
#define CLEANUP_ARENA __attribute__((cleanup(arena_cleanup)))
