/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stack that is short is not walked but copied, with the registers, and the receiver walks it ten
 * times a second: what it needs for that is near then, while here all of it is far away.
 */
#pragma once

#include "defer.bpf.h"
#include "runtimes/runtimes.bpf.h"

/* Set before load: of a stack, at most; 0: none is copied. */
const volatile __u32 copy_stack_bytes = SAMPLE_MAX_COPY_BYTES;

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
	bool of_runtime = walk->copies & UNWIND_MAY_COPY_OF_RUNTIME;

	if (of_runtime && !defer_registers(walk, deferred))
		return 0;
	bytes = copy_length(start, of_runtime ? runtimes_stack_top(walk, deferred)
					      : kernel_stack_top(is_first_thread));
	// The compiler knows the bounds; this tells them to the verifier.
	asm volatile("" : "+r"(bytes));
	if (!bytes || bytes > SAMPLE_MAX_COPY_BYTES ||
	    bpf_probe_read_user(deferred + 1, bytes, (void *)start) ||
	    (!of_runtime && !defer_registers(walk, deferred)))
		return 0;
	defer_cursor(&walk->at, deferred);
	deferred->flags |= SAMPLE_DEFERRED_WHOLE;
	deferred->stack = start;
	deferred->user_words = 0;
	return sizeof(*deferred) + bytes;
}
