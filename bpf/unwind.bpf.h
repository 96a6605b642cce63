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
#include "unwind_registers.bpf.h"

/* ---- user memory ---- */

/* The window begins at @address if that can be read. */
static __always_inline void unwind_move_window(struct unwind_walk *walk, __u64 address)
{
	walk->window_start = address;
	if (walk->count >= UNWIND_DEEP) {
		walk->window_bytes = sizeof(walk->window);
		if (!bpf_probe_read_user(walk->window, sizeof(walk->window), (void *)address))
			return;
	}
	walk->window_bytes = 8 * UNWIND_WINDOW_FIRST;
	if (bpf_probe_read_user(walk->window, 8 * UNWIND_WINDOW_FIRST, (void *)address))
		walk->window_bytes = 0;
}

static __always_inline bool unwind_read(struct unwind_walk *walk, __u64 address, __u64 *ret)
{
	__u64 distance = address - walk->window_start;

	if (distance < walk->window_bytes && !(distance & 7)) {
		distance >>= 3;
		// The compiler knows the bound; this tells it to the verifier.
		asm volatile("%0 &= 255" : "+r"(distance));
		*ret = walk->window[distance];
		return true;
	}
	return !bpf_probe_read_user(ret, sizeof(*ret), (void *)address);
}

/* ---- from a frame to its caller ---- */

/*
 * Goes on at the caller. Stacks grow downwards: the canonical frame address of a called function
 * lies above its stack pointer, unless the caller was on @other_stack. At it, in arm64's functions
 * that have called nobody: only a signal comes between these and the leaf.
 */
static __always_inline int unwind_return(struct unwind_walk *walk, __u64 cfa, __u64 ra, __u64 fp,
					 bool other_stack)
{
	ra &= unwind_address_mask;
	if (!ra)
		return UNWIND_END_ENTRY;
	if (ra < UNWIND_LOWEST)
		return UNWIND_END_NO_MAPPING;
	if (cfa < walk->sp + !walk->exact && !walk->first && !other_stack)
		return UNWIND_END_BAD_CFA;
	walk->sp = cfa;
	walk->pc = ra;
	walk->fp = fp;
	walk->link = 0;
	walk->exact = false;
	walk->first = false;
	walk->sp_is_bound = false;
	return 0;
}

static __always_inline int unwind_apply_packed(struct unwind_walk *walk, __u32 rule)
{
	bool by_sp = rule & UNWIND_PACKED_SP;
	__u32 depth = by_sp ? rule >> 5 & (UNWIND_PACKED_SP_DEPTHS - 1)
			    : rule >> 5 & (UNWIND_PACKED_FP_DEPTHS - 1);
	__u64 cfa = (by_sp ? walk->sp : walk->fp) + 8ull * depth;
	__u32 slot = rule & (UNWIND_PACKED_SLOTS - 1);
	__u64 fp = walk->fp, ra;

	// Beyond the window: the next frames are there, too.
	if (cfa - walk->window_start > walk->window_bytes)
		unwind_move_window(walk, (cfa - 8 * (slot + 1)) & ~7ull);
	if (!unwind_read(walk, cfa - 8, &ra) ||
	    (slot && !unwind_read(walk, cfa - 8 * (slot + 1), &fp)))
		return UNWIND_END_UNREADABLE;
	return unwind_return(walk, cfa, ra, fp, false);
}

/* Code that no table describes: by the frame pointer, if it looks like one. */
static __always_inline int unwind_by_frame_pointer(struct unwind_walk *walk)
{
	__u64 frame = walk->fp, fp, ra;
	int end;

	if (frame & 7 || frame < walk->sp)
		return UNWIND_END_BAD_POINTER;
	if (frame + 16 - walk->window_start > walk->window_bytes)
		unwind_move_window(walk, frame);
	if (!unwind_read(walk, frame, &fp) || !unwind_read(walk, frame + 8, &ra))
		return UNWIND_END_UNREADABLE;
	// Memory that was never written looks like the end of a chain.
	if (!ra && fp)
		return UNWIND_END_BAD_POINTER;
	end = unwind_return(walk, frame + 16, ra, fp, false);
#if defined(__TARGET_ARCH_arm64)
	// The two words may lie anywhere in the frame (AAPCS64, 6.4.6).
	walk->sp_is_bound = true;
#endif
	return end;
}

/* False: unknown, since @number is another one, and this is not the first frame. */
static __always_inline bool unwind_base(struct bpf_perf_event_data *ctx, struct unwind_walk *walk,
					__u32 number, __u64 *ret)
{
	if (number == UNWIND_SP)
		*ret = walk->sp;
	else if (number == UNWIND_FP)
		*ret = walk->fp;
	else if (walk->first)
		*ret = unwind_register(ctx, walk, number);
	else
		return false;
	return true;
}

/*
 * The canonical frame address, when of the stack pointer only a bound is known: that of a frame
 * whose frame pointer points, as it has to, at the place where it saved its caller's.
 */
static __always_inline bool unwind_by_saved_pointer(const struct unwind_walk *walk,
						    const struct unwind_rule *rule, __u64 *ret)
{
	*ret = walk->fp - (__s64)rule->fp_offset;
	return rule->cfa == UNWIND_CFA_REGISTER && rule->fp == UNWIND_AT_CFA &&
	       walk->fp >= walk->sp && *ret > walk->sp;
}

static __always_inline bool unwind_saved(struct unwind_walk *walk, __u32 how, __s32 offset,
					 __u64 cfa, __u64 same, __u64 *ret)
{
	__u64 base = how == UNWIND_AT_SP ? walk->sp : how == UNWIND_AT_FP ? walk->fp : cfa;

	*ret = same;
	if (how == UNWIND_SAME)
		return true;
	// In another register: that is not carried from frame to frame.
	if (how == UNWIND_LOST || how == UNWIND_IN_REGISTER) {
		*ret = 0;
		return true;
	}
	return unwind_read(walk, base + (__s64)offset, ret);
}

static __always_inline int unwind_apply_wide(struct bpf_perf_event_data *ctx,
					     struct unwind_walk *walk, __u32 number, __u64 *frame)
{
	struct unwind_rule *rule = bpf_map_lookup_elem(&unwind_rules, &number);
	__u64 cfa, ra, fp, link = 0;
	int end;

	if (!rule)
		return UNWIND_END_BROKEN_TABLE;
	if (rule->new_thread && walk->first && !unwind_register(ctx, walk, UNWIND_RESULT))
		return UNWIND_END_ENTRY;
	// Nobody called a signal's trampoline: the byte before it is another function's.
	if (rule->signal && !walk->exact && !walk->first)
		(*frame)++;
	if (rule->cfa < UNWIND_CFA_REGISTER || rule->cfa > UNWIND_CFA_PLT ||
	    !unwind_base(ctx, walk, rule->cfa_register, &cfa))
		return UNWIND_END_UNSUPPORTED;
	cfa += (__s64)rule->cfa_offset;
	if (walk->sp_is_bound && rule->cfa_register == UNWIND_SP &&
	    !unwind_by_saved_pointer(walk, rule, &cfa))
		return UNWIND_END_BAD_POINTER;
	if (rule->cfa == UNWIND_CFA_DEREFERENCED) {
		if (!unwind_read(walk, cfa, &cfa))
			return UNWIND_END_UNREADABLE;
		cfa += (__s64)rule->cfa_addend;
	} else if (rule->cfa == UNWIND_CFA_PLT && (walk->pc & 15) >= (__u32)rule->cfa_addend) {
		cfa += 8;
	}
	if (rule->ra == UNWIND_SAME && !walk->link)
		return UNWIND_END_UNSUPPORTED;
	if (rule->ra == UNWIND_IN_REGISTER) {
		if (!walk->first)
			return UNWIND_END_UNSUPPORTED;
		ra = unwind_register(ctx, walk, rule->ra_offset);
	} else if (!unwind_saved(walk, rule->ra, rule->ra_offset, cfa, walk->link, &ra)) {
		return UNWIND_END_UNREADABLE;
	}
	if (!unwind_saved(walk, rule->fp, rule->fp_offset, cfa, walk->fp, &fp))
		return UNWIND_END_UNREADABLE;
#if defined(__TARGET_ARCH_arm64)
	// In struct sigcontext x30 lies two registers before the pc.
	if (rule->signal && !unwind_read(walk, walk->sp + (__s64)rule->ra_offset - 16, &link))
		return UNWIND_END_UNREADABLE;
#endif
	end = unwind_return(walk, cfa, ra, fp, rule->signal || rule->stack_switch);
	// What a signal interrupted did not call.
	walk->exact = rule->signal;
	walk->link = link;
	return end;
}

/* ---- the walk ---- */

/* By the tables. @frame as in unwind_frame. @seen: where to remember; NULL: nowhere. */
static __always_inline int unwind_by_table(struct bpf_perf_event_data *ctx,
					   struct unwind_walk *walk, __u32 cpu, __u64 pc,
					   __u64 *frame, struct unwind_seen *seen)
{
	__u64 key = 0;
	__u64 *recent = unwind_recent_slot(cpu, *frame, &key);
	__u32 rule = 0;

	if (recent && (*recent ^ key) >> 16 == 0)
		rule = *recent & 0xffff;
	if (rule < UNWIND_PACKED_FP) {
		rule = unwind_look_up(walk, pc);
		if (rule & UNWIND_NO_ROW)
			return rule & ~UNWIND_NO_ROW;
		if (rule >= UNWIND_PACKED_FP && recent)
			*recent = key | rule;
	}
	if (rule >= UNWIND_PACKED_FP) {
		if (seen) {
			seen->walk = walk->number;
			seen->pc = walk->pc;
			seen->frame = *frame;
			seen->rule = rule;
		}
		return unwind_apply_packed(walk, rule);
	}
	if (rule == UNWIND_RULE_END)
		return UNWIND_END_ENTRY;
	if (rule == UNWIND_RULE_UNKNOWN)
		return unwind_by_frame_pointer(walk);
	return unwind_apply_wide(ctx, walk, rule, frame);
}

/*
 * Writes the frame of the walk's pc to *@frame, which is 0 and stays so if there is none, and goes
 * on at its caller. Returns 0, or why not (enum unwind_end).
 */
static __always_inline int unwind_frame(struct bpf_perf_event_data *ctx, struct unwind_walk *walk,
					__u32 cpu, __u64 *frame)
{
	// A return address may be the first byte of another function: the call lies before it.
	__u64 pc = walk->pc - (walk->exact ? 0 : 1);
	struct unwind_seen *seen = NULL;

	if (walk->count >= UNWIND_DEEP && !walk->exact) {
		seen = &walk->seen[pc >> 3 & (UNWIND_SEEN - 1)];
		if (seen->pc == walk->pc && seen->walk == walk->number) {
			*frame = seen->frame;
			return unwind_apply_packed(walk, (__u32)seen->rule);
		}
	}
	if (pc - walk->code_start >= walk->code_bytes && !unwind_enter_range(walk, pc)) {
		// A return address that lies in no code is a piece of data that led here.
		if ((walk->exact || walk->first) && pc < UNWIND_ADDRESS_LIMIT)
			*frame = pc;
		walk->code_bytes = 0;
		return UNWIND_END_NO_MAPPING;
	}
	*frame = walk->code_frame + pc;
	if (walk->bare)
		return unwind_by_frame_pointer(walk);
	return unwind_by_table(ctx, walk, cpu, pc, frame, seen);
}
