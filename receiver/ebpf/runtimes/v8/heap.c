// SPDX-License-Identifier: Apache-2.0
#include "heap.h"

#include <string.h>

bool v8_read(const struct v8_heap *heap, uint64_t object, uint64_t offset, void *to, size_t bytes)
{
	return v8_is_tagged(object) &&
	       heap->memory->read(heap->memory->context, object - V8_TAG + offset, to, bytes);
}

bool v8_word(const struct v8_heap *heap, uint64_t object, uint64_t offset, uint64_t *ret)
{
	return v8_read(heap, object, offset, ret, sizeof(*ret));
}

bool v8_half(const struct v8_heap *heap, uint64_t object, uint64_t offset, uint32_t *ret)
{
	return v8_read(heap, object, offset, ret, sizeof(*ret));
}

int32_t v8_type(const struct v8_heap *heap, uint64_t object)
{
	uint64_t map;
	uint16_t type;

	if (!v8_word(heap, object, 0, &map) ||
	    !v8_read(heap, map, heap->layout->offsets.map_type, &type, sizeof(type)))
		return -1;
	return type;
}

uint32_t v8_length(const struct v8_heap *heap, uint64_t object)
{
	uint64_t word;

	if (!v8_word(heap, object, heap->layout->offsets.array_length, &word) ||
	    !v8_is_number(word) || v8_number(word) < 0)
		return 0;
	return (uint32_t)v8_number(word);
}

bool v8_item(const struct v8_heap *heap, uint64_t array, uint32_t index, uint64_t *ret)
{
	return index < v8_length(heap, array) &&
	       v8_word(heap, array, heap->layout->offsets.array_items + 8ull * index, ret);
}

size_t v8_bytes(const struct v8_heap *heap, uint64_t array, uint8_t *to, size_t most)
{
	uint32_t length = v8_length(heap, array);

	return length <= most && v8_read(heap, array, heap->layout->offsets.array_items, to, length)
		       ? length
		       : 0;
}
