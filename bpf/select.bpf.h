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

/* The slot of process number @pid, which says what identity is meant; 0: it has none. */
static __always_inline __u64 select_slot(__u32 pid)
{
	struct select_bucket *bucket;
	__u32 number = pid & (SELECT_BUCKETS - 1);

	if (!select_active || !pid)
		return 0; // a free slot would be taken for that of the idle task
	bucket = bpf_map_lookup_elem(&select_unselected, &number);
	if (!bucket)
		return 0;
#pragma unroll
	for (int i = 0; i < SELECT_SLOTS; i++) {
		__u64 who = *(volatile __u64 *)&bucket->slots[i];

		if ((__u32)who == pid)
			return who;
	}
	return 0;
}

/* Is the current process one of them? Its identity is computed only where its number is there. */
static __always_inline bool select_drops(void)
{
	__u64 start_boottime_ns, who;
	__u32 exec_id;

	if (!select_active)
		return false;
	who = select_slot((__u32)(pid_namespace_current() >> 32));
	if (!who)
		return false;
	kernel_task_identity(&start_boottime_ns, &exec_id);
	return who >> 32 == unwind_identity(start_boottime_ns, exec_id);
}
