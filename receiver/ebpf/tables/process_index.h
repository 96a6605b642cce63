/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel side finds the ranges of a process (unwind_bucket in bpf/unwind_tables.h).
 * Changes are seen by walks as a whole, or not at all. One thread at a time.
 */
#pragma once

#include "sample.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct process_index {
	struct unwind_bucket *buckets; /* UNWIND_BUCKETS, shared with the kernel; not owned */
};

/* @ranges is a handle, @count how many lie there. False when the bucket is full. */
bool process_index_set(struct process_index *index, uint32_t pid, uint32_t identity,
		       uint32_t ranges, uint32_t count);

/* Processes that stand where @pid would: returns how many. */
size_t process_index_rivals(const struct process_index *index, uint32_t pid,
			    uint32_t pids[UNWIND_BUCKET_SLOTS]);

/* Whatever is known of @pid. */
void process_index_remove(struct process_index *index, uint32_t pid);
