// SPDX-License-Identifier: Apache-2.0
/* Stacks that were walked by what a process no longer had, in a capture. */
#include "outdated.h"

#include "sample_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* The one process that gives up code, what it has unmapped, and when. */
enum { PID = 7, OTHER_PID = 8, LOST_FILE = 3, FILE_ID = 4, LOST_NS = 1500, MAPPED_NS = 1600 };

/* Anonymous code that is another one since MAPPED_NS. */
#define REMAPPED 0x7fff00000000ull

/* ---- the made-up processes ---- */

bool processes_code_ended(struct processes *processes, const struct process_key *key,
			  uint64_t since_ns)
{
	(void)processes;
	return key->pid == PID && since_ns <= LOST_NS;
}

bool processes_has_lost(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_place *place)
{
	(void)processes;
	assert_int_equal(key->pid, PID); // nobody else is looked at
	return place->file == LOST_FILE && time_ns >= LOST_NS;
}

bool processes_find_mapping(struct processes *processes, const struct process_key *key,
			    uint64_t time_ns, uint64_t address, struct process_mapping *ret)
{
	(void)processes;
	assert_int_equal(key->pid, PID);
	*ret = (struct process_mapping){
		.start = REMAPPED,
		.limit = REMAPPED + 0x1000,
		.file = PROCESS_NO_FILE,
		.begin_ns = time_ns < MAPPED_NS ? 1 : MAPPED_NS,
	};
	return address >= REMAPPED && address < REMAPPED + 0x1000;
}

/* ---- a capture of them ---- */

static int set_up(void **state)
{
	static struct capture capture;

	capture_init(&capture, 1 << 20);
	capture_clear(&capture, 1000);
	*state = &capture;
	return 0;
}

static int tear_down(void **state)
{
	capture_deinit(*state);
	return 0;
}

/* A sample of @pid at @time_ns with @count user frames, whole. */
static void append(struct capture *capture, uint32_t pid, uint64_t time_ns, const __u64 *frames,
		   __u16 count)
{
	struct sample_record record = sample_record_make(pid, pid, time_ns, frames, 0, count);
	uint32_t process;

	assert_int_equal(capture_append(capture, &record, sample_record_length(&record), &process),
			 0);
}

static const struct capture_stack *stack_of(const struct capture *capture, size_t sample)
{
	return &capture->stacks.items[capture->samples.items[sample].stack];
}

static uint32_t count_of(const struct capture *capture, size_t sample)
{
	return stack_of(capture, sample)->limit -
	       capture_stack_begin(capture, capture->samples.items[sample].stack);
}

static const struct capture_frame *frame_of(const struct capture *capture, size_t sample, size_t at)
{
	uint32_t begin = capture_stack_begin(capture, capture->samples.items[sample].stack);

	assert_true(at < count_of(capture, sample));
	return &capture->frames.items[capture->stack_frames.items[begin + at]];
}

/* All that is there belongs to a sample, and each stack is there once. */
static void expect_nothing_unused(struct capture *capture)
{
	size_t frames = 0;

	for (uint32_t id = 0; id < capture->stacks.count; id++) {
		uint32_t begin = capture_stack_begin(capture, id);
		uint32_t count = capture->stacks.items[id].limit - begin;
		bool used = false;

		for (size_t i = 0; i < capture->samples.count; i++)
			used |= capture->samples.items[i].stack == id;
		assert_true(used);
		frames += count;
		// Without any frame there is no array to point into.
		assert_int_equal(
			capture_intern_stack(capture,
					     count ? &capture->stack_frames.items[begin] : NULL,
					     count, capture->stacks.items[id].end),
			id);
	}
	assert_int_equal(capture->stack_frames.count, frames);
}

/* ---- tests ---- */

static const __u64 lost[] = { UNWIND_FRAME_FILE | 5ull << UNWIND_FRAME_SHIFT | 0x100,
			      UNWIND_FRAME_FILE | 4ull << UNWIND_FRAME_SHIFT | 0x200,
			      UNWIND_FRAME_FILE | 5ull << UNWIND_FRAME_SHIFT | 0x300 };

static void a_stack_is_cut_at_code_that_was_lost_by_then(void **state)
{
	struct capture *capture = *state;

	append(capture, PID, LOST_NS - 1, lost, 3);
	append(capture, PID, LOST_NS, lost, 3);
	outdated_mend(capture, NULL);
	assert_int_equal(count_of(capture, 0), 3);
	assert_int_equal(stack_of(capture, 0)->end, UNWIND_END_ENTRY);
	assert_int_equal(count_of(capture, 1), 1);
	assert_int_equal(stack_of(capture, 1)->end, UNWIND_END_NO_MAPPING);
	assert_int_equal(frame_of(capture, 1, 0)->file, FILE_ID);
	expect_nothing_unused(capture);
}

static void what_no_sample_has_any_more_is_gone(void **state)
{
	static const __u64 first[] = { 0x1000, 0x2000 }, last[] = { 0x3000 };
	struct capture *capture = *state;

	// The stack that goes is the first, in the midst, and the last one.
	append(capture, PID, LOST_NS + 1, lost, 3);
	append(capture, OTHER_PID, LOST_NS + 2, first, 2);
	append(capture, PID, LOST_NS + 3, lost + 1, 2);
	append(capture, OTHER_PID, LOST_NS + 4, last, 1);
	append(capture, PID, LOST_NS + 5, lost, 2);
	outdated_mend(capture, NULL);
	assert_int_equal(capture->samples.count, 5);
	// Cut after one frame, whole, with none left, whole, and as the first.
	assert_int_equal(capture->stacks.count, 4);
	assert_int_equal(capture->samples.items[0].stack, capture->samples.items[4].stack);
	assert_int_equal(count_of(capture, 0), 1);
	assert_int_equal(frame_of(capture, 0, 0)->address, 0x100);
	assert_int_equal(count_of(capture, 1), 2);
	assert_int_equal(frame_of(capture, 1, 0)->address, 0x1000);
	assert_int_equal(frame_of(capture, 1, 1)->address, 0x2000);
	assert_int_equal(count_of(capture, 2), 0);
	assert_int_equal(stack_of(capture, 2)->end, UNWIND_END_NO_MAPPING);
	assert_int_equal(count_of(capture, 3), 1);
	assert_int_equal(frame_of(capture, 3, 0)->address, 0x3000);
	expect_nothing_unused(capture);
}

static void a_capture_of_stacks_without_frames_stays_as_it_is(void **state)
{
	struct capture *capture = *state;

	append(capture, PID, LOST_NS, lost, 0);
	outdated_mend(capture, NULL);
	capture_drop_unused_stacks(capture);
	assert_int_equal(capture->stacks.count, 1);
	assert_int_equal(count_of(capture, 0), 0);
	expect_nothing_unused(capture);
}

static void samples_go_on_to_be_taken_after_that(void **state)
{
	struct capture *capture = *state;

	for (uint64_t i = 0; i < 200; i++) {
		__u64 frames[] = { 0x1000 + i, 0x2000 };

		append(capture, OTHER_PID, LOST_NS, frames, 2);
		append(capture, PID, LOST_NS, (__u64[]){ lost[1], frames[0] }, 2);
	}
	outdated_mend(capture, NULL);
	// All that were cut are one.
	assert_int_equal(capture->stacks.count, 200 + 1);
	append(capture, OTHER_PID, LOST_NS, (__u64[]){ 0x1000, 0x2000 }, 2);
	assert_int_equal(capture->samples.items[400].stack, capture->samples.items[0].stack);
	append(capture, OTHER_PID, LOST_NS, (__u64[]){ 0x5000 }, 1);
	assert_int_equal(capture->samples.items[401].stack, 201);
	expect_nothing_unused(capture);
}

/* The same address before and after: two frames, each with its own time. */
static void an_address_is_of_what_lay_there_at_the_time_of_the_sample(void **state)
{
	static const __u64 frames[] = { REMAPPED + 0x10, 0x1000 };
	struct capture *capture = *state;

	append(capture, PID, MAPPED_NS - 50, frames, 2);
	append(capture, PID, MAPPED_NS + 50, frames, 2);
	append(capture, PID, MAPPED_NS + 60, frames, 2);
	outdated_mend(capture, NULL);
	assert_int_equal(capture->stacks.count, 2);
	assert_int_equal(frame_of(capture, 0, 0)->mapped_ns, 0);
	assert_int_equal(frame_of(capture, 1, 0)->mapped_ns, MAPPED_NS);
	assert_int_equal(frame_of(capture, 1, 0)->first_ns, MAPPED_NS + 50);
	assert_int_equal(capture->samples.items[1].stack, capture->samples.items[2].stack);
	assert_ptr_equal(frame_of(capture, 0, 1), frame_of(capture, 1, 1));
	expect_nothing_unused(capture);
}

static void what_gave_up_code_long_before_is_not_looked_at(void **state)
{
	struct capture *capture = *state;

	capture_clear(capture, LOST_NS + OUTDATED_KEEP_NS + 1);
	append(capture, PID, LOST_NS + OUTDATED_KEEP_NS + 2, lost, 3);
	outdated_mend(capture, NULL);
	assert_int_equal(count_of(capture, 0), 3);
	assert_int_equal(stack_of(capture, 0)->end, UNWIND_END_ENTRY);
}

/* It comes into a batch that was begun long after it was taken. */
static void a_sample_that_has_waited_is_looked_at(void **state)
{
	struct capture *capture = *state;

	capture_clear(capture, LOST_NS + 2 * OUTDATED_KEEP_NS);
	append(capture, PID, LOST_NS + 2 * OUTDATED_KEEP_NS + 1, lost, 1);
	append(capture, PID, LOST_NS + 1, lost, 3);
	outdated_mend(capture, NULL);
	assert_int_equal(count_of(capture, 1), 1);
	assert_int_equal(stack_of(capture, 1)->end, UNWIND_END_NO_MAPPING);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		CASE(a_stack_is_cut_at_code_that_was_lost_by_then),
		CASE(what_no_sample_has_any_more_is_gone),
		CASE(a_capture_of_stacks_without_frames_stays_as_it_is),
		CASE(samples_go_on_to_be_taken_after_that),
		CASE(an_address_is_of_what_lay_there_at_the_time_of_the_sample),
		CASE(what_gave_up_code_long_before_is_not_looked_at),
		CASE(a_sample_that_has_waited_is_looked_at),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
