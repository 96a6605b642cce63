// SPDX-License-Identifier: GPL-2.0
/*
 * Off-CPU time: from when a thread has left a CPU to when it runs again, on whichever, with the
 * stack that it has waited with.
 *
 * Where it leaves, the time is noted with the thread. Where it comes back, note_switch() decides
 * (event_budget.h) before the kernel has changed over to it; the few that are kept are sampled by
 * the program after, which runs as the thread itself. So a switch costs two looks into the notes of
 * threads, and a stack is walked for those only that become samples.
 */
#include "waits.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before load: each wait is kept with this probability, in 2^-32, and counts for as many as are
 * not; 0: by the budget. */
const volatile __u32 fixed_share = 0;

/*
 * The wait of a thread. The switch that ends it and the iterator that reports it before its end
 * (unfinished.bpf.h) may run at the same time: each takes the time since `since_ns` by an atomic
 * exchange, so that the other one does not count it as well.
 */
struct wait_note {
	__u64 since_ns; /* CLOCK_MONOTONIC, of what was not told of yet; 0: it runs, or was never
			   seen to leave a CPU */
	__u32 how;      /* enum off_cpu_state */
	__u32 reserved;
	struct wait_partner waker; /* only if note_waker() runs */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct wait_note);
} wait_notes SEC(".maps");

static __always_inline void note_leaving(struct event_state *state, struct task_struct *task,
					 __u64 now_ns, bool preempted)
{
	struct wait_note *note =
		bpf_task_storage_get(&wait_notes, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!note) {
		state->counters[EVENT_COUNTER_UNKNOWN]++;
		return;
	}
	note->waker.pid = 0;
	note->since_ns = now_ns;
	note->how = how_of(task, preempted);
}

/* Returns the value that a wait of @amount is kept with; 0: the wait is not kept. */
static __always_inline __u64 weigh(struct event_state *state, __u64 amount)
{
	if (!fixed_share)
		return event_weigh(state, amount);
	state->counters[EVENT_COUNTER_SEEN]++;
	state->counters[EVENT_COUNTER_AMOUNT] += amount;
	return off_cpu_weigh_fixed(fixed_share, amount, bpf_get_prandom_u32());
}

static __always_inline void decide(struct event_state *state, struct task_struct *task,
				   __u64 now_ns)
{
	struct wait_note *note = bpf_task_storage_get(&wait_notes, task, NULL, 0);
	__u64 since_ns;

	// A new thread, or one that has left before anybody looked.
	if (!note || !note->since_ns)
		return;
	since_ns = __sync_lock_test_and_set(&note->since_ns, 0);
	// The iterator has just reported all of it.
	if (!since_ns || since_ns >= now_ns)
		return;
	state->pending_value = weigh(state, now_ns - since_ns);
	state->pending_ns = now_ns;
	state->pending_tid = (__u32)task->pid;
	state->pending_detail = (__u16)note->how;
	state->partner = note->waker;
	if (!state->pending_value && !fixed_share)
		event_note(state, now_ns, false);
}

/* Before the change from @previous, which is the current one still, to @next. */
SEC("tp_btf/sched_switch")
int note_switch(__u64 *context)
{
	bool preempted = context[0];
	struct task_struct *previous = (void *)context[1], *next = (void *)context[2];
	struct event_state *state = event_state_of(bpf_get_smp_processor_id());
	__u64 now_ns = bpf_ktime_get_ns();

	if (!state)
		return 0;
	state->pending_value = 0;
	if (is_of_process(previous))
		note_leaving(state, previous, now_ns, preempted);
	if (is_of_process(next))
		decide(state, next, now_ns);
	return 0;
}

/* After the change: the current thread is the one that was decided about, if any was. @skip as in
 * struct sampled. */
static __always_inline void take_pending(void *context, __u32 skip)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct event_state *state = event_state_of(cpu);
	struct sampled sampled = { .origin = SAMPLE_OFF_CPU, .skip = skip };
	bool kept;

	if (!state || !state->pending_value ||
	    state->pending_tid != (__u32)bpf_get_current_pid_tgid())
		return;
	sampled.value = state->pending_value;
	sampled.time_ns = state->pending_ns;
	sampled.detail = detail_of((void *)bpf_get_current_task(), kernel_user_registers(),
				   state->pending_detail);
	state->pending_value = 0;
	kept = event_take(context, NULL, state, cpu, &sampled, &state->partner);
	if (!fixed_share)
		event_note(state, sampled.time_ns, kept);
}

/* Kernels since 6.16 (sched_exit_tp): at the end of each __schedule(). */
SEC("raw_tracepoint/sched_exit_tp")
int sample_after_switch(struct bpf_raw_tracepoint_args *context)
{
	// The program, and what has called it.
	take_pending(context, 2);
	return 0;
}

/* Older ones: what the thread that runs does first. Attached by the name that it has here. */
SEC("kprobe")
int sample_in_finish_task_switch(void *context)
{
	take_pending(context, 0);
	return 0;
}

/* Where a wait is ended, by whoever runs: before the thread may run on another CPU. What interrupts
 * do, and what comes with them, is not the work of the thread that they interrupt. */
SEC("tp_btf/sched_waking")
int note_waker(__u64 *context)
{
	struct event_state *state = event_state_of(bpf_get_smp_processor_id());
	struct task_struct *task = (void *)context[0];
	struct wait_note *note;
	__u64 pid_tgid;

	if (!state || !is_of_process(task) || !acts_for_thread(state, context))
		return 0;
	note = bpf_task_storage_get(&wait_notes, task, NULL, 0);
	pid_tgid = pid_namespace_current();
	if (!note || !pid_tgid)
		return 0;
	note->waker.pid = (__u32)(pid_tgid >> 32);
	note->waker.tid = (__u32)pid_tgid;
	kernel_comm(note->waker.comm);
	return 0;
}

#include "unfinished.bpf.h"
