/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads records from the ring buffer a perf event is mapped with
 * (perf_event_open(2), "MMAP layout"). One thread at a time; the kernel writes
 * meanwhile.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ring {
	struct perf_event_mmap_page *page; /* borrowed; NULL = no ring */
	const uint8_t *data;
	uint64_t size; /* of data, a power of two */
	uint64_t head; /* what of the data is there, as last looked */
	uint64_t tail; /* what of it has been taken */
};

enum {
	RING_RECORD_MAX = 65536, /* a record's size is a u16 */
	/* No record the kernel writes is larger: that of a mapping has a path (PATH_MAX). */
	RING_RECORD_LARGEST = 4096 + 256,
};

/* @data is @size bytes, which is a power of two and at least RING_RECORD_MAX / 16. */
void ring_init(struct ring *ring, struct perf_event_mmap_page *page, const void *data, size_t size);

/* Look how far the kernel has come. */
void ring_refresh(struct ring *ring);

/*
 * When the next record was written: false when there is none. *@broken_ret is set
 * when the ring held no well-formed record; what was in it is then dropped.
 */
bool ring_peek(struct ring *ring, uint64_t *time_ret, bool *broken_ret);

/*
 * The record last peeked at, and its length. It lies in the ring, or, when it wraps
 * around its end, in @scratch of RING_RECORD_MAX bytes.
 */
const void *ring_record(const struct ring *ring, void *scratch, size_t *length_ret);

/* Be done with the record last peeked at; ring_release gives its room back to the kernel. */
void ring_pass(struct ring *ring);

/* How many bytes have been passed and not given back. */
uint64_t ring_passed(const struct ring *ring);

/*
 * True: the ring has been so full that a record may have found no room. The kernel tells of that
 * only in front of the next record of the same CPU, which may never come (__perf_output_begin() of
 * kernel/events/ring_buffer.c).
 */
bool ring_release(struct ring *ring);
