// SPDX-License-Identifier: Apache-2.0
/* What code a process has at present, after forks, execs and mappings over one another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tell.h"

#include "processes/code.h"

#include <stdio.h>

enum { CODES_MAX = 64, UNRESOLVED_INODE = 13, MOST = 65536 };

/* A mapping appears: of file @inode, or of none with 0. */
static void tell_map(struct table *table, uint64_t time_ns, uint32_t pid, uint64_t start,
		     uint64_t limit, uint64_t inode, uint64_t file_offset)
{
	learn_record(table, &(struct record){ .kind = RECORD_MMAP,
					      .time_ns = time_ns,
					      .pid = pid,
					      .tid = pid,
					      .start = start,
					      .length = limit - start,
					      .file_offset = file_offset,
					      .device = makedev(8, 1),
					      .inode = inode,
					      .text = inode ? "/lib/x" : "//anon",
					      .text_length = 6 });
}

static void resolve_mapping(struct mapping *mapping)
{
	if (mapping->file == MAPPING_FILE_UNRESOLVED && mapping->inode != UNRESOLVED_INODE)
		mapping->file = (uint32_t)mapping->inode;
}

/* Files get the number of their inode as id. */
static void resolve_process(void *context, struct process *process)
{
	(void)context;
	for (struct space *space = process->space; space; space = space->parent) {
		for (size_t i = 0; i < space->mappings.now.count; i++)
			resolve_mapping(&space->mappings.now.items[i]);
		for (size_t i = 0; i < space->mappings.past.count; i++)
			resolve_mapping(&space->mappings.past.items[i].mapping);
	}
}

static size_t list(struct table *table, uint32_t pid, struct process_code *codes, size_t room)
{
	table_each(table, resolve_process, NULL);
	return code_list(table_newest(table, pid)->space, MOST, codes, room);
}

/* The code of @pid: "START-LIMIT FILE+OFFSET" in hexadecimal, file "-" for none, each on a line. */
static const char *code_of(struct table *table, uint32_t pid)
{
	static char text[CODES_MAX * 64];
	struct process_code codes[CODES_MAX];
	size_t count = list(table, pid, codes, CODES_MAX), length = 0;

	assert_true(count <= CODES_MAX);
	text[0] = '\0';
	for (size_t i = 0; i < count; i++) {
		char file[16] = "-";

		if (codes[i].file != PROCESS_NO_FILE)
			snprintf(file, sizeof(file), "%x", codes[i].file);
		length += (size_t)snprintf(
			text + length, sizeof(text) - length, "%llx-%llx %s+%llx%s\n",
			(unsigned long long)codes[i].start, (unsigned long long)codes[i].limit,
			file, (unsigned long long)codes[i].file_offset,
			codes[i].vdso ? " vdso" : "");
	}
	return text;
}

static void begin_program(struct table *table, uint64_t time_ns, uint32_t pid)
{
	tell_fork(table, time_ns, 1, pid);
	tell_name(table, RECORD_EXEC, time_ns + 1, pid, "prog");
}

static void neighbours_that_continue_are_one(void **state)
{
	struct table *table = *state;

	begin_program(table, 10 * S, 10);
	assert_string_equal(code_of(table, 10), "");
	tell_map(table, 11 * S, 10, 0x1000, 0x2000, 5, 0);
	tell_map(table, 11 * S, 10, 0x2000, 0x4000, 5, 0x1000);
	// The same file at another place, another file, and a gap.
	tell_map(table, 11 * S, 10, 0x4000, 0x5000, 5, 0x1000);
	tell_map(table, 11 * S, 10, 0x5000, 0x6000, 6, 0x2000);
	tell_map(table, 11 * S, 10, 0x7000, 0x8000, 6, 0x4000);
	// Memory without a file has no offset, whatever the kernel prints.
	tell_map(table, 11 * S, 10, 0x9000, 0xa000, 0, 0x9000);
	tell_map(table, 11 * S, 10, 0xa000, 0xc000, 0, 0);
	tell_map(table, 11 * S, 10, 0xd000, 0xe000, 0, 0);
	assert_string_equal(code_of(table, 10), "1000-4000 5+0\n"
						"4000-5000 5+1000\n"
						"5000-6000 6+2000\n"
						"7000-8000 6+4000\n"
						"9000-c000 -+0\n"
						"d000-e000 -+0\n");
}

static void the_vdso_is_told_apart(void **state)
{
	struct table *table = *state;

	begin_program(table, 10 * S, 10);
	tell_map(table, 11 * S, 10, 0x9000, 0xa000, 0, 0);
	tell_mmap(table, 11 * S, 10, 0xa000, 0x2000, 0, "[vdso]");
	tell_map(table, 11 * S, 10, 0xc000, 0xd000, 0, 0);
	// A file may be called anything.
	tell_mmap(table, 11 * S, 10, 0xe000, 0x1000, 7, "[vdso]");
	assert_string_equal(code_of(table, 10), "9000-a000 -+0\n"
						"a000-c000 -+0 vdso\n"
						"c000-d000 -+0\n"
						"e000-f000 7+0\n");
}

static void what_is_mapped_over_is_gone(void **state)
{
	struct table *table = *state;

	begin_program(table, 10 * S, 10);
	tell_map(table, 11 * S, 10, 0x10000, 0x20000, 5, 0);
	tell_map(table, 12 * S, 10, 0x14000, 0x15000, 6, 0x3000);
	tell_map(table, 13 * S, 10, 0x1f000, 0x21000, 0, 0);
	assert_string_equal(code_of(table, 10), "10000-14000 5+0\n"
						"14000-15000 6+3000\n"
						"15000-1f000 5+5000\n"
						"1f000-21000 -+0\n");
	// Put back, it is one again.
	tell_map(table, 14 * S, 10, 0x14000, 0x15000, 5, 0x4000);
	assert_string_equal(code_of(table, 10), "10000-1f000 5+0\n"
						"1f000-21000 -+0\n");
}

static void an_exec_leaves_nothing(void **state)
{
	struct table *table = *state;

	begin_program(table, 10 * S, 10);
	tell_map(table, 11 * S, 10, 0x1000, 0x2000, 5, 0);
	tell_name(table, RECORD_EXEC, 12 * S, 10, "next");
	assert_string_equal(code_of(table, 10), "");
	tell_map(table, 12 * S + 1, 10, 0x3000, 0x4000, 6, 0);
	assert_string_equal(code_of(table, 10), "3000-4000 6+0\n");
}

static void a_file_without_an_id_is_left_out(void **state)
{
	struct table *table = *state;

	begin_program(table, 10 * S, 10);
	tell_map(table, 11 * S, 10, 0x1000, 0x8000, 5, 0);
	tell_fork(table, 12 * S, 10, 20);
	tell_map(table, 13 * S, 20, 0x3000, 0x4000, UNRESOLVED_INODE, 0);
	// Nor does what it hides come to light.
	assert_string_equal(code_of(table, 20), "1000-3000 5+0\n4000-8000 5+3000\n");
}

static void a_child_has_what_its_parent_had_at_the_fork(void **state)
{
	struct table *table = *state;

	begin_program(table, 10 * S, 10);
	tell_map(table, 11 * S, 10, 0x1000, 0x3000, 5, 0);
	tell_map(table, 11 * S, 10, 0x5000, 0x6000, 6, 0);
	tell_fork(table, 13 * S, 10, 20);
	// Of the parent's later doings the child sees nothing, and the other way.
	tell_map(table, 14 * S, 10, 0x2000, 0x6000, 7, 0);
	tell_map(table, 14 * S, 10, 0x8000, 0x9000, 8, 0);
	tell_map(table, 15 * S, 20, 0x2800, 0x5800, 9, 0);
	assert_string_equal(code_of(table, 20), "1000-2800 5+0\n"
						"2800-5800 9+0\n"
						"5800-6000 6+800\n");
	assert_string_equal(code_of(table, 10), "1000-2000 5+0\n"
						"2000-6000 7+0\n"
						"8000-9000 8+0\n");
	// What continues across the two is one.
	tell_map(table, 16 * S, 20, 0x6000, 0x7000, 6, 0x1000);
	assert_string_equal(code_of(table, 20), "1000-2800 5+0\n"
						"2800-5800 9+0\n"
						"5800-7000 6+800\n");
	// The parent's end, and the end of reports on it, take nothing away.
	tell_exit(table, 17 * S, 10, 10);
	table_forget(table, 18 * S);
	assert_string_equal(code_of(table, 20), "1000-2800 5+0\n"
						"2800-5800 9+0\n"
						"5800-7000 6+800\n");
}

static void two_thousand_mappings_are_listed(void **state)
{
	enum { MANY = 2000, ROOM = 1008 };
	struct table *table = *state;
	static struct process_code codes[MANY + 1];

	begin_program(table, 10 * S, 10);
	for (uint64_t i = 0; i < MANY; i++)
		tell_map(table, 11 * S, 10, 0x10000 * (MANY - i), 0x10000 * (MANY - i) + 0x1000,
			 5 + i % 3, 0);
	tell_fork(table, 12 * S, 10, 20);
	tell_map(table, 13 * S, 20, 0x10000, 0x11000, 100, 0);
	codes[ROOM].file = 4711;
	assert_int_equal(list(table, 10, codes, ROOM), MANY);
	assert_int_equal(codes[ROOM].file, 4711);
	assert_int_equal(list(table, 10, NULL, 0), MANY);
	assert_int_equal(list(table, 20, codes, MANY), MANY);
	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(codes[i].start, 0x10000 * (i + 1));
		assert_int_equal(codes[i].limit, 0x10000 * (i + 1) + 0x1000);
	}
	assert_int_equal(codes[0].file, 100);
	assert_int_equal(codes[MANY - 1].file, 5);
}

/* As the kernel gives out addresses; in the end there are as many as one process may have. */
static void mappings_may_come_from_above(void **state)
{
	enum { MANY = 3000, ROOM = 2000 };
	struct table *table = *state;
	static struct process_code codes[MANY];

	table->max_bytes = table->pool.max_bytes = SIZE_MAX;
	table->pool.most_mappings = ROOM;
	begin_program(table, 10 * S, 10);
	for (uint64_t i = MANY; i; i--)
		tell_map(table, 11 * S, 10, 0x10000 * i, 0x10000 * i + 0x1000, 5, i << 20);
	assert_int_equal(list(table, 10, codes, MANY), ROOM);
	for (uint64_t i = 0; i < ROOM; i++) {
		assert_int_equal(codes[i].start, 0x10000 * (MANY - ROOM + 1 + i));
		assert_int_equal(codes[i].file_offset, (MANY - ROOM + 1 + i) << 20);
	}
	assert_int_equal(table->refused, MANY - ROOM);
	assert_false(table_newest(table, 10)->space->complete);
}

/* A runtime makes code everywhere; the libraries lie above and between. */
static void what_has_a_file_is_kept_before_what_has_none(void **state)
{
	enum { MANY = 5000, FILES = 50, ROOM = 100 };
	struct table *table = *state;
	struct process_code codes[ROOM];
	size_t files = 0;

	table->max_bytes = table->pool.max_bytes = SIZE_MAX;
	table->pool.most_mappings = MOST;
	begin_program(table, 10 * S, 10);
	for (uint64_t i = 1; i <= MANY; i++)
		tell_map(table, 11 * S, 10, 0x10000 * i, 0x10000 * i + 0x1000,
			 i % (MANY / FILES) ? 0 : 5, 0);
	tell_mmap(table, 11 * S, 10, 0x7fff00000000, 0x2000, 0, "[vdso]");
	assert_int_equal(list(table, 10, codes, ROOM), MANY + 1);
	for (size_t i = 0; i < ROOM; i++) {
		assert_true(!i || codes[i - 1].limit <= codes[i].start);
		files += codes[i].file == 5;
	}
	assert_int_equal(files, FILES);
	assert_true(codes[ROOM - 1].vdso);
	// The rest are the lowest of those without.
	for (uint64_t i = 0; i < ROOM - FILES - 1; i++)
		assert_int_equal(codes[i].start, 0x10000 * (i + 1));
	// With less room than files it is files only.
	assert_int_equal(list(table, 10, codes, FILES / 2), MANY + 1);
	for (size_t i = 0; i < FILES / 2; i++)
		assert_true(codes[i].file == 5 || codes[i].vdso);
}

/* All that one process may have is looked at, but not all that its parents may have, too. */
static void forks_of_forks_with_a_great_many_are_cut_short(void **state)
{
	enum { MANY = 60000, GENERATIONS = 8, ROOM = 1008 };
	struct table *table = *state;
	static struct process_code codes[ROOM];
	size_t count;

	table->max_bytes = table->pool.max_bytes = SIZE_MAX;
	table->pool.most_mappings = MOST;
	begin_program(table, 10 * S, 10);
	for (uint32_t i = 0; i < GENERATIONS; i++) {
		if (i)
			tell_fork(table, (20 + 2 * i) * S, 10 + i - 1, 10 + i);
		for (uint64_t j = 1; j <= MANY; j++)
			tell_map(table, (21 + 2 * i) * S, 10 + i, 0x100000 * j + 0x2000 * i,
				 0x100000 * j + 0x2000 * i + 0x1000, j == MANY ? 5 : 0, 0);
	}
	assert_int_equal(list(table, 10, codes, ROOM), MANY);
	assert_int_equal(codes[ROOM - 1].file, 5);
	count = list(table, 10 + GENERATIONS - 1, codes, ROOM);
	assert_true(count > ROOM && count < 2 * MANY);
	for (size_t i = 0; i < ROOM; i++)
		assert_int_equal(codes[i].start,
				 0x100000 * (1 + i / GENERATIONS) + 0x2000 * (i % GENERATIONS));
}

enum { MODEL_PAGES = 40, MODEL_PROCESSES = 12, MODEL_STEPS = 60 };

/* As page by page lookups have it, in order, and as few as can be. */
static void assert_like_lookups(struct table *table, uint32_t pid)
{
	struct process_code codes[CODES_MAX + MODEL_PAGES] = { 0 }, *code = codes;
	size_t count = list(table, pid, codes, CODES_MAX + MODEL_PAGES);
	const struct space *space = table_newest(table, pid)->space;

	for (size_t i = 1; i < count; i++) {
		const struct process_code *last = &codes[i - 1];

		assert_true(last->limit <= codes[i].start);
		assert_false(
			last->limit == codes[i].start && last->file == codes[i].file &&
			(last->file == PROCESS_NO_FILE ||
			 last->file_offset + last->limit - last->start == codes[i].file_offset));
	}
	for (uint64_t page = 0; page < MODEL_PAGES; page++) {
		const struct mapping *right = space_find(space, UINT64_MAX - 1, page);

		while (code < codes + count && code->limit <= page)
			code++;
		if (!right || right->file == MAPPING_FILE_UNRESOLVED) {
			assert_true(code == codes + count || page < code->start);
			continue;
		}
		assert_true(code < codes + count && code->start <= page);
		assert_int_equal(code->file, right->file);
		if (right->inode)
			assert_int_equal(code->file_offset + page - code->start,
					 right->file_offset + page - right->start);
	}
}

static void lists_agree_with_lookups(void **state)
{
	struct table *table = *state;
	unsigned int random = 4711;

	for (uint32_t round = 0; round < 200; round++) {
		uint32_t first = 100 * (round + 1), processes = 1;

		begin_program(table, 1 * S, first);
		for (uint64_t step = 1; step <= MODEL_STEPS; step++) {
			uint32_t pid = first + (uint32_t)rand_r(&random) % processes;
			uint64_t start = (uint64_t)rand_r(&random) % (MODEL_PAGES - 8);
			uint64_t pages = 1 + (uint64_t)rand_r(&random) % 8;
			uint64_t file = (uint64_t)rand_r(&random) % 4;

			if (processes < MODEL_PROCESSES && rand_r(&random) % 6 == 0) {
				tell_fork(table, (1 + step) * S, pid, first + processes++);
				continue;
			}
			// Some are told late, to whoever lived then.
			if (rand_r(&random) % 8 == 0)
				pid = first;
			tell_map(table,
				 (1 + (pid == first ? (uint64_t)rand_r(&random) % step : step)) *
						 S +
					 step,
				 pid, start, start + pages, file == 3 ? UNRESOLVED_INODE : file,
				 start);
		}
		for (uint32_t i = 0; i < processes; i++)
			assert_like_lookups(table, first + i);
		for (uint32_t i = 0; i < processes; i++)
			tell_exit(table, 100 * S, first + i, first + i);
		table_forget(table, 100 * S);
	}
}

int main(void)
{
#define CODE_TEST(test) cmocka_unit_test_setup_teardown(test, table_set_up, table_tear_down)
	const struct CMUnitTest tests[] = {
		CODE_TEST(neighbours_that_continue_are_one),
		CODE_TEST(the_vdso_is_told_apart),
		CODE_TEST(what_is_mapped_over_is_gone),
		CODE_TEST(mappings_may_come_from_above),
		CODE_TEST(an_exec_leaves_nothing),
		CODE_TEST(a_file_without_an_id_is_left_out),
		CODE_TEST(a_child_has_what_its_parent_had_at_the_fork),
		CODE_TEST(two_thousand_mappings_are_listed),
		CODE_TEST(what_has_a_file_is_kept_before_what_has_none),
		CODE_TEST(forks_of_forks_with_a_great_many_are_cut_short),
		CODE_TEST(lists_agree_with_lookups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
