/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where stacks of goroutines end. Go changes stacks all the time; a register leads to the current
 * goroutine, since Go 1.17 (cmd/compile/abi-internal.md).
 */
#pragma once

#include "sample.h"
#include "unwind_state.bpf.h"

enum { GO_GOROUTINE_REGISTER = 14 }; /* its DWARF number */

/* The first fields of a goroutine's g (runtime/runtime2.go). */
struct go_goroutine {
	__u64 stack_low, stack_high;
	__u64 stack_guard;
	__u64 system_stack_guard; /* all ones but for those that the runtime itself works on */
};

/*
 * Where the stack of the current goroutine ends, by the registers in @deferred; 0 when that is not
 * the stack that the thread is on, or one of the runtime's (g0's, a signal's), from which a walk
 * goes on on another one.
 */
static __always_inline __u64 go_stack_top(const struct unwind_walk *walk,
					  const struct sample_deferred *deferred)
{
	struct go_goroutine at;

	if (bpf_probe_read_user(&at, sizeof(at),
				(void *)deferred->registers[GO_GOROUTINE_REGISTER]) ||
	    walk->at.sp < at.stack_low || walk->at.sp >= at.stack_high || at.stack_high & 7 ||
	    ~at.system_stack_guard)
		return 0;
	return at.stack_high;
}
