/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Every program that samples takes its samples here: the kernel's and the user's stack of the
 * current thread become one record in a buffer of the CPU. The program decides when to sample.
 */
#pragma once

#include "copy.bpf.h"
#include "fork.bpf.h"
#include "kernel.bpf.h"
#include "labels.bpf.h"
#include "pid_namespace.bpf.h"
#include "sample.h"
#include "select.bpf.h"
#include "unwind.bpf.h"

/* Set before load. */
const volatile bool emit_idle = false;
const volatile __u32 max_stack_depth = SAMPLE_MAX_USER_FRAMES;
const volatile __u64 ring_bytes = 64 * 1024; /* of each CPU; a power of two */
const volatile __u64 wakeup_bytes = 0;       /* wake the receiver once this much waits */
const volatile bool walks_apart = true;      /* there may be programs in runtime_walks */
const volatile __u32 events_slot = 0;        /* first slot of events other than the timer */

enum { URGENT_NS = 10000000 }; /* wake the receiver for a sample at most so often, on each CPU */

/* The state of a walk shares the first page with the buffer's head: one lookup finds it all, and
 * one page has it. */
struct cpu_buffer {
	struct sample_buffer shared;
	__u64 consumed;              /* as the receiver's was when it was looked at last */
	__u64 woken_ns;              /* when the receiver was woken last for what is missing */
	bool unknown;                /* the process has no ranges of its own */
	bool is_taken;               /* an event's walk goes on in this slot */
	struct wait_partner partner; /* of an event's sample; pid 0: there is none */
	struct defer_budget defer_budget;
	struct unwind_cursor begun; /* where the walk began; only if that is to be verified */
	struct unwind_walk walk;
};

_Static_assert(sizeof(struct cpu_buffer) <= SAMPLE_BUFFER_HEAD_BYTES, "the ring follows");

/*
 * By slot: a walk, and the ring that its record goes to. Slot k is that of the timer on CPU k,
 * which may interrupt the walk of another event there: those have slot events_slot + k, if there
 * are events at all.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1); /* and the size of a value: set before load */
	__uint(key_size, sizeof(__u32));
	__uint(value_size,
	       SAMPLE_BUFFER_HEAD_BYTES + 64 * 1024 + SAMPLE_MAX_BYTES + SAMPLE_STACK_PIECE_BYTES);
} buffers SEC(".maps");

/* Programs that walk stacks of processes with runtimes, by unwind_walk.program: one for each set of
 * runtimes, made when a process is met that has them. Where there is none the sampler walks. */
struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, UNWIND_PROGRAMS);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} runtime_walks SEC(".maps");

/* Carries nothing: a record in it wakes the receiver. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} wake_ups SEC(".maps");

/* Where the record of this tick begins. The mask is constant to the verifier. */
static __always_inline struct sample_head *record_of(struct cpu_buffer *buffer)
{
	__u64 at = buffer->shared.written;

	asm volatile("" : "+r"(at));
	return (void *)buffer + SAMPLE_BUFFER_HEAD_BYTES + (at & (ring_bytes - 1));
}

static __always_inline __u64 *frames_of(struct sample_head *record)
{
	return (__u64 *)(record + 1);
}

/* An event tells this of its sample, besides the thread. */
struct sampled {
	__u64 time_ns;
	__u64 value;  /* of sample_head */
	__u16 origin; /* enum sample_origin */
	__u16 detail; /* of sample_head */
	__u32 skip;   /* frames of the kernel's stack that are those of the program itself */
	bool is_user; /* the kernel's part is left out */
};

static __always_inline void fill_head(struct sample_head *head, __u32 slot, __u64 pid_tgid,
				      const struct sampled *sampled)
{
	head->time_ns = sampled->time_ns;
	head->value = sampled->value;
	head->pid = (__u32)(pid_tgid >> 32);
	head->tid = (__u32)pid_tgid;
	head->cpu = (__u16)(slot - events_slot);
	head->detail = sampled->detail;
	head->origin = sampled->origin;
	head->end = 0;
	kernel_task_identity(&head->start_boottime_ns, &head->exec_id);
	kernel_comm(head->comm);
	head->deferred_bytes = head->label_bytes = 0;
	head->uid = select_active ? (__u32)bpf_get_current_uid_gid() : SAMPLE_NO_UID;
}

static __always_inline __u32 frame_count(long bytes, __u32 most)
{
	// A negative result means no such stack.
	__u32 frames = bytes > 0 ? (__u32)bytes / sizeof(__u64) : 0;

	return frames < most ? frames : most;
}

/*
 * Bytes that the receiver has not read, or had not when it was looked at last: that word is another
 * CPU's, and is read again only when it matters.
 */
static __always_inline __u64 waiting_bytes(struct cpu_buffer *buffer, __u64 most)
{
	__u64 waiting = buffer->shared.written - buffer->consumed;

	if (waiting <= most)
		return waiting;
	buffer->consumed = *(volatile __u64 *)&buffer->shared.consumed;
	return buffer->shared.written - buffer->consumed;
}

/* Of the ring, for a sample that is not deferred, nor copied: it is written in place. */
static __always_inline __u64 walked_bytes(void)
{
	__u64 frames = runtimes_known & ~RUNTIMES_OF_NATIVE_FRAMES ? SAMPLE_MAX_WALKED_BYTES
								   : SAMPLE_MAX_NATIVE_BYTES;

	return runtimes_known ? frames + SAMPLE_MAX_LABEL_BYTES : frames;
}

/* Has the ring room for @bytes? */
static __always_inline bool has_room(struct cpu_buffer *buffer, __u64 bytes)
{
	return waiting_bytes(buffer, ring_bytes - bytes) <= ring_bytes - bytes;
}

/* Does the sample's walk miss something? The receiver fetches that at once: the next walks want it,
 * too. */
static __always_inline bool is_urgent(struct cpu_buffer *buffer, const struct sample_head *head)
{
	if ((head->end != UNWIND_END_NO_PAGE && !buffer->unknown && !buffer->walk.meets_new) ||
	    head->time_ns - buffer->woken_ns < URGENT_NS)
		return false;
	buffer->woken_ns = head->time_ns;
	buffer->walk.meets_new = false;
	return true;
}

/* Does the receiver sleep until there is a record? It is woken once. */
static __always_inline bool is_awaited(struct cpu_buffer *buffer)
{
	if (!*(volatile __u64 *)&buffer->shared.awaited)
		return false;
	*(volatile __u64 *)&buffer->shared.awaited = 0;
	return true;
}

/* The record is whole: hand it to the receiver. */
static __always_inline void publish(struct cpu_buffer *buffer, const struct sample_head *head,
				    __u32 frames)
{
	__u64 size = sizeof(*head) + (__u64)frames * sizeof(__u64) + head->deferred_bytes +
		     head->label_bytes;
	__u64 waiting = waiting_bytes(buffer, size < wakeup_bytes ? wakeup_bytes - size : 0);
	bool wake = is_urgent(buffer, head);

	asm volatile("" ::: "memory");
	*(volatile __u64 *)&buffer->shared.written += size;
#if defined(__TARGET_ARCH_x86)
	*(volatile __u64 *)&buffer->shared.published = buffer->shared.written;
#endif
	// A barrier on x86: the reader says that it sleeps, and looks for records once more.
	__sync_fetch_and_add(&buffer->shared.counters.of[SAMPLE_COUNTER_EMITTED], 1);
	wake |= is_awaited(buffer);
	// Of those that wait for room, the one that passes the bound.
	if (!wake && (waiting > wakeup_bytes || waiting + size <= wakeup_bytes))
		return;
	if (!bpf_ringbuf_output(&wake_ups, &size, sizeof(size), BPF_RB_FORCE_WAKEUP)) {
#if !defined(__TARGET_ARCH_x86)
		// To commit a record is a full barrier (bpf_ringbuf_commit, kernel/bpf/ringbuf.c).
		*(volatile __u64 *)&buffer->shared.published = buffer->shared.written;
#endif
	}
}

/*
 * One frame of the walk. Global, so that the verifier looks at it once and not as often as it is
 * called; such a function takes no pointers to maps.
 */
__noinline int unwind_step(__u32 slot)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct unwind_walk *walk;
	__u64 frame = 0;
	__u32 at;
	int end;

	if (!buffer)
		return UNWIND_END_BROKEN_TABLE;
	walk = &buffer->walk;
	walk->before = walk->count;
	at = walk->base + walk->count;
	// There is room for a frame of two words.
	if (walk->count - walk->seconds >= max_stack_depth || at >= SAMPLE_MAX_WORDS - 1)
		return UNWIND_END_DEPTH;
	end = unwind_next(walk, slot, &frame);
	if (frame) {
		__u64 *words = &frames_of(record_of(buffer))[at];

		words[0] = frame;
		walk->count++;
		if (runtimes_known && unwind_frame_is_wide(frame)) {
			words[1] = walk->second;
			walk->count++;
			walk->seconds++;
			unwind_meet_object(walk, frame, walk->second);
		}
	}
	return end;
}

/*
 * The frames of a deep walk that come next, as many as are simple. A function of its own: where it
 * is not called, its instructions are not waited for.
 */
__noinline int unwind_steps(__u32 slot)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct unwind_walk *walk;
	__u32 at;

	if (!buffer)
		return 0;
	walk = &buffer->walk;
	at = walk->base + walk->count;
	if (walk->count - walk->seconds < max_stack_depth && at < SAMPLE_MAX_WORDS - UNWIND_RUN)
		unwind_run(walk, slot, &frames_of(record_of(buffer))[at],
			   max_stack_depth - (walk->count - walk->seconds));
	return 0;
}

/*
 * Up to UNWIND_DEEP turns of a walk, each a frame or, in a deep one, more. Global, so that the
 * verifier, which follows each turn of a loop in each state that leads to it, follows few of them.
 */
__noinline int unwind_turns(__u32 slot)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	int end = 0;

	if (!buffer)
		return UNWIND_END_BROKEN_TABLE;
	for (int i = 0; i < UNWIND_DEEP && !end; i++) {
		if (buffer->walk.count >= UNWIND_DEEP)
			unwind_steps(slot);
		end = unwind_step(slot);
	}
	return end;
}

/* Appends to the record, whose head is complete, what the receiver needs to finish its walk, or to
 * @verify it. Global, as above; it is seldom called. */
__noinline int defer(__u32 slot, bool verify)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct sample_deferred *deferred;
	struct unwind_walk *walk;
	struct sample_head *head;
	__u32 frames;

	if (!buffer)
		return 0;
	walk = &buffer->walk;
	head = record_of(buffer);
	frames = (__u32)head->kernel_count + head->user_words;
	if (frames > SAMPLE_MAX_WORDS)
		return 0;
	deferred = (void *)(frames_of(head) + frames);
	if (has_room(buffer, walked_bytes() + SAMPLE_MAX_DEFERRED_BYTES) &&
	    defer_is_within_budget(&buffer->defer_budget, head->time_ns, 1))
		head->deferred_bytes = (__u16)defer_walk(walk, verify ? &buffer->begun : &walk->at,
							 verify ? 0 : walk->before, deferred,
							 &buffer->defer_budget);
	if (verify && head->deferred_bytes)
		deferred->flags |= SAMPLE_DEFERRED_VERIFY;
	else if (!verify && !head->deferred_bytes)
		buffer->shared.counters.of[SAMPLE_COUNTER_NOT_DEFERRED]++;
	return 0;
}

/* Copies the stack, after the @frames of the record, if that is of use and there is room. Global,
 * as above. */
__noinline int copy(__u32 slot, __u32 frames)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct sample_head *head;

	if (!buffer || frames > SAMPLE_MAX_KERNEL_FRAMES)
		return 0;
	head = record_of(buffer);
	// The rest is for walks that miss something, and for when the receiver does not come.
	if (!has_room(buffer, ring_bytes - ring_bytes / 4) ||
	    !defer_is_within_budget(&buffer->defer_budget, head->time_ns, 2))
		return 0;
	head->deferred_bytes = (__u16)copy_stack(&buffer->walk, head->pid == head->tid,
						 (void *)(frames_of(head) + frames));
	buffer->defer_budget.spent += head->deferred_bytes;
	return head->deferred_bytes != 0;
}

/*
 * Begins to walk the user's stack, whose frames go after the @kernel_frames of the record. True:
 * the process is known, and walk_on() goes on. False: no stack is walked, or the receiver does it.
 * @registers as in take_sample().
 */
static __always_inline bool walk_begins(const bpf_user_pt_regs_t *registers,
					struct cpu_buffer *buffer, struct sample_head *head,
					__u32 slot, __u32 kernel_frames)
{
	struct unwind_walk *walk = &buffer->walk;
	__u32 identity = unwind_identity(head->start_boottime_ns, head->exec_id);
	int end = registers && kernel_interrupted_user(registers)
			  ? unwind_begin_at(registers, walk)
			  : unwind_begin_entered(walk, kernel_user_registers());

	walk->copies = walk->program = walk->labels = 0;
	if (defer_verify)
		buffer->begun = walk->at;
	walk->number = buffer->shared.written;
	walk->base = kernel_frames;
	if (!end && !unwind_find_process(walk, head->pid, identity, UNWIND_NOW)) {
		buffer->unknown = true; // but not for good, as 32-bit code
		if (!fork_find_process(walk))
			end = UNWIND_END_NO_PROCESS;
	} else if (walk->copies && copy_stack_bytes && copy(slot, kernel_frames)) {
		return false;
	}
	head->end = (__u16)end;
	return !end;
}

/* Walks what walk_begins() has begun. Returns how many words its frames have. */
static __always_inline __u32 walk_on(struct cpu_buffer *buffer, struct sample_head *head,
				     __u32 slot)
{
	struct unwind_walk *walk = &buffer->walk;
	__u32 words;
	int end = 0;

	if (runtimes_known)
		unwind_forget_chains(walk);
	unwind_move_window(walk, walk->at.sp & ~7ull);
	// A frame of a loop does not show, and is a turn.
	for (int i = 0; i <= 3 * SAMPLE_MAX_USER_FRAMES / UNWIND_DEEP && !end; i++)
		end = unwind_turns(slot);
	head->end = (__u16)unwind_end_of(walk, end ? end : UNWIND_END_DEPTH);
	words = walk->count;
	return words < SAMPLE_MAX_USER_WORDS ? words : SAMPLE_MAX_USER_WORDS;
}

/* How many of the @frames of the walk that has ended are true: none while neither the old nor the
 * new program of an exec runs. */
static __always_inline __u32 true_frames(struct cpu_buffer *buffer, struct sample_head *head,
					 __u32 frames)
{
	if (head->end == UNWIND_END_ENTRY || !buffer->walk.entry || !kernel_is_between_programs())
		return frames;
	head->end = 0;
	head->deferred_bytes = 0;
	buffer->walk.labels = 0;
	return 0;
}

/* Where the labels of the record begin. NULL: it does not add up. */
static __always_inline struct sample_labels *labels_of(struct cpu_buffer *buffer)
{
	struct sample_head *head = record_of(buffer);
	__u32 frames = (__u32)head->kernel_count + head->user_words;
	__u32 deferred = head->deferred_bytes;

	if (frames > SAMPLE_MAX_WORDS || deferred > SAMPLE_MAX_DEFERRED_BYTES)
		return NULL;
	return (void *)(frames_of(head) + frames) + deferred;
}

/* Finds the labels of the current thread. Global, as above. */
__noinline int find_labels(__u32 slot)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);

	if (!buffer)
		return 0;
	buffer->walk.label_count = buffer->walk.label_flags = 0;
	runtimes_find_labels(&buffer->walk);
	return 0;
}

/* Appends label @number of those that were found to the record. Global, as above. */
__noinline int add_label(__u32 slot, __u32 number)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct sample_labels *labels;
	__u64 bytes;

	if (!buffer || number >= SAMPLE_LABELS)
		return 0;
	labels = labels_of(buffer);
	bytes = record_of(buffer)->label_bytes;
	if (!labels || bytes > SAMPLE_MAX_LABEL_BYTES - SAMPLE_LABEL_BYTES)
		return 0;
	bytes = labels_write(&buffer->walk, number, (void *)labels + bytes);
	record_of(buffer)->label_bytes += (__u16)bytes;
	return bytes != 0;
}

/* Appends the labels of the current thread to the record, which is complete but for them: there is
 * room. Global, as above. */
__noinline int add_labels(__u32 slot)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct sample_labels *labels;
	__u32 count = 0;

	find_labels(slot);
	if (!buffer || (!buffer->walk.label_count && !buffer->walk.label_flags))
		return 0;
	labels = labels_of(buffer);
	if (!labels)
		return 0;
	record_of(buffer)->label_bytes = sizeof(*labels);
#pragma clang loop unroll(disable)
	for (__u32 i = 0; i < SAMPLE_LABELS; i++) {
		if (i >= buffer->walk.label_count)
			break;
		count += (__u32)add_label(slot, i);
	}
	labels->count = (__u16)count;
	labels->flags = (__u16)buffer->walk.label_flags;
	labels->reserved = 0;
	return 0;
}

/* Appends the other thread of the wait to the record, whose labels are complete: there is room.
 * Global, as above. */
__noinline int add_partner(__u32 slot)
{
	struct cpu_buffer *buffer = bpf_map_lookup_elem(&buffers, &slot);
	struct sample_labels *labels;
	__u64 bytes;

	if (!buffer)
		return 0;
	labels = labels_of(buffer);
	bytes = record_of(buffer)->label_bytes;
	if (!labels || bytes > SAMPLE_MAX_LABEL_BYTES - sizeof(buffer->partner))
		return 0;
	if (!bytes) {
		*labels = (struct sample_labels){ 0 };
		bytes = sizeof(*labels);
	}
	labels->flags |= SAMPLE_LABELS_PARTNER;
	if (record_of(buffer)->origin == SAMPLE_WAKERS)
		labels->flags |= SAMPLE_LABELS_WOKEN;
	__builtin_memcpy((void *)labels + bytes, &buffer->partner, sizeof(buffer->partner));
	record_of(buffer)->label_bytes = (__u16)(bytes + sizeof(buffer->partner));
	return 0;
}

/* The record is complete but for what the receiver is to finish, and for labels. */
static __always_inline void finish_sample(struct cpu_buffer *buffer, struct sample_head *head,
					  __u32 slot, __u32 kernel_frames, __u32 user_frames)
{
	head->kernel_count = (__u16)kernel_frames;
	head->user_words = (__u16)user_frames;
	if (defer_is_of_use(&buffer->walk, head->end, buffer->unknown))
		defer(slot, false);
	else if (defer_verify && user_frames)
		defer(slot, true);
	if (runtimes_known && buffer->walk.labels)
		add_labels(slot);
	if (events_slot && buffer->partner.pid)
		add_partner(slot);
	publish(buffer, head, kernel_frames + user_frames);
}

/*
 * Takes the sample of the current thread that @sampled tells of. @context is the program's, for the
 * kernel's own walkers. @registers are those of an interrupt, or NULL: the thread is in the kernel.
 * @calls: the program is one that those in runtime_walks are like.
 */
static __always_inline void take_sample(void *context, const bpf_user_pt_regs_t *registers,
					struct cpu_buffer *buffer, __u32 slot,
					const struct sampled *sampled, bool calls)
{
	struct sample_counters *count = &buffer->shared.counters;
	__u64 pid_tgid = pid_namespace_current();
	__u32 kernel_frames = 0, user_frames = 0;
	struct sample_head *head;

	count->of[SAMPLE_COUNTER_TAKEN]++;
	// A process outside of the profiler's PID namespace, or the idle task of a CPU.
	if (!pid_tgid && (!emit_idle || bpf_get_current_pid_tgid())) {
		count->of[SAMPLE_COUNTER_IDLE]++;
		return;
	}
	if (!has_room(buffer, walked_bytes())) {
		count->of[SAMPLE_COUNTER_RING_FULL]++;
		return;
	}
	head = record_of(buffer);
	buffer->unknown = false;
	buffer->walk.labels = 0;
	fill_head(head, slot, pid_tgid, sampled);
	if (!sampled->is_user && (!registers || !kernel_interrupted_user(registers)))
		kernel_frames = frame_count(bpf_get_stack(context, frames_of(head),
							  SAMPLE_MAX_KERNEL_FRAMES * sizeof(__u64),
							  sampled->skip),
					    SAMPLE_MAX_KERNEL_FRAMES - 1);
	// Lets the verifier see the bound, whatever the compiler did to the one above.
	asm volatile("" : "+r"(kernel_frames));
	kernel_frames &= SAMPLE_MAX_KERNEL_FRAMES - 1;
	if (pid_tgid && kernel_has_user_part()) {
		bool begun = walk_begins(registers, buffer, head, slot, kernel_frames);

		// It does not come back, but where there is no such program.
		if (calls && walks_apart && buffer->walk.program)
			bpf_tail_call(context, &runtime_walks, buffer->walk.program);
		if (begun) {
			user_frames = walk_on(buffer, head, slot);
		} else if (head->end == UNWIND_END_NO_PROCESS) {
			user_frames =
				frame_count(bpf_get_stack(context, &frames_of(head)[kernel_frames],
							  SAMPLE_MAX_USER_FRAMES * sizeof(__u64),
							  BPF_F_USER_STACK),
					    SAMPLE_MAX_USER_FRAMES);
		}
		user_frames = true_frames(buffer, head, user_frames);
	}
	finish_sample(buffer, head, slot, kernel_frames, user_frames);
}

/* On other machines another CPU may not have seen the last record's bytes before its end. */
static __always_inline void publish_earlier(struct cpu_buffer *buffer)
{
#if defined(__TARGET_ARCH_x86)
	(void)buffer;
#else
	*(volatile __u64 *)&buffer->shared.published = buffer->shared.written;
#endif
}
