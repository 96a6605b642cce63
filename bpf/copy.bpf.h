/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stack that is short is not walked but copied, with the registers, and the receiver walks it ten
 * times a second: what it needs for that is near then, while here all of it is far away.
 */
#pragma once

#include "defer.bpf.h"

/* Set before load: of a stack, at most; 0: none is copied. */
const volatile __u32 copy_stack_bytes = SAMPLE_MAX_COPY_BYTES;

/* The current goroutine, since Go 1.17 (cmd/compile/abi-internal.md); its DWARF number. */
enum { COPY_GOROUTINE_REGISTER = 14 };

/* What a goroutine's g begins with (runtime/runtime2.go). */
struct copy_goroutine {
	__u64 stack_low, stack_high;
	__u64 stack_guard;
	__u64 system_stack_guard; /* all ones but for those that the runtime itself works on */
};

/*
 * Where the stack of the current goroutine ends, by the registers in @deferred; 0 when that is not
 * the stack that the thread is on, or one of the runtime's (g0's, a signal's), from which a walk
 * goes on on another one.
 */
static __always_inline __u64 copy_goroutine_top(const struct unwind_walk *walk,
						const struct sample_deferred *deferred)
{
	struct copy_goroutine at;

	if (bpf_probe_read_user(&at, sizeof(at),
				(void *)deferred->registers[COPY_GOROUTINE_REGISTER]) ||
	    walk->at.sp < at.stack_low || walk->at.sp >= at.stack_high || at.stack_high & 7 ||
	    ~at.system_stack_guard)
		return 0;
	return at.stack_high;
}

/* How long the stack is from @start, a multiple of 8, up to @top: a multiple of 8; 0: too long. */
static __always_inline __u64 copy_length(__u64 start, __u64 top)
{
	__u64 bytes = (top - start + 7) & ~7ull;

	return bytes <= copy_stack_bytes ? bytes : 0;
}

/* Writes to @deferred what is needed to walk all of the stack. Returns how many bytes; 0: it cannot
 * be had. */
static __always_inline __u64 copy_stack(struct unwind_walk *walk, bool is_first_thread,
					struct sample_deferred *deferred)
{
	__u64 start = (walk->at.sp & ~7ull) - SAMPLE_RED_ZONE_BYTES, bytes;
	bool is_go = walk->copies & UNWIND_MAY_COPY_GO;

	if (is_go && !defer_registers(walk, deferred))
		return 0;
	bytes = copy_length(start, is_go ? copy_goroutine_top(walk, deferred)
					 : kernel_stack_top(is_first_thread));
	// The compiler knows the bounds; this tells them to the verifier.
	asm volatile("" : "+r"(bytes));
	if (!bytes || bytes > SAMPLE_MAX_COPY_BYTES ||
	    bpf_probe_read_user(deferred + 1, bytes, (void *)start) ||
	    (!is_go && !defer_registers(walk, deferred)))
		return 0;
	defer_cursor(&walk->at, deferred);
	deferred->flags |= SAMPLE_DEFERRED_WHOLE;
	deferred->stack = start;
	deferred->user_count = 0;
	return sizeof(*deferred) + bytes;
}
