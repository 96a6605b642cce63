// SPDX-License-Identifier: Apache-2.0
#include "encoding.h"

/* The bits, and in *@shift_ret how many were given; at most 64. */
static uint64_t read_leb128(struct reader *reader, unsigned int *shift_ret, uint8_t *last_ret)
{
	unsigned int shift = 0;
	uint64_t value = 0;
	uint8_t byte;

	do {
		byte = reader_u8(reader);
		if (shift >= 64) {
			reader->failed = true;
			return 0;
		}
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !reader->failed);
	*shift_ret = shift;
	*last_ret = byte;
	return value;
}

uint64_t encoding_read_uleb128(struct reader *reader)
{
	unsigned int shift = 0;
	uint8_t last = 0;

	return read_leb128(reader, &shift, &last);
}

int64_t encoding_read_sleb128(struct reader *reader)
{
	unsigned int shift = 0;
	uint8_t last = 0;
	uint64_t value = read_leb128(reader, &shift, &last);

	if (last & 0x40 && shift < 64)
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

static uint64_t read_format(struct reader *reader, uint8_t format)
{
	switch (format) {
	case ENCODING_ABSPTR:
	case ENCODING_UDATA8:
	case ENCODING_SDATA8:
		return reader_u64(reader);
	case ENCODING_ULEB128:
		return encoding_read_uleb128(reader);
	case ENCODING_SLEB128:
		return (uint64_t)encoding_read_sleb128(reader);
	case ENCODING_UDATA2:
		return reader_u16(reader);
	case ENCODING_SDATA2:
		return (uint64_t)(int64_t)(int16_t)reader_u16(reader);
	case ENCODING_UDATA4:
		return reader_u32(reader);
	case ENCODING_SDATA4:
		return (uint64_t)(int64_t)(int32_t)reader_u32(reader);
	default:
		reader->failed = true;
		return 0;
	}
}

uint64_t encoding_read_pointer(struct reader *reader, uint8_t encoding,
			       const struct encoding_bases *bases)
{
	uint64_t here = bases->address + (uint64_t)(reader->at - bases->bytes);
	uint64_t value = read_format(reader, encoding & ENCODING_FORMAT);

	if (encoding & ENCODING_INDIRECT)
		reader->failed = true;
	switch (encoding & ENCODING_BASE) {
	case 0:
		return value;
	case ENCODING_PCREL:
		return value + here;
	case ENCODING_DATAREL:
		return value + bases->data;
	case ENCODING_FUNCREL:
		return value + bases->function;
	default:
		reader->failed = true;
		return 0;
	}
}
