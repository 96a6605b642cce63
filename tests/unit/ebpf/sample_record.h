/* SPDX-License-Identifier: Apache-2.0 */
/* Ring buffer records for tests, laid out as the kernel side writes them. */
#pragma once

#include "sample.h"

#include <stddef.h>
#include <string.h>

struct sample_record {
	struct sample_head head;
	__u64 frames[SAMPLE_MAX_WORDS];
};

static inline size_t sample_record_length(const struct sample_record *record)
{
	return sizeof(record->head) +
	       ((size_t)record->head.kernel_count + record->head.user_words) * sizeof(__u64);
}

/* A frame at @offset of the file with the id @file. */
static inline __u64 sample_record_place(__u32 file, __u64 offset)
{
	return UNWIND_FRAME_FILE | ((__u64)file + 1) << UNWIND_FRAME_SHIFT | offset;
}

/* A record of thread @tid of @pid at @time_ns with @kernel_count then @user_words @frames. What it
 * has of a user part is complete. */
static inline struct sample_record sample_record_make(__u32 pid, __u32 tid, __u64 time_ns,
						      const __u64 *frames, __u16 kernel_count,
						      __u16 user_words)
{
	struct sample_record record = {
		.head = {
			.time_ns = time_ns,
			.start_boottime_ns = 1000 + pid,
			.pid = pid,
			.tid = tid,
			.exec_id = 1,
			.cpu = 1,
			.origin = SAMPLE_CPU_CLOCK,
			.kernel_count = kernel_count,
			.user_words = user_words,
			.end = user_words ? UNWIND_END_ENTRY : 0,
			.comm = "worker",
		},
	};

	memcpy(record.frames, frames,
	       ((size_t)kernel_count + user_words) * sizeof(record.frames[0]));
	return record;
}
