// SPDX-License-Identifier: Apache-2.0
/*
 * Where in CPython's structures what lies: as debuggers say it of builds of 3.6 to 3.12, and as
 * interpreters say it from 3.13 on.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cpython_words.h"

#include "receiver/ebpf/runtimes/cpython/cpython.h"

#include <string.h>

static const uint64_t *words_of(uint32_t minor)
{
	return minor == 13 ? cpython_words_13 : minor == 14 ? cpython_words_14 : cpython_words_15;
}

static void test_versions_that_are_known(void **state)
{
	(void)state;
	for (uint32_t minor = 0; minor < 30; minor++) {
		struct cpython_offsets offsets;

		assert_int_equal(cpython_known_offsets(minor) != NULL, minor >= 6 && minor <= 12);
		assert_int_equal(
			cpython_told_offsets(minor, cpython_words_13, CPYTHON_WORDS, &offsets),
			minor == 13);
	}
}

/* The check goes from what holds the first line to what names the table of lines. */
static void expect_object(const struct cpython_offsets *offsets)
{
	uint32_t end = offsets->code_check + 8u * offsets->code_check_words;

	assert_int_equal(offsets->code_check % 8, 0);
	assert_in_range(offsets->code_check_words, 1, CPYTHON_CHECK_WORDS);
	assert_in_range(offsets->code_firstlineno, offsets->code_check, end - 4);
	assert_in_range(offsets->code_filename, offsets->code_check, end - 8);
	assert_in_range(offsets->code_name, offsets->code_check, end - 8);
	assert_in_range(offsets->code_linetable, offsets->code_check, end - 8);
}

static void test_code_objects_are_checked_by_what_names_them(void **state)
{
	(void)state;
	for (uint32_t minor = 6; minor <= 15; minor++) {
		struct cpython_offsets told;

		if (minor <= 12) {
			expect_object(cpython_known_offsets(minor));
			continue;
		}
		assert_true(cpython_told_offsets(minor, words_of(minor), CPYTHON_WORDS, &told));
		expect_object(&told);
	}
}

static void expect_threads(const struct cpython_offsets *offsets, uint32_t interpreters,
			   uint32_t next, uint32_t threads, uint32_t id, uint32_t frame)
{
	assert_int_equal(offsets->runtime_interpreters, interpreters);
	assert_int_equal(offsets->interpreter_next, next);
	assert_int_equal(offsets->interpreter_threads, threads);
	assert_int_equal(offsets->thread_previous, 0);
	assert_int_equal(offsets->thread_next, 8);
	assert_int_equal(offsets->thread_interpreter, 16);
	assert_int_equal(offsets->thread_id, id);
	assert_int_equal(offsets->thread_frame, frame);
}

static void test_offsets_of_3_13(void **state)
{
	struct cpython_offsets offsets;

	(void)state;
	assert_true(cpython_told_offsets(13, cpython_words_13, CPYTHON_WORDS, &offsets));
	expect_threads(&offsets, 632, 7264, 7344, 152, 72);
	assert_int_equal(offsets.frame_owner, 70);
	assert_int_equal(offsets.code_instructions, 200);
	assert_int_equal(offsets.code_firstlineno, 68);
	assert_int_equal(offsets.code_filename, 112);
	assert_int_equal(offsets.code_name, 120);
	assert_int_equal(offsets.code_qualname, 128);
	assert_int_equal(offsets.code_linetable, 136);
	assert_int_equal(offsets.type_name, 24);
	assert_int_equal(offsets.text_ascii, 40);
	assert_int_equal(offsets.text_compact, 56);
	assert_int_equal(offsets.bytes_data, 32);
	assert_int_equal(offsets.flags, 0);
}

static void test_offsets_of_later_versions(void **state)
{
	struct cpython_offsets offsets;

	(void)state;
	assert_true(cpython_told_offsets(14, cpython_words_14, CPYTHON_WORDS, &offsets));
	expect_threads(&offsets, 808, 7272, 7344, 152, 72);
	assert_int_equal(offsets.frame_owner, 74);
	assert_int_equal(offsets.code_instructions, 208);
	assert_int_equal(offsets.code_qualname, 128);
	assert_int_equal(offsets.text_compact, 56);
	assert_true(cpython_told_offsets(15, cpython_words_15, CPYTHON_WORDS, &offsets));
	expect_threads(&offsets, 936, 7264, 7336, 176, 72);
	assert_int_equal(offsets.frame_owner, 74);
	assert_int_equal(offsets.code_instructions, 208);
	assert_int_equal(offsets.code_linetable, 136);
	assert_int_equal(offsets.text_ascii, 40);
	assert_int_equal(offsets.text_compact, 56);
	assert_int_equal(offsets.bytes_data, 32);
}

static void test_offsets_of_3_13_without_the_lock(void **state)
{
	struct cpython_offsets offsets;

	(void)state;
	assert_true(cpython_told_offsets(13, cpython_words_13t, CPYTHON_WORDS, &offsets));
	expect_threads(&offsets, 632, 7264, 7344, 152, 72);
	expect_object(&offsets);
	assert_int_equal(offsets.frame_owner, 70);
	assert_int_equal(offsets.object_type, 24);
	assert_int_equal(offsets.code_firstlineno, 84);
	assert_int_equal(offsets.code_qualname, 144);
	assert_int_equal(offsets.code_instructions, 216);
	assert_int_equal(offsets.type_name, 40);
	assert_int_equal(offsets.text_length, 32);
	assert_int_equal(offsets.text_state, 48);
	assert_int_equal(offsets.text_ascii, 56);
	assert_int_equal(offsets.text_compact, 72);
	assert_int_equal(offsets.bytes_length, 32);
	assert_int_equal(offsets.bytes_data, 48);
	assert_int_equal(offsets.flags, CPYTHON_FREE_THREADED);
}

/* Objects of the other kind, and versions of which none has been seen. */
static void test_other_builds_without_the_lock_are_not_known(void **state)
{
	struct cpython_offsets offsets;
	uint64_t words[CPYTHON_WORDS];

	(void)state;
	for (uint32_t minor = 13; minor <= 15; minor++) {
		memcpy(words, words_of(minor), sizeof(words));
		words[2] = 1;
		assert_false(cpython_told_offsets(minor, words, CPYTHON_WORDS, &offsets));
	}
	memcpy(words, cpython_words_13t, sizeof(words));
	for (uint64_t said = 0; said <= 3; said++) {
		words[2] = said;
		assert_int_equal(cpython_told_offsets(13, words, CPYTHON_WORDS, &offsets),
				 said == 1);
	}
	words[2] = 1;
	assert_false(cpython_told_offsets(14, words, CPYTHON_WORDS, &offsets));
}

static void test_too_few_words_are_none(void **state)
{
	(void)state;
	for (uint32_t minor = 13; minor <= 15; minor++) {
		struct cpython_offsets offsets;
		size_t least = minor == 13 ? 71 : minor == 14 ? 81 : 93;

		assert_true(cpython_told_offsets(minor, words_of(minor), least, &offsets));
		for (size_t count = 0; count < least; count++)
			assert_false(cpython_told_offsets(minor, words_of(minor), count, &offsets));
	}
}

/* What one version says is not taken for what another one does. */
static void test_the_version_says_which_word_is_which(void **state)
{
	struct cpython_offsets offsets;

	(void)state;
	for (uint32_t said = 13; said <= 15; said++)
		for (uint32_t is = 13; is <= 15; is++)
			assert_int_equal(
				cpython_told_offsets(said, words_of(is), CPYTHON_WORDS, &offsets),
				said == is);
}

/* Whatever a word is, what is made of it can be used: it is no further than 64 KiB. */
static void test_words_may_be_anything(void **state)
{
	static const uint64_t odd[] = {
		0, 1, 7, 0xffff, 0x10000, 1ull << 32, 1ull << 63, UINT64_MAX
	};

	(void)state;
	for (uint32_t minor = 13; minor <= 15; minor++)
		for (size_t word = 0; word < CPYTHON_WORDS; word++)
			for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
				struct cpython_offsets offsets;
				uint64_t words[CPYTHON_WORDS];

				memcpy(words, words_of(minor), sizeof(words));
				words[word] = odd[i];
				if (!cpython_told_offsets(minor, words, CPYTHON_WORDS, &offsets))
					continue;
				assert_in_range(offsets.code_check_words, 1, CPYTHON_CHECK_WORDS);
				assert_in_range(offsets.frame_owner, 64,
						8 * CPYTHON_CHAIN_WORDS - 1);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_versions_that_are_known),
		cmocka_unit_test(test_code_objects_are_checked_by_what_names_them),
		cmocka_unit_test(test_offsets_of_3_13),
		cmocka_unit_test(test_offsets_of_later_versions),
		cmocka_unit_test(test_offsets_of_3_13_without_the_lock),
		cmocka_unit_test(test_other_builds_without_the_lock_are_not_known),
		cmocka_unit_test(test_too_few_words_are_none),
		cmocka_unit_test(test_the_version_says_which_word_is_which),
		cmocka_unit_test(test_words_may_be_anything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
