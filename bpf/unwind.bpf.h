/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Walks the user stack of the current thread by the tables of unwind_tables.h. One frame is one
 * call of unwind_step(), a global function: the verifier checks it once, not per frame.
 *
 * What it costs is cold cache lines, at any usual rate: per frame one of a directory and one
 * of a page, or one of the recent rules for several; and what the search among the process's ranges
 * touches (unwind_lookup.bpf.h); the stack is read through a window.
 *
 * A walk belongs to a slot of its CPU (sampling.bpf.h), and goes by the thread's registers: it asks
 * nothing of the context of the program that it is part of, which so may be of any type.
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
static __always_inline int unwind_by_table(struct unwind_walk *walk, __u32 slot, __u64 pc,
					   __u64 *frame, struct unwind_seen *seen)
{
	struct unwind_slab *recent = NULL;
	__u64 tag = 0, *first;
	__u32 rule = 0;

	// The first frame's place seldom comes again.
	if (walk->asks_recent && !walk->at.exact && !walk->at.first) {
		tag = unwind_recent_tag(*frame);
		recent = tag ? unwind_recent_of(slot) : NULL;
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
	return unwind_apply(NULL, walk, rule, frame);
}

enum { UNWIND_RUN = 32 }; /* frames at once, at most */

/*
 * The most of deep walks: return addresses in the range that the last one lay in, with a rule that
 * was found lately, their words in the window. Writes their frames to @frames, at most @room. Where
 * anything else is to be done it stops, and leaves that frame to unwind_frame().
 */
static __always_inline void unwind_run(struct unwind_walk *walk, __u32 slot, __u64 *frames,
				       __u32 room)
{
	__u64 pc = walk->at.pc - 1, sp = walk->at.sp, fp = walk->at.fp;
	struct unwind_slab *recent = unwind_recent_of(slot);
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

/* The frames that a runtime has given since it has set its mark were none. */
static __always_inline void unwind_undo(struct unwind_walk *walk)
{
	if (walk->undo_count <= walk->count) {
		walk->count = walk->undo_count;
		walk->seconds = walk->undo_seconds;
	}
}

static __always_inline void unwind_mark(struct unwind_walk *walk)
{
	walk->undo_count = walk->count;
	walk->undo_seconds = walk->seconds;
}

/* Nothing has been asked of runtimes in this walk. */
static __always_inline void unwind_forget_chains(struct unwind_walk *walk)
{
	walk->interprets = walk->chained = 0;
	for (int i = 0; i < 4; i++)
		walk->chains[i] = 0;
}

/*
 * Is @pc, in a range of the loops of @runtime, in one, and is it asked there? Of several in one
 * stack the first one is: the others would go by its chains, and show as native code.
 */
static __always_inline bool unwind_interprets(struct unwind_walk *walk, __u32 runtime, __u64 pc)
{
	if (!runtimes_known)
		return false;
	walk->loop_piece = runtimes_loop(walk, pc);
	return walk->loop_piece < RUNTIME_LOOPS && (!walk->chained || walk->chained == runtime);
}

/* A frame of two words was written: an object that is new is to be named before it ends. */
static __always_inline void unwind_meet_object(struct unwind_walk *walk, __u64 frame, __u64 second)
{
	__u32 word = (__u32)(second >> 32) ^ (__u32)(frame >> 4);
	__u32 *met = &walk->objects[(word ^ word >> 16) & (UNWIND_OBJECTS - 1)];

	if (*met == word)
		return;
	*met = word;
	walk->meets_new = true;
}

/* Leaves the frame of a loop at @pc: from now on the runtime is asked what it has run. */
static __always_inline void unwind_leave_loop(struct unwind_walk *walk, __u32 runtime, __u64 pc)
{
	walk->interprets = runtime;
	walk->chained = (__u8)runtime;
	walk->loop = pc;
	walk->beyond = walk->at.sp;
}

/*
 * Writes the frame of the walk's pc to *@frame, which is 0 and stays so if there is none, and goes
 * on at its caller. Returns 0, or why not (enum unwind_end).
 */
static __always_inline int unwind_frame(struct unwind_walk *walk, __u32 slot, __u64 *frame)
{
	__u64 pc = unwind_code_address(&walk->at), place;
	struct unwind_seen *seen = NULL;
	__u32 loop_of = 0;
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
			walk->given = 0;
			end = runtimes_step(NULL, walk);
			*frame = walk->given ? walk->given : place;
			return end;
		}
		walk->told = (__u32)walk->area[0];
		if (unwind_interprets(walk, walk->kind - UNWIND_RANGE_LOOP, pc)) {
			loop_of = walk->kind - UNWIND_RANGE_LOOP;
			// What is remembered of it does not ask the runtime.
			seen = NULL;
			walk->loop_is_leaf = walk->at.first;
			walk->below = walk->at.sp;
		}
	}
	if (walk->kind == UNWIND_RANGE_BARE) {
		*frame = place;
		return unwind_without_table(walk, place);
	}
	end = unwind_by_table(walk, slot, pc, &place, seen);
	// The runtime's frames stand for that of its interpreter. Where it cannot be left it tells
	// why.
	if (!loop_of || end)
		*frame = place;
	else
		unwind_leave_loop(walk, loop_of, pc);
	return end;
}

/* The next frame, native or a runtime's, as unwind_frame(). */
static __always_inline int unwind_next(struct unwind_walk *walk, __u32 slot, __u64 *frame)
{
	if (runtimes_known && walk->interprets) {
		int end = runtimes_interpret(walk, frame);

		if (end == RUNTIME_STAYS)
			return 0;
		walk->interprets = 0;
		// What the runtime has not told the native frame does; the range is still its own.
		if (end != RUNTIME_LEAVES) {
			*frame = walk->code_frame + walk->loop;
			return end == RUNTIME_NATIVE ? 0 : end;
		}
	}
	return unwind_frame(walk, slot, frame);
}
