// SPDX-License-Identifier: Apache-2.0
#include "sample_buffers.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGE_BYTES = 4096 };

/* After so long, many ticks at any usual rate, every store of a CPU is to be seen by the others. */
enum { LATER_NS = 50000000 };

size_t sample_buffers_stride(size_t ring)
{
	size_t bytes =
		SAMPLE_BUFFER_HEAD_BYTES + ring + SAMPLE_MAX_BYTES + SAMPLE_STACK_PIECE_BYTES;

	return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

int sample_buffers_init(struct sample_buffers *buffers, int map, unsigned int count, size_t ring)
{
	size_t stride = sample_buffers_stride(ring);
	void *bytes;

	*buffers = (struct sample_buffers){ .stride = stride, .ring = ring, .count = count };
	buffers->limits = calloc(count, sizeof(*buffers->limits));
	buffers->written = calloc(count, sizeof(*buffers->written));
	buffers->turns = calloc(count, sizeof(*buffers->turns));
	if (!buffers->limits || !buffers->written || !buffers->turns)
		return -ENOMEM;
	bytes = mmap(NULL, stride * count, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	buffers->bytes = bytes;
	return 0;
}

void sample_buffers_deinit(struct sample_buffers *buffers)
{
	if (buffers->bytes)
		munmap(buffers->bytes, buffers->stride * buffers->count);
	free(buffers->limits);
	free(buffers->written);
	free(buffers->turns);
	*buffers = (struct sample_buffers){ 0 };
}

static struct sample_buffer *buffer_of(const struct sample_buffers *buffers, unsigned int cpu)
{
	return (void *)(buffers->bytes + cpu * buffers->stride);
}

/*
 * Up to where the buffer can be read now. What was written a while ago other CPUs see, whether the
 * program came by to publish it or not: the CPU may be offline.
 */
static uint64_t read_limit(struct sample_buffers *buffers, unsigned int cpu, bool stopped,
			   bool is_later)
{
	const struct sample_buffer *buffer = buffer_of(buffers, cpu);
	uint64_t published = __atomic_load_n(&buffer->published, __ATOMIC_ACQUIRE);
	uint64_t written = __atomic_load_n(&buffer->written, __ATOMIC_ACQUIRE);
	uint64_t earlier = buffers->written[cpu];

	if (stopped)
		return written;
	if (is_later)
		buffers->written[cpu] = written;
	if (is_later && earlier > published)
		published = earlier;
	return published > buffer->consumed ? published : buffer->consumed;
}

/* The record at which the reader of @cpu stands; NULL without. */
static const struct sample_head *next_record(const struct sample_buffers *buffers, unsigned int cpu)
{
	const struct sample_buffer *buffer = buffer_of(buffers, cpu);

	if (buffer->consumed == buffers->limits[cpu])
		return NULL;
	return (const void *)((const uint8_t *)buffer + SAMPLE_BUFFER_HEAD_BYTES +
			      (buffer->consumed & (buffers->ring - 1)));
}

size_t sample_record_length(const struct sample_head *record, uint64_t available)
{
	size_t length;

	if (available < sizeof(*record) || record->kernel_count > SAMPLE_MAX_KERNEL_FRAMES ||
	    record->user_words > SAMPLE_MAX_USER_WORDS ||
	    record->deferred_bytes > SAMPLE_MAX_DEFERRED_BYTES || record->deferred_bytes % 8 ||
	    record->label_bytes > SAMPLE_MAX_LABEL_BYTES || record->label_bytes % 8)
		return 0;
	length = sizeof(*record) +
		 ((size_t)record->kernel_count + record->user_words) * sizeof(uint64_t) +
		 record->deferred_bytes + record->label_bytes;
	return length <= available ? length : 0;
}

/* Take the next record of @cpu. */
static int take_record(struct sample_buffers *buffers, unsigned int cpu,
		       const struct sample_head *record, sample_buffers_function take,
		       void *context)
{
	struct sample_buffer *buffer = buffer_of(buffers, cpu);
	uint64_t consumed = buffer->consumed;
	size_t length = sample_record_length(record, buffers->limits[cpu] - consumed);

	if (!length) {
		__atomic_store_n(&buffer->consumed, buffers->limits[cpu], __ATOMIC_RELEASE);
		return -EBADMSG;
	}
	take(context, record, length);
	__atomic_store_n(&buffer->consumed, consumed + length, __ATOMIC_RELEASE);
	return 0;
}

/* ---- the CPUs with records, the one with the oldest first: a binary heap ---- */

static bool is_older(const struct sample_buffers_turn *a, const struct sample_buffers_turn *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->cpu < b->cpu);
}

/* Put @turn in the place of that at @at, or below it. */
static void sink(struct sample_buffers *buffers, unsigned int at, struct sample_buffers_turn turn)
{
	struct sample_buffers_turn *turns = buffers->turns;

	for (;;) {
		unsigned int child = 2 * at + 1;

		if (child + 1 < buffers->turn_count && is_older(&turns[child + 1], &turns[child]))
			child++;
		if (child >= buffers->turn_count || !is_older(&turns[child], &turn))
			break;
		turns[at] = turns[child];
		at = child;
	}
	turns[at] = turn;
}

static void find_turns(struct sample_buffers *buffers, bool stopped)
{
	uint64_t now_ns = clock_monotonic_ns();
	bool is_later = now_ns - buffers->looked_ns >= LATER_NS;

	if (is_later)
		buffers->looked_ns = now_ns;
	buffers->turn_count = 0;
	for (unsigned int cpu = 0; cpu < buffers->count; cpu++) {
		const struct sample_head *record;
		struct sample_buffer *buffer = buffer_of(buffers, cpu);

		// The first one has woken the reader: the others need not.
		if (__atomic_load_n(&buffer->awaited, __ATOMIC_RELAXED))
			__atomic_store_n(&buffer->awaited, 0, __ATOMIC_RELAXED);
		buffers->limits[cpu] = read_limit(buffers, cpu, stopped, is_later);
		record = next_record(buffers, cpu);
		if (record)
			buffers->turns[buffers->turn_count++] =
				(struct sample_buffers_turn){ record->time_ns, cpu };
	}
	for (unsigned int at = buffers->turn_count / 2; at-- > 0;)
		sink(buffers, at, buffers->turns[at]);
}

int sample_buffers_take(struct sample_buffers *buffers, bool stopped, sample_buffers_function take,
			void *context)
{
	int status = 0;

	find_turns(buffers, stopped);
	while (buffers->turn_count) {
		struct sample_buffers_turn turn = buffers->turns[0];
		const struct sample_head *record = next_record(buffers, turn.cpu);
		int failed = take_record(buffers, turn.cpu, record, take, context);

		if (failed)
			status = failed;
		record = next_record(buffers, turn.cpu);
		if (record)
			turn.time_ns = record->time_ns;
		else
			turn = buffers->turns[--buffers->turn_count];
		if (buffers->turn_count)
			sink(buffers, 0, turn);
	}
	return status;
}

bool sample_buffers_await(struct sample_buffers *buffers)
{
	for (unsigned int cpu = 0; cpu < buffers->count; cpu++)
		__atomic_store_n(&buffer_of(buffers, cpu)->awaited, 1, __ATOMIC_RELAXED);
	// Either a program sees that it is awaited, or its record is seen here.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	for (unsigned int cpu = 0; cpu < buffers->count; cpu++) {
		const struct sample_buffer *buffer = buffer_of(buffers, cpu);

		if (__atomic_load_n(&buffer->written, __ATOMIC_RELAXED) != buffer->consumed)
			return false;
	}
	return true;
}

void sample_buffers_counters(const struct sample_buffers *buffers, unsigned int first,
			     unsigned int limit, uint64_t totals[SAMPLE_COUNTER_COUNT])
{
	memset(totals, 0, SAMPLE_COUNTER_COUNT * sizeof(*totals));
	for (unsigned int cpu = first; cpu < limit && cpu < buffers->count; cpu++)
		for (uint32_t i = 0; i < SAMPLE_COUNTER_COUNT; i++)
			totals[i] += __atomic_load_n(&buffer_of(buffers, cpu)->counters.of[i],
						     __ATOMIC_RELAXED);
}
