// SPDX-License-Identifier: Apache-2.0
/* Reading the buffers of samples, with the program on each CPU played by the test. */
#include "sample_buffers.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CPUS = 3, RING = 64 * 1024, MOST = 4096 };

struct taken {
	size_t count;
	uint64_t times[MOST];
};

struct fixture {
	int map;
	struct sample_buffers buffers;
	struct taken taken;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->map = memfd_create("buffers", MFD_CLOEXEC);
	assert_true(fixture->map >= 0);
	assert_int_equal(ftruncate(fixture->map, (off_t)(CPUS * sample_buffers_stride(RING))), 0);
	assert_int_equal(sample_buffers_init(&fixture->buffers, fixture->map, CPUS, RING), 0);
	*state = fixture;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	sample_buffers_deinit(&fixture->buffers);
	close(fixture->map);
	free(fixture);
	return 0;
}

static struct sample_buffer *buffer_of(struct fixture *fixture, unsigned int cpu)
{
	return (void *)(fixture->buffers.bytes + cpu * fixture->buffers.stride);
}

/* As the program does: in one piece from written modulo the ring's size on. Every frame is the
 * time, so that one that another record has overwritten is noticed. */
static void write_record(struct fixture *fixture, unsigned int cpu, uint64_t time_ns,
			 uint16_t frames)
{
	struct sample_buffer *buffer = buffer_of(fixture, cpu);
	uint8_t *record =
		(uint8_t *)buffer + SAMPLE_BUFFER_HEAD_BYTES + (buffer->written & (RING - 1));
	struct sample_head head = { .time_ns = time_ns, .cpu = cpu, .user_words = frames };

	memcpy(record, &head, sizeof(head));
	for (size_t i = 0; i < frames; i++)
		memcpy(record + sizeof(head) + i * sizeof(time_ns), &time_ns, sizeof(time_ns));
	buffer->written += sizeof(head) + frames * sizeof(uint64_t);
	buffer->published = buffer->written;
}

static void take(void *context, const void *record, size_t length)
{
	struct taken *taken = context;
	const struct sample_head *head = record;
	const uint64_t *frames = (const uint64_t *)(head + 1);

	assert_true(taken->count < MOST);
	assert_int_equal(length, sizeof(*head) + head->user_words * sizeof(uint64_t));
	for (size_t i = 0; i < head->user_words; i++)
		assert_int_equal(frames[i], head->time_ns);
	taken->times[taken->count++] = head->time_ns;
}

static int take_all(struct fixture *fixture, bool stopped)
{
	fixture->taken.count = 0;
	return sample_buffers_take(&fixture->buffers, stopped, take, &fixture->taken);
}

static void records_of_all_cpus_come_by_age(void **state)
{
	struct fixture *fixture = *state;
	static const uint64_t times[] = { 10, 11, 20, 21, 30, 40, 41, 50 };

	write_record(fixture, 0, 20, 3);
	write_record(fixture, 0, 30, 0);
	write_record(fixture, 1, 10, 1024);
	write_record(fixture, 1, 11, 5);
	write_record(fixture, 1, 40, 1);
	write_record(fixture, 2, 21, 2);
	write_record(fixture, 2, 41, 2);
	write_record(fixture, 2, 50, 2);
	assert_int_equal(take_all(fixture, false), 0);
	assert_int_equal(fixture->taken.count, sizeof(times) / sizeof(times[0]));
	assert_memory_equal(fixture->taken.times, times, sizeof(times));
	assert_int_equal(take_all(fixture, false), 0);
	assert_int_equal(fixture->taken.count, 0);
}

static void records_across_the_rings_end_stay_whole(void **state)
{
	struct fixture *fixture = *state;
	uint64_t time_ns = 0;

	// Odd sizes, so that ends of all kinds meet the end of the ring.
	for (unsigned int round = 0; round < 200; round++) {
		uint16_t frames = (uint16_t)(round * 37 % 1025);
		uint64_t first = time_ns;

		for (unsigned int i = 0; i < 3; i++)
			write_record(fixture, 1, time_ns++, frames);
		assert_int_equal(take_all(fixture, false), 0);
		assert_int_equal(fixture->taken.count, 3);
		assert_int_equal(fixture->taken.times[0], first);
	}
	assert_true(buffer_of(fixture, 1)->written > (uint64_t)4 * RING);
	assert_int_equal(buffer_of(fixture, 1)->consumed, buffer_of(fixture, 1)->written);
}

/* On arm64 the last record is published a tick later, or never, if there is no other tick. */
static void what_is_not_published_waits_until_the_program_has_stopped(void **state)
{
	struct fixture *fixture = *state;
	struct sample_buffer *buffer = buffer_of(fixture, 0);
	uint64_t published;

	write_record(fixture, 0, 1, 4);
	published = buffer->published;
	write_record(fixture, 0, 2, 4);
	buffer->published = published;
	assert_int_equal(take_all(fixture, false), 0);
	assert_int_equal(fixture->taken.count, 1);
	assert_int_equal(take_all(fixture, true), 0);
	assert_int_equal(fixture->taken.count, 1);
	assert_int_equal(fixture->taken.times[0], 2);
}

/* On arm64 a CPU that goes offline publishes its last record never. */
static void what_was_written_long_ago_is_taken_unpublished(void **state)
{
	struct fixture *fixture = *state;

	write_record(fixture, 0, 1, 4);
	buffer_of(fixture, 0)->published = 0;
	assert_int_equal(take_all(fixture, false), 0);
	assert_int_equal(fixture->taken.count, 0);
	fixture->buffers.looked_ns -= 1000000000;
	assert_int_equal(take_all(fixture, false), 0);
	assert_int_equal(fixture->taken.count, 1);
	assert_int_equal(take_all(fixture, false), 0);
	assert_int_equal(fixture->taken.count, 0);
}

static void a_broken_buffer_is_told_and_left_behind(void **state)
{
	struct fixture *fixture = *state;
	struct sample_buffer *buffer = buffer_of(fixture, 0);

	write_record(fixture, 0, 1, 4);
	buffer->written += 24; // less than a head
	buffer->published = buffer->written;
	write_record(fixture, 1, 5, 4);
	assert_int_equal(take_all(fixture, false), -EBADMSG);
	assert_int_equal(fixture->taken.count, 2);
	write_record(fixture, 0, 6, 4);
	assert_int_equal(take_all(fixture, false), 0);
	assert_int_equal(fixture->taken.count, 1);
	assert_int_equal(fixture->taken.times[0], 6);
}

static void a_reader_that_sleeps_is_awaiting_each_cpu(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(take_all(fixture, false), 0);
	assert_true(sample_buffers_await(&fixture->buffers));
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(buffer_of(fixture, cpu)->awaited, 1);
	// One has woken it: it takes what there is, and need not be woken for more.
	write_record(fixture, 1, 7, 4);
	buffer_of(fixture, 1)->awaited = 0;
	assert_int_equal(take_all(fixture, false), 0);
	assert_int_equal(fixture->taken.count, 1);
	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(buffer_of(fixture, cpu)->awaited, 0);
}

static void a_reader_does_not_sleep_over_a_record(void **state)
{
	struct fixture *fixture = *state;

	write_record(fixture, 2, 7, 4);
	// Published or not: it is going to be.
	buffer_of(fixture, 2)->published = 0;
	assert_false(sample_buffers_await(&fixture->buffers));
	buffer_of(fixture, 2)->published = buffer_of(fixture, 2)->written;
	assert_int_equal(take_all(fixture, false), 0);
	assert_true(sample_buffers_await(&fixture->buffers));
}

static void counters_are_summed(void **state)
{
	struct fixture *fixture = *state;
	uint64_t totals[SAMPLE_COUNTER_COUNT];

	for (unsigned int cpu = 0; cpu < CPUS; cpu++)
		buffer_of(fixture, cpu)->counters.of[SAMPLE_COUNTER_TAKEN] = cpu + 5;
	sample_buffers_counters(&fixture->buffers, 0, UINT32_MAX, totals);
	assert_int_equal(totals[SAMPLE_COUNTER_TAKEN], 18);
	assert_int_equal(totals[SAMPLE_COUNTER_EMITTED], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_of_all_cpus_come_by_age, setup, teardown),
		cmocka_unit_test_setup_teardown(records_across_the_rings_end_stay_whole, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			what_is_not_published_waits_until_the_program_has_stopped, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_written_long_ago_is_taken_unpublished,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_broken_buffer_is_told_and_left_behind, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_reader_that_sleeps_is_awaiting_each_cpu, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_reader_does_not_sleep_over_a_record, setup,
						teardown),
		cmocka_unit_test_setup_teardown(counters_are_summed, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
