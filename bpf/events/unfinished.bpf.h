/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This program reports waits that have not ended. User space runs it over all threads when it
 * closes a batch, and gets the time of each wait since the last report.
 *
 * The thread does not run meanwhile, so its kernel stack and its registers are here; its own stack
 * is in memory that may have to be waited for, and is left to user space (struct sample_unread).
 */
#pragma once

#include "waits.bpf.h"

/* include/linux/seq_file.h */
struct seq_file {
	unsigned long size, count; /* of the buffer: bytes, and of these, used */
} __attribute__((preserve_access_index));

/* include/linux/bpf.h, kernel/bpf/task_iter.c */
struct bpf_iter_meta {
	struct seq_file *seq;
	__u64 session_id, seq_num;
} __attribute__((preserve_access_index));

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
} __attribute__((preserve_access_index));

/* Set by user space before it reads: one pass at a time. */
struct off_cpu_pass off_cpu_pass;

/* The thread that is being reported. */
struct unfinished {
	struct sample_head head;
	__u64 frames[SAMPLE_MAX_KERNEL_FRAMES];
	struct sample_deferred deferred;
	struct sample_unread unread;
	struct unwind_walk walk;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unfinished);
} unfinished_one SEC(".maps");

static __always_inline __u64 runs_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.pcount) ? task->sched_info.pcount
							      : SAMPLE_RUNS_UNKNOWN;
}

/* On a single CPU whoever reads is the one that runs. */
static __always_inline bool is_running(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) && task->on_cpu;
}

/* One that ends has given up its memory. */
static __always_inline bool may_be_told(struct task_struct *task)
{
	return is_of_process(task) && task->mm && !is_running(task);
}

/* A thread that has no note has not run since there are notes: its wait counts from now on. Should
 * it run at this moment, it notes the next time itself. */
static __always_inline void note_sleeper(struct task_struct *task, __u64 now_ns)
{
	struct wait_note *note;
	__u64 runs = runs_of(task);

	if (bpf_task_storage_get(&wait_notes, task, NULL, 0))
		return;
	note = bpf_task_storage_get(&wait_notes, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!note)
		return;
	note->how = how_of(task, false);
	__sync_val_compare_and_swap(&note->since_ns, 0, now_ns);
	if (is_running(task) || runs_of(task) != runs)
		__sync_val_compare_and_swap(&note->since_ns, now_ns, 0);
}

static __always_inline void count_wait(__u64 amount)
{
	__u32 bits = 0;

#pragma clang loop unroll(disable)
	for (; bits < OFF_CPU_PASS_LENGTHS - 1; bits++)
		if (!(amount >> bits))
			break;
	off_cpu_pass.lengths[bits & (OFF_CPU_PASS_LENGTHS - 1)]++;
}

/* As weigh(), by the threshold, or the share, of the pass. */
static __always_inline __u64 weigh_unfinished(struct event_state *state, __u64 amount)
{
	const struct event_budget budget = { .threshold = off_cpu_pass.threshold };
	const struct event_budget_limits limits = { .rate = 1, .first = 1, .least = 1 };
	__u64 value;

	if (fixed_share)
		value = off_cpu_weigh_fixed(off_cpu_pass.share, amount, bpf_get_prandom_u32());
	else
		value = event_budget_weigh(&budget, &limits, amount, bpf_get_prandom_u32());
	// The program at switches may come in between.
	__sync_fetch_and_add(&state->counters[EVENT_COUNTER_SEEN], 1);
	__sync_fetch_and_add(&state->counters[EVENT_COUNTER_AMOUNT], amount);
	if (value)
		__sync_fetch_and_add(&state->counters[EVENT_COUNTER_KEPT], 1);
	return value;
}

static __always_inline void fill_process(struct sample_head *head, struct task_struct *task)
{
	head->pid = pid_namespace_tgid(task);
	head->tid = pid_namespace_tid(task);
	head->start_boottime_ns = task->group_leader->start_boottime;
	head->exec_id = (__u32)task->self_exec_id;
}

/* Has select/ said that the process is not wanted? */
static __always_inline bool is_unselected(const struct sample_head *head)
{
	__u64 who = select_slot(head->pid);

	return who && who >> 32 == unwind_identity(head->start_boottime_ns, head->exec_id);
}

static __always_inline void fill_unfinished(struct unfinished *one, struct task_struct *task,
					    const struct pt_regs___kernel *entry, __u32 how)
{
	struct sample_head *head = &one->head;
	long bytes = bpf_get_task_stack(task, one->frames, sizeof(one->frames), 0);

	head->detail = detail_of(task, entry, how);
	head->origin = SAMPLE_OFF_CPU;
	head->cpu = bpf_core_field_exists(task->wake_cpu) ? (__u16)task->wake_cpu : 0;
	head->uid = select_active ? BPF_CORE_READ(task, cred, uid.val) : SAMPLE_NO_UID;
	// The thread may wake up and exec meanwhile: the name counts if the id is the same after
	// it.
	BPF_CORE_READ_INTO(&head->comm, task, comm);
	if (kernel_task_may_have_next_name(task) ||
	    (__u32)BPF_CORE_READ(task, self_exec_id) != head->exec_id)
		head->comm[0] = '\0';
	head->kernel_count = (__u16)frame_count(bytes, SAMPLE_MAX_KERNEL_FRAMES - 1);
	head->user_words = head->deferred_bytes = head->label_bytes = 0;
	head->end = 0;
}

/* The user's part: where the walk is to begin, and where the stack lies. */
static __always_inline void fill_walk(struct unfinished *one, struct task_struct *task,
				      const struct pt_regs___kernel *entry)
{
	struct sample_deferred *deferred = &one->deferred;
	int end = unwind_begin_entered(&one->walk, entry);

	one->head.end = (__u16)end;
	if (end || !BPF_CORE_READ(task, mm, end_code))
		return;
	defer_cursor(&one->walk.at, deferred);
	defer_window(&one->walk, deferred);
	deferred->flags |= SAMPLE_DEFERRED_UNREAD;
	deferred->user_words = 0;
	deferred->stack = (one->walk.at.sp & ~7ull) - SAMPLE_RED_ZONE_BYTES;
	one->unread.stack_bytes = defer_stack_most(task, deferred->stack);
	one->head.deferred_bytes = sizeof(*deferred) + sizeof(one->unread);
}

/* There is room for all of it. */
static __always_inline void write_unfinished(struct seq_file *seq, const struct unfinished *one)
{
	__u32 frames = one->head.kernel_count & (SAMPLE_MAX_KERNEL_FRAMES - 1);

	bpf_seq_write(seq, &one->head, sizeof(one->head));
	if (frames)
		bpf_seq_write(seq, one->frames, frames * sizeof(__u64));
	if (one->head.deferred_bytes)
		bpf_seq_write(seq, &one->deferred, sizeof(one->deferred) + sizeof(one->unread));
}

static __always_inline void tell_unfinished(struct seq_file *seq, struct unfinished *one,
					    struct task_struct *task, struct wait_note *note)
{
	struct event_state *state = event_state_of(bpf_get_smp_processor_id());
	__u64 since_ns = *(volatile __u64 *)&note->since_ns, now_ns = bpf_ktime_get_ns();
	__u32 how = note->how;
	const struct pt_regs___kernel *entry;

	if (!state || !since_ns || now_ns < since_ns + OFF_CPU_PASS_LEAST_NS)
		return;
	fill_process(&one->head, task);
	if (!one->head.pid)
		return;
	if (is_unselected(&one->head)) {
		// Its time up to now must not come back should it be wanted later.
		__sync_val_compare_and_swap(&note->since_ns, since_ns, now_ns);
		return;
	}
	if (!off_cpu_pass.threshold) {
		count_wait(now_ns - since_ns);
		return;
	}
	one->unread.runs = runs_of(task);
	// Who has changed the note has had its time: the thread, which has woken.
	if (__sync_val_compare_and_swap(&note->since_ns, since_ns, now_ns) != since_ns)
		return;
	one->head.value = weigh_unfinished(state, now_ns - since_ns);
	if (!one->head.value)
		return;
	one->head.time_ns = now_ns;
	entry = kernel_registers_of(task);
	fill_unfinished(one, task, entry, how);
	fill_walk(one, task, entry);
	write_unfinished(seq, one);
}

SEC("iter/task")
int look_at_waits(struct bpf_iter__task *context)
{
	struct task_struct *task = context->task;
	struct seq_file *seq = context->meta->seq;
	struct unfinished *one;
	struct wait_note *note;
	__u32 zero = 0;

	if (!task || !may_be_told(task))
		return 0;
	if (off_cpu_pass.begins) {
		note_sleeper(task, bpf_ktime_get_ns());
		return 0;
	}
	// Asked for again with the next reading.
	if (seq->size - seq->count < OFF_CPU_PASS_RECORD_BYTES)
		return 1;
	note = bpf_task_storage_get(&wait_notes, task, NULL, 0);
	one = bpf_map_lookup_elem(&unfinished_one, &zero);
	if (note && one)
		tell_unfinished(seq, one, task, note);
	return 0;
}
