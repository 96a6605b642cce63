// SPDX-License-Identifier: Apache-2.0
/*
 * Compares the lines that cpython_line() finds with those that an interpreter says its instructions
 * have, which come from the standard input (tests/targets/python_lines.py). Prints how many code
 * objects and instructions there were, and how many of these had another line; fails with any.
 */
#include "receiver/ebpf/runtimes/cpython/cpython.h"

#include <stdio.h>
#include <stdlib.h>

/* Each line is looked up from a table's beginning on: of large tables it is done where lines
 * change, and now and then between. */
enum { MOST_BYTES = 1 << 24, SHOWN = 10, LARGE_BYTES = 2048, EACH = 16 };

struct head {
	uint32_t minor, first, table_bytes, units;
};

static void *read_bytes(size_t bytes)
{
	void *read = malloc(bytes + 1);

	if (!read || fread(read, 1, bytes, stdin) != bytes) {
		fputs("what comes in ends early\n", stderr);
		exit(2);
	}
	return read;
}

static bool is_compared(const struct head *head, const uint32_t *lines, uint32_t unit)
{
	return head->table_bytes <= LARGE_BYTES || unit % EACH == 0 ||
	       lines[unit - 1] != lines[unit] ||
	       (unit + 1 < head->units && lines[unit + 1] != lines[unit]);
}

/* How many lines differ. */
static uint64_t compare(const struct head *head)
{
	uint8_t *table = read_bytes(head->table_bytes);
	uint32_t *lines = read_bytes(head->units * sizeof(*lines));
	uint64_t wrong = 0;

	for (uint32_t unit = 0; unit < head->units; unit++) {
		// Up to 3.9 a position counts bytes.
		uint32_t position = head->minor < 10 ? 2 * unit : unit;
		uint32_t line;

		if (!is_compared(head, lines, unit))
			continue;
		line = cpython_line(head->minor, table, head->table_bytes, head->first, position);
		if (line != lines[unit] && wrong++ < SHOWN)
			printf("first line %u, position %u: %u, not %u\n", head->first, position,
			       line, lines[unit]);
	}
	free(table);
	free(lines);
	return wrong;
}

int main(void)
{
	uint64_t objects = 0, units = 0, wrong = 0;
	struct head head;

	while (fread(&head, sizeof(head), 1, stdin) == 1) {
		if (head.table_bytes > MOST_BYTES || head.units > MOST_BYTES) {
			fputs("what comes in is too large\n", stderr);
			return 2;
		}
		wrong += compare(&head);
		objects++;
		units += head.units;
	}
	printf("objects=%llu instructions=%llu wrong=%llu\n", (unsigned long long)objects,
	       (unsigned long long)units, (unsigned long long)wrong);
	return wrong || !objects;
}
