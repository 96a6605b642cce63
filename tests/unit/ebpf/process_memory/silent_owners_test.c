// SPDX-License-Identifier: Apache-2.0
/* Who makes processes whose memory does not answer is left alone for a while, and nobody else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process_memory/silent_owners.h"

static const uint64_t SECOND = 1000000000;

static void a_mishap_is_forgiven(void **state)
{
	struct silent_owners owners = { 0 };

	(void)state;
	silent_owners_note(&owners, 1000, SECOND);
	silent_owners_note(&owners, 1000, SECOND);
	assert_true(silent_owners_until_ns(&owners, 1000) <= SECOND);
}

static void several_are_not_and_each_more_takes_longer(void **state)
{
	struct silent_owners owners = { 0 };
	uint64_t now = SECOND, pause = 60 * SECOND;

	(void)state;
	silent_owners_note(&owners, 1000, now);
	silent_owners_note(&owners, 1000, now);
	for (int i = 0; i < 5; i++) {
		silent_owners_note(&owners, 1000, now);
		assert_true(silent_owners_until_ns(&owners, 1000) > now + pause - 1);
		assert_true(silent_owners_until_ns(&owners, 1000) <= now + pause);
		assert_true(silent_owners_until_ns(&owners, 1001) <= now);
		now += pause;
		pause *= 2;
	}
}

/* Root has user 0, as has a place that is free. */
static void root_is_one_like_others(void **state)
{
	struct silent_owners owners = { 0 };

	(void)state;
	assert_true(silent_owners_until_ns(&owners, 0) <= SECOND);
	for (int i = 0; i < 3; i++)
		silent_owners_note(&owners, 0, SECOND);
	assert_true(silent_owners_until_ns(&owners, 0) > 2 * SECOND);
}

static void there_are_only_so_many_places(void **state)
{
	struct silent_owners owners = { 0 };

	(void)state;
	for (uint32_t uid = 0; uid < 10 * SILENT_OWNERS; uid++)
		for (int i = 0; i < 3; i++)
			silent_owners_note(&owners, uid, SECOND);
	assert_true(silent_owners_until_ns(&owners, 10 * SILENT_OWNERS - 1) > 2 * SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_mishap_is_forgiven),
		cmocka_unit_test(several_are_not_and_each_more_takes_longer),
		cmocka_unit_test(root_is_one_like_others),
		cmocka_unit_test(there_are_only_so_many_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
