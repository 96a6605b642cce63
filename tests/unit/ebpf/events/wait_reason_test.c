// SPDX-License-Identifier: Apache-2.0
/* What is said of a wait by the thread's state and its system call. */
#include "events/wait_reason.h"

#include "sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/syscall.h>

static uint16_t detail(enum off_cpu_state state, long call)
{
	return (uint16_t)((unsigned)state << OFF_CPU_STATE_SHIFT | (unsigned)(call + 1));
}

static void a_system_call_says_why(void **state)
{
	(void)state;
	assert_string_equal(wait_reason(detail(OFF_CPU_SLEEPING, SYS_clock_nanosleep)), "sleep");
	assert_string_equal(wait_reason(detail(OFF_CPU_SLEEPING, SYS_futex)), "futex");
	assert_string_equal(wait_reason(detail(OFF_CPU_SLEEPING, SYS_ppoll)), "poll");
	assert_string_equal(wait_reason(detail(OFF_CPU_SLEEPING, SYS_read)), "read");
	assert_string_equal(wait_reason(detail(OFF_CPU_UNINTERRUPTIBLE, SYS_pread64)), "read");
	assert_string_equal(wait_reason(detail(OFF_CPU_SLEEPING, SYS_recvfrom)), "socket");
	assert_string_equal(wait_reason(detail(OFF_CPU_SLEEPING, SYS_wait4)), "child");
	assert_string_equal(wait_reason(detail(OFF_CPU_UNINTERRUPTIBLE, SYS_fsync)), "sync");
	assert_string_equal(wait_reason(detail(OFF_CPU_UNINTERRUPTIBLE, SYS_openat)), "kernel");
	assert_string_equal(wait_reason(detail(OFF_CPU_SLEEPING, SYS_openat)), "other");
}

static void the_state_goes_before_the_call(void **state)
{
	(void)state;
	assert_string_equal(wait_reason(detail(OFF_CPU_RUNNABLE, SYS_futex)), "runnable");
	assert_string_equal(wait_reason(detail(OFF_CPU_STOPPED, SYS_nanosleep)), "stopped");
	assert_string_equal(wait_reason(detail(OFF_CPU_RUNNING, -1)), "running");
	assert_string_equal(wait_reason(detail(OFF_CPU_UNINTERRUPTIBLE, -1)), "page_fault");
	assert_string_equal(wait_reason(detail(OFF_CPU_THROTTLED, -1)), "throttled");
	assert_string_equal(wait_reason(detail(OFF_CPU_DISK, SYS_pread64)), "disk");
	assert_string_equal(wait_reason(detail(OFF_CPU_DISK, -1)), "page_fault");
	assert_string_equal(wait_reason(detail(OFF_CPU_IN_PIPE, SYS_read)), "pipe");
	assert_string_equal(wait_reason(detail(OFF_CPU_IN_SOCKET, SYS_write)), "socket");
}

static void every_detail_has_a_reason(void **state)
{
	(void)state;
	for (uint32_t i = 0; i <= UINT16_MAX; i++)
		assert_true(wait_reason((uint16_t)i)[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_system_call_says_why),
		cmocka_unit_test(the_state_goes_before_the_call),
		cmocka_unit_test(every_detail_has_a_reason),
	};

	return cmocka_run_group_tests_name("wait reason", tests, NULL, NULL);
}
