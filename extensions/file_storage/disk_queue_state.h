/* SPDX-License-Identifier: Apache-2.0 */
/* A queue as the parts of it share it. Private to the extension. */
#pragma once

#include "disk_queue.h"
#include "read_faults.h"
#include "stored.h"

#include <pthread.h>

struct profcol_storage_queue {
	int directory_fd; /* owned, as the next; its lock is the queue's */
	char *path;
	const struct profcol_host *host; /* borrowed */
	uint64_t max_bytes, segment_bytes;
	bool fsync;
	char *name; /* owned: of the queue */
	disk_queue_reopen *reopen;
	void *reopen_context;
	struct profcol_metric *disk_gauge, *damaged_counter; /* the host's */

	pthread_mutex_t lock; /* guards all below */
	struct stored_segments segments;
	size_t first_ready;     /* no segment before it has a record that is SEGMENT_READY */
	int active_fd;          /* the last segment, open for append; -1 = none is */
	uint64_t next_sequence; /* of the next segment, as the next */
	uint32_t next_number;
	uint64_t disk_bytes; /* of all segments */
	struct profcol_storage_figures figures;
	struct read_faults read_faults;
	uint64_t looked_ns; /* after files that are gone, last: CLOCK_MONOTONIC */
	bool is_degraded;   /* files were lost, and nothing has been stored since */
};

/* All hold the lock, or are alone with the queue. */

struct stored_segment *disk_queue_last_segment(const struct profcol_storage_queue *queue);
void disk_queue_remove_segment(struct profcol_storage_queue *queue, size_t index);
void disk_queue_close_active(struct profcol_storage_queue *queue);

/* ---- lost_files.c: files that somebody removes or empties while we have them ---- */

/* Look after the segment that is appended to, and after all if it is gone. */
void lost_files_before_append(struct profcol_storage_queue *queue);
/* It worked. */
void lost_files_after_append(struct profcol_storage_queue *queue);
/* For who asks what is stored: at most once a second. */
void lost_files_look_now_and_then(struct profcol_storage_queue *queue);
/* Look after all segments: what is in none of them any more is lost, which is told. */
void lost_files_look(struct profcol_storage_queue *queue);
