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
	struct unwind_bucket *buckets; /* shared with the kernel; not owned */
	uint32_t count;                /* a power of two */
};

/* How many buckets there should be where all tables may take @limit_bytes: a small part of that,
 * and 16,384 processes for 32 MiB. */
uint32_t process_index_size(uint64_t limit_bytes);

/* @ranges and @count as unwind_process.code has them, @labels as unwind_bucket.labels. False when
 * the bucket is full. */
bool process_index_set(struct process_index *index, uint32_t pid, uint32_t identity,
		       uint32_t ranges, uint32_t count, uint32_t labels);

/* Is there a place for @pid, or does it have one? */
bool process_index_has_room(const struct process_index *index, uint32_t pid);

/* Processes that stand where @pid would: returns how many. */
size_t process_index_rivals(const struct process_index *index, uint32_t pid,
			    uint32_t pids[UNWIND_BUCKET_SLOTS]);

/* Whatever is known of @pid. */
void process_index_remove(struct process_index *index, uint32_t pid);
