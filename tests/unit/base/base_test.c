// SPDX-License-Identifier: Apache-2.0
#include <profcol/errors.h>

#include "base/base.h"

// cmocka wants these before itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

static void arena_gives_zeroed_aligned_memory_until_its_budget_is_spent(void **state)
{
	CLEANUP_ARENA struct arena *arena = arena_create(100000);
	size_t given = 0;
	char *text;

	(void)state;
	text = arena_strndup(arena, "pprof/node", 5);
	assert_string_equal(text, "pprof");
	assert_string_equal(arena_printf(arena, "%s:%d", "a", 7), "a:7");
	for (;;) {
		unsigned char *bytes = arena_alloc(arena, 1000);

		if (!bytes)
			break;
		assert_int_equal((uintptr_t)bytes % 16, 0);
		for (int i = 0; i < 1000; i++)
			assert_int_equal(bytes[i], 0);
		memset(bytes, 0xff, 1000);
		given += 1000;
	}
	assert_true(given > 60000);
	assert_true(arena_memory(arena) <= 100000);
	assert_null(arena_alloc(arena, SIZE_MAX));
	assert_true(arena_is_exhausted(arena));
	assert_string_equal(text, "pprof");
}

static void error_collects_context_on_its_way_up(void **state)
{
	struct profcol_error *error =
		profcol_error_errno(ENOENT, "open '%s'", "/etc/pipeline.yaml");

	(void)state;
	error = profcol_error_prefix(error, "receiver '%s'", "profiling");
	assert_string_equal(profcol_error_message(error),
			    "receiver 'profiling': open '/etc/pipeline.yaml': "
			    "No such file or directory");
	assert_int_equal(profcol_error_code(error), PROFCOL_SYSTEM);
	error = profcol_error_join(error, profcol_error_create(PROFCOL_REJECTED, "no"));
	assert_non_null(strstr(profcol_error_message(error), "directory\nno"));
	assert_int_equal(profcol_error_code(error), PROFCOL_SYSTEM);
	profcol_error_destroy(error);
	assert_null(profcol_error_prefix(NULL, "nothing"));
	assert_null(profcol_error_join(NULL, NULL));
}

static void error_says_whether_to_retry(void **state)
{
	struct profcol_error *error = profcol_error_create(PROFCOL_THROTTLED, "slow down");

	(void)state;
	assert_true(profcol_error_is_retryable(error));
	profcol_error_set_delay(error, 5);
	assert_int_equal(profcol_error_delay(error), 5);
	assert_false(profcol_error_is_counted(error));
	profcol_error_set_counted(error);
	assert_true(profcol_error_is_counted(error));
	profcol_error_destroy(error);
	error = profcol_error_create(PROFCOL_REJECTED, "never");
	assert_false(profcol_error_is_retryable(error));
	profcol_error_destroy(error);
}

static const uint32_t *rows;

static bool row_equal(uint32_t id, const void *context)
{
	return rows[id] == *(const uint32_t *)context;
}

static void intern_finds_every_row_again_and_keeps_its_memory_when_cleared(void **state)
{
	enum { ROWS = 5000 };
	static uint32_t values[ROWS];
	struct intern index = { 0 };
	size_t memory;

	(void)state;
	rows = values;
	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < ROWS; i++) {
			uint32_t hash;

			values[i] = i * 7919;
			// Few distinct hashes: equality has to tell rows apart.
			hash = intern_hash(&values[i], 4) & 0xff;
			assert_int_equal(intern_find(&index, hash, row_equal, &values[i]),
					 INTERN_MISSING);
			assert_true(intern_insert(&index, hash, i));
		}
		for (uint32_t i = 0; i < ROWS; i++)
			assert_int_equal(intern_find(&index, intern_hash(&values[i], 4) & 0xff,
						     row_equal, &values[i]),
					 i);
		memory = intern_memory(&index);
		intern_clear(&index);
		assert_int_equal(intern_memory(&index), memory);
		assert_int_equal(intern_find(&index, 1, row_equal, &values[1]), INTERN_MISSING);
	}
	intern_deinit(&index);
}

static void intern_takes_what_was_reserved_without_growing(void **state)
{
	struct intern index = { 0 };
	size_t memory;

	(void)state;
	for (uint32_t count = 0; count < 2000; count += 97) {
		assert_true(intern_reserve(&index, index.count + count));
		memory = intern_memory(&index);
		for (uint32_t i = 0; i < count; i++)
			assert_true(intern_insert(&index, i, i));
		assert_int_equal(intern_memory(&index), memory);
	}
	assert_true(memory <= index.count * sizeof(struct intern_slot) * 8 / 3);
	assert_true(intern_reserve(&index, 1));
	assert_int_equal(intern_memory(&index), memory);
	intern_deinit(&index);
}

static void reader_never_leaves_its_bytes(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 0, 'a', 'b', 0, 0x96, 0x01, 'x' };
	struct reader reader = reader_over(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(reader_u8(&reader), 1);
	assert_int_equal(reader_u16(&reader), 2);
	assert_string_equal(reader_cstring(&reader), "ab");
	assert_int_equal(reader_varint(&reader), 150);
	assert_int_equal(reader_left(&reader), 1);
	assert_null(reader_cstring(&reader));
	assert_true(reader.failed);
	// A failed reader stays failed, whatever is asked.
	assert_int_equal(reader_u8(&reader), 0);
	assert_null(reader_bytes(&reader, 0));
	assert_int_equal(reader_left(&reader), 0);
}

static void reader_refuses_varints_of_more_than_64_bits(void **state)
{
	static const uint8_t largest[] = { 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff, 0xff, 0xff, 0x01 };
	static const uint8_t larger[] = {
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02
	};
	struct reader reader = reader_over(largest, sizeof(largest));

	(void)state;
	assert_true(reader_varint(&reader) == UINT64_MAX);
	assert_false(reader.failed);
	reader = reader_over(larger, sizeof(larger));
	reader_varint(&reader);
	assert_true(reader.failed);
	reader = reader_over(largest, 9);
	reader_varint(&reader);
	assert_true(reader.failed);
}

static void strings_suggest_what_was_probably_meant(void **state)
{
	static const char *const keys[] = { "samples_per_second", "reporter_interval",
					    "directory" };

	(void)state;
	assert_string_equal(strings_nearest("sample_per_second", keys, 3), "samples_per_second");
	assert_string_equal(strings_nearest("SAMPLES-PER-SECOND", keys, 3), "samples_per_second");
	assert_string_equal(strings_nearest("driectory", keys, 3), "directory");
	assert_null(strings_nearest("endpoint", keys, 3));
	assert_null(strings_nearest("x", keys, 0));
}

static void strings_replace_what_is_not_utf8(void **state)
{
	char clean[32];

	(void)state;
	strings_sanitize_utf8(clean, "a\xff\xc3\xa9\xed\xa0\x80z", 8);
	assert_string_equal(clean, "a?\xc3\xa9???z");
	assert_true(strings_is_utf8(clean, 8));
	assert_false(strings_is_utf8("\xc3", 1));
	assert_false(strings_is_utf8("\xf4\x90\x80\x80", 4));
	assert_true(strings_is_utf8("\xf4\x8f\xbf\xbf", 4));
}

static void characters_are_written_as_utf8(void **state)
{
	static const struct {
		uint32_t code;
		const char *bytes;
	} cases[] = {
		{ 0x7f, "\x7f" },
		{ 0x80, "\xc2\x80" },
		{ 0x7ff, "\xdf\xbf" },
		{ 0x800, "\xe0\xa0\x80" },
		{ 0xffff, "\xef\xbf\xbf" },
		{ 0x10000, "\xf0\x90\x80\x80" },
		{ 0x10ffff, "\xf4\x8f\xbf\xbf" },
		{ 0xd800, "" },
		{ 0xdfff, "" },
		{ 0x110000, "" },
	};
	char bytes[4];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t length = strings_encode_utf8(cases[i].code, bytes);

		assert_int_equal(length, strlen(cases[i].bytes));
		assert_memory_equal(bytes, cases[i].bytes, length);
	}
}

static void strings_are_cut_between_characters(void **state)
{
	(void)state;
	assert_int_equal(strings_cut_utf8("abc", 3, 3), 3);
	assert_int_equal(strings_cut_utf8("abc", 3, 2), 2);
	assert_int_equal(strings_cut_utf8("a\xc3\xa9", 3, 2), 1);
	assert_int_equal(strings_cut_utf8("\xf0\x9f\x94\xa5z", 5, 4), 4);
	for (size_t max = 0; max < 4; max++)
		assert_int_equal(strings_cut_utf8("\xf0\x9f\x94\xa5z", 5, max), 0);
	// No character is that long.
	assert_int_equal(strings_cut_utf8("a\x80\x80\x80\x80\x80", 6, 5), 2);
}

static void file_is_read_whole_or_not_at_all(void **state)
{
	CLEANUP_FREE char *text = NULL;
	char path[] = "/tmp/profcol-base-XXXXXX";
	int fd = mkstemp(path);
	size_t length;

	(void)state;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(write(fd, "0123456789", 10), 10);
	close(fd);
	assert_int_equal(file_read(AT_FDCWD, path, 9999, &text, &length), -EFBIG);
	assert_null(text);
	assert_int_equal(file_read(AT_FDCWD, path, 10000, &text, &length), 0);
	assert_int_equal(length, 10000);
	assert_int_equal(strlen(text), 10000);
	unlink(path);
	free(text);
	text = NULL;
	assert_int_equal(file_read(AT_FDCWD, path, 10, &text, &length), -ENOENT);
}

/* What has no end is given up, what has one is read: <(...) and /dev/stdin are pipes. */
static void a_pipe_is_read_to_its_end_or_given_up(void **state)
{
	char path[] = "/tmp/profcol-base-XXXXXX", name[80], number[32];
	uint64_t soon = clock_monotonic_ns() + 200000000u;
	CLEANUP_FREE char *text = NULL;
	int ends[2];

	(void)state;
	assert_non_null(mkdtemp(path));
	snprintf(name, sizeof(name), "%s/pipe", path);
	assert_int_equal(mkfifo(name, 0600), 0);
	assert_int_equal(file_read_until(AT_FDCWD, name, 10, soon, &text, NULL), -ETIMEDOUT);
	assert_null(text);
	unlink(name);
	rmdir(path);
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "abc", 3), 3);
	snprintf(number, sizeof(number), "/dev/fd/%d", ends[0]);
	soon = clock_monotonic_ns() + 200000000u;
	assert_int_equal(file_read_until(AT_FDCWD, number, 10, soon, &text, NULL), -ETIMEDOUT);
	assert_int_equal(write(ends[1], "def", 3), 3);
	close(ends[1]);
	assert_int_equal(file_read(AT_FDCWD, number, 10, &text, NULL), 0);
	assert_string_equal(text, "def");
	close(ends[0]);
}

static void clock_converts_kernel_times_to_wall_time(void **state)
{
	struct clock_calibration clock = clock_calibrate();
	uint64_t before = clock_realtime_ns();
	uint64_t converted = clock_monotonic_to_unix(&clock, clock_monotonic_ns());
	uint64_t booted = clock_boottime_to_unix(&clock, clock_boottime_ns());

	(void)state;
	// A step of the wall clock in between is possible, a second's is not expected.
	assert_in_range(converted, before - 1000000000u, before + 1000000000u);
	assert_in_range(booted, before - 1000000000u, before + 1000000000u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_gives_zeroed_aligned_memory_until_its_budget_is_spent),
		cmocka_unit_test(error_collects_context_on_its_way_up),
		cmocka_unit_test(error_says_whether_to_retry),
		cmocka_unit_test(intern_finds_every_row_again_and_keeps_its_memory_when_cleared),
		cmocka_unit_test(intern_takes_what_was_reserved_without_growing),
		cmocka_unit_test(reader_never_leaves_its_bytes),
		cmocka_unit_test(reader_refuses_varints_of_more_than_64_bits),
		cmocka_unit_test(strings_suggest_what_was_probably_meant),
		cmocka_unit_test(strings_replace_what_is_not_utf8),
		cmocka_unit_test(characters_are_written_as_utf8),
		cmocka_unit_test(strings_are_cut_between_characters),
		cmocka_unit_test(file_is_read_whole_or_not_at_all),
		cmocka_unit_test(a_pipe_is_read_to_its_end_or_given_up),
		cmocka_unit_test(clock_converts_kernel_times_to_wall_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
