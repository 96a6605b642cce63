/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The receiver's side of the buffers in which the sampling programs leave their records: one of
 * each CPU (struct sample_buffer in bpf/sample.h), and another one of each for events other than
 * the timer, if there are any. To this code they are as many CPUs.
 *
 * Threads: one at a time takes; counters from any.
 */
#pragma once

#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes one record (bpf/sample.h); the bytes are valid for the call. */
typedef void (*sample_buffers_function)(void *context, const void *record, size_t length);

struct sample_buffers_turn {
	uint64_t time_ns; /* of the CPU's next record */
	unsigned int cpu;
};

/* Arrays are owned, and have an element for each CPU. */
struct sample_buffers {
	uint8_t *bytes; /* mapped; NULL = none */
	size_t stride;  /* bytes from one CPU's to the next one's */
	size_t ring;    /* bytes of a CPU's ring, a power of two */
	unsigned int count;
	uint64_t *limits;  /* up to where this round reads */
	uint64_t *written; /* as it was at looked_ns */
	uint64_t looked_ns;
	struct sample_buffers_turn *turns; /* a heap: the oldest first */
	unsigned int turn_count;
};

/* Size of a value of the map for rings of @ring bytes. */
size_t sample_buffers_stride(size_t ring);

/* Map the array @map with values for @count CPUs, each with a ring of @ring bytes. 0 or a negative
 * errno; deinit in both cases. @map is not needed any more then. */
int sample_buffers_init(struct sample_buffers *buffers, int map, unsigned int count, size_t ring);
void sample_buffers_deinit(struct sample_buffers *buffers); /* also of a zeroed one */

/*
 * Take all records that are there, of all CPUs, the oldest first. @stopped: no program writes any
 * more. 0, or -EBADMSG when a buffer is broken; what it holds is dropped.
 */
int sample_buffers_take(struct sample_buffers *buffers, bool stopped, sample_buffers_function take,
			void *context);

/* The length of @record, of which @available bytes are there; 0 when it is none. Any thread. */
size_t sample_record_length(const struct sample_head *record, uint64_t available);

/* The next record of any CPU wakes the reader, once for each CPU; until the next take. False: there
 * is one already. By who takes. */
bool sample_buffers_await(struct sample_buffers *buffers);

/* Totals over the buffers from @first to @limit, exclusive, by enum sample_counter. */
void sample_buffers_counters(const struct sample_buffers *buffers, unsigned int first,
			     unsigned int limit, uint64_t totals[SAMPLE_COUNTER_COUNT]);
