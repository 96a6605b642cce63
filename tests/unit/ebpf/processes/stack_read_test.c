// SPDX-License-Identifier: Apache-2.0
/* The stack of a thread that sleeps is read as long as that is the same sleep. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/stack_read.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const uint64_t long_ns = 20000000000;

/* A process that waits for a byte on a pipe, and before for each other one. */
static struct {
	pid_t pid;
	int to, from;
	uint8_t *page; /* the one after it cannot be read */
} child;

static uint64_t runs_of(pid_t pid)
{
	unsigned long long runs = 0;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*u %*u %llu", &runs), 1);
	fclose(file);
	return runs;
}

/* It has answered, and sleeps: that is what it does next. Returns how often it has run. */
static uint64_t wait_asleep(void)
{
	char state = 0, path[64], byte;
	FILE *file;

	assert_int_equal(read(child.from, &byte, 1), 1);
	snprintf(path, sizeof(path), "/proc/%d/stat", child.pid);
	while (state != 'S') {
		file = fopen(path, "re");
		assert_non_null(file);
		assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
		fclose(file);
	}
	return runs_of(child.pid);
}

static int set_up(void **state)
{
	int to[2], from[2];
	char byte;

	child.page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pipe(to) || pipe(from) || child.page == MAP_FAILED)
		return -1;
	memset(child.page, 7, 4096);
	munmap(child.page + 4096, 4096);
	child.pid = fork();
	if (!child.pid) {
		while (write(from[1], "x", 1) == 1 && read(to[0], &byte, 1) == 1)
			;
		_exit(0);
	}
	child.to = to[1];
	child.from = from[0];
	*state = timed_calls_create();
	return *state ? 0 : -1;
}

static int tear_down(void **state)
{
	kill(child.pid, SIGKILL);
	waitpid(child.pid, NULL, 0);
	timed_calls_destroy(*state);
	return 0;
}

static ssize_t read_child(struct timed_calls *calls, uint64_t runs, size_t bytes, uint8_t *to)
{
	struct stack_query query = {
		.pid = (uint32_t)child.pid,
		.tid = (uint32_t)child.pid,
		.runs = runs,
		.address = (uintptr_t)child.page + 4096 - 64,
		.bytes = bytes,
	};

	return stack_read(calls, &query, OWNER_UNKNOWN, long_ns, to);
}

static void what_there_is_is_read(void **state)
{
	uint64_t runs = wait_asleep();
	uint8_t bytes[128] = { 0 };

	// The kernel counts how often threads run, or nothing is known of any.
	if (!runs)
		skip();
	assert_int_equal(read_child(*state, runs, sizeof(bytes), bytes), 64);
	assert_int_equal(bytes[0], 7);
	assert_int_equal(bytes[63], 7);
	assert_int_equal(bytes[64], 0);
}

static void of_no_stack_it_is_told_whether_it_sleeps(void **state)
{
	uint64_t runs = wait_asleep();

	if (!runs)
		skip();
	assert_int_equal(read_child(*state, runs, 0, NULL), 0);
	assert_int_equal(write(child.to, "x", 1), 1);
	wait_asleep();
	assert_int_equal(read_child(*state, runs, 0, NULL), -ESTALE);
}

static void another_sleep_is_not_that_one(void **state)
{
	uint64_t runs = wait_asleep();
	uint8_t bytes[128];

	if (!runs)
		skip();
	assert_int_equal(write(child.to, "x", 1), 1);
	assert_true(wait_asleep() != runs);
	assert_int_equal(read_child(*state, runs, sizeof(bytes), bytes), -ESTALE);
}

static void who_has_ended_sleeps_no_more(void **state)
{
	uint64_t runs = wait_asleep();
	uint8_t bytes[128];

	kill(child.pid, SIGKILL);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_int_equal(read_child(*state, runs, sizeof(bytes), bytes), -ESTALE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_there_is_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(of_no_stack_it_is_told_whether_it_sleeps, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(another_sleep_is_not_that_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_has_ended_sleeps_no_more, set_up, tear_down),
	};

	return cmocka_run_group_tests_name("stacks of threads that sleep", tests, NULL, NULL);
}
