// SPDX-License-Identifier: Apache-2.0
#include "loop/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

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
		event_base_free(base);
		unsetenv(names[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_environment_variable_decides_how_it_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
