/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the user stack of the current thread by the tables of unwind_tables.h. One frame is one
 * call of unwind_step(), a global function: the verifier checks it once, not per frame.
 *
 * What it costs is cold cache lines, at any usual rate: per frame one of a directory and one
 * of a page, or one of the recent rules for several; and what the search among the process's ranges
 * touches (unwind_lookup.bpf.h); the stack is read through a window.
 */
#pragma once

#include "unwind_lookup.bpf.h"
#include "unwind_memory.bpf.h"
#include "unwind_registers.bpf.h"

#include "unwind_apply.h"

#include "runtimes/runtimes.bpf.h"

/* The rule of the place that @tag is of, if it was found lately; else 0. It may be at *@next, which
 * then leads to where its caller's may be. */
static __always_inline __u32 unwind_recall(struct unwind_slab *recent, __u64 tag, __u32 *next)
{
	__u64 offset = *next;
	__u64 *after = unwind_recent_at(recent, offset), *slot = after;

	if (!after || (*after ^ tag) >> 16) {
		offset = unwind_recent_offset(tag);
		slot = unwind_recent_at(recent, offset);
		if (!slot || (*slot ^ tag) >> 16)
			return 0;
		// Next time it is where its callee is.
		if (after)
			*after = *slot;
	}
	*next = unwind_recent_next(offset);
	return *slot & 0xffff;
}

/* That place has the packed @rule: it begins a line, and goes on the one that its callee is in. */
static __always_inline void unwind_remember(struct unwind_walk *walk, struct unwind_slab *recent,
					    __u64 tag, __u32 rule)
{
	__u64 offset = unwind_recent_offset(tag);
	__u64 *after = unwind_recent_at(recent, walk->recent);
	__u64 *first = unwind_recent_at(recent, offset);

	if (after)
		*after = tag | rule;
	if (first)
		*first = tag | rule;
	walk->recent = unwind_recent_next(offset);
}

/* By the tables. @frame as in unwind_frame. @seen: where to remember; NULL: nowhere. */
static __always_inline int unwind_by_table(struct bpf_perf_event_data *ctx,
					   struct unwind_walk *walk, __u32 cpu, __u64 pc,
					   __u64 *frame, struct unwind_seen *seen)
{
	struct unwind_slab *recent = NULL;
	__u64 tag = 0, *first;
	__u32 rule = 0;

	// The first frame's place seldom comes again.
	if (walk->asks_recent && !walk->at.exact && !walk->at.first) {
		tag = unwind_recent_tag(*frame);
		recent = tag ? unwind_recent_of(cpu) : NULL;
	}
	if (recent) {
		rule = unwind_recall(recent, tag, &walk->recent);
		unwind_recent_asked(&walk->recent_use, rule >= UNWIND_PACKED_FP);
	}
	if (rule < UNWIND_PACKED_FP) {
		rule = unwind_look_up(walk, pc);
		if (rule & UNWIND_NO_ROW)
			return rule & ~UNWIND_NO_ROW;
		if (rule >= UNWIND_PACKED_FP && recent)
			unwind_remember(walk, recent, tag, rule);
	}
	if (rule >= UNWIND_PACKED_FP) {
		if (seen) {
			seen->walk = walk->number;
			seen->pc = walk->at.pc;
			seen->frame = *frame;
			seen->rule = rule;
			// There unwind_run() looks, who has no callee's line.
			first = recent ? unwind_recent_at(recent, unwind_recent_offset(tag)) : NULL;
			if (first)
				*first = tag | rule;
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

	if (!recent || walk->kind != UNWIND_RANGE_TABLE || walk->at.exact || walk->at.sp_is_bound)
		return;
#pragma clang loop unroll(disable)
	for (; count < UNWIND_RUN && count < room; count++) {
		__u64 frame = walk->code_frame + pc, tag, *slot, known, ra, saved = fp, cfa;
		__u32 rule;

		if (pc - walk->code_start >= walk->code_bytes)
			break;
		tag = unwind_recent_tag(frame);
		slot = tag ? unwind_recent_at(recent, unwind_recent_offset(tag)) : NULL;
		known = slot ? *slot : ~tag;
		if ((known ^ tag) >> 16)
			break;
		rule = known & 0xffff;
		cfa = unwind_packed_cfa(rule, sp, fp);
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
		walk->recent = UNWIND_RECENT_END;
	}
}

/*
 * Writes the frame of the walk's pc to *@frame, which is 0 and stays so if there is none, and goes
 * on at its caller. Returns 0, or why not (enum unwind_end).
 */
static __always_inline int unwind_frame(struct bpf_perf_event_data *ctx, struct unwind_walk *walk,
					__u32 cpu, __u64 *frame)
{
	__u64 pc = unwind_code_address(&walk->at), place;
	struct unwind_seen *seen = NULL;
	bool interprets = false;
	int end;

	if (walk->count >= UNWIND_DEEP && !walk->at.exact) {
		seen = &walk->seen[pc >> 3 & (UNWIND_SEEN - 1)];
		if (seen->pc == walk->at.pc && seen->walk == walk->number) {
			*frame = seen->frame;
			return unwind_apply_packed(walk, (__u32)seen->rule);
		}
	}
	if (pc - walk->code_start >= walk->code_bytes && !unwind_enter_range(walk, pc)) {
		// A return address that lies in no code is a piece of data that led here.
		if ((walk->at.exact || walk->at.first) && pc < UNWIND_FRAME_RUNTIME)
			*frame = pc;
		walk->code_bytes = 0;
		return UNWIND_END_NO_MAPPING;
	}
	place = walk->code_frame + pc;
	if (walk->kind >= UNWIND_RANGE_RUNTIME) {
		if (walk->kind < UNWIND_RANGE_LOOP) {
			*frame = place;
			return runtimes_step(ctx, walk);
		}
		end = runtimes_interpret(ctx, walk, pc, frame);
		if (end == RUNTIME_STAYS)
			return 0;
		if (end != RUNTIME_NATIVE && end != RUNTIME_LEAVES)
			return end;
		interprets = end == RUNTIME_LEAVES;
		// What is remembered of it does not ask the runtime.
		seen = NULL;
	}
	if (walk->kind == UNWIND_RANGE_BARE) {
		*frame = place;
		return unwind_by_frame_pointer(walk);
	}
	end = unwind_by_table(ctx, walk, cpu, pc, &place, seen);
	// The runtime's frames stand for that of its interpreter. What is missing is told by it.
	if (!interprets || end == UNWIND_END_NO_PAGE)
		*frame = place;
	return end;
}
