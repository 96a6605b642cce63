// SPDX-License-Identifier: GPL-2.0
/*
 * This program samples threads that end another thread's wait, with the length of that wait.
 *
 * When a thread leaves its CPU to wait, the time is noted with it; who wakes it takes that time and
 * is sampled in the act. So no wait counts twice, and a thread that is not woken by another one, or
 * by a timer or a device, counts nowhere. The kernel needs no more than two tracepoints.
 */
#include "waits.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Of a thread that waits. */
struct sleep_note {
	__u64 since_ns; /* CLOCK_MONOTONIC; 0: it does not wait, or has been woken */
	__u32 how;      /* enum off_cpu_state */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sleep_note);
} sleep_notes SEC(".maps");

/* Before the change to another thread. One that could go on is woken by nobody. */
SEC("tp_btf/sched_switch")
int note_sleep(__u64 *context)
{
	bool preempted = context[0];
	struct task_struct *task = (void *)context[1];
	struct event_state *state;
	struct sleep_note *note;

	if (preempted || !is_of_process(task) || !state_of(task))
		return 0;
	note = bpf_task_storage_get(&sleep_notes, task, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
	state = event_state_of(bpf_get_smp_processor_id());
	if (note) {
		note->how = how_of(task, false);
		note->since_ns = bpf_ktime_get_ns();
	} else if (state) {
		state->counters[EVENT_COUNTER_UNKNOWN]++;
	}
	return 0;
}

static __always_inline void fill_partner(struct wait_partner *partner, struct task_struct *task)
{
	partner->pid = pid_namespace_tgid(task);
	partner->tid = pid_namespace_tid(task);
	BPF_CORE_READ_INTO(&partner->comm, task, comm);
	if (kernel_task_may_have_next_name(task))
		partner->comm[0] = '\0';
}

/* The current thread has ended the wait of @task, which has gone on for @amount. */
static __always_inline void take_waker(__u64 *context, struct event_state *state,
				       struct task_struct *task, __u32 how, __u64 now_ns,
				       __u64 amount)
{
	// The first frames are those of the program itself.
	struct sampled sampled = { .origin = SAMPLE_WAKERS, .time_ns = now_ns, .skip = 2 };
	bool kept;

	sampled.value = event_weigh(state, amount);
	if (!sampled.value) {
		event_note(state, now_ns, false);
		return;
	}
	sampled.detail = detail_of(task, kernel_registers_of(task), how);
	fill_partner(&state->partner, task);
	kept = event_take(context, NULL, state, bpf_get_smp_processor_id(), &sampled,
			  &state->partner);
	event_note(state, now_ns, kept);
}

/* Interrupts are disabled meanwhile, and @state is this program's alone (try_to_wake_up(),
 * kernel/sched/core.c). An interrupt that wakes a thread takes its note, too: who wakes it next
 * ends another wait. */
SEC("tp_btf/sched_waking")
int sample_waker(__u64 *context)
{
	struct task_struct *task = (void *)context[0];
	struct event_state *state = event_state_of(bpf_get_smp_processor_id());
	struct sleep_note *note = bpf_task_storage_get(&sleep_notes, task, NULL, 0);
	__u64 since_ns, now_ns;

	if (!note || !state)
		return 0;
	since_ns = __sync_lock_test_and_set(&note->since_ns, 0);
	now_ns = bpf_ktime_get_ns();
	if (!since_ns || since_ns >= now_ns)
		return 0;
	if (acts_for_thread(state, context))
		take_waker(context, state, task, note->how, now_ns, now_ns - since_ns);
	return 0;
}
