/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Which processes are not to be sampled: user space decides (receiver/ebpf/select), and writes here
 * those that are not. A sample of one of these costs this look-up and is never walked.
 */
#pragma once

#include "kernel.bpf.h"
#include "pid_namespace.bpf.h"
#include "sample.h"

/* Is there anything to look up? Written by user space at any time. */
volatile __u32 select_active;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, SELECT_BUCKETS);
	__type(key, __u32);
	__type(value, struct select_bucket);
} select_unselected SEC(".maps");

/* Is the current process one of them? Its identity is computed only where its number is there. */
static __always_inline bool select_drops(void)
{
	struct select_bucket *bucket;
	__u32 pid, number, exec_id;
	__u64 start_boottime_ns;

	if (!select_active)
		return false;
	pid = (__u32)(pid_namespace_current() >> 32);
	if (!pid)
		return false; // a free slot would be taken for that of the idle task
	number = pid & (SELECT_BUCKETS - 1);
	bucket = bpf_map_lookup_elem(&select_unselected, &number);
	if (!bucket)
		return false;
#pragma unroll
	for (int i = 0; i < SELECT_SLOTS; i++) {
		__u64 who = *(volatile __u64 *)&bucket->slots[i];

		if ((__u32)who != pid)
			continue;
		kernel_task_identity(&start_boottime_ns, &exec_id);
		return who >> 32 == unwind_identity(start_boottime_ns, exec_id);
	}
	return false;
}
