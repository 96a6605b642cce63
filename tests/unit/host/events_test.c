// SPDX-License-Identifier: Apache-2.0
/* How the main thread waits for events. */
#include "host/lifecycle/events.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define MINUTE 60000000000ull

static void it_waits_no_longer_than_told(void **state)
{
	uint64_t deadline_ns = clock_monotonic_ns() + 20000000;
	struct events events;

	(void)state;
	events_init(&events);
	assert_false(events_wait_until(&events, deadline_ns));
	assert_true(clock_monotonic_ns() >= deadline_ns);
	events_deinit(&events);
}

static void what_has_come_stays_to_be_taken(void **state)
{
	struct events events;

	(void)state;
	events_init(&events);
	events_post_reload(&events);
	for (int i = 0; i < 2; i++)
		assert_true(events_wait_until(&events, clock_monotonic_ns() + MINUTE));
	assert_int_equal(events_wait(&events).kind, EVENT_RELOAD);
	assert_false(events_wait_until(&events, clock_monotonic_ns()));
	events_deinit(&events);
}

static void *post_end(void *events)
{
	events_post_end(events, 15);
	return NULL;
}

static void an_event_ends_the_wait(void **state)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct events events;
	pthread_t thread;

	(void)state;
	events_init(&events);
	assert_int_equal(pthread_create(&thread, NULL, post_end, &events), 0);
	assert_true(events_wait_until(&events, begin_ns + MINUTE));
	assert_true(clock_monotonic_ns() < begin_ns + MINUTE);
	pthread_join(thread, NULL);
	assert_int_equal(events_wait(&events).number, 15);
	events_deinit(&events);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_waits_no_longer_than_told),
		cmocka_unit_test(what_has_come_stays_to_be_taken),
		cmocka_unit_test(an_event_ends_the_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
