// SPDX-License-Identifier: Apache-2.0
/* Who takes long to read is not read any more in that second. */
#include "processes/read_time.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct owner root = { 0, 0 }, someone = { 1000, 0 }, other = { 1001, 0 };
static const uint64_t MS = 1000000, S = 1000000000;

static void who_takes_long_leaves_time_to_others(void **state)
{
	struct read_time time = { 0 };
	int read = 0;

	(void)state;
	while (read_time_admit(&time, someone, 5 * S)) {
		read_time_spend(&time, someone, 10 * MS);
		read++;
	}
	assert_int_equal(read, 25);
	assert_int_equal(time.put_off, 1);
	assert_true(read_time_admit(&time, other, 5 * S));
	// Containers are no way to have more.
	assert_false(read_time_admit(&time, (struct owner){ 1000, 3 }, 5 * S + 900 * MS));
	assert_true(read_time_admit(&time, someone, 6 * S));
	read_time_deinit(&time);
}

static void root_has_all_it_needs(void **state)
{
	struct read_time time = { 0 };

	(void)state;
	read_time_spend(&time, root, 10 * S);
	assert_true(read_time_admit(&time, root, 0));
	read_time_spend(&time, (struct owner){ 0, 1 }, S);
	assert_false(read_time_admit(&time, (struct owner){ 0, 1 }, 0));
	assert_true(read_time_admit(&time, (struct owner){ 0, 2 }, 0));
	read_time_deinit(&time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_takes_long_leaves_time_to_others),
		cmocka_unit_test(root_has_all_it_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
