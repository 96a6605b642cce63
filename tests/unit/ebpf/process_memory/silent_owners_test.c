// SPDX-License-Identifier: Apache-2.0
/* Who makes processes whose memory does not answer is left alone for a while, and nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process_memory/silent_owners.h"

static const uint64_t SECOND = 1000000000;

static struct owner user(uint32_t uid)
{
	return (struct owner){ uid, 0 };
}

/* One more process of @owner's does not answer. */
static void note(struct silent_owners *owners, struct owner owner, uint64_t now_ns)
{
	static struct process_key key = { .pid = 1, .start_boottime_ns = 5 };

	key.pid++;
	silent_owners_note(owners, owner, &key, now_ns);
}

static void a_mishap_is_forgiven(void **state)
{
	struct silent_owners owners = { 0 };

	(void)state;
	note(&owners, user(1000), SECOND);
	note(&owners, user(1000), SECOND);
	assert_true(silent_owners_until_ns(&owners, user(1000)) <= SECOND);
}

static void several_are_not_and_each_more_takes_longer(void **state)
{
	struct silent_owners owners = { 0 };
	uint64_t now = SECOND, pause = 60 * SECOND;

	(void)state;
	note(&owners, user(1000), now);
	note(&owners, user(1000), now);
	for (int i = 0; i < 5; i++) {
		note(&owners, user(1000), now);
		assert_true(silent_owners_until_ns(&owners, user(1000)) > now + pause - 1);
		assert_true(silent_owners_until_ns(&owners, user(1000)) <= now + pause);
		assert_true(silent_owners_until_ns(&owners, user(1001)) <= now);
		now += pause;
		pause *= 2;
	}
}

/* Root has user 0, as has a place that is free. */
static void root_is_one_like_others(void **state)
{
	struct silent_owners owners = { 0 };

	(void)state;
	assert_true(silent_owners_until_ns(&owners, user(0)) <= SECOND);
	for (int i = 0; i < 3; i++)
		note(&owners, user(0), SECOND);
	assert_true(silent_owners_until_ns(&owners, user(0)) > 2 * SECOND);
}

/* A user may call cgroups as containers are called; root's containers are not each other's. */
static void containers_are_their_users_but_for_roots(void **state)
{
	struct silent_owners owners = { 0 };

	(void)state;
	for (uint64_t container = 1; container <= 3; container++) {
		note(&owners, (struct owner){ 1000, container }, SECOND);
		note(&owners, (struct owner){ 0, 1 }, SECOND);
	}
	assert_true(silent_owners_until_ns(&owners, (struct owner){ 1000, 9 }) > 2 * SECOND);
	assert_true(silent_owners_until_ns(&owners, (struct owner){ 0, 1 }) > 2 * SECOND);
	assert_int_equal(silent_owners_until_ns(&owners, (struct owner){ 0, 2 }), 0);
	assert_int_equal(silent_owners_until_ns(&owners, user(0)), 0);
}

/* One process in some hours, on a machine that is up for months. */
static void some_hours_later_all_is_forgiven(void **state)
{
	const uint64_t hours = 4 * 3600 * SECOND + 1;
	struct silent_owners owners = { 0 };
	uint64_t now = SECOND;

	(void)state;
	for (int i = 0; i < 10; i++) {
		note(&owners, user(1000), now);
		assert_true(silent_owners_until_ns(&owners, user(1000)) <= now);
		now += hours;
	}
	for (int i = 0; i < 20; i++)
		note(&owners, user(1000), now);
	// The pause does not count.
	now = silent_owners_until_ns(&owners, user(1000)) + hours - 2;
	note(&owners, user(1000), now);
	assert_true(silent_owners_until_ns(&owners, user(1000)) > now);
	now = silent_owners_until_ns(&owners, user(1000)) + hours;
	note(&owners, user(1000), now);
	assert_true(silent_owners_until_ns(&owners, user(1000)) <= now);
}

/* Looks at it, and its frames, hang one after another, and it executes another program. */
static void one_process_counts_once_until_it_has_answered(void **state)
{
	struct process_key key = { .pid = 7, .exec_id = 1, .start_boottime_ns = 5 };
	struct silent_owners owners = { 0 };

	(void)state;
	for (int i = 0; i < 10; i++) {
		silent_owners_note(&owners, user(1000), &key, SECOND);
		key.exec_id++;
	}
	note(&owners, user(1000), SECOND);
	assert_true(silent_owners_until_ns(&owners, user(1000)) <= SECOND);
	silent_owners_note_answer(&owners, user(1000), &key);
	silent_owners_note(&owners, user(1000), &key, SECOND);
	assert_true(silent_owners_until_ns(&owners, user(1000)) > 2 * SECOND);
}

/* Processes that are not read yet have their numbers for containers. */
static void whose_owner_is_not_known_pays_for_nobody(void **state)
{
	struct silent_owners owners = { 0 };

	(void)state;
	for (uint64_t pid = 1; pid <= 3; pid++)
		note(&owners, (struct owner){ OWNER_UNKNOWN.uid, pid }, SECOND);
	assert_int_equal(silent_owners_until_ns(&owners, (struct owner){ OWNER_UNKNOWN.uid, 4 }),
			 0);
}

static void there_are_only_so_many_places(void **state)
{
	struct silent_owners owners = { 0 };

	(void)state;
	for (uint32_t uid = 0; uid < 10 * SILENT_OWNERS; uid++)
		for (int i = 0; i < 3; i++)
			note(&owners, user(uid), SECOND);
	assert_true(silent_owners_until_ns(&owners, user(10 * SILENT_OWNERS - 1)) > 2 * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mishap_is_forgiven),
		cmocka_unit_test(several_are_not_and_each_more_takes_longer),
		cmocka_unit_test(root_is_one_like_others),
		cmocka_unit_test(containers_are_their_users_but_for_roots),
		cmocka_unit_test(some_hours_later_all_is_forgiven),
		cmocka_unit_test(one_process_counts_once_until_it_has_answered),
		cmocka_unit_test(whose_owner_is_not_known_pays_for_nobody),
		cmocka_unit_test(there_are_only_so_many_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
