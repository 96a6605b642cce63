// SPDX-License-Identifier: Apache-2.0
/* Where a CPU remembers rules: two places in files are never taken for one. */
#include "sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

enum { RANDOM_PLACES = 2000000, TAG_SHIFT = 16 };

static const uint64_t MULTIPLIER = 0xff51afd7ed558ccdull;
static const uint64_t KEYS = 1ull << 59;

static uint64_t frame_of(uint64_t file, uint64_t offset)
{
	return UNWIND_FRAME_FILE | file << UNWIND_FRAME_SHIFT | offset;
}

/* Modulo 2^64, by Newton's method: each round doubles the bits that are right. */
static uint64_t inverse(uint64_t odd)
{
	uint64_t found = odd;

	for (int round = 0; round < 6; round++)
		found *= 2 - odd * found;
	return found;
}

/* The one frame that has this place in the table, and this tag there. */
static uint64_t frame_found(uint64_t place, uint64_t tag)
{
	uint64_t kept = tag >> TAG_SHIFT;
	uint64_t lowest = ((place << 32) + UNWIND_RECENT_SLOTS - 1) / UNWIND_RECENT_SLOTS;
	uint64_t low = kept >> 27 & ((1 << 21) - 1);
	uint64_t upper = (lowest & ~((1ull << 21) - 1)) + low, key;

	if (upper < lowest)
		upper += 1 << 21;
	key = (upper << 27 | (kept & ((1 << 27) - 1))) * inverse(MULTIPLIER) & (KEYS - 1);
	return frame_of(key >> 32, (uint32_t)key);
}

static void assert_found(uint64_t frame)
{
	uint64_t key = unwind_recent_key(frame), place = unwind_recent_place(key);

	assert_true(place < UNWIND_RECENT_SLOTS);
	assert_int_equal(unwind_recent_tag(key) & 0xffff, 0);
	if (frame_found(place, unwind_recent_tag(key)) != frame)
		fail_msg("another place than %llx is taken for it", (unsigned long long)frame);
}

static uint64_t random_bits(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static void what_is_kept_leads_back_to_the_frame(void **state)
{
	(void)state;
	for (int i = 0; i < RANDOM_PLACES; i++)
		assert_found(frame_of(random_bits() & (UNWIND_FRAME_FILES - 1),
				      (uint32_t)random_bits()));
}

static void so_it_does_at_the_edges(void **state)
{
	static const uint64_t offsets[] = {
		0, 1, 0xfff, 0x10000, 0x7fffffff, 0xfffffffe, 0xffffffff
	};

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(*offsets); i++)
		for (uint64_t file = 1; file < UNWIND_FRAME_FILES; file *= 2) {
			assert_found(frame_of(file, offsets[i]));
			assert_found(frame_of(UNWIND_FRAME_FILES - file, offsets[i]));
		}
}

/* The places of one program after the other spread: no two thirds of them fall on each other. */
static void neighbours_spread(void **state)
{
	enum { FILES = 8, PLACES = 256, STEP = 23 };
	static bool taken[UNWIND_RECENT_SLOTS];
	size_t count = 0;

	(void)state;
	for (uint64_t file = 1; file <= FILES; file++)
		for (uint64_t i = 0; i < PLACES; i++) {
			uint64_t key = unwind_recent_key(frame_of(file, 0x1000 + i * STEP));
			bool *slot = &taken[unwind_recent_place(key)];

			count += !*slot;
			*slot = true;
		}
	// Thrown at random, 2048 take 1605 of 4032 slots.
	assert_true(count > 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_kept_leads_back_to_the_frame),
		cmocka_unit_test(so_it_does_at_the_edges),
		cmocka_unit_test(neighbours_spread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
