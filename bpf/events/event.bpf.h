/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Programs of events share these functions. A budget decides whether an event is kept
 * (event_budget.h). Its sample goes into the slot that events have on each CPU, so that the timer
 * may come in between.
 *
 * They use the maps of the sampler, by name, and know all runtimes.
 */
#pragma once

#include "../sampling.bpf.h"

/* Set before load; `rate` also later. */
volatile struct event_budget_limits event_limits = { .rate = 200, .first = 1, .least = 1 };

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* set before load: possible CPUs */
	__type(key, __u32);
	__type(value, struct event_state);
} event_states SEC(".maps");

static __always_inline struct event_state *event_state_of(__u32 cpu)
{
	return bpf_map_lookup_elem(&event_states, &cpu);
}

static __always_inline struct event_budget_limits event_limits_now(void)
{
	return (struct event_budget_limits){
		.rate = event_limits.rate,
		.first = event_limits.first,
		.least = event_limits.least,
	};
}

/* Returns the value that an event of @amount is kept with; 0: the event is not kept. */
static __always_inline __u64 event_weigh(struct event_state *state, __u64 amount)
{
	struct event_budget_limits limits = event_limits_now();

	state->counters[EVENT_COUNTER_SEEN]++;
	state->counters[EVENT_COUNTER_AMOUNT] += amount;
	return event_budget_weigh(&state->budget, &limits, amount, bpf_get_prandom_u32());
}

static __always_inline void event_note(struct event_state *state, __u64 now_ns, bool kept)
{
	struct event_budget_limits limits = event_limits_now();

	event_budget_note(&state->budget, &limits, now_ns, kept);
}

/*
 * Samples the current thread for an event that was kept. @registers as in take_sample();
 * @partner of a wait, or NULL. True: it counts by the budget. What select/ has said is not wanted
 * does not, so that the others get all of it.
 */
static __always_inline bool event_take(void *context, const bpf_user_pt_regs_t *registers,
				       struct event_state *state, __u32 cpu,
				       const struct sampled *sampled,
				       const struct wait_partner *partner)
{
	__u32 slot = events_slot + cpu;
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);

	if (!buffer)
		return false;
	// Programs that run with preemption enabled may meet here.
	if (buffer->is_taken) {
		state->counters[EVENT_COUNTER_BUSY]++;
		return false;
	}
	publish_earlier(buffer);
	if (select_drops()) {
		buffer->shared.counters.of[SAMPLE_COUNTER_TAKEN]++;
		buffer->shared.counters.of[SAMPLE_COUNTER_UNSELECTED]++;
		return false;
	}
	state->counters[EVENT_COUNTER_KEPT]++;
	*(volatile bool *)&buffer->is_taken = true;
	if (partner)
		buffer->partner = *partner;
	else
		buffer->partner.pid = 0;
	take_sample(context, registers, buffer, slot, sampled, false);
	*(volatile bool *)&buffer->is_taken = false;
	buffer->shared.counters.of[SAMPLE_COUNTER_RUN_NS] += bpf_ktime_get_ns() - sampled->time_ns;
	return true;
}
