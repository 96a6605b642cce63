// SPDX-License-Identifier: GPL-2.0
/*
 * Page faults: the kernel counts them on each CPU, and runs this program once in so many (its
 * software event PERF_COUNT_SW_PAGE_FAULTS), where the last of these happened.
 */
#include "event.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u64 faults_each = 1; /* set before load: faults that one run stands for */

SEC("perf_event")
int sample_page_faults(struct bpf_perf_event_data *ctx)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct event_state *state = event_state_of(cpu);
	struct sampled sampled = {
		.time_ns = bpf_ktime_get_ns(),
		.origin = SAMPLE_PAGE_FAULTS,
	};
	bool kept;

	if (!state)
		return 0;
	sampled.value = event_weigh(state, faults_each);
	kept = sampled.value && event_take(ctx, &ctx->regs, state, cpu, &sampled, NULL);
	event_note(state, sampled.time_ns, kept);
	return 0;
}
