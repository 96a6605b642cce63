/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file leads a walk out of blocks that keep all registers, among them those that a method
 * waits in for a safepoint. Their frames have a fixed size, but are made and taken down in many
 * steps.
 */
#pragma once

#include "hotspot.methods.bpf.h"
#include "hotspot_kept.bpf.h"
#include "hotspot_leaf.bpf.h"

enum {
	HOTSPOT_RSP = 7, /* DWARF numbers */
	HOTSPOT_R15 = 15,
	/* Offsets in what the system's handler of signals leaves on the stack, from where it
	 * returns on (struct ucontext, struct sigcontext: asm/ucontext.h, asm/sigcontext.h): */
	HOTSPOT_SIGNAL_R15 = 96,
	HOTSPOT_SIGNAL_RSP = 160,
	HOTSPOT_SIGNAL_RIP = 168,
	/* Such a block begins with push %rbx; push %rbp; mov %rsp, %rbp if a signal has led there.
	 */
	HOTSPOT_SIGNALLED = 0x8b485553,
};

/* Where execution is about to go on after a signal, %r15 is what that has left on the stack. False:
 * it is another place. */
static __always_inline bool hotspot_signal_r15(void *ctx, struct unwind_walk *walk, __u64 *ret)
{
	__u64 context = unwind_register(ctx, walk, HOTSPOT_RSP), sp, pc;

	return hotspot_read_word(context + HOTSPOT_SIGNAL_RSP, &sp) && sp == walk->at.sp &&
	       hotspot_read_word(context + HOTSPOT_SIGNAL_RIP, &pc) && pc == walk->at.pc &&
	       hotspot_read_word(context + HOTSPOT_SIGNAL_R15, ret);
}

/* The pc of the method that a signal has led from to such a block. The method's thread has it, to
 * which %r15 leads. False: it is not known. */
static __noinline bool hotspot_interrupted_pc(struct bpf_perf_event_data *ctx,
					      struct unwind_walk *walk, __u64 *ret)
{
	const struct hotspot_data *data = runtimes_data(walk, sizeof(*data));
	__u64 thread;

	if (!data || !data->saved_pc)
		return false;
	if (walk->at.first)
		thread = unwind_register(ctx, walk, HOTSPOT_R15);
	else if (!hotspot_signal_r15(ctx, walk, &thread))
		return false;
	return hotspot_read_word(thread + data->saved_pc, ret) && hotspot_is_near(walk, *ret);
}

/*
 * Of a leaf in a block to which the JVM's handler of signals has led a method, where that asked
 * whether a safepoint is due (generate_handler_blob, sharedRuntime_x86_64.cpp). Nothing has called
 * it: it makes room for a return address, which it has later on, by a push of %rbx.
 * UNWIND_END_COUNT: it is another one.
 */
static __always_inline int hotspot_leave_signalled(struct bpf_perf_event_data *ctx,
						   struct unwind_walk *walk, __u64 frame_limit)
{
	__u64 bytes = hotspot_code_offset(walk), cfa = walk->at.sp, fp = walk->at.fp, pc;
	__u32 begin = 0;

	bpf_probe_read_user(&begin, sizeof(begin), (void *)(walk->at.pc - bytes));
	if (begin != (__u32)HOTSPOT_SIGNALLED)
		return UNWIND_END_COUNT;
	if (bytes > 2) {
		if (fp & 7 || fp < cfa || fp + 16 > frame_limit)
			return UNWIND_END_BAD_POINTER;
		cfa = fp;
	}
	if (bytes >= 2 && !unwind_read(walk, cfa, &fp))
		return UNWIND_END_UNREADABLE;
	if (!hotspot_interrupted_pc(ctx, walk, &pc))
		return UNWIND_END_REGISTERS;
	return hotspot_return(walk, cfa + (bytes > 1 ? 16 : 8 * bytes), pc, fp);
}

/* Of a leaf in a block that is no method, while its frame, which ends at @limit, is not whole:
 * there is a frame pointer then. UNWIND_END_COUNT: it is whole, or has none. */
static __always_inline int hotspot_leave_unfinished(struct unwind_walk *walk, __u64 limit)
{
	__u64 frame = walk->at.fp;
	__u32 name;

	if (frame & 7 || frame < walk->at.sp || frame + 16 >= limit)
		return UNWIND_END_COUNT;
	name = hotspot_name(walk);
	return name == HOTSPOT_NMETHOD || name == HOTSPOT_NATIVE
		       ? UNWIND_END_COUNT
		       : hotspot_below(walk, frame + 16, 1);
}

/* Of a leaf in a block of either kind, UNWIND_END_COUNT if it is in none. */
static __noinline int hotspot_leave_keeping(struct bpf_perf_event_data *ctx,
					    struct unwind_walk *walk)
{
	__u64 limit = walk->at.sp + 8ull * (__u32)hotspot_state_of(walk)->words;
	int end = hotspot_leave_signalled(ctx, walk, limit);

	return end != UNWIND_END_COUNT ? end : hotspot_leave_unfinished(walk, limit);
}
