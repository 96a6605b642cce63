// SPDX-License-Identifier: Apache-2.0
/* What a walk finds of processes and files; workers and processes are played here. */
#include "kernel_model.h"

#include "runtimes/go.h"
#include "runtimes/go/labels.h"
#include "tables/met.h"
#include "tables/pages.h"
#include "tables/range_sets.h"
#include "tables/spaces.h"

#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/base.h"

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

static uint64_t now;

static uint64_t played_clock(void)
{
	return now;
}

/* What processes_code tells. */
static struct process_code played_code[10000];
static size_t played_count;

size_t processes_code(struct processes *processes, const struct process_key *asked,
		      struct process_code *ret, size_t count)
{
	(void)processes;
	assert_int_equal(asked->pid % 4096, key.pid % 4096);
	memcpy(ret, played_code, (played_count < count ? played_count : count) * sizeof(*ret));
	return played_count;
}

/* The only one that was never sampled. */
static uint32_t unsampled_pid;

/* When the others were, by their pid / MODEL_BUCKETS. */
static uint64_t sampled_ns[16];

/* What all processes together have said they take. */
static int64_t heap_bytes;

void processes_account(struct processes *processes, int64_t bytes)
{
	(void)processes;
	heap_bytes += bytes;
}

uint64_t processes_last_sample(struct processes *processes, const struct process_key *asked)
{
	(void)processes;
	return asked->pid != unsampled_pid ? sampled_ns[asked->pid / MODEL_BUCKETS] : 0;
}

/* Whose processes are, by their pid / MODEL_BUCKETS; and files, by their id. All zero: root's. */
static struct owner space_owners[16], file_owners[64];

struct owner processes_owner(struct processes *processes, const struct process_key *asked)
{
	(void)processes;
	return space_owners[asked->pid / MODEL_BUCKETS % 16];
}

static struct owner owner_of_file(void *context, uint32_t file)
{
	(void)context;
	return file < 64 ? file_owners[file] : OWNER_UNKNOWN;
}

void processes_tell_again(struct processes *processes)
{
	(void)processes;
}

static uint32_t identity(void)
{
	return unwind_identity(key.start_boottime_ns, key.exec_id);
}

static struct model_finding find(struct fixture *fixture, uint64_t pc)
{
	return kernel_model_find(&fixture->model, key.pid, identity(), pc);
}

static struct model_finding find_of(struct fixture *fixture, const struct process_key *whose,
				    uint64_t pc)
{
	return kernel_model_find(&fixture->model, whose->pid,
				 unwind_identity(whose->start_boottime_ns, whose->exec_id), pc);
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
	fixture->memory = memory_create(&slabs, limit, played_clock);
	fixture->index = (struct process_index){ fixture->model.buckets, MODEL_BUCKETS };
	rule_table_init(&fixture->rules, fixture->model.rules);
	fixture->pages = pages_create(fixture->memory, &fixture->rules, 1 << 20);
	pages_ask_owners(fixture->pages, owner_of_file, NULL);
	memset(space_owners, 0, sizeof(space_owners));
	memset(file_owners, 0, sizeof(file_owners));
	fixture->spaces = spaces_create(NULL, fixture->pages, fixture->memory, &fixture->index);
	played_count = 0;
	unsampled_pid = 0;
	for (size_t i = 0; i < sizeof(sampled_ns) / sizeof(*sampled_ns); i++)
		sampled_ns[i] = MS;
	now = MS;
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
	assert_int_equal(heap_bytes, 0);
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

	assert_true(pages_next_request(fixture->pages, NULL, NULL, &request));
	assert_int_equal(request.file, file);
	if (request.count)
		assert_int_equal(request.numbers[0], first);
	return request.count;
}

static void expect_no_request(struct fixture *fixture)
{
	struct pages_request request;

	assert_false(pages_next_request(fixture->pages, NULL, NULL, &request));
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
	spaces_update(fixture->spaces, &key, now);
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

	begin_process(fixture, 20);
	learn(fixture, 2 * MS);
	assert_int_equal(find(fixture, 0x400000 + 9 * PAGE).what, MODEL_NO_PAGE);
	pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE, 3 * MS);
	pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE + 0x100, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2 + 8), 8);
	pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE, 3 * MS);
	expect_no_request(fixture);
	for (uint32_t i = 10; i < 18; i++)
		model_answer_add(&fixture->answer, i, 32);
	learn(fixture, 4 * MS);
	assert_int_equal(mark_at(fixture, 0x400000 + 9 * PAGE), 32);
	pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE, 5 * MS);
	expect_no_request(fixture);
}

static void what_is_missed_during_a_request_comes_after_it(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 20);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20000, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 8);
	pages_miss(fixture->pages, 7, 0x20000 + 8 * PAGE, 3 * MS);
	expect_no_request(fixture);
	for (uint32_t i = 2; i < 6; i++)
		model_answer_add(&fixture->answer, i, 16);
	learn(fixture, 4 * MS);
	assert_int_equal(expect_request(fixture, 7, 2 + 8), 8);
}

/* What is kept on disk is found by its group. */
static void requests_may_be_of_one_group_each(void **state)
{
	struct fixture *fixture = *state;
	struct pages_request request;

	pages_ask_by_group(fixture->pages);
	begin_process(fixture, 40);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20000 + 17 * PAGE, 3 * MS);
	pages_miss(fixture->pages, 7, 0x20000, 3 * MS);
	assert_true(pages_next_request(fixture->pages, NULL, NULL, &request));
	assert_int_equal(request.count, 8);
	assert_int_equal(request.group, 2);
	assert_int_equal(request.numbers[7], 2 + 7);
	expect_no_request(fixture); // the other one comes after the answer
	for (uint32_t i = 2; i < 10; i++)
		model_answer_add(&fixture->answer, i, 16);
	learn(fixture, 4 * MS);
	assert_true(pages_next_request(fixture->pages, NULL, NULL, &request));
	assert_int_equal(request.count, 8);
	assert_int_equal(request.group, 2 + 16);
	assert_int_equal(request.numbers[0], 2 + 16);
}

static void a_small_file_is_one_group(void **state)
{
	struct fixture *fixture = *state;
	struct pages_request request;

	pages_ask_by_group(fixture->pages);
	begin_process(fixture, 20);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE, 3 * MS);
	assert_true(pages_next_request(fixture->pages, NULL, NULL, &request));
	assert_int_equal(request.group, PAGES_WHOLE);
}

/* As linkers other than ld lay it out: text right behind read-only data, in the same page. */
static void a_segment_may_begin_within_a_page(void **state)
{
	struct fixture *fixture = *state;

	play(0x400000, 2 * PAGE, 7, 0x1f000);
	spaces_update(fixture->spaces, &key, now);
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
	pages_retry(fixture->pages, 3 * MS);
	expect_no_request(fixture);
	pages_retry(fixture->pages, 2000 * MS);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
}

static void a_file_that_failed_is_tried_again_but_not_for_ever(void **state)
{
	struct fixture *fixture = *state;
	struct worker_answer bad = { .file = 7, .outcome = WORKER_TIMED_OUT };
	struct model_answer good;
	uint64_t time = 2 * MS;

	begin_process(fixture, 2);
	good = fixture->answer;
	fixture->answer.answer = bad;
	learn(fixture, time);
	time += 11000 * MS;
	pages_retry(fixture->pages, time);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	fixture->answer = good;
	fixture->answer.answer.segments = &fixture->answer.segment;
	fixture->answer.answer.pages = fixture->answer.pages;
	fixture->answer.answer.rules = fixture->answer.rules;
	learn(fixture, time);
	assert_int_equal(find(fixture, 0x400000).what, MODEL_NO_PAGE);

	// Another one never works.
	played_count = 0;
	play(0x800000, PAGE, 9, 0);
	spaces_update(fixture->spaces, &key, now);
	bad.file = 9;
	for (int attempt = 0; attempt < 3; attempt++) {
		assert_int_equal(expect_request(fixture, 9, 0), 0);
		fixture->answer.answer = bad;
		learn(fixture, time);
		assert_int_equal(find(fixture, 0x800000).what, MODEL_BARE);
		time += 11000 * MS;
		pages_retry(fixture->pages, time);
	}
	expect_no_request(fixture);
	assert_int_equal(pages_counts(fixture->pages).files_given_up, 1);
}

/* The file that failed can be read again. */
static void play_file(struct fixture *fixture, uint32_t page_count)
{
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, page_count);
}

static void what_is_missed_before_the_file_is_known_is_asked_for_then(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 20);
	// Among what a program that maps another library tells of it.
	assert_true(pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE, MS));
	assert_true(pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE + 0x10, MS));
	expect_no_request(fixture);
	learn(fixture, 2 * MS);
	assert_int_equal(expect_request(fixture, 7, 2 + 8), 8);
	expect_no_request(fixture);
	assert_false(pages_miss(fixture->pages, 8, 0, MS));
}

static void pages_asked_for_without_a_worker_are_asked_for_again(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 20);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20000, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 8);
	pages_forget_request(fixture->pages, 7, 4 * MS);
	// What is missed meanwhile waits with it.
	pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE, 5 * MS);
	expect_no_request(fixture);
	assert_true(pages_waits(fixture->pages));
	pages_retry(fixture->pages, 300 * MS);
	expect_no_request(fixture);
	pages_retry(fixture->pages, 600 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 16);
	assert_false(pages_waits(fixture->pages));
}

/* It was closed meanwhile, say. */
static void pages_of_a_file_that_cannot_be_read_just_now_are_asked_for_again(void **state)
{
	struct fixture *fixture = *state;
	uint64_t time = 2 * MS;

	begin_process(fixture, 4);
	learn(fixture, time);
	pages_miss(fixture->pages, 7, 0x20000, time);
	for (int attempt = 0; attempt < 3; attempt++) {
		assert_int_equal(expect_request(fixture, 7, 2), 4);
		assert_int_equal(find(fixture, 0x400000).what, MODEL_NO_PAGE);
		fixture->answer.answer =
			(struct worker_answer){ .file = 7, .outcome = WORKER_UNREADABLE };
		learn(fixture, time);
		time += 600 * MS;
		pages_retry(fixture->pages, time);
	}
	// Not for ever.
	expect_no_request(fixture);
	assert_int_equal(find(fixture, 0x400000).rule, UNWIND_RULE_UNKNOWN);
}

static void a_file_that_nobody_runs_any_more_does_not_fail(void **state)
{
	struct fixture *fixture = *state;
	struct worker_answer gone = { .file = 7, .outcome = WORKER_UNREADABLE };

	begin_process(fixture, 4);
	spaces_end(fixture->spaces, &key);
	fixture->answer.answer = gone;
	learn(fixture, 2 * MS);
	pages_retry(fixture->pages, 1000 * MS);
	expect_no_request(fixture);
	// The next program asks for it at once.
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	play_file(fixture, 4);
	learn(fixture, 1001 * MS);

	pages_miss(fixture->pages, 7, 0x20000, 1002 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 4);
	spaces_end(fixture->spaces, &key);
	fixture->answer.answer = gone;
	learn(fixture, 1003 * MS);
	spaces_update(fixture->spaces, &key, now);
	assert_true(pages_waits(fixture->pages));
	pages_retry(fixture->pages, 2000 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 4);
}

static void a_file_that_failed_once_is_tried_again_soon(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 20);
	fixture->answer.answer = (struct worker_answer){ .file = 7, .outcome = WORKER_CRASHED };
	learn(fixture, 2 * MS);
	assert_int_equal(find(fixture, 0x400000).what, MODEL_BARE);
	pages_miss(fixture->pages, 7, 0x20000 + 9 * PAGE, 3 * MS);
	assert_true(pages_waits(fixture->pages));
	pages_retry(fixture->pages, 600 * MS);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	play_file(fixture, 20);
	learn(fixture, 700 * MS);
	assert_int_equal(expect_request(fixture, 7, 2 + 8), 8);
}

static void what_a_batch_has_is_asked_for(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 20);
	learn(fixture, 2 * MS);
	pages_touch(fixture->pages, 7, 0x20000 + 9 * PAGE, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2 + 8), 8);
}

static struct met_address met_at(uint64_t address)
{
	return (struct met_address){ .key = key, .address = address };
}

/* Walked by frame pointers before anything was known of the process. */
static void what_is_met_in_an_unknown_process_is_asked_for(void **state)
{
	struct fixture *fixture = *state;
	struct met *met = met_create(NULL, fixture->pages, 100);
	struct met_address addresses[] = { met_at(0x400000 + 9 * PAGE), met_at(0x7ffe0000),
					   met_at(0x10000000) };

	assert_non_null(met);
	met_take(met, addresses, 1, MS); // not even its mappings are known
	assert_true(met_waits(met));
	begin_process(fixture, 20);
	play(0x10000000, 0x1000, PROCESS_NO_FILE, 0);
	met_retry(met, 2 * MS); // it has its time
	assert_true(met_waits(met));
	met_retry(met, 100 * MS);
	assert_false(met_waits(met));
	met_take(met, addresses, 3, 100 * MS);
	learn(fixture, 101 * MS);
	assert_int_equal(expect_request(fixture, 7, 2 + 8), 8);
	expect_no_request(fixture);
	// No code lies at the second: that is tried again, and then forgotten.
	assert_true(met_waits(met));
	for (uint64_t time = 100; time < 4000; time += 100)
		met_retry(met, time * MS);
	assert_false(met_waits(met));
	met_destroy(met);
}

static void what_is_met_is_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct met *met = met_create(NULL, fixture->pages, 100);
	struct met_address address = met_at(0x400000);

	assert_non_null(met);
	for (uint64_t i = 0; i < 10000; i++)
		met_take(met, &address, 1, MS);
	for (uint64_t time = 10; time < 4000; time += 100)
		met_retry(met, time * MS);
	assert_false(met_waits(met));
	begin_process(fixture, 20);
	met_take(met, &address, 1, 11000 * MS);
	assert_false(met_waits(met));
	met_destroy(met);
}

static void everything_that_is_missed_is_asked_for(void **state)
{
	enum { COUNT = 400 };
	struct fixture *fixture = *state;
	struct pages_request request;
	size_t asked = 0;

	play(0x400000, (uint64_t)COUNT * PAGE, 7, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	model_answer_init(&fixture->answer, 7, 0, 0, COUNT);
	learn(fixture, 2 * MS);
	for (uint64_t i = 0; i < COUNT; i += 4)
		pages_miss(fixture->pages, 7, i * PAGE, 3 * MS);
	while (pages_next_request(fixture->pages, NULL, NULL, &request)) {
		assert_int_equal(request.file, 7);
		model_answer_init(&fixture->answer, 7, 0, 0, COUNT);
		for (size_t i = 0; i < request.count; i++)
			model_answer_add(&fixture->answer, request.numbers[i], 16);
		asked += request.count;
		learn(fixture, 4 * MS);
	}
	assert_int_equal(asked, COUNT);
	assert_int_equal(mark_at(fixture, 0x400000 + (uint64_t)(COUNT - 1) * PAGE), 16);
}

static void files_are_asked_for_in_their_order(void **state)
{
	struct fixture *fixture = *state;

	for (uint32_t file = 1; file <= 5; file++)
		play(file * 0x100000ull, PAGE, file, 0);
	spaces_update(fixture->spaces, &key, now);
	for (uint32_t file = 1; file <= 5; file++)
		assert_int_equal(expect_request(fixture, file, 0), 0);
}

static void a_pending_file_leads_nowhere(void **state)
{
	struct fixture *fixture = *state;

	pages_learn_vdso(fixture->pages);
	begin_process(fixture, 1);
	model_answer_add(&fixture->answer, 2, 16);
	learn(fixture, 2 * MS);
	// It maps another library, which is not known yet.
	play(0x10000000, 64 * PAGE, 8, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(mark_at(fixture, 0x400000), 16);
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(find(fixture, 0x10000000 + i * PAGE).what, MODEL_NO_PAGE);
}

static void what_is_mapped_beyond_the_text_has_no_table(void **state)
{
	struct fixture *fixture = *state;
	struct model_finding found;

	play(0x400000, 5 * PAGE, 7, 0x20000);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 2);
	model_answer_add(&fixture->answer, 2, 16);
	model_answer_add(&fixture->answer, 3, 32);
	learn(fixture, 2 * MS);
	assert_int_equal(mark_at(fixture, 0x400000 + 2 * PAGE - 0x1001), 32);
	found = find(fixture, 0x400000 + 2 * PAGE - 0x1000);
	assert_int_equal(found.what, MODEL_BARE);
	assert_int_equal(found.file_offset, 0x20000 + 2 * PAGE - 0x1000);
	assert_int_equal(find(fixture, 0x400000 + 5 * PAGE - 1).what, MODEL_BARE);
}

static void places_beyond_a_frame_s_room_are_addresses(void **state)
{
	struct fixture *fixture = *state;

	play(0x400000, PAGE, 7, (1ull << UNWIND_FRAME_SHIFT) - 0x1000);
	play(0x800000, PAGE, 7, 1ull << UNWIND_FRAME_SHIFT);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	fixture->answer.answer = (struct worker_answer){ .file = 7, .outcome = WORKER_ANSWERED };
	learn(fixture, 2 * MS);
	assert_int_equal(find(fixture, 0x400000).file, 0);
	assert_int_equal(find(fixture, 0x800000).file, 0);
}

static void one_file_does_not_take_the_place_of_all_rules(void **state)
{
	enum { COUNT = 40 };
	struct fixture *fixture = *state;

	for (int round = 0; round < 20; round++) {
		play(0x400000, (uint64_t)COUNT * PAGE, 7, 0);
		spaces_update(fixture->spaces, &key, now);
		model_answer_init(&fixture->answer, 7, 0, 0, 20 * COUNT);
		if (!round)
			assert_int_equal(expect_request(fixture, 7, 0), 0);
		for (uint32_t i = 0; i < COUNT; i++)
			model_answer_add(&fixture->answer, (uint32_t)round * COUNT + i,
					 8 * (round * COUNT + (int32_t)i + 1));
		learn(fixture, 2 * MS);
	}
	assert_true(fixture->rules.count < 600);
	assert_true(pages_counts(fixture->pages).rules_refused > 0);
}

static void anonymous_code_is_bare_and_has_no_file(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x14fff).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x14fff).file, 0);
}

/* The answer says that the file is that runtime's. */
static void say_runtime(struct fixture *fixture, uint32_t number, const void *layout)
{
	fixture->answer.answer.runtimes[0] =
		(struct worker_runtime){ runtime_find(number), layout };
	fixture->answer.answer.runtime_count = 1;
}

static void learn_look(struct fixture *fixture, const struct process_look *look,
		       const struct runtime_found *found, enum runtime_refusal refused,
		       uint64_t spent_ns, uint64_t now_ns)
{
	const struct process_looked looked = {
		.found = found,
		.refused = refused,
		.spent_ns = spent_ns,
	};

	spaces_learn_look(fixture->spaces, look, &looked, now_ns);
}

static bool wants_look(const struct fixture *fixture)
{
	return spaces_look_due_ns(fixture->spaces) != UINT64_MAX;
}

/* A process that has loaded file 7 as libjvm.so: text at ELF address 0x21000, and its code caches
 * from 0x7f0000000000 on, 1 MiB of which is mapped. */
static void begin_jvm(struct fixture *fixture)
{
	static const uint64_t layout[RUNTIME_LAYOUT_BYTES / sizeof(uint64_t)] = { 1, 2, 3 };

	play(0x400000, 3 * PAGE - 0x1000, 7, 0x20000);
	play(0x7f0000000000, 16 * PAGE, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	assert_false(wants_look(fixture));
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 3);
	say_runtime(fixture, RUNTIME_HOTSPOT, layout);
	learn(fixture, 2 * MS);
}

static struct runtime_found two_heaps(void)
{
	struct runtime_found heaps = { .area_count = 2, .progress = 1 };

	heaps.areas[0] = (struct runtime_area){
		.start = 0x7f0000000000,
		.limit = 0x7f0000000000 + 10 * PAGE,
		.area = { 0x5000, 7 },
	};
	heaps.areas[1] = (struct runtime_area){
		.start = 0x7f0000000000 + 12 * PAGE,
		.limit = 0x7f0000000000 + 100 * PAGE,
		.area = { 0x6000, 6 },
	};
	return heaps;
}

/* As walks in user space ask, who know which mapping the address is in. */
static bool has_runtime_at(struct fixture *fixture, uint64_t address)
{
	for (size_t i = 0; i < played_count; i++)
		if (address >= played_code[i].start && address < played_code[i].limit)
			return spaces_has_runtime_at(fixture->spaces, &key, &played_code[i],
						     address);
	return false;
}

static void heaps_of_a_jvm_are_told_when_they_are_found(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found heaps = two_heaps();
	struct model_finding found;
	struct process_look look;

	begin_jvm(fixture);
	assert_int_equal(find(fixture, 0x7f0000000010).what, MODEL_BARE);
	assert_true(spaces_next_look(fixture->spaces, 3 * MS, &look));
	assert_int_equal(look.key.pid, key.pid);
	assert_int_equal(look.process.base, 0x400000 - 0x21000);
	assert_false(spaces_next_look(fixture->spaces, 3 * MS, &look));
	learn_look(fixture, &look, &heaps, RUNTIME_ACCEPTED, MS, 4 * MS);
	found = find(fixture, 0x7f0000000010);
	assert_int_equal(found.what, MODEL_RUNTIME);
	assert_int_equal(found.range->area[0], 0x5000);
	assert_int_equal(found.range->start, 0x7f0000000000);
	assert_int_equal(found.range->file, 0);
	assert_int_equal(find(fixture, 0x7f0000000000 + 10 * PAGE).what, MODEL_BARE);
	found = find(fixture, 0x7f0000000000 + 16 * PAGE - 1);
	assert_int_equal(found.what, MODEL_RUNTIME);
	assert_int_equal(found.range->area[0], 0x6000);
	assert_int_equal(find(fixture, 0x7f0000000000 + 16 * PAGE).what, MODEL_NO_RANGE);
	assert_true(has_runtime_at(fixture, 0x7f0000000010));
	assert_false(has_runtime_at(fixture, 0x7f0000000000 + 11 * PAGE));
}

static void areas_lead_to_what_was_found(void **state)
{
	const size_t words = sizeof(struct runtime_data) / sizeof(uint64_t);
	struct fixture *fixture = *state;
	struct runtime_found heaps = two_heaps();
	struct process_look look;
	const uint64_t *data;
	uint32_t told;

	begin_jvm(fixture);
	heaps.data_bytes = (words + 1) * sizeof(uint64_t);
	heaps.data[0] = 0x401000;
	heaps.data[words] = 0x1234;
	assert_true(spaces_next_look(fixture->spaces, 3 * MS, &look));
	learn_look(fixture, &look, &heaps, RUNTIME_ACCEPTED, MS, 4 * MS);
	told = find(fixture, 0x7f0000000010).range->told;
	data = kernel_model_object(&fixture->model, told);
	assert_int_equal(data[words], 0x1234);
	// It has no loops, whatever is said.
	assert_int_equal(data[0], 0);
	assert_int_equal(find(fixture, 0x7f0000000000 + 16 * PAGE - 1).range->told, told);
	assert_int_equal(find(fixture, 0x7f0000000000 + 10 * PAGE).what, MODEL_BARE);
	// More was found, in another place.
	heaps.progress++;
	heaps.data[words] = 0x5678;
	assert_true(spaces_next_look(fixture->spaces, 60000 * MS, &look));
	learn_look(fixture, &look, &heaps, RUNTIME_ACCEPTED, MS, 60000 * MS);
	told = find(fixture, 0x7f0000000010).range->told;
	data = kernel_model_object(&fixture->model, told);
	assert_int_equal(data[words], 0x5678);
}

static void a_jvm_is_looked_at_until_it_has_an_interpreter(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found none = { 0 }, heaps = two_heaps();
	uint64_t at = 3 * MS, looks = 0;
	struct process_look look;

	begin_jvm(fixture);
	for (; at < 1000000 * MS && wants_look(fixture); at += 10 * MS)
		if (spaces_next_look(fixture->spaces, at, &look)) {
			learn_look(fixture, &look, looks++ ? &heaps : &none, RUNTIME_ACCEPTED, MS,
				   at);
			assert_int_equal(find(fixture, 0x7f0000000010).what,
					 looks > 1 ? MODEL_RUNTIME : MODEL_BARE);
		}
	assert_in_range(looks, 20, 60); // and no more, if it does not come
	// What it maps next may be that.
	played_code[1].limit += PAGE;
	spaces_update(fixture->spaces, &key, at);
	assert_true(spaces_next_look(fixture->spaces, at + 100 * MS, &look));
	heaps.progress = 10000;
	heaps.complete = true;
	heaps.areas[0].area[0] = 17;
	learn_look(fixture, &look, &heaps, RUNTIME_ACCEPTED, MS, at + 101 * MS);
	assert_int_equal(find(fixture, 0x7f0000000010).range->area[0], 17);
	assert_true(wants_look(fixture));
	// It is made piece by piece.
	assert_true(spaces_next_look(fixture->spaces, at + 200 * MS, &look));
	heaps.progress = 80000;
	heaps.areas[0].area[0] = 18;
	learn_look(fixture, &look, &heaps, RUNTIME_ACCEPTED, MS, at + 201 * MS);
	assert_int_equal(find(fixture, 0x7f0000000010).range->area[0], 18);
	assert_true(spaces_next_look(fixture->spaces, at + 300 * MS, &look));
	learn_look(fixture, &look, &heaps, RUNTIME_ACCEPTED, MS, at + 301 * MS);
	assert_false(wants_look(fixture));
	spaces_update(fixture->spaces, &key, at + 302 * MS);
	assert_false(wants_look(fixture));
}

/* A process may see to it that each look takes as long as one may. */
static void looks_at_jvms_take_a_share_of_the_time(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found none = { 0 };
	uint64_t at = 3 * MS, looks = 0;
	struct process_look look;

	space_owners[key.pid / MODEL_BUCKETS % 16] = (struct owner){ 1000, 0 };
	begin_jvm(fixture);
	for (; at < 60000 * MS; at += 10 * MS) {
		if (spaces_next_look(fixture->spaces, at, &look)) {
			// But for the first quarter of a second, and the look that begins.
			assert_true(looks * 250 * MS < 250 * MS + at / 5);
			at += 250 * MS;
			learn_look(fixture, &look, &none, RUNTIME_ACCEPTED, 250 * MS, at);
			looks++;
		}
		played_code[1].limit += PAGE;
		spaces_update(fixture->spaces, &key, at);
	}
	assert_in_range(looks, 5, 10); // and then it is given up
	assert_false(wants_look(fixture));
}

/* It has made room for others, and nobody samples it. */
static void a_jvm_that_is_not_told_of_is_not_brought_back(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found heaps = two_heaps();
	struct process_key others[UNWIND_BUCKET_SLOTS];
	struct process_look look;

	begin_jvm(fixture);
	assert_true(spaces_next_look(fixture->spaces, 3 * MS, &look));
	unsampled_pid = key.pid;
	for (size_t i = 0; i < UNWIND_BUCKET_SLOTS; i++) {
		others[i] = key;
		others[i].pid += (uint32_t)(i + 1) * MODEL_BUCKETS;
		spaces_update(fixture->spaces, &others[i], 4 * MS);
	}
	assert_int_equal(find(fixture, 0x7f0000000010).what, MODEL_NO_PROCESS);
	learn_look(fixture, &look, &heaps, RUNTIME_ACCEPTED, MS, 5 * MS);
	assert_int_equal(find(fixture, 0x7f0000000010).what, MODEL_NO_PROCESS);
	spaces_miss(fixture->spaces, &key, 700 * MS);
	assert_true(has_runtime_at(fixture, 0x7f0000000010));
}

/* What was found out of one program is not another one's. */
static void a_jvm_that_has_ended_is_not_learned_of(void **state)
{
	struct fixture *fixture = *state;
	struct process_key next = key;
	struct runtime_found heaps = two_heaps();
	struct process_look look;

	begin_jvm(fixture);
	assert_true(spaces_next_look(fixture->spaces, 3 * MS, &look));
	next.exec_id++;
	played_code[0].file = PROCESS_NO_FILE;
	spaces_update(fixture->spaces, &next, 4 * MS);
	learn_look(fixture, &look, &heaps, RUNTIME_ACCEPTED, MS, 5 * MS);
	assert_int_equal(find_of(fixture, &next, 0x7f0000000010).what, MODEL_BARE);
	assert_false(wants_look(fixture));
}

/* ---- what interprets ---- */

/* With text at ELF address 0x21000, as below: the loop lies in the second page of 4 KiB and the
 * third one. */
static const uint64_t toy_layout[RUNTIME_LAYOUT_BYTES / sizeof(uint64_t)] = { 0x50000, 0x22340,
									      0x23010 };

/* The file is of one more runtime. */
static void say_toy_too(struct fixture *fixture)
{
	struct worker_answer *answer = &fixture->answer.answer;

	answer->runtimes[answer->runtime_count++] =
		(struct worker_runtime){ runtime_find(RUNTIME_TOY), toy_layout };
}

/* A process that runs file 7, an interpreter, which has been looked at. */
static void begin_toy(struct fixture *fixture, struct process_look *look)
{
	play(0x400000, 3 * PAGE - 0x1000, 7, 0x20000);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 3);
	model_answer_add(&fixture->answer, 2, 16);
	model_answer_add(&fixture->answer, 3, 32);
	say_toy_too(fixture);
	learn(fixture, 2 * MS);
	assert_int_equal(find(fixture, 0x401340).what, MODEL_RULE);
	assert_true(spaces_next_look(fixture->spaces, 3 * MS, look));
	assert_int_equal(look->process.base, 0x400000 - 0x21000);
}

/* What a look at it finds. */
static struct runtime_found toy_found(uint64_t progress)
{
	struct runtime_found found = { .progress = progress, .complete = 1 };

	found.data_bytes = sizeof(struct runtime_data) + sizeof(uint64_t);
	// What it says of its loops is not believed.
	for (size_t i = 0; i < sizeof(struct runtime_data) / sizeof(uint64_t); i++)
		found.data[i] = UINT64_MAX;
	found.data[sizeof(struct runtime_data) / sizeof(uint64_t)] = 0x7f0000001230 + progress;
	return found;
}

static void expect_loop(struct fixture *fixture, uint64_t pc, uint64_t told)
{
	struct model_finding found = find(fixture, pc);
	const struct runtime_data *data;

	assert_int_equal(found.what, MODEL_RUNTIME);
	assert_int_equal(found.range->kind, UNWIND_RANGE_LOOP + RUNTIME_TOY);
	assert_int_equal(found.range->start, 0x401000);
	assert_int_equal(found.range->pages, 2);
	assert_int_equal(found.range->file, 8);
	assert_int_equal(found.range->file_page, 0x21);
	assert_int_equal(found.range->page, 0x2);
	assert_true(found.range->directory && found.range->data);
	data = kernel_model_object(&fixture->model, found.range->data);
	assert_int_equal(data->loops[0].start, 0x2340);
	assert_int_equal(data->loops[0].limit, 0x3010);
	for (size_t i = 1; i < RUNTIME_LOOPS; i++)
		assert_true(!data->loops[i].start && !data->loops[i].limit);
	assert_int_equal(((const uint64_t *)(data + 1))[0], told);
}

static void loops_of_an_interpreter_are_told_with_its_data(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found found = toy_found(1);
	struct process_look look;

	begin_toy(fixture, &look);
	learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, 4 * MS);
	expect_loop(fixture, 0x401340, 0x7f0000001231);
	expect_loop(fixture, 0x401000, 0x7f0000001231);
	expect_loop(fixture, 0x402fff, 0x7f0000001231);
	// Around it all is as before.
	assert_int_equal(mark_at(fixture, 0x400fff), 16);
	assert_int_equal(mark_at(fixture, 0x403000), 16);
	assert_int_equal(mark_at(fixture, 0x400000 + PAGE), 32);
	// Those who walk in user space go by the byte.
	assert_false(has_runtime_at(fixture, 0x40133f));
	assert_true(has_runtime_at(fixture, 0x401340));
	assert_true(has_runtime_at(fixture, 0x40200f));
	assert_false(has_runtime_at(fixture, 0x402010));
	spaces_end(fixture->spaces, &key);
	assert_int_equal(find(fixture, 0x401340).what, MODEL_NO_PROCESS);
	assert_int_equal(spaces_counts(fixture->spaces).memory, 0);
}

static void more_of_an_interpreters_data_takes_the_place_of_less(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found found = toy_found(1);
	struct process_look look;
	uint64_t used;

	begin_toy(fixture, &look);
	found.complete = 0;
	learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, 4 * MS);
	used = memory_used(fixture->memory);
	for (uint64_t i = 2; i < 100; i++) {
		assert_true(spaces_next_look(fixture->spaces, i * 100000 * MS, &look));
		found = toy_found(i);
		found.complete = 0;
		learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, i * 100000 * MS);
		expect_loop(fixture, 0x401340, 0x7f0000001230 + i);
		assert_int_equal(memory_used(fixture->memory), used);
		// What it maps may be what is missing.
		played_code[0].limit ^= PAGE;
		spaces_update(fixture->spaces, &key, i * 100000 * MS);
		played_code[0].limit ^= PAGE;
		spaces_update(fixture->spaces, &key, i * 100000 * MS);
	}
}

/* As key, by another process that was forked from it. */
static struct process_key forked(void)
{
	struct process_key child = key;

	child.pid += MODEL_BUCKETS; // whose code is played, too
	child.start_boottime_ns++;
	return child;
}

static uint32_t known_toys(const struct fixture *fixture)
{
	return (uint32_t)spaces_counts(fixture->spaces).runtimes[RUNTIME_TOY].known;
}

static void a_fork_is_walked_by_what_is_known_of_its_parent(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found found = toy_found(5);
	struct process_key child = forked();
	struct runtime_process process;
	struct model_finding told;
	struct process_look look;

	begin_toy(fixture, &look);
	learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, 4 * MS);
	spaces_update(fixture->spaces, &child, 100 * MS);
	told = find_of(fixture, &child, 0x401340);
	assert_int_equal(told.what, MODEL_RUNTIME);
	assert_true(told.range->data != find(fixture, 0x401340).range->data);
	assert_true(spaces_find_runtime(fixture->spaces, &child, RUNTIME_TOY, &process));
	assert_int_equal(known_toys(fixture), 2);
	// It outlives its parent.
	spaces_end(fixture->spaces, &key);
	assert_int_equal(find_of(fixture, &child, 0x401340).what, MODEL_RUNTIME);
	assert_int_equal(known_toys(fixture), 1);
	// What is found in itself counts, even if it is less.
	assert_true(spaces_next_look(fixture->spaces, 200 * MS, &look));
	assert_int_equal(look.key.pid, child.pid);
	found = toy_found(3);
	learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, 201 * MS);
	told = find_of(fixture, &child, 0x401340);
	assert_int_equal(
		((const uint64_t *)kernel_model_object(
			&fixture->model, told.range->data))[sizeof(struct runtime_data) / 8],
		0x7f0000001233);
	assert_int_equal(known_toys(fixture), 1);
	spaces_end(fixture->spaces, &child);
	assert_int_equal(known_toys(fixture), 0);
	assert_int_equal(spaces_counts(fixture->spaces).memory, 0);
}

static void what_a_fork_has_inherited_ends_where_it_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found found = toy_found(1);
	struct process_key child = forked();
	struct process_look look;

	begin_toy(fixture, &look);
	learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, 4 * MS);
	assert_true(spaces_next_look(fixture->spaces, 50 * MS, &look));
	learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, 51 * MS);
	assert_false(wants_look(fixture));
	spaces_update(fixture->spaces, &child, 100 * MS);
	// Nothing yet is no other thing.
	assert_true(spaces_next_look(fixture->spaces, 200 * MS, &look));
	learn_look(fixture, &look, NULL, RUNTIME_ACCEPTED, MS, 201 * MS);
	assert_int_equal(find_of(fixture, &child, 0x401340).what, MODEL_RUNTIME);
	assert_true(spaces_next_look(fixture->spaces, 400 * MS, &look));
	learn_look(fixture, &look, NULL, RUNTIME_REFUSED_MEMORY, MS, 401 * MS);
	assert_int_equal(find_of(fixture, &child, 0x401340).what, MODEL_RULE);
	assert_int_equal(find(fixture, 0x401340).what, MODEL_RUNTIME);
	assert_int_equal(known_toys(fixture), 1);
	assert_int_equal(spaces_counts(fixture->spaces)
				 .runtimes[RUNTIME_TOY]
				 .refused[RUNTIME_REFUSED_MEMORY],
			 1);
	assert_false(wants_look(fixture));
}

static void another_program_inherits_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found found = toy_found(1);
	struct process_key other = forked();
	struct process_look look;

	begin_toy(fixture, &look);
	learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, 4 * MS);
	other.exec_id++;
	spaces_update(fixture->spaces, &other, 100 * MS);
	assert_int_equal(find_of(fixture, &other, 0x401340).what, MODEL_RULE);
	// Nor does one that has the file elsewhere.
	other = forked();
	other.pid += MODEL_BUCKETS;
	played_code[0].start += PAGE;
	played_code[0].limit += PAGE;
	spaces_update(fixture->spaces, &other, 200 * MS);
	assert_int_equal(find_of(fixture, &other, 0x401340 + PAGE).what, MODEL_RULE);
	assert_int_equal(known_toys(fixture), 1);
}

/* Its program is told of what is asked about its frames. */
static void what_was_found_is_known_to_who_names_frames(void **state)
{
	struct fixture *fixture = *state;
	struct runtime_found found = toy_found(1);
	struct runtime_process process;
	struct process_look look;

	begin_toy(fixture, &look);
	assert_false(spaces_find_runtime(fixture->spaces, &key, RUNTIME_TOY, &process));
	learn_look(fixture, &look, &found, RUNTIME_ACCEPTED, MS, 4 * MS);
	assert_true(spaces_find_runtime(fixture->spaces, &key, RUNTIME_TOY, &process));
	assert_ptr_equal(process.runtime, runtime_find(RUNTIME_TOY));
	assert_int_equal(process.base, 0x400000 - 0x21000);
	assert_int_equal(process.layout[0], 0x50000);
	assert_int_equal(process.data_bytes, found.data_bytes);
	assert_memory_equal(process.data, found.data, found.data_bytes);
	assert_false(spaces_find_runtime(fixture->spaces, &key, RUNTIME_HOTSPOT, &process));
}

static void a_jvm_is_a_process_like_others_where_they_are_skipped(void **state)
{
	struct fixture *fixture = *state;

	spaces_disable_runtimes(fixture->spaces, 1u << RUNTIME_HOTSPOT, 0);
	begin_jvm(fixture);
	assert_false(wants_look(fixture));
	assert_int_equal(spaces_counts(fixture->spaces).runtimes[RUNTIME_HOTSPOT].count, 0);
	assert_int_equal(find(fixture, 0x7f0000000010).what, MODEL_BARE);
	// Nor with what it maps next.
	played_code[1].limit += PAGE;
	spaces_update(fixture->spaces, &key, 3 * MS);
	assert_false(wants_look(fixture));
	assert_int_equal(find(fixture, 0x7f0000000000 + 17 * PAGE - 1).what, MODEL_BARE);
}

static void the_vsyscall_page_hides_nothing(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	play(0xffffffffff600000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0xffffffffff600000).what, MODEL_NO_RANGE);
}

static void the_vdso_of_this_machine_has_rules(void **state)
{
	struct fixture *fixture = *state;

	pages_learn_vdso(fixture->pages);
	played_code[played_count++] = (struct process_code){ .start = 0x7fff0000,
							     .limit = 0x7fff0000 + 0x2000,
							     .file = PROCESS_NO_FILE,
							     .vdso = true };
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x7fff0000).what, MODEL_RULE);
	assert_int_equal(find(fixture, 0x7fff0000).file, 0);
}

static void changes_replace_what_was(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	played_count = 0;
	play(0x20000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_RANGE);
	assert_int_equal(find(fixture, 0x20000).what, MODEL_BARE);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 1);
}

static void another_program_of_the_pid_is_another_process(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	other.exec_id++;
	spaces_update(fixture->spaces, &other, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_PROCESS);
	spaces_end(fixture->spaces, &key); // late news of the first
	assert_int_equal(kernel_model_find(&fixture->model, other.pid,
					   unwind_identity(other.start_boottime_ns, other.exec_id),
					   0x10000)
				 .what,
			 MODEL_BARE);
	spaces_end(fixture->spaces, &other);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 0);
}

static void a_bucket_that_is_full_refuses_and_counts(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	for (uint32_t i = 0; i <= UNWIND_BUCKET_SLOTS; i++) {
		other.pid = key.pid + i * MODEL_BUCKETS;
		spaces_update(fixture->spaces, &other, now);
	}
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 1);
	spaces_end(fixture->spaces, &key);
	spaces_update(fixture->spaces, &other, now);
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
}

static void the_index_is_as_large_as_the_memory_allows(void **state)
{
	(void)state;
	assert_int_equal(process_index_size(32 << 20) * UNWIND_BUCKET_SLOTS, 16384);
	assert_int_equal(process_index_size(33 << 20), process_index_size(32 << 20));
	assert_int_equal(process_index_size(1 << 20) * UNWIND_BUCKET_SLOTS, 512);
	assert_int_equal(process_index_size(1 << 30) * UNWIND_BUCKET_SLOTS, 524288);
	assert_int_equal(process_index_size(0), 1);
}

/* Of the memory, in ranges: so many may one process have. */
enum { EIGHTH = MODEL_SLABS * UNWIND_SLAB_BYTES / 8 / sizeof(struct unwind_range) };

static void ranges_beyond_the_limit_are_counted(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < 9000; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x10000 + (EIGHTH - 1) * 0x2000ull).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x10000 + EIGHTH * 0x2000ull).what, MODEL_NO_RANGE);
	assert_int_equal(spaces_counts(fixture->spaces).ranges_dropped, 9000 - EIGHTH);
}

static void very_many_mappings_lie_in_pieces(void **state)
{
	enum { COUNT = 5000 };
	struct fixture *fixture = *state;
	uint64_t written;

	for (uint64_t i = 0; i < COUNT; i++)
		play(0x1000000 + i * 0x3000, 0x2000, (uint32_t)(i % 3), i << 20);
	spaces_update(fixture->spaces, &key, now);
	for (uint32_t file = 0; file < 3; file++)
		assert_int_equal(expect_request(fixture, file, 0), 0);
	for (uint32_t file = 0; file < 3; file++) {
		fixture->answer.answer =
			(struct worker_answer){ .file = file, .outcome = WORKER_ANSWERED };
		learn(fixture, now);
	}
	// Told of its files together.
	assert_int_equal(find(fixture, 0x1000000).what, MODEL_NO_PROCESS);
	assert_true(spaces_waits(fixture->spaces));
	now += 1000 * MS;
	spaces_retry(fixture->spaces, now);
	assert_false(spaces_waits(fixture->spaces));
	for (uint64_t i = 0; i < COUNT; i++) {
		uint64_t start = 0x1000000 + i * 0x3000;

		assert_int_equal(find(fixture, start).file, i % 3 + 1);
		assert_int_equal(find(fixture, start + 0x1fff).file_offset, (i << 20) + 0x1fff);
		assert_int_equal(find(fixture, start + 0x2000).what, MODEL_NO_RANGE);
	}
	assert_int_equal(find(fixture, 0xffffff).what, MODEL_NO_RANGE);
	assert_int_equal(spaces_counts(fixture->spaces).ranges_dropped, 0);
	// What it maps below all of them changes what lies there only.
	written = fixture->model.written;
	memmove(played_code + 1, played_code, played_count++ * sizeof(*played_code));
	played_code[0] = (struct process_code){ 0x10000, 0x11000, 0, PROCESS_NO_FILE, false };
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x1000000).file, 1);
	assert_true(fixture->model.written - written <
		    500 * sizeof(struct unwind_range) + COUNT / 100 * sizeof(struct unwind_piece));
	spaces_end(fixture->spaces, &key);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 0);
}

static void pieces_of_forks_are_shared(void **state)
{
	struct fixture *fixture = *state;
	struct process_key child = { key.pid + MODEL_BUCKETS, key.exec_id, 100 };
	uint64_t used;

	for (uint64_t i = 0; i < 4000; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	used = memory_used(fixture->memory);
	assert_true(used >= 4000 * sizeof(struct unwind_range));
	spaces_update(fixture->spaces, &child, now);
	assert_int_equal(memory_used(fixture->memory), used);
	spaces_end(fixture->spaces, &key);
	assert_int_equal(kernel_model_find(&fixture->model, child.pid,
					   unwind_identity(100, key.exec_id),
					   0x10000 + 3999 * 0x2000)
				 .what,
			 MODEL_BARE);
	spaces_end(fixture->spaces, &child);
	assert_int_equal(memory_used(fixture->memory), 0);
}

/* ---- walks in user space ---- */

static uint32_t copies(const struct fixture *fixture)
{
	return kernel_model_copies(&fixture->model, key.pid, identity());
}

static bool may_copy(const struct fixture *fixture)
{
	return copies(fixture) == UNWIND_MAY_COPY;
}

static void stacks_of_a_process_may_be_copied(void **state)
{
	struct fixture *fixture = *state;
	const struct unwind_range *ranges;
	struct code_file *file = NULL;
	uint32_t rule;
	size_t count;

	begin_process(fixture, 3);
	assert_null(spaces_ranges(fixture->spaces, &key, UINT64_MAX, &count));
	model_answer_add(&fixture->answer, 2, 16);
	model_answer_add(&fixture->answer, 4, 48);
	learn(fixture, 2 * MS);
	assert_true(may_copy(fixture));
	ranges = spaces_ranges(fixture->spaces, &key, UINT64_MAX, &count);
	assert_non_null(ranges);
	assert_int_equal(count, 1);
	assert_int_equal(ranges->start, 0x400000);
	assert_int_equal(spaces_counts(fixture->spaces).memory, sizeof(*ranges));
	assert_int_equal(pages_find_in_range(fixture->pages, ranges, &file, 0x400010, now, &rule),
			 PAGES_FOUND);
	assert_int_equal(fixture->model.rules[rule].cfa_offset, 16);
	assert_int_equal(pages_find_in_range(fixture->pages, ranges, &file,
					     0x400000 + 0xf000 + PAGE, now, &rule),
			 PAGES_FOUND);
	assert_int_equal(fixture->model.rules[rule].cfa_offset, 48);
	assert_int_equal(pages_find_in_range(fixture->pages, ranges, &file, 0x40f000, now, &rule),
			 PAGES_LATER);
	assert_int_equal(expect_request(fixture, 7, 3), 1);
	// Beyond the file's directory, which walks may be led to by a range of before.
	assert_int_equal(
		pages_find_in_range(fixture->pages, ranges, &file, 0x400000 + 3 * PAGE, now, &rule),
		PAGES_NONE);
}

/* Its process has other code, and is told already. */
static void a_range_of_before_its_file_was_known_is_not_gone_by(void **state)
{
	struct fixture *fixture = *state;
	const struct unwind_range *ranges;
	struct code_file *file = NULL;
	struct unwind_range of_before;
	uint32_t rule;
	size_t count;

	begin_process(fixture, 3);
	model_answer_add(&fixture->answer, 2, 16);
	learn(fixture, 2 * MS);
	ranges = spaces_ranges(fixture->spaces, &key, UINT64_MAX, &count);
	assert_non_null(ranges);
	of_before = *ranges;
	of_before.directory = 0;
	assert_int_equal(
		pages_find_in_range(fixture->pages, &of_before, &file, 0x400010, now, &rule),
		PAGES_LATER);
	// No file at all.
	of_before.file = 99;
	file = NULL;
	assert_int_equal(
		pages_find_in_range(fixture->pages, &of_before, &file, 0x400010, now, &rule),
		PAGES_LATER);
}

/* The kernel side knew something else then, or nothing. */
static void ranges_of_another_time_are_not_gone_by(void **state)
{
	struct fixture *fixture = *state;
	struct process_key older = key;
	uint64_t before, after;
	size_t count;

	begin_process(fixture, 1);
	before = clock_monotonic_ns();
	learn(fixture, 2 * MS);
	after = clock_monotonic_ns();
	assert_null(spaces_ranges(fixture->spaces, &key, before - 1, &count));
	assert_non_null(spaces_ranges(fixture->spaces, &key, after, &count));
	older.exec_id--;
	assert_null(spaces_ranges(fixture->spaces, &older, after, &count));
	played_code[0].limit += 0x1000;
	spaces_update(fixture->spaces, &key, now);
	assert_null(spaces_ranges(fixture->spaces, &key, after, &count));
	// Told again, but nothing new.
	after = clock_monotonic_ns();
	spaces_update(fixture->spaces, &key, now);
	assert_non_null(spaces_ranges(fixture->spaces, &key, after, &count));
}

static void stacks_of_code_that_changes_them_are_not_copied(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 3);
	model_answer_add(&fixture->answer, 2, 16);
	learn(fixture, 2 * MS);
	assert_true(may_copy(fixture));
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 3);
	model_answer_add(&fixture->answer, 3, 32);
	fixture->answer.rules[0].stack_switch = 1;
	learn(fixture, 1000 * MS);
	assert_false(may_copy(fixture));
	assert_int_equal(mark_at(fixture, 0x400010), 16);
}

/* Its first and last instructions are told from the others by the kernel side. */
static void stacks_of_a_process_with_code_of_no_file_are_not_copied(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 3);
	model_answer_add(&fixture->answer, 2, 16);
	learn(fixture, 2 * MS);
	assert_true(may_copy(fixture));
	play(0x7f0000000000, PAGE, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_false(may_copy(fixture));
}

static const struct go_layout go_126 = { .version = "go1.26.8", .current = -8, .is_current = 1 };
static const struct go_layout go_128 = { .version = "go1.28", .current = -8, .is_current = 1 };

static void of_a_go_program_goroutines_stacks_are_copied(void **state)
{
	struct fixture *fixture = *state;
	uint32_t of_go = worker_machine() == EM_X86_64 ? UNWIND_MAY_COPY_OF_RUNTIME : 0;

	begin_process(fixture, 3);
	say_runtime(fixture, RUNTIME_GO, &go_126);
	learn(fixture, 2 * MS);
	assert_int_equal(copies(fixture), of_go);
	// A page that says that its code changes stacks says nothing new.
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 3);
	model_answer_add(&fixture->answer, 3, 32);
	fixture->answer.rules[0].stack_switch = 1;
	learn(fixture, 1000 * MS);
	assert_int_equal(copies(fixture), of_go);
	// A stack led out of its copy.
	spaces_copy_no_more(fixture->spaces, &key);
	assert_int_equal(copies(fixture), 0);
}

/* What it interprets is walked. */
static void of_a_go_program_with_an_interpreter_no_stacks_are_copied(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 3);
	say_runtime(fixture, RUNTIME_GO, &go_126);
	say_toy_too(fixture);
	learn(fixture, 2 * MS);
	assert_int_equal(copies(fixture), 0);
}

/* What the kernel side knows of where labels of the process lie; NULL: nothing. */
static const struct go_data *labels(const struct fixture *fixture)
{
	uint32_t handle = kernel_model_labels(&fixture->model, key.pid, identity());

	return handle ? kernel_model_object(&fixture->model, handle) : NULL;
}

static void of_a_go_program_it_is_told_where_labels_lie(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 3);
	say_runtime(fixture, RUNTIME_GO, &go_126);
	learn(fixture, 2 * MS);
	assert_non_null(labels(fixture));
	assert_int_equal(labels(fixture)->current, -8);
	assert_int_equal(labels(fixture)->goroutine_labels, 352);
	// Of one that has ended nothing is left.
	spaces_end(fixture->spaces, &key);
	assert_null(labels(fixture));
}

static void of_an_unknown_go_no_labels_are_read(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 3);
	say_runtime(fixture, RUNTIME_GO, &go_128);
	learn(fixture, 2 * MS);
	assert_null(labels(fixture));
	assert_int_equal(spaces_counts(fixture->spaces)
				 .runtimes[RUNTIME_GO]
				 .refused[RUNTIME_REFUSED_VERSION],
			 1);
}

static void labels_that_are_disabled_are_not_read(void **state)
{
	struct fixture *fixture = *state;

	spaces_disable_runtimes(fixture->spaces, 0, 1u << RUNTIME_GO);
	begin_process(fixture, 3);
	say_runtime(fixture, RUNTIME_GO, &go_126);
	learn(fixture, 2 * MS);
	assert_null(labels(fixture));
}

/* It may call C, and that may call back. */
static void of_a_go_program_with_libraries_no_stacks_are_copied(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 3);
	say_runtime(fixture, RUNTIME_GO, &go_126);
	learn(fixture, 2 * MS);
	assert_false(may_copy(fixture));
	play(0x7f0000000000, 0x1000, 8, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(copies(fixture), 0);
	// Another program in its place is another matter.
	played_count = 0;
	spaces_end(fixture->spaces, &key);
	play(0x10000, 0x1000, 8, 0x20000);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 8, 0), 0);
	model_answer_init(&fixture->answer, 8, 0x21000, 0x20000, 3);
	learn(fixture, 2 * MS);
	assert_true(may_copy(fixture));
}

static void stacks_that_were_elsewhere_are_not_copied_again(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 1);
	learn(fixture, 2 * MS);
	assert_true(may_copy(fixture));
	spaces_copy_no_more(fixture->spaces, &key);
	assert_false(may_copy(fixture));
	played_code[0].limit += 0x1000;
	spaces_update(fixture->spaces, &key, now);
	assert_false(may_copy(fixture));
	assert_int_equal(find(fixture, 0x400000).what, MODEL_NO_PAGE);
	spaces_end(fixture->spaces, &key);
	assert_int_equal(spaces_counts(fixture->spaces).memory, 0);
}

static void stacks_of_a_jvm_are_not_copied(void **state)
{
	struct fixture *fixture = *state;

	begin_jvm(fixture);
	assert_int_equal(find(fixture, 0x7f0000000010).what, MODEL_BARE);
	assert_false(may_copy(fixture));
}

static void stacks_of_a_process_with_very_much_code_are_not_copied(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i <= RANGE_SETS_KEPT; i++)
		play(0x10000 + i * 0x2000, 0x1000, 8, 0x20000);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 8, 0), 0);
	model_answer_init(&fixture->answer, 8, 0x21000, 0x20000, 3);
	learn(fixture, 2 * MS);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_PAGE);
	assert_false(may_copy(fixture));
	played_count--;
	spaces_update(fixture->spaces, &key, now);
	assert_true(may_copy(fixture));
}

/* Pages of 2,567 bytes: two slabs hold 24. */
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
	assert_true(fixture->model.slab_count <= 2);
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

	fill(fixture, 21);
	for (int batch = 0; batch < 3; batch++) {
		pages_next_epoch(fixture->pages);
		pages_touch(fixture->pages, 7, 0x20000, 2 * MS);
	}
	pages_evict(fixture->pages, limit);
	assert_int_equal(mark_at(fixture, 0x400000), 16);
	assert_int_equal(find(fixture, 0x400000 + PAGE).what, MODEL_NO_PAGE);
	assert_true(pages_counts(fixture->pages).evicted > 0);
	// There is room again when no walk can be reading it any more.
	pages_miss(fixture->pages, 7, 0x20000 + PAGE, 3000 * MS);
	assert_int_equal(expect_request(fixture, 7, 3), 3); // what is missing of its group
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 21);
	model_answer_add(&fixture->answer, 3, 64);
	learn(fixture, 3001 * MS);
	assert_int_equal(mark_at(fixture, 0x400000 + PAGE), 64);
}

static void what_was_missed_comes_when_there_is_room(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, 64);
	pages_miss(fixture->pages, 7, 0x20000 + 62 * PAGE, 3000 * MS);
	assert_true(expect_request(fixture, 7, 58) > 0);
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 64);
	model_answer_add(&fixture->answer, 64, 64);
	learn(fixture, 3001 * MS);
	assert_int_equal(find(fixture, 0x400000 + 62 * PAGE).what, MODEL_NO_PAGE);
	for (int batch = 0; batch < 3; batch++)
		pages_next_epoch(fixture->pages);
	assert_true(pages_waits(fixture->pages));
	pages_evict(fixture->pages, UINT64_MAX);
	now += 200 * MS;
	pages_retry(fixture->pages, 3200 * MS);
	expect_no_request(fixture);
	pages_retry(fixture->pages, 3600 * MS);
	// Only what a walk has missed: its neighbours were company.
	assert_int_equal(expect_request(fixture, 7, 64), 1);
	model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 64);
	model_answer_add(&fixture->answer, 64, 64);
	learn(fixture, 3601 * MS);
	assert_int_equal(mark_at(fixture, 0x400000 + 62 * PAGE), 64);
}

static void without_room_it_is_not_tried_for_ever(void **state)
{
	struct fixture *fixture = *state;
	uint64_t time = 3000;
	int attempts = 0;

	fill(fixture, 64);
	pages_miss(fixture->pages, 7, 0x20000 + 62 * PAGE, time * MS);
	for (; time < 10000; time += 200) {
		struct pages_request request;

		if (pages_next_request(fixture->pages, NULL, NULL, &request)) {
			attempts++;
			model_answer_init(&fixture->answer, 7, 0x21000, 0x20000, 64);
			model_answer_add(&fixture->answer, 64, 64);
			learn(fixture, time * MS);
		}
		pages_retry(fixture->pages, time * MS);
	}
	assert_in_range(attempts, 2, 4);
}

static void what_is_in_use_stays_even_when_full(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, 22);
	pages_next_epoch(fixture->pages);
	pages_evict(fixture->pages, 2 * UNWIND_SLAB_BYTES);
	assert_int_equal(pages_counts(fixture->pages).evicted, 0);
}

static void a_file_nobody_runs_goes_with_its_last_page(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, 22);
	spaces_end(fixture->spaces, &key);
	assert_int_equal(pages_counts(fixture->pages).files, 1);
	for (int batch = 0; batch < 3; batch++)
		pages_next_epoch(fixture->pages);
	pages_evict(fixture->pages, 0);
	assert_int_equal(pages_counts(fixture->pages).files, 0);
	assert_int_equal(pages_counts(fixture->pages).pages, 0);
	// It may come back.
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
}

static void a_refusal_makes_room(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, 64);
	assert_true(pages_counts(fixture->pages).refused > 0);
	for (int batch = 0; batch < 3; batch++)
		pages_next_epoch(fixture->pages);
	// However little three quarters of the limit are.
	pages_evict(fixture->pages, UINT64_MAX);
	assert_true(pages_counts(fixture->pages).evicted > 0);
}

static void what_is_freed_is_not_evicted_for_again(void **state)
{
	struct fixture *fixture = *state;
	uint64_t evicted;

	fill(fixture, 21);
	for (int batch = 0; batch < 3; batch++)
		pages_next_epoch(fixture->pages);
	pages_evict(fixture->pages, 2 * UNWIND_SLAB_BYTES);
	evicted = pages_counts(fixture->pages).evicted;
	assert_true(evicted > 0);
	pages_evict(fixture->pages, 2 * UNWIND_SLAB_BYTES);
	assert_int_equal(pages_counts(fixture->pages).evicted, evicted);
}

static void a_process_that_was_refused_gets_in_later(void **state)
{
	struct fixture *fixture = *state;
	uint8_t bytes[UNWIND_OBJECT_BYTES - UNWIND_LINE_BYTES] = { 0 };
	uint32_t first = memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes));
	uint32_t second = memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes));

	assert_true(first && second);
	for (uint64_t i = 0; i < 100; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_PROCESS);
	spaces_retry(fixture->spaces, now);
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 1);
	memory_free(fixture->memory, MEMORY_DROPPABLE, first, sizeof(bytes));
	now += 600 * MS;
	spaces_retry(fixture->spaces, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
}

static void what_cannot_be_dropped_takes_half_at_most(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;
	uint8_t bytes[8000] = { 0 };

	assert_true(memory_put(fixture->memory, MEMORY_FIXED, bytes, sizeof(bytes)));
	for (uint64_t i = 0; i < 250; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	for (uint32_t i = 0; i < UNWIND_BUCKET_SLOTS; i++) {
		other.pid = key.pid + i * MODEL_BUCKETS;
		played_code[0].start -= 0x1000;
		spaces_update(fixture->spaces, &other, now);
	}
	// A third one's would take what is kept for other owners.
	assert_int_equal(spaces_counts(fixture->spaces).processes, 2);
	assert_true(memory_used(fixture->memory) <= UNWIND_SLAB_BYTES);
}

static void those_never_sampled_make_room_in_memory(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;
	uint8_t bytes[20000] = { 0 };

	assert_true(memory_put(fixture->memory, MEMORY_FIXED, bytes, sizeof(bytes)));
	for (uint64_t i = 0; i < 250; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	other.pid = unsampled_pid = key.pid + MODEL_BUCKETS;
	spaces_update(fixture->spaces, &other, now);
	played_code[0].limit += 0x1000;
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_PROCESS);
	// Nobody else needs what the other one has by the next time.
	spaces_retry(fixture->spaces, now);
	now += 600 * MS;
	spaces_retry(fixture->spaces, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 1);
}

static void those_sampled_longest_ago_make_room_in_memory(void **state)
{
	struct fixture *fixture = *state;
	struct process_key others[] = { key, key, key };
	uint8_t bytes[12000] = { 0 };

	// Two have room.
	assert_true(memory_put(fixture->memory, MEMORY_FIXED, bytes, sizeof(bytes)));
	for (uint64_t i = 0; i < 250; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	now = 60000 * MS;
	for (uint32_t i = 0; i < 3; i++) {
		others[i].pid = key.pid + i * MODEL_BUCKETS;
		sampled_ns[others[i].pid / MODEL_BUCKETS] = i ? now : MS;
		played_code[0].limit += 0x1000; // of each other ones
		spaces_update(fixture->spaces, &others[i], now);
	}
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 1);
	spaces_retry(fixture->spaces, now);
	now += 600 * MS;
	spaces_retry(fixture->spaces, now);
	assert_int_equal(find_of(fixture, &others[0], 0x10000).what, MODEL_NO_PROCESS);
	assert_int_equal(find_of(fixture, &others[1], 0x10000).what, MODEL_BARE);
	assert_int_equal(find_of(fixture, &others[2], 0x10000).what, MODEL_BARE);
	assert_int_equal(spaces_counts(fixture->spaces).processes_evicted, 1);
}

static void forks_share_their_ranges(void **state)
{
	struct fixture *fixture = *state;
	struct process_key child = { key.pid + MODEL_BUCKETS, key.exec_id, 100 };
	uint64_t used;

	for (uint64_t i = 0; i < 100; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	used = memory_used(fixture->memory);
	spaces_update(fixture->spaces, &child, now);
	assert_int_equal(memory_used(fixture->memory), used);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 2);
	assert_int_equal(find_of(fixture, &child, 0x10000).what, MODEL_BARE);
	// What one maps or leaves is nothing to the other.
	play(0x8000, 0x1000, PROCESS_NO_FILE, 0);
	played_code[0] = played_code[--played_count];
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_RANGE);
	assert_int_equal(find_of(fixture, &child, 0x10000).what, MODEL_BARE);
	spaces_end(fixture->spaces, &key);
	assert_int_equal(find_of(fixture, &child, 0x10000).what, MODEL_BARE);
	spaces_end(fixture->spaces, &child);
	assert_int_equal(memory_used(fixture->memory), 0);
}

/* By which a fork tells whether it began with them. */
static void ranges_have_the_time_since_when_they_are_there(void **state)
{
	struct fixture *fixture = *state;
	const struct unwind_bucket *bucket = &fixture->model.buckets[key.pid & (MODEL_BUCKETS - 1)];
	uint64_t before = clock_boottime_ns(), since;

	play(0x10000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	since = bucket->since_ns[0];
	assert_in_range(since, before, clock_boottime_ns());
	// Nothing has changed, or nothing of the ranges.
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(bucket->since_ns[0], since);
	spaces_copy_no_more(fixture->spaces, &key);
	assert_false(may_copy(fixture));
	assert_int_equal(bucket->since_ns[0], since);
	before = clock_boottime_ns();
	play(0x20000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key, now);
	assert_in_range(bucket->since_ns[0], before, clock_boottime_ns());
}

static void a_sampled_process_takes_the_place_of_one_never_sampled(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	unsampled_pid = key.pid;
	for (uint32_t i = 0; i <= UNWIND_BUCKET_SLOTS; i++) {
		other.pid = key.pid + i * MODEL_BUCKETS;
		spaces_update(fixture->spaces, &other, now);
	}
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_PROCESS);
	assert_int_equal(find_of(fixture, &other, 0x10000).what, MODEL_BARE);
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 0);
	// It is needed now, and there is nobody to take a place from.
	unsampled_pid = 0;
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 1);
	spaces_end(fixture->spaces, &other);
	now += 600 * MS;
	spaces_retry(fixture->spaces, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
}

static void one_refused_that_does_not_run_waits_for_its_next_sample(void **state)
{
	struct fixture *fixture = *state;
	struct process_key others[UNWIND_BUCKET_SLOTS];

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	for (uint32_t i = 0; i < UNWIND_BUCKET_SLOTS; i++) {
		others[i] = key;
		others[i].pid = key.pid + (i + 1) * MODEL_BUCKETS;
		spaces_update(fixture->spaces, &others[i], now);
	}
	for (int i = 0; i < 3; i++) {
		spaces_update(fixture->spaces, &key, now);
		now += 600 * MS;
		spaces_retry(fixture->spaces, now);
	}
	// One process, however often it is tried.
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 1);
	now += 11000 * MS;
	spaces_end(fixture->spaces, &others[0]);
	spaces_retry(fixture->spaces, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_PROCESS);
	spaces_miss(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
}

static void a_full_bucket_drops_the_one_sampled_longest_ago(void **state)
{
	struct fixture *fixture = *state;
	struct process_key others[UNWIND_BUCKET_SLOTS + 1], *last = &others[UNWIND_BUCKET_SLOTS];

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	for (uint32_t i = 0; i <= UNWIND_BUCKET_SLOTS; i++) {
		others[i] = key;
		others[i].pid = key.pid + i * MODEL_BUCKETS;
		sampled_ns[others[i].pid / MODEL_BUCKETS] = (i == 2 ? 1 : 5) * MS;
	}
	sampled_ns[last->pid / MODEL_BUCKETS] = now = 60000 * MS;
	for (uint32_t i = 0; i <= UNWIND_BUCKET_SLOTS; i++)
		spaces_update(fixture->spaces, &others[i], now);
	for (uint32_t i = 0; i <= UNWIND_BUCKET_SLOTS; i++)
		assert_int_equal(find_of(fixture, &others[i], 0x10000).what,
				 i == 2 ? MODEL_NO_PROCESS : MODEL_BARE);
	assert_int_equal(spaces_counts(fixture->spaces).processes_evicted, 1);
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 0);
	// It comes back when a walk has missed it, in the place of another one.
	now += 11000 * MS;
	spaces_miss(fixture->spaces, &others[2], now);
	assert_int_equal(find_of(fixture, &others[2], 0x10000).what, MODEL_BARE);
	assert_int_equal(spaces_counts(fixture->spaces).processes_evicted, 2);
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
}

/* A compiler lives for a moment, and is started again. */
static void a_file_is_known_to_the_next_program(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 3);
	spaces_end(fixture->spaces, &key);
	// The answer comes when the program has ended.
	learn(fixture, 2 * MS);
	spaces_update(fixture->spaces, &key, now);
	expect_no_request(fixture);
	assert_int_equal(find(fixture, 0x400010).what, MODEL_NO_PAGE);
	spaces_end(fixture->spaces, &key);
	for (int batch = 0; batch < 11; batch++)
		pages_next_epoch(fixture->pages);
	pages_retry(fixture->pages, 3 * MS);
	assert_int_equal(pages_counts(fixture->pages).files, 1);
	// Not for ever.
	pages_next_epoch(fixture->pages);
	pages_retry(fixture->pages, 3 * MS);
	assert_int_equal(pages_counts(fixture->pages).files, 0);
}

static bool is_other_than(void *context, uint32_t file)
{
	return file != *(const uint32_t *)context;
}

static bool is_none(void *context, uint32_t file)
{
	(void)context;
	(void)file;
	return false;
}

static void a_file_nobody_can_ask_for_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;
	uint32_t seventh = 7, eighth = 8, rule;
	uint64_t used = memory_used(fixture->memory);

	begin_process(fixture, 2);
	model_answer_add(&fixture->answer, 2, 16);
	learn(fixture, 2 * MS);
	assert_int_equal(mark_at(fixture, 0x400010), 16);
	// Somebody runs it.
	assert_true(pages_forget(fixture->pages, is_other_than, &seventh));
	assert_int_equal(mark_at(fixture, 0x400010), 16);
	spaces_end(fixture->spaces, &key);
	assert_false(pages_forget(fixture->pages, is_other_than, &eighth));
	assert_int_equal(pages_counts(fixture->pages).pages, 1);
	assert_true(pages_counts(fixture->pages).memory > 0);
	assert_false(pages_forget(fixture->pages, is_other_than, &seventh));
	assert_int_equal(pages_counts(fixture->pages).pages, 0);
	assert_int_equal(pages_counts(fixture->pages).files, 0);
	assert_int_equal(memory_used(fixture->memory), used);
	// Another file with its number, after the ids began anew, is asked for, and has its own.
	pages_renumber(fixture->pages);
	played_count = 0;
	begin_process(fixture, 2);
	assert_int_not_equal(find(fixture, 0x400010).what, MODEL_RULE);
	model_answer_add(&fixture->answer, 2, 48);
	learn(fixture, 3 * MS);
	assert_int_equal(mark_at(fixture, 0x400010), 48);
	assert_int_equal(pages_find_rule(fixture->pages, 7, 0x20010, 3 * MS, &rule), PAGES_FOUND);
	assert_int_equal(fixture->model.rules[rule].cfa_offset, 48);
}

/* Others wait for as long as it takes. */
static void many_files_are_forgotten_little_by_little(void **state)
{
	enum { FILES = 300, PAGES = 2 };
	struct fixture *fixture = *state;
	uint32_t nobody = UINT32_MAX, rule;
	uint64_t files, writes, forgotten = 0;
	bool left;

	for (uint32_t file = 100; file < 100 + FILES; file++) {
		assert_int_equal(pages_find_rule(fixture->pages, file, 0x20010, now, &rule),
				 PAGES_LATER);
		assert_int_equal(expect_request(fixture, file, 0), 0);
		model_answer_init(&fixture->answer, file, 0x21000, 0x20000, PAGES);
		for (uint32_t page = 2; page < 2 + PAGES; page++)
			model_answer_add(&fixture->answer, page, 16);
		learn(fixture, 2 * MS);
	}
	assert_int_equal(pages_counts(fixture->pages).pages, FILES * PAGES);
	assert_false(pages_forget(fixture->pages, is_other_than, &nobody));
	do {
		files = pages_counts(fixture->pages).files;
		writes = fixture->model.writes;
		left = pages_forget(fixture->pages, is_none, NULL);
		assert_int_equal(pages_waits(fixture->pages), left);
		forgotten = files - pages_counts(fixture->pages).files;
		assert_in_range(forgotten, 1, FILES / 2);
		// One for a file, not for a page.
		assert_int_equal(fixture->model.writes - writes, forgotten);
	} while (left);
	assert_int_equal(pages_counts(fixture->pages).files, 0);
	assert_int_equal(pages_counts(fixture->pages).pages, 0);
}

enum { RULES_OF_FILE = 512, RULE_OWNERS = UNWIND_RULES / RULES_OF_FILE + 1 };

/* All the rules there is room for are those of files that run. */
static void take_rules(struct rule_table *table, struct rule_uses owners[RULE_OWNERS])
{
	for (int32_t i = 0; i < UNWIND_RULES; i++) {
		struct unwind_rule rule = { .cfa = UNWIND_CFA_REGISTER, .cfa_offset = 10000 + i };

		rule_table_use(table, &rule, &owners[i / RULES_OF_FILE]);
	}
	assert_true(table->wanted);
}

/* File 7 is run, its page 2 missed, and answered at @now_ns. */
static void miss_page_without_rules(struct fixture *fixture, uint64_t now_ns)
{
	begin_process(fixture, 1);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20010, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 1);
	model_answer_add(&fixture->answer, 2, 48);
	learn(fixture, now_ns);
	assert_int_equal(find(fixture, 0x400010).what, MODEL_NO_PAGE);
	expect_no_request(fixture);
}

static void a_page_waits_for_room_among_the_rules(void **state)
{
	struct fixture *fixture = *state;
	struct rule_uses owners[RULE_OWNERS] = { 0 };

	take_rules(&fixture->rules, owners);
	miss_page_without_rules(fixture, 4 * MS);
	// The memory is not what it waits for.
	assert_int_equal(pages_counts(fixture->pages).refused, 0);
	assert_true(pages_waits(fixture->pages));
	for (size_t i = 0; i < RULE_OWNERS; i++)
		rule_table_release(&fixture->rules, &owners[i]);
	for (uint64_t time = 204; time <= 604; time += 200)
		pages_retry(fixture->pages, time * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 1);
	learn(fixture, 605 * MS);
	assert_int_equal(mark_at(fixture, 0x400010), 48);
	expect_no_request(fixture);
}

static void a_page_comes_without_rules_that_there_is_never_room_for(void **state)
{
	struct fixture *fixture = *state;
	struct rule_uses owners[RULE_OWNERS] = { 0 };
	uint64_t time = 4;

	take_rules(&fixture->rules, owners);
	miss_page_without_rules(fixture, time * MS);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(find(fixture, 0x400010).what, MODEL_NO_PAGE);
		time += 600;
		pages_retry(fixture->pages, time * MS);
		assert_int_equal(expect_request(fixture, 7, 2), 1);
		learn(fixture, time * MS);
	}
	assert_int_equal(find(fixture, 0x400010).what, MODEL_RULE);
	assert_int_equal(find(fixture, 0x400010).rule, UNWIND_RULE_UNKNOWN);
	time += 600;
	pages_retry(fixture->pages, time * MS);
	expect_no_request(fixture);
	for (size_t i = 0; i < RULE_OWNERS; i++)
		rule_table_release(&fixture->rules, &owners[i]);
}

/* Else it would be made anew again and again, each time with one rule more. */
static void a_page_is_made_anew_when_there_is_room_for_half_of_what_it_lacks(void **state)
{
	struct fixture *fixture = *state;
	struct rule_uses owners[RULE_OWNERS] = { 0 }, last = { 0 };
	const struct unwind_rule rule = { .cfa = UNWIND_CFA_REGISTER, .cfa_offset = 9000 };
	uint64_t time = 4;

	rule_table_use(&fixture->rules, &rule, &last);
	take_rules(&fixture->rules, owners);
	begin_process(fixture, 1);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20010, 3 * MS);
	model_answer_add_many(&fixture->answer, 2, 100000);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(expect_request(fixture, 7, 2), 1);
		learn(fixture, time * MS);
		time += 600;
		pages_retry(fixture->pages, time * MS);
	}
	assert_int_equal(find(fixture, 0x400010).rule, UNWIND_RULE_UNKNOWN);
	rule_table_release(&fixture->rules, &last);
	for (int i = 0; i < 3; i++)
		pages_retry(fixture->pages, (time += 600) * MS);
	pages_touch(fixture->pages, 7, 0x20010, time * MS);
	assert_int_equal(find(fixture, 0x400010).what, MODEL_RULE);
	expect_no_request(fixture);
	rule_table_release(&fixture->rules, &owners[0]);
	for (int i = 0; i < 3; i++)
		pages_retry(fixture->pages, (time += 600) * MS);
	pages_touch(fixture->pages, 7, 0x20010, time * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 1);
	learn(fixture, time * MS);
	assert_int_equal(mark_at(fixture, 0x400010), 100000 + 16); // of its block
	for (size_t i = 0; i < RULE_OWNERS; i++)
		rule_table_release(&fixture->rules, &owners[i]);
}

static void who_runs_keeps_its_rules_when_there_is_no_room_for_more(void **state)
{
	struct fixture *fixture = *state;

	begin_process(fixture, 2);
	model_answer_add(&fixture->answer, 2, 16);
	learn(fixture, 2 * MS);
	fixture->rules.wanted = true;
	pages_evict(fixture->pages, UINT64_MAX);
	assert_false(fixture->rules.wanted);
	assert_int_equal(mark_at(fixture, 0x400010), 16);
	spaces_end(fixture->spaces, &key);
	fixture->rules.wanted = true;
	pages_evict(fixture->pages, UINT64_MAX);
	assert_int_equal(pages_counts(fixture->pages).files, 0);
	for (size_t i = 0; i < UNWIND_RULES; i++)
		assert_int_equal(fixture->rules.uses[i].files, 0);
}

/* Files of one user that run have all the rules there are. */
static void another_users_rules_take_the_place_of_who_has_most(void **state)
{
	struct fixture *fixture = *state;
	struct rule_uses others[RULE_OWNERS] = { 0 };
	uint64_t time = 4;

	for (size_t i = 0; i < RULE_OWNERS; i++)
		others[i].owner = (struct owner){ 1000, 0 };
	take_rules(&fixture->rules, others);
	// There is room at once, though nobody has let go of any.
	begin_process(fixture, 1);
	learn(fixture, 2 * MS);
	pages_miss(fixture->pages, 7, 0x20010, 3 * MS);
	assert_int_equal(expect_request(fixture, 7, 2), 1);
	model_answer_add(&fixture->answer, 2, 48);
	learn(fixture, time * MS);
	assert_int_equal(mark_at(fixture, 0x400010), 48);
	for (size_t i = 0; i < RULE_OWNERS; i++)
		rule_table_release(&fixture->rules, &others[i]);
}

/* Files of two pages that processes run. */
enum { FILLERS = 8, FILLER_RULES = 2 * UNWIND_BLOCKS - 16 };

/* Those for @file; others wait. */
static void answer_requests(struct fixture *fixture, uint32_t file)
{
	struct pages_request request;
	uint32_t others[64];
	size_t count = 0;

	while (pages_next_request(fixture->pages, NULL, NULL, &request))
		if (request.file == file)
			(void)pages_learn(fixture->pages, &fixture->answer.answer, now);
		else
			others[count++] = request.file;
	while (count)
		pages_forget_request(fixture->pages, others[--count], now);
}

static void run_filler(struct fixture *fixture, struct pages_use *use, uint32_t file, uint32_t uid)
{
	file_owners[file] = (struct owner){ uid, 0 };
	use->file = file;
	assert_int_equal(pages_use(fixture->pages, use), PAGES_PENDING);
	model_answer_init(&fixture->answer, file, 0x21000, 0x20000, 2);
	answer_requests(fixture, file);
	assert_int_equal(pages_state(fixture->pages, file), PAGES_HAS_TABLE);
}

/* Samples of @file meet both pages, and what is asked for is answered. */
static void answer_filler(struct fixture *fixture, uint32_t file)
{
	for (uint64_t page = 0; page < 2; page++) {
		pages_miss(fixture->pages, file, 0x20000 + page * PAGE, now);
		pages_touch(fixture->pages, file, 0x20000 + page * PAGE, now);
	}
	model_answer_init(&fixture->answer, file, 0x21000, 0x20000, 2);
	for (int32_t page = 0; page < 2; page++)
		model_answer_add_many(&fixture->answer, 2 + (uint32_t)page,
				      (int32_t)file * 10000 + page * UNWIND_BLOCKS);
	answer_requests(fixture, file);
}

static uint64_t known_rules(struct fixture *fixture, uint32_t file)
{
	uint64_t known = 0;
	uint32_t rule;

	for (uint64_t i = 0; i < FILLER_RULES; i++)
		known += pages_find_rule(fixture->pages, file, 0x20000 + (i << UNWIND_BLOCK_SHIFT),
					 now, &rule) == PAGES_FOUND &&
			 rule != UNWIND_RULE_UNKNOWN;
	return known;
}

/* A second and a half. */
static void pass_rounds(struct fixture *fixture)
{
	for (int round = 0; round < 3; round++) {
		now += 600 * MS;
		pages_evict(fixture->pages, UINT64_MAX / 2);
		pages_retry(fixture->pages, now);
	}
}

static void who_fills_the_rules_lets_go_of_them_for_others(void **state)
{
	struct pages_use uses[24] = { 0 };
	struct fixture *fixture = *state;
	uint64_t filled = 0;

	for (uint32_t file = 10; file < 10 + FILLERS; file++) {
		run_filler(fixture, &uses[file], file, 1000);
		answer_filler(fixture, file);
		filled += known_rules(fixture, file);
	}
	assert_true(filled >= 6 * FILLER_RULES);
	// Others need more than what was kept for them, while the first goes on asking.
	for (uint32_t file = 20; file < 24; file++) {
		run_filler(fixture, &uses[file], file, 1001 + file);
		for (int i = 0; i < 3; i++) {
			answer_filler(fixture, file);
			pass_rounds(fixture);
			for (uint32_t filler = 10; filler < 10 + FILLERS; filler++)
				answer_filler(fixture, filler);
		}
	}
	for (uint32_t file = 20; file < 24; file++)
		assert_int_equal(known_rules(fixture, file), FILLER_RULES);
	assert_true(pages_counts(fixture->pages).yielded > 0);
	filled = 0;
	for (uint32_t file = 10; file < 10 + FILLERS; file++)
		filled += known_rules(fixture, file);
	assert_true(filled > 0);
	for (uint32_t file = 10; file < 24; file++)
		if (uses[file].file)
			pages_release(fixture->pages, &uses[file]);
}

/* One user has many files read; another one needs one. */
static void files_of_owners_are_asked_for_in_turns(void **state)
{
	struct fixture *fixture = *state;
	struct pages_use uses[40] = { 0 };
	struct pages_request request;
	size_t before = 0;

	for (uint32_t file = 0; file < 40; file++) {
		file_owners[file] = (struct owner){ file == 39 ? 1001 : 1000, 0 };
		uses[file].file = file;
		assert_int_equal(pages_use(fixture->pages, &uses[file]), PAGES_PENDING);
	}
	while (pages_next_request(fixture->pages, NULL, NULL, &request) && request.file != 39)
		before++;
	assert_int_equal(request.file, 39);
	assert_in_range(before, 0, 1);
	for (uint32_t file = 0; file < 40; file++)
		pages_release(fixture->pages, &uses[file]);
}

/* A user has numbers of processes such that they stand where another's would. */
static void who_has_a_bucket_makes_place_for_another_user(void **state)
{
	struct fixture *fixture = *state;
	struct process_key others[UNWIND_BUCKET_SLOTS];
	size_t left = 0;

	play(0x10000, 0x1000, PROCESS_NO_FILE, 0);
	for (uint32_t i = 0; i < UNWIND_BUCKET_SLOTS; i++) {
		others[i] = key;
		others[i].pid += (i + 1) * MODEL_BUCKETS;
		space_owners[others[i].pid / MODEL_BUCKETS] = (struct owner){ 1000, 0 };
		spaces_update(fixture->spaces, &others[i], now);
	}
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
	spaces_update(fixture->spaces, &key, now);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
	// It is refused what it has had, as long as all run.
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < UNWIND_BUCKET_SLOTS; i++)
			spaces_miss(fixture->spaces, &others[i], now);
		now += 600 * MS;
		spaces_retry(fixture->spaces, now);
	}
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
	for (uint32_t i = 0; i < UNWIND_BUCKET_SLOTS; i++)
		left += find_of(fixture, &others[i], 0x10000).what == MODEL_BARE;
	assert_int_equal(left, UNWIND_BUCKET_SLOTS - 1);
}

static void who_has_most_ranges_makes_room_for_another_user(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;

	for (uint64_t i = 0; i < 250; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	for (uint32_t i = 1; i < 4; i++) {
		other.pid = key.pid + i * MODEL_BUCKETS;
		space_owners[other.pid / MODEL_BUCKETS] = (struct owner){ 1000, 0 };
		played_code[0].limit += 0x1000; // of each other ones
		spaces_update(fixture->spaces, &other, now);
	}
	for (uint32_t i = 0; i < 2; i++) {
		other.pid = key.pid + (4 + i) * MODEL_BUCKETS;
		space_owners[other.pid / MODEL_BUCKETS] = (struct owner){ 1001 + i, 0 };
		played_code[0].limit += 0x1000;
		spaces_update(fixture->spaces, &other, now);
		for (int round = 0; round < 2; round++) {
			spaces_retry(fixture->spaces, now);
			now += 600 * MS;
		}
		assert_int_equal(find_of(fixture, &other, 0x10000).what, MODEL_BARE);
	}
	assert_true(spaces_counts(fixture->spaces).processes_evicted > 0);
}

/* All of them are in every batch. */
static void who_has_most_pages_makes_room_for_another_user(void **state)
{
	struct pages_use use = { .file = 8 };
	struct fixture *fixture = *state;
	uint64_t limit = 2 * UNWIND_SLAB_BYTES, before;

	file_owners[7] = (struct owner){ 1000, 0 };
	file_owners[8] = (struct owner){ 1001, 0 };
	fill(fixture, 64);
	before = pages_counts(fixture->pages).pages;
	assert_int_equal(pages_use(fixture->pages, &use), PAGES_PENDING);
	assert_int_equal(expect_request(fixture, 8, 0), 0);
	model_answer_init(&fixture->answer, 8, 0x21000, 0x20000, 6);
	for (uint32_t page = 2; page < 8; page++)
		model_answer_add(&fixture->answer, page, 32);
	for (int batch = 0; batch < 3; batch++) {
		(void)pages_learn(fixture->pages, &fixture->answer.answer, now);
		pages_next_epoch(fixture->pages);
		for (uint64_t page = 0; page < 64; page++)
			pages_touch(fixture->pages, 7, 0x20000 + page * PAGE, now);
		for (uint64_t page = 0; page < 6; page++)
			pages_touch(fixture->pages, 8, 0x20000 + page * PAGE, now);
		pages_evict(fixture->pages, limit);
		now += 600 * MS;
		pages_retry(fixture->pages, now);
	}
	for (uint32_t page = 0; page < 6; page++) {
		uint32_t rule;

		assert_int_equal(pages_find_rule(fixture->pages, 8, 0x20000 + page * (uint64_t)PAGE,
						 now, &rule),
				 PAGES_FOUND);
	}
	assert_in_range(pages_counts(fixture->pages).pages, before / 2, before + 6);
	pages_release(fixture->pages, &use);
}

static void files_are_found_whatever_their_numbers(void **state)
{
	struct fixture *fixture = *state;
	uint32_t rule;

	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(pages_find_rule(fixture->pages, i * 131071, 0, MS, &rule),
				 PAGES_LATER);
	assert_int_equal(pages_counts(fixture->pages).files, 1000);
	for (uint32_t i = 0; i < 1000; i++) {
		assert_int_equal(expect_request(fixture, i * 131071, 0), 0);
		assert_int_equal(pages_state(fixture->pages, i * 131071), PAGES_PENDING);
		assert_int_equal(pages_state(fixture->pages, i * 131071 + 1), PAGES_BARE);
	}
}

static void freed_memory_waits_for_walks(void **state)
{
	struct fixture *fixture = *state;
	uint8_t bytes[UNWIND_OBJECT_BYTES - UNWIND_LINE_BYTES] = { 0 };
	uint32_t first = memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes));
	uint32_t second = memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes));

	assert_true(first && second);
	assert_int_equal(memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes)), 0);
	memory_free(fixture->memory, MEMORY_DROPPABLE, first, sizeof(bytes));
	now += 99 * MS;
	assert_int_equal(memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes)), 0);
	now += MS;
	assert_int_equal(memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes)),
			 first);
}

/* Nobody ever waits for the last walk to end before freeing the next. */
static void memory_comes_back_under_steady_change(void **state)
{
	struct fixture *fixture = *state;
	uint32_t handles[8] = { 0 };
	uint8_t bytes[1000] = { 0 };

	for (size_t i = 0; i < 20000; i++) {
		memory_free(fixture->memory, MEMORY_FIXED, handles[i % 8], sizeof(bytes));
		handles[i % 8] = memory_put(fixture->memory, MEMORY_FIXED, bytes, sizeof(bytes));
		assert_int_not_equal(handles[i % 8], 0);
		now += 10 * MS;
	}
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
		TEST(requests_may_be_of_one_group_each),
		TEST(a_small_file_is_one_group),
		TEST(a_segment_may_begin_within_a_page),
		TEST(equal_rules_of_files_are_one),
		TEST(pages_without_rules_go_by_frame_pointers),
		TEST(a_file_that_no_worker_can_read_is_bare),
		TEST(without_a_worker_it_is_tried_again),
		TEST(a_file_that_failed_is_tried_again_but_not_for_ever),
		TEST(what_is_missed_before_the_file_is_known_is_asked_for_then),
		TEST(pages_asked_for_without_a_worker_are_asked_for_again),
		TEST(pages_of_a_file_that_cannot_be_read_just_now_are_asked_for_again),
		TEST(a_file_that_nobody_runs_any_more_does_not_fail),
		TEST(a_file_that_failed_once_is_tried_again_soon),
		TEST(what_a_batch_has_is_asked_for),
		TEST(what_is_met_in_an_unknown_process_is_asked_for),
		TEST(what_is_met_is_bounded),
		TEST(everything_that_is_missed_is_asked_for),
		TEST(files_are_asked_for_in_their_order),
		TEST(a_pending_file_leads_nowhere),
		TEST(what_is_mapped_beyond_the_text_has_no_table),
		TEST(places_beyond_a_frame_s_room_are_addresses),
		TEST(one_file_does_not_take_the_place_of_all_rules),
		TEST(forks_share_their_ranges),
		TEST(ranges_have_the_time_since_when_they_are_there),
		TEST(a_sampled_process_takes_the_place_of_one_never_sampled),
		TEST(one_refused_that_does_not_run_waits_for_its_next_sample),
		TEST(a_full_bucket_drops_the_one_sampled_longest_ago),
		TEST(a_file_is_known_to_the_next_program),
		TEST(a_file_nobody_can_ask_for_leaves_nothing),
		TEST(many_files_are_forgotten_little_by_little),
		TEST(a_page_waits_for_room_among_the_rules),
		TEST(a_page_comes_without_rules_that_there_is_never_room_for),
		TEST(a_page_is_made_anew_when_there_is_room_for_half_of_what_it_lacks),
		TEST(who_runs_keeps_its_rules_when_there_is_no_room_for_more),
		TEST(another_users_rules_take_the_place_of_who_has_most),
		TEST(who_fills_the_rules_lets_go_of_them_for_others),
		TEST(files_of_owners_are_asked_for_in_turns),
		TEST(who_has_a_bucket_makes_place_for_another_user),
		SMALL(who_has_most_ranges_makes_room_for_another_user),
		SMALL(who_has_most_pages_makes_room_for_another_user),
		TEST(files_are_found_whatever_their_numbers),
		TEST(anonymous_code_is_bare_and_has_no_file),
		TEST(heaps_of_a_jvm_are_told_when_they_are_found),
		TEST(areas_lead_to_what_was_found),
		TEST(a_jvm_is_looked_at_until_it_has_an_interpreter),
		TEST(looks_at_jvms_take_a_share_of_the_time),
		TEST(a_jvm_that_is_not_told_of_is_not_brought_back),
		TEST(a_jvm_that_has_ended_is_not_learned_of),
		TEST(a_jvm_is_a_process_like_others_where_they_are_skipped),
		TEST(loops_of_an_interpreter_are_told_with_its_data),
		TEST(more_of_an_interpreters_data_takes_the_place_of_less),
		TEST(what_was_found_is_known_to_who_names_frames),
		TEST(a_fork_is_walked_by_what_is_known_of_its_parent),
		TEST(what_a_fork_has_inherited_ends_where_it_is_refused),
		TEST(another_program_inherits_nothing),
		TEST(of_a_go_program_with_an_interpreter_no_stacks_are_copied),
		TEST(the_vsyscall_page_hides_nothing),
		TEST(the_vdso_of_this_machine_has_rules),
		TEST(changes_replace_what_was),
		TEST(another_program_of_the_pid_is_another_process),
		TEST(a_bucket_that_is_full_refuses_and_counts),
		cmocka_unit_test(the_index_is_as_large_as_the_memory_allows),
		TEST(ranges_beyond_the_limit_are_counted),
		TEST(very_many_mappings_lie_in_pieces),
		TEST(pieces_of_forks_are_shared),
		TEST(stacks_of_a_process_may_be_copied),
		TEST(a_range_of_before_its_file_was_known_is_not_gone_by),
		TEST(ranges_of_another_time_are_not_gone_by),
		TEST(stacks_of_code_that_changes_them_are_not_copied),
		TEST(stacks_of_a_process_with_code_of_no_file_are_not_copied),
		TEST(of_a_go_program_goroutines_stacks_are_copied),
		TEST(of_a_go_program_it_is_told_where_labels_lie),
		TEST(of_an_unknown_go_no_labels_are_read),
		TEST(labels_that_are_disabled_are_not_read),
		TEST(of_a_go_program_with_libraries_no_stacks_are_copied),
		TEST(stacks_that_were_elsewhere_are_not_copied_again),
		TEST(stacks_of_a_jvm_are_not_copied),
		TEST(stacks_of_a_process_with_very_much_code_are_not_copied),
		SMALL(beyond_the_limit_pages_are_refused_and_counted),
		SMALL(what_is_not_seen_goes_first),
		SMALL(what_was_missed_comes_when_there_is_room),
		SMALL(without_room_it_is_not_tried_for_ever),
		SMALL(what_is_in_use_stays_even_when_full),
		SMALL(a_file_nobody_runs_goes_with_its_last_page),
		SMALL(a_refusal_makes_room),
		SMALL(what_is_freed_is_not_evicted_for_again),
		SMALL(a_process_that_was_refused_gets_in_later),
		SMALL(what_cannot_be_dropped_takes_half_at_most),
		SMALL(those_never_sampled_make_room_in_memory),
		SMALL(those_sampled_longest_ago_make_room_in_memory),
		SMALL(freed_memory_waits_for_walks),
		SMALL(memory_comes_back_under_steady_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
