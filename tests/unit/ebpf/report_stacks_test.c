// SPDX-License-Identifier: Apache-2.0
/* How stacks end, in the batch and in the metric. */
#include "report_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

/* The text of the reason that ends the stack of sample number @sample; NULL: it has none. */
static const char *reason(const struct profcol_batch *batch, uint32_t sample)
{
	uint32_t count = fixture_stack_count(batch, sample);
	struct profcol_location last = fixture_location(batch, sample, count - 1);
	const char *type = fixture_attribute(batch, last.attributes, "profile.frame.type");

	return strcmp(type, "abort-marker") ? NULL : fixture_function(batch, last);
}

static void a_stack_is_cut_at_a_return_address_that_is_none_and_says_so(void **state)
{
	// 0x600000 is mapped nowhere; what a stray frame pointer finds after it is worth nothing.
	static const __u64 frames[] = { 0x400800, 0x400901, 0x600001, 0x400a01 };
	static const __u64 unmapped_leaf[] = { 0x600000, 0x400901 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 4);
	struct sample_record leaf = sample_record_make(7, 9, 1600, unmapped_leaf, 0, 2);
	struct sample_record unknown = sample_record_make(9, 9, 1700, frames, 0, 4);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	record.head.end = leaf.head.end = unknown.head.end = UNWIND_END_NO_PROCESS;
	fixture_append(&record);
	fixture_append(&leaf);
	fixture_append(&unknown);
	batch = fixture_build();
	assert_int_equal(fixture_stack_count(batch, 0), 2 + 1);
	// Where execution stands is code, known or not.
	assert_int_equal(fixture_stack_count(batch, 1), 2 + 1);
	// Of a process nobody knows, nothing can be said.
	assert_int_equal(fixture_stack_count(batch, 2), 4 + 1);
	for (uint32_t i = 0; i < 3; i++)
		assert_string_equal(reason(batch, i), "[process not in the unwind tables]");
	assert_int_equal(fixture_stacks_that_ended("no_process"), 3);
	assert_int_equal(fixture_stacks_that_ended("entry"), 0);
	assert_int_equal(fixture_stacks_that_ended("broken_frame_pointers"), 0);
}

/* The kernel side knew it for code then, whatever has become of the memory. */
static void a_stack_walked_by_tables_is_not_cut_again(void **state)
{
	static const __u64 frames[] = { 0x400800, 0x600000, 0x400a00 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 3);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	assert_int_equal(fixture_stack_count(batch, 0), 3);
	assert_null(reason(batch, 0));
	assert_int_equal(fixture_stacks_that_ended("entry"), 1);
}

static void every_way_to_end_but_the_entry_is_told_by_the_stack(void **state)
{
	static const __u64 frames[] = { 0x400800, 0x400900 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 2);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	uint32_t complete = 0;

	(void)state;
	for (__u16 end = UNWIND_END_ENTRY; end < UNWIND_END_COUNT; end++) {
		record.head.end = end;
		fixture_append(&record);
	}
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), UNWIND_END_COUNT - 1);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_STACKS), 1 + UNWIND_END_COUNT - 1);
	for (uint32_t i = 0; i < UNWIND_END_COUNT - 1; i++) {
		const char *text = reason(batch, i);

		assert_int_equal(fixture_stack_count(batch, i), 2 + (text != NULL));
		complete += text == NULL;
		if (text)
			assert_true(text[0] == '[' && text[strlen(text) - 1] == ']');
		for (uint32_t other = 0; text && other < i; other++)
			if (reason(batch, other))
				assert_string_not_equal(reason(batch, other), text);
	}
	assert_int_equal(complete, 1);
}

static void wrappers_are_left_out_unless_what_they_called_shows_them(void **state)
{
	enum { LINES = GO_START + 0xc00, WRAPPER = GO_START + 0xd00, SHOWS = GO_START + 0xe00 };
	static const __u64 left_out[] = { LINES, WRAPPER, LINES + 1 };
	static const __u64 shown[] = { SHOWS, WRAPPER + 1, LINES };
	static const __u64 leaf[] = { WRAPPER, LINES };
	static const __u64 alone[] = { WRAPPER + 2 };
	struct sample_record records[] = {
		sample_record_make(7, 8, 1500, left_out, 0, 3),
		sample_record_make(7, 9, 1600, shown, 0, 3),
		sample_record_make(7, 10, 1700, leaf, 0, 2),
		sample_record_make(7, 11, 1800, alone, 0, 1),
	};
	static const uint32_t counts[] = { 2, 3, 1, 1 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	for (size_t i = 0; i < 4; i++)
		fixture_append(&records[i]);
	batch = fixture_build();
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(fixture_stack_count(batch, i), counts[i]);
}

static void every_end_is_counted_by_samples(void **state)
{
	static const char *const ends[UNWIND_END_COUNT] = {
		[0] = "no_user_stack",
		[UNWIND_END_ENTRY] = "entry",
		[UNWIND_END_NO_PROCESS] = "no_process",
		[UNWIND_END_NO_MAPPING] = "no_mapping",
		[UNWIND_END_NO_PAGE] = "no_page",
		[UNWIND_END_UNSUPPORTED] = "unsupported_rule",
		[UNWIND_END_BAD_CFA] = "bad_cfa",
		[UNWIND_END_BAD_POINTER] = "broken_frame_pointers",
		[UNWIND_END_UNREADABLE] = "unreadable_stack",
		[UNWIND_END_DEPTH] = "depth",
		[UNWIND_END_REGISTERS] = "no_registers",
		[UNWIND_END_BROKEN_TABLE] = "broken_table",
		[UNWIND_END_NOT_COPIED] = "stack_not_copied",
		[UNWIND_END_GUESSED] = "guessed_frame",
	};
	struct sample_record record = sample_record_make(7, 8, 1500, (__u64[]){ 0 }, 0, 0);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	for (__u16 end = 0; end < UNWIND_END_COUNT; end++) {
		record.head.end = end;
		for (__u16 times = 0; times <= end; times++)
			fixture_append(&record);
	}
	batch = fixture_build();
	for (__u16 end = 0; end < UNWIND_END_COUNT; end++)
		assert_int_equal(fixture_stacks_that_ended(ends[end]), end + 1);
}

static void a_kernel_thread_is_complete_and_a_thread_without_its_user_part_is_not(void **state)
{
	static const __u64 frames[] = { KERNEL_START + 0x10, KERNEL_START + 0x21 };
	struct sample_record kernel = sample_record_make(7, 7, 1500, frames, 2, 0);
	struct sample_record cut = sample_record_make(7, 8, 1500, frames, 2, 0);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	cut.head.end = UNWIND_END_NO_PROCESS;
	fixture_append(&kernel);
	fixture_append(&cut);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	for (uint32_t i = 0; i < 2; i++) {
		bool is_kernel = !strcmp(fixture_sample_attribute(batch, i, "thread.id"), "7");

		assert_int_equal(fixture_stack_count(batch, i), is_kernel ? 2 : 3);
		assert_int_equal(fixture_location(batch, i, 1).address, 0x20);
		assert_true(is_kernel == !reason(batch, i));
	}
	assert_int_equal(fixture_stacks_that_ended("no_user_stack"), 1);
	assert_int_equal(fixture_stacks_that_ended("no_process"), 1);
}

/* The longest that a record can hold, with its mark. */
static void a_stack_at_the_limit_keeps_all_its_frames(void **state)
{
	enum { MOST = SAMPLE_MAX_KERNEL_FRAMES + SAMPLE_MAX_USER_FRAMES };
	__u64 frames[MOST];
	struct sample_record record;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	for (__u32 i = 0; i < MOST; i++)
		frames[i] = i < SAMPLE_MAX_KERNEL_FRAMES ? KERNEL_START + 16 * i
							 : sample_record_place(PROGRAM_FILE, i);
	record = sample_record_make(7, 8, 1500, frames, SAMPLE_MAX_KERNEL_FRAMES,
				    SAMPLE_MAX_USER_FRAMES);
	record.head.end = UNWIND_END_DEPTH;
	fixture_append(&record);
	batch = fixture_build();
	assert_int_equal(fixture_stack_count(batch, 0), MOST + 1);
	assert_string_equal(reason(batch, 0), "[max_stack_depth]");
	assert_int_equal(fixture_location(batch, 0, MOST - 1).address, MOST - 1 + 0x10000);
}

#define WITH_CAPTURE(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

static void stacks_with_a_gap_are_counted(void **state)
{
	const __u64 runtime =
		UNWIND_FRAME_RUNTIME | (__u64)RUNTIME_HOTSPOT << UNWIND_FRAME_NUMBER_SHIFT | 0x1000;
	const __u64 frames[] = { runtime, 1ull << 32 | 98, runtime, 1ull << 32 | 99, 0x401801 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 5);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	fixture_append(&record);
	record.head.time_ns++;
	fixture_append(&record);
	record = sample_record_make(7, 8, 1600, frames, 0, 2);
	fixture_append(&record);
	batch = fixture_build();
	assert_non_null(batch);
	assert_int_equal(fixture_gaps(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CAPTURE(stacks_with_a_gap_are_counted),
		WITH_CAPTURE(a_stack_is_cut_at_a_return_address_that_is_none_and_says_so),
		WITH_CAPTURE(a_stack_walked_by_tables_is_not_cut_again),
		WITH_CAPTURE(every_way_to_end_but_the_entry_is_told_by_the_stack),
		WITH_CAPTURE(wrappers_are_left_out_unless_what_they_called_shows_them),
		WITH_CAPTURE(every_end_is_counted_by_samples),
		WITH_CAPTURE(a_kernel_thread_is_complete_and_a_thread_without_its_user_part_is_not),
		WITH_CAPTURE(a_stack_at_the_limit_keeps_all_its_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
