/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growable arrays of plain values: `struct { T *items; size_t count, capacity; }`,
 * declared in place and zero-initialized. Growth doubles; clearing keeps memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define VECTOR(type)                                                                               \
	struct {                                                                                   \
		type *items;                                                                       \
		size_t count, capacity;                                                            \
	}

static inline bool vector_grow(void **items, size_t *capacity, size_t wanted, size_t item_size)
{
	size_t grown = *capacity ? *capacity : 8;
	void *memory;

	while (grown < wanted) {
		if (grown > SIZE_MAX / 2)
			return false;
		grown *= 2;
	}
	if (grown > SIZE_MAX / item_size)
		return false;
	memory = realloc(*items, grown * item_size);
	if (!memory)
		return false;
	*items = memory;
	*capacity = grown;
	return true;
}

/* Room for @extra more items. False without memory; the vector is then unchanged. */
#define VECTOR_RESERVE(vector, extra)                                                              \
	((vector)->count + (extra) <= (vector)->capacity ||                                        \
	 vector_grow((void **)&(vector)->items, &(vector)->capacity, (vector)->count + (extra),    \
		     sizeof(*(vector)->items)))

/* Append @value. False without memory. */
#define VECTOR_PUSH(vector, value)                                                                 \
	(VECTOR_RESERVE(vector, 1) && ((vector)->items[(vector)->count++] = (value), true))

#define VECTOR_DEINIT(vector)                                                                      \
	do {                                                                                       \
		free((vector)->items);                                                             \
		(vector)->items = NULL;                                                            \
		(vector)->count = (vector)->capacity = 0;                                          \
	} while (0)
