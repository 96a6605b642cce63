// SPDX-License-Identifier: Apache-2.0
/* Single rules out of pages as the kernel side has them: what a walk there would find. */
#include "tables/found_rules.h"
#include "tables/page_layout.h"

#include "kernel_model.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum {
	FILE_ID = 5,
	MOST_BYTES = 1 << 20,
	ROWS = 6,
	PAGE_BYTES = UNWIND_PAGE_ROWS + UNWIND_ROW_BYTES * (UNWIND_BLOCKS + ROWS),
	/* The low byte of the rule of the second row of block 2. */
	SECOND_RULE = UNWIND_PAGE_ROWS + UNWIND_ROW_BYTES * 3 + 1,
};

static const uint64_t PAGE = 7ull << UNWIND_PAGE_SHIFT;

struct fixture {
	struct kernel_model model;
	struct memory *memory;
	struct found_rules rules;
	uint8_t page[UNWIND_OBJECT_BYTES];
	uint32_t handle;
};

static uint64_t clock_ns(void)
{
	return 1;
}

static uint32_t row(uint32_t byte, uint32_t rule)
{
	return rule << 16 | byte;
}

/* Each block has one row with its own number as rule, but block 2: four, and the last: three. */
static void fill_page(uint8_t *page)
{
	uint32_t rows[UNWIND_BLOCKS + ROWS], count = 0;
	uint16_t first[UNWIND_BLOCKS + 1];

	for (uint32_t block = 0; block < UNWIND_BLOCKS; block++) {
		first[block] = (uint16_t)count;
		rows[count++] = row(0, 0x1000 + block);
		if (block == 2) {
			rows[count++] = row(0x10, 0x2001);
			rows[count++] = row(0x20, 0x2002);
			rows[count++] = row(0xff, 0x2003);
		} else if (block == UNWIND_BLOCKS - 1) {
			rows[count++] = row(0x80, 0x3001);
			rows[count++] = row(0xff, 0x3002);
		}
	}
	first[UNWIND_BLOCKS] = (uint16_t)count;
	page_layout_write(page, first, rows);
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct memory_slabs slabs;

	assert_non_null(fixture);
	slabs = kernel_model_slabs(&fixture->model);
	fixture->memory =
		memory_create(&slabs, MODEL_SLABS * (uint64_t)UNWIND_SLAB_BYTES, clock_ns);
	fixture->rules.most_bytes = MOST_BYTES;
	fill_page(fixture->page);
	fixture->handle = memory_put(fixture->memory, MEMORY_DROPPABLE, fixture->page, PAGE_BYTES);
	assert_int_not_equal(fixture->handle, 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	found_rules_deinit(&fixture->rules);
	memory_destroy(fixture->memory);
	free(fixture);
	return 0;
}

static int32_t find(struct fixture *fixture, uint32_t file, uint64_t address)
{
	return found_rules_find(&fixture->rules, fixture->memory, file, address, fixture->handle,
				PAGE_BYTES);
}

static void each_byte_has_the_rule_of_its_row(void **state)
{
	assert_int_equal(find(*state, FILE_ID, PAGE), 0x1000);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0xff), 0x1000);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0x100), 0x1001);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0x20f), 0x1002);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0x210), 0x2001);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0x220), 0x2002);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0x2fe), 0x2002);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0x2ff), 0x2003);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0x300), 0x1003);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0xff7f), 0x10ff);
	assert_int_equal(find(*state, FILE_ID, PAGE + 0xffff), 0x3002);
}

static void what_was_found_stays_when_the_page_has_gone(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2001);
	memset(fixture->model.slabs, 0, sizeof(fixture->model.slabs));
	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2001);
	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x220), 0x2002); // of the page that was read
}

static void a_page_that_was_written_anew_is_read_anew(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x220), 0x2002);
	fixture->page[SECOND_RULE] = 0x77;
	fixture->handle = memory_put(fixture->memory, MEMORY_DROPPABLE, fixture->page, PAGE_BYTES);
	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2077);
}

static void no_more_is_kept_than_there_is_room_for(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t file = 0; file < FOUND_PAGES; file++) {
		assert_int_equal(find(fixture, file, PAGE + 0x210), 0x2001);
		assert_in_range(fixture->rules.page_bytes, 1, MOST_BYTES);
	}
	found_rules_clear(&fixture->rules);
	assert_int_equal(fixture->rules.page_bytes, 0);
}

static void files_are_told_apart(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2001);
	fixture->page[SECOND_RULE] = 0x77;
	fixture->handle = memory_put(fixture->memory, MEMORY_DROPPABLE, fixture->page, PAGE_BYTES);
	assert_int_equal(find(fixture, FILE_ID + 1, PAGE + 0x210), 0x2077);
	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2001);
}

static void places_far_apart_in_one_file_are_told_apart(void **state)
{
	struct fixture *fixture = *state;
	uint64_t beyond = 1ull << UNWIND_FRAME_SHIFT;

	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2001);
	fixture->page[SECOND_RULE] = 0x77;
	fixture->handle = memory_put(fixture->memory, MEMORY_DROPPABLE, fixture->page, PAGE_BYTES);
	assert_int_equal(find(fixture, FILE_ID, beyond + PAGE + 0x210), 0x2077);
	assert_int_equal(find(fixture, FILE_ID - 1, beyond + PAGE + 0x210), 0x2077);
	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2001);
}

static void another_owner_of_the_number_has_its_own_rules(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2001);
	fixture->page[SECOND_RULE] = 0x77;
	fixture->handle = memory_put(fixture->memory, MEMORY_DROPPABLE, fixture->page, PAGE_BYTES);
	found_rules_clear(&fixture->rules);
	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x210), 0x2077);
}

static void a_page_that_cannot_be_read_has_no_rule(void **state)
{
	struct fixture *fixture = *state;

	fixture->handle = 60 << UNWIND_LINE_BITS; // no such slab
	assert_true(find(fixture, FILE_ID, PAGE) < 0);
	fixture->handle = 0;
	assert_true(find(fixture, FILE_ID, PAGE) < 0);
	assert_true(found_rules_find(&fixture->rules, fixture->memory, FILE_ID, PAGE, 1,
				     UNWIND_SLAB_BYTES + 1) < 0);
}

static void a_broken_page_is_not_read_beyond(void **state)
{
	struct fixture *fixture = *state;
	uint16_t wrong = UINT16_MAX;

	memcpy(fixture->page + UNWIND_PAGE_FIRST + 2, &wrong,
	       sizeof(wrong)); // the end of block 0, the start of 1
	fixture->handle = memory_put(fixture->memory, MEMORY_DROPPABLE, fixture->page, PAGE_BYTES);
	assert_true(find(fixture, FILE_ID, PAGE) < 0);
	assert_true(find(fixture, FILE_ID, PAGE + 0x100) < 0);
	assert_int_equal(find(fixture, FILE_ID, PAGE + 0x200), 0x1002);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(each_byte_has_the_rule_of_its_row),
		TEST(what_was_found_stays_when_the_page_has_gone),
		TEST(a_page_that_was_written_anew_is_read_anew),
		TEST(no_more_is_kept_than_there_is_room_for),
		TEST(files_are_told_apart),
		TEST(places_far_apart_in_one_file_are_told_apart),
		TEST(another_owner_of_the_number_has_its_own_rules),
		TEST(a_page_that_cannot_be_read_has_no_rule),
		TEST(a_broken_page_is_not_read_beyond),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
