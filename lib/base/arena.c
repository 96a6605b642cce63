// SPDX-License-Identifier: Apache-2.0
#include "arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 16, FIRST_CHUNK = 4096, LARGEST_CHUNK = 1 << 20 };

struct chunk {
	struct chunk *next;
	size_t size; /* of cells */
	_Alignas(ALIGNMENT) unsigned char cells[];
};

struct arena {
	struct chunk *chunks; /* the one in use first */
	size_t used;          /* of the first chunk */
	size_t next_size;
	size_t memory;
	size_t max_bytes;
	bool exhausted; /* of the budget */
};

struct arena *arena_create(size_t max_bytes)
{
	struct arena *arena = calloc(1, sizeof(*arena));

	if (!arena)
		return NULL;
	arena->next_size = FIRST_CHUNK;
	arena->max_bytes = max_bytes ? max_bytes : SIZE_MAX;
	return arena;
}

void arena_destroy(struct arena *arena)
{
	if (!arena)
		return;
	for (struct chunk *chunk = arena->chunks, *next; chunk; chunk = next) {
		next = chunk->next;
		free(chunk);
	}
	free(arena);
}

static bool arena_grow(struct arena *arena, size_t bytes)
{
	size_t size = bytes > arena->next_size ? bytes : arena->next_size;
	struct chunk *chunk;

	if (size > SIZE_MAX - sizeof(*chunk) ||
	    size + sizeof(*chunk) > arena->max_bytes - arena->memory) {
		// Close to the budget an exact fit may still do.
		size = bytes;
		if (size > SIZE_MAX - sizeof(*chunk) ||
		    size + sizeof(*chunk) > arena->max_bytes - arena->memory) {
			arena->exhausted = true;
			return false;
		}
	}
	chunk = calloc(1, sizeof(*chunk) + size);
	if (!chunk)
		return false;
	chunk->size = size;
	chunk->next = arena->chunks;
	arena->chunks = chunk;
	arena->used = 0;
	arena->memory += sizeof(*chunk) + size;
	if (arena->next_size < LARGEST_CHUNK)
		arena->next_size *= 2;
	return true;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
	void *result;

	if (bytes > SIZE_MAX - ALIGNMENT)
		return NULL;
	bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	if ((!arena->chunks || bytes > arena->chunks->size - arena->used) &&
	    !arena_grow(arena, bytes))
		return NULL;
	result = arena->chunks->cells + arena->used;
	arena->used += bytes;
	return result;
}

char *arena_strndup(struct arena *arena, const char *bytes, size_t length)
{
	char *copy = length < SIZE_MAX ? arena_alloc(arena, length + 1) : NULL;

	if (copy && length)
		memcpy(copy, bytes, length);
	return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
	va_list arguments;
	char *text = NULL;
	int length;

	va_start(arguments, format);
	length = vsnprintf(NULL, 0, format, arguments);
	va_end(arguments);
	if (length < 0)
		return NULL;
	text = arena_alloc(arena, (size_t)length + 1);
	if (!text)
		return NULL;
	va_start(arguments, format);
	vsnprintf(text, (size_t)length + 1, format, arguments);
	va_end(arguments);
	return text;
}

bool arena_is_exhausted(const struct arena *arena)
{
	return arena->exhausted;
}

size_t arena_memory(const struct arena *arena)
{
	return arena->memory;
}
