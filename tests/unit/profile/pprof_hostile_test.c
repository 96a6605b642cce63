// SPDX-License-Identifier: Apache-2.0
// The reader on hostile bytes: damaged, endless, deep, and much more than they look.
#include "pprof_small_file.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include "../gzip_bytes.h"

#include <cmocka.h>

#include <string.h>

static const struct pprof_decode_limits limits = {
	.max_bytes = 16 << 20,
	.max_memory = 64 << 20,
};

static void assert_bad(struct profcol_error *error, const char *wanted)
{
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	if (!strstr(profcol_error_message(error), wanted))
		fail_msg("'%s' does not mention '%s'", profcol_error_message(error), wanted);
	profcol_error_destroy(error);
}

/* Whatever the answer is, it must be an answer. A copy of the exact size shows reads past it. */
static bool is_accepted(const uint8_t *bytes, size_t length)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE uint8_t *copy = malloc(length ? length : 1);

	memcpy(copy, bytes, length);
	error = pprof_decode(copy, length, &limits, &batch);
	assert_true(!error == !!batch);
	return !error;
}

static void every_truncation_is_answered(void **state)
{
	struct small_file file;
	size_t length, packed_length;
	CLEANUP_FREE uint8_t *bytes = NULL, *packed = NULL;

	(void)state;
	small_file_init(&file);
	bytes = small_file_pack(&file, &length);
	packed = gzip_bytes(bytes, length, &packed_length);
	for (size_t i = 0; i < length; i++)
		is_accepted(bytes, i);
	for (size_t i = 0; i < packed_length; i++)
		assert_false(is_accepted(packed, i));
	assert_true(is_accepted(bytes, length));
	assert_true(is_accepted(packed, packed_length));
}

static void every_flipped_bit_is_answered(void **state)
{
	struct small_file file;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = NULL;

	(void)state;
	small_file_init(&file);
	bytes = small_file_pack(&file, &length);
	for (size_t i = 0; i < length * 8; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		is_accepted(bytes, length);
		bytes[i / 8] ^= 1 << i % 8;
	}
}

static void damaged_gzip_is_refused(void **state)
{
	struct small_file file;
	size_t length, packed_length;
	CLEANUP_FREE uint8_t *bytes = NULL, *packed = NULL;
	struct profcol_batch *batch = NULL;

	(void)state;
	small_file_init(&file);
	bytes = small_file_pack(&file, &length);
	packed = gzip_bytes(bytes, length, &packed_length);
	assert_bad(pprof_decode(packed, packed_length - 3, &limits, &batch), "cut short");
	packed[packed_length - 6] ^= 1; // the checksum
	assert_bad(pprof_decode(packed, packed_length, &limits, &batch), "gzip is damaged");
}

static void members_of_gzip_are_joined(void **state)
{
	struct small_file file;
	size_t length, first_length, second_length;
	CLEANUP_FREE uint8_t *bytes = NULL, *first = NULL, *second = NULL, *both = NULL;

	(void)state;
	small_file_init(&file);
	bytes = small_file_pack(&file, &length);
	first = gzip_bytes(bytes, 20, &first_length);
	second = gzip_bytes(bytes + 20, length - 20, &second_length);
	both = malloc(first_length + second_length);
	memcpy(both, first, first_length);
	memcpy(both + first_length, second, second_length);
	assert_true(is_accepted(both, first_length + second_length));
	// What follows the last member must be another one.
	both[first_length] = 'x';
	assert_false(is_accepted(both, first_length + second_length));
}

static void a_gzip_bomb_is_refused(void **state)
{
	enum { LENGTH = 64 << 20 };
	CLEANUP_FREE uint8_t *zeros = calloc(1, LENGTH), *packed = NULL;
	const struct pprof_decode_limits exact = { .max_bytes = 1000, .max_memory = 1 << 20 };
	struct profcol_batch *batch = NULL;
	size_t packed_length;

	(void)state;
	packed = gzip_bytes(zeros, LENGTH, &packed_length);
	assert_bad(pprof_decode(packed, packed_length, &limits, &batch),
		   "gzip holds more than 16777216 bytes");
	free(packed);
	// The limit itself is allowed: the complaint is about what is inside.
	packed = gzip_bytes(zeros, 1000, &packed_length);
	assert_bad(pprof_decode(packed, packed_length, &exact, &batch), "not a pprof file");
	free(packed);
	packed = gzip_bytes(zeros, 1001, &packed_length);
	assert_bad(pprof_decode(packed, packed_length, &exact, &batch), "more than 1000 bytes");
	assert_bad(pprof_decode(zeros, 1001, &exact, &batch), "more than the limit of 1000");
}

static void memory_is_bounded(void **state)
{
	const size_t samples = 1000000;
	const struct pprof_decode_limits tight = { .max_bytes = 16 << 20, .max_memory = 8 << 20 };
	CLEANUP_FREE uint8_t *bytes = malloc(2 * samples);
	struct profcol_batch *batch = NULL;

	(void)state;
	// Two bytes each on the wire, but an object each in memory.
	for (size_t i = 0; i < samples; i++) {
		bytes[2 * i] = 0x12;
		bytes[2 * i + 1] = 0;
	}
	assert_bad(pprof_decode(bytes, 2 * samples, &tight, &batch), "memory");
	assert_bad(pprof_decode(bytes, 2 * samples, &limits, &batch), "");
}

static void a_share_bounds_what_is_decoded_at_once(void **state)
{
	enum { LENGTH = 1 << 20 };
	struct memory_budget budget = { .most = 1 << 20 };
	struct memory_share other = { .budget = &budget }, share = { .budget = &budget };
	const struct pprof_decode_limits shared = { 16 << 20, 64 << 20, &share };
	CLEANUP_FREE uint8_t *zeros = calloc(1, LENGTH), *packed = NULL, *bytes = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_error *error;
	struct small_file file;
	size_t packed_length, length;

	(void)state;
	small_file_init(&file);
	bytes = small_file_pack(&file, &length);
	packed = gzip_bytes(zeros, LENGTH, &packed_length);
	assert_true(memory_share_take(&other, 900 << 10));
	error = pprof_decode(packed, packed_length, &shared, &batch);
	assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
	profcol_error_destroy(error);
	memory_share_give(&share);
	error = pprof_decode(bytes, length, &shared, &batch);
	assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
	profcol_error_destroy(error);
	memory_share_give(&share);
	memory_share_give(&other);
	error = pprof_decode(bytes, length, &shared, &batch);
	assert_null(error);
	assert_true(share.taken >= profile_memory(batch));
	memory_share_give(&share);
}

static void garbage_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} cases[] = {
		{ "", 0 },
		{ "\x1f\x8b", 2 },
		{ "heap profile: 1: 2 [3: 4] @ heapprofile\n", 41 },
		{ "\x7f"
		  "ELF\x02\x01\x01",
		  7 },
		{ "\x0a\xff\xff\xff\xff\x0f", 6 },
		{ "\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
		{ "\x0b\x0c", 2 },
		{ "\x08\x01", 2 }, // sample_type as a number
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profcol_batch *batch = NULL;

		assert_bad(pprof_decode((const uint8_t *)cases[i].bytes, cases[i].length, &limits,
					&batch),
			   "");
	}
}

static void unknown_fields_are_skipped(void **state)
{
	static const uint8_t unknown[] = { 0xf8, 0x06, 7, 0xf9, 0x06, 1,    2,    3, 4, 5, 6, 7, 8,
					   0xfa, 0x06, 2, 'h',  'i',  0xfd, 0x06, 1, 2, 3, 4 };
	struct small_file file;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = NULL, *longer = NULL;

	(void)state;
	small_file_init(&file);
	bytes = small_file_pack(&file, &length);
	longer = malloc(length + sizeof(unknown));
	memcpy(longer, unknown, sizeof(unknown));
	memcpy(longer + sizeof(unknown), bytes, length);
	assert_true(is_accepted(longer, length + sizeof(unknown)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_truncation_is_answered),
		cmocka_unit_test(every_flipped_bit_is_answered),
		cmocka_unit_test(damaged_gzip_is_refused),
		cmocka_unit_test(members_of_gzip_are_joined),
		cmocka_unit_test(a_gzip_bomb_is_refused),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(a_share_bounds_what_is_decoded_at_once),
		cmocka_unit_test(garbage_is_refused),
		cmocka_unit_test(unknown_fields_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
