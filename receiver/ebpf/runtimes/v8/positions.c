// SPDX-License-Identifier: Apache-2.0
#include "positions.h"

enum {
	EXTERNAL_BITS = 1,
	AT_BITS = 30,
	INLINING_BITS = 16,
	WIDE = 0, /* prefixes of bytecode */
	EXTRA_WIDE = 1,
	DEBUG_WIDE = 2, /* the same, where the debugger has put them */
	DEBUG_EXTRA_WIDE = 3,
};

bool v8_decode_position(uint64_t word, struct v8_position *ret)
{
	uint64_t at = word >> EXTERNAL_BITS & ((1u << AT_BITS) - 1);
	uint64_t inlining = word >> (EXTERNAL_BITS + AT_BITS) & ((1u << INLINING_BITS) - 1);

	// Both are one more than they say.
	if (word & 1 || !at)
		return false;
	ret->at = (uint32_t)at - 1;
	ret->inlining = (int32_t)inlining - 1;
	return true;
}

/* A number of 7 bits a byte, the lowest first. */
static bool read_bits(const uint8_t *table, size_t bytes, size_t *at, uint64_t *ret)
{
	*ret = 0;
	for (unsigned int shift = 0; shift < 64 && *at < bytes; shift += 7) {
		uint8_t byte = table[(*at)++];

		*ret |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/* The same with a sign, in the lowest bit. */
static bool read_signed(const uint8_t *table, size_t bytes, size_t *at, int64_t *ret)
{
	uint64_t bits;

	if (!read_bits(table, bytes, at, &bits))
		return false;
	*ret = (int64_t)(bits >> 1) ^ -(int64_t)(bits & 1);
	return true;
}

bool v8_find_position(const uint8_t *table, size_t bytes, struct v8_table_form form,
		      uint32_t offset, struct v8_position *ret)
{
	int64_t code = form.first;
	uint64_t position = 0;
	bool found = false;

	for (size_t at = 0; at < bytes;) {
		uint64_t step;
		int64_t move;

		if (!read_bits(table, bytes, &at, &step) || !read_signed(table, bytes, &at, &move))
			return false;
		step >>= form.flag_bits & 63;
		if (step > UINT32_MAX)
			return false;
		code += (int64_t)step;
		position += (uint64_t)move;
		if (code > offset)
			break;
		found = v8_decode_position(position, ret);
	}
	return found;
}

/* How long the instruction at @at is; 0: it is none. */
static size_t size_at(const struct v8_bytecode_sizes *sizes, const uint8_t *code, size_t bytes,
		      size_t at)
{
	uint32_t scale = 0, size;
	size_t prefix = 0;

	if (code[at] <= DEBUG_EXTRA_WIDE) {
		scale = 1 + (code[at] == EXTRA_WIDE || code[at] == DEBUG_EXTRA_WIDE);
		prefix = 1;
	}
	if (at + prefix >= bytes || code[at + prefix] >= sizes->count)
		return 0;
	size = sizes->bytes[scale * sizes->count + code[at + prefix]];
	return size ? prefix + size : 0;
}

int64_t v8_find_bytecode_offset(const struct v8_bytecode_sizes *sizes, const uint8_t *code,
				size_t code_bytes, const uint8_t *table, size_t bytes,
				uint32_t offset)
{
	size_t at = 0, next = 0, size;
	uint64_t end, step;

	// First the code that enters the function, then that of each instruction.
	if (sizes->count > 256 || !read_bits(table, bytes, &at, &end) || offset < end)
		return -1;
	while (next < code_bytes) {
		if (!read_bits(table, bytes, &at, &step))
			return -1;
		end += step;
		if (offset < end)
			return (int64_t)next;
		size = size_at(sizes, code, code_bytes, next);
		if (!size)
			return -1;
		next += size;
	}
	return -1;
}
