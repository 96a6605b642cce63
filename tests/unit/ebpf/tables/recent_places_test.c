// SPDX-License-Identifier: Apache-2.0
/* Where a CPU remembers rules: two places in files are never taken for one, and walks ask as long
 * as it is worth it. */
#include "sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdbool.h>

enum { RANDOM_PLACES = 2000000 };

static const uint64_t OFFSETS = 1ull << UNWIND_RECENT_OFFSET_BITS;

static uint64_t frame_of(uint64_t file, uint64_t offset)
{
	return UNWIND_FRAME_FILE | file << UNWIND_FRAME_SHIFT | offset;
}

static uint64_t random_bits(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* The place can be told from its tag. */
static void assert_told(uint64_t file, uint64_t offset)
{
	uint64_t tag = unwind_recent_tag(frame_of(file, offset));

	assert_int_equal(tag & 0xffff, 0);
	assert_int_equal(tag >> 16 >> UNWIND_RECENT_OFFSET_BITS, file);
	assert_int_equal(tag >> 16 & (OFFSETS - 1), offset);
	assert_true(unwind_recent_line(tag) < UNWIND_RECENT_LINES);
}

static void each_place_has_a_tag_of_its_own(void **state)
{
	(void)state;
	for (int i = 0; i < RANDOM_PLACES; i++)
		assert_told(1 + random_bits() % (UNWIND_FRAME_FILES - 1), random_bits() % OFFSETS);
	assert_told(1, 0);
	assert_told(1, OFFSETS - 1);
	assert_told(UNWIND_FRAME_FILES - 1, 0);
	assert_told(UNWIND_FRAME_FILES - 1, OFFSETS - 1);
}

static void what_has_none_is_not_remembered(void **state)
{
	(void)state;
	assert_int_equal(unwind_recent_tag(frame_of(1, OFFSETS)), 0);
	assert_int_equal(unwind_recent_tag(frame_of(1, (1ull << UNWIND_FRAME_SHIFT) - 1)), 0);
	assert_int_equal(unwind_recent_tag(frame_of(UNWIND_FRAME_FILES, 5)), 0);
	assert_int_equal(unwind_recent_tag(0x7f1234567890), 0); // an address
	assert_int_equal(unwind_recent_tag(0), 0);
}

/* The places of one program after the other spread. */
static void neighbours_spread(void **state)
{
	enum { FILES = 8, PLACES = 32, STEP = 23 };
	static bool taken[UNWIND_RECENT_LINES];
	size_t count = 0;

	(void)state;
	for (uint64_t file = 1; file <= FILES; file++)
		for (uint64_t i = 0; i < PLACES; i++) {
			uint64_t tag = unwind_recent_tag(frame_of(file, 0x1000 + i * STEP));
			bool *line = &taken[unwind_recent_line(tag)];

			count += !*line;
			*line = true;
		}
	// Thrown at random, 256 take 200 of 503 lines.
	assert_true(count > 185);
}

/* How many of @count walks ask, whose @frames frames each are found with @percent. */
static size_t walk(struct unwind_recent_use *use, size_t count, size_t frames, uint64_t percent)
{
	size_t asking = 0;

	for (size_t i = 0; i < count; i++) {
		if (!unwind_recent_asks(use))
			continue;
		asking++;
		for (size_t j = 0; j < frames; j++)
			unwind_recent_asked(use, random_bits() % 100 < percent);
	}
	return asking;
}

static void who_finds_asks_always(void **state)
{
	struct unwind_recent_use use = { 0 };

	(void)state;
	assert_int_equal(walk(&use, 10000, 20, 75), 10000);
	assert_int_equal(walk(&use, 10000, 20, 50), 10000);
}

static void who_does_not_find_asks_seldom(void **state)
{
	struct unwind_recent_use use = { 0 };

	(void)state;
	walk(&use, 100, 20, 10);
	assert_int_equal(walk(&use, 8000, 20, 10), 1000);
}

/* What runs there changes. */
static void who_finds_again_asks_always_again(void **state)
{
	struct unwind_recent_use use = { 0 };

	(void)state;
	walk(&use, 1000000, 20, 0);
	assert_true(walk(&use, 400, 20, 75) > 100); // within some 200
	assert_int_equal(walk(&use, 1000, 20, 75), 1000);
	walk(&use, 1000000, 20, 100);
	walk(&use, 100, 20, 0);
	assert_int_equal(walk(&use, 8000, 20, 0), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_place_has_a_tag_of_its_own),
		cmocka_unit_test(what_has_none_is_not_remembered),
		cmocka_unit_test(neighbours_spread),
		cmocka_unit_test(who_finds_asks_always),
		cmocka_unit_test(who_does_not_find_asks_seldom),
		cmocka_unit_test(who_finds_again_asks_always_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
