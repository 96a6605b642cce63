// SPDX-License-Identifier: GPL-2.0
/*
 * The sampler: runs at every tick of the timer of each CPU, collects the kernel
 * and the user stack of the interrupted thread, and puts one record into the ring.
 */
#include "kernel.bpf.h"
#include "sample.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before load. */
const volatile bool emit_idle = false;
const volatile __u64 wakeup_bytes = 0; /* wake the reader once this much waits */

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 * 1024); /* set before load from the number of CPUs */
} samples SEC(".maps");

struct scratch {
	struct sample_head head;
	__u64 frames[SAMPLE_MAX_FRAMES];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratch SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SAMPLE_COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(enum sample_counter counter, __u64 more)
{
	__u32 key = counter;
	__u64 *value = bpf_map_lookup_elem(&counters, &key);

	// The program does not preempt itself on one CPU: a plain add is exact.
	if (value)
		*value += more;
}

static __always_inline void fill_head(struct sample_head *head, __u64 pid_tgid, __u64 now_ns)
{
	head->time_ns = now_ns;
	head->pid = (__u32)(pid_tgid >> 32);
	head->tid = (__u32)pid_tgid;
	head->cpu = bpf_get_smp_processor_id();
	head->origin = SAMPLE_CPU_CLOCK;
	head->reserved = 0;
	kernel_task_identity(&head->start_boottime_ns, &head->exec_id);
	bpf_get_current_comm(head->comm, sizeof(head->comm));
}

static __always_inline __u32 frame_count(long bytes, __u32 most)
{
	// A negative result means no such stack.
	__u32 frames = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;

	return frames < most ? frames : most;
}

static __always_inline void emit(struct scratch *record, __u32 frames)
{
	__u64 size = sizeof(record->head) + (__u64)frames * sizeof(__u64);
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > wakeup_bytes)
		flags = BPF_RB_FORCE_WAKEUP;
	if (size > sizeof(*record) || bpf_ringbuf_output(&samples, record, size, flags))
		count(SAMPLE_COUNTER_RING_FULL, 1);
	else
		count(SAMPLE_COUNTER_EMITTED, 1);
}

static __always_inline void take_sample(struct bpf_perf_event_data *ctx, __u64 now_ns)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 zero = 0, kernel_frames = 0, user_frames = 0;
	struct scratch *record;

	count(SAMPLE_COUNTER_TAKEN, 1);
	// Thread 0 is the idle task of each CPU.
	if (!pid_tgid && !emit_idle) {
		count(SAMPLE_COUNTER_IDLE, 1);
		return;
	}
	record = bpf_map_lookup_elem(&scratch, &zero);
	if (!record)
		return;
	fill_head(&record->head, pid_tgid, now_ns);
	if (!kernel_interrupted_user(&ctx->regs))
		kernel_frames =
			frame_count(bpf_get_stack(ctx, record->frames,
						  SAMPLE_MAX_KERNEL_FRAMES * sizeof(__u64), 0),
				    SAMPLE_MAX_KERNEL_FRAMES - 1);
	// Lets the verifier see the bound, whatever the compiler did to the one above.
	kernel_frames &= SAMPLE_MAX_KERNEL_FRAMES - 1;
	if (pid_tgid)
		user_frames = frame_count(bpf_get_stack(ctx, &record->frames[kernel_frames],
							SAMPLE_MAX_USER_FRAMES * sizeof(__u64),
							BPF_F_USER_STACK),
					  SAMPLE_MAX_USER_FRAMES);
	record->head.kernel_count = (__u16)kernel_frames;
	record->head.user_count = (__u16)user_frames;
	emit(record, kernel_frames + user_frames);
}

SEC("perf_event")
int sample_cpu_clock(struct bpf_perf_event_data *ctx)
{
	__u64 begin_ns = bpf_ktime_get_ns();

	take_sample(ctx, begin_ns);
	// The kernel's own statistics of programs (BPF_ENABLE_STATS) want CAP_SYS_ADMIN.
	count(SAMPLE_COUNTER_RUN_NS, bpf_ktime_get_ns() - begin_ns);
	return 0;
}
