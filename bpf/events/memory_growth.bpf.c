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
	struct {
		__s64 counter;
	} count[4];
} __attribute__((preserve_access_index));

struct mm_struct___before_6_2 {
	struct mm_rss_stat___before_6_2 rss_stat;
} __attribute__((preserve_access_index));

/* include/linux/percpu_counter.h, and include/linux/mm_types.h since then */
struct percpu_counter___since_6_2 {
	__s64 count;
} __attribute__((preserve_access_index));

struct mm_struct___since_6_2 {
	struct percpu_counter___since_6_2 rss_stat[4];
} __attribute__((preserve_access_index));

/* include/linux/mm_types.h, with CONFIG_MEMCG: a thread of the process that the memory is */
struct mm_struct___owned {
	struct task_struct *owner;
} __attribute__((preserve_access_index));

enum { MM_ANONPAGES = 1 }; /* include/linux/mm_types_task.h */

/* The sum that @mm has now; the tracepoint's argument may be older. */
static __always_inline __u64 pages_of(__u64 mm)
{
	struct mm_struct___since_6_2 *now = (void *)mm;
	struct mm_struct___before_6_2 *then = (void *)mm;
	const void *counter;
	__s64 pages;

	if (bpf_core_type_exists(struct mm_rss_stat___before_6_2)) {
		pages = BPF_CORE_READ(then, rss_stat.count[MM_ANONPAGES].counter);
	} else {
		counter = (void *)now + bpf_core_field_offset(now->rss_stat) +
			  MM_ANONPAGES * bpf_core_type_size(struct percpu_counter___since_6_2);
		pages = BPF_CORE_READ((const struct percpu_counter___since_6_2 *)counter, count);
	}
	return pages < 0 ? 0 : (__u64)pages;
}

/* Of the program that @mm is of, which a child of vfork() borrows: its owner's, where the kernel
 * knows one. */
static __always_inline __u32 identity_of(__u64 mm)
{
	struct mm_struct___owned *owned = (void *)mm;
	struct task_struct *owner = NULL;
	__u64 start_boottime_ns;
	__u32 exec_id;

	if (bpf_core_field_exists(owned->owner))
		owner = BPF_CORE_READ(owned, owner);
	if (owner) {
		start_boottime_ns = BPF_CORE_READ(owner, group_leader, start_boottime);
		exec_id = (__u32)BPF_CORE_READ(owner, self_exec_id);
	} else {
		kernel_task_identity(&start_boottime_ns, &exec_id);
	}
	return unwind_identity(start_boottime_ns, exec_id);
}

/* What @seen says, before anything that is read after it. */
static __always_inline __u64 seen_before(struct memory_seen *seen)
{
#if defined(__TARGET_ARCH_x86)
	return *(volatile __u64 *)&seen->pages;
#else
	return __sync_fetch_and_add(&seen->pages, 0);
#endif
}

enum { GROWTH_TRIES = 3 };

/*
 * Returns how many pages @mm has gained since @seen, and brings @seen up to date. @seen holds an
 * earlier sum, and the sum is read after it: a smaller one means that memory was given back. Of
 * several threads the one whose exchange succeeds counts the step, the others try again. After
 * GROWTH_TRIES the rest is left to the next event. @atomic: the kernel has such an exchange;
 * without it two threads may both count a step.
 */
static __always_inline __u64 take_step(struct memory_seen *seen, __u64 mm, bool atomic)
{
#pragma clang loop unroll(full)
	for (int i = 0; i < GROWTH_TRIES; i++) {
		__u64 before = atomic ? seen_before(seen) : seen->pages, now = pages_of(mm);

		if (before == now)
			return 0;
		if (!atomic)
			seen->pages = now;
		else if (__sync_val_compare_and_swap(&seen->pages, before, now) != before)
			continue;
		return now > before ? now - before : 0;
	}
	return 0;
}

/* How many pages more there are in @mm. An address space that is met for the first time has grown
 * before. */
static __always_inline __u64 growth_of(__u64 mm, bool atomic)
{
	struct memory_seen *seen = bpf_map_lookup_elem(&memory_seen, &mm), first = { 0 };

	if (seen && seen->pages == pages_of(mm))
		return 0;
	first.identity = identity_of(mm);
	if (seen && seen->identity == first.identity)
		return take_step(seen, mm, atomic);
	first.pages = pages_of(mm);
	bpf_map_update_elem(&memory_seen, &mm, &first, seen ? BPF_ANY : BPF_NOEXIST);
	return 0;
}

static __always_inline int sample_growth(struct bpf_raw_tracepoint_args *context, bool atomic)
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
	pages = growth_of(mm, atomic);
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

SEC("raw_tracepoint/rss_stat")
int sample_memory_growth(struct bpf_raw_tracepoint_args *context)
{
	return sample_growth(context, true);
}

/* For kernels before 5.12, whose programs cannot exchange values (981f94c3e921). */
SEC("raw_tracepoint/rss_stat")
int sample_memory_growth_before_5_12(struct bpf_raw_tracepoint_args *context)
{
	return sample_growth(context, false);
}
