// SPDX-License-Identifier: Apache-2.0
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <event2/bufferevent.h>
#include <stdlib.h>

/* Without epoll, or with its changes in a list, timers are less precise than was asked for. */
static void no_environment_variable_decides_how_it_waits(void **state)
{
	static const char *const names[] = { "EVENT_NOEPOLL", "EVENT_EPOLL_USE_CHANGELIST" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct event_base *base;

		assert_int_equal(setenv(names[i], "1", 1), 0);
		base = loop_create(EVENT_BASE_FLAG_PRECISE_TIMER);
		assert_non_null(base);
		assert_string_equal(event_base_get_method(base), "epoll");
		loop_destroy(base);
		unsetenv(names[i]);
	}
}

static void ignore(struct bufferevent *stream, void *context)
{
	(void)stream;
	(void)context;
}

/* Sanitizers tell of what is left. */
static void a_stream_is_freed_whose_callback_is_due_yet(void **state)
{
	struct event_base *base = loop_create(EVENT_BASE_FLAG_NOLOCK);
	struct bufferevent *stream = bufferevent_socket_new(base, -1, 0);

	(void)state;
	assert_non_null(stream);
	bufferevent_setcb(stream, NULL, ignore, NULL, NULL);
	bufferevent_trigger(stream, EV_WRITE,
			    BEV_TRIG_DEFER_CALLBACKS | BEV_TRIG_IGNORE_WATERMARKS);
	bufferevent_free(stream);
	loop_destroy(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_environment_variable_decides_how_it_waits),
		cmocka_unit_test(a_stream_is_freed_whose_callback_is_due_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
