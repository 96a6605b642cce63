// SPDX-License-Identifier: Apache-2.0
/* Tables of positions, and such as are cut or lie. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receiver/ebpf/runtimes/v8/positions.h"

#include <string.h>

enum { CHARACTER = 1 << 1 }; /* of a position */

static const struct v8_position nowhere = { 77, 77 };
static const struct v8_table_form usual = { 1, 0 }, with_more = { 2, 0 }, before = { 1, -1 };

static void positions_have_a_character_and_a_call(void **state)
{
	struct v8_position found;

	(void)state;
	assert_true(v8_decode_position(101 * CHARACTER, &found));
	assert_int_equal(found.at, 100);
	assert_int_equal(found.inlining, -1);
	assert_true(v8_decode_position((uint64_t)3 << 31 | CHARACTER, &found));
	assert_int_equal(found.at, 0);
	assert_int_equal(found.inlining, 2);
	// None of a script.
	assert_false(v8_decode_position(101 * CHARACTER | 1, &found));
	assert_false(v8_decode_position(0, &found));
}

static void the_last_entry_before_a_place_is_its_own(void **state)
{
	// Byte 0, character 9; byte 4, 19; byte 300, 14.
	static const uint8_t table[] = { 0, 40, 8, 40, 0xd0, 0x04, 19 };
	struct v8_position found = nowhere;

	(void)state;
	assert_true(v8_find_position(table, sizeof(table), usual, 3, &found));
	assert_int_equal(found.at, 9);
	assert_true(v8_find_position(table, sizeof(table), usual, 4, &found));
	assert_int_equal(found.at, 19);
	assert_true(v8_find_position(table, sizeof(table), usual, 299, &found));
	assert_int_equal(found.at, 19);
	assert_true(v8_find_position(table, sizeof(table), usual, UINT32_MAX, &found));
	assert_int_equal(found.at, 14);
	// Where the first one is counted from one before, all are one nearer.
	assert_true(v8_find_position(table, sizeof(table), before, 3, &found));
	assert_int_equal(found.at, 19);
	assert_true(v8_find_position(table, sizeof(table), before, 2, &found));
	assert_int_equal(found.at, 9);
	// Where entries have a bit more, they are half as far from each other.
	assert_true(v8_find_position(table, sizeof(table), with_more, 2, &found));
	assert_int_equal(found.at, 19);
}

static void before_the_first_entry_there_is_nothing(void **state)
{
	static const uint8_t table[] = { 8, 40 };
	struct v8_position found = nowhere;

	(void)state;
	assert_false(v8_find_position(table, sizeof(table), usual, 3, &found));
	assert_false(v8_find_position(table, 0, usual, 3, &found));
}

static void tables_that_are_cut_say_nothing(void **state)
{
	static const uint8_t table[] = { 0, 40, 8, 0xa8, 0x80 };
	uint8_t endless[64];
	struct v8_position found = nowhere;

	(void)state;
	for (size_t bytes = 3; bytes <= sizeof(table); bytes++)
		assert_false(v8_find_position(table, bytes, usual, 3, &found));
	memset(endless, 0xff, sizeof(endless));
	assert_false(v8_find_position(endless, sizeof(endless), usual, 3, &found));
	assert_false(v8_find_position(endless, sizeof(endless), (struct v8_table_form){ 200, -1 },
				      3, &found));
}

static void bytecode_is_found_by_how_long_its_code_is(void **state)
{
	static const struct v8_bytecode_sizes sizes = {
		.bytes = { 1, 1, 1, 1, 2, 3, 1, 1, 1, 1, 3, 5, 1, 1, 1, 1, 5, 9 },
		.count = 6,
	};
	// 5 with two operands, 4 with one, a wide 4, an extra-wide 5.
	static const uint8_t code[] = { 5, 0, 0, 4, 0, 0, 4, 0, 0, 1, 5, 0, 0, 0, 0, 0, 0, 0, 0 };
	static const uint8_t table[] = { 8, 0x84, 0x01, 2, 6, 1 };

	(void)state;
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 6, 7), -1);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 6, 8), 0);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 6, 139), 0);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 6, 140), 3);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 6, 142), 5);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 6, 148), 9);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 6, 149), -1);
	// Cut within: the code, the table.
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, 6, table, 6, 142), 5);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, 6, table, 6, 148), -1);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 2, 9), -1);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, sizeof(code), table, 0, 9), -1);
}

static void bytecode_that_is_none_is_not_followed(void **state)
{
	static const struct v8_bytecode_sizes sizes = { .bytes = { 1, 1, 1, 1, 0 }, .count = 5 };
	static const uint8_t code[] = { 9, 4, 4 }, table[] = { 1, 1, 1, 1 };
	struct v8_bytecode_sizes many = { .count = 257 };

	(void)state;
	assert_int_equal(v8_find_bytecode_offset(&sizes, code, 3, table, 4, 3), -1);
	assert_int_equal(v8_find_bytecode_offset(&sizes, code + 1, 2, table, 4, 3), -1);
	assert_int_equal(v8_find_bytecode_offset(&many, code, 3, table, 4, 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(positions_have_a_character_and_a_call),
		cmocka_unit_test(the_last_entry_before_a_place_is_its_own),
		cmocka_unit_test(before_the_first_entry_there_is_nothing),
		cmocka_unit_test(tables_that_are_cut_say_nothing),
		cmocka_unit_test(bytecode_is_found_by_how_long_its_code_is),
		cmocka_unit_test(bytecode_that_is_none_is_not_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
