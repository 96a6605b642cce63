/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs that look at switches of threads share what they ask about a thread that waits: whether
 * it belongs to a process, how it has left its CPU, and what it waits in.
 */
#pragma once

#include "event.bpf.h"

/* include/linux/sched.h: the state's name, and width, until 5.14 (2f064a59a11f) */
struct task_struct___before_5_14 {
	volatile long state;
} __attribute__((preserve_access_index));

struct task_struct___since_5_14 {
	unsigned int __state;
} __attribute__((preserve_access_index));

/* include/linux/sched.h: the thread has given its CPU up since its cgroup's quota is used up, since
 * 6.18 (e1fad12dcb66); it waits for a block device; its cgroup is frozen */
struct task_struct___waiting {
	bool throttled;
	unsigned int in_iowait : 1;
	unsigned int frozen : 1;
} __attribute__((preserve_access_index));

/* kernel/sched/sched.h: before, none of the cgroup's threads was on the run queue any more */
struct cfs_rq___before_6_18 {
	int throttle_count;
} __attribute__((preserve_access_index));

struct sched_entity___before_6_18 {
	struct cfs_rq___before_6_18 *cfs_rq;
} __attribute__((preserve_access_index));

struct task_struct___before_6_18 {
	struct sched_entity___before_6_18 se;
} __attribute__((preserve_access_index));

static __always_inline long state_of(struct task_struct *task)
{
	struct task_struct___since_5_14 *now = (void *)task;
	struct task_struct___before_5_14 *then = (void *)task;

	// Both are the kernel's own pointers, which may be read directly.
	return bpf_core_field_exists(now->__state) ? now->__state : then->state;
}

/* Of a thread that could go on. */
static __always_inline bool is_throttled(struct task_struct *task)
{
	struct task_struct___waiting *now = (void *)task;
	struct task_struct___before_6_18 *then = (void *)task;

	if (bpf_core_field_exists(now->throttled))
		return now->throttled;
	if (!bpf_core_field_exists(then->se.cfs_rq) ||
	    !bpf_core_field_exists(struct cfs_rq___before_6_18, throttle_count))
		return false;
	return BPF_CORE_READ(then, se.cfs_rq, throttle_count) > 0;
}

static __always_inline bool waits_for_disk(struct task_struct *task)
{
	struct task_struct___waiting *waiting = (void *)task;

	return bpf_core_field_exists(waiting->in_iowait) &&
	       BPF_CORE_READ_BITFIELD_PROBED(waiting, in_iowait);
}

/* include/linux/sched.h; the last one since 6.1 (f5d39b020809) */
enum {
	TASK_UNINTERRUPTIBLE = 2,
	TASK_STOPPED = 4,
	TASK_TRACED = 8,
	TASK_FROZEN = 0x8000,
};

/* By a signal, by who traces it, or by a freezer: that of cgroup v2 has a bit of its own. */
static __always_inline bool is_stopped(struct task_struct *task, long state)
{
	struct task_struct___waiting *waiting = (void *)task;

	return state & (TASK_STOPPED | TASK_TRACED | TASK_FROZEN) ||
	       (bpf_core_field_exists(waiting->frozen) &&
		BPF_CORE_READ_BITFIELD_PROBED(waiting, frozen));
}

static __always_inline __u32 how_of(struct task_struct *task, bool preempted)
{
	long state = preempted ? 0 : state_of(task);

	if (!state)
		return is_throttled(task) ? OFF_CPU_THROTTLED : OFF_CPU_RUNNABLE;
	if (is_stopped(task, state))
		return OFF_CPU_STOPPED;
	if (waits_for_disk(task))
		return OFF_CPU_DISK;
	return state & TASK_UNINTERRUPTIBLE ? OFF_CPU_UNINTERRUPTIBLE : OFF_CPU_SLEEPING;
}

/* Threads of the kernel's wait for work most of the time, and the idle task is none. */
static __always_inline bool is_of_process(struct task_struct *task)
{
	return task->pid && !(task->flags & KERNEL_PF_KTHREAD);
}

/* include/linux/{fdtable,fs}.h: what a descriptor stands for */
struct inode {
	unsigned short i_mode;
} __attribute__((preserve_access_index));

struct file {
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} __attribute__((preserve_access_index));

struct files_struct {
	struct fdtable *fdt;
} __attribute__((preserve_access_index));

struct task_struct___with_files {
	struct files_struct *files;
} __attribute__((preserve_access_index));

enum { MODE_KIND = 0170000, MODE_PIPE = 0010000, MODE_SOCKET = 0140000 }; /* linux/stat.h */

/* Of the file that a system call's first argument names; 0: it names none. Another thread may close
 * it meanwhile: what is read then is some file's, or nothing. */
static __always_inline __u32 kind_of_file(struct task_struct *task, __u32 descriptor)
{
	struct task_struct___with_files *owner = (void *)task;
	struct fdtable *table = BPF_CORE_READ(owner, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;

	if (!table || descriptor >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), &files[descriptor]))
		return 0;
	return BPF_CORE_READ(file, f_inode, i_mode) & MODE_KIND;
}

/* System calls of the same names (asm/unistd_64.h, asm-generic/unistd.h). */
static __always_inline bool reads_or_writes(long call)
{
#if defined(__TARGET_ARCH_x86)
	return call == 0 || call == 1 || call == 19 || call == 20;
#else
	return call >= 63 && call <= 66;
#endif
}

static __always_inline __u32 how_in_call(struct task_struct *task,
					 const struct pt_regs___kernel *entry, long call, __u32 how)
{
	__u32 kind;

	if (how != OFF_CPU_SLEEPING || !reads_or_writes(call))
		return how;
	kind = kind_of_file(task, kernel_first_argument(entry));
	if (kind == MODE_PIPE)
		return OFF_CPU_IN_PIPE;
	return kind == MODE_SOCKET ? OFF_CPU_IN_SOCKET : how;
}

/* In the system call, or the fault, that @task waits in, which has entered the kernel with the
 * registers at @entry. */
static __always_inline __u16 detail_of(struct task_struct *task,
				       const struct pt_regs___kernel *entry, __u32 how)
{
	long call = kernel_system_call(entry);

	if (call < 0 || call >= OFF_CPU_CALL_MASK)
		call = -1;
	return (__u16)(how_in_call(task, entry, call, how) << OFF_CPU_STATE_SHIFT |
		       (__u32)(call + 1));
}

/* The verifier takes an address for a number only where it was in memory. */
static __always_inline __u64 number_of(struct event_state *state, const void *address)
{
	*(volatile __u64 *)&state->address = (__u64)address;
	return *(volatile __u64 *)&state->address;
}

/* As kernel_acts_for_thread(), of a program of a tracepoint: its arguments lie on the kernel's
 * stack (bpf_trace_run*(), kernel/trace/bpf_trace.c). Its own variables may not, since 6.13. */
static __always_inline bool acts_for_thread(struct event_state *state, const __u64 *context)
{
	__u64 stack = number_of(state, context);

	return kernel_acts_for_thread(stack, number_of(state, kernel_user_registers()));
}
