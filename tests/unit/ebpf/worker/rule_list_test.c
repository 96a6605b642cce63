// SPDX-License-Identifier: Apache-2.0
#include "receiver/ebpf/worker/rule_list.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct unwind_rule rule_make(int32_t offset)
{
	return (struct unwind_rule){ .cfa = UNWIND_CFA_REGISTER, .cfa_offset = offset };
}

static int number(struct rule_list *list, int32_t offset)
{
	struct unwind_rule rule = rule_make(offset);

	return rule_list_number(list, &rule);
}

static void test_equal_rules_have_one_number(void **state)
{
	struct rule_list list = { 0 };

	(void)state;
	assert_int_equal(number(&list, 100), WORKER_FIRST_RULE);
	assert_int_equal(number(&list, 200), WORKER_FIRST_RULE + 1);
	assert_int_equal(number(&list, 100), WORKER_FIRST_RULE);
	assert_int_equal(list.rules.count, 2);
	assert_int_equal(list.rules.items[1].cfa_offset, 200);
	rule_list_deinit(&list);
}

static void test_the_list_is_bounded(void **state)
{
	struct rule_list list = { 0 };

	(void)state;
	for (int32_t i = 0; i < PROTOCOL_MAX_RULES; i++)
		assert_int_equal(number(&list, i * 8), WORKER_FIRST_RULE + i);
	assert_true(number(&list, -8) < 0);
	// What is in it is found as before.
	assert_int_equal(number(&list, 8), WORKER_FIRST_RULE + 1);
	assert_int_equal(list.rules.count, PROTOCOL_MAX_RULES);
	rule_list_deinit(&list);
}

static void test_what_is_cut_can_come_again(void **state)
{
	struct rule_list list = { 0 };

	(void)state;
	for (int32_t i = 0; i < PROTOCOL_MAX_RULES; i++)
		number(&list, i * 8);
	rule_list_cut(&list, 1000);
	assert_int_equal(list.rules.count, 1000);
	for (int32_t i = 0; i < 1000; i++)
		assert_int_equal(number(&list, i * 8), WORKER_FIRST_RULE + i);
	for (int32_t i = PROTOCOL_MAX_RULES - 1; i >= 1000; i--)
		assert_int_equal(number(&list, i * 8),
				 WORKER_FIRST_RULE + 1000 + PROTOCOL_MAX_RULES - 1 - i);
	rule_list_deinit(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equal_rules_have_one_number),
		cmocka_unit_test(test_the_list_is_bounded),
		cmocka_unit_test(test_what_is_cut_can_come_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
