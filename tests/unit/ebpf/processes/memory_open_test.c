// SPDX-License-Identifier: Apache-2.0
/* The memory of a process is opened for whoever reads it, or it is said why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/memory_open.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t long_ns = 20000000000;

static int set_up(void **state)
{
	*state = timed_calls_create();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	timed_calls_destroy(*state);
	return 0;
}

static void what_a_process_has_can_be_read(void **state)
{
	static volatile uint64_t word = 0x1122334455667788;
	uint64_t read;
	int fd = memory_open(*state, (uint32_t)getpid(), OWNER_UNKNOWN, long_ns);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &read, sizeof(read), (off_t)(uintptr_t)&word), sizeof(read));
	assert_true(read == 0x1122334455667788);
	assert_true(pread(fd, &read, sizeof(read), 8) < 0);
	close(fd);
}

static void a_process_that_has_gone_has_none(void **state)
{
	pid_t child = fork();
	int status;

	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(memory_open(*state, (uint32_t)child, OWNER_UNKNOWN, long_ns), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_a_process_has_can_be_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_process_that_has_gone_has_none, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
