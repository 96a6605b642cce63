// SPDX-License-Identifier: Apache-2.0
#include "compressed.h"

#include <string.h>

enum {
	NUMBER_BYTES = 5, /* at most */
	DIGIT_BITS = 6,   /* each byte counts so many bits more than the one before it */
	HIGH = 64,        /* bytes of so many values say that another one follows */
};

struct compressed compressed_begin(const struct runtime_memory *memory, uint64_t at, uint64_t limit,
				   uint16_t version)
{
	return (struct compressed){
		.memory = memory,
		.at = at,
		.limit = limit,
		.without_zeros = version >= 20,
	};
}

/* More of it. Near the end of mapped memory there may be one byte only. */
static bool fill(struct compressed *from)
{
	size_t bytes = sizeof(from->bytes);

	if (from->at >= from->limit)
		return false;
	if (bytes > from->limit - from->at)
		bytes = from->limit - from->at;
	if (!from->memory->read(from->memory->context, from->at, from->bytes, bytes)) {
		bytes = 1;
		if (!from->memory->read(from->memory->context, from->at, from->bytes, bytes))
			return false;
	}
	// What comes next lies at the end.
	memmove(from->bytes + sizeof(from->bytes) - bytes, from->bytes, bytes);
	from->ahead = (uint32_t)bytes;
	return true;
}

bool compressed_byte(struct compressed *from, uint8_t *ret)
{
	if (!from->ahead && !fill(from))
		return false;
	*ret = from->bytes[sizeof(from->bytes) - from->ahead];
	from->ahead--;
	from->at++;
	return true;
}

bool compressed_number(struct compressed *from, uint32_t *ret)
{
	const uint32_t least = from->without_zeros;
	uint32_t sum = 0;

	for (uint32_t i = 0; i < NUMBER_BYTES; i++) {
		uint8_t byte;

		if (!compressed_byte(from, &byte) || byte < least)
			return false;
		sum += (uint32_t)(byte - least) << DIGIT_BITS * i;
		if (byte < 256 - HIGH)
			break;
	}
	*ret = sum;
	return true;
}

bool compressed_signed(struct compressed *from, int32_t *ret)
{
	uint32_t number;

	if (!compressed_number(from, &number))
		return false;
	*ret = (int32_t)(number >> 1 ^ -(number & 1));
	return true;
}
