// SPDX-License-Identifier: GPL-2.0
/* The sampler: runs at every tick of the timer of each CPU. */
#include "sampling.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Tells the receiver, which writes the slabs. Run once by BPF_PROG_TEST_RUN, never attached. */
SEC("raw_tp/sys_enter")
int tell_slab_lead(void *ctx)
{
	(void)ctx;
	return (int)unwind_slab_lead();
}

SEC("perf_event")
int sample_cpu_clock(struct bpf_perf_event_data *ctx)
{
	__u32 slot = bpf_get_smp_processor_id();
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct sampled sampled = { .value = 1, .origin = SAMPLE_CPU_CLOCK };

	if (!buffer)
		return 0;
	publish_earlier(buffer);
	// Not timed, as below: reading the clock twice would be most of it.
	if (!emit_idle && kernel_is_idle()) {
		buffer->shared.counters.of[SAMPLE_COUNTER_TAKEN]++;
		buffer->shared.counters.of[SAMPLE_COUNTER_IDLE]++;
		return 0;
	}
	// Not timed: the clock would be a third of it.
	if (select_drops()) {
		buffer->shared.counters.of[SAMPLE_COUNTER_TAKEN]++;
		buffer->shared.counters.of[SAMPLE_COUNTER_UNSELECTED]++;
		return 0;
	}
	sampled.time_ns = bpf_ktime_get_ns();
	take_sample(ctx, &ctx->regs, buffer, slot, &sampled, true);
	// The kernel's own statistics of programs (BPF_ENABLE_STATS) want CAP_SYS_ADMIN.
	buffer->shared.counters.of[SAMPLE_COUNTER_RUN_NS] += bpf_ktime_get_ns() - sampled.time_ns;
	return 0;
}

/*
 * The rest of a sample whose process has runtimes, from where the walk begins, or, where the stack
 * was copied, behind it: tail-called by
 * sample_cpu_clock, with a program of its own for each set of runtimes.
 */
SEC("perf_event")
int walk_with_runtimes(struct bpf_perf_event_data *ctx)
{
	__u32 slot = bpf_get_smp_processor_id(), user_frames = 0, kernel_frames;
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct sample_head *head;
	__u64 begin_ns;

	(void)ctx;
	if (!buffer)
		return 0;
	// Its frames may be longer than those that the sampler has made room for.
	if (!has_room(buffer, walked_bytes())) {
		buffer->shared.counters.of[SAMPLE_COUNTER_RING_FULL]++;
		return 0;
	}
	head = record_of(buffer);
	begin_ns = head->time_ns;
	kernel_frames = buffer->walk.base & (SAMPLE_MAX_KERNEL_FRAMES - 1);
	// Else the stack was copied.
	if (!head->deferred_bytes)
		user_frames = walk_on(buffer, head, slot);
	user_frames = true_frames(buffer, head, user_frames);
	finish_sample(buffer, head, slot, kernel_frames, user_frames);
	buffer->shared.counters.of[SAMPLE_COUNTER_RUN_NS] += bpf_ktime_get_ns() - begin_ns;
	return 0;
}
