/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an extension provides that keeps queues of records beyond the life of the
 * process (`sending_queue.storage`). A record is opaque bytes; it is appended, taken in
 * the order of appending, and finished. A record that was taken but not finished when
 * the process ended is there again after the next open: it may be delivered twice,
 * never silently lost.
 *
 * Threads: any, also several at once on one queue; open and close of a queue come from
 * one thread, without other calls in progress.
 */
#pragma once

#include <profcol/errors.h>

#include <stddef.h>
#include <stdint.h>

struct profcol_storage_queue; /* the extension's own */

struct profcol_record {
	uint64_t id;
	uint8_t *bytes; /* free() by the taker */
	size_t length;
	uint64_t samples; /* as given to append */
};

/* What a queue holds: finished records are out, taken ones still in. */
struct profcol_storage_figures {
	uint64_t records, bytes, samples; /* intact */
	uint64_t capacity_bytes;          /* append is refused beyond */
	uint64_t max_record_bytes;        /* longer records are REJECTED; 0 = no such bound */
	uint64_t damaged_records;         /* given up since open: unreadable or of a bad checksum */
	uint64_t damaged_samples;         /* of these, where the count was still readable */
};

/* What came of a take. */
enum profcol_take {
	PROFCOL_TAKE_NONE,   /* there is no record that nobody has taken yet */
	PROFCOL_TAKE_RECORD, /* *ret is set */
	/*
	 * There is one, but it could not be read: no memory or descriptors, or the device
	 * failed. It is still there, and the next to be taken; try again after a pause.
	 */
	PROFCOL_TAKE_LATER,
};

struct profcol_storage_operations {
	size_t size; /* sizeof(struct profcol_storage_operations) */

	/*
	 * Open or create the queue of @name (an exporter's id) and find what an earlier process
	 * left. @self is the extension's instance, started. Fails when another process or
	 * instance has the queue open, or its format is newer than we know (left untouched).
	 */
	PROFCOL_MUST_CHECK struct profcol_error *(*open)(void *self, const char *name,
							 struct profcol_storage_queue **ret);

	/* On success the record outlives the process. UNAVAILABLE when the queue or the disk is
	 * full: nothing was kept. */
	PROFCOL_MUST_CHECK struct profcol_error *(*append)(struct profcol_storage_queue *queue,
							   const uint8_t *bytes, size_t length,
							   uint64_t samples);

	/* The oldest record that nobody has taken yet. Never blocks for one. Damaged records are
	 * skipped and counted; so is one that a device has failed to give for long, which stays
	 * stored for the next open. */
	enum profcol_take (*take)(struct profcol_storage_queue *queue, struct profcol_record *ret);

	/* Undo take: the record is the next to be taken. For a shutdown. */
	void (*put_back)(struct profcol_storage_queue *queue, uint64_t id);

	/* The record was delivered, or given up: it will not come back. */
	void (*finish)(struct profcol_storage_queue *queue, uint64_t id);

	void (*figures)(struct profcol_storage_queue *queue, struct profcol_storage_figures *ret);

	/* Accepts NULL. */
	void (*close)(struct profcol_storage_queue *queue);
};
