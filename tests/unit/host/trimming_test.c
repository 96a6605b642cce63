// SPDX-License-Identifier: Apache-2.0
/* How often the program is taken out of memory: once, and not again until it has grown. */
#include "host/trimming.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MIB = 1 << 20 };

static void what_is_steady_is_left_alone(void **state)
{
	struct trimming trimming = { 0 };

	(void)state;
	assert_true(trimming_is_due(&trimming, 20 * MIB));
	for (int i = 0; i < 100; i++)
		assert_false(trimming_is_due(&trimming, (uint64_t)(6 + i % 2) * MIB));
}

static void what_has_grown_by_a_third_goes_again(void **state)
{
	struct trimming trimming = { 0 };

	(void)state;
	assert_true(trimming_is_due(&trimming, 20 * MIB));
	assert_false(trimming_is_due(&trimming, 6 * MIB));
	assert_false(trimming_is_due(&trimming, 8 * MIB));
	assert_true(trimming_is_due(&trimming, 9 * MIB));
	assert_false(trimming_is_due(&trimming, 7 * MIB));
	assert_false(trimming_is_due(&trimming, 9 * MIB));
	assert_true(trimming_is_due(&trimming, 10 * MIB));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_steady_is_left_alone),
		cmocka_unit_test(what_has_grown_by_a_third_goes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
