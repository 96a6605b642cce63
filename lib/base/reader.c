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

uint64_t reader_varint(struct reader *reader)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 64; shift += 7) {
		uint8_t byte = reader_u8(reader);

		if (reader->failed)
			return 0;
		if (shift == 63 && byte > 1)
			break;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
	reader->failed = true;
	return 0;
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
