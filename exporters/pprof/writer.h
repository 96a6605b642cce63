/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects batches into windows and writes each window as one file, on a thread
 * of its own.
 *
 * What cannot be written stays and is tried again at the next interval, window by
 * window, until the byte budget is used up; then the oldest batches are dropped
 * and booked. Every event is booked exactly once: EXPORTED after its file has its
 * final name, or LOST.
 *
 * Should the disk hang past the shutdown's deadline, the thread is left behind
 * with a reference to the writer; it never touches the host again and removes
 * its file.
 */
#pragma once

#include "window.h"

#include <profcol/component.h>

struct writer;

struct writer_settings {
	const char *directory; /* borrowed for the call */
	const char *prefix;    /* borrowed for the call */
	struct retention_limits retention;
	int compression_level;
	bool is_shared;       /* as in window_target */
	bool folded;          /* stacks as text instead of pprof */
	uint64_t interval_ns; /* 0: one file, at the end */
	uint64_t max_pending_bytes;
};

/* NULL without memory. @host is borrowed until writer_destroy(). */
struct writer *writer_create(const struct profcol_host *host,
			     const struct writer_settings *settings);
void writer_destroy(struct writer *writer); /* accepts NULL; after writer_stop() */

/* Start the thread; the directory has been checked. */
PROFCOL_MUST_CHECK struct profcol_error *writer_start(struct writer *writer);

/* Takes @batch, whatever the result. Any thread; never waits for the disk. */
PROFCOL_MUST_CHECK struct profcol_error *writer_append(struct writer *writer,
						       struct profcol_batch *batch);

/* Write what is held, book what cannot be written by @deadline_ns, end the thread. */
void writer_stop(struct writer *writer, uint64_t deadline_ns);
