// SPDX-License-Identifier: Apache-2.0
#include "capture.h"
#include "sample_record.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

static int append(struct capture *capture, const struct sample_record *record)
{
	uint32_t process;

	return capture_append(capture, record, sample_record_length(record), &process);
}

static void capture_interns_frames_stacks_and_processes(void **state)
{
	static const __u64 frames[] = { 0xffffffff81000010, 0xffffffff81000100, 0x401010, 0x401100,
					0x401200 };
	struct sample_record record = sample_record_make(7, 8, 100, frames, 2, 3);
	struct capture capture;

	(void)state;
	record.head.end = UNWIND_END_NO_PROCESS;
	capture_init(&capture, 1 << 20);
	capture_clear(&capture, 50);
	assert_int_equal(append(&capture, &record), 0);
	record.head.time_ns = 200;
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.samples.count, 2);
	assert_int_equal(capture.stacks.count, 1);
	assert_int_equal(capture.frames.count, 5);
	assert_int_equal(capture.processes.count, 1);
	assert_int_equal(capture.processes.items[0].first_ns, 100);
	// Where execution stood is kept, return addresses point into the call before them.
	assert_true(capture.frames.items[0].address == 0xffffffff81000010);
	assert_true(capture.frames.items[1].address == 0xffffffff810000ff);
	assert_int_equal(capture.frames.items[2].address, 0x401010);
	assert_int_equal(capture.frames.items[3].address, 0x4010ff);
	assert_int_equal(capture.frames.items[1].process, CAPTURE_KERNEL);
	assert_int_equal(capture.frames.items[2].process, 0);
	// The same addresses in another address space are other frames, in the kernel the same.
	record.head.exec_id++;
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.processes.count, 2);
	assert_int_equal(capture.frames.count, 8);
	capture_deinit(&capture);
}

static void capture_takes_frames_of_tables_as_they_are(void **state)
{
	const __u64 frames[] = { 0xffffffff81000010, 0xffffffff81000100,
				 sample_record_place(3, 0x1010), sample_record_place(0, 0x1100),
				 0x7f0000001200 };
	struct sample_record record = sample_record_make(7, 8, 100, frames, 2, 3);
	const struct capture_frame *rows;
	struct capture capture;

	(void)state;
	capture_init(&capture, 1 << 20);
	assert_int_equal(append(&capture, &record), 0);
	rows = capture.frames.items;
	assert_true(rows[1].address == 0xffffffff810000ff);
	assert_int_equal(rows[2].process, CAPTURE_FILE);
	assert_int_equal(rows[2].file, 3);
	assert_int_equal(rows[2].address, 0x1010);
	assert_int_equal(rows[3].process, CAPTURE_FILE);
	assert_int_equal(rows[3].file, 0);
	assert_int_equal(rows[3].address, 0x1100);
	assert_int_equal(rows[4].process, 0);
	assert_int_equal(rows[4].address, 0x7f0000001200);
	assert_int_equal(capture.stacks.items[0].end, UNWIND_END_ENTRY);
	// Of another process the places in files and the kernel's frames are the same.
	record.head.pid = 9;
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.processes.count, 2);
	assert_int_equal(capture.frames.count, 5 + 1);
	// The same offset of another file is not.
	record.frames[2] = sample_record_place(4, 0x1010);
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.frames.count, 6 + 1);
	// The last file and the last byte that a frame can name.
	record.frames[2] =
		sample_record_place(UNWIND_FRAME_FILES - 2, (1ull << UNWIND_FRAME_SHIFT) - 1);
	assert_int_equal(append(&capture, &record), 0);
	rows = capture.frames.items;
	assert_int_equal(rows[7].process, CAPTURE_FILE);
	assert_int_equal(rows[7].file, UNWIND_FRAME_FILES - 2);
	assert_int_equal(rows[7].address, (1ull << UNWIND_FRAME_SHIFT) - 1);
	capture_deinit(&capture);
}

/* Equal frames, of which one is cut and one is complete, are two stacks. */
static void capture_tells_stacks_apart_by_their_ends(void **state)
{
	static const __u64 frames[] = { 0x401010, 0x401100 };
	struct sample_record record = sample_record_make(7, 8, 100, frames, 0, 2);
	struct capture capture;

	(void)state;
	capture_init(&capture, 1 << 20);
	assert_int_equal(append(&capture, &record), 0);
	record.head.end = UNWIND_END_UNREADABLE;
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.frames.count, 2);
	assert_int_equal(capture.stacks.count, 2);
	assert_int_equal(capture.samples.items[0].stack, 0);
	assert_int_equal(capture.samples.items[1].stack, 1);
	assert_int_equal(capture.samples.items[2].stack, 1);
	assert_int_equal(capture.stacks.items[1].limit, 4);
	assert_int_equal(capture.stacks.items[1].end, UNWIND_END_UNREADABLE);
	capture_deinit(&capture);
}

/* It follows whatever lies in user memory: what it finds is never a place in a file. */
static void capture_takes_nothing_from_the_kernels_walker_for_a_file(void **state)
{
	const __u64 frames[] = { 0x401010, sample_record_place(3, 0x1010), UNWIND_FRAME_FILE };
	struct sample_record record = sample_record_make(7, 8, 100, frames, 0, 3);
	struct capture capture;

	(void)state;
	record.head.end = UNWIND_END_NO_PROCESS;
	capture_init(&capture, 1 << 20);
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.frames.count, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(capture.frames.items[i].process, 0);
		assert_true(capture.frames.items[i].address == frames[i] - (i > 0));
	}
	capture_deinit(&capture);
}

/* Two words each, the second with anything in it. */
static void capture_takes_frames_of_runtimes(void **state)
{
	const __u64 frames[] = {
		UNWIND_FRAME_RUNTIME | 9ull << UNWIND_FRAME_KIND_SHIFT |
			2ull << UNWIND_FRAME_NUMBER_SHIFT | 0x7f0011223344,
		UNWIND_FRAME_FILE | 77ull << 32 | 11,
		0x401010,
		UNWIND_FRAME_RUNTIME | 2ull << UNWIND_FRAME_NUMBER_SHIFT | 0x7f0011223344,
		UNWIND_FRAME_FILE | 77ull << 32 | 11,
	};
	struct sample_record record = sample_record_make(7, 8, 100, frames, 0, 5);
	struct capture capture;
	const struct capture_frame *frame;

	(void)state;
	capture_init(&capture, 1 << 20);
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.frames.count, 3);
	assert_int_equal(capture.stacks.items[0].limit, 3);
	frame = &capture.frames.items[0];
	assert_true(capture_is_of_runtime(frame));
	assert_int_equal(frame->runtime, 9 << 8 | 2);
	assert_int_equal(frame->address, 0x7f0011223344);
	assert_int_equal(frame->position, 11);
	assert_int_equal(frame->check, UNWIND_FRAME_FILE >> 32 | 77);
	assert_false(capture_is_of_runtime(&capture.frames.items[1]));
	assert_int_equal(capture.frames.items[2].runtime, 2);
	capture_deinit(&capture);
}

static void capture_ignores_what_follows_the_name_of_a_thread(void **state)
{
	static const __u64 frames[] = { 0x401010 };
	struct sample_record record = sample_record_make(7, 8, 100, frames, 0, 1);
	struct capture capture;

	(void)state;
	capture_init(&capture, 1 << 20);
	memcpy(record.head.comm, "sh\0garbage", 11);
	assert_int_equal(append(&capture, &record), 0);
	memcpy(record.head.comm, "sh\0other", 9);
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.comms.count, 1);
	assert_string_equal(capture.comms.items[0].text, "sh");
	capture_deinit(&capture);
}

static void capture_refuses_records_that_do_not_add_up(void **state)
{
	static const __u64 frames[] = { 1, 2, 3 };
	struct sample_record record = sample_record_make(7, 8, 100, frames, 1, 2);
	size_t length = sample_record_length(&record);
	struct capture capture;
	uint32_t process;

	(void)state;
	capture_init(&capture, 1 << 20);
	for (size_t shorter = 0; shorter < length; shorter++)
		assert_int_equal(capture_append(&capture, &record, shorter, &process), -EBADMSG);
	record.head.user_words = SAMPLE_MAX_USER_WORDS + 1;
	assert_int_equal(capture_append(&capture, &record, sizeof(record), &process), -EBADMSG);
	record.head.user_words = 2;
	// An end that there is not, and a user part without one.
	record.head.end = UNWIND_END_COUNT;
	assert_int_equal(append(&capture, &record), -EBADMSG);
	record.head.end = 0;
	assert_int_equal(append(&capture, &record), -EBADMSG);
	record.head.end = UNWIND_END_ENTRY;
	// A place in no file.
	record.frames[2] = UNWIND_FRAME_FILE | 0x1000;
	assert_int_equal(append(&capture, &record), -EBADMSG);
	// A runtime's frame without its second word.
	record.frames[2] = UNWIND_FRAME_RUNTIME | 0x1000;
	assert_int_equal(append(&capture, &record), -EBADMSG);
	assert_int_equal(capture.frames.count, 0);
	assert_int_equal(capture.samples.count, 0);
	capture_deinit(&capture);
}

static void capture_stops_at_its_budget_and_goes_on_after_a_clear(void **state)
{
	__u64 frames[SAMPLE_MAX_USER_FRAMES];
	struct sample_record record;
	struct capture capture;
	size_t samples = 0, memory;
	int status;

	(void)state;
	capture_init(&capture, 1024 * 1024);
	for (int round = 0; round < 2; round++) {
		size_t before = samples;

		capture_clear(&capture, 0);
		do {
			for (int i = 0; i < SAMPLE_MAX_USER_FRAMES; i++)
				frames[i] = samples * 100000 + (size_t)i;
			record = sample_record_make(7, 8, samples, frames, 0,
						    SAMPLE_MAX_USER_FRAMES);
			status = append(&capture, &record);
			samples++;
		} while (!status);
		assert_int_equal(status, -ENOSPC);
		assert_true(capture_memory(&capture) <= 1024 * 1024);
		assert_true(samples - before > 10);
		// The second round has to do with the memory of the first.
		if (round)
			assert_int_equal(capture_memory(&capture), memory);
		memory = capture_memory(&capture);
	}
	capture_deinit(&capture);
}

static void capture_gives_the_memory_of_a_burst_back(void **state)
{
	struct capture capture;
	size_t burst;

	(void)state;
	capture_init(&capture, 64 << 20);
	for (__u64 i = 0; i < 250000; i++) {
		struct sample_record record =
			sample_record_make(7, 8, i, (__u64[]){ i << 4 }, 0, 1);

		assert_int_equal(append(&capture, &record), 0);
	}
	burst = capture_memory(&capture);
	capture_clear(&capture, 0);
	// It was all in use: the next batch may be like it. One that is not gives it back.
	assert_int_equal(capture_memory(&capture), burst);
	capture_clear(&capture, 0);
	assert_true(capture_memory(&capture) < burst / 4);
	capture_deinit(&capture);
}

static void capture_takes_a_sample_without_any_frame(void **state)
{
	struct sample_record record = sample_record_make(7, 8, 100, (__u64[]){ 0 }, 0, 0);
	struct capture capture;

	(void)state;
	capture_init(&capture, 1 << 20);
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.samples.count, 2);
	assert_int_equal(capture.stacks.count, 1);
	capture_deinit(&capture);
}

/* Others at each sample: labels have their share, and samples go on without. */
static void labels_take_their_share_of_a_batch(void **state)
{
	const struct sample_record plain = sample_record_make(7, 8, 1, (__u64[]){ 0x1000 }, 0, 1);
	char value[SAMPLE_LABEL_VALUE_BYTES] = { 0 };
	struct sample_record record;
	struct capture capture;
	size_t labelled = 0;

	(void)state;
	capture_init(&capture, 1 << 20);
	for (int round = 0; round < 2; round++) {
		capture_clear(&capture, 0);
		for (size_t i = 0; i < 1000; i++) {
			record = plain;
			memcpy(value, &i, sizeof(i));
			sample_record_add_label(&record, "id", 2, value, sizeof(value));
			assert_int_equal(append(&capture, &record), 0);
		}
		labelled = capture.labels.count;
		assert_in_range(labelled, 100, 500);
		assert_int_equal(capture.label_fates[CAPTURE_LABELS_WHOLE], 1000);
		assert_int_equal(capture.label_fates[CAPTURE_LABELS_NO_ROOM], 1000 - labelled);
		assert_int_equal(capture.samples.items[labelled - 1].labels, labelled);
		assert_int_equal(capture.samples.items[labelled].labels, 0);
	}
	// Known ones need no room.
	memset(value, 0, sizeof(value));
	record = plain;
	sample_record_add_label(&record, "id", 2, value, sizeof(value));
	assert_int_equal(append(&capture, &record), 0);
	assert_int_equal(capture.samples.items[1000].labels, 1);
	capture_deinit(&capture);
}

static void capture_refuses_labels_that_do_not_add_up(void **state)
{
	struct sample_record good = sample_record_make(7, 8, 1, (__u64[]){ 0x1000 }, 0, 1), bad;
	struct capture capture;
	uint32_t process;

	(void)state;
	capture_init(&capture, 1 << 20);
	sample_record_add_label(&good, "key", 3, "a value", 7);
	assert_int_equal(append(&capture, &good), 0);
	bad = good;
	sample_record_labels(&bad)->count = 2;
	assert_int_equal(append(&capture, &bad), -EBADMSG);
	sample_record_labels(&bad)->count = 0;
	assert_int_equal(append(&capture, &bad), -EBADMSG);
	bad = good;
	((struct sample_label *)(sample_record_labels(&bad) + 1))->key_bytes = 0;
	assert_int_equal(append(&capture, &bad), -EBADMSG);
	((struct sample_label *)(sample_record_labels(&bad) + 1))->key_bytes =
		SAMPLE_LABEL_KEY_BYTES + 1;
	assert_int_equal(append(&capture, &bad), -EBADMSG);
	bad = good;
	((struct sample_label *)(sample_record_labels(&bad) + 1))->value_bytes = 100;
	assert_int_equal(append(&capture, &bad), -EBADMSG);
	bad = good;
	bad.head.label_bytes += 8;
	assert_int_equal(append(&capture, &bad), -EBADMSG);
	bad = good;
	sample_record_labels(&bad)->flags = SAMPLE_LABELS_PARTNER;
	assert_int_equal(append(&capture, &bad), -EBADMSG);
	// Behind the end of the record.
	assert_int_equal(capture_append(&capture, &good, sample_record_length(&good) - 8, &process),
			 -EBADMSG);
	assert_int_equal(capture.samples.count, 1);
	capture_deinit(&capture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(capture_interns_frames_stacks_and_processes),
		cmocka_unit_test(capture_takes_frames_of_tables_as_they_are),
		cmocka_unit_test(capture_tells_stacks_apart_by_their_ends),
		cmocka_unit_test(capture_takes_nothing_from_the_kernels_walker_for_a_file),
		cmocka_unit_test(capture_takes_frames_of_runtimes),
		cmocka_unit_test(capture_ignores_what_follows_the_name_of_a_thread),
		cmocka_unit_test(capture_refuses_records_that_do_not_add_up),
		cmocka_unit_test(capture_stops_at_its_budget_and_goes_on_after_a_clear),
		cmocka_unit_test(capture_gives_the_memory_of_a_burst_back),
		cmocka_unit_test(capture_takes_a_sample_without_any_frame),
		cmocka_unit_test(labels_take_their_share_of_a_batch),
		cmocka_unit_test(capture_refuses_labels_that_do_not_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
