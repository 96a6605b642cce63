// SPDX-License-Identifier: Apache-2.0
/* Words of a process's memory are read, or it is said why not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "processes/memory_words.h"

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

static void words_are_read_in_their_order(void **state)
{
	static volatile uint64_t words[] = { 0x1122334455667788, 42, 7 };
	const uint64_t addresses[] = { (uintptr_t)&words[2], (uintptr_t)&words[0],
				       (uintptr_t)&words[1] + 1 };
	uint64_t read[3];

	assert_int_equal(memory_words_read(*state, (uint32_t)getpid(), addresses, 3, long_ns, read),
			 0);
	assert_int_equal(read[0], 7);
	assert_int_equal(read[1], 0x1122334455667788);
	assert_int_equal(read[2], 7ull << 56);
}

static void what_is_not_there_is_not_read(void **state)
{
	static uint64_t word;
	const uint64_t addresses[] = { (uintptr_t)&word, 8 };
	const uint64_t beyond[] = { UINT64_MAX - 3 };
	uint64_t read[2];
	pid_t child = fork();
	int status;

	if (!child)
		_exit(0);
	assert_true(memory_words_read(*state, (uint32_t)getpid(), addresses, 2, long_ns, read) < 0);
	assert_true(memory_words_read(*state, (uint32_t)getpid(), beyond, 1, long_ns, read) < 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(memory_words_read(*state, (uint32_t)child, addresses, 1, long_ns, read),
			 -ENOENT);
}

static void there_is_a_bound(void **state)
{
	uint64_t addresses[MEMORY_WORDS_MOST + 1] = { 0 }, read[MEMORY_WORDS_MOST + 1];

	assert_int_equal(memory_words_read(*state, (uint32_t)getpid(), addresses,
					   MEMORY_WORDS_MOST + 1, long_ns, read),
			 -EINVAL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(words_are_read_in_their_order),
		TEST(what_is_not_there_is_not_read),
		TEST(there_is_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
