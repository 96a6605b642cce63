// SPDX-License-Identifier: Apache-2.0
/*
 * Files whose file system does not answer when they are closed, beside others. The threads wait by
 * the system's clock, so the test takes ten seconds: a close counts as hanging after five, and each
 * of 32 closes that hang holds up the next one for a tenth of a second.
 */
#include "base/base.h"
#include "tests/unit/own_threads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

enum { FDS_MOST = 1024, PAYER_MOST = 4, OTHERS_MOST = 36 };
enum { ALICE = 1, BOB = 2, OTHERS = 100 };

static const uint64_t PATIENCE_NS = 20000000000;

/* ---- a close that hangs until it is let go ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* over all below */
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool hangs[FDS_MOST], has_begun[FDS_MOST], is_closed[FDS_MOST];

int __real_close(int fd);
int __wrap_close(int fd);

int __wrap_close(int fd)
{
	int status;

	if (fd < 0 || fd >= FDS_MOST)
		return __real_close(fd);
	pthread_mutex_lock(&lock);
	has_begun[fd] = true;
	pthread_cond_broadcast(&changed);
	while (hangs[fd])
		pthread_cond_wait(&changed, &lock);
	status = __real_close(fd);
	is_closed[fd] = true;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	return status;
}

static int open_one(bool that_hangs)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && fd < FDS_MOST);
	pthread_mutex_lock(&lock);
	hangs[fd] = that_hangs;
	has_begun[fd] = is_closed[fd] = false;
	pthread_mutex_unlock(&lock);
	return fd;
}

static void wait_for(const bool *what)
{
	struct timespec deadline = clock_timespec(clock_monotonic_ns() + PATIENCE_NS);
	int status = 0;

	pthread_mutex_lock(&lock);
	while (!*what && !status)
		status = pthread_cond_clockwait(&changed, &lock, CLOCK_MONOTONIC, &deadline);
	pthread_mutex_unlock(&lock);
	assert_int_equal(status, 0);
}

static void let_go(int fd)
{
	pthread_mutex_lock(&lock);
	hangs[fd] = false;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&lock);
	wait_for(&is_closed[fd]);
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* ---- tests ---- */

static void a_file_is_closed_once(void **state)
{
	int fd = open_one(false);

	(void)state;
	close_later(fd, ALICE);
	wait_for(&is_closed[fd]);
	assert_false(is_open(fd));
}

static void who_hands_over_does_not_wait(void **state)
{
	int fd = open_one(true);

	(void)state;
	close_later(fd, ALICE); // for ever, if it waited
	wait_for(&has_begun[fd]);
	assert_true(is_open(fd));
	let_go(fd);
	assert_false(is_open(fd));
}

/* It comes in the same moment: nobody calls again to find out that the first one hangs. */
static void one_that_hangs_does_not_hold_up_the_next(void **state)
{
	int stuck = open_one(true), next = open_one(false);

	(void)state;
	close_later(stuck, ALICE);
	wait_for(&has_begun[stuck]);
	close_later(next, ALICE);
	wait_for(&is_closed[next]);
	assert_true(is_open(stuck));
	let_go(stuck);
}

static void many_that_come_after_it_are_closed_without_a_pause(void **state)
{
	enum { COUNT = 200 };
	int stuck = open_one(true), fds[COUNT];
	uint64_t began_ns;

	(void)state;
	for (size_t i = 0; i < COUNT; i++)
		fds[i] = open_one(false);
	close_later(stuck, ALICE);
	wait_for(&has_begun[stuck]);
	began_ns = clock_monotonic_ns();
	for (size_t i = 0; i < COUNT; i++)
		close_later(fds[i], ALICE);
	for (size_t i = 0; i < COUNT; i++)
		wait_for(&is_closed[fds[i]]);
	// A pause before each would be 20 s.
	assert_true(clock_monotonic_ns() - began_ns < PATIENCE_NS / 2);
	let_go(stuck);
}

/* Four files of @payer whose closes have begun and do not come back. */
static void hang_four(int stuck[PAYER_MOST], uint64_t payer)
{
	for (size_t i = 0; i < PAYER_MOST; i++) {
		stuck[i] = open_one(true);
		close_later(stuck[i], payer);
		wait_for(&has_begun[stuck[i]]);
	}
}

static void let_four_go(const int stuck[PAYER_MOST])
{
	for (size_t i = 0; i < PAYER_MOST; i++)
		if (is_open(stuck[i]))
			let_go(stuck[i]);
}

static void beyond_four_that_hang_the_rest_waits_for_one_to_come_back(void **state)
{
	int stuck[PAYER_MOST], next = open_one(false);

	(void)state;
	hang_four(stuck, ALICE);
	close_later(next, ALICE);
	assert_true(is_open(next));
	let_go(stuck[2]);
	wait_for(&is_closed[next]);
	assert_true(is_open(stuck[0]));
	let_four_go(stuck);
}

static void who_hangs_holds_up_nobody_else(void **state)
{
	int stuck[PAYER_MOST], of_alice = open_one(false), of_bob = open_one(false),
			       of_machine = open_one(false);

	(void)state;
	hang_four(stuck, ALICE);
	close_later(of_alice, ALICE);
	close_later(of_bob, BOB);
	wait_for(&is_closed[of_bob]);
	close_later(of_machine, 0);
	wait_for(&is_closed[of_machine]);
	assert_true(is_open(of_alice));
	let_four_go(stuck);
	wait_for(&is_closed[of_alice]);
}

/* For which nothing should be opened any more. */
static void it_is_known_who_hangs(void **state)
{
	uint64_t deadline_ns = clock_monotonic_ns() + PATIENCE_NS;
	uint64_t refused = close_later_counts().refused;
	int stuck[PAYER_MOST];

	(void)state;
	hang_four(stuck, ALICE);
	while (!close_later_hangs(ALICE)) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		usleep(10000);
	}
	assert_true(close_later_counts().refused > refused);
	assert_false(close_later_hangs(BOB));
	assert_false(close_later_hangs(0));
	while (close_later_counts().hanging < PAYER_MOST) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		usleep(10000);
	}
	assert_int_equal(close_later_counts().payer, ALICE);
	let_four_go(stuck);
	while (close_later_hangs(ALICE) || close_later_counts().hanging) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		usleep(10000);
	}
}

static void there_is_a_bound_on_all_who_hang(void **state)
{
	enum { PAYERS = OTHERS_MOST / PAYER_MOST };
	int stuck[PAYERS][PAYER_MOST], next = open_one(false), of_machine = open_one(false);

	(void)state;
	for (unsigned int i = 0; i < PAYERS; i++)
		hang_four(stuck[i], OTHERS + i);
	close_later(next, BOB);
	close_later(of_machine, 0);
	wait_for(&is_closed[of_machine]);
	assert_true(is_open(next));
	let_go(stuck[3][2]);
	wait_for(&is_closed[next]);
	for (size_t i = 0; i < PAYERS; i++)
		let_four_go(stuck[i]);
}

static void threads_end_when_there_is_nothing_left(void **state)
{
	uint64_t deadline_ns = clock_monotonic_ns() + PATIENCE_NS;

	(void)state;
	while (own_threads("close")) {
		assert_true(clock_monotonic_ns() < deadline_ns);
		usleep(10000);
	}
	// And come back.
	a_file_is_closed_once(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_is_closed_once),
		cmocka_unit_test(who_hands_over_does_not_wait),
		cmocka_unit_test(one_that_hangs_does_not_hold_up_the_next),
		cmocka_unit_test(many_that_come_after_it_are_closed_without_a_pause),
		cmocka_unit_test(beyond_four_that_hang_the_rest_waits_for_one_to_come_back),
		cmocka_unit_test(who_hangs_holds_up_nobody_else),
		cmocka_unit_test(it_is_known_who_hangs),
		cmocka_unit_test(there_is_a_bound_on_all_who_hang),
		cmocka_unit_test(threads_end_when_there_is_nothing_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
