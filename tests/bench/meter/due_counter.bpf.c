// SPDX-License-Identifier: GPL-2.0
/*
 * Counts the interrupts of a timer of its own by what they found on the CPU: as many
 * samples are due from a profiler of the same rate. Takes no stack and writes no record,
 * so that it counts even where a profiler fails.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "due.h"

char LICENSE[] SEC("license") = "GPL";

/* include/linux/sched.h; CO-RE relocates the fields. */
struct task_struct {
	unsigned int flags;
	int tgid; /* in the first namespace, as nobody in a container is told */
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	char comm[DUE_NAME_BYTES];
} __attribute__((preserve_access_index));

#define PF_KTHREAD 0x00200000

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, DUE_TASKS);
	__type(key, __u32);
	__type(value, __u64);
} tasks SEC(".maps");

/* DUE_OTHER by the name of the process. A full table costs names, never counts. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, DUE_NAMES_MOST);
	__type(key, char[DUE_NAME_BYTES]);
	__type(value, __u64);
} names SEC(".maps");

/* The process whose descendants, and itself, make up the run. */
int run_tgid;

/* Called once by due_counter, whose parent that process is. */
SEC("syscall")
int note_run(void *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();

	(void)ctx;
	run_tgid = task->real_parent->tgid;
	return 0;
}

static __always_inline bool task_is_of_run(struct task_struct *task)
{
	for (int i = 0; i < DUE_ANCESTORS_MOST; i++) {
		int tgid = task->tgid;

		if (tgid == run_tgid)
			return true;
		if (tgid <= 1)
			return false;
		task = task->real_parent;
	}
	return false;
}

static __always_inline void count_name(struct task_struct *leader)
{
	char name[DUE_NAME_BYTES] = { 0 };
	__u64 one = 1, *count;

	bpf_probe_read_kernel_str(name, sizeof(name), leader->comm);
	count = bpf_map_lookup_elem(&names, name);
	// When two CPUs meet a new name at once, the second finds the entry of the first.
	if (!count && !bpf_map_update_elem(&names, name, &one, BPF_NOEXIST))
		return;
	if (!count)
		count = bpf_map_lookup_elem(&names, name);
	if (count)
		__sync_fetch_and_add(count, 1);
}

SEC("perf_event")
int count_due(struct bpf_perf_event_data *ctx)
{
	struct task_struct *task = (void *)bpf_get_current_task_btf();
	__u32 key = DUE_USER;
	__u64 *count;

	(void)ctx;
	if (!bpf_get_current_pid_tgid())
		key = DUE_IDLE;
	else if (task->flags & PF_KTHREAD)
		key = DUE_KERNEL;
	else if (!task_is_of_run(task))
		key = DUE_OTHER;
	count = bpf_map_lookup_elem(&tasks, &key);
	if (count)
		(*count)++; // of this CPU, and interrupts do not nest
	if (key == DUE_OTHER)
		count_name(task->group_leader);
	return 0;
}
