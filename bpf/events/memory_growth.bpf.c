// SPDX-License-Identifier: GPL-2.0
/*
 * This program samples memory growth: bytes of anonymous memory that a process takes, where it
 * does.
 *
 * The kernel calls rss_stat after each change of a process's counts of pages. Since 6.2 these are
 * counted on each CPU, and come to the sum that can be read here in batches of 32 pages or more;
 * before they came in batches of 64 of a thread. Either way the sum grows in steps:
 * each step is counted at the place that makes it, for all memory since the step before. Memory
 * that is given back is no event: the next growth counts from there.
 */
#include "event.bpf.h"

char LICENSE[] SEC("license") = "GPL";

const volatile __u64 page_bytes = 4096; /* set before load */

/* The sum of an address space, when it was looked at last. */
struct memory_seen {
	__u64 pages;
	__u32 identity; /* of the program: another one may have an address space there later */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64); /* address of its struct mm_struct */
	__type(value, struct memory_seen);
} memory_seen SEC(".maps");

/* include/linux/mm_types_task.h, until 6.2 (f1a7941243c1) */
struct mm_rss_stat___before_6_2 {
	int count[1];
} __attribute__((preserve_access_index));

/* include/linux/percpu_counter.h, and include/linux/mm_types.h since then */
struct percpu_counter___since_6_2 {
	__s64 count;
} __attribute__((preserve_access_index));

struct mm_struct___since_6_2 {
	struct percpu_counter___since_6_2 rss_stat[4];
} __attribute__((preserve_access_index));

enum { MM_ANONPAGES = 1 }; /* include/linux/mm_types_task.h */

/* The tracepoint's third argument, which must not be touched where it has none, or since 6.2 what
 * it would compute. */
static __always_inline long pages_of(struct bpf_raw_tracepoint_args *context)
{
	struct mm_struct___since_6_2 *now = (void *)context->args[0];
	const void *counter;

	if (bpf_core_type_exists(struct mm_rss_stat___before_6_2))
		return (long)*(volatile __u64 *)&context->args[2];
	counter = (void *)now + bpf_core_field_offset(now->rss_stat) +
		  MM_ANONPAGES * bpf_core_type_size(struct percpu_counter___since_6_2);
	return BPF_CORE_READ((const struct percpu_counter___since_6_2 *)counter, count);
}

/* How many pages more there are in @mm, the current process's. An address space that is met for the
 * first time has grown before. Two threads of it that meet here may both see a step. */
static __always_inline __u64 growth_of(__u64 mm, long pages)
{
	struct memory_seen *seen = bpf_map_lookup_elem(&memory_seen, &mm), first = { 0 };
	__u64 start_boottime_ns, before;
	__u32 exec_id;

	if (pages < 0)
		pages = 0;
	if (seen && seen->pages == (__u64)pages)
		return 0;
	kernel_task_identity(&start_boottime_ns, &exec_id);
	first.identity = unwind_identity(start_boottime_ns, exec_id);
	first.pages = (__u64)pages;
	if (!seen || seen->identity != first.identity) {
		bpf_map_update_elem(&memory_seen, &mm, &first, BPF_ANY);
		return 0;
	}
	before = seen->pages;
	seen->pages = first.pages;
	return first.pages > before ? first.pages - before : 0;
}

SEC("raw_tracepoint/rss_stat")
int sample_memory_growth(struct bpf_raw_tracepoint_args *context)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 cpu = bpf_get_smp_processor_id();
	struct event_state *state = event_state_of(cpu);
	struct sampled sampled = { .origin = SAMPLE_MEMORY_GROWTH, .skip = 2 };
	__u64 mm = context->args[0], pages;
	bool kept;

	// Of a process itself: a fork fills its child's, and an exec one that nobody has yet.
	if (!state || (__u32)context->args[1] != MM_ANONPAGES ||
	    mm != (__u64)BPF_CORE_READ(task, mm))
		return 0;
	pages = growth_of(mm, pages_of(context));
	if (!pages)
		return 0;
	sampled.time_ns = bpf_ktime_get_ns();
	sampled.value = event_weigh(state, pages * page_bytes);
	// In a fault the kernel's part would say nothing but that.
	sampled.is_user = kernel_system_call(kernel_user_registers()) < 0;
	kept = sampled.value && event_take(context, NULL, state, cpu, &sampled, NULL);
	event_note(state, sampled.time_ns, kept);
	return 0;
}
