// SPDX-License-Identifier: Apache-2.0
/* When a thread looks after things, by times that the test says. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const uint64_t SECOND = 1000000000, START = 1000 * 1000000000ull;

static void one_with_work_looks_every_second(void **state)
{
	struct housekeeping housekeeping = { 0 };
	unsigned int looks = 0;

	(void)state;
	for (uint64_t now = START; now < START + 20 * SECOND; now += SECOND / 10) {
		housekeeping_note_work(&housekeeping, now);
		looks += housekeeping_is_due(&housekeeping, now);
	}
	assert_int_equal(looks, 20);
}

static void one_without_looks_ever_more_seldom(void **state)
{
	struct housekeeping housekeeping = { 0 };
	uint64_t last = START, pause = 0;

	(void)state;
	housekeeping_note_work(&housekeeping, START);
	assert_true(housekeeping_is_due(&housekeeping, START));
	for (int i = 0; i < 20; i++) {
		uint64_t now = housekeeping.due_ns;

		assert_false(housekeeping_is_due(&housekeeping, now - 1));
		assert_true(housekeeping_is_due(&housekeeping, now));
		assert_in_range(now - last, pause, HOUSEKEEPING_IDLE_NS);
		pause = now - last;
		last = now;
	}
	assert_int_equal(pause, HOUSEKEEPING_IDLE_NS);
}

static void work_brings_the_next_look_within_a_second(void **state)
{
	struct housekeeping housekeeping = { 0 };

	(void)state;
	assert_true(housekeeping_is_due(&housekeeping, START));
	assert_false(housekeeping_is_due(&housekeeping, START + SECOND));
	housekeeping_note_work(&housekeeping, START + SECOND);
	assert_int_equal(housekeeping.due_ns, START + 2 * SECOND);
	assert_true(housekeeping_is_due(&housekeeping, START + 2 * SECOND));
}

static void a_look_that_is_near_is_not_put_off_by_work(void **state)
{
	struct housekeeping housekeeping = { 0 };
	uint64_t due;

	(void)state;
	assert_true(housekeeping_is_due(&housekeeping, START));
	due = housekeeping.due_ns;
	housekeeping_note_work(&housekeeping, due - SECOND / 2);
	assert_int_equal(housekeeping.due_ns, due);
}

static void a_look_before_its_time_puts_off_the_next_one(void **state)
{
	struct housekeeping housekeeping = { 0 };
	uint64_t due;

	(void)state;
	assert_true(housekeeping_is_due(&housekeeping, START));
	due = housekeeping.due_ns;
	housekeeping_note_look(&housekeeping, due - SECOND);
	assert_false(housekeeping_is_due(&housekeeping, due));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_with_work_looks_every_second),
		cmocka_unit_test(one_without_looks_ever_more_seldom),
		cmocka_unit_test(work_brings_the_next_look_within_a_second),
		cmocka_unit_test(a_look_that_is_near_is_not_put_off_by_work),
		cmocka_unit_test(a_look_before_its_time_puts_off_the_next_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
