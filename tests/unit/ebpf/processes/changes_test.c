// SPDX-License-Identifier: Apache-2.0
/* What is told of processes that are followed, and how often. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tell.h"

#include "processes/files.h"
#include "processes/resolve.h"

#include <stdio.h>

/* A sample of @pid, which was forked at @forked_ns. */
static void sample(struct table *table, uint64_t time_ns, uint32_t pid, uint64_t forked_ns,
		   uint32_t exec_id)
{
	struct process_key key = key_of(pid, forked_ns);

	key.exec_id = exec_id;
	assert_non_null(table_note(table, &key, time_ns));
}

/* What is to be told now, in order: "+PID/EXEC_ID" for a program that runs, "-" for an end. */
static const char *changes_at(struct table *table, uint64_t now_ns)
{
	static char text[256];
	struct process_change change;
	size_t length = 0;

	text[0] = '\0';
	while (table_take_change(table, now_ns, &change)) {
		assert_true(length < sizeof(text) - 32);
		length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%c%u/%u",
					   length ? " " : "", change.alive ? '+' : '-',
					   change.key.pid, change.key.exec_id);
	}
	return text;
}

static const char *changes(struct table *table)
{
	return changes_at(table, 1);
}

enum { FILE_IDS = 1 << 20 };

/* Process 10 runs a program, forked at 10 s, exec'd at 11 s, sampled at 12 s. */
static void begin_sampled(struct table *table)
{
	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "prog");
	tell_mmap(table, 11 * S + 1, 10, 0x1000, 0x1000, 0, "//anon");
	sample(table, 12 * S, 10, 10 * S, 4);
	assert_string_equal(changes(table), "+10/4");
}

static void a_program_is_told_of_once_it_is_sampled(void **state)
{
	struct table *table = *state;
	struct process_change change;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "prog");
	tell_mmap(table, 11 * S + 1, 10, 0x1000, 0x1000, 0, "//anon");
	assert_string_equal(changes(table), "");
	sample(table, 12 * S, 10, 10 * S, 4);
	assert_true(table_take_change(table, 1, &change));
	assert_int_equal(change.key.pid, 10);
	assert_int_equal(change.key.exec_id, 4);
	assert_int_equal(change.key.start_boottime_ns, key_of(10, 10 * S).start_boottime_ns);
	assert_true(change.alive);
	assert_string_equal(changes(table), "");
	sample(table, 13 * S, 10, 10 * S, 4);
	assert_string_equal(changes(table), "");
}

static void many_mappings_are_one_change(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	for (uint64_t i = 0; i < 10000; i++)
		tell_mmap(table, 13 * S + i, 10, 0x1000 * (i % 64), 0x1000 + 0x1000 * (i % 2), 0,
			  i % 3 ? "//anon" : "[anon:JIT]");
	assert_string_equal(changes(table), "+10/4");
	// mprotect() tells of what is known.
	tell_mmap(table, 14 * S, 10, 0x400000, 0x10000, 0, "//anon");
	assert_string_equal(changes(table), "+10/4");
	for (uint64_t i = 0; i < 100; i++)
		tell_mmap(table, 15 * S + i, 10, 0x400000, 0x1000 * (1 + i % 16), 0, "//anon");
	assert_string_equal(changes(table), "");
}

static void those_never_sampled_are_not_told_of(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	tell_fork(table, 20 * S, 10, 20);
	tell_mmap(table, 21 * S, 20, 0x5000, 0x1000, 0, "//anon");
	tell_name(table, RECORD_EXEC, 22 * S, 20, "other");
	tell_exit(table, 23 * S, 20, 20);
	assert_string_equal(changes(table), "");
	// Nor is what ended before anybody could have been told.
	tell_fork(table, 24 * S, 10, 30);
	sample(table, 25 * S, 30, 24 * S, 4);
	tell_exit(table, 26 * S, 30, 30);
	assert_string_equal(changes(table), "");
}

static void a_child_is_told_of_by_itself(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	tell_fork(table, 20 * S, 10, 20);
	sample(table, 21 * S, 20, 20 * S, 4);
	assert_string_equal(changes(table), "+20/4");
	// What a parent does after the fork does not change its child.
	tell_mmap(table, 22 * S, 10, 0x5000, 0x1000, 0, "//anon");
	assert_string_equal(changes(table), "+10/4");
	tell_exit(table, 23 * S, 10, 10);
	assert_string_equal(changes(table), "-10/4");
}

static void an_exec_ends_a_program_and_its_first_sample_begins_one(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	tell_name(table, RECORD_EXEC, 20 * S, 10, "next");
	tell_mmap(table, 20 * S + 1, 10, 0x5000, 0x1000, 0, "//anon");
	assert_string_equal(changes(table), "-10/4");
	tell_mmap(table, 20 * S + 2, 10, 0x7000, 0x1000, 0, "//anon");
	// A sample of before the exec, drained after it.
	sample(table, 19 * S, 10, 10 * S, 4);
	assert_string_equal(changes(table), "");
	sample(table, 21 * S, 10, 10 * S, 5);
	assert_string_equal(changes(table), "+10/5");
	// Between two passes.
	tell_name(table, RECORD_EXEC, 22 * S, 10, "last");
	sample(table, 23 * S, 10, 10 * S, 6);
	assert_string_equal(changes(table), "-10/5 +10/6");
	// Nobody told of this one.
	sample(table, 24 * S, 10, 10 * S, 7);
	assert_string_equal(changes(table), "-10/6 +10/7");
}

static void a_sample_right_after_an_exec_counts(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	tell_name(table, RECORD_EXEC, 20 * S, 10, "next");
	// The exec is told a moment before the id changes.
	sample(table, 20 * S + 1000, 10, 10 * S, 4);
	assert_string_equal(changes(table), "-10/4");
	sample(table, 20 * S + 100000, 10, 10 * S, 5);
	assert_string_equal(changes(table), "+10/5");
	// The same where the id from before is not known.
	tell_fork(table, 30 * S, 10, 20);
	tell_name(table, RECORD_EXEC, 31 * S, 20, "child");
	sample(table, 31 * S + 1000, 20, 30 * S, 5);
	sample(table, 31 * S + 100000, 20, 30 * S, 6);
	assert_string_equal(changes(table), "+20/6");
	assert_true(table_newest(table, 20)->space->complete);
}

static void an_end_is_told(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	tell_exit(table, 20 * S, 10, 10);
	assert_string_equal(changes(table), "-10/4");
	table_forget(table, 21 * S);
	assert_string_equal(changes(table), "");
}

static void an_end_that_was_mistaken_is_taken_back(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	tell_exit(table, 20 * S, 10, 10);
	assert_string_equal(changes(table), "-10/4");
	sample(table, 25 * S, 10, 10 * S, 4);
	assert_string_equal(changes(table), "+10/4");
}

static void what_is_dropped_is_told_too(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	tell_exit(table, 20 * S, 10, 10);
	table_forget(table, 21 * S);
	assert_string_equal(changes(table), "-10/4");

	tell_fork(table, 30 * S, 1, 11);
	sample(table, 31 * S, 11, 30 * S, 7);
	assert_string_equal(changes(table), "+11/7");
	table->max_bytes = 0;
	table_evict(table);
	assert_null(table_newest(table, 11));
	assert_string_equal(changes(table), "-11/7");
}

static void the_next_user_of_a_number_is_another(void **state)
{
	struct table *table = *state;
	struct process_change change;

	begin_sampled(table);
	// Its end went untold.
	tell_fork(table, 30 * S, 1, 10);
	sample(table, 31 * S, 10, 30 * S, 4);
	assert_true(table_take_change(table, 1, &change));
	assert_false(change.alive);
	assert_int_equal(change.key.start_boottime_ns, key_of(10, 10 * S).start_boottime_ns);
	assert_true(table_take_change(table, 1, &change));
	assert_true(change.alive);
	assert_int_equal(change.key.start_boottime_ns, key_of(10, 30 * S).start_boottime_ns);
	assert_string_equal(changes(table), "");
}

static void files_found_are_a_change(void **state)
{
	struct table *table = *state;
	struct files *files = files_create(4, 1 << 20, FILE_IDS);
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	assert_non_null(files);
	begin_sampled(table);
	tell_mmap(table, 13 * S, 10, 0x5000, 0x1000, 4711, "/nowhere/lib.so");
	assert_string_equal(changes(table), "+10/4");
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_string_equal(changes(table), "+10/4");
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_string_equal(changes(table), "");
	files_destroy(files);
}

/* The kernel side tells of an exec of @pid, which was forked at @forked_ns. */
static void announce(struct table *table, uint64_t time_ns, uint32_t pid, uint64_t forked_ns,
		     uint32_t exec_id)
{
	struct process_key key = key_of(pid, forked_ns);

	key.exec_id = exec_id;
	table_announce(table, &key, time_ns);
}

static void an_exec_that_is_announced_is_told_before_a_sample(void **state)
{
	struct table *table = *state;
	struct process_change change;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "prog");
	tell_mmap(table, 11 * S + 1, 10, 0x1000, 0x1000, 0, "//anon");
	announce(table, 11 * S + 2, 10, 10 * S, 4);
	assert_true(table_take_change(table, 1, &change));
	assert_true(change.alive);
	assert_int_equal(change.key.exec_id, 4);
	assert_int_equal(change.key.start_boottime_ns, key_of(10, 10 * S).start_boottime_ns);
	// Its libraries come after it.
	tell_mmap(table, 11 * S + 3, 10, 0x5000, 0x1000, 0, "//anon");
	assert_string_equal(changes(table), "+10/4");
	// The first sample is news once more, no other one.
	sample(table, 12 * S, 10, 10 * S, 4);
	assert_string_equal(changes(table), "+10/4");
	sample(table, 13 * S, 10, 10 * S, 4);
	assert_string_equal(changes(table), "");
	tell_exit(table, 14 * S, 10, 10);
	assert_string_equal(changes(table), "-10/4");
}

/* One that has a file that was never met. */
static void programs_nobody_has_sampled_take_no_ids(void **state)
{
	struct table *table = *state;
	struct files *files = files_create(4, 1 << 20, FILE_IDS);
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	assert_non_null(files);
	for (uint32_t pid = 10; pid < 500; pid++) {
		tell_fork(table, 10 * S, 1, pid);
		tell_name(table, RECORD_EXEC, 11 * S, pid, "prog");
		tell_mmap(table, 11 * S + 1, pid, 0x1000, 0x1000, pid, "/nowhere/prog");
		announce(table, 11 * S + 2, pid, 10 * S, 4);
	}
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_int_equal(files_state(files).files, 0);
	assert_string_equal(changes(table), "");
	// Its first sample makes it one like all.
	sample(table, 12 * S, 10, 10 * S, 4);
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_int_equal(files_state(files).files, 1);
	assert_string_equal(changes(table), "+10/4");
	files_destroy(files);
}

/* Better none than ranges without the library. */
static void a_library_never_met_ends_what_was_told(void **state)
{
	struct table *table = *state;
	struct files *files = files_create(4, 1 << 20, FILE_IDS);
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	assert_non_null(files);
	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "prog");
	tell_mmap(table, 11 * S + 1, 10, 0x1000, 0x1000, 0, "//anon");
	announce(table, 11 * S + 2, 10, 10 * S, 4);
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_string_equal(changes(table), "+10/4");
	tell_mmap(table, 11 * S + 3, 10, 0x5000, 0x1000, 4711, "/nowhere/lib.so");
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_string_equal(changes(table), "-10/4");
	tell_mmap(table, 11 * S + 4, 10, 0x8000, 0x1000, 0, "//anon");
	assert_string_equal(changes(table), "");
	sample(table, 12 * S, 10, 10 * S, 4);
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	assert_string_equal(changes(table), "+10/4");
	tell_exit(table, 14 * S, 10, 10);
	assert_string_equal(changes(table), "-10/4");
	files_destroy(files);
}

static void each_exec_of_a_chain_is_told(void **state)
{
	struct table *table = *state;
	char end[16];

	tell_fork(table, 10 * S, 1, 10);
	for (uint32_t i = 4; i < 8; i++) {
		tell_name(table, RECORD_EXEC, i * 10 * S, 10, "prog");
		// Not before its key is known.
		snprintf(end, sizeof(end), "-10/%u", i - 1);
		assert_string_equal(changes(table), i > 4 ? end : "");
		announce(table, i * 10 * S + 1, 10, 10 * S, i);
		assert_int_equal(table_newest(table, 10)->space->exec_id, i);
		assert_true(table_newest(table, 10)->space->complete);
		changes(table);
	}
	// Two between two passes.
	tell_name(table, RECORD_EXEC, 90 * S, 10, "next");
	tell_name(table, RECORD_EXEC, 91 * S, 10, "last");
	announce(table, 90 * S + 1, 10, 10 * S, 8);
	announce(table, 91 * S + 1, 10, 10 * S, 9);
	assert_string_equal(changes(table), "-10/7 +10/9");
}

/* A sample that was taken in the exec has the id of the program before. */
static void an_announcement_knows_better_than_a_sample(void **state)
{
	struct table *table = *state;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "prog");
	sample(table, 11 * S + 1000, 10, 10 * S, 4);
	announce(table, 11 * S + 2000, 10, 10 * S, 5);
	assert_string_equal(changes(table), "+10/5");
	assert_true(table_newest(table, 10)->space->complete);
}

/* What was lost is not taken for the program of before. */
static void an_exec_nobody_told_of_is_read_anew(void **state)
{
	struct table *table = *state;

	tell_fork(table, 10 * S, 1, 10);
	tell_mmap(table, 10 * S + 1, 10, 0x1000, 0x1000, 0, "//anon");
	announce(table, 11 * S, 10, 10 * S, 5);
	assert_int_equal(table_newest(table, 10)->space->mappings.now.count, 0);
	assert_false(table_newest(table, 10)->space->complete);
	assert_string_equal(changes(table), "");

	tell_fork(table, 20 * S, 1, 20);
	tell_name(table, RECORD_EXEC, 21 * S, 20, "prog");
	announce(table, 21 * S + 1, 20, 20 * S, 4);
	assert_string_equal(changes(table), "+20/4");
	announce(table, 22 * S, 20, 20 * S, 5);
	assert_false(table_newest(table, 20)->space->complete);
	assert_string_equal(changes(table), "-20/4");
	tell_mmap(table, 22 * S + 1, 20, 0x1000, 0x1000, 0, "//anon");
	assert_string_equal(changes(table), "");
	sample(table, 23 * S, 20, 20 * S, 5);
	assert_string_equal(changes(table), "+20/5");
}

static void another_user_of_the_number_is_not_announced(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	announce(table, 20 * S, 10, 19 * S, 5);
	assert_string_equal(changes(table), "");
	announce(table, 20 * S, 4711, 19 * S, 5);
	assert_string_equal(changes(table), "");
}

/* A runtime that makes code all the time, and one that made some just now. */
static void six_times_a_second_is_enough(void **state)
{
	enum { SECONDS = 5, STEPS = 500, STEP = 1000000000 / STEPS };
	struct table *table = *state;
	uint32_t times[SECONDS] = { 0 };
	uint64_t now = 0, at = 100 * S;

	begin_sampled(table);
	tell_fork(table, 20 * S, 10, 20);
	sample(table, 21 * S, 20, 20 * S, 4);
	assert_string_equal(changes_at(table, at - 1), "+20/4");
	for (uint64_t i = 0; i < SECONDS * STEPS; i++) {
		now = at + i * STEP;
		tell_mmap(table, now, 10, 0x100000 + 0x1000 * i, 0x1000, 0, "//anon");
		times[i / STEPS] += !strcmp(changes_at(table, now), "+10/4");
	}
	// Programs that start may do so more often.
	assert_in_range(times[0], 30, 40);
	for (size_t i = 1; i < SECONDS; i++)
		assert_in_range(times[i], 5, 7);
	// Others do not wait for it.
	tell_mmap(table, now, 20, 0x5000, 0x1000, 0, "//anon");
	tell_mmap(table, now, 10, 0x5000, 0x1000, 0, "//anon");
	assert_string_equal(changes_at(table, now), "+20/4");
	assert_string_equal(changes_at(table, now), "");
	// The last of them is told, and is the last.
	assert_string_equal(changes_at(table, now + S), "+10/4");
	assert_string_equal(changes_at(table, now + 2 * S), "");
}

/* An end does not wait, nor does the next program; and nothing that waits outlives its process. */
static void ends_and_beginnings_do_not_wait(void **state)
{
	struct table *table = *state;

	begin_sampled(table);
	for (uint64_t i = 0; i < 40; i++) {
		tell_mmap(table, 13 * S + i, 10, 0x100000 + 0x1000 * i, 0x1000, 0, "//anon");
		changes(table);
	}
	assert_string_equal(changes(table), "");
	tell_name(table, RECORD_EXEC, 20 * S, 10, "next");
	sample(table, 21 * S, 10, 10 * S, 5);
	assert_string_equal(changes(table), "-10/4 +10/5");
	for (uint64_t i = 0; i < 40; i++) {
		tell_mmap(table, 22 * S + i, 10, 0x100000 + 0x1000 * i, 0x1000, 0, "//anon");
		changes(table);
	}
	tell_exit(table, 23 * S, 10, 10);
	assert_string_equal(changes(table), "-10/5");
	assert_string_equal(changes_at(table, 10 * S), "");
}

/* However many come and go, as many ends are told as beginnings. */
static void ends_are_told_of_all(void **state)
{
	enum { ROUNDS = 50, AT_ONCE = 100 };
	struct table *table = *state;
	struct process_change change;
	uint32_t begun = 0, ended = 0, pid = 100;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		for (uint32_t i = 0; i < AT_ONCE; i++, pid++) {
			tell_fork(table, round * S, 1, pid);
			sample(table, round * S + 1, pid, round * S, 4);
		}
		while (table_take_change(table, 1, &change))
			begun += change.alive, ended += !change.alive;
		for (uint32_t i = 1; i <= AT_ONCE; i++)
			tell_exit(table, round * S + 2, pid - i, pid - i);
		if (round % 2)
			table_forget(table, round * S + 2);
	}
	while (table_take_change(table, 1, &change))
		begun += change.alive, ended += !change.alive;
	assert_int_equal(begun, ROUNDS * AT_ONCE);
	assert_int_equal(ended, ROUNDS * AT_ONCE);
	assert_int_equal(table->told, 0);
}

/* What @pid has mapped at @address. */
static uint32_t file_at(struct table *table, uint32_t pid, uint64_t address)
{
	const struct mapping *mapping =
		space_find(table_newest(table, pid)->space, PROCESS_ALIVE - 1, address);

	assert_non_null(mapping);
	return mapping->file;
}

static void files_make_room_unless_somebody_has_mapped_them(void **state)
{
	enum { LIBRARIES = 5, PROGRAMS = 500 };
	struct table *table = *state;
	struct files *files = files_create(4, 16 << 10, FILE_IDS);
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	uint32_t ids[LIBRARIES];

	begin_sampled(table);
	for (uint64_t i = 0; i < LIBRARIES; i++)
		tell_mmap(table, 13 * S, 10, 0x5000 + i * 0x1000, 0x1000, 1 + i, "/nowhere/lib.so");
	resolve_files(table, &lock, files, NULL, UINT64_MAX);
	for (uint64_t i = 0; i < LIBRARIES; i++)
		ids[i] = file_at(table, 10, 0x5000 + i * 0x1000);
	// A child sees them through its parent, and has covered one of them.
	tell_fork(table, 14 * S, 10, 11);
	tell_mmap(table, 15 * S, 11, 0x5000, 0x1000, 0, "//anon");
	tell_exit(table, 16 * S, 10, 10);
	table_forget(table, 17 * S);
	for (uint32_t i = 0; i < PROGRAMS; i++) {
		uint64_t time = (20 + i) * S;
		uint32_t pid = 100 + i;

		tell_fork(table, time, 1, pid);
		tell_name(table, RECORD_EXEC, time + 1, pid, "prog");
		tell_mmap(table, time + 2, pid, 0x1000, 0x1000, pid, "/nowhere/prog");
		sample(table, time + 3, pid, time, 4);
		resolve_files(table, &lock, files, NULL, UINT64_MAX);
		assert_true(files_has(files, file_at(table, pid, 0x1000), NULL));
		tell_exit(table, time + 4, pid, pid);
		table_forget(table, time + 5);
	}
	for (uint64_t i = 0; i < LIBRARIES; i++)
		assert_true(files_has(files, ids[i], NULL));
	assert_true(files_state(files).evicted >= PROGRAMS / 2);
	assert_int_equal(files_state(files).refused, 0);
	files_destroy(files);
}

int main(void)
{
#define CHANGES_TEST(test) cmocka_unit_test_setup_teardown(test, table_set_up, table_tear_down)
	const struct CMUnitTest tests[] = {
		CHANGES_TEST(a_program_is_told_of_once_it_is_sampled),
		CHANGES_TEST(many_mappings_are_one_change),
		CHANGES_TEST(those_never_sampled_are_not_told_of),
		CHANGES_TEST(a_child_is_told_of_by_itself),
		CHANGES_TEST(an_exec_ends_a_program_and_its_first_sample_begins_one),
		CHANGES_TEST(a_sample_right_after_an_exec_counts),
		CHANGES_TEST(an_end_is_told),
		CHANGES_TEST(an_end_that_was_mistaken_is_taken_back),
		CHANGES_TEST(what_is_dropped_is_told_too),
		CHANGES_TEST(the_next_user_of_a_number_is_another),
		CHANGES_TEST(files_found_are_a_change),
		CHANGES_TEST(files_make_room_unless_somebody_has_mapped_them),
		CHANGES_TEST(an_exec_that_is_announced_is_told_before_a_sample),
		CHANGES_TEST(programs_nobody_has_sampled_take_no_ids),
		CHANGES_TEST(a_library_never_met_ends_what_was_told),
		CHANGES_TEST(each_exec_of_a_chain_is_told),
		CHANGES_TEST(an_announcement_knows_better_than_a_sample),
		CHANGES_TEST(an_exec_nobody_told_of_is_read_anew),
		CHANGES_TEST(another_user_of_the_number_is_not_announced),
		CHANGES_TEST(six_times_a_second_is_enough),
		CHANGES_TEST(ends_and_beginnings_do_not_wait),
		CHANGES_TEST(ends_are_told_of_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
