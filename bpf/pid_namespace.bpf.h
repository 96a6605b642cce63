/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Processes by their numbers in the profiler's PID namespace, which /proc and perf's records have
 * too. Where that is not the machine's own (a node that is a container itself), the kernel's
 * helpers would tell other numbers.
 */
#pragma once

#include "kernel.bpf.h"

const volatile __u32 pid_namespace_inode = 0; /* of the profiler's; 0: it is the machine's own */

enum { PID_NAMESPACE_LEVELS = 32 }; /* MAX_PID_NS_LEVEL, include/linux/pid_namespace.h */

/* The number of @task there; 0: the profiler does not see it. */
static __always_inline __u32 pid_namespace_number(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 levels = BPF_CORE_READ(pid, level);
	void *at = (void *)pid + bpf_core_field_offset(pid->numbers);

	for (__u32 level = 1; level <= PID_NAMESPACE_LEVELS; level++) {
		struct upid *number = at + level * bpf_core_type_size(struct upid);

		if (level > levels)
			return 0;
		if (BPF_CORE_READ(number, ns, ns.inum) == pid_namespace_inode)
			return BPF_CORE_READ(number, nr);
	}
	return 0;
}

static __always_inline __u32 pid_namespace_tgid(struct task_struct *task)
{
	return pid_namespace_inode ? pid_namespace_number(BPF_CORE_READ(task, group_leader))
				   : (__u32)BPF_CORE_READ(task, tgid);
}

static __always_inline __u32 pid_namespace_tid(struct task_struct *task)
{
	return pid_namespace_inode ? pid_namespace_number(task) : (__u32)BPF_CORE_READ(task, pid);
}

/* As bpf_get_current_pid_tgid(). */
static __always_inline __u64 pid_namespace_current(void)
{
	struct task_struct *task;
	__u64 tgid;

	if (!pid_namespace_inode)
		return kernel_pid_tgid();
	task = (void *)bpf_get_current_task();
	tgid = pid_namespace_tgid(task);
	return tgid ? tgid << 32 | pid_namespace_number(task) : 0;
}
