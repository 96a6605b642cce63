// SPDX-License-Identifier: Apache-2.0
/* What the table of processes answers after records and readings of /proc, in any order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tell.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The path of what @pid (forked at @forked_ns) had at @address, or "-". */
static const char *path_at(const struct table *table, uint32_t pid, uint64_t forked_ns,
			   uint64_t time_ns, uint64_t address)
{
	struct process_key key = key_of(pid, forked_ns);
	const struct process *process = table_find(table, &key, time_ns);
	const struct mapping *found = NULL;

	if (process)
		found = space_find(table_space_at(process, time_ns), time_ns, address);
	return found ? found->path->bytes : "-";
}

static const char *executable_at(const struct table *table, uint32_t pid, uint64_t forked_ns,
				 uint64_t time_ns)
{
	struct process_key key = key_of(pid, forked_ns);
	const struct process *process = table_find(table, &key, time_ns);

	return process ? space_executable(table_space_at(process, time_ns)) : "-";
}

static void a_process_is_followed_from_fork_to_exit(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);
	struct process *process;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "prog");
	tell_mmap(table, 11 * S + 1, 10, 0x1000, 0x1000, 5, "/bin/prog");
	tell_mmap(table, 11 * S + 2, 10, 0x8000, 0x1000, 6, "/lib/ld.so");
	tell_mmap(table, 11 * S + 3, 10, 0xa000, 0x1000, 0, "[vdso]");
	tell_name(table, RECORD_COMM, 12 * S, 10, "renamed-by-itself-to-this");
	tell_exit(table, 13 * S, 10, 10);

	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x1000), "/bin/prog");
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x1fff), "/bin/prog");
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x2000), "-");
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0xa800), "[vdso]");
	assert_string_equal(path_at(table, 10, 10 * S, 11 * S, 0x1000), "-");
	assert_string_equal(executable_at(table, 10, 10 * S, 12 * S), "/bin/prog");
	process = table_find(table, &key, 12 * S);
	assert_string_equal(process->space->comm, "renamed-by-itse");
	assert_int_equal(process->end_ns, 13 * S);

	table_forget(table, 13 * S - 1);
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x1000), "/bin/prog");
	table_forget(table, 13 * S);
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x1000), "-");
}

static void an_exec_begins_an_empty_address_space(void **state)
{
	struct table *table = *state;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "one");
	tell_mmap(table, 11 * S + 1, 10, 0x1000, 0x1000, 5, "/bin/one");
	tell_name(table, RECORD_EXEC, 12 * S, 10, "two");
	tell_mmap(table, 12 * S + 1, 10, 0x3000, 0x1000, 6, "/bin/two");

	assert_string_equal(path_at(table, 10, 10 * S, 12 * S + 5, 0x1000), "-");
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S + 5, 0x3000), "/bin/two");
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S - 1, 0x1000), "/bin/one");
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S - 1, 0x3000), "-");
	assert_string_equal(executable_at(table, 10, 10 * S, 12 * S - 1), "/bin/one");
	assert_string_equal(executable_at(table, 10, 10 * S, 12 * S + 5), "/bin/two");
	table_forget(table, 12 * S);
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S + 5, 0x3000), "/bin/two");
}

static void a_child_has_what_its_parent_had_at_the_fork(void **state)
{
	struct table *table = *state;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "parent");
	tell_mmap(table, 11 * S + 1, 10, 0x1000, 0x1000, 5, "/bin/parent");
	tell_mmap(table, 12 * S, 10, 0x5000, 0x1000, 6, "/lib/early");
	tell_fork(table, 13 * S, 10, 20);
	tell_mmap(table, 14 * S, 10, 0x7000, 0x1000, 7, "/lib/late");
	tell_mmap(table, 15 * S, 10, 0x5000, 0x1000, 8, "/lib/other");
	tell_mmap(table, 16 * S, 20, 0x1800, 0x1000, 9, "/lib/child");

	assert_string_equal(path_at(table, 20, 13 * S, 17 * S, 0x1000), "/bin/parent");
	assert_string_equal(path_at(table, 20, 13 * S, 17 * S, 0x1800), "/lib/child");
	assert_string_equal(path_at(table, 20, 13 * S, 15 * S, 0x1800), "/bin/parent");
	assert_string_equal(path_at(table, 20, 13 * S, 17 * S, 0x5000), "/lib/early");
	assert_string_equal(path_at(table, 20, 13 * S, 17 * S, 0x7000), "-");
	assert_string_equal(path_at(table, 10, 10 * S, 17 * S, 0x1800), "/bin/parent");
	assert_string_equal(path_at(table, 10, 10 * S, 17 * S, 0x5000), "/lib/other");
	assert_string_equal(executable_at(table, 20, 13 * S, 17 * S), "/bin/parent");

	// The child outlives its parent, and what it inherited outlives the reports.
	tell_exit(table, 18 * S, 10, 10);
	table_forget(table, 19 * S);
	assert_string_equal(path_at(table, 10, 10 * S, 17 * S, 0x1000), "-");
	assert_string_equal(path_at(table, 20, 13 * S, 20 * S, 0x5000), "/lib/early");
	tell_exit(table, 20 * S, 20, 20);
	table_forget(table, 20 * S);
}

static void long_lines_of_forks_are_followed(void **state)
{
	struct table *table = *state;

	tell_fork(table, 10 * S, 1, 100);
	tell_name(table, RECORD_EXEC, 11 * S, 100, "first");
	tell_mmap(table, 11 * S + 1, 100, 0x100000, 0x1000, 5, "/bin/first");
	for (uint32_t i = 1; i < 40; i++) {
		tell_fork(table, (11 + i) * S, 99 + i, 100 + i);
		// Half of them map something of their own, so that nothing can be left out.
		if (i % 2)
			tell_mmap(table, (11 + i) * S + 1, 100 + i, 0x1000 * i, 0x1000, 10 + i,
				  "/lib/own");
		tell_exit(table, (11 + i) * S + 2, 99 + i, 99 + i);
		table_forget(table, (11 + i) * S + 2);
	}
	assert_string_equal(path_at(table, 139, 50 * S, 51 * S, 0x100000), "/bin/first");
	for (uint32_t i = 1; i < 40; i++)
		assert_string_equal(path_at(table, 139, 50 * S, 51 * S, 0x1000 * i),
				    i % 2 ? "/lib/own" : "-");
	assert_true(table->count == 1 && table->pool.memory < 64 << 10);
}

static void threads_are_no_processes(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);

	tell_fork(table, 10 * S, 1, 10);
	tell_thread(table, 11 * S, 10, 11);
	tell_thread(table, 11 * S, 10, 12);
	assert_null(table_newest(table, 11));
	tell_exit(table, 12 * S, 10, 11);
	tell_exit(table, 13 * S, 10, 10);
	// The leader has ended, one thread goes on.
	assert_int_equal(table_find(table, &key, 14 * S)->end_ns, PROCESS_ALIVE);
	tell_exit(table, 15 * S, 10, 12);
	assert_int_equal(table_find(table, &key, 14 * S)->end_ns, 15 * S);
}

static void users_of_one_number_are_told_apart(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S), unknown = key_of(10, 40 * S);

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 10 * S + 1, 10, "one");
	tell_mmap(table, 10 * S + 2, 10, 0x1000, 0x1000, 5, "/bin/one");
	tell_exit(table, 20 * S, 10, 10);
	tell_fork(table, 30 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 30 * S + 1, 10, "two");
	tell_mmap(table, 30 * S + 2, 10, 0x1000, 0x1000, 6, "/bin/two");

	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x1000), "/bin/one");
	assert_string_equal(path_at(table, 10, 30 * S, 35 * S, 0x1000), "/bin/two");
	// On its way out a process is sampled after its end was told.
	assert_string_equal(path_at(table, 10, 10 * S, 20 * S + 100, 0x1000), "/bin/one");
	// A third user nobody told of.
	assert_null(table_note(table, &unknown, 41 * S));
	// The first sample fixes the start: from then on it must fit exactly.
	assert_non_null(table_note(table, &key, 15 * S));
	key.start_boottime_ns++;
	assert_null(table_find(table, &key, 15 * S));
}

static void records_may_come_late(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);

	// The fork is told after what the child did.
	tell_name(table, RECORD_EXEC, 11 * S, 10, "prog");
	tell_mmap(table, 11 * S + 1, 10, 0x1000, 0x1000, 5, "/bin/prog");
	tell_fork(table, 10 * S, 7, 10);
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x1000), "/bin/prog");
	assert_int_equal(table_find(table, &key, 10 * S)->parent, 7);
	// A mapping told after the one that covers it, and after an exec.
	tell_mmap(table, 14 * S, 10, 0x5000, 0x1000, 6, "/lib/new");
	tell_mmap(table, 13 * S, 10, 0x4000, 0x3000, 7, "/lib/old");
	assert_string_equal(path_at(table, 10, 10 * S, 13 * S + 5, 0x5000), "/lib/old");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x5000), "/lib/new");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x4000), "/lib/old");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x6fff), "/lib/old");
	tell_name(table, RECORD_EXEC, 16 * S, 10, "next");
	tell_mmap(table, 15 * S, 10, 0x9000, 0x1000, 8, "/lib/before-exec");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S + 5, 0x9000), "/lib/before-exec");
	assert_string_equal(path_at(table, 10, 10 * S, 17 * S, 0x9000), "-");
}

/* A library is unloaded and loaded again; what was there between is told last. */
static void what_came_back_is_not_hidden_by_what_is_told_late(void **state)
{
	struct table *table = *state;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 11 * S, 10, "prog");
	tell_mmap(table, 12 * S, 10, 0x4000, 0x4000, 7, "/lib/back");
	tell_mmap(table, 16 * S, 10, 0x4000, 0x4000, 7, "/lib/back");
	tell_mmap(table, 14 * S, 10, 0x3000, 0x2000, 8, "/lib/between");
	for (uint64_t time = 13; time < 20; time += 2)
		assert_string_equal(path_at(table, 10, 10 * S, time * S, 0x4000),
				    time == 15 ? "/lib/between" : "/lib/back");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x5000), "/lib/back");
	assert_string_equal(path_at(table, 10, 10 * S, 17 * S, 0x5000), "/lib/back");
	assert_string_equal(path_at(table, 10, 10 * S, 17 * S, 0x3000), "/lib/between");
	tell_mmap(table, 18 * S, 10, 0x4000, 0x4000, 9, "/lib/next");
	assert_string_equal(path_at(table, 10, 10 * S, 19 * S, 0x4000), "/lib/next");
	assert_string_equal(path_at(table, 10, 10 * S, 17 * S, 0x4000), "/lib/back");
}

enum { MODEL_MAPPINGS = 24, MODEL_PAGES = 32 };

/* Whatever the order they are told in, the newest mapping at or before a time is found. */
static void overlaps_resolve_as_if_told_in_order(void **state)
{
	unsigned int random = 12345;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct mapping model[MODEL_MAPPINGS];
		struct mappings mappings = { 0 };
		struct texts texts;

		texts_init(&texts, TEXT_BYTES);
		for (size_t i = 0; i < MODEL_MAPPINGS; i++) {
			uint64_t start = (uint64_t)rand_r(&random) % MODEL_PAGES;
			uint64_t pages = 1 + (uint64_t)rand_r(&random) % 8;

			model[i] = (struct mapping){
				.start = start,
				.limit = start + pages,
				.file_offset = 1000 * (i + 1) + start,
				.inode = i + 1,
				// Every time once, in an order of its own each round.
				.begin_ns = 1 + (i * 7 + (size_t)round) % MODEL_MAPPINGS,
				.path = texts_take(&texts, "x", 1),
			};
			assert_int_equal(
				mappings_add(&mappings, &texts, &model[i], MODEL_MAPPINGS * 2), 0);
		}
		for (uint64_t time = 0; time <= MODEL_MAPPINGS + 1; time++) {
			for (uint64_t page = 0; page < MODEL_PAGES + 8; page++) {
				const struct mapping *found = mappings_find(&mappings, time, page);
				const struct mapping *right = NULL;

				for (size_t i = 0; i < MODEL_MAPPINGS; i++)
					if (model[i].start <= page && page < model[i].limit &&
					    model[i].begin_ns <= time &&
					    (!right || model[i].begin_ns > right->begin_ns))
						right = &model[i];
				assert_int_equal(found ? found->inode : 0,
						 right ? right->inode : 0);
				if (!found)
					continue;
				// A piece of a mapping shows the right part of the file.
				assert_int_equal(found->file_offset + page - found->start,
						 right->file_offset + page - right->start);
			}
		}
		mappings_forget(&mappings, &texts, MODEL_MAPPINGS + 1);
		assert_int_equal(mappings.past.count, 0);
		mappings_deinit(&mappings, &texts);
		for (size_t i = 0; i < MODEL_MAPPINGS; i++)
			texts_release(&texts, model[i].path);
		texts_sweep(&texts);
		assert_int_equal(texts.count, 0);
		texts_deinit(&texts);
	}
}

static void what_is_mapped_over_and_over_stays_bounded(void **state)
{
	struct table *table = *state;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 10 * S, 10, "jit");
	for (uint64_t i = 0; i < 20000; i++)
		tell_mmap(table, 10 * S + i, 10, 0x1000, 0x1000 + (i % 2) * 0x1000, 0,
			  i % 2 ? "//anon" : "[anon:JIT]");
	assert_true(table_newest(table, 10)->space->mappings.past.count <= MAPPINGS_PAST_MAX);
	assert_string_equal(path_at(table, 10, 10 * S, 11 * S, 0x1000), "//anon");
	// One that says nothing new costs nothing: mprotect() tells of all it touches.
	for (uint64_t i = 0; i < 100; i++)
		tell_mmap(table, 11 * S + i, 10, 0x9000, 0x1000, 5, "/lib/x");
	assert_int_equal(table_newest(table, 10)->space->mappings.now.count, 2);
	table_forget(table, 12 * S);
	assert_int_equal(table_newest(table, 10)->space->mappings.past.capacity, 0);
}

static struct proc_facts facts_of(uint32_t pid, uint64_t forked_ns, uint64_t begin_ns,
				  const char *maps)
{
	struct proc_facts facts = {
		.pid = pid,
		.begin_ns = begin_ns,
		.stat = { .comm = "comm",
			  .state = 'S',
			  .threads = 1,
			  .parent = 1,
			  .start_ticks = (forked_ns + BOOT_OFFSET) / 10000000 },
		.executable_read = true,
		.executable = "/bin/read",
		.container_read = true,
		.maps = strdup(maps),
		.maps_length = strlen(maps),
	};

	assert_non_null(facts.maps);
	return facts;
}

static void what_nobody_told_is_read(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);
	struct proc_facts facts = facts_of(10, 10 * S, 20 * S,
					   "1000-2000 r-xp 0 08:01 5 /bin/read\n"
					   "3000-4000 rw-p 0 08:01 6 /data\n"
					   "5000-6000 r-xp 0 00:00 0 \n");

	assert_null(table_note(table, &key, 15 * S));
	assert_int_equal(learn_facts(table, &facts), 0);
	proc_facts_deinit(&facts);
	assert_non_null(table_note(table, &key, 15 * S));
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x1000), "/bin/read");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x3000), "-");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x5000), "//anon");
	assert_string_equal(executable_at(table, 10, 10 * S, 15 * S), "/bin/read");
	assert_true(table_newest(table, 10)->space->complete);
	// What was told before the reading was taken in stays the newer one.
	tell_mmap(table, 14 * S, 10, 0x1000, 0x1000, 9, "/lib/over");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x1000), "/lib/over");
	assert_string_equal(path_at(table, 10, 10 * S, 13 * S, 0x1000), "/bin/read");
}

static void a_list_of_mappings_that_is_too_long_is_not_read_with_each_sample(void **state)
{
	struct table *table = *state;
	struct proc_facts facts = facts_of(10, 10 * S, 20 * S, "");
	const struct space *space;

	free(TAKE(facts.maps));
	facts.maps_too_long = true;
	assert_int_equal(learn_facts(table, &facts), 0);
	proc_facts_deinit(&facts);
	space = table_newest(table, 10)->space;
	assert_false(space->complete);
	assert_true(space->reread_ns >= 50 * S);
	assert_int_equal(table->refused, 1);
}

/* Such a list as a program with 10,000 mappings has. */
static void read_long_list(struct table *table, uint64_t begin_ns)
{
	static const char line[] = "1000-2000 r-xp 0 08:01 5 /bin/read\n";
	enum { BYTES = 2000000 };
	struct proc_facts facts = facts_of(10, 10 * S, begin_ns, line);
	char *longer = malloc(BYTES);

	assert_non_null(longer);
	memset(longer, ' ', BYTES);
	memcpy(longer, line, sizeof(line) - 1);
	free(facts.maps);
	facts.maps = longer;
	facts.maps_length = BYTES;
	assert_int_equal(learn_facts(table, &facts), 0);
	proc_facts_deinit(&facts);
}

static void a_long_list_of_mappings_is_read_seldom_but_at_once_after_a_loss(void **state)
{
	struct table *table = *state;
	const struct space *space;
	uint64_t now = 20 * S;
	unsigned int readings = 0;

	// What has just been read does not keep what was lost after it from being known.
	read_long_list(table, now);
	space = table_newest(table, 10)->space;
	assert_true(space->reread_ns <= now);
	read_long_list(table, now + S);
	assert_true(space->reread_ns <= now + S);
	// Whoever is read whenever that may be is read once in 8 s in the end.
	while (now < 1020 * S) {
		now = space->reread_ns > now ? space->reread_ns : now;
		read_long_list(table, now);
		readings++;
	}
	assert_in_range(readings, 120, 130);
}

static void a_reading_from_before_an_exec_is_refused(void **state)
{
	struct table *table = *state;
	struct proc_facts facts =
		facts_of(10, 10 * S, 20 * S, "1000-2000 r-xp 0 08:01 5 /bin/read\n");

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 21 * S, 10, "new");
	assert_int_equal(learn_facts(table, &facts), -EAGAIN);
	assert_string_equal(path_at(table, 10, 10 * S, 22 * S, 0x1000), "-");
	proc_facts_deinit(&facts);
}

static void a_reading_of_the_next_user_ends_the_last(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);
	struct proc_facts facts =
		facts_of(10, 30 * S, 40 * S, "1000-2000 r-xp 0 08:01 5 /bin/two\n");

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 10 * S, 10, "one");
	tell_mmap(table, 11 * S, 10, 0x1000, 0x1000, 4, "/bin/one");
	assert_int_equal(learn_facts(table, &facts), 0);
	proc_facts_deinit(&facts);
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x1000), "/bin/one");
	assert_string_equal(path_at(table, 10, 30 * S, 35 * S, 0x1000), "/bin/two");
	assert_true(table_find(table, &key, 15 * S)->end_ns <= 40 * S);
}

static void lost_records_are_made_up_for(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);
	struct proc_facts facts = facts_of(10, 10 * S, 20 * S,
					   "1000-2000 r-xp 0 08:01 5 /bin/prog\n"
					   "7000-8000 r-xp 0 08:01 6 /lib/missed\n");

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 10 * S, 10, "prog");
	tell_mmap(table, 11 * S, 10, 0x1000, 0x1000, 5, "/bin/prog");
	learn_record(table, &(struct record){ .kind = RECORD_LOST, .time_ns = 18 * S, .lost = 3 });
	assert_true(table->has_lost);
	assert_int_equal(table->lost, 3);
	table_suspect(table, 16 * S);
	assert_false(table_note(table, &key, 19 * S)->space->complete);
	assert_int_equal(learn_facts(table, &facts), 0);
	proc_facts_deinit(&facts);
	assert_true(table_newest(table, 10)->space->complete);
	assert_string_equal(path_at(table, 10, 10 * S, 17 * S, 0x7000), "/lib/missed");
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x7000), "-");
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x1000), "/bin/prog");
}

static void an_exec_nobody_told_of_is_noticed(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 10 * S, 10, "prog");
	tell_mmap(table, 10 * S + 1, 10, 0x1000, 0x1000, 5, "/bin/prog");
	key.exec_id = 4;
	assert_true(table_note(table, &key, 12 * S)->space->complete);
	key.exec_id = 5;
	assert_false(table_note(table, &key, 13 * S)->space->complete);
	assert_string_equal(path_at(table, 10, 10 * S, 14 * S, 0x1000), "-");
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x1000), "/bin/prog");
	// One that was told of is not taken for another.
	tell_name(table, RECORD_EXEC, 14 * S, 10, "next");
	key.exec_id = 6;
	assert_true(table_note(table, &key, 15 * S)->space->complete);
}

static void a_sample_of_the_program_before_is_no_other_exec(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 12 * S, 10, "next");
	key.exec_id = 5;
	assert_non_null(table_note(table, &key, 12 * S + 1000));
	table_announce(table, &key, 12 * S + 1000);
	// It was stopped for long before the kernel counted the exec.
	key.exec_id = 4;
	assert_true(table_note(table, &key, 13 * S)->space->complete);
	assert_int_equal(table_newest(table, 10)->space->exec_id, 5);
}

static void a_sample_after_the_end_revives_only_the_same_process(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(10, 10 * S);

	tell_fork(table, 10 * S, 1, 10);
	tell_exit(table, 20 * S, 10, 10); // mistaken: a thread was missed
	assert_int_equal(table_note(table, &key, 20 * S + 1000)->end_ns, 20 * S);
	assert_int_equal(table_note(table, &key, 25 * S)->end_ns, PROCESS_ALIVE);
}

static void the_least_needed_goes_when_memory_ends(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(1, 1 * S);

	tell_fork(table, 1 * S, 0, 1);
	assert_non_null(table_note(table, &key, 4 * S));
	tell_fork(table, 2 * S, 0, 2); // lives, never sampled
	for (uint32_t pid = 3; pid < 20000; pid++) {
		uint64_t time_ns = 2 * S + pid;

		tell_fork(table, time_ns, 0, pid);
		tell_name(table, RECORD_EXEC, time_ns, pid, "short");
		tell_mmap(table, time_ns, pid, 0x1000, 0x1000, 5, "/bin/short");
		tell_exit(table, time_ns, pid, pid);
		table_evict(table);
		assert_true(table_memory(table) <= TABLE_BYTES);
	}
	assert_true(table->evicted > 1000);
	assert_non_null(table_newest(table, 1));
	assert_non_null(table_newest(table, 2));
	assert_non_null(table_newest(table, 19999));
	assert_null(table_newest(table, 3));
	// When nothing has ended, what was never sampled goes first.
	table_forget(table, 3 * S);
	for (uint32_t pid = 20000; pid < 40000; pid++) {
		tell_fork(table, 3 * S + pid, 0, pid);
		tell_mmap(table, 3 * S + pid, pid, 0x1000, 0x1000, 5, "/bin/lives");
		table_evict(table);
	}
	assert_non_null(table_newest(table, 1));
	assert_null(table_newest(table, 2));
	assert_true(table_memory(table) <= TABLE_BYTES);
}

/* A process of @uid that runs, as read from /proc. */
static void tell_owned(struct table *table, uint64_t time_ns, uint32_t pid, uint32_t uid)
{
	tell_fork(table, time_ns, 0, pid);
	table_newest(table, pid)->owner = (struct owner){ uid, 0 };
	table_newest(table, pid)->owner_read = true;
}

static void who_has_most_processes_makes_room_for_others(void **state)
{
	struct table *table = *state;

	// Two users have few that are never sampled, or have ended; another has many that run.
	for (uint32_t pid = 1; pid <= 100; pid++)
		tell_owned(table, 1 * S, pid, 1000 + pid % 2);
	for (uint32_t pid = 1; pid <= 50; pid++)
		tell_exit(table, 2 * S, pid, pid);
	for (uint32_t pid = 1000; pid < 21000; pid++) {
		uint64_t time_ns = 3 * S + pid;
		struct process_key key = key_of(pid, time_ns);

		tell_owned(table, time_ns, pid, 1002);
		tell_mmap(table, time_ns, pid, 0x1000, 0x1000, 5, "/bin/runs");
		assert_non_null(table_note(table, &key, time_ns + 1));
		table_evict(table);
		assert_true(table_memory(table) <= TABLE_BYTES);
	}
	assert_true(table->evicted > 1000);
	for (uint32_t pid = 1; pid <= 100; pid++)
		assert_non_null(table_newest(table, pid));
	assert_non_null(table_newest(table, 20999));
	assert_null(table_newest(table, 1000));
}

static void forks_are_whose_their_parent_was_found_to_be(void **state)
{
	struct table *table = *state;
	struct process *parent;

	tell_owned(table, 1 * S, 1, 0);
	tell_fork(table, 2 * S, 1, 2);
	assert_true(table_newest(table, 2)->owner_read);
	assert_null(table_take_unowned(table));
	// It executes another program after it has become another user.
	tell_name(table, RECORD_EXEC, 3 * S, 2, "shell");
	assert_false(table_newest(table, 2)->owner_read);
	assert_null(table_take_unowned(table));
	tell_fork(table, 4 * S, 2, 3);
	tell_fork(table, 4 * S, 2, 4);
	parent = table_take_unowned(table);
	assert_ptr_equal(parent, table_newest(table, 2));
	assert_null(table_take_unowned(table));
	parent->owner = (struct owner){ 1000, 0 };
	parent->owner_read = true;
	tell_fork(table, 5 * S, 2, 5);
	assert_int_equal(table_newest(table, 5)->owner.uid, 1000);
	assert_null(table_take_unowned(table));
}

/* As mapping number @number of a process that maps a file with a long path each time. */
static void tell_long_path(struct table *table, uint64_t time_ns, uint32_t pid, uint64_t start,
			   unsigned int number)
{
	char path[4000];

	memset(path, 'x', sizeof(path));
	snprintf(path, 10, "/%08x", number);
	path[9] = 'x';
	path[sizeof(path) - 1] = '\0';
	tell_mmap(table, time_ns, pid, start, 0x1000, number + 1, path);
}

static void long_paths_of_one_process_do_not_take_those_of_others(void **state)
{
	struct table *table = *state;

	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 10 * S, 10, "prog");
	for (unsigned int i = 0; i < 1000; i++)
		tell_long_path(table, 11 * S + i, 10, 0x1000 * (i + 1), i);
	assert_true(table->pool.texts.memory <= TEXT_BYTES);
	assert_true(table->paths_refused > 0);
	// Code without a path is better than none, and nothing has to be read again.
	assert_string_equal(path_at(table, 10, 10 * S, 12 * S, 0x1000 * 1000), "");
	assert_int_equal(table->refused, 0);
	assert_true(table_newest(table, 10)->space->complete);
	tell_fork(table, 12 * S, 1, 11);
	tell_name(table, RECORD_EXEC, 12 * S, 11, "other");
	tell_mmap(table, 12 * S, 11, 0x1000, 0x1000, 5, "/lib/other");
	assert_string_equal(path_at(table, 11, 12 * S, 13 * S, 0x1000), "/lib/other");
	// When those paths have gone there is room for others.
	for (unsigned int i = 0; i < 1000; i++)
		tell_mmap(table, 13 * S, 10, 0x1000 * (i + 1), 0x1000, 0, "//anon");
	table_forget(table, 14 * S);
	tell_mmap(table, 15 * S, 10, 0x1000, 0x1000, 5, "/lib/after");
	assert_string_equal(path_at(table, 10, 10 * S, 16 * S, 0x1000), "/lib/after");
}

static void who_is_least_needed_makes_room_for_paths(void **state)
{
	struct table *table = *state;
	struct process_key key = key_of(1, 1 * S);

	tell_fork(table, 1 * S, 0, 1);
	tell_name(table, RECORD_EXEC, 1 * S, 1, "sampled");
	tell_mmap(table, 1 * S, 1, 0x1000, 0x1000, 5, "/lib/sampled");
	assert_non_null(table_note(table, &key, 2 * S));
	for (uint32_t pid = 10; pid < 110; pid++) {
		tell_fork(table, 3 * S + pid, 1, pid);
		tell_name(table, RECORD_EXEC, 3 * S + pid, pid, "long");
		for (unsigned int i = 0; i < 20; i++)
			tell_long_path(table, 3 * S + pid, pid, 0x1000 * (i + 1), pid * 20 + i);
		table_evict(table);
		assert_true(table->pool.texts.memory <= TEXT_BYTES);
	}
	assert_true(table->evicted > 0);
	assert_int_equal(table->paths_refused, 0);
	assert_non_null(table_newest(table, 109));
	assert_string_equal(path_at(table, 1, 1 * S, 4 * S, 0x1000), "/lib/sampled");
}

static void what_was_lent_out_stays_readable(void **state)
{
	struct texts texts;
	struct text *lent, *other;
	const char *bytes;

	(void)state;
	texts_init(&texts, 1 << 20);
	lent = texts_take(&texts, "lent", 4);
	other = texts_take(&texts, "other", 5);
	bytes = text_lend(lent);
	texts_release(&texts, lent);
	texts_release(&texts, other);
	texts_reclaim(&texts);
	assert_int_equal(texts.count, 1);
	assert_string_equal(bytes, "lent");
	texts_sweep(&texts);
	assert_int_equal(texts.count, 0);
	assert_int_equal(texts.unused_bytes, 0);
	texts_deinit(&texts);
}

static void many_mappings_that_go_leave_no_memory_behind(void **state)
{
	enum { MANY = 60000 };
	struct mappings mappings = { 0 };
	struct texts texts;
	struct text *path;
	size_t most;

	(void)state;
	texts_init(&texts, 1 << 20);
	path = texts_take(&texts, "/lib/x", 6);
	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(mappings_add(&mappings, &texts,
					      &(struct mapping){ .start = 0x2000 * i,
								 .limit = 0x2000 * i + 0x1000,
								 .begin_ns = S,
								 .inode = 5,
								 .path = path },
					      MANY),
				 0);
	most = mappings_memory(&mappings);
	assert_int_equal(mappings_end(&mappings, &texts, 0, UINT64_MAX, 2 * S), 0);
	assert_int_equal(mappings.now.count, 0);
	assert_true(mappings_memory(&mappings) < most / 4);
	assert_true(mappings.past.count <= MAPPINGS_PAST_MAX);
	texts_release(&texts, path);
	mappings_deinit(&mappings, &texts);
	assert_int_equal(texts.unused, texts.count);
	texts_deinit(&texts);
}

static void at_the_limit_new_code_still_ends_the_old(void **state)
{
	enum { MOST = 100 };
	struct table *table = *state;

	table->pool.most_mappings = MOST;
	tell_fork(table, 10 * S, 1, 10);
	tell_name(table, RECORD_EXEC, 10 * S, 10, "prog");
	for (uint64_t i = 0; i < MOST; i++)
		tell_mmap(table, 11 * S, 10, 0x10000 * (i + 1), 0x3000, 5, "/lib/old");
	assert_int_equal(table->refused, 0);
	// One that would cut another in two is one too many.
	tell_mmap(table, 12 * S, 10, 0x11000, 0x1000, 6, "/lib/new");
	assert_int_equal(table->refused, 1);
	assert_string_equal(path_at(table, 10, 10 * S, 13 * S, 0x10000), "/lib/old");
	assert_string_equal(path_at(table, 10, 10 * S, 13 * S, 0x11000), "-");
	assert_string_equal(path_at(table, 10, 10 * S, 11 * S, 0x11000), "/lib/old");
	assert_true(table_newest(table, 10)->space->mappings.now.count <= MOST);
	// One in the place of another is not.
	tell_mmap(table, 14 * S, 10, 0x20000, 0x3000, 6, "/lib/new");
	assert_int_equal(table->refused, 1);
	assert_string_equal(path_at(table, 10, 10 * S, 15 * S, 0x20000), "/lib/new");
}

static struct mapping *only_mapping(struct table *table, uint32_t pid)
{
	struct space *space = table_newest(table, pid)->space;

	assert_int_equal(space->mappings.now.count, 1);
	return space->mappings.now.items;
}

static void a_file_written_to_is_another_since_it_was_mapped_again(void **state)
{
	enum { FILE_ID = 7 };
	const uint64_t soon = 10000000;
	struct table *table = *state;
	struct space *space;

	tell_fork(table, 10 * S, 1, 10);
	tell_mmap(table, 11 * S, 10, 0x1000, 0x1000, 5, "/lib/plugin");
	space = table_newest(table, 10)->space;
	only_mapping(table, 10)->file = FILE_ID;
	assert_int_equal(table->repeated.count, 0);
	tell_mmap(table, 12 * S, 10, 0x1000, 0x1000, 5, "/lib/plugin");
	tell_mmap(table, 13 * S, 10, 0x1000, 0x1000, 5, "/lib/plugin");
	// It is to be looked at once.
	assert_int_equal(table->repeated.count, 1);
	assert_int_equal(table->repeated.items[0], FILE_ID);

	assert_true(space_renew(&table->pool, space, FILE_ID, 13 * S + soon));
	assert_int_equal(only_mapping(table, 10)->begin_ns, 13 * S);
	assert_int_equal(only_mapping(table, 10)->file, MAPPING_FILE_UNRESOLVED);
	assert_int_equal(space_find(space, 13 * S - 1, 0x1000)->file, FILE_ID);
	assert_int_equal(space_find(space, 13 * S, 0x1000)->file, MAPPING_FILE_UNRESOLVED);

	// Where it was not, or long ago, nothing tells since when.
	only_mapping(table, 10)->file = FILE_ID;
	tell_mmap(table, 14 * S, 10, 0x1000, 0x1000, 5, "/lib/plugin");
	assert_true(space_renew(&table->pool, space, FILE_ID, 20 * S));
	assert_int_equal(only_mapping(table, 10)->begin_ns, 20 * S);
}

/* @pid is sampled, and maps the @count places from @first on that it has told of before. */
static void sample_large(struct table *table, uint32_t pid, uint64_t time_ns, uint32_t count)
{
	struct process_key key = key_of(pid, 1 * S);

	assert_non_null(table_note(table, &key, time_ns));
	for (uint32_t i = 0; i < count; i++)
		tell_mmap(table, time_ns, pid, 0x10000ull * (i + 1), 0x1000, 5, "/lib/large");
	table_evict(table);
}

static void large_processes_leave_room_for_others(void **state)
{
	enum { LARGE = 4, SMALL = 40, ROUNDS = 5, MAPPINGS = 20000 };
	struct table *table = *state;
	size_t least = SIZE_MAX;

	for (uint32_t pid = 1; pid <= LARGE + SMALL; pid++)
		tell_fork(table, 1 * S, 0, pid);
	for (uint64_t round = 0; round < ROUNDS; round++) {
		uint64_t time_ns = (round + 2) * 10 * S;

		for (uint32_t pid = LARGE + 1; pid <= LARGE + SMALL; pid++) {
			struct process_key key = key_of(pid, 1 * S);

			assert_non_null(table_note(table, &key, time_ns));
			tell_mmap(table, time_ns, pid, 0x1000, 0x1000, 6, "/lib/small");
		}
		for (uint32_t pid = 1; pid <= LARGE; pid++)
			sample_large(table, pid, time_ns + pid, MAPPINGS);
	}
	for (uint32_t pid = 1; pid <= LARGE; pid++) {
		size_t count = table_newest(table, pid)->space->mappings.now.count;

		least = count < least ? count : least;
	}
	assert_true(least >= TABLE_BYTES / 16 / sizeof(struct mapping));
	assert_true(table->refused > 0);
	assert_int_equal(table->evicted, 0);
	assert_true(table_memory(table) <= TABLE_BYTES);
}

int main(void)
{
#define TABLE_TEST(test) cmocka_unit_test_setup_teardown(test, table_set_up, table_tear_down)
	const struct CMUnitTest tests[] = {
		TABLE_TEST(a_process_is_followed_from_fork_to_exit),
		TABLE_TEST(an_exec_begins_an_empty_address_space),
		TABLE_TEST(a_child_has_what_its_parent_had_at_the_fork),
		TABLE_TEST(long_lines_of_forks_are_followed),
		TABLE_TEST(threads_are_no_processes),
		TABLE_TEST(users_of_one_number_are_told_apart),
		TABLE_TEST(records_may_come_late),
		TABLE_TEST(what_came_back_is_not_hidden_by_what_is_told_late),
		TABLE_TEST(overlaps_resolve_as_if_told_in_order),
		TABLE_TEST(what_is_mapped_over_and_over_stays_bounded),
		TABLE_TEST(what_nobody_told_is_read),
		TABLE_TEST(a_list_of_mappings_that_is_too_long_is_not_read_with_each_sample),
		TABLE_TEST(a_long_list_of_mappings_is_read_seldom_but_at_once_after_a_loss),
		TABLE_TEST(a_reading_from_before_an_exec_is_refused),
		TABLE_TEST(a_reading_of_the_next_user_ends_the_last),
		TABLE_TEST(lost_records_are_made_up_for),
		TABLE_TEST(an_exec_nobody_told_of_is_noticed),
		TABLE_TEST(a_sample_of_the_program_before_is_no_other_exec),
		TABLE_TEST(a_sample_after_the_end_revives_only_the_same_process),
		TABLE_TEST(the_least_needed_goes_when_memory_ends),
		TABLE_TEST(who_has_most_processes_makes_room_for_others),
		TABLE_TEST(forks_are_whose_their_parent_was_found_to_be),
		TABLE_TEST(long_paths_of_one_process_do_not_take_those_of_others),
		TABLE_TEST(who_is_least_needed_makes_room_for_paths),
		TABLE_TEST(what_was_lent_out_stays_readable),
		TABLE_TEST(many_mappings_that_go_leave_no_memory_behind),
		TABLE_TEST(at_the_limit_new_code_still_ends_the_old),
		TABLE_TEST(large_processes_leave_room_for_others),
		TABLE_TEST(a_file_written_to_is_another_since_it_was_mapped_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
