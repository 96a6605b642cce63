// SPDX-License-Identifier: Apache-2.0
/* Which program walks whose stacks, while some are loaded and others are refused. */
#include "tables/walk_programs.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { A = 1 << 1, B = 1 << 5, C = 1u << 30 };

static int set_up(void **state)
{
	struct walk_programs *programs = malloc(sizeof(*programs));

	assert_non_null(programs);
	walk_programs_init(programs);
	programs->apart = true;
	*state = programs;
	return 0;
}

static int tear_down(void **state)
{
	free(*state);
	return 0;
}

/* Loads what is wanted next, which has to be for @runtimes. */
static uint32_t load_next(struct walk_programs *programs, uint32_t runtimes, bool ready)
{
	uint32_t wanted = 0, number = walk_programs_next(programs, &wanted);

	assert_true(number > 0);
	assert_int_equal(wanted, runtimes);
	walk_programs_learn(programs, number, ready);
	return number;
}

static void expect_nothing_wanted(struct walk_programs *programs)
{
	uint32_t wanted;

	assert_int_equal(walk_programs_next(programs, &wanted), 0);
}

static void each_set_has_a_program_of_its_own(void **state)
{
	uint32_t of_a, of_both;

	expect_nothing_wanted(*state);
	assert_int_equal(walk_programs_find(*state, 0), 0);
	assert_int_equal(walk_programs_find(*state, A), 0);
	assert_int_equal(walk_programs_find(*state, A), 0);
	of_a = load_next(*state, A, true);
	expect_nothing_wanted(*state);
	assert_int_equal(walk_programs_find(*state, A), of_a);
	walk_programs_find(*state, A | B);
	of_both = load_next(*state, A | B, true);
	assert_int_equal(walk_programs_find(*state, A | B), of_both);
	assert_int_equal(walk_programs_find(*state, A), of_a);
	assert_int_equal(walk_programs_find(*state, B), 0);
}

/* As long as it is not there, and where it never is, those walk that know less. */
static void one_that_knows_less_takes_its_place(void **state)
{
	uint32_t of_a, of_two;

	walk_programs_find(*state, A);
	of_a = load_next(*state, A, true);
	assert_int_equal(walk_programs_find(*state, A | B | C), of_a);
	walk_programs_find(*state, A | B);
	load_next(*state, A | B | C, false);
	of_two = load_next(*state, A | B, true);
	assert_int_equal(walk_programs_find(*state, A | B | C), of_two);
	// One that knows more would walk what is not there.
	assert_int_equal(walk_programs_find(*state, B), 0);
	assert_int_equal(walk_programs_find(*state, A | C), of_a);
}

static void there_is_room_for_so_many(void **state)
{
	uint32_t wanted, count = 0;

	for (uint32_t runtimes = 1; runtimes <= 2 * UNWIND_PROGRAMS; runtimes++)
		assert_int_equal(walk_programs_find(*state, runtimes << 1), 0);
	while (walk_programs_next(*state, &wanted))
		count++;
	assert_int_equal(count, UNWIND_PROGRAMS - 1);
}

static void where_the_sampler_walks_all_nothing_is_wanted(void **state)
{
	struct walk_programs *programs = *state;

	programs->apart = false;
	assert_int_equal(walk_programs_find(programs, A), 0);
	expect_nothing_wanted(programs);
}

int main(void)
{
#define WITH(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		WITH(each_set_has_a_program_of_its_own),
		WITH(one_that_knows_less_takes_its_place),
		WITH(there_is_room_for_so_many),
		WITH(where_the_sampler_walks_all_nothing_is_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
