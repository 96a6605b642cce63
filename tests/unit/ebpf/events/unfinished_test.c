// SPDX-License-Identifier: Apache-2.0
/* How much of very many waits that have not ended is kept. */
#include "events/unfinished.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SECOND_BITS = 30 }; /* a second and less have as many bits */

static void few_are_all_kept(void **state)
{
	__u64 lengths[OFF_CPU_PASS_LENGTHS] = { [SECOND_BITS] = 100, [SECOND_BITS + 12] = 10 };

	(void)state;
	assert_int_equal(unfinished_threshold(lengths, 110), OFF_CPU_PASS_LEAST_NS);
}

static void of_many_as_many_are_kept_as_may_be(void **state)
{
	__u64 lengths[OFF_CPU_PASS_LENGTHS] = { [SECOND_BITS] = 100000 };
	double second = (double)(1u << SECOND_BITS);
	double kept;

	(void)state;
	kept = 100000 * second / (double)unfinished_threshold(lengths, 1000);
	assert_true(kept > 500 && kept <= 1000);
}

static void the_longest_are_kept_first(void **state)
{
	__u64 lengths[OFF_CPU_PASS_LENGTHS] = { [SECOND_BITS] = 100000, [SECOND_BITS + 9] = 100 };
	uint64_t threshold = unfinished_threshold(lengths, 1000);

	(void)state;
	assert_true(threshold < 1ull << (SECOND_BITS + 9));
}

static void of_millions_that_sleep_for_long_few_are_kept(void **state)
{
	__u64 lengths[OFF_CPU_PASS_LENGTHS] = { [SECOND_BITS + 8] = 4000000 };
	double longest = (double)(1ull << (SECOND_BITS + 8));

	(void)state;
	assert_true(4e6 * longest / (double)unfinished_threshold(lengths, 2000) <= 2000);
}

static void of_a_share_no_more_are_kept_than_may_be(void **state)
{
	__u64 lengths[OFF_CPU_PASS_LENGTHS] = { [SECOND_BITS] = 6000, [SECOND_BITS + 1] = 2000 };
	const uint32_t half = 1u << 31;

	(void)state;
	assert_int_equal(unfinished_share(lengths, 8000, half), half);
	assert_int_equal(unfinished_share(lengths, 4000, half), half);
	assert_int_equal(unfinished_share(lengths, 2000, half), half / 2);
	assert_int_equal(unfinished_share(lengths, 2000, UINT32_MAX), half / 2);
	assert_int_equal(unfinished_share(lengths, 0, half), 1 << 20);
}

static void there_is_a_threshold_for_anything(void **state)
{
	__u64 lengths[OFF_CPU_PASS_LENGTHS];

	(void)state;
	for (int i = 0; i < OFF_CPU_PASS_LENGTHS; i++)
		lengths[i] = UINT64_MAX;
	assert_true(unfinished_threshold(lengths, 0) >= EVENT_BUDGET_MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_are_all_kept),
		cmocka_unit_test(of_many_as_many_are_kept_as_may_be),
		cmocka_unit_test(the_longest_are_kept_first),
		cmocka_unit_test(of_millions_that_sleep_for_long_few_are_kept),
		cmocka_unit_test(of_a_share_no_more_are_kept_than_may_be),
		cmocka_unit_test(there_is_a_threshold_for_anything),
	};

	return cmocka_run_group_tests_name("waits that have not ended", tests, NULL, NULL);
}
