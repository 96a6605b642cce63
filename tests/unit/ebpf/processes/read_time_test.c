// SPDX-License-Identifier: Apache-2.0
/* Who takes long to read is read a quarter of the time, a little at a time. */
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
	struct read_time time = { .terms = &read_time_of_proc };
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
	assert_false(read_time_admit(&time, (struct owner){ 1000, 3 }, 5 * S + 4 * MS));
	assert_true(read_time_admit(&time, someone, 6 * S));
	read_time_deinit(&time);
}

static void who_reads_without_end_has_a_quarter_of_each_moment(void **state)
{
	struct read_time time = { .terms = &read_time_of_proc };
	uint64_t now = 5 * S, read = 0, longest = 0, run = 0;

	(void)state;
	while (now < 25 * S) {
		if (read_time_admit(&time, someone, now)) {
			read_time_spend(&time, someone, 2 * MS);
			read += 2 * MS;
			run += 2 * MS;
			now += 2 * MS;
		} else {
			run = 0;
			now += MS;
		}
		if (now > 10 * S && run > longest)
			longest = run;
	}
	assert_in_range(read, 5 * S, 5 * S + 260 * MS);
	assert_in_range(longest, MS, 20 * MS);
	read_time_deinit(&time);
}

static void a_long_reading_is_written_off_in_a_second(void **state)
{
	struct read_time time = { .terms = &read_time_of_proc };

	(void)state;
	assert_true(read_time_admit(&time, someone, 5 * S));
	read_time_spend(&time, someone, 400 * MS);
	assert_false(read_time_admit(&time, someone, 5 * S + 590 * MS));
	assert_true(read_time_admit(&time, someone, 5 * S + 610 * MS));
	read_time_spend(&time, someone, 60 * S);
	assert_false(read_time_admit(&time, someone, 6 * S + 600 * MS));
	assert_true(read_time_admit(&time, someone, 6 * S + 620 * MS));
	read_time_deinit(&time);
}

static void root_has_all_it_needs(void **state)
{
	struct read_time time = { .terms = &read_time_of_proc };

	(void)state;
	read_time_spend(&time, root, 10 * S);
	assert_true(read_time_admit(&time, root, 0));
	read_time_spend(&time, (struct owner){ 0, 1 }, S);
	assert_false(read_time_admit(&time, (struct owner){ 0, 1 }, 0));
	assert_true(read_time_admit(&time, (struct owner){ 0, 2 }, 0));
	read_time_deinit(&time);
}

static void it_says_when_there_is_time_again(void **state)
{
	static const struct read_time_terms terms = { 5, 200000000, 5000000000 };
	struct read_time time;
	uint64_t due;

	(void)state;
	read_time_init(&time, &terms);
	assert_true(read_time_admit(&time, someone, 5 * S));
	read_time_spend(&time, someone, 199 * MS);
	assert_int_equal(read_time_due_ns(&time, someone), 0);
	read_time_spend(&time, someone, 3 * S);
	read_time_spend(&time, root, 3 * S);
	due = read_time_due_ns(&time, someone);
	assert_in_range(due, 5 * S + 5 * 2999 * MS, 5 * S + 5 * 3000 * MS);
	assert_int_equal(read_time_due_ns(&time, other), 0);
	assert_int_equal(read_time_due_ns(&time, root), 0);
	assert_false(read_time_is_left(&time, someone, due - MS));
	assert_true(read_time_is_left(&time, someone, read_time_due_ns(&time, someone)));
	read_time_deinit(&time);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_takes_long_leaves_time_to_others),
		cmocka_unit_test(who_reads_without_end_has_a_quarter_of_each_moment),
		cmocka_unit_test(a_long_reading_is_written_off_in_a_second),
		cmocka_unit_test(root_has_all_it_needs),
		cmocka_unit_test(it_says_when_there_is_time_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
