/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The segments of a queue as they are in memory: an index of what is on disk.
 * No locks here: one thread at a time.
 */
#pragma once

#include "segment.h"

struct stored_segment {
	struct segment_name name;
	uint32_t number; /* rises along the queue; unique while the queue is open */
	struct segment_records records;
	uint64_t size;     /* of the file */
	size_t next;       /* no record before it is SEGMENT_READY */
	size_t unfinished; /* records */
	bool is_lost;      /* somebody has removed or emptied the file */
	bool is_kept;      /* holds a record that could not be read: for the next open */
};

struct stored_segments {
	VECTOR(struct stored_segment *) list; /* owned; by number */
};

void stored_segment_destroy(struct stored_segment *segment); /* accepts NULL */
void stored_segments_deinit(struct stored_segments *segments);

/* A descriptor of the file of @name, or a negative errno; -EINVAL when it is no plain file.
 * @flags as of open(2). */
int stored_segment_open(int directory_fd, const struct segment_name *name, int flags);

/* Names @record, which is in @segment, as long as the queue is open. */
uint64_t stored_segment_id(const struct stored_segment *segment,
			   const struct segment_record *record);

/* The record of @id and the position of its segment; NULL when it is not there (any more). */
struct segment_record *stored_segments_find(const struct stored_segments *segments, uint64_t id,
					    size_t *position_ret);
