// SPDX-License-Identifier: Apache-2.0
/* Code that a process gives up, and whether a place in a file was still code of it at some time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tell.h"

enum { FIRST = 11, SECOND = 12 };

static void resolve(struct mappings *mappings)
{
	for (size_t i = 0; i < mappings->now.count; i++)
		mappings->now.items[i].file = (uint32_t)mappings->now.items[i].inode;
	for (size_t i = 0; i < mappings->past.count; i++)
		mappings->past.items[i].mapping.file =
			(uint32_t)mappings->past.items[i].mapping.inode;
}

/* Files get the number of their inode as id. */
static struct space *space_of(struct table *table, uint32_t pid)
{
	struct process *process = table_newest(table, pid);

	assert_non_null(process);
	for (struct space *space = process->space; space; space = space->parent)
		resolve(&space->mappings);
	return process->space;
}

/* The file that @address is of at @time_ns; 0 = there is no code. */
static uint64_t file_at(struct table *table, uint32_t pid, uint64_t time_ns, uint64_t address)
{
	const struct mapping *found = space_find(space_of(table, pid), time_ns, address);

	return found ? found->inode : 0;
}

static bool has_lost(struct table *table, uint32_t pid, uint64_t time_ns, uint32_t file,
		     uint64_t offset)
{
	struct process_place place = { .file = file, .offset = offset, .visits = 1000 };

	return space_has_lost(space_of(table, pid), time_ns, &place);
}

static void end_code(struct table *table, uint64_t time_ns, uint32_t pid, uint64_t start,
		     uint64_t limit)
{
	learn_code_end(table,
		       &(struct code_end_record){
			       .time_ns = time_ns, .pid = pid, .start = start, .limit = limit });
}

/* Process 10 runs a program since second 2. */
static void begin(struct table *table)
{
	tell_fork(table, 1 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 2 * S, 10, "prog");
	tell_mmap(table, 3 * S, 10, 0x10000, 0x4000, FIRST, "/lib/first");
}

static void what_was_unmapped_is_code_until_then(void **state)
{
	struct table *table = *state;

	begin(table);
	end_code(table, 5 * S, 10, 0x11000, 0x12000);
	assert_int_equal(file_at(table, 10, 5 * S - 1, 0x11800), FIRST);
	assert_int_equal(file_at(table, 10, 5 * S, 0x11800), 0);
	assert_int_equal(file_at(table, 10, 6 * S, 0x10fff), FIRST);
	assert_int_equal(file_at(table, 10, 6 * S, 0x12000), FIRST);
}

static void what_came_since_stays(void **state)
{
	struct table *table = *state;

	begin(table);
	tell_mmap(table, 6 * S, 10, 0x11000, 0x1000, SECOND, "/lib/second");
	end_code(table, 5 * S, 10, 0x10000, 0x14000);
	assert_int_equal(file_at(table, 10, 7 * S, 0x11000), SECOND);
	assert_int_equal(file_at(table, 10, 7 * S, 0x10000), 0);
	assert_int_equal(file_at(table, 10, 4 * S, 0x10000), FIRST);
}

static void code_that_came_back_is_there_again(void **state)
{
	struct table *table = *state;

	begin(table);
	tell_mmap(table, 6 * S, 10, 0x10000, 0x4000, FIRST, "/lib/first");
	end_code(table, 5 * S, 10, 0x10000, 0x14000);
	assert_int_equal(file_at(table, 10, 4 * S, 0x10000), FIRST);
	assert_int_equal(file_at(table, 10, 5 * S + S / 2, 0x10000), 0);
	assert_int_equal(file_at(table, 10, 7 * S, 0x10000), FIRST);
}

static void a_fork_gives_up_what_it_inherited_for_itself(void **state)
{
	struct table *table = *state;

	begin(table);
	tell_fork(table, 4 * S, 10, 20);
	end_code(table, 5 * S, 20, 0x10000, 0x14000);
	assert_int_equal(file_at(table, 20, 4 * S + 1, 0x10000), FIRST);
	assert_int_equal(file_at(table, 20, 6 * S, 0x10000), 0);
	assert_int_equal(file_at(table, 10, 6 * S, 0x10000), FIRST);
}

static void ends_take_no_memory_for_good(void **state)
{
	struct table *table = *state;
	size_t before;

	begin(table);
	before = table->pool.memory;
	for (uint64_t i = 0; i < 2000; i++) {
		uint64_t start = 0x100000 + i * 0x2000;

		tell_mmap(table, 10 * S + 2 * i, 10, start, 0x1000, 0, "//anon");
		end_code(table, 10 * S + 2 * i + 1, 10, start, start + 0x1000);
	}
	table_forget(table, 20 * S);
	assert_true(table->pool.memory < before + 16 * sizeof(struct mapping));
}

static void a_place_is_lost_once_another_file_lies_there(void **state)
{
	struct table *table = *state;

	begin(table);
	assert_false(has_lost(table, 10, 4 * S, FIRST, 0x100));
	tell_mmap(table, 5 * S, 10, 0x10000, 0x4000, SECOND, "/lib/second");
	assert_false(has_lost(table, 10, 4 * S, FIRST, 0x100));
	assert_true(has_lost(table, 10, 5 * S, FIRST, 0x100));
	assert_false(has_lost(table, 10, 5 * S, SECOND, 0x100));
	// Nothing says that it ever was there.
	assert_false(has_lost(table, 10, 5 * S, FIRST, 0x4000));
	assert_true(space_ended_ns(space_of(table, 10)) == 5 * S);
}

static void a_place_that_is_mapped_elsewhere_is_not_lost(void **state)
{
	struct table *table = *state;

	begin(table);
	tell_mmap(table, 4 * S, 10, 0x50000, 0x4000, FIRST, "/lib/first");
	tell_mmap(table, 5 * S, 10, 0x10000, 0x4000, SECOND, "/lib/second");
	assert_false(has_lost(table, 10, 6 * S, FIRST, 0x100));
}

static void what_a_fork_covers_is_lost_to_it_alone(void **state)
{
	struct table *table = *state;

	begin(table);
	tell_fork(table, 4 * S, 10, 20);
	tell_mmap(table, 5 * S, 20, 0x10000, 0x4000, SECOND, "/lib/second");
	assert_true(has_lost(table, 20, 6 * S, FIRST, 0x100));
	assert_true(space_ended_ns(space_of(table, 20)) == 5 * S);
	assert_false(has_lost(table, 10, 6 * S, FIRST, 0x100));
}

static void a_search_that_takes_too_long_is_sure_of_nothing(void **state)
{
	struct process_place place = { .file = FIRST, .offset = 0x100, .visits = 1 };
	struct table *table = *state;

	begin(table);
	tell_mmap(table, 5 * S, 10, 0x10000, 0x4000, SECOND, "/lib/second");
	assert_false(space_has_lost(space_of(table, 10), 6 * S, &place));
}

static void who_shares_memory_sees_what_the_other_maps(void **state)
{
	struct table *table = *state;

	begin(table);
	tell_fork(table, 4 * S, 10, 20);
	tell_mmap(table, 5 * S, 20, 0x10000, 0x4000, SECOND, "/lib/second");
	assert_ptr_equal(table_take_kin(table), table_newest(table, 20));
	assert_null(table_take_kin(table));
	table_share(table, table_newest(table, 20), table_newest(table, 10));
	assert_int_equal(file_at(table, 10, 4 * S, 0x10000), FIRST);
	assert_int_equal(file_at(table, 10, 6 * S, 0x10000), SECOND);
	tell_mmap(table, 7 * S, 10, 0x20000, 0x1000, FIRST, "/lib/first");
	assert_int_equal(file_at(table, 20, 8 * S, 0x20000), FIRST);
	// By exec it has memory of its own again.
	tell_name(table, RECORD_EXEC, 9 * S, 20, "other");
	assert_int_equal(file_at(table, 20, 10 * S, 0x20000), 0);
	tell_exit(table, 11 * S, 20, 20);
	tell_exit(table, 12 * S, 10, 10);
}

/* Without a walk through all processes for each thing that is told. */
static void who_has_left_by_exec_shares_memory_no_more(void **state)
{
	struct process_key key = key_of(10, 1 * S);
	struct table *table = *state;
	struct process_change change;

	begin(table);
	tell_fork(table, 4 * S, 10, 20);
	tell_mmap(table, 5 * S, 20, 0x20000, 0x4000, SECOND, "/lib/second");
	table_share(table, table_newest(table, 20), table_newest(table, 10));
	assert_int_equal(space_of(table, 10)->sharers, 1);
	assert_non_null(table_note(table, &key, 6 * S));
	key = key_of(20, 4 * S);
	assert_non_null(table_note(table, &key, 6 * S));
	while (table_take_change(table, 100 * S, &change))
		;
	// One maps: both are told of, by the next look.
	tell_mmap(table, 7 * S, 10, 0x30000, 0x4000, SECOND, "/lib/second");
	assert_true(table_take_change(table, 200 * S, &change));
	assert_true(table_take_change(table, 200 * S, &change));
	assert_false(table_take_change(table, 200 * S, &change));
	tell_name(table, RECORD_EXEC, 9 * S, 20, "other");
	table_forget(table, 10 * S);
	assert_int_equal(space_of(table, 10)->sharers, 0);
	assert_int_equal(file_at(table, 10, 11 * S, 0x30000), SECOND);
	tell_exit(table, 11 * S, 20, 20);
	tell_exit(table, 12 * S, 10, 10);
}

/* Does table_take_left tell of process @pid, and of no other one? */
static bool takes_left(struct table *table, uint32_t pid)
{
	uint32_t left = 0;
	bool some = table_take_left(table, &left);

	assert_false(table_take_left(table, &(uint32_t){ 0 }));
	return some && left == pid;
}

static void ends_need_not_be_told_of_what_has_gone(void **state)
{
	struct table *table = *state;

	begin(table);
	assert_true(table_follow_ends(table, table_newest(table, 10)));
	assert_true(table_follow_ends(table, table_newest(table, 10)));
	tell_name(table, RECORD_EXEC, 4 * S, 10, "other");
	assert_true(takes_left(table, 10));
	assert_true(table_follow_ends(table, table_newest(table, 10)));
	tell_exit(table, 5 * S, 10, 10);
	assert_true(takes_left(table, 10));
	// Dropped while it lives, since there is no room.
	tell_fork(table, 6 * S, 1, 30);
	assert_true(table_follow_ends(table, table_newest(table, 30)));
	table->max_bytes = 0;
	table_evict(table);
	assert_null(table_newest(table, 30));
	assert_true(takes_left(table, 30));
	table->max_bytes = TABLE_BYTES;
}

static void when_ends_were_lost_the_mappings_are_read(void **state)
{
	struct process_key key = key_of(10, 1 * S);
	struct table *table = *state;

	begin(table);
	tell_fork(table, 4 * S, 10, 20);
	assert_non_null(table_note(table, &key, 5 * S));
	assert_true(table_follow_ends(table, table_newest(table, 10)));
	table_suspect_ends(table, true);
	assert_ptr_equal(table_take_crowded(table), table_newest(table, 10));
	assert_null(table_take_crowded(table));
	table_leave_ends(table, table_newest(table, 10));
	table_suspect_ends(table, true);
	assert_null(table_take_crowded(table));
	tell_exit(table, 11 * S, 20, 20);
	tell_exit(table, 12 * S, 10, 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, table_set_up, table_tear_down)
		CASE(what_was_unmapped_is_code_until_then),
		CASE(what_came_since_stays),
		CASE(code_that_came_back_is_there_again),
		CASE(a_fork_gives_up_what_it_inherited_for_itself),
		CASE(ends_take_no_memory_for_good),
		CASE(a_place_is_lost_once_another_file_lies_there),
		CASE(a_place_that_is_mapped_elsewhere_is_not_lost),
		CASE(what_a_fork_covers_is_lost_to_it_alone),
		CASE(a_search_that_takes_too_long_is_sure_of_nothing),
		CASE(who_shares_memory_sees_what_the_other_maps),
		CASE(who_has_left_by_exec_shares_memory_no_more),
		CASE(ends_need_not_be_told_of_what_has_gone),
		CASE(when_ends_were_lost_the_mappings_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
