// SPDX-License-Identifier: Apache-2.0
/* Samples of several events in one batch. */
#include "report_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/syscall.h>

static const __u64 frames[] = { 0x400800 };

static struct sample_record wait_of(uint64_t time_ns, uint64_t value)
{
	struct sample_record record = sample_record_make(7, 8, time_ns, frames, 0, 1);

	record.head.origin = SAMPLE_OFF_CPU;
	record.head.value = value;
	record.head.detail = (OFF_CPU_SLEEPING << OFF_CPU_STATE_SHIFT) | (SYS_futex + 1);
	return record;
}

static struct sample_record tick_of(uint64_t time_ns)
{
	return sample_record_make(7, 8, time_ns, frames, 0, 1);
}

static const char *type_of(const struct profcol_batch *batch, uint32_t profile)
{
	struct profcol_range samples;

	return profcol_batch_string(batch,
				    profcol_batch_profile(batch, profile, &samples).sample_type)
		.bytes;
}

static void each_event_has_a_profile_of_its_own(void **state)
{
	struct sample_record tick = tick_of(1100), wait = wait_of(1200, 7000);
	struct sample_record fault = tick_of(1300);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_range samples;
	struct profcol_profile profile;

	(void)state;
	fault.head.origin = SAMPLE_PAGE_FAULTS;
	fault.head.value = 16;
	fixture_append(&wait);
	fixture_append(&fault);
	fixture_append(&tick);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 1);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES), 3);
	// The timer's first: formats that have room for one period take the first one.
	assert_string_equal(type_of(batch, 0), "samples");
	assert_string_equal(type_of(batch, 1), "page_faults");
	assert_string_equal(type_of(batch, 2), "off_cpu");
	profile = profcol_batch_profile(batch, 2, &samples);
	assert_string_equal(profcol_batch_string(batch, profile.sample_unit).bytes, "nanoseconds");
	assert_int_equal(profile.period, 0);
	assert_string_equal(profcol_batch_string(batch, profile.period_type).bytes, "");
	assert_int_equal(profcol_batch_sample(batch, 1).values[0], 16);
	assert_int_equal(profcol_batch_events(batch), 3);
}

static void values_stand_beside_their_times(void **state)
{
	struct sample_record late = wait_of(1900, 300), early = wait_of(1200, 7000);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_sample sample;

	(void)state;
	fixture_append(&late);
	fixture_append(&early);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 1);
	sample = profcol_batch_sample(batch, 0);
	assert_int_equal(sample.value_count, 2);
	assert_int_equal(sample.timestamp_count, 2);
	assert_int_equal(sample.values[0], 7000);
	assert_int_equal(sample.values[1], 300);
	assert_int_equal(sample.timestamps_unix_ns[1] - sample.timestamps_unix_ns[0], 700);
	assert_string_equal(fixture_sample_attribute(batch, 0, "profcol.wait.reason"), "futex");
}

static void each_event_counts_without_times_too(void **state)
{
	struct sample_record first = wait_of(1200, 7000), second = wait_of(1300, 300);
	struct sample_record tick = tick_of(1400), tock = tick_of(1500);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	fixture_config.timestamps = false;
	fixture_append(&first);
	fixture_append(&second);
	fixture_append(&tick);
	fixture_append(&tock);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	assert_int_equal(profcol_batch_events(batch), 4);
	assert_null(fixture_sample_attribute(batch, 1, "thread.id"));
}

static void waits_for_different_reasons_are_different_samples(void **state)
{
	struct sample_record wait = wait_of(1200, 7000), runnable = wait_of(1300, 300);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	runnable.head.detail = OFF_CPU_RUNNABLE << OFF_CPU_STATE_SHIFT;
	fixture_append(&wait);
	fixture_append(&runnable);
	batch = fixture_build();
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	assert_string_equal(fixture_sample_attribute(batch, 0, "profcol.wait.reason"), "runnable");
}

static void wall_is_time_on_and_off_cpus(void **state)
{
	static const char *const names[] = { "wall" };
	struct sample_record tick = tick_of(1100), wait = wait_of(1200, 7000);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	const char *reason;
	int64_t sum = 0;

	(void)state;
	fixture_config.events = (struct profcol_list){ .items = names, .count = 1 };
	fixture_append(&wait);
	fixture_append(&tick);
	batch = fixture_build();
	fixture_config.events = (struct profcol_list){ 0 };
	assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES), 1);
	assert_string_equal(type_of(batch, 0), "wall");
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SAMPLES), 2);
	for (uint32_t i = 0; i < 2; i++)
		sum += profcol_batch_sample(batch, i).values[0];
	// A tick is its period: 50 ms in the fixture.
	assert_int_equal(sum, 50000000 + 7000);
	reason = fixture_sample_attribute(batch, 0, "profcol.wait.reason");
	assert_string_equal(reason, "futex");
	reason = fixture_sample_attribute(batch, 1, "profcol.wait.reason");
	assert_string_equal(reason, "running");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(test) cmocka_unit_test_setup_teardown(test, fixture_set_up, fixture_tear_down)
		TEST(each_event_has_a_profile_of_its_own),
		TEST(values_stand_beside_their_times),
		TEST(each_event_counts_without_times_too),
		TEST(waits_for_different_reasons_are_different_samples),
		TEST(wall_is_time_on_and_off_cpus),
	};

	return cmocka_run_group_tests_name("report of events", tests, NULL, NULL);
}
