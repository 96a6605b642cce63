// SPDX-License-Identifier: Apache-2.0
/* Where killed workers do not end, no more of them go. */
#include "receiver/ebpf/worker/stuck.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static const uint64_t LATER = 2 * 1000000000ull;

enum { ALICE = 1000, BOB, DISK = 7, TAPE, CARDS, DRUM, RADIO };

/* A child that does not end. */
static pid_t child(void)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (!pid)
		for (;;)
			pause();
	return pid;
}

static struct origin origin(uint32_t uid, uint64_t device)
{
	return (struct origin){ .owner = { uid, 0 }, .device = device };
}

static void end_all(struct stuck_workers *stuck)
{
	for (size_t i = 0; i < stuck->workers.count; i++) {
		siginfo_t info;
		pid_t pid = stuck->workers.items[i].pid;

		kill(pid, SIGKILL);
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	}
	stuck_reap(stuck);
	assert_int_equal(stuck->workers.count, 0);
	stuck_deinit(stuck);
}

static void test_two_of_a_device_are_enough(void **state)
{
	struct stuck_workers stuck = { 0 };

	(void)state;
	stuck_add(&stuck, child(), origin(ALICE, DISK), 0);
	assert_false(stuck_forbid(&stuck, origin(ALICE, DISK), LATER));
	stuck_add(&stuck, child(), origin(BOB, DISK), 0);
	stuck_reap(&stuck);
	assert_true(stuck_forbid(&stuck, origin(ALICE, DISK), LATER));
	assert_true(stuck_forbid(&stuck, origin(0, DISK), LATER));
	assert_false(stuck_forbid(&stuck, origin(ALICE, TAPE), LATER));
	end_all(&stuck);
	assert_false(stuck_forbid(&stuck, origin(ALICE, DISK), LATER));
}

static void test_an_owner_with_many_devices_has_four(void **state)
{
	struct stuck_workers stuck = { 0 };

	(void)state;
	for (uint64_t device = DISK; device <= DRUM; device++) {
		assert_false(stuck_forbid(&stuck, origin(ALICE, RADIO), LATER));
		stuck_add(&stuck, child(), origin(ALICE, device), 0);
	}
	assert_true(stuck_forbid(&stuck, origin(ALICE, RADIO), LATER));
	assert_true(stuck_forbid(&stuck, origin(ALICE, 0), LATER)); // the memory of his processes
	assert_false(stuck_forbid(&stuck, origin(BOB, RADIO), LATER));
	end_all(&stuck);
}

static void test_containers_of_a_user_count_together(void **state)
{
	struct stuck_workers stuck = { 0 };

	(void)state;
	for (uint64_t container = 1; container <= STUCK_OF_PAYER; container++)
		stuck_add(&stuck, child(),
			  (struct origin){ .owner = { ALICE, container }, .device = container }, 0);
	assert_true(stuck_forbid(&stuck, origin(ALICE, RADIO), LATER));
	assert_false(stuck_forbid(&stuck, origin(0, RADIO), LATER));
	end_all(&stuck);
}

static void test_who_ends_in_a_moment_counts_for_nobody(void **state)
{
	struct stuck_workers stuck = { 0 };

	(void)state;
	for (int i = 0; i < STUCK_OF_PAYER; i++)
		stuck_add(&stuck, child(), origin(ALICE, DISK), 5);
	assert_false(stuck_forbid(&stuck, origin(ALICE, DISK), 4 + STUCK_AFTER_NS));
	assert_true(stuck_forbid(&stuck, origin(ALICE, DISK), 5 + STUCK_AFTER_NS));
	end_all(&stuck);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_of_a_device_are_enough),
		cmocka_unit_test(test_an_owner_with_many_devices_has_four),
		cmocka_unit_test(test_containers_of_a_user_count_together),
		cmocka_unit_test(test_who_ends_in_a_moment_counts_for_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
