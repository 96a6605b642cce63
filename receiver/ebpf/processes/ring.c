// SPDX-License-Identifier: Apache-2.0
#include "ring.h"

#include "record.h"

#include <string.h>

void ring_init(struct ring *ring, struct perf_event_mmap_page *page, const void *data, size_t size)
{
	*ring = (struct ring){ .page = page, .data = data, .size = size };
	ring->tail = page->data_tail;
	ring->head = ring->tail;
}

void ring_refresh(struct ring *ring)
{
	// Pairs with the kernel's barrier between the data and the head (ring_buffer.c).
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

/* @length bytes at @position of the stream, which may wrap. */
static void ring_copy(const struct ring *ring, uint64_t position, void *to, size_t length)
{
	size_t at = position & (ring->size - 1);
	size_t first = length < ring->size - at ? length : ring->size - at;

	memcpy(to, ring->data + at, first);
	memcpy((uint8_t *)to + first, ring->data, length - first);
}

static size_t record_size(const struct ring *ring)
{
	struct perf_event_header header;

	ring_copy(ring, ring->tail, &header, sizeof(header));
	return header.size;
}

/* Where in the next record, of @size bytes, its tail begins. */
static size_t find_tail(const struct ring *ring, size_t size)
{
	uint64_t bytes[(RECORD_KERNEL_CODE_BYTES + RECORD_TAIL_BYTES) / sizeof(uint64_t)];
	struct perf_event_header header;

	ring_copy(ring, ring->tail, &header, sizeof(header));
	if (header.type != PERF_RECORD_KSYMBOL)
		return size - RECORD_TAIL_BYTES;
	if (size > sizeof(bytes))
		size = sizeof(bytes);
	ring_copy(ring, ring->tail, bytes, size);
	return record_tail(bytes, size);
}

bool ring_peek(struct ring *ring, uint64_t *time_ret, bool *broken_ret)
{
	uint64_t there = ring->head - ring->tail;
	size_t size;

	if (!there)
		return false;
	size = there >= RECORD_HEADER_BYTES && there <= ring->size ? record_size(ring) : 0;
	if (size < RECORD_HEADER_BYTES + RECORD_TAIL_BYTES || size > there || size % 8) {
		ring->tail = ring->head;
		*broken_ret = true;
		return false;
	}
	ring_copy(ring, ring->tail + find_tail(ring, size) + RECORD_TAIL_TIME, time_ret,
		  sizeof(*time_ret));
	return true;
}

const void *ring_record(const struct ring *ring, void *scratch, size_t *length_ret)
{
	size_t size = record_size(ring), at = ring->tail & (ring->size - 1);

	*length_ret = size;
	if (size <= ring->size - at)
		return ring->data + at;
	ring_copy(ring, ring->tail, scratch, size);
	return scratch;
}

void ring_pass(struct ring *ring)
{
	ring->tail += record_size(ring);
}

uint64_t ring_passed(const struct ring *ring)
{
	return ring->tail - ring->page->data_tail;
}

bool ring_release(struct ring *ring)
{
	uint64_t tail = ring->page->data_tail, head;

	// The kernel may overwrite what is behind the tail once it sees it: read first.
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	// The head is looked at once no record can be refused for the old tail any more.
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	return head - tail + RING_RECORD_LARGEST > ring->size;
}
