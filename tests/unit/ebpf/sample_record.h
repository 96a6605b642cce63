/* SPDX-License-Identifier: Apache-2.0 */
/* Ring buffer records for tests, laid out as the kernel side writes them. */
#pragma once

#include "sample.h"

#include <stddef.h>
#include <string.h>

struct sample_record {
	struct sample_head head;
	__u64 frames[SAMPLE_MAX_WORDS + SAMPLE_MAX_LABEL_BYTES / 8]; /* and labels */
};

static inline size_t sample_record_length(const struct sample_record *record)
{
	return sizeof(record->head) +
	       ((size_t)record->head.kernel_count + record->head.user_words) * sizeof(__u64) +
	       record->head.label_bytes;
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

/* The labels of @record, which has no copy of a stack; there are some from now on. */
static inline struct sample_labels *sample_record_labels(struct sample_record *record)
{
	size_t words = (size_t)record->head.kernel_count + record->head.user_words;
	struct sample_labels *labels = (struct sample_labels *)&record->frames[words];

	if (!record->head.label_bytes) {
		*labels = (struct sample_labels){ 0 };
		record->head.label_bytes = sizeof(*labels);
	}
	return labels;
}

/* The other thread of a wait, after the labels. */
static inline void sample_record_add_partner(struct sample_record *record,
					     const struct wait_partner *partner)
{
	struct sample_labels *labels = sample_record_labels(record);

	memcpy((__u8 *)labels + record->head.label_bytes, partner, sizeof(*partner));
	labels->flags |= SAMPLE_LABELS_PARTNER;
	if (record->head.origin == SAMPLE_WAKERS)
		labels->flags |= SAMPLE_LABELS_WOKEN;
	record->head.label_bytes += sizeof(*partner);
}

/* One label more, as the kernel side writes it; there is room. */
static inline struct sample_label *sample_record_add_label(struct sample_record *record,
							   const void *key, size_t key_bytes,
							   const void *value, size_t value_bytes)
{
	struct sample_labels *labels = sample_record_labels(record);
	size_t bytes = (key_bytes + value_bytes + 7) & ~(size_t)7;
	__u8 *at = (__u8 *)labels + record->head.label_bytes;
	struct sample_label *label = (struct sample_label *)at;

	memset(at, 0, sizeof(*label) + bytes);
	label->key_bytes = (__u16)key_bytes;
	label->value_bytes = (__u16)value_bytes;
	memcpy(label + 1, key, key_bytes);
	memcpy((__u8 *)(label + 1) + key_bytes, value, value_bytes);
	labels->count++;
	record->head.label_bytes += (__u16)(sizeof(*label) + bytes);
	return label;
}
