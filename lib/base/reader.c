// SPDX-License-Identifier: Apache-2.0
#include "reader.h"

#include <string.h>

const void *reader_bytes(struct reader *reader, size_t length)
{
	const uint8_t *bytes = reader->at;

	if (length > reader_left(reader) || reader->failed) {
		reader->failed = true;
		return NULL;
	}
	reader->at += length;
	return bytes;
}

#define READER_FIXED(name, type)                                                                   \
	type name(struct reader *reader)                                                           \
	{                                                                                          \
		const void *bytes = reader_bytes(reader, sizeof(type));                            \
		type value = 0;                                                                    \
                                                                                                   \
		if (bytes)                                                                         \
			memcpy(&value, bytes, sizeof(value));                                      \
		return value;                                                                      \
	}

READER_FIXED(reader_u8, uint8_t)
READER_FIXED(reader_u16, uint16_t)
READER_FIXED(reader_u32, uint32_t)
READER_FIXED(reader_u64, uint64_t)

/*
 * The value of a varint of up to 8 bytes, of which @bytes holds the low 7 bits of each:
 * neighbours are moved together, then pairs, then fours.
 */
static uint64_t varint_join(uint64_t bytes)
{
	bytes = (bytes & 0x007f007f007f007f) | (bytes & 0x7f007f007f007f00) >> 1;
	bytes = (bytes & 0x00003fff00003fff) | (bytes & 0x3fff00003fff0000) >> 2;
	return (bytes & 0x000000000fffffff) | (bytes & 0x0fffffff00000000) >> 4;
}

/* Byte by byte: near the end of the input, or longer than 8. */
static uint64_t varint_slow(struct reader *reader)
{
	const uint8_t *at = reader->at;
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64 && at < reader->end; shift += 7) {
		uint8_t byte = *at++;

		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80)) {
			reader->at = at;
			return value;
		}
	}
	reader->failed = true;
	return 0;
}

uint64_t reader_varint(struct reader *reader)
{
	const uint64_t tops = 0x8080808080808080;
	uint64_t bytes, last;

	if (reader_left(reader) < sizeof(bytes))
		return reader->failed ? 0 : varint_slow(reader);
	memcpy(&bytes, reader->at, sizeof(bytes));
	last = ~bytes & tops; // set in the bytes that may end the number
	if (!last)
		return varint_slow(reader);
	// What lies below the first of them, and its own bits.
	bytes &= (last ^ (last - 1)) & ~tops;
	reader->at += (unsigned int)__builtin_ctzll(last) / 8 + 1;
	return varint_join(bytes);
}

const char *reader_cstring(struct reader *reader)
{
	size_t left = reader_left(reader);
	const uint8_t *nul = left ? memchr(reader->at, '\0', left) : NULL;

	if (!nul) {
		reader->failed = true;
		return NULL;
	}
	return reader_bytes(reader, (size_t)(nul - reader->at) + 1);
}
