// SPDX-License-Identifier: Apache-2.0
/* Pages as the kernel side reads them: each place leads to its rule, for frames that were
 * interrupted and for those that have called. */
#include "tables/page_layout.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE_BYTES = 1 << UNWIND_PAGE_SHIFT, LINE_BYTES = 1 << UNWIND_CALLS_SHIFT };

struct fixture {
	uint16_t given[PAGE_BYTES]; /* rules */
	bool calls[PAGE_BYTES];     /* may a call end there? */
	uint16_t first[UNWIND_BLOCKS + 1];
	uint32_t rows[PAGE_BYTES];
	size_t row_count, length;
	_Alignas(__u64) uint8_t page[UNWIND_OBJECT_BYTES];
};

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return !*state;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* What was given as rows, as a worker makes them. */
static void write_page(struct fixture *fixture)
{
	fixture->row_count = 0;
	for (size_t at = 0; at < PAGE_BYTES; at++) {
		size_t byte = at & 0xff;
		uint32_t row = (uint32_t)fixture->given[at] << 16 | (uint32_t)byte;

		if (!byte)
			fixture->first[at >> UNWIND_BLOCK_SHIFT] = (uint16_t)fixture->row_count;
		if (byte && fixture->given[at] == fixture->given[at - 1] &&
		    fixture->calls[at] == fixture->calls[at - 1])
			continue;
		fixture->rows[fixture->row_count++] =
			row | (fixture->calls[at] ? 0 : PAGE_ROW_NO_CALL);
	}
	assert_true(fixture->row_count <= PAGE_MAX_ROWS);
	fixture->first[UNWIND_BLOCKS] = (uint16_t)fixture->row_count;
	fixture->length = page_layout_write(fixture->page, fixture->first, fixture->rows);
}

static const struct unwind_calls *line_of(const struct fixture *fixture, size_t at)
{
	return &((const struct unwind_calls *)fixture->page)[at / LINE_BYTES];
}

/* Negative where it is among the rows. */
static long find_call(const struct fixture *fixture, size_t at)
{
	const struct unwind_calls *line = line_of(fixture, at);
	long rule = unwind_calls_find(line, at % LINE_BYTES);

	assert_int_equal(rule < 0, line->rows[0] == UNWIND_CALLS_NONE);
	return rule;
}

/* Returns how many bytes have no line that says their rule. */
static size_t check(const struct fixture *fixture)
{
	size_t left = 0;

	for (size_t at = 0; at < PAGE_BYTES; at++) {
		assert_int_equal(page_layout_find(fixture->page, fixture->length, at),
				 fixture->given[at]);
		left += find_call(fixture, at) < 0;
		if (fixture->calls[at] && find_call(fixture, at) >= 0)
			assert_int_equal(find_call(fixture, at), fixture->given[at]);
	}
	return left;
}

static void one_rule_everywhere(void **state)
{
	struct fixture *fixture = *state;

	for (size_t at = 0; at < PAGE_BYTES; at++)
		fixture->given[at] = 0xfedc;
	write_page(fixture);
	assert_int_equal(check(fixture), 0);
	memset(fixture->calls, true, sizeof(fixture->calls));
	write_page(fixture);
	assert_int_equal(check(fixture), 0);
}

/* Functions whose prologues and epilogues change the rule with every other byte. */
static void make_functions(struct fixture *fixture, size_t least, size_t most)
{
	enum { PROLOGUE = 6 };

	for (size_t start = 0; start < PAGE_BYTES;) {
		size_t length = least + (size_t)rand() % (most - least);
		uint16_t body = (uint16_t)(0x8000 | rand() % 20 << 5);

		for (size_t i = 0; i < length && start + i < PAGE_BYTES; i++) {
			bool inside = i >= PROLOGUE && i + PROLOGUE < length;
			size_t edge = i < length / 2 ? i : length - i;

			fixture->given[start + i] =
				inside ? body : (uint16_t)(0xc000 | edge / 2 << 5);
			fixture->calls[start + i] = inside;
		}
		start += length;
	}
}

static void prologues_take_no_room_in_lines(void **state)
{
	struct fixture *fixture = *state;

	srand(11);
	for (int round = 0; round < 20; round++) {
		make_functions(fixture, 150, 400);
		write_page(fixture);
		// Some rows lie between the first bytes of a line and its first call.
		assert_in_range(check(fixture), 0, PAGE_BYTES / 50);
	}
}

static void what_does_not_fit_is_among_the_rows(void **state)
{
	struct fixture *fixture = *state;

	srand(12);
	for (int round = 0; round < 20; round++) {
		make_functions(fixture, 40, 90);
		write_page(fixture);
		assert_in_range(check(fixture), 1, PAGE_BYTES);
	}
}

/* A block that goes on as the one before has no row. */
static void what_is_said_once_takes_no_room(void **state)
{
	struct fixture *fixture = *state;

	for (size_t at = 0; at < PAGE_BYTES; at++)
		fixture->given[at] = at < 0x1234 ? 3 : 4;
	write_page(fixture);
	check(fixture);
	assert_int_equal(fixture->length, UNWIND_PAGE_ROWS + 2 * UNWIND_ROW_BYTES);
}

static void random_rules(void **state)
{
	struct fixture *fixture = *state;

	srand(13);
	for (int round = 0; round < 30; round++) {
		size_t most = 20 + (size_t)rand() % 400;

		for (size_t at = 0, until = 0; at < PAGE_BYTES; at++) {
			if (at == until) {
				until += 9 + (size_t)rand() % most;
				fixture->given[at] = (uint16_t)(rand() % 20);
				fixture->calls[at] = rand() % 3 == 0;
				continue;
			}
			fixture->given[at] = fixture->given[at - 1];
			fixture->calls[at] = fixture->calls[at - 1];
		}
		write_page(fixture);
		check(fixture);
	}
}

/* Exactly as many rows, and rules, as fit; and one more. */
static void a_full_line(void **state)
{
	struct fixture *fixture = *state;

	memset(fixture->calls, true, sizeof(fixture->calls));
	for (size_t rows = UNWIND_CALLS_ROWS; rows <= UNWIND_CALLS_ROWS + 1; rows++) {
		for (size_t at = 0; at < PAGE_BYTES; at++) {
			size_t row = at % LINE_BYTES / 8;

			fixture->given[at] =
				(uint16_t)((row < rows ? row : rows - 1) % UNWIND_CALLS_RULES);
		}
		// The rows of all blocks begin anew, with the rule of the last one.
		write_page(fixture);
		assert_int_equal(check(fixture), rows > UNWIND_CALLS_ROWS ? PAGE_BYTES : 0);
	}
	for (size_t rules = UNWIND_CALLS_RULES; rules <= UNWIND_CALLS_RULES + 1; rules++) {
		for (size_t at = 0; at < PAGE_BYTES; at++) {
			size_t row = at % LINE_BYTES / 8;

			fixture->given[at] = (uint16_t)(row < rules ? row : rules - 1);
		}
		write_page(fixture);
		assert_int_equal(check(fixture), rules > UNWIND_CALLS_RULES ? PAGE_BYTES : 0);
	}
}

static void a_broken_page_says_nothing(void **state)
{
	struct fixture *fixture = *state;
	uint16_t wrong = UINT16_MAX;
	size_t bytes;

	fixture->given[0xffff] = 7;
	write_page(fixture);
	bytes = fixture->length;
	assert_int_equal(page_layout_find(fixture->page, bytes, 0xffff), 7);
	assert_int_equal(page_layout_find(fixture->page, bytes, 0xfffe), 0);
	assert_true(page_layout_find(fixture->page, bytes - 1, 0xffff) < 0);
	assert_true(page_layout_find(fixture->page, UNWIND_PAGE_ROWS - 1, 0) < 0);
	memcpy(fixture->page + UNWIND_PAGE_FIRST + 2, &wrong, sizeof(wrong));
	assert_true(page_layout_find(fixture->page, bytes, 0) < 0);
	assert_true(page_layout_find(fixture->page, bytes, 0x100) < 0);
	memset(fixture->page + UNWIND_PAGE_FIRST, 0, UNWIND_PAGE_ROWS - UNWIND_PAGE_FIRST);
	assert_true(page_layout_find(fixture->page, bytes, 0) < 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(one_rule_everywhere),
		TEST(prologues_take_no_room_in_lines),
		TEST(what_does_not_fit_is_among_the_rows),
		TEST(what_is_said_once_takes_no_room),
		TEST(random_rules),
		TEST(a_full_line),
		TEST(a_broken_page_says_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
