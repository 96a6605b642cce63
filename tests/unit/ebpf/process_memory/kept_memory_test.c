// SPDX-License-Identifier: Apache-2.0
/* The memory of a program stays open while it is read, of as many as there is room for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "process_memory/kept_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct process_key key_of(uint32_t pid, uint32_t exec_id)
{
	return (struct process_key){ .pid = pid, .exec_id = exec_id, .start_boottime_ns = 5 };
}

/* Keep a new file for the program; its inode. */
static ino_t add(struct kept_memory *kept, struct process_key key, uint64_t opened_ns)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);
	struct stat stat;

	assert_int_equal(fstat(fd, &stat), 0);
	kept_memory_add(kept, &key, fd, opened_ns);
	close(fd);
	return stat.st_ino;
}

/* The inode of what is kept; 0: nothing is. */
static ino_t find(struct kept_memory *kept, struct process_key key, uint64_t now_ns,
		  uint64_t *opened_ns_ret)
{
	int fd = kept_memory_copy(kept, &key, now_ns, opened_ns_ret);
	struct stat stat;

	if (fd < 0)
		return 0;
	assert_int_equal(fstat(fd, &stat), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	return stat.st_ino;
}

static size_t count_open(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 1024; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void each_program_has_its_own(void **state)
{
	struct kept_memory kept = { 0 };
	uint64_t opened_ns = 0;
	ino_t first = add(&kept, key_of(7, 1), 10), second = add(&kept, key_of(7, 2), 20);

	(void)state;
	assert_int_equal(find(&kept, key_of(7, 1), 30, &opened_ns), first);
	assert_int_equal(opened_ns, 10);
	assert_int_equal(find(&kept, key_of(7, 2), 30, &opened_ns), second);
	assert_int_equal(opened_ns, 20);
	assert_int_equal(find(&kept, key_of(8, 1), 30, &opened_ns), 0);
	// What is opened anew takes the place of what there was.
	first = add(&kept, key_of(7, 1), 40);
	assert_int_equal(kept.count, 2);
	assert_int_equal(find(&kept, key_of(7, 1), 50, &opened_ns), first);
	assert_int_equal(opened_ns, 40);
	kept_memory_drop(&kept, &(struct process_key){ 7, 1, 5 });
	kept_memory_drop(&kept, &(struct process_key){ 9, 1, 5 });
	assert_int_equal(find(&kept, key_of(7, 1), 30, &opened_ns), 0);
	assert_int_equal(find(&kept, key_of(7, 2), 30, &opened_ns), second);
	kept_memory_trim(&kept, UINT64_MAX);
}

static void what_was_used_longest_ago_makes_room(void **state)
{
	struct kept_memory kept = { 0 };
	uint64_t opened_ns;

	(void)state;
	for (uint32_t pid = 1; pid <= KEPT_MEMORIES; pid++)
		add(&kept, key_of(pid, 1), pid);
	assert_int_not_equal(find(&kept, key_of(1, 1), 1000, &opened_ns), 0);
	add(&kept, key_of(5000, 1), 1001);
	assert_int_not_equal(find(&kept, key_of(1, 1), 1002, &opened_ns), 0);
	assert_int_equal(find(&kept, key_of(2, 1), 1002, &opened_ns), 0);
	assert_int_not_equal(find(&kept, key_of(3, 1), 1002, &opened_ns), 0);
	kept_memory_trim(&kept, UINT64_MAX);
}

static void what_is_not_used_is_closed(void **state)
{
	struct kept_memory kept = { 0 };
	size_t before = count_open();
	uint64_t opened_ns;

	(void)state;
	for (uint32_t pid = 1; pid <= 9; pid++)
		add(&kept, key_of(pid, 1), pid);
	assert_int_equal(count_open(), before + 9);
	assert_int_not_equal(find(&kept, key_of(2, 1), 50, &opened_ns), 0);
	kept_memory_trim(&kept, 8);
	assert_int_equal(count_open(), before + 3);
	assert_int_not_equal(find(&kept, key_of(2, 1), 60, &opened_ns), 0);
	assert_int_equal(find(&kept, key_of(7, 1), 60, &opened_ns), 0);
	kept_memory_trim(&kept, UINT64_MAX);
	assert_int_equal(count_open(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_program_has_its_own),
		cmocka_unit_test(what_was_used_longest_ago_makes_room),
		cmocka_unit_test(what_is_not_used_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
