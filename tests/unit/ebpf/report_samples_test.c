// SPDX-License-Identifier: Apache-2.0
/* Samples of a batch: what they carry, which become one, and their times. */
#include "report_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void a_sample_carries_names_and_whose_it_is(void **state)
{
	static const __u64 frames[] = { KERNEL_START + 0x10, 0x400800, 0x401801, 0x600000 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 1, 3);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	fixture_append(&record);
	batch = fixture_build();
	text = fixture_print(batch);
	fixture_expect_text(text, "do_syscall_64");
	fixture_expect_text(text, "serve");
	fixture_expect_text(text, "/opt/b?b/library.so");
	fixture_expect_text(text, "c0ffee");
	fixture_expect_text(text, "server");
	fixture_expect_text(text, "worker");
	// Paths are bytes; what leaves is UTF-8.
	fixture_expect_text(text, "/opt/b?b/server");
	assert_int_equal(profcol_batch_events(batch), 1);
}

/* Is sample @number one of a thread that is called @name? */
static bool is_of_thread(const struct profcol_batch *batch, uint32_t number, const char *name)
{
	struct profcol_sample sample = profcol_batch_sample(batch, number);
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, sample.attributes, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		if (!strcmp(profcol_batch_string(batch, attribute.key).bytes, "thread.name"))
			return !strcmp(profcol_batch_string(batch, attribute.value.string).bytes,
				       name);
	}
	return false;
}

static void a_thread_is_called_as_its_runtime_has_it(void **state)
{
	static const __u64 frames[] = {
		UNWIND_FRAME_RUNTIME |
			(unsigned long long)RUNTIME_HOTSPOT << UNWIND_FRAME_NUMBER_SHIFT | 0x1000,
		1ull << 32,
		0x401801,
	};
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 3);
	struct sample_record native = sample_record_make(7, 8, 1600, &frames[2], 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	int told = 0, system = 0, before = 0;

	(void)state;
	fixture_append(&record);
	// The same thread, in no code of the runtime; another one, and one whose name is not known.
	fixture_append(&native);
	native.head.tid = 9;
	fixture_append(&native);
	record.head.tid = 10;
	fixture_append(&record);
	// When it was called otherwise, it may have had another name.
	native.head.tid = 8;
	strcpy(native.head.comm, "before");
	fixture_append(&native);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 5);
	for (uint32_t i = 0; i < 5; i++) {
		told += is_of_thread(batch, i, "orders and invoices");
		system += is_of_thread(batch, i, "worker");
		before += is_of_thread(batch, i, "before");
	}
	assert_int_equal(told, 2);
	assert_int_equal(system, 2);
	assert_int_equal(before, 1);
}

static void equal_samples_become_one_with_their_times_in_order(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_sample sample;
	struct profcol_profile profile;
	struct profcol_range range;

	(void)state;
	fixture_append(&record);
	record.head.time_ns = 1200;
	fixture_append(&record);
	record.head.tid = 10;
	fixture_append(&record);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	assert_int_equal(profcol_batch_events(batch), 3);
	sample = profcol_batch_sample(batch, 0);
	assert_int_equal(sample.value_count, 0);
	assert_int_equal(sample.timestamp_count, 2);
	assert_int_equal(sample.timestamps_unix_ns[1] - sample.timestamps_unix_ns[0], 300);
	profile = profcol_batch_profile(batch, 0, &range);
	assert_int_equal(profile.duration_ns, 1000);
	assert_int_equal(profile.period, 50000000);
	assert_int_equal(sample.timestamps_unix_ns[0] - profile.time_unix_ns, 200);
}

static void without_timestamps_samples_are_counts(void **state)
{
	static const __u64 frames[] = { 0x400800 }, other[] = { 0x400900 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 1);
	struct sample_record elsewhere = sample_record_make(7, 8, 1500, other, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_sample sample;
	int64_t sum = 0;

	(void)state;
	fixture_config.timestamps = false;
	fixture_append(&record);
	fixture_append(&elsewhere);
	// Another time, another CPU, another thread of the same name.
	record.head.time_ns = 1600;
	fixture_append(&record);
	record.head.cpu = 5;
	fixture_append(&record);
	record.head.tid = 9;
	fixture_append(&record);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	for (uint32_t i = 0; i < 2; i++) {
		sample = profcol_batch_sample(batch, i);
		assert_int_equal(sample.timestamp_count, 0);
		assert_int_equal(sample.value_count, 1);
		sum += sample.values[0];
		assert_null(fixture_sample_attribute(batch, i, "thread.id"));
		assert_null(fixture_sample_attribute(batch, i, "cpu.logical_number"));
		assert_string_equal(fixture_sample_attribute(batch, i, "thread.name"), "worker");
	}
	assert_int_equal(sum, 5);
	assert_int_equal(profcol_batch_events(batch), 5);
	// A thread of another name is not the same.
	memcpy(record.head.comm, "reader", 7);
	fixture_append(&record);
	profcol_batch_unref(batch);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 3);
}

static void a_window_ends_after_its_last_sample_and_never_empty(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record at_the_edge = sample_record_make(7, 7, 1000, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_profile profile;
	struct profcol_sample sample;
	struct profcol_range range;

	(void)state;
	// Opened, sampled and closed in the same nanosecond.
	fixture_append(&at_the_edge);
	batch = fixture_build_until(1000);
	profile = profcol_batch_profile(batch, 0, &range);
	sample = profcol_batch_sample(batch, 0);
	assert_int_equal(profile.duration_ns, 1);
	assert_int_equal(sample.timestamps_unix_ns[0], profile.time_unix_ns);
}

static void the_window_holds_every_sample(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record early = sample_record_make(7, 7, 900, frames, 0, 1);
	struct sample_record late = sample_record_make(7, 7, 2000, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_profile profile;
	struct profcol_sample sample;
	struct profcol_range range;

	(void)state;
	fixture_append(&early);
	fixture_append(&late);
	batch = fixture_build();
	profile = profcol_batch_profile(batch, 0, &range);
	sample = profcol_batch_sample(batch, 0);
	assert_true(sample.timestamps_unix_ns[0] >= profile.time_unix_ns);
	assert_true(sample.timestamps_unix_ns[1] < profile.time_unix_ns + profile.duration_ns);
}

static void who_has_ended_a_wait_is_told(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record wait = sample_record_make(7, 8, 1500, frames, 0, 1), other = wait;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	wait.head.origin = other.head.origin = SAMPLE_OFF_CPU;
	sample_record_add_label(&wait, "color", 5, "red", 3);
	sample_record_add_partner(&wait, &(struct wait_partner){ 11, 12, "sil\nver" });
	sample_record_add_partner(&other, &(struct wait_partner){ 11, 13, "0123456789abcdef" });
	fixture_append(&wait);
	fixture_append(&other);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	assert_string_equal(fixture_sample_attribute(batch, 0, "profcol.waker.thread.name"),
			    "sil?ver");
	assert_string_equal(fixture_sample_attribute(batch, 0, "process.context.label.color"),
			    "red");
	assert_string_equal(fixture_sample_attribute(batch, 1, "profcol.waker.thread.name"),
			    "0123456789abcdef");
	// A waker is no label.
	assert_int_equal(fixture_labelled("whole"), 1);
}

static void whose_wait_was_ended_is_told(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record waker = sample_record_make(7, 8, 1500, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	waker.head.origin = SAMPLE_WAKERS;
	sample_record_add_partner(&waker, &(struct wait_partner){ 11, 12, "silver" });
	fixture_append(&waker);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 1);
	assert_string_equal(fixture_sample_attribute(batch, 0, "profcol.woken.thread.name"),
			    "silver");
	assert_null(fixture_sample_attribute(batch, 0, "profcol.waker.thread.name"));
}

static void in_the_midst_of_an_exec_nobody_has_a_name(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record wait = sample_record_make(7, 8, 1500, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	wait.head.origin = SAMPLE_OFF_CPU;
	wait.head.comm[0] = '\0';
	sample_record_add_partner(&wait, &(struct wait_partner){ 11, 12, "" });
	fixture_append(&wait);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 1);
	assert_null(fixture_sample_attribute(batch, 0, "thread.name"));
	assert_null(fixture_sample_attribute(batch, 0, "profcol.waker.thread.name"));
}

static void labels_are_attributes_of_their_samples(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record plain = sample_record_make(7, 8, 1500, frames, 0, 1);
	struct sample_record red = plain, blue = plain;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	sample_record_add_label(&red, "color", 5, "red", 3);
	sample_record_add_label(&red, "empty", 5, "", 0);
	sample_record_add_label(&blue, "color", 5, "blue", 4);
	fixture_append(&red);
	fixture_append(&plain);
	fixture_append(&blue);
	fixture_append(&red);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 3);
	assert_int_equal(profcol_batch_events(batch), 4);
	assert_null(fixture_sample_attribute(batch, 0, "process.context.label.color"));
	assert_string_equal(fixture_sample_attribute(batch, 1, "process.context.label.color"),
			    "red");
	assert_string_equal(fixture_sample_attribute(batch, 1, "process.context.label.empty"), "");
	assert_int_equal(profcol_batch_sample(batch, 1).timestamp_count, 2);
	assert_string_equal(fixture_sample_attribute(batch, 2, "process.context.label.color"),
			    "blue");
	assert_null(fixture_sample_attribute(batch, 2, "process.context.label.empty"));
	assert_int_equal(fixture_labelled("whole"), 3);
	assert_int_equal(fixture_labelled("cut"), 0);
}

/* Whatever bytes a program has for labels: text, no control characters, no key twice. */
static void labels_are_text(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 1);
	char wide[SAMPLE_LABEL_VALUE_BYTES + 1] = "x";
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	const char *value;

	(void)state;
	for (size_t i = 1; i + 1 < sizeof(wide); i += 2)
		memcpy(wide + i, "\xc3\xa9", 2);
	sample_record_add_label(&record, "a\nb", 3, "\xff\0\x1b[m", 5);
	sample_record_add_label(&record, "a\rb", 3, "second", 6);
	sample_record_add_label(&record, "wide", 4, wide, SAMPLE_LABEL_VALUE_BYTES)->is_cut = 1;
	sample_record_labels(&record)->flags = SAMPLE_LABELS_CUT | SAMPLE_LABELS_LEFT_OUT;
	fixture_append(&record);
	batch = fixture_build();
	assert_string_equal(fixture_sample_attribute(batch, 0, "process.context.label.a?b"),
			    "???[m");
	value = fixture_sample_attribute(batch, 0, "process.context.label.wide");
	// No half of a character.
	assert_int_equal(strlen(value), SAMPLE_LABEL_VALUE_BYTES - 1);
	assert_true(strings_is_utf8(value, strlen(value)));
	assert_int_equal(fixture_labelled("whole"), 0);
	assert_int_equal(fixture_labelled("cut"), 1);
	assert_int_equal(fixture_labelled("left_out"), 1);
}

static void the_longest_labels_are_whole(void **state)
{
	struct sample_record record = sample_record_make(7, 8, 1500, (__u64[]){ 0x1000 }, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	char key[SAMPLE_LABEL_KEY_BYTES], value[SAMPLE_LABEL_VALUE_BYTES + 1] = { 0 };
	char name[sizeof("process.context.label.") + SAMPLE_LABEL_KEY_BYTES];

	(void)state;
	memset(key, 'k', sizeof(key));
	memset(value, 'v', SAMPLE_LABEL_VALUE_BYTES);
	snprintf(name, sizeof(name), "process.context.label.%.64s", key);
	sample_record_add_label(&record, key, sizeof(key), value, SAMPLE_LABEL_VALUE_BYTES);
	fixture_append(&record);
	batch = fixture_build();
	assert_string_equal(fixture_sample_attribute(batch, 0, name), value);
}

static void labels_that_cannot_be_read_are_counted(void **state)
{
	static const __u64 frames[] = { 0x400800 };
	struct sample_record record = sample_record_make(7, 8, 1500, frames, 0, 1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	sample_record_labels(&record)->flags = SAMPLE_LABELS_UNREADABLE;
	fixture_append(&record);
	batch = fixture_build();
	assert_int_equal(profcol_batch_events(batch), 1);
	assert_int_equal(fixture_labelled("unreadable"), 1);
}

#define WITH_CAPTURE(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_CAPTURE(a_sample_carries_names_and_whose_it_is),
		WITH_CAPTURE(a_thread_is_called_as_its_runtime_has_it),
		WITH_CAPTURE(equal_samples_become_one_with_their_times_in_order),
		WITH_CAPTURE(without_timestamps_samples_are_counts),
		WITH_CAPTURE(a_window_ends_after_its_last_sample_and_never_empty),
		WITH_CAPTURE(the_window_holds_every_sample),
		WITH_CAPTURE(who_has_ended_a_wait_is_told),
		WITH_CAPTURE(whose_wait_was_ended_is_told),
		WITH_CAPTURE(in_the_midst_of_an_exec_nobody_has_a_name),
		WITH_CAPTURE(labels_are_attributes_of_their_samples),
		WITH_CAPTURE(labels_are_text),
		WITH_CAPTURE(the_longest_labels_are_whole),
		WITH_CAPTURE(labels_that_cannot_be_read_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
