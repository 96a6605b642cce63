/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A walk that has met code which is not in the tables yet is left to the receiver, which reads
 * what is missing and goes on by the same rules: the record gets the registers and the stack.
 */
#pragma once

#include "sample.h"
#include "unwind.bpf.h"

/* Set before load. */
const volatile __u32 defer_stack_bytes = SAMPLE_MAX_STACK_BYTES; /* at most; 0: none is deferred */
const volatile bool defer_verify = false;
const volatile __u64 defer_bytes_per_second = 4 << 20; /* of stacks, on each CPU */

enum { DEFER_SECOND_SHIFT = 30 }; /* of a time in nanoseconds */

/* What was deferred on this CPU lately. */
struct defer_budget {
	__u64 second;
	__u64 spent; /* bytes of stacks in it */
};

/* What is missing may be there in a moment; a frame pointer may lead anywhere. */
static __always_inline bool defer_is_of_use(const struct unwind_walk *walk, int end,
					    bool unknown_process)
{
	return defer_stack_bytes &&
	       (end == UNWIND_END_NO_PAGE || (end == UNWIND_END_NO_MAPPING && !walk->at.guessed) ||
		(end == UNWIND_END_NO_PROCESS && unknown_process));
}

/* Is less than a @share-th of it spent? */
static __always_inline bool defer_is_within_budget(struct defer_budget *budget, __u64 now_ns,
						   __u32 share)
{
	__u64 second = now_ns >> DEFER_SECOND_SHIFT;

	if (budget->second != second) {
		budget->second = second;
		budget->spent = 0;
	}
	return budget->spent < defer_bytes_per_second / share;
}

#define DEFER_REGISTER(number, name) deferred->registers[number] = UNWIND_ENTRY(walk, name);

/* Of the registers that unwind_begin_entered() has read into the window. */
static __always_inline void defer_window(struct unwind_walk *walk, struct sample_deferred *deferred)
{
	__builtin_memset(deferred->registers, 0, sizeof(deferred->registers));
#if defined(__TARGET_ARCH_x86)
	DEFER_REGISTER(0, ax)
	DEFER_REGISTER(1, dx)
	DEFER_REGISTER(2, cx)
	DEFER_REGISTER(3, bx)
	DEFER_REGISTER(4, si)
	DEFER_REGISTER(5, di)
	DEFER_REGISTER(8, r8)
	DEFER_REGISTER(9, r9)
	DEFER_REGISTER(10, r10)
	DEFER_REGISTER(11, r11)
	DEFER_REGISTER(12, r12)
	DEFER_REGISTER(13, r13)
	DEFER_REGISTER(14, r14)
	DEFER_REGISTER(15, r15)
#else
	// The others are carried.
	__builtin_memcpy(deferred->registers, UNWIND_ENTRY(walk, regs), 29 * sizeof(__u64));
#endif
}

/* The window is not needed any more: it takes the registers. */
static __always_inline bool defer_registers(struct unwind_walk *walk,
					    struct sample_deferred *deferred)
{
	if (bpf_probe_read_kernel(walk->window, bpf_core_type_size(struct pt_regs___kernel),
				  kernel_user_registers()))
		return false;
	defer_window(walk, deferred);
	return true;
}

static __always_inline void defer_cursor(const struct unwind_cursor *at,
					 struct sample_deferred *deferred)
{
	deferred->pc = at->pc;
	deferred->sp = at->sp;
	deferred->fp = at->fp;
	deferred->link = at->link;
	deferred->flags = (at->exact ? SAMPLE_DEFERRED_EXACT : 0) |
			  (at->first ? SAMPLE_DEFERRED_FIRST : 0) |
			  (at->sp_is_bound ? SAMPLE_DEFERRED_SP_IS_BOUND : 0) |
			  (at->guessed ? SAMPLE_DEFERRED_GUESSED : 0);
}

/* How much of @task's stack may be of use: a process's first thread has nothing above where its
 * arguments are. A multiple of 8. */
static __always_inline __u64 defer_stack_most(struct task_struct *task, __u64 sp)
{
	__u64 top = BPF_CORE_READ(task, mm, start_stack);

	return top > sp && top - sp < defer_stack_bytes ? (top - sp + 8) & ~7ull
							: defer_stack_bytes;
}

/* Reads the stack from @sp on to @to, in pieces that end with their page: the next one may be
 * missing. Returns how many bytes. */
static __noinline __u64 defer_stack(void *to, __u64 sp)
{
	__u64 most = defer_stack_most((void *)bpf_get_current_task(), sp), bytes = 0;

#pragma clang loop unroll(disable)
	for (int i = 0; i <= SAMPLE_MAX_STACK_BYTES / SAMPLE_STACK_PIECE_BYTES; i++) {
		__u64 piece =
			SAMPLE_STACK_PIECE_BYTES - ((sp + bytes) & (SAMPLE_STACK_PIECE_BYTES - 1));

		if (bytes >= most)
			break;
		if (piece > most - bytes)
			piece = most - bytes;
		// The compiler knows the bounds; this tells them to the verifier.
		asm volatile("" : "+r"(piece), "+r"(bytes));
		if (bytes >= SAMPLE_MAX_STACK_BYTES || piece > SAMPLE_STACK_PIECE_BYTES ||
		    bpf_probe_read_user(to + bytes, piece, (void *)(sp + bytes)))
			break;
		bytes += piece;
	}
	return bytes;
}

/* Returns flags that tell of the code at @at, which the receiver cannot read later. */
static __always_inline __u32 defer_leaf(struct unwind_walk *walk, const struct unwind_cursor *at)
{
	__u32 frame = (__u32)unwind_made_frame(walk, at) << SAMPLE_DEFERRED_FRAME_SHIFT;
	__u64 ra = 0;

	return frame | (unwind_is_called(walk, at, &ra) ? SAMPLE_DEFERRED_CALLED : 0);
}

/* Writes to @deferred what is needed to go on from @at, after @user_words frames. Returns how many
 * bytes; 0: it cannot be had. */
static __always_inline __u64 defer_walk(struct unwind_walk *walk, const struct unwind_cursor *at,
					__u32 user_words, struct sample_deferred *deferred,
					struct defer_budget *budget)
{
	__u64 bytes;

	defer_cursor(at, deferred);
	// Where nothing was walked the window is not of this stack.
	walk->window_bytes = 0;
	if (at->exact)
		deferred->flags |= defer_leaf(walk, at);
	// A walk that is compared begins anew.
	if ((walk->marked || walk->doubted) && at == &walk->at)
		deferred->flags |= SAMPLE_DEFERRED_MARKED;
	deferred->user_words = user_words;
	deferred->stack = (at->sp & ~7ull) - (at->first ? SAMPLE_RED_ZONE_BYTES : 0);
	bytes = defer_stack(deferred + 1, deferred->stack);
	// Below it there need not be any memory.
	if (!bytes && at->first) {
		deferred->stack = at->sp & ~7ull;
		bytes = defer_stack(deferred + 1, deferred->stack);
	}
	if (!bytes || !defer_registers(walk, deferred))
		return 0;
	budget->spent += bytes;
	return sizeof(*deferred) + bytes;
}
