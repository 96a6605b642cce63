// SPDX-License-Identifier: Apache-2.0
/* What ends the sleep of a start that waits. */
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sys/eventfd.h>

#define MINUTE 60000000000ull

static struct {
	int event, end;
} fds;

static int set_up(void **state)
{
	(void)state;
	fds.event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	fds.end = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return fds.event < 0 || fds.end < 0;
}

static int tear_down(void **state)
{
	(void)state;
	cleanup_fd(&fds.event);
	cleanup_fd(&fds.end);
	return 0;
}

static void an_event_wakes_once(void **state)
{
	(void)state;
	eventfd_write(fds.event, 1);
	eventfd_write(fds.event, 1);
	assert_int_equal(wake_wait(fds.event, fds.end, clock_monotonic_ns() + MINUTE), WAKE_EVENT);
	assert_int_equal(wake_wait(fds.event, fds.end, clock_monotonic_ns()), WAKE_TIMEOUT);
}

static void the_end_wakes_for_ever_and_comes_first(void **state)
{
	(void)state;
	eventfd_write(fds.event, 1);
	eventfd_write(fds.end, 1);
	for (int i = 0; i < 3; i++)
		assert_int_equal(wake_wait(fds.event, fds.end, 0), WAKE_END);
}

static void it_sleeps_no_longer_than_told(void **state)
{
	uint64_t deadline_ns = clock_monotonic_ns() + 20000000;

	(void)state;
	assert_int_equal(wake_wait(fds.event, fds.end, deadline_ns), WAKE_TIMEOUT);
	assert_true(clock_monotonic_ns() >= deadline_ns);
}

static void without_an_end_there_are_events_and_time(void **state)
{
	(void)state;
	assert_int_equal(wake_wait(fds.event, 0, 0), WAKE_TIMEOUT);
	eventfd_write(fds.event, 1);
	assert_int_equal(wake_wait(fds.event, 0, 0), WAKE_EVENT);
}

static void *write_event(void *argument)
{
	(void)argument;
	eventfd_write(fds.event, 1);
	return NULL;
}

static void another_thread_wakes_it(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, write_event, NULL), 0);
	assert_int_equal(wake_wait(fds.event, fds.end, clock_monotonic_ns() + MINUTE), WAKE_EVENT);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_event_wakes_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_wakes_for_ever_and_comes_first, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(it_sleeps_no_longer_than_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_an_end_there_are_events_and_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_thread_wakes_it, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
