/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the user stack of the current thread by the tables of unwind_tables.h. One frame is one
 * call of unwind_step(), a global function: the verifier checks it once, not per frame.
 *
 * What it costs is cold cache lines, at any usual rate: per frame one of the recent rules or else
 * of the directory and two of a page, and what the search among the process's ranges touches
 * (unwind_lookup.bpf.h); the stack is read through a window.
 */
#pragma once

#include "unwind_lookup.bpf.h"
#include "unwind_memory.bpf.h"
#include "unwind_registers.bpf.h"

#include "unwind_apply.h"

/* By the tables. @frame as in unwind_frame. @seen: where to remember; NULL: nowhere. */
static __always_inline int unwind_by_table(struct bpf_perf_event_data *ctx,
					   struct unwind_walk *walk, __u32 cpu, __u64 pc,
					   __u64 *frame, struct unwind_seen *seen)
{
	struct unwind_slab *slab = unwind_recent_of(cpu);
	__u64 tag = 0, *recent = slab ? unwind_recent_slot(slab, *frame, &tag) : NULL;
	__u32 rule = 0;

	if (recent && (*recent ^ tag) >> 16 == 0)
		rule = *recent & 0xffff;
	if (rule < UNWIND_PACKED_FP) {
		rule = unwind_look_up(walk, pc);
		if (rule & UNWIND_NO_ROW)
			return rule & ~UNWIND_NO_ROW;
		if (rule >= UNWIND_PACKED_FP && recent)
			*recent = tag | rule;
	}
	if (rule >= UNWIND_PACKED_FP) {
		if (seen) {
			seen->walk = walk->number;
			seen->pc = walk->at.pc;
			seen->frame = *frame;
			seen->rule = rule;
		}
	}
	return unwind_apply(ctx, walk, rule, frame);
}

enum { UNWIND_RUN = 32 }; /* frames at once, at most */

/*
 * The most of deep walks: return addresses in the range that the last one lay in, with a rule that
 * was found lately, their words in the window. Writes their frames to @frames, at most @room. Where
 * anything else is to be done it stops, and leaves that frame to unwind_frame().
 */
static __always_inline void unwind_run(struct unwind_walk *walk, __u32 cpu, __u64 *frames,
				       __u32 room)
{
	__u64 pc = walk->at.pc - 1, sp = walk->at.sp, fp = walk->at.fp;
	struct unwind_slab *recent = unwind_recent_of(cpu);
	__u32 count = 0;

	if (!recent || walk->bare || walk->at.exact || walk->at.sp_is_bound)
		return;
#pragma clang loop unroll(disable)
	for (; count < UNWIND_RUN && count < room; count++) {
		__u64 frame = walk->code_frame + pc, tag, *slot, known, ra, saved = fp, cfa;
		__u32 rule;

		if (pc - walk->code_start >= walk->code_bytes)
			break;
		slot = unwind_recent_slot(recent, frame, &tag);
		known = slot ? *slot : ~tag;
		if ((known ^ tag) >> 16)
			break;
		rule = known & 0xffff;
		cfa = unwind_packed_cfa(rule, sp, fp);
		// A free place looks like that of a frame whose tag is 0.
		if (rule < UNWIND_PACKED_FP || cfa <= sp ||
		    !unwind_window_word(walk, cfa - 8, &ra) ||
		    (rule & (UNWIND_PACKED_SLOTS - 1) &&
		     !unwind_window_word(walk, cfa - 8 * (1 + (rule & (UNWIND_PACKED_SLOTS - 1))),
					 &saved)))
			break;
		ra &= unwind_address_mask;
		if (ra < UNWIND_LOWEST)
			break;
		frames[count] = frame;
		pc = ra - 1;
		sp = cfa;
		fp = saved;
	}
	if (count) {
		walk->at = (struct unwind_cursor){ .pc = pc + 1, .sp = sp, .fp = fp };
		walk->count += count;
	}
}

/*
 * Writes the frame of the walk's pc to *@frame, which is 0 and stays so if there is none, and goes
 * on at its caller. Returns 0, or why not (enum unwind_end).
 */
static __always_inline int unwind_frame(struct bpf_perf_event_data *ctx, struct unwind_walk *walk,
					__u32 cpu, __u64 *frame)
{
	__u64 pc = unwind_code_address(&walk->at);
	struct unwind_seen *seen = NULL;

	if (walk->count >= UNWIND_DEEP && !walk->at.exact) {
		seen = &walk->seen[pc >> 3 & (UNWIND_SEEN - 1)];
		if (seen->pc == walk->at.pc && seen->walk == walk->number) {
			*frame = seen->frame;
			return unwind_apply_packed(walk, (__u32)seen->rule);
		}
	}
	if (pc - walk->code_start >= walk->code_bytes && !unwind_enter_range(walk, pc)) {
		// A return address that lies in no code is a piece of data that led here.
		if ((walk->at.exact || walk->at.first) && pc < UNWIND_ADDRESS_LIMIT)
			*frame = pc;
		walk->code_bytes = 0;
		return UNWIND_END_NO_MAPPING;
	}
	*frame = walk->code_frame + pc;
	if (walk->bare)
		return unwind_by_frame_pointer(walk);
	return unwind_by_table(ctx, walk, cpu, pc, frame, seen);
}
