// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/accounting.h"

#include <stdio.h>
#include <string.h>

static void book(struct account *account, enum profcol_outcome outcome, const char *cause,
		 uint64_t samples)
{
	account_book(account, outcome, cause, samples);
}

static const char *format(const struct balance *balance)
{
	static char line[4096];
	size_t length = balance_format(balance, line, sizeof(line));

	assert_int_equal(length, strlen(line));
	return line;
}

static void the_line_of_a_plain_pipeline(void **state)
{
	struct account receiver, exporter;
	struct balance balance = { 0 };

	(void)state;
	account_init(&receiver);
	account_init(&exporter);
	book(&receiver, PROFCOL_TAKEN, NULL, 1987);
	book(&receiver, PROFCOL_LOST, "ring_buffer_full", 7);
	book(&receiver, PROFCOL_FILTERED, "idle", 160);
	book(&exporter, PROFCOL_EXPORTED, NULL, 1000);
	book(&exporter, PROFCOL_EXPORTED, NULL, 820);
	balance_add(&balance, &receiver);
	balance_add(&balance, &exporter);
	assert_int_equal(balance_unaccounted(&balance), 0);
	assert_string_equal(format(&balance), "taken=1987 exported=1820 filtered=160 lost=7 "
					      "(idle=160 ring_buffer_full=7)");
	account_deinit(&receiver);
	account_deinit(&exporter);
}

static void nothing_at_all(void **state)
{
	struct balance balance = { 0 };

	(void)state;
	assert_string_equal(format(&balance), "taken=0 exported=0 filtered=0 lost=0");
}

static void samples_that_vanished_are_named(void **state)
{
	struct account account;
	struct balance balance = { 0 };

	(void)state;
	account_init(&account);
	book(&account, PROFCOL_TAKEN, NULL, 10);
	book(&account, PROFCOL_EXPORTED, NULL, 6);
	book(&account, PROFCOL_LOST, "disk_full", 1);
	balance_add(&balance, &account);
	assert_string_equal(format(&balance), "taken=10 exported=6 filtered=0 lost=1 unaccounted=3 "
					      "(disk_full=1)");
	account_deinit(&account);
}

static void samples_that_will_not_arrive_are_lost(void **state)
{
	struct account account;
	struct balance balance = { 0 };

	(void)state;
	account_init(&account);
	book(&account, PROFCOL_TAKEN, NULL, 10);
	book(&account, PROFCOL_EXPORTED, NULL, 6);
	balance_add(&balance, &account);
	balance_lose_rest(&balance, "shutdown");
	assert_string_equal(format(&balance), "taken=10 exported=6 filtered=0 lost=4 "
					      "(shutdown=4)");
	account_deinit(&account);
}

static void samples_that_are_stored_are_named(void **state)
{
	struct account account;
	struct balance balance = { 0 };

	(void)state;
	account_init(&account);
	book(&account, PROFCOL_TAKEN, NULL, 10);
	book(&account, PROFCOL_EXPORTED, NULL, 6);
	book(&account, PROFCOL_STORED, NULL, 3);
	book(&account, PROFCOL_LOST, "queue_full", 1);
	balance_add(&balance, &account);
	assert_int_equal(balance_unaccounted(&balance), 0);
	assert_string_equal(format(&balance), "taken=10 exported=6 filtered=0 lost=1 stored=3 "
					      "(queue_full=1)");
	account_deinit(&account);
}

static void samples_counted_twice_are_named(void **state)
{
	struct account account;
	struct balance balance = { 0 };

	(void)state;
	account_init(&account);
	book(&account, PROFCOL_TAKEN, NULL, 2);
	book(&account, PROFCOL_EXPORTED, NULL, 4);
	balance_add(&balance, &account);
	assert_string_equal(format(&balance),
			    "taken=2 exported=4 filtered=0 lost=0 unaccounted=-2");
	account_deinit(&account);
}

static void one_cause_in_several_accounts_is_one_figure(void **state)
{
	struct account first, second;
	struct balance balance = { 0 };
	char same_word[] = "shutdown"; // another address than the literal's

	(void)state;
	account_init(&first);
	account_init(&second);
	book(&first, PROFCOL_TAKEN, NULL, 12);
	book(&first, PROFCOL_LOST, "shutdown", 5);
	book(&second, PROFCOL_LOST, same_word, 4);
	book(&second, PROFCOL_FILTERED, "shutdown", 3);
	balance_add(&balance, &first);
	balance_add(&balance, &second);
	assert_string_equal(format(&balance), "taken=12 exported=0 filtered=3 lost=9 "
					      "(shutdown=3 shutdown=9)");
	account_deinit(&first);
	account_deinit(&second);
}

static void the_causes_of_one_outcome_are_told_alone(void **state)
{
	struct account account;
	struct balance balance = { 0 };
	char causes[32];

	(void)state;
	account_init(&account);
	book(&account, PROFCOL_LOST, "ring_buffer_full", 7);
	book(&account, PROFCOL_FILTERED, "idle", 160);
	book(&account, PROFCOL_LOST, "no_memory", 1);
	balance_add(&balance, &account);
	balance_format_causes(&balance, PROFCOL_LOST, causes, sizeof(causes));
	assert_string_equal(causes, "ring_buffer_full=7 no_memory=1");
	balance_format_causes(&balance, PROFCOL_LOST, causes, sizeof(causes) - 2);
	assert_string_equal(causes, "ring_buffer_full=7 no_memory=");
	balance_format_causes(&balance, PROFCOL_STORED, causes, sizeof(causes));
	assert_string_equal(causes, "");
	account_deinit(&account);
}

static void more_causes_than_there_is_room_for_keep_the_sum(void **state)
{
	static char causes[200][8];
	struct account account;

	(void)state;
	account_init(&account);
	for (size_t i = 0; i < 200; i++) {
		snprintf(causes[i], sizeof(causes[i]), "c%zu", i);
		book(&account, PROFCOL_LOST, causes[i], 1);
	}
	book(&account, PROFCOL_LOST, NULL, 1);
	book(&account, (enum profcol_outcome)17, "unknown", 1);
	assert_int_equal(account_samples(&account, PROFCOL_LOST, NULL), 201);
	assert_int_equal(account_samples(&account, PROFCOL_LOST, "c0"), 1);
	assert_int_equal(account_samples(&account, PROFCOL_LOST, "other"),
			 201 - (ACCOUNT_ENTRIES - ACCOUNT_OUTCOMES));
	account_deinit(&account);
}

static void a_line_without_room_is_cut(void **state)
{
	struct balance balance = { .totals = { [PROFCOL_TAKEN] = 123456 } };
	char line[16];

	(void)state;
	assert_int_equal(balance_format(&balance, line, sizeof(line)), 15);
	assert_string_equal(line, "taken=123456 ex");
	assert_int_equal(balance_format(&balance, line, 0), 0);
}

enum { BOOKERS = 4, BOOKINGS = 20000 };

static void *book_much(void *argument)
{
	static const char *const causes[] = { "a", "b", "c", "d", "e", "f", "g" };

	for (unsigned int i = 0; i < BOOKINGS; i++)
		account_book(argument, PROFCOL_LOST, causes[i % 7], 1);
	return NULL;
}

static void threads_do_not_lose_each_others_bookings(void **state)
{
	struct account account;
	pthread_t threads[BOOKERS];

	(void)state;
	account_init(&account);
	for (size_t i = 0; i < BOOKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, book_much, &account), 0);
	for (size_t i = 0; i < BOOKERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(account_samples(&account, PROFCOL_LOST, NULL), BOOKERS * BOOKINGS);
	assert_int_equal(account.count, ACCOUNT_OUTCOMES + 7);
	account_deinit(&account);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_line_of_a_plain_pipeline),
		cmocka_unit_test(nothing_at_all),
		cmocka_unit_test(samples_that_vanished_are_named),
		cmocka_unit_test(samples_that_will_not_arrive_are_lost),
		cmocka_unit_test(samples_that_are_stored_are_named),
		cmocka_unit_test(samples_counted_twice_are_named),
		cmocka_unit_test(one_cause_in_several_accounts_is_one_figure),
		cmocka_unit_test(the_causes_of_one_outcome_are_told_alone),
		cmocka_unit_test(more_causes_than_there_is_room_for_keep_the_sum),
		cmocka_unit_test(a_line_without_room_is_cut),
		cmocka_unit_test(threads_do_not_lose_each_others_bookings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
