// SPDX-License-Identifier: Apache-2.0
#include "receiver/ebpf/worker/function_ranges.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char strings[] = "\0f\0__f\0_g\0g\0long_name\0label";
enum { F = 1, UU_F = 3, U_G = 7, G = 10, LONG_NAME = 12, LABEL = 22 };

/* The name at @address, or NULL. */
static const char *name_at(const struct function_ranges *ranges, uint64_t address)
{
	size_t at = function_ranges_seek(ranges, address);

	if (at == ranges->count || ranges->ranges[at].start > address)
		return NULL;
	return strings + ranges->ranges[at].name;
}

static void build(struct function_candidate *candidates, size_t count, struct function_ranges *ret)
{
	assert_int_equal(function_ranges_build(candidates, count, strings, sizeof(strings), ret),
			 0);
}

static void test_the_innermost_function_has_the_address(void **state)
{
	struct function_candidate candidates[] = {
		{ .start = 120, .limit = 130, .name = G },
		{ .start = 100, .limit = 200, .name = F },
		{ .start = 190, .limit = 220, .name = LONG_NAME },
	};
	struct function_ranges ranges;

	(void)state;
	build(candidates, 3, &ranges);
	assert_null(name_at(&ranges, 99));
	assert_string_equal(name_at(&ranges, 100), "f");
	assert_string_equal(name_at(&ranges, 119), "f");
	assert_string_equal(name_at(&ranges, 120), "g");
	assert_string_equal(name_at(&ranges, 130), "f");
	assert_string_equal(name_at(&ranges, 190), "long_name");
	assert_string_equal(name_at(&ranges, 219), "long_name");
	assert_null(name_at(&ranges, 220));
	function_ranges_deinit(&ranges);
}

static void expect_winner(const struct function_candidate *a, const struct function_candidate *b,
			  const char *name)
{
	for (int swapped = 0; swapped < 2; swapped++) {
		struct function_candidate candidates[2] = { swapped ? *b : *a, swapped ? *a : *b };
		struct function_ranges ranges;

		build(candidates, 2, &ranges);
		assert_string_equal(name_at(&ranges, 50), name);
		function_ranges_deinit(&ranges);
	}
}

static void test_the_best_alias_wins_in_any_order(void **state)
{
	const struct function_candidate global = { .start = 50, .limit = 60, .name = UU_F };
	struct function_candidate other = { .start = 50, .limit = 60, .name = F };

	(void)state;
	expect_winner(&global, &other, "f"); // fewer underscores
	other.rank = FUNCTION_RANK_LOCAL;
	expect_winner(&global, &other, "__f"); // global over local
	other.rank = FUNCTION_RANK_WEAK;
	expect_winner(&global, &other, "__f"); // and over weak
	other.rank = 0;
	other.unsized = 1;
	expect_winner(&global, &other, "__f"); // sized over unsized
	other.unsized = 0;
	other.name = LABEL;
	other.rank = FUNCTION_RANK_LABEL;
	expect_winner(&global, &other, "__f"); // function over label
	other = (struct function_candidate){ .start = 50, .limit = 60, .name = G };
	expect_winner(&(struct function_candidate){ .start = 50, .limit = 60, .name = LONG_NAME },
		      &other, "g"); // shorter
	expect_winner(&(struct function_candidate){ .start = 50, .limit = 60, .name = F }, &other,
		      "f"); // else by alphabet
}

static void test_unsized_functions_end_at_the_next(void **state)
{
	struct function_candidate candidates[] = {
		{ .start = 100, .limit = 1000, .name = F, .unsized = 1 },
		{ .start = 140, .limit = 160, .name = G },
		{ .start = 150, .limit = 1000, .name = LABEL, .unsized = 1 }, // inside g
		{ .start = 170, .limit = 180, .name = U_G, .unsized = 1 },
	};
	struct function_ranges ranges;

	(void)state;
	build(candidates, 4, &ranges);
	assert_string_equal(name_at(&ranges, 139), "f");
	assert_string_equal(name_at(&ranges, 155), "g");
	assert_null(name_at(&ranges, 165));
	assert_string_equal(name_at(&ranges, 179), "_g");
	assert_null(name_at(&ranges, 180));
	function_ranges_deinit(&ranges);
}

/* The plain way: among sized functions over @address, the one that starts last. */
static uint32_t slow_find(const struct function_candidate *candidates, size_t count,
			  uint64_t address)
{
	const struct function_candidate *best = NULL;

	for (size_t i = 0; i < count; i++)
		if (address >= candidates[i].start && address < candidates[i].limit &&
		    (!best || candidates[i].start > best->start))
			best = &candidates[i];
	return best ? best->name : 0;
}

static void test_random_tables_agree_with_the_plain_way(void **state)
{
	(void)state;
	srandom(1);
	for (unsigned int round = 0; round < 500; round++) {
		struct function_candidate candidates[40], copy[40];
		size_t count = (size_t)random() % 40;
		struct function_ranges ranges;

		for (size_t i = 0; i < count; i++) {
			// Unique starts: which alias wins is another test's business.
			uint64_t start = (uint64_t)random() % 8 + i * 8;

			candidates[i] = (struct function_candidate){
				.start = start,
				.limit = start + 1 + (uint64_t)random() % 100,
				.name = (uint32_t)random() % sizeof(strings),
			};
		}
		for (size_t i = count; i-- > 1;) {
			size_t j = (size_t)random() % (i + 1);
			struct function_candidate swap = candidates[i];

			candidates[i] = candidates[j];
			candidates[j] = swap;
		}
		memcpy(copy, candidates, sizeof(copy));
		build(candidates, count, &ranges);
		for (uint64_t address = 0; address < 450; address++) {
			size_t at = function_ranges_seek(&ranges, address);
			bool inside = at < ranges.count && ranges.ranges[at].start <= address;

			assert_int_equal(inside ? ranges.ranges[at].name : 0,
					 slow_find(copy, count, address));
		}
		for (size_t i = 1; i < ranges.count; i++)
			assert_true(ranges.ranges[i - 1].start + ranges.ranges[i - 1].size <=
				    ranges.ranges[i].start);
		function_ranges_deinit(&ranges);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_innermost_function_has_the_address),
		cmocka_unit_test(test_the_best_alias_wins_in_any_order),
		cmocka_unit_test(test_unsized_functions_end_at_the_next),
		cmocka_unit_test(test_random_tables_agree_with_the_plain_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
