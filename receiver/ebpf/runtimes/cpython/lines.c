// SPDX-License-Identifier: Apache-2.0
#include "cpython.h"

/* ---- up to 3.9 (Objects/lnotab_notes.txt) ---- */

/* Pairs: so many bytes of code, so many lines. */
static uint32_t line_of_pairs(const uint8_t *table, size_t bytes, uint32_t first, uint32_t position)
{
	uint64_t address = 0;
	int64_t line = first;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		address += table[i];
		if (address > position)
			break;
		line += (int8_t)table[i + 1];
	}
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* ---- 3.10 (PEP 626) ---- */

enum { NO_LINE = -128 };

/* Pairs: so many bytes of code have the line that is so far from the one before. */
static uint32_t line_of_ranges(const uint8_t *table, size_t bytes, uint32_t first,
			       uint32_t position)
{
	uint64_t address = 0;
	int64_t line = first;

	for (size_t i = 0; i + 1 < bytes; i += 2) {
		int8_t distance = (int8_t)table[i + 1];

		if (distance != NO_LINE)
			line += distance;
		address += table[i];
		if (address <= position)
			continue;
		return distance == NO_LINE || line <= 0 || line > INT32_MAX ? 0 : (uint32_t)line;
	}
	return 0;
}

/* ---- from 3.11 on ---- */

enum {
	ENTRY_BEGINS = 0x80,  /* set in the first byte of an entry alone */
	ENTRY_KIND_SHIFT = 3, /* bits 3..6; below them how many code units it is for, less one */
	KIND_ONE_LINE = 10,   /* from it on, 0, 1, 2 lines further */
	KIND_NO_COLUMNS = 13, /* a signed number of lines */
	KIND_LONG = 14,       /* the same, and more */
	KIND_NONE = 15,       /* no line */
	NUMBER_MORE = 0x40,   /* in bytes of a number: another one follows, with 6 bits more */
	NUMBER_BITS = 6,
};

static uint64_t read_number(const uint8_t *table, size_t bytes, size_t at)
{
	uint64_t number = 0;

	for (unsigned int shift = 0; at < bytes && shift < 32; at++, shift += NUMBER_BITS) {
		number |= (uint64_t)(table[at] & (NUMBER_MORE - 1)) << shift;
		if (!(table[at] & NUMBER_MORE))
			break;
	}
	return number;
}

/* How many lines further the entry at @at is than the one before. */
static int64_t lines_further(const uint8_t *table, size_t bytes, size_t at)
{
	uint8_t kind = table[at] >> ENTRY_KIND_SHIFT & 15;
	uint64_t number;

	if (kind >= KIND_ONE_LINE && kind < KIND_NO_COLUMNS)
		return kind - KIND_ONE_LINE;
	if (kind != KIND_NO_COLUMNS && kind != KIND_LONG)
		return 0;
	number = read_number(table, bytes, at + 1);
	return number & 1 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

static uint32_t line_of_locations(const uint8_t *table, size_t bytes, uint32_t first,
				  uint32_t position)
{
	uint64_t unit = 0;
	int64_t line = first;

	for (size_t at = 0; at < bytes;) {
		uint8_t entry = table[at];

		line += lines_further(table, bytes, at);
		unit += (entry & 7) + 1;
		if (unit > position)
			return (entry >> ENTRY_KIND_SHIFT & 15) == KIND_NONE || line <= 0 ||
					       line > INT32_MAX
				       ? 0
				       : (uint32_t)line;
		do
			at++;
		while (at < bytes && !(table[at] & ENTRY_BEGINS));
	}
	return 0;
}

uint32_t cpython_line(uint32_t minor, const uint8_t *table, size_t bytes, uint32_t first,
		      uint32_t position)
{
	if (position == CPYTHON_NOT_BEGUN)
		return first;
	if (position == CPYTHON_NO_POSITION)
		return 0;
	if (minor >= 11)
		return line_of_locations(table, bytes, first, position);
	if (minor == 10)
		return line_of_ranges(table, bytes, first,
				      position > UINT32_MAX / 2 ? position : 2 * position);
	return line_of_pairs(table, bytes, first, position);
}
