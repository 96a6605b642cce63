// SPDX-License-Identifier: Apache-2.0
#include "wire_bytes.h"

#include <stdlib.h>
#include <string.h>

void wire_bytes_deinit(struct wire_bytes *bytes)
{
	free(bytes->bytes);
	*bytes = (struct wire_bytes){ 0 };
}

void wire_raw(struct wire_bytes *to, const void *bytes, size_t length)
{
	uint8_t *grown = realloc(to->bytes, to->length + length + 1);

	if (!grown)
		abort();
	to->bytes = grown;
	if (length)
		memcpy(to->bytes + to->length, bytes, length);
	to->length += length;
}

void wire_varint(struct wire_bytes *to, uint64_t value)
{
	do {
		uint8_t byte = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));

		wire_raw(to, &byte, 1);
		value >>= 7;
	} while (value);
}

void wire_number(struct wire_bytes *to, uint32_t field, uint64_t value)
{
	wire_varint(to, field << 3);
	wire_varint(to, value);
}

void wire_fixed64(struct wire_bytes *to, uint32_t field, uint64_t value)
{
	wire_varint(to, field << 3 | 1);
	wire_raw(to, &value, sizeof(value));
}

void wire_text(struct wire_bytes *to, uint32_t field, const char *text)
{
	wire_varint(to, field << 3 | 2);
	wire_varint(to, strlen(text));
	wire_raw(to, text, strlen(text));
}

void wire_message(struct wire_bytes *to, uint32_t field, struct wire_bytes *inner)
{
	wire_varint(to, field << 3 | 2);
	wire_varint(to, inner->length);
	wire_raw(to, inner->bytes, inner->length);
	wire_bytes_deinit(inner);
}
