// SPDX-License-Identifier: Apache-2.0
/* Files of processes where there is room for few. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tell.h"

#include "processes/files.h"
#include "processes/resolve.h"
#include "tests/unit/ebpf/passed_time.h"

#include "base/base.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* Of memory there is room for some twenty files, at least. */
enum { FILES_BYTES = 16 << 10, FEW = 20, MANY = 60, FILE_IDS = 1 << 20 };

static const uint64_t pause_ns = 1000000000;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* @pid runs a program since @time_ns and has been sampled. */
static void begin(struct table *table, uint64_t time_ns, uint32_t pid)
{
	struct process_key key = key_of(pid, time_ns);

	key.exec_id = 4;
	tell_fork(table, time_ns, 1, pid);
	tell_name(table, RECORD_EXEC, time_ns + 1, pid, "prog");
	tell_mmap(table, time_ns + 2, pid, 0x1000, 0x1000, 0, "//anon");
	assert_non_null(table_note(table, &key, time_ns + 3));
}

static void end(struct table *table, uint64_t time_ns, uint32_t pid)
{
	tell_exit(table, time_ns, pid, pid);
	table_forget(table, time_ns + 1);
}

static uint64_t address_of(size_t i)
{
	return 0x100000 + i * 0x10000;
}

/* @pid maps @count files, which have the inodes from @inode on. */
static void map_files(struct table *table, uint64_t time_ns, uint32_t pid, uint64_t inode,
		      size_t count)
{
	for (size_t i = 0; i < count; i++)
		tell_mmap(table, time_ns, pid, address_of(i), 0x1000, inode + i, "/nowhere/lib");
}

static const struct mapping *mapping_of(struct table *table, uint32_t pid, size_t i)
{
	const struct mapping *mapping =
		space_find(table_newest(table, pid)->space, PROCESS_ALIVE - 1, address_of(i));

	assert_non_null(mapping);
	return mapping;
}

static size_t with_file(struct table *table, struct files *files, uint32_t pid, size_t count)
{
	size_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += files_has(files, mapping_file(mapping_of(table, pid, i)), NULL);
	return found;
}

static bool is_told(struct table *table, uint32_t pid)
{
	struct process_change change;
	bool told = false;

	while (table_take_change(table, clock_monotonic_ns(), &change))
		told |= change.key.pid == pid && change.alive;
	return told;
}

static void what_is_refused_is_resolved_when_there_is_room(void **state)
{
	struct table *table = *state;
	struct files *files = files_create(4, FILES_BYTES, FILE_IDS);
	uint64_t refused;

	assert_non_null(files);
	begin(table, 10 * S, 10);
	map_files(table, 11 * S, 10, 1, MANY);
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	begin(table, 20 * S, 20);
	map_files(table, 21 * S, 20, 1000, 1);
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	// All room is for what is mapped: neither an id nor a wait for one.
	assert_int_equal(mapping_of(table, 20, 0)->file, MAPPING_FILE_REFUSED);
	assert_int_equal(mapping_file(mapping_of(table, 20, 0)), PROCESS_NO_FILE);
	is_told(table, 20);
	// Nor is it looked for again all the time.
	refused = files_state(files).refused;
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	table_mark_unresolved(table, table_newest(table, 20));
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_int_equal(files_state(files).refused, refused);
	end(table, 30 * S, 10);
	passed_ns += pause_ns;
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_int_equal(with_file(table, files, 20, 1), 1);
	assert_true(is_told(table, 20));
	files_destroy(files);
}

/* Both see the mapping that the child has from its parent. */
static void all_who_see_a_mapping_are_told_of_its_file(void **state)
{
	struct table *table = *state;
	struct files *files = files_create(4, FILES_BYTES, FILE_IDS);
	struct process_key child = key_of(21, 22 * S);
	struct process_change change;
	bool parent_told = false, child_told = false;

	assert_non_null(files);
	child.exec_id = 4;
	begin(table, 10 * S, 10);
	map_files(table, 11 * S, 10, 1, MANY);
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	begin(table, 20 * S, 20);
	map_files(table, 21 * S, 20, 1000, 1);
	tell_fork(table, 22 * S, 20, 21);
	assert_non_null(table_note(table, &child, 23 * S));
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_int_equal(mapping_of(table, 21, 0)->file, MAPPING_FILE_REFUSED);
	is_told(table, 20);
	end(table, 30 * S, 10);
	passed_ns += pause_ns;
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_int_equal(with_file(table, files, 21, 1), 1);
	while (table_take_change(table, clock_monotonic_ns(), &change)) {
		parent_told |= change.key.pid == 20 && change.alive;
		child_told |= change.key.pid == 21 && change.alive;
	}
	assert_true(parent_told && child_told);
	files_destroy(files);
}

/* A program with many libraries, after many programs that have ended. */
static void what_nobody_needs_is_in_nobodys_way(void **state)
{
	struct table *table = *state;
	struct files *files = files_create(4, 3 * FILES_BYTES / 2, FILE_IDS);

	assert_non_null(files);
	for (uint32_t i = 0; i < MANY; i++) {
		begin(table, (10 + 10 * i) * S, 100 + i);
		map_files(table, (11 + 10 * i) * S, 100 + i, 1 + i, 1);
		resolve_files(table, &lock, files, NULL, UINT64_MAX);
		end(table, (12 + 10 * i) * S, 100 + i);
		begin(table, (14 + 10 * i) * S, 10);
		map_files(table, (15 + 10 * i) * S, 10, 1000 + i * MANY, FEW);
		resolve_files(table, &lock, files, NULL, UINT64_MAX);
		assert_int_equal(with_file(table, files, 10, FEW), FEW);
		end(table, (16 + 10 * i) * S, 10);
	}
	assert_int_equal(files_state(files).refused, 0);
	files_destroy(files);
}

/* A user has as many files mapped as it can; another one comes. */
static void who_maps_most_files_lets_go_of_them_for_others(void **state)
{
	struct table *table = *state;
	struct files *files = files_create(4, 2 * FILES_BYTES, FILE_IDS);
	size_t mapped;

	assert_non_null(files);
	begin(table, 10 * S, 10);
	table_newest(table, 10)->owner = (struct owner){ 1000, 0 };
	table_newest(table, 10)->owner_read = true;
	map_files(table, 11 * S, 10, 1, MANY);
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	mapped = with_file(table, files, 10, MANY);
	assert_in_range(mapped, 1, MANY - 1);
	is_told(table, 10);
	begin(table, 20 * S, 20);
	table_newest(table, 20)->owner = (struct owner){ 1001, 0 };
	table_newest(table, 20)->owner_read = true;
	for (uint32_t i = 0; i < 4; i++) {
		map_files(table, (21 + i) * S, 20, 1000, 3 * (i + 1));
		passed_ns += pause_ns;
		resolve_files(table, &lock, files, NULL, UINT64_MAX);
	}
	assert_int_equal(with_file(table, files, 20, 12), 12);
	assert_true(with_file(table, files, 10, MANY) < mapped);
	assert_true(with_file(table, files, 10, MANY) >= mapped / 2);
	assert_true(is_told(table, 10));
	files_destroy(files);
}

/* The number of a child that lives until it is killed, with its root at @root unless that is NULL.
 */
static uint32_t start_child(const char *root)
{
	int ready[2];
	char byte;
	pid_t pid;

	assert_return_code(pipe(ready), errno);
	pid = fork();
	assert_return_code(pid, errno);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if ((!root || !chroot(root)) && write(ready[1], "", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return (uint32_t)pid;
}

static void end_child(uint32_t pid)
{
	kill((pid_t)pid, SIGKILL);
	waitpid((pid_t)pid, NULL, 0);
}

static void assert_root(struct table *table, struct files *files, uint32_t pid,
			const struct process_root *expected)
{
	struct process_root found;
	uint32_t found_pid;

	assert_true(files_root(files, mapping_file(mapping_of(table, pid, 0)), &found, &found_pid));
	assert_true(process_root_equal(&found, expected));
}

/* More processes than are asked about in one call, of two owners, every third one with another
 * root. */
static void each_has_its_own_root(void **state)
{
	enum { CHILDREN = 40, EVERY = 3 };
	struct table *table = *state;
	struct files *files = files_create(4, FILES_BYTES * 8, FILE_IDS);
	struct process_root own, other;
	uint32_t pids[CHILDREN];

	if (geteuid())
		skip();
	assert_non_null(files);
	for (size_t i = 0; i < CHILDREN; i++) {
		pids[i] = start_child(i % EVERY ? NULL : "/proc");
		begin(table, (10 + i) * S, pids[i]);
		map_files(table, (10 + i) * S + 5, pids[i], 1000 * (i + 1), 1);
		table_newest(table, pids[i])->owner =
			(struct owner){ i < CHILDREN / 2 ? 0 : 1000, 0 };
	}
	assert_true(process_root_read((uint32_t)getpid(), &own));
	assert_true(process_root_read(pids[0], &other));
	assert_false(process_root_equal(&own, &other));
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	for (size_t i = 0; i < CHILDREN; i++) {
		assert_root(table, files, pids[i], i % EVERY ? &own : &other);
		end_child(pids[i]);
	}
	files_destroy(files);
}

int main(void)
{
#define RESOLVE_TEST(test) cmocka_unit_test_setup_teardown(test, table_set_up, table_tear_down)
	const struct CMUnitTest tests[] = {
		RESOLVE_TEST(what_is_refused_is_resolved_when_there_is_room),
		RESOLVE_TEST(all_who_see_a_mapping_are_told_of_its_file),
		RESOLVE_TEST(what_nobody_needs_is_in_nobodys_way),
		RESOLVE_TEST(who_maps_most_files_lets_go_of_them_for_others),
		RESOLVE_TEST(each_has_its_own_root),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
