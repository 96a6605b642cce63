// SPDX-License-Identifier: Apache-2.0
#include "page_layout.h"

#include <string.h>

_Static_assert(UNWIND_PAGE_ROWS + PAGE_MAX_ROWS * UNWIND_ROW_BYTES <= UNWIND_OBJECT_BYTES,
	       "any page fits");

enum {
	CALLS_BYTES = 1 << UNWIND_CALLS_SHIFT,
	CALLS_BLOCKS = 1 << (UNWIND_CALLS_SHIFT - UNWIND_BLOCK_SHIFT),
};

/* A line that is being written. */
struct draft {
	struct unwind_calls calls;
	size_t rule_count, row_count;
	bool full;
};

/* Which of the line's rules @rule is; it is added when it is new. */
static size_t number_rule(struct draft *draft, uint16_t rule)
{
	size_t number = 0;

	while (number < draft->rule_count && draft->calls.rules[number] != rule)
		number++;
	if (number == UNWIND_CALLS_RULES)
		draft->full = true;
	else if (number == draft->rule_count)
		draft->calls.rules[draft->rule_count++] = rule;
	return number;
}

/* @rule holds from @byte of the line's text on. */
static void add_row(struct draft *draft, uint32_t byte, uint16_t rule)
{
	size_t number = number_rule(draft, rule);

	if (draft->row_count == UNWIND_CALLS_ROWS)
		draft->full = true;
	if (!draft->full)
		draft->calls.rows[draft->row_count++] = (uint16_t)(byte << 4 | number);
}

static uint32_t last_rule(const struct draft *draft)
{
	return draft->calls.rules[draft->calls.rows[draft->row_count - 1] & 15];
}

/* From the rows of the @blocks on. Rows that no call is in go with the one before them; the first
 * one is there in any case. */
static struct unwind_calls make_calls(const uint16_t *blocks, const uint32_t *rows)
{
	struct draft draft = { 0 };

	for (size_t i = 0; i < UNWIND_CALLS_ROWS; i++)
		draft.calls.rows[i] = UNWIND_CALLS_FREE;
	for (uint32_t block = 0; block < CALLS_BLOCKS; block++)
		for (uint32_t i = blocks[block]; i < blocks[block + 1] && !draft.full; i++) {
			uint32_t byte = block << UNWIND_BLOCK_SHIFT | (rows[i] & 0xff);

			if (byte &&
			    (rows[i] & PAGE_ROW_NO_CALL || rows[i] >> 16 == last_rule(&draft)))
				continue;
			add_row(&draft, byte, (uint16_t)(rows[i] >> 16));
		}
	if (draft.full)
		draft.calls.rows[0] = UNWIND_CALLS_NONE;
	return draft.calls;
}

static uint16_t first_of(const uint8_t *page, size_t block)
{
	uint16_t count;

	memcpy(&count, page + UNWIND_PAGE_FIRST + block * sizeof(count), sizeof(count));
	return count;
}

static void set_first(uint8_t *page, size_t block, size_t count)
{
	uint16_t value = (uint16_t)count;

	memcpy(page + UNWIND_PAGE_FIRST + block * sizeof(value), &value, sizeof(value));
}

static uint8_t *row_of(uint8_t *page, size_t number)
{
	return page + UNWIND_PAGE_ROWS + number * UNWIND_ROW_BYTES;
}

/* Those of a worker begin each block with a row; here it is left out where it says nothing new.
 * Returns how many there are. */
static size_t write_rows(uint8_t *to, const uint16_t *first, const uint32_t *rows)
{
	size_t count = 0;

	for (size_t block = 0; block < UNWIND_BLOCKS; block++) {
		set_first(to, block, count);
		for (uint32_t i = first[block]; i < first[block + 1]; i++) {
			uint8_t *row = row_of(to, count);

			if (i && rows[i] >> 16 == rows[i - 1] >> 16)
				continue;
			row[0] = (uint8_t)rows[i];
			row[1] = (uint8_t)(rows[i] >> 16);
			row[2] = (uint8_t)(rows[i] >> 24);
			count++;
		}
	}
	set_first(to, UNWIND_BLOCKS, count);
	set_first(to, UNWIND_BLOCKS + 1, 0); // reserved
	return count;
}

size_t page_layout_write(uint8_t *to, const uint16_t first[UNWIND_BLOCKS + 1], const uint32_t *rows)
{
	for (size_t i = 0; i < UNWIND_CALLS; i++) {
		struct unwind_calls calls = make_calls(first + i * CALLS_BLOCKS, rows);

		memcpy(to + i * sizeof(calls), &calls, sizeof(calls));
	}
	return UNWIND_PAGE_ROWS + write_rows(to, first, rows) * UNWIND_ROW_BYTES;
}

int32_t page_layout_find(const uint8_t *page, size_t length, uint64_t address)
{
	size_t block = address >> UNWIND_BLOCK_SHIFT & (UNWIND_BLOCKS - 1), row, limit;
	const uint8_t *found;

	if (length < UNWIND_PAGE_ROWS)
		return -1;
	row = first_of(page, block);
	limit = first_of(page, block + 1);
	if (row > limit || UNWIND_PAGE_ROWS + limit * UNWIND_ROW_BYTES > length)
		return -1;
	// The first one lies before the block, and holds where it begins.
	for (found = page + UNWIND_PAGE_ROWS + row * UNWIND_ROW_BYTES; row < limit; row++) {
		if (found[0] > (address & 0xff))
			break;
		found += UNWIND_ROW_BYTES;
	}
	return row ? found[1 - UNWIND_ROW_BYTES] | found[2 - UNWIND_ROW_BYTES] << 8 : -1;
}
