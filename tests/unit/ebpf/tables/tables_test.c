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

static uint64_t now;

static uint64_t played_clock(void)
{
	return now;
}

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
	fixture->memory = memory_create(&slabs, limit, played_clock);
	fixture->index.buckets = fixture->model.buckets;
	rule_table_init(&fixture->rules, fixture->model.rules);
	fixture->pages = pages_create(fixture->memory, &fixture->rules);
	fixture->spaces = spaces_create(NULL, fixture->pages, fixture->memory, &fixture->index);
	played_count = 0;
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
		spaces_file_known(fixture->spaces, fixture->answer.answer.file);
}

/* A process with file 7 (text at ELF address 0x21000, file offset 0x20000) at 0x400000. */
static void begin_process(struct fixture *fixture, uint32_t page_count)
{
	play(0x400000, (uint64_t)page_count * PAGE - 0x1000, 7, 0x20000);
	spaces_update(fixture->spaces, &key);
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
	spaces_update(fixture->spaces, &key);
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
	spaces_update(fixture->spaces, &key);
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

static void everything_that_is_missed_is_asked_for(void **state)
{
	enum { COUNT = 400 };
	struct fixture *fixture = *state;
	struct pages_request request;
	size_t asked = 0;

	play(0x400000, (uint64_t)COUNT * PAGE, 7, 0);
	spaces_update(fixture->spaces, &key);
	assert_int_equal(expect_request(fixture, 7, 0), 0);
	model_answer_init(&fixture->answer, 7, 0, 0, COUNT);
	learn(fixture, 2 * MS);
	for (uint64_t i = 0; i < COUNT; i += 4)
		pages_miss(fixture->pages, 7, i * PAGE, 3 * MS);
	while (pages_next_request(fixture->pages, &request)) {
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
	spaces_update(fixture->spaces, &key);
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
	spaces_update(fixture->spaces, &key);
	assert_int_equal(mark_at(fixture, 0x400000), 16);
	for (uint64_t i = 0; i < 64; i++)
		assert_int_equal(find(fixture, 0x10000000 + i * PAGE).what, MODEL_NO_PAGE);
}

static void what_is_mapped_beyond_the_text_has_no_table(void **state)
{
	struct fixture *fixture = *state;
	struct model_finding found;

	play(0x400000, 5 * PAGE, 7, 0x20000);
	spaces_update(fixture->spaces, &key);
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

	play(0x400000, PAGE, 7, (1ull << 40) - 0x1000);
	play(0x800000, PAGE, 7, 1ull << 40);
	spaces_update(fixture->spaces, &key);
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
		spaces_update(fixture->spaces, &key);
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
	spaces_update(fixture->spaces, &key);
	assert_int_equal(find(fixture, 0x14fff).what, MODEL_BARE);
	assert_int_equal(find(fixture, 0x14fff).file, 0);
}

static void the_vsyscall_page_hides_nothing(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	play(0xffffffffff600000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key);
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
	spaces_update(fixture->spaces, &key);
	assert_int_equal(find(fixture, 0x7fff0000).what, MODEL_RULE);
	assert_int_equal(find(fixture, 0x7fff0000).file, 0);
}

static void changes_replace_what_was(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key);
	played_count = 0;
	play(0x20000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_RANGE);
	assert_int_equal(find(fixture, 0x20000).what, MODEL_BARE);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 1);
}

static void another_program_of_the_pid_is_another_process(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key);
	other.exec_id++;
	spaces_update(fixture->spaces, &other);
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
		other.pid = key.pid + i * UNWIND_BUCKETS;
		spaces_update(fixture->spaces, &other);
	}
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 1);
	spaces_end(fixture->spaces, &key);
	spaces_update(fixture->spaces, &other);
	assert_int_equal(spaces_counts(fixture->spaces).processes, UNWIND_BUCKET_SLOTS);
}

static void ranges_beyond_the_limit_are_counted(void **state)
{
	struct fixture *fixture = *state;

	for (uint64_t i = 0; i < 1500; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key);
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

	fill(fixture, 38);
	for (int batch = 0; batch < 3; batch++) {
		pages_next_epoch(fixture->pages);
		pages_touch(fixture->pages, 7, 0x20000);
	}
	pages_evict(fixture->pages, limit);
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
	pages_evict(fixture->pages, 2 * UNWIND_SLAB_BYTES);
	assert_int_equal(pages_counts(fixture->pages).evicted, 0);
}

static void a_file_nobody_runs_goes_with_its_last_page(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, 38);
	spaces_end(fixture->spaces, &key);
	assert_int_equal(pages_counts(fixture->pages).files, 1);
	for (int batch = 0; batch < 3; batch++)
		pages_next_epoch(fixture->pages);
	pages_evict(fixture->pages, 0);
	assert_int_equal(pages_counts(fixture->pages).files, 0);
	assert_int_equal(pages_counts(fixture->pages).pages, 0);
	// It may come back.
	spaces_update(fixture->spaces, &key);
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

	fill(fixture, 38);
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
	uint8_t bytes[UNWIND_SLAB_BYTES - UNWIND_LINE_BYTES] = { 0 };
	uint32_t first = memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes));
	uint32_t second = memory_put(fixture->memory, MEMORY_DROPPABLE, bytes, sizeof(bytes));

	assert_true(first && second);
	for (uint64_t i = 0; i < 100; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_NO_PROCESS);
	spaces_retry(fixture->spaces);
	assert_int_equal(spaces_counts(fixture->spaces).processes_refused, 1);
	memory_free(fixture->memory, MEMORY_DROPPABLE, first, sizeof(bytes));
	now += 200 * MS;
	spaces_retry(fixture->spaces);
	assert_int_equal(find(fixture, 0x10000).what, MODEL_BARE);
}

static void what_cannot_be_dropped_takes_half_at_most(void **state)
{
	struct fixture *fixture = *state;
	struct process_key other = key;

	for (uint64_t i = 0; i < 300; i++)
		play(0x10000 + i * 0x2000, 0x1000, PROCESS_NO_FILE, 0);
	for (uint32_t i = 0; i < UNWIND_BUCKET_SLOTS; i++) {
		other.pid = key.pid + i * UNWIND_BUCKETS;
		spaces_update(fixture->spaces, &other);
	}
	assert_int_equal(spaces_counts(fixture->spaces).processes, 3);
	assert_true(memory_used(fixture->memory) <= UNWIND_SLAB_BYTES);
}

static void after_lost_news_all_processes_are_looked_at(void **state)
{
	struct fixture *fixture = *state;

	play(0x10000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_update(fixture->spaces, &key);
	played_count = 0;
	play(0x20000, 0x5000, PROCESS_NO_FILE, 0);
	spaces_refresh_all(fixture->spaces);
	assert_int_equal(find(fixture, 0x20000).what, MODEL_BARE);
	played_count = 0;
	spaces_refresh_all(fixture->spaces);
	assert_int_equal(find(fixture, 0x20000).what, MODEL_NO_PROCESS);
	assert_int_equal(spaces_counts(fixture->spaces).processes, 0);
}

static void freed_memory_waits_for_walks(void **state)
{
	struct fixture *fixture = *state;
	uint8_t bytes[UNWIND_SLAB_BYTES - UNWIND_LINE_BYTES] = { 0 };
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
		TEST(a_segment_may_begin_within_a_page),
		TEST(equal_rules_of_files_are_one),
		TEST(pages_without_rules_go_by_frame_pointers),
		TEST(a_file_that_no_worker_can_read_is_bare),
		TEST(without_a_worker_it_is_tried_again),
		TEST(a_file_that_failed_is_tried_again_but_not_for_ever),
		TEST(everything_that_is_missed_is_asked_for),
		TEST(files_are_asked_for_in_their_order),
		TEST(a_pending_file_leads_nowhere),
		TEST(what_is_mapped_beyond_the_text_has_no_table),
		TEST(places_beyond_a_frame_s_room_are_addresses),
		TEST(one_file_does_not_take_the_place_of_all_rules),
		TEST(after_lost_news_all_processes_are_looked_at),
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
		SMALL(a_refusal_makes_room),
		SMALL(what_is_freed_is_not_evicted_for_again),
		SMALL(a_process_that_was_refused_gets_in_later),
		SMALL(what_cannot_be_dropped_takes_half_at_most),
		SMALL(freed_memory_waits_for_walks),
		SMALL(memory_comes_back_under_steady_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
