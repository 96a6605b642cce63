// SPDX-License-Identifier: Apache-2.0
/*
 * Lines by tables of the three formats. tests/e2e/python_lines_test.py compares them with what
 * interpreters say of whole libraries; here is what these do not have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "receiver/ebpf/runtimes/cpython/cpython.h"

#include <stdlib.h>
#include <string.h>

#define LINE(minor, first, position, ...)                                                          \
	cpython_line(minor, (const uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }),  \
		     first, position)

static void test_pairs_add_up(void **state)
{
	(void)state;
	// 6 bytes of line 10, 4 of line 12, and line 11 from there on.
#define TABLE 6, 2, 4, 0xff
	assert_int_equal(LINE(9, 10, 0, TABLE), 10);
	assert_int_equal(LINE(9, 10, 5, TABLE), 10);
	assert_int_equal(LINE(9, 10, 6, TABLE), 12);
	assert_int_equal(LINE(7, 10, 9, TABLE), 12);
	assert_int_equal(LINE(8, 10, 10, TABLE), 11);
	assert_int_equal(LINE(8, 10, 4000, TABLE), 11);
#undef TABLE
	// Steps too large for a byte are several pairs.
	assert_int_equal(LINE(9, 1, 4, 4, 127, 0, 127, 0, 46), 301);
	assert_int_equal(LINE(9, 1, 300, 255, 0, 45, 1), 2);
	assert_int_equal(LINE(9, 1, 299, 255, 0, 45, 1), 1);
}

static void test_ranges_have_lines_or_none(void **state)
{
	(void)state;
	// Positions are instructions of two bytes.
#define TABLE 4, 1, 2, 0x80, 6, 0xfe
	assert_int_equal(LINE(10, 10, 0, TABLE), 11);
	assert_int_equal(LINE(10, 10, 1, TABLE), 11);
	assert_int_equal(LINE(10, 10, 2, TABLE), 0);
	assert_int_equal(LINE(10, 10, 3, TABLE), 9);
	assert_int_equal(LINE(10, 10, 5, TABLE), 9);
	assert_int_equal(LINE(10, 10, 6, TABLE), 0);
	assert_int_equal(LINE(10, 10, 0x7fffffff, TABLE), 0);
	assert_int_equal(LINE(10, 10, 0x80000000, TABLE), 0);
#undef TABLE
}

static void test_locations_keep_the_line_where_there_is_none(void **state)
{
	(void)state;
	// One unit 1 line further, two of none, one of a short form, one 2 lines back, a long one.
#define TABLE 0xd8, 0, 0, 0xf9, 0x80, 0x12, 0xe8, 0x05, 0xf0, 0x46, 0x01, 0, 0, 0
	assert_int_equal(LINE(11, 10, 0, TABLE), 11);
	assert_int_equal(LINE(11, 10, 1, TABLE), 0);
	assert_int_equal(LINE(11, 10, 2, TABLE), 0);
	assert_int_equal(LINE(12, 10, 3, TABLE), 11);
	assert_int_equal(LINE(13, 10, 4, TABLE), 9);
	assert_int_equal(LINE(15, 10, 5, TABLE), 9 + 35);
	assert_int_equal(LINE(15, 10, 6, TABLE), 0);
#undef TABLE
}

static void test_what_has_not_begun_is_at_the_first_line(void **state)
{
	(void)state;
	for (uint32_t minor = 7; minor <= 15; minor++) {
		assert_int_equal(LINE(minor, 77, CPYTHON_NOT_BEGUN, 2, 1), 77);
		assert_int_equal(LINE(minor, 77, CPYTHON_NO_POSITION, 2, 1), 0);
		assert_int_equal(cpython_line(minor, NULL, 0, 77, CPYTHON_NOT_BEGUN), 77);
	}
}

static void test_tables_may_be_empty_or_end_anywhere(void **state)
{
	static const uint8_t entry[] = { 0xf0, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f };

	(void)state;
	assert_int_equal(cpython_line(9, NULL, 0, 5, 3), 5);
	assert_int_equal(cpython_line(10, NULL, 0, 5, 3), 0);
	assert_int_equal(cpython_line(11, NULL, 0, 5, 3), 0);
	assert_int_equal(LINE(9, 5, 3, 2), 5);
	assert_int_equal(LINE(10, 5, 3, 200), 0);
	for (size_t bytes = 1; bytes <= sizeof(entry); bytes++) {
		uint8_t *exact = malloc(bytes); // the sanitizer sees what is read beyond

		assert_non_null(exact);
		memcpy(exact, entry, bytes);
		for (uint32_t minor = 7; minor <= 15; minor++)
			cpython_line(minor, exact, bytes, 1, 0);
		free(exact);
	}
}

static void test_lines_outside_of_what_there_can_be_are_none(void **state)
{
	(void)state;
	assert_int_equal(LINE(9, 1, 2, 2, 0xf0), 0);
	assert_int_equal(LINE(9, 0x7fffffff, 2, 2, 1), 0);
	assert_int_equal(LINE(10, 1, 0, 2, 0xf0), 0);
	assert_int_equal(LINE(10, 0x7fffffff, 0, 2, 1), 0);
	assert_int_equal(LINE(11, 1, 0, 0xe8, 0x7, 0), 0);
	assert_int_equal(LINE(11, 0x7fffffff, 0, 0xe8, 0x2, 0), 0);
	// 36 bits of a line at most.
	assert_int_equal(LINE(11, 1, 0, 0xe8, 0x7e, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 0x7f, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pairs_add_up),
		cmocka_unit_test(test_ranges_have_lines_or_none),
		cmocka_unit_test(test_locations_keep_the_line_where_there_is_none),
		cmocka_unit_test(test_what_has_not_begun_is_at_the_first_line),
		cmocka_unit_test(test_tables_may_be_empty_or_end_anywhere),
		cmocka_unit_test(test_lines_outside_of_what_there_can_be_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
