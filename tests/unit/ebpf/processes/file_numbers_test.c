// SPDX-License-Identifier: Apache-2.0
/* Numbers of files: between two owners of one lies all that lets others forget the first. */
#include "processes/file_numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

enum { COUNT = 512, MOST = 40, ROUNDS = 20000 };

static const uint64_t NEVER = UINT64_MAX;

/* Numbers that are in use, and when the others were last: after so many turns. */
struct model {
	struct file_numbers numbers;
	bool used[COUNT];
	uint64_t freed[COUNT];
	uint32_t in_use[MOST];
	size_t count;
};

static void turn(struct model *model)
{
	uint32_t used[MOST];
	size_t count = 0;

	for (uint32_t number = 0; number < COUNT; number++)
		if (model->used[number])
			used[count++] = number;
	assert_int_equal(count, model->count);
	assert_true(file_numbers_turn(&model->numbers, used, count));
}

static uint32_t take(struct model *model)
{
	uint32_t number = file_numbers_take(&model->numbers);

	if (number != FILE_NUMBERS_NONE)
		return number;
	turn(model);
	return file_numbers_take(&model->numbers);
}

static void free_one(struct model *model, size_t at)
{
	uint32_t number = model->in_use[at];

	model->used[number] = false;
	model->freed[number] = model->numbers.turns;
	model->in_use[at] = model->in_use[--model->count];
}

static void all_come_in_order_and_once(void **state)
{
	struct file_numbers numbers;

	(void)state;
	file_numbers_init(&numbers, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		if (i == COUNT / 2) {
			assert_int_equal(file_numbers_take(&numbers), FILE_NUMBERS_NONE);
			assert_int_equal(file_numbers_take(&numbers), FILE_NUMBERS_NONE);
			assert_true(file_numbers_turn(&numbers, NULL, 0));
		}
		assert_int_equal(file_numbers_take(&numbers), i);
	}
	assert_int_equal(file_numbers_take(&numbers), FILE_NUMBERS_NONE);
	assert_int_equal(numbers.turns, 1);
	assert_true(file_numbers_turn(&numbers, NULL, 0));
	assert_int_equal(file_numbers_take(&numbers), 0);
	file_numbers_deinit(&numbers);
}

/* Whoever clears what it knows once after each turn, before the next, mistakes none. */
static void a_number_rests_over_a_turn_and_a_half(void **state)
{
	static struct model model;
	uint32_t first_ever = 0;

	(void)state;
	srand(4711);
	file_numbers_init(&model.numbers, COUNT);
	for (size_t i = 0; i < COUNT; i++)
		model.freed[i] = NEVER;
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t number;

		// Some live long, most do not.
		while (model.count && (model.count == MOST || rand() % 4 == 0))
			free_one(&model,
				 (size_t)rand() % (rand() % 8 ? 2 : model.count) % model.count);
		number = take(&model);
		assert_true(number < COUNT);
		assert_false(model.used[number]);
		if (model.freed[number] == NEVER)
			first_ever++;
		else
			assert_true(model.numbers.turns >= model.freed[number] + 2);
		model.used[number] = true;
		model.in_use[model.count++] = number;
	}
	assert_true(first_ever > COUNT / 2);
	assert_true(model.numbers.turns > 2 * ROUNDS / COUNT - 2);
	file_numbers_deinit(&model.numbers);
}

static void a_half_in_use_is_passed_over(void **state)
{
	uint32_t used[COUNT / 2];
	struct file_numbers numbers;

	(void)state;
	file_numbers_init(&numbers, COUNT);
	for (uint32_t i = 0; i < COUNT / 2; i++)
		used[i] = file_numbers_take(&numbers);
	assert_true(file_numbers_turn(&numbers, used, COUNT / 2));
	// Free by the next turn, but not when this half began.
	assert_int_equal(file_numbers_take(&numbers), COUNT / 2);
	assert_true(file_numbers_turn(&numbers, NULL, 0));
	assert_int_equal(file_numbers_take(&numbers), FILE_NUMBERS_NONE);
	assert_true(file_numbers_turn(&numbers, NULL, 0));
	assert_int_equal(file_numbers_take(&numbers), COUNT / 2);
	assert_true(file_numbers_turn(&numbers, NULL, 0));
	assert_int_equal(file_numbers_take(&numbers), 0);
	file_numbers_deinit(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_come_in_order_and_once),
		cmocka_unit_test(a_number_rests_over_a_turn_and_a_half),
		cmocka_unit_test(a_half_in_use_is_passed_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
