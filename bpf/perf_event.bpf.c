// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler: runs at every tick of the timer of each CPU, collects the kernel
 * and the user stack of the interrupted thread, and puts one record into the ring.
 */
#include "kernel.bpf.h"
#include "sample.h"
#include "unwind.bpf.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before load. */
const volatile bool emit_idle = false;
const volatile __u64 wakeup_bytes = 0; /* wake the reader once this much waits */
const volatile __u32 max_stack_depth = SAMPLE_MAX_USER_FRAMES;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024); /* set before load from the number of CPUs */
} samples SEC(".maps");

/* One piece, so that one lookup finds it all. The record is its end. */
struct scratch {
	struct unwind_walk walk;
	struct sample_head head;
	__u64 frames[SAMPLE_MAX_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* The program does not preempt itself on one CPU: plain additions are exact. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sample_counters);
} counters SEC(".maps");

static __always_inline void fill_head(struct sample_head *head, __u64 pid_tgid, __u64 now_ns)
{
	head->time_ns = now_ns;
	head->pid = (__u32)(pid_tgid >> 32);
	head->tid = (__u32)pid_tgid;
	head->cpu = bpf_get_smp_processor_id();
	head->origin = SAMPLE_CPU_CLOCK;
	head->end = 0;
	kernel_task_identity(&head->start_boottime_ns, &head->exec_id);
	bpf_get_current_comm(head->comm, sizeof(head->comm));
}

static __always_inline __u32 frame_count(long bytes, __u32 most)
{
	// A negative result means no such stack.
	__u32 frames = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;

	return frames < most ? frames : most;
}

static __always_inline void emit(struct sample_counters *count, struct scratch *scratch,
				 __u32 frames)
{
	__u64 size = sizeof(scratch->head) + (__u64)frames * sizeof(__u64);
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (size > SAMPLE_MAX_BYTES || bpf_ringbuf_output(&samples, &scratch->head, size, flags))
		count->of[SAMPLE_COUNTER_RING_FULL]++;
	else
		count->of[SAMPLE_COUNTER_EMITTED]++;
}

/*
 * One frame of the walk. Global, so that the verifier looks at it once and not as often as it is
 * called; such a function takes no pointers to maps.
 */
__noinline int unwind_step(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0, at;
	struct scratch *scratch = bpf_map_lookup_elem(&scratches, &zero);
	struct unwind_walk *walk;
	__u64 frame = 0;
	int end;

	if (!scratch)
		return UNWIND_END_BROKEN_TABLE;
	walk = &scratch->walk;
	at = walk->base + walk->count;
	if (walk->count >= max_stack_depth || at >= SAMPLE_MAX_FRAMES)
		return UNWIND_END_DEPTH;
	end = unwind_frame(ctx, walk, &frame);
	if (frame) {
		scratch->frames[at] = frame;
		walk->count++;
	}
	return end;
}

/* The user's frames into the record, after the @kernel_frames in it. Returns how many. */
static __always_inline __u32 walk_user(struct bpf_perf_event_data *ctx, struct scratch *scratch,
				       __u32 kernel_frames)
{
	struct unwind_walk *walk = &scratch->walk;
	struct sample_head *head = &scratch->head;
	__u32 frames, identity = unwind_identity(head->start_boottime_ns, head->exec_id);
	int end = unwind_begin(ctx, walk);

	if (!end && !unwind_find_process(walk, head->pid, identity))
		end = UNWIND_END_NO_PROCESS;
	head->end = (__u16)end;
	if (end == UNWIND_END_NO_PROCESS)
		return frame_count(bpf_get_stack(ctx, &scratch->frames[kernel_frames],
						 SAMPLE_MAX_USER_FRAMES * sizeof(__u64),
						 BPF_F_USER_STACK),
				   SAMPLE_MAX_USER_FRAMES);
	if (end)
		return 0;
	walk->base = kernel_frames;
	unwind_move_window(walk, walk->sp & ~7ull);
	for (int i = 0; i <= SAMPLE_MAX_USER_FRAMES && !end; i++)
		end = unwind_step(ctx);
	head->end = (__u16)end;
	frames = walk->count;
	return frames < SAMPLE_MAX_USER_FRAMES ? frames : SAMPLE_MAX_USER_FRAMES;
}

static __always_inline void take_sample(struct bpf_perf_event_data *ctx,
					struct sample_counters *count, __u64 now_ns)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 zero = 0, kernel_frames = 0, user_frames = 0;
	struct scratch *scratch;

	count->of[SAMPLE_COUNTER_TAKEN]++;
	// Thread 0 is the idle task of each CPU.
	if (!pid_tgid && !emit_idle) {
		count->of[SAMPLE_COUNTER_IDLE]++;
		return;
	}
	scratch = bpf_map_lookup_elem(&scratches, &zero);
	if (!scratch)
		return;
	fill_head(&scratch->head, pid_tgid, now_ns);
	if (!kernel_interrupted_user(&ctx->regs))
		kernel_frames =
			frame_count(bpf_get_stack(ctx, scratch->frames,
						  SAMPLE_MAX_KERNEL_FRAMES * sizeof(__u64), 0),
				    SAMPLE_MAX_KERNEL_FRAMES - 1);
	// Lets the verifier see the bound, whatever the compiler did to the one above.
	asm volatile("" : "+r"(kernel_frames));
	kernel_frames &= SAMPLE_MAX_KERNEL_FRAMES - 1;
	if (pid_tgid && kernel_has_user_part())
		user_frames = walk_user(ctx, scratch, kernel_frames);
	scratch->head.kernel_count = (__u16)kernel_frames;
	scratch->head.user_count = (__u16)user_frames;
	emit(count, scratch, kernel_frames + user_frames);
}

SEC("perf_event")
int sample_cpu_clock(struct bpf_perf_event_data *ctx)
{
	__u64 begin_ns = bpf_ktime_get_ns();
	__u32 zero = 0;
	struct sample_counters *count = bpf_map_lookup_elem(&counters, &zero);

	if (!count)
		return 0;
	take_sample(ctx, count, begin_ns);
	// The kernel's own statistics of programs (BPF_ENABLE_STATS) want CAP_SYS_ADMIN.
	count->of[SAMPLE_COUNTER_RUN_NS] += bpf_ktime_get_ns() - begin_ns;
	return 0;
}
