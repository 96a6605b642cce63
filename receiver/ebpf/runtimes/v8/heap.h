/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Objects of V8's in the memory of a process. Pointers to them are tagged: the lowest bit is 1;
 * small numbers are the upper half of a word whose lower half is 0. No byte is believed. Any
 * thread.
 */
#pragma once

#include "v8.h"

struct v8_heap {
	const struct v8_layout *layout;
	const struct runtime_memory *memory;
	uint64_t base; /* where ELF address 0 of V8's file lies */
};

enum {
	V8_TAG = 1,
	V8_WEAK = 2, /* the same of a pointer that keeps nothing from being freed: both are set */
};

static inline bool v8_is_tagged(uint64_t word)
{
	return (word & 3) == V8_TAG && word >> 16 && !(word >> 47);
}

static inline bool v8_is_number(uint64_t word)
{
	return !(word & 0xffffffff);
}

static inline int32_t v8_number(uint64_t word)
{
	return (int32_t)(uint32_t)(word >> 32);
}

/* @bytes at @offset of the object that @object leads to, to @to. False: they cannot be read. */
bool v8_read(const struct v8_heap *heap, uint64_t object, uint64_t offset, void *to, size_t bytes);
bool v8_word(const struct v8_heap *heap, uint64_t object, uint64_t offset, uint64_t *ret);
bool v8_half(const struct v8_heap *heap, uint64_t object, uint64_t offset, uint32_t *ret);

/* The type of the object that @object leads to; -1: it leads to none. */
int32_t v8_type(const struct v8_heap *heap, uint64_t object);

/* Is it of this type, which is one? */
static inline bool v8_is(const struct v8_heap *heap, uint64_t object, uint16_t type)
{
	return type && v8_type(heap, object) == type;
}

/* How many words, or bytes, the array @object has; 0: none, or it is none. */
uint32_t v8_length(const struct v8_heap *heap, uint64_t object);

/* The word at @index of an array of words, if that is within. */
bool v8_item(const struct v8_heap *heap, uint64_t array, uint32_t index, uint64_t *ret);

/* At most @most bytes of an array of bytes to @to; returns how many, 0 if there are more. */
size_t v8_bytes(const struct v8_heap *heap, uint64_t array, uint8_t *to, size_t most);
