// SPDX-License-Identifier: Apache-2.0
/* What a walk finds of processes and files; workers and processes are played here. */
#include "kernel_model.h"

#include "tables/pages.h"
#include "tables/spaces.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

enum { PAGE = 1 << UNWIND_PAGE_SHIFT };

static const uint64_t MS = 1000000;

static const struct process_key key = { .pid = 4711, .exec_id = 3, .start_boottime_ns = 99 };

struct fixture {
	struct kernel_model model;
	struct memory *memory;
	struct process_index index;
	struct rule_table rules;
	struct pages *pages;
	struct spaces *spaces;
	struct model_answer answer;
};

/* What processes_code tells. */
static struct process_code played_code[2000];
static size_t played_count;

size_t processes_code(struct processes *processes, const struct process_key *asked,
		      struct process_code *ret, size_t count)
{
	(void)processes;
	assert_int_equal(asked->pid % 4096, key.pid % 4096);
	memcpy(ret, played_code, (played_count < count ? played_count : count) * sizeof(*ret));
	return played_count;
}

static uint32_t identity(void)
{
	return unwind_identity(key.start_boottime_ns, key.exec_id);
}

static struct model_finding find(struct fixture *fixture, uint64_t pc)
{
	return kernel_model_find(&fixture->model, key.pid, identity(), pc);
}

/* The mark of the rule found, see model_answer_add. */
static int32_t mark_at(struct fixture *fixture, uint64_t pc)
{
	struct model_finding found = find(fixture, pc);

	assert_int_equal(found.what, MODEL_RULE);
	return fixture->model.rules[found.rule].cfa_offset;
}

static int set_up_with(void **state, uint64_t limit)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct memory_slabs slabs;

	assert_non_null(fixture);
	slabs = kernel_model_slabs(&fixture->model);
	fixture->memory = memory_create(&slabs, limit);
	fixture->index.buckets = fixture->model.buckets;
	rule_table_init(&fixture->rules, fixture->model.rules);
	fixture->pages = pages_create(fixture->memory, &fixture->rules);
	fixture->spaces = spaces_create(NULL, fixture->pages, fixture->memory, &fixture->index);
	played_count = 0;
	*state = fixture;
	return 0;
}

static int set_up(void **state)
{
	return set_up_with(state, MODEL_SLABS * UNWIND_SLAB_BYTES);
}

static int set_up_small(void **state)
{
	return set_up_with(state, 2 * UNWIND_SLAB_BYTES);
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	spaces_destroy(fixture->spaces);
	pages_destroy(fixture->pages);
	memory_destroy(fixture->memory);
	rule_table_deinit(&fixture->rules);
	free(fixture);
	return 0;
}

static void play(uint64_t start, uint64_t bytes, uint32_t file, uint64_t file_offset)
{
	played_code[played_count++] = (struct process_code){
		.start = start, .limit = start + bytes, .file_offset = file_offset, .file = file
	};
}

/* The next request is one about @file; returns how many pages it names. */
static size_t expect_request(struct fixture *fixture, uint32_t file, uint32_t first)
{
	struct pages_request request;

	assert_true(pages_next_request(fixture->pages, &request));
	assert_int_equal(request.file, file);
	if (request.count)
		assert_int_equal(request.numbers[0], first);
	return request.count;
}

static void expect_no_request(struct fixture *fixture)
{
	struct pages_request request;

	assert_false(pages_next_request(fixture->pages, &request));
}

static void learn(struct fixture *fixture, uint64_t now_ns)
{
	if (pages_learn(fixture->pages, &fixture->answer.answer, now_ns))
		spaces_file_known(fixture->spaces, fixture->answer.answer.file, now_ns);
}

/* A process with file 7 (text at ELF address 0x21000, file offset 0x20000) at 0x400000. */
static void begin_process(struct fixture *fixture, uint32_t page_count)
{
	play(0x400000, (uint64_t)page_count * PAGE - 0x1000, 7, 0x20000);
	spaces_update(fixture->spaces, &key, MS);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, page_count);
}

static void a_new_process_is_told_when_its_files_are_known(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 3);
	assert_int_equal(find(fixture, 0x400010).what, MODEL_NO_PROCESS);
	model_answer_add(&fixture->answer, 2, 16);
	model_answer_add(&fixture->answer, 4, 48);
	learn(fixture, 2 * MS);
	assert_int_equal(mark_at(fixture, 0x400010), 16);
	assert_int_equal(mark_at(fixture, 0x400000 + 0xefff), 16);
	assert_int_equal(mark_at(fixture, 0x400000 + 0xf000 + PAGE), 48);
	assert_int_equal(find(fixture, 0x400000 + 0xf000).what, MODEL_NO_PAGE);
	assert_int_equal(find(fixture, 0x3fffff).what, MODEL_NO_RANGE);
	assert_int_equal(find(fixture, 0x400000 + 3 * PAGE).what, MODEL_NO_RANGE);
	expect_no_request(fixture);
}

static void a_frame_says_file_and_offset(void **state)
{
	struct fixture *fixture = *state;
	struct model_finding found;

	begin_process(fixture, 1);
	model_answer_add(&fixture->answer, 2, 16);
	learn(fixture, 2 * MS);
	found = find(fixture, 0x400123);
	assert_int_equal(found.file, 7 + 1);
	assert_int_equal(found.file_offset, 0x20123);
}

static void what_walks_miss_is_asked_for_once_with_what_lies_around(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 10);
	learn(fixture, 2 * MS);
	assert_int_equal(find(fixture, 0x400000 + 5 * PAGE).what, MODEL_NO_PAGE);
	pages_miss(fixture->pages, 7, 0x20000 + 5 * PAGE, 3 * MS);
	pages_miss(fixture->pages, 7, 0x20000 + 5 * PAGE + 0x100, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2 + 4), 4);
	pages_miss(fixture->pages, 7, 0x20000 + 5 * PAGE, 3 * MS);
	expect_no_request(fixture);
	for (uint32_t i = 6; i < 10; i++)
		model_answer_add(&fixture->answer, i, 32);
	learn(fixture, 4 * MS);
	assert_int_equal(mark_at(fixture, 0x400000 + 5 * PAGE), 32);
	pages_miss(fixture->pages, 7, 0x20000 + 5 * PAGE, 5 * MS);
	expect_no_request(fixture);
}

static void what_is_missed_during_a_request_comes_after_it(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 10);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20000, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 4);
	pages_miss(fixture->pages, 7, 0x20000 + 8 * PAGE, 3 * MS);
	expect_no_request(fixture);
	for (uint32_t i = 2; i < 6; i++)
		model_answer_add(&fixture->answer, i, 16);
	learn(fixture, 4 * MS);
	assert_int_equal(expect_request(fixture, 7, 2 + 8), 2);
}

/* As linkers other than ld lay it out: text right behind read-only data, in the same page. */
static void a_segment_may_begin_within_a_page(void **state)
{
	struct fixture *fixture = *state;

	play(0x400000, 2 * PAGE, 7, 0x1f000);
	spaces_update(fixture->spaces, &key, MS);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	model_answer_init(&fixture->answer, 7, 0x207d0, 0x1f7d0, 2);
	model_answer_add(&fixture->answer, 2, 16);
	learn(fixture, 2 * MS);
	assert_int_equal(mark_at(fixture, 0x4007d0), 16);
	assert_int_equal(mark_at(fixture, 0x400000 + PAGE - 1), 16);
	assert_int_equal(find(fixture, 0x400000 + PAGE).what, MODEL_NO_PAGE);
}

static void equal_rules_of_files_are_one(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 2);
	model_answer_add(&fixture->answer, 2, 16);
	model_answer_add(&fixture->answer, 3, 16);
	learn(fixture, 2 * MS);
	assert_int_equal(find(fixture, 0x400000).rule, find(fixture, 0x400000 + PAGE).rule);
	assert_int_equal(fixture->rules.count, UNWIND_RULE_END + 2);
}

static void pages_without_rules_go_by_frame_pointers(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 2);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20000, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 2);
	learn(fixture, 4 * MS); // which leaves them out
	assert_int_equal(find(fixture, 0x400000).what, MODEL_RULE);
	assert_int_equal(find(fixture, 0x400000).rule, UNWIND_RULE_UNKNOWN);
	assert_int_equal(pages_counts(fixture->pages).failed, 2);
	pages_miss(fixture->pages, 7, 0x20000, 5 * MS);
	expect_no_request(fixture);
}

static void a_file_that_no_worker_can_read_is_bare(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 2);
	fixture->answer.answer = (struct worker_answer){ .file = 7, .outcome = WORKER_CRASHED };
	learn(fixture, 2 * MS);
	assert_int_equal(find(fixture, 0x400000).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x400000).file, 8);
}

static void without_a_worker_it_is_tried_again(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 2);
	fixture->answer.answer = (struct worker_answer){ .file = 7, .outcome = WORKER_MISSING };
	learn(fixture, 2 * MS);
	assert_int_equal(find(fixture, 0x400000).what, MODEL_NO_PROCESS);
	expect_no_request(fixture);
	spaces_update(fixture->spaces, &key, 2000 * MS);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
}

static void anonymous_code_is_bare_and_has_no_file(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, MS);
	assert_int_equal(find(fixture, 0x14fff).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x14fff).file, 0);
}

static void the_vsyscall_page_hides_nothing(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	play(0xffffffffff600000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, MS);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0xffffffffff600000).what, MODEL_NO_RANGE);
}

static void the_vdso_of_this_machine_has_rules(void **state)
{
	struct fixture *fixture = *state;

	pages_learn_vdso(fixture->pages, MS);
	played_code[played_count++] = (struct process_code){ .start = 0x7fff0000,
							     .limit = 0x7fff0000 + 0x2000,
							     .file = PROCESS_NO_FILE,
							     .vdso = true };
	spaces_update(fixture->spaces, &key, MS);
	assert_int_equal(find(fixture, 0x7fff0000).what, MODEL_RULE);
	assert_int_equal(find(fixture, 0x7fff0000).file, 0);
}

static void changes_replace_what_was(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, MS);
	played_count = 0;
	play(0x20000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, 2 * MS);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_RANGE);
	assert_int_equal(find(fixture, 0x20000).what, MODEL_BARE);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 1);
}

static void another_program_of_the_pid_is_another_process(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, MS);
	other.exec_id++;
	spaces_update(fixture->spaces, &other, 2 * MS);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_PROCESS);
	spaces_end(fixture->spaces, &key, 3 * MS); // late news of the first
	assert_int_equal(kernel_model_find(&fixture->model, other.pid,
					   unwind_identity(other.start_boottime_ns, other.exec_id),
					   0x10000)
				 .what,
			 MODEL_BARE);
	spaces_end(fixture->spaces, &other, 4 * MS);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 0);
}

static void a_bucket_that_is_full_refuses_and_counts(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	for (uint32_t i = 0; i <= UNWIND_BUCKET_SLOTS; i++) {
		other.pid = key.pid + i * UNWIND_BUCKETS;
		spaces_update(fixture->spaces, &other, MS);
	}
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 1);
	spaces_end(fixture->spaces, &key, 2 * MS);
	spaces_update(fixture->spaces, &other, 3 * MS);
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
}

static void ranges_beyond_the_limit_are_counted(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < 1500; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, MS);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x10000 + (UNWIND_RANGES - 1) * 0x2000ull).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x10000 + UNWIND_RANGES * 0x2000ull).what, MODEL_NO_RANGE);
	assert_int_equal(spaces_counts(fixture->spaces).ranges_dropped, 1500 - UNWIND_RANGES);
}

/* Pages of 1,540 bytes: two slabs hold about forty. */
static void fill(struct fixture *fixture, uint32_t page_count)
{
	begin_process(fixture, page_count);
	for (uint32_t i = 0; i < page_count; i++)
		model_answer_add(&fixture->answer, 2 + i, 16);
	learn(fixture, 2 * MS);
}

static void beyond_the_limit_pages_are_refused_and_counted(void **state)
{
	struct fixture *fixture = *state;
	struct pages_counts counts;

	fill(fixture, 64);
	counts = pages_counts(fixture->pages);
	assert_true(counts.refused > 0);
	assert_int_equal(counts.pages + counts.refused, 64);
	assert_true(memory_bytes(fixture->memory) <= 2 * UNWIND_SLAB_BYTES);
	assert_int_equal(mark_at(fixture, 0x400000), 16);
	assert_int_equal(find(fixture, 0x400000 + 63 * PAGE - 0x1000).what, MODEL_NO_PAGE);
	// Not again at once: each attempt would cost what building it costs.
	pages_miss(fixture->pages, 7, 0x20000 + 62 * PAGE, 3 * MS);
	expect_no_request(fixture);
}

static void what_is_not_seen_goes_first(void **state)
{
	struct fixture *fixture = *state;
	uint64_t limit = 2 * UNWIND_SLAB_BYTES;

	fill(fixture, 38);
	for (int batch = 0; batch < 3; batch++) {
		pages_next_epoch(fixture->pages);
		pages_touch(fixture->pages, 7, 0x20000);
	}
	pages_evict(fixture->pages, limit, 1000 * MS);
	assert_int_equal(mark_at(fixture, 0x400000), 16);
	assert_int_equal(find(fixture, 0x400000 + PAGE).what, MODEL_NO_PAGE);
	assert_true(pages_counts(fixture->pages).evicted > 0);
	// There is room again when no walk can be reading it any more.
	pages_miss(fixture->pages, 7, 0x20000 + PAGE, 3000 * MS);
	assert_int_equal(expect_request(fixture, 7, 3), 3);
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 38);
	model_answer_add(&fixture->answer, 3, 64);
	learn(fixture, 3001 * MS);
	assert_int_equal(mark_at(fixture, 0x400000 + PAGE), 64);
}

static void what_is_in_use_stays_even_when_full(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, 38);
	pages_next_epoch(fixture->pages);
	pages_evict(fixture->pages, 2 * UNWIND_SLAB_BYTES, 1000 * MS);
	assert_int_equal(pages_counts(fixture->pages).evicted, 0);
}

static void a_file_nobody_runs_goes_with_its_last_page(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, 38);
	spaces_end(fixture->spaces, &key, 3 * MS);
	assert_int_equal(pages_counts(fixture->pages).files, 1);
	for (int batch = 0; batch < 3; batch++)
		pages_next_epoch(fixture->pages);
	pages_evict(fixture->pages, 0, 1000 * MS);
	assert_int_equal(pages_counts(fixture->pages).files, 0);
	assert_int_equal(pages_counts(fixture->pages).pages, 0);
	// It may come back.
	spaces_update(fixture->spaces, &key, 2000 * MS);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
}

static void freed_memory_waits_for_walks(void **state)
{
	struct fixture *fixture = *state;
	uint8_t bytes[UNWIND_SLAB_BYTES - UNWIND_LINE_BYTES] = { 0 };
	uint32_t first = memory_put(fixture->memory, bytes, sizeof(bytes), MS);
	uint32_t second = memory_put(fixture->memory, bytes, sizeof(bytes), MS);

	assert_true(first && second);
	assert_int_equal(memory_put(fixture->memory, bytes, sizeof(bytes), MS), 0);
	memory_free(fixture->memory, first, sizeof(bytes), 2 * MS);
	assert_int_equal(memory_put(fixture->memory, bytes, sizeof(bytes), 3 * MS), 0);
	assert_int_equal(memory_put(fixture->memory, bytes, sizeof(bytes), 200 * MS), first);
}

#define TEST(name)  cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define SMALL(name) cmocka_unit_test_setup_teardown(name, set_up_small, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_process_is_told_when_its_files_are_known),
		TEST(a_frame_says_file_and_offset),
		TEST(what_walks_miss_is_asked_for_once_with_what_lies_around),
		TEST(what_is_missed_during_a_request_comes_after_it),
		TEST(a_segment_may_begin_within_a_page),
		TEST(equal_rules_of_files_are_one),
		TEST(pages_without_rules_go_by_frame_pointers),
		TEST(a_file_that_no_worker_can_read_is_bare),
		TEST(without_a_worker_it_is_tried_again),
		TEST(anonymous_code_is_bare_and_has_no_file),
		TEST(the_vsyscall_page_hides_nothing),
		TEST(the_vdso_of_this_machine_has_rules),
		TEST(changes_replace_what_was),
		TEST(another_program_of_the_pid_is_another_process),
		TEST(a_bucket_that_is_full_refuses_and_counts),
		TEST(ranges_beyond_the_limit_are_counted),
		SMALL(beyond_the_limit_pages_are_refused_and_counted),
		SMALL(what_is_not_seen_goes_first),
		SMALL(what_is_in_use_stays_even_when_full),
		SMALL(a_file_nobody_runs_goes_with_its_last_page),
		SMALL(freed_memory_waits_for_walks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
