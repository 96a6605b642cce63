// SPDX-License-Identifier: Apache-2.0
/* What a frame of CPython's is called, by memory that may hold anything. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpython_forged.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct forged forged;
static struct runtime_process process;

/* What was resolved last. */
static struct {
	char function[8192], file[8192];
	uint32_t line, start_line;
	unsigned int lines;
} named;

static bool take_line(void *context, const struct runtime_line *line)
{
	(void)context;
	named.lines++;
	snprintf(named.function, sizeof(named.function), "%.*s", (int)line->function_bytes,
		 line->function);
	snprintf(named.file, sizeof(named.file), "%.*s", (int)line->file_bytes, line->file);
	named.line = line->line;
	named.start_line = line->start_line;
	return true;
}

static enum runtime_outcome resolve(uint64_t object, uint32_t position, uint32_t check)
{
	const struct runtime_memory memory = forged_memory(&forged);
	const struct runtime_lines lines = { take_line, NULL };
	const struct runtime_frame frame = { object, position, check, 0, 0 };

	memset(&named, 0, sizeof(named));
	memset(&process, 0, sizeof(process));
	memcpy(process.layout, &forged.layout, sizeof(forged.layout));
	forged.reads = forged.read_bytes = 0;
	return cpython_resolve(&process, &memory, &frame, &lines);
}

/* One more line for the second instruction, in any version's format. */
static uint64_t make_lines(uint32_t minor)
{
	static const uint8_t pairs[] = { 2, 1 }, ranges[] = { 2, 0, 2, 1 },
			     locations[] = { 0xd0, 0, 0, 0xd8, 0, 0 };

	if (minor >= 11)
		return forged_data(&forged, locations, sizeof(locations));
	return minor == 10 ? forged_data(&forged, ranges, sizeof(ranges))
			   : forged_data(&forged, pairs, sizeof(pairs));
}

static uint64_t make_code(uint32_t minor)
{
	uint64_t name, file;

	forged_init(&forged, minor);
	name = forged_ascii(&forged, "Shop.open");
	file = forged_ascii(&forged, "/srv/shop.py");
	return forged_code(&forged, name, file, make_lines(minor), 70);
}

static void test_frames_have_names_files_and_lines(void **state)
{
	(void)state;
	for (uint32_t minor = 6; minor <= 15; minor++) {
		uint64_t code = make_code(minor);

		assert_int_equal(resolve(code, minor < 10 ? 2 : 1, forged_check(&forged, code)),
				 RUNTIME_NAMED);
		assert_int_equal(named.lines, 1);
		assert_string_equal(named.function, "Shop.open");
		assert_string_equal(named.file, "/srv/shop.py");
		assert_int_equal(named.line, 71);
		assert_int_equal(named.start_line, 70);
		assert_int_equal(resolve(code, CPYTHON_NOT_BEGUN, forged_check(&forged, code)),
				 RUNTIME_NAMED);
		assert_int_equal(named.line, 70);
		assert_int_equal(resolve(code, CPYTHON_NO_POSITION, forged_check(&forged, code)),
				 RUNTIME_NAMED);
		assert_int_equal(named.line, 0);
	}
}

static void test_another_object_is_gone(void **state)
{
	uint64_t code = make_code(12);
	uint32_t check = forged_check(&forged, code);

	(void)state;
	assert_int_equal(resolve(code, 0, check ^ 1), RUNTIME_GONE);
	forged_put_int(&forged, code + forged.layout.offsets.code_firstlineno, 71);
	assert_int_equal(resolve(code, 0, check), RUNTIME_GONE);
	assert_int_equal(named.lines, 0);
	assert_int_equal(resolve(0, 0, check), RUNTIME_UNREADABLE);
	assert_int_equal(resolve(UINT64_MAX - 64, 0, check), RUNTIME_UNREADABLE);
}

/* Freed memory stays as it was, but for the first words. */
static void test_freed_objects_are_gone(void **state)
{
	static const uint64_t dead[] = { 0, 0x7f5512345670, 0x00005555deadbe00,
					 0xdddddddddddddddd };
	static const uint64_t alive[] = { 1, 999999999, 0xffffffff, 0xc0000000, 3ull << 48 | 5 };

	(void)state;
	for (uint32_t minor = 6; minor <= 15; minor++) {
		uint64_t code = make_code(minor);

		for (size_t i = 0; i < sizeof(dead) / sizeof(*dead); i++) {
			forged_put_word(&forged, code, dead[i]);
			assert_int_equal(resolve(code, 0, forged_check(&forged, code)),
					 RUNTIME_GONE);
		}
		for (size_t i = 0; i < sizeof(alive) / sizeof(*alive); i++) {
			forged_put_word(&forged, code, alive[i]);
			assert_int_equal(resolve(code, 0, forged_check(&forged, code)),
					 RUNTIME_NAMED);
		}
	}
}

/* Without the GIL two counts say whether an object lives, of its own thread and of the others. */
static void test_objects_without_the_lock(void **state)
{
	static const struct {
		uint32_t own;
		int64_t shared;
		enum runtime_outcome outcome;
	} cases[] = {
		{ 1, 0, RUNTIME_NAMED }, { UINT32_MAX, 0, RUNTIME_NAMED }, { 0, 4, RUNTIME_NAMED },
		{ 0, 7, RUNTIME_NAMED }, { 1, -4, RUNTIME_NAMED },         { 0, 0, RUNTIME_GONE },
		{ 0, 3, RUNTIME_GONE },  { 0, -4, RUNTIME_GONE },
	};
	uint64_t code = make_code(FORGED_13T);
	uint32_t check = forged_check(&forged, code);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		forged_put_int(&forged, code + 12, cases[i].own);
		forged_put_word(&forged, code + 16, (uint64_t)cases[i].shared);
		assert_int_equal(resolve(code, 1, check), cases[i].outcome);
	}
	forged_refer(&forged, code, 1);
	assert_int_equal(resolve(code, 1, check), RUNTIME_NAMED);
	assert_string_equal(named.function, "Shop.open");
	assert_string_equal(named.file, "/srv/shop.py");
	assert_int_equal(named.line, 71);
	// The thread that owns it, with which the others' first word begins.
	forged_put_word(&forged, code, 0x7f0011223344);
	assert_int_equal(resolve(code, 1, check), RUNTIME_NAMED);
}

static uint64_t changing;
static size_t changes_at;

static void change_name(struct forged *memory, size_t number)
{
	if (number == changes_at)
		forged_put_word(memory, changing + memory->layout.offsets.code_name, number);
}

/* Changed while it is read, it is none or what it was: never half of each. */
static void test_objects_that_change_meanwhile_are_gone(void **state)
{
	size_t reads;
	uint64_t code;

	(void)state;
	code = make_code(13);
	assert_int_equal(resolve(code, 0, forged_check(&forged, code)), RUNTIME_NAMED);
	reads = forged.reads;
	for (changes_at = 1; changes_at <= reads; changes_at++) {
		changing = code = make_code(13);
		forged.before = change_name;
		assert_int_not_equal(resolve(code, 0, forged_check(&forged, code)), RUNTIME_NAMED);
		assert_int_equal(named.lines, 0);
	}
}

static void test_parts_may_be_anything(void **state)
{
	static const uint64_t wild[] = { 0, 1, 1ull << 63, UINT64_MAX, UINT64_MAX - 15 };

	(void)state;
	for (uint32_t minor = 6; minor <= 15; minor++)
		for (size_t i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
			uint64_t code = make_code(minor);
			const struct cpython_offsets *offsets = &forged.layout.offsets;

			forged_put_word(&forged, code + offsets->code_qualname, wild[i]);
			assert_int_equal(resolve(code, 0, forged_check(&forged, code)),
					 RUNTIME_UNREADABLE);
			code = make_code(minor);
			forged_put_word(&forged, code + offsets->code_filename, wild[i]);
			assert_int_equal(resolve(code, 0, forged_check(&forged, code)),
					 RUNTIME_UNREADABLE);
			// The line alone is not known.
			code = make_code(minor);
			forged_put_word(&forged, code + offsets->code_linetable, wild[i]);
			assert_int_equal(resolve(code, 0, forged_check(&forged, code)),
					 RUNTIME_NAMED);
			assert_int_equal(named.line, 0);
			code = make_code(minor);
			forged_put_word(&forged, code + 8, wild[i]);
			assert_int_equal(resolve(code, 0, forged_check(&forged, code)),
					 RUNTIME_GONE);
		}
}

static void test_first_lines_and_names_are_some(void **state)
{
	uint64_t code;

	(void)state;
	code = make_code(11);
	forged_put_int(&forged, code + forged.layout.offsets.code_firstlineno, 0x80000000);
	assert_int_equal(resolve(code, 0, forged_check(&forged, code)), RUNTIME_MALFORMED);
	forged_init(&forged, 11);
	code = forged_code(&forged, forged_ascii(&forged, ""), forged_ascii(&forged, "a.py"),
			   make_lines(11), 1);
	assert_int_equal(resolve(code, 0, forged_check(&forged, code)), RUNTIME_MALFORMED);
}

/* Tables and texts of any length cost no more than their bounds. */
static void test_what_is_read_has_a_bound(void **state)
{
	(void)state;
	for (int bit = 0; bit < 64; bit++)
		for (int which = 0; which < 3; which++) {
			uint64_t code = make_code(14), part;
			const struct cpython_offsets *offsets = &forged.layout.offsets;

			memcpy(&part,
			       forged_at(&forged, code + (which == 0   ? offsets->code_qualname
							  : which == 1 ? offsets->code_filename
								       : offsets->code_linetable)),
			       sizeof(part));
			forged_room(&forged, FORGED_BYTES / 2); // so that much can be read
			forged_put_word(&forged, part + 16, 1ull << bit);
			resolve(code, 5, forged_check(&forged, code));
			assert_in_range(forged.reads, 1, 64);
			assert_in_range(forged.read_bytes, 1, (1 << 18) + 20000);
		}
}

static void test_names_end_where_reading_does(void **state)
{
	uint64_t code = make_code(15);
	size_t reads;

	(void)state;
	assert_int_equal(resolve(code, 1, forged_check(&forged, code)), RUNTIME_NAMED);
	reads = forged.reads;
	for (size_t most = 0; most < reads; most++) {
		forged.most_reads = most;
		// Without its table it has no line, and without any other part no name.
		if (resolve(code, 1, forged_check(&forged, code)) == RUNTIME_NAMED)
			assert_int_equal(named.line, 0);
		else
			assert_int_equal(named.lines, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames_have_names_files_and_lines),
		cmocka_unit_test(test_another_object_is_gone),
		cmocka_unit_test(test_freed_objects_are_gone),
		cmocka_unit_test(test_objects_without_the_lock),
		cmocka_unit_test(test_objects_that_change_meanwhile_are_gone),
		cmocka_unit_test(test_parts_may_be_anything),
		cmocka_unit_test(test_first_lines_and_names_are_some),
		cmocka_unit_test(test_what_is_read_has_a_bound),
		cmocka_unit_test(test_names_end_where_reading_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
