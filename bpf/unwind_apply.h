/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * This file goes from a frame and its rule to the caller: the part of a walk that the kernel side
 * (unwind.bpf.h) and the receiver, where it finishes a walk (receiver/ebpf/deferred), have in
 * common. The file that includes it has defined before:
 *
 * - struct unwind_walk, with `struct unwind_cursor at`, `bool marked`: the caller of a leaf was
 *   guessed, and `bool doubted`: so was that of the last one, unless it turns out to be as its
 *   caller;
 * - unwind_read(walk, address, *ret): a word of the stack; false where it cannot be read;
 * - unwind_approach(walk, lowest, beyond): these addresses are read next, the first by 8 bytes;
 * - unwind_register(context, walk, number): a register of the first frame, by its DWARF number;
 * - unwind_rule_of(number): a rule of the table; NULL where there is none;
 * - unwind_code_before(walk, address, *ret): the 8 bytes of code that end there; false where these
 *   cannot be had;
 * - unwind_address_mask: the bits of an address.
 */
#pragma once

#include "unwind_cursor.h"

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
	if (cfa < walk->at.sp + !walk->at.exact && !walk->at.first && !other_stack)
		return UNWIND_END_BAD_CFA;
	walk->at.sp = cfa;
	walk->at.pc = ra;
	walk->at.fp = fp;
	walk->at.link = 0;
	walk->at.exact = false;
	walk->at.first = false;
	walk->at.sp_is_bound = false;
	walk->at.guessed = false;
	walk->at.frame = UNWIND_FRAME_UNKNOWN;
	walk->at.called = walk->at.called_method = false;
	return 0;
}

/* The canonical frame address by a packed rule. */
static __always_inline __u64 unwind_packed_cfa(__u32 rule, __u64 sp, __u64 fp)
{
	bool by_sp = rule & UNWIND_PACKED_SP;
	__u32 depth = by_sp ? rule >> 5 & (UNWIND_PACKED_SP_DEPTHS - 1)
			    : rule >> 5 & (UNWIND_PACKED_FP_DEPTHS - 1);

	return (by_sp ? sp : fp) + 8ull * depth;
}

/* The return address lies below @cfa, the caller's frame pointer @slot words below that one; if 0,
 * still in its register. */
static __always_inline int unwind_below(struct unwind_walk *walk, __u64 cfa, __u32 slot)
{
	__u64 fp = walk->at.fp, ra;

	unwind_approach(walk, cfa - 8 * (slot + 1), cfa);
	if (!unwind_read(walk, cfa - 8, &ra) ||
	    (slot && !unwind_read(walk, cfa - 8 * (slot + 1), &fp)))
		return UNWIND_END_UNREADABLE;
	return unwind_return(walk, cfa, ra, fp, false);
}

static __always_inline int unwind_apply_packed(struct unwind_walk *walk, __u32 rule)
{
	return unwind_below(walk, unwind_packed_cfa(rule, walk->at.sp, walk->at.fp),
			    rule & (UNWIND_PACKED_SLOTS - 1));
}

/* Code that no table describes: by the pair of words at @frame, the caller's frame pointer and the
 * return address. */
static __always_inline int unwind_by_pair(struct unwind_walk *walk, __u64 frame)
{
	__u64 fp, ra;
	int end;

	if (frame & 7 || frame < walk->at.sp)
		return UNWIND_END_BAD_POINTER;
	unwind_approach(walk, frame, frame + 16);
	if (!unwind_read(walk, frame, &fp) || !unwind_read(walk, frame + 8, &ra))
		return UNWIND_END_UNREADABLE;
	// Memory that was never written looks like the end of a chain.
	if (!ra && fp)
		return UNWIND_END_BAD_POINTER;
	end = unwind_return(walk, frame + 16, ra, fp, false);
	walk->at.guessed = true;
#ifdef UNWIND_ARM64
	// The two words may lie anywhere in the frame (AAPCS64, 6.4.6).
	walk->at.sp_is_bound = true;
#endif
	return end;
}

/* The same, if the frame pointer looks like one. */
static __always_inline int unwind_by_frame_pointer(struct unwind_walk *walk)
{
	return unwind_by_pair(walk, walk->at.fp);
}

#ifndef UNWIND_ARM64
/* Is there a call at byte @at of @code that leads to where a register or memory says, and that ends
 * with it? So long is an operand by its first byte (Intel's manual, volume 2, 2.1.5). */
static __always_inline bool unwind_is_indirect_call(__u64 code, __u32 at)
{
	__u32 operand = code >> 8 * (at + 1) & 0xff, mode = operand >> 6, base = operand & 7;
	__u32 length = mode == 1 ? 1 : mode == 2 || (mode == 0 && base == 5) ? 4 : 0;

	length += mode != 3 && base == 4;
	return (code >> 8 * at & 0xff) == 0xff && (operand >> 3 & 7) == 2 &&
	       at + 2 + length == sizeof(code);
}
#endif

/* The more certain, the greater. */
enum unwind_call {
	UNWIND_NO_CALL,
	UNWIND_CALL,    /* of what is not known */
	UNWIND_CALL_OF, /* of what begins shortly before a certain place */
};

/* Says which call stands before @ra: UNWIND_CALL_OF is one of what begins shortly before @pc. */
static __always_inline enum unwind_call unwind_call_before(struct unwind_walk *walk, __u64 ra,
							   __u64 pc)
{
#ifdef UNWIND_ARM64
	(void)walk;
	(void)ra;
	(void)pc;
#else
	enum { FUNCTION_MOST = 64 << 10 };
	__u64 code;

	if (ra < UNWIND_LOWEST || !unwind_code_before(walk, ra, &code))
		return UNWIND_NO_CALL;
	if ((code >> 24 & 0xff) == 0xe8)
		return pc - (ra + (__s64)(__s32)(code >> 32)) < FUNCTION_MOST ? UNWIND_CALL_OF
									      : UNWIND_CALL;
	if (unwind_is_indirect_call(code, 6) || unwind_is_indirect_call(code, 5) ||
	    unwind_is_indirect_call(code, 4) || unwind_is_indirect_call(code, 2) ||
	    unwind_is_indirect_call(code, 1))
		return UNWIND_CALL;
#endif
	return UNWIND_NO_CALL;
}

/* Is the word at the stack pointer the return address of a function that stands at @at, and has
 * pushed nothing? It is *@ret then. The calls before it and before the frame pointer's tell. */
static __attribute__((noinline)) bool unwind_is_called(struct unwind_walk *walk,
						       const struct unwind_cursor *at, __u64 *ret)
{
	enum unwind_call by_sp, by_fp = UNWIND_NO_CALL;
	__u64 ra = 0;

	if (!unwind_read(walk, at->sp, ret))
		return false;
	if (at->called)
		return true;
	by_sp = unwind_call_before(walk, *ret, at->pc);
	if (by_sp && !(at->fp & 7) && at->fp >= at->sp && unwind_read(walk, at->fp + 8, &ra))
		by_fp = unwind_call_before(walk, ra, at->pc);
	return by_sp > by_fp;
}

/* The 8 bytes of code from @pc on, or as many as its page has, one of arm64's instructions at
 * least; then zeros. */
static __always_inline bool unwind_code_at(struct unwind_walk *walk, __u64 pc, __u64 *ret)
{
	enum { LEAST = UNWIND_PACKS ? 1 : 4 };

	if (unwind_code_before(walk, pc + sizeof(*ret), ret))
		return true;
	if (!unwind_code_before(walk, pc + LEAST, ret))
		return false;
	*ret >>= 8 * (sizeof(*ret) - LEAST);
	return true;
}

/* By the instruction at which execution stands, in code that keeps frame pointers. */
static __always_inline enum unwind_frame unwind_frame_at(__u64 code)
{
#ifdef UNWIND_ARM64
	enum { RET = 0xd65f03c0, PUSH = 0xa9807bfd, PUSH_MASK = 0xffc07fff, SET = 0x910003fd };
	__u32 instruction = code;

	if (instruction == (__u32)RET || (instruction & (__u32)PUSH_MASK) == (__u32)PUSH)
		return UNWIND_FRAME_NONE;
	return instruction == (__u32)SET ? UNWIND_FRAME_PUSHED : UNWIND_FRAME_WHOLE;
#else
	enum { RET = 0xc3, RET_POP = 0xc2, PUSH = 0x55, SET = 0xe58948, SET_TOO = 0xec8b48 };
	__u8 byte = code;

	if (byte == RET || byte == RET_POP || byte == PUSH)
		return UNWIND_FRAME_NONE;
	code &= 0xffffff;
	return code == SET || code == SET_TOO ? UNWIND_FRAME_PUSHED : UNWIND_FRAME_WHOLE;
#endif
}

/*
 * Says how much of its frame the function has at @at, where execution stands, if it keeps frame
 * pointers: code that a compiler wrote to memory does, or does not, in all of it. In a function's
 * first and last instructions the frame pointer is its caller's, and would leave that one out.
 */
static __always_inline enum unwind_frame unwind_made_frame(struct unwind_walk *walk,
							   const struct unwind_cursor *at)
{
	enum unwind_frame frame;
	__u64 code;

	if (at->frame || !unwind_code_at(walk, at->pc, &code))
		return at->frame;
	frame = unwind_frame_at(code);
#ifdef UNWIND_ARM64
	if (frame == UNWIND_FRAME_NONE && !at->link)
		frame = UNWIND_FRAME_WHOLE;
#else
	// Code that keeps no frame pointers may push and set this register anywhere.
	if (frame == UNWIND_FRAME_NONE &&
	    (!unwind_read(walk, at->sp, &code) || !unwind_call_before(walk, code, at->pc)))
		frame = UNWIND_FRAME_WHOLE;
#endif
	return frame;
}

/*
 * Leaves code without a table, where execution stands. A compiler wrote it to memory, or it is
 * @of_file: then most of it is hand-written, has pushed nothing, and uses the frame pointer for
 * anything, or has it from one of its callers. Its first and last instructions tell there, too. The
 * word pushed before `mov %rsp, %rbp` has to be the frame pointer. An uncertain stack is marked.
 */
static __attribute__((noinline)) int unwind_by_leaf(struct unwind_walk *walk, bool of_file)
{
	enum unwind_frame frame = unwind_made_frame(walk, &walk->at);
	__u64 sp = walk->at.sp, fp = walk->at.fp, ra = 0;
	bool called = frame == UNWIND_FRAME_NONE;

#ifdef UNWIND_ARM64
	if (called)
		return unwind_return(walk, sp, walk->at.link, fp, false);
#else
	if (called && !unwind_read(walk, sp, &ra))
		return UNWIND_END_UNREADABLE;
#endif
	if (frame == UNWIND_FRAME_PUSHED && (!of_file || (unwind_read(walk, sp, &ra) && ra == fp)))
		return unwind_by_pair(walk, sp);
	if (of_file && !called) {
		called = unwind_is_called(walk, &walk->at, &ra);
		walk->marked |= !called && walk->doubted;
		walk->doubted |= !called;
	}
	return called ? unwind_return(walk, sp + 8, ra, fp, false) : unwind_by_pair(walk, fp);
}

/*
 * A caller whose code, where it goes on, does nothing but take its frame down and return: that says
 * where the return address is, whatever the frame pointer. Trampolines are such code. Negative: it
 * does something else, or cannot be read.
 */
static __attribute__((noinline)) int unwind_by_epilogue(struct unwind_walk *walk)
{
#ifdef UNWIND_ARM64
	// Of what is known of the stack pointer there nothing follows; trampolines have frames.
	(void)walk;
#else
	// add $depth, %rsp; ret, with a depth of one byte, which has a sign.
	static const __u64 add_and_ret = 0xc300c48348, but_depth = 0xff00ffffff;
	__u64 code;

	if (unwind_code_before(walk, walk->at.pc + sizeof(code), &code) &&
	    (code & but_depth) == add_and_ret && !(code >> 24 & 0x87))
		return unwind_below(walk, walk->at.sp + (code >> 24 & 0x78) + 8, 0);
#endif
	return -1;
}

/* By no table. @frame: what is reported. */
static __always_inline int unwind_without_table(struct unwind_walk *walk, __u64 frame)
{
	int end;

	if (walk->at.exact)
		return unwind_by_leaf(walk, frame & UNWIND_FRAME_FILE);
	end = unwind_by_epilogue(walk);
	if (end >= 0)
		return end;
	// Compilers that write files without tables keep frame pointers in all of it: the leaf that
	// led here is one of these.
	if (walk->at.guessed)
		walk->doubted = false;
	return unwind_by_frame_pointer(walk);
}

/* How the walk ends that has come to @end. */
static __always_inline int unwind_end_of(const struct unwind_walk *walk, int end)
{
	return end == UNWIND_END_ENTRY && (walk->marked || walk->doubted) ? UNWIND_END_GUESSED
									  : end;
}

/* False: unknown, since @number is another one, and this is not the first frame. */
static __always_inline bool unwind_base(void *ctx, struct unwind_walk *walk, __u32 number,
					__u64 *ret)
{
	if (number == UNWIND_SP)
		*ret = walk->at.sp;
	else if (number == UNWIND_FP)
		*ret = walk->at.fp;
	else if (walk->at.first)
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
	*ret = walk->at.fp - (__s64)rule->fp_offset;
	return rule->cfa == UNWIND_CFA_REGISTER && rule->fp == UNWIND_AT_CFA &&
	       walk->at.fp >= walk->at.sp && *ret > walk->at.sp;
}

static __always_inline bool unwind_saved(struct unwind_walk *walk, __u32 how, __s32 offset,
					 __u64 cfa, __u64 same, __u64 *ret)
{
	__u64 base = how == UNWIND_AT_SP ? walk->at.sp : how == UNWIND_AT_FP ? walk->at.fp : cfa;

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

/* A function of its own: it is seldom needed, and what it is made of would lie in between. */
static __attribute__((noinline)) int unwind_apply_wide(void *ctx, struct unwind_walk *walk,
						       __u32 number, __u64 *frame)
{
	const struct unwind_rule *rule = unwind_rule_of(number);
	__u64 cfa, ra, fp, link = 0;
	int end;

	if (!rule)
		return UNWIND_END_BROKEN_TABLE;
	if (rule->new_thread && walk->at.first && !unwind_register(ctx, walk, UNWIND_RESULT))
		return UNWIND_END_ENTRY;
	// Nobody called a signal's trampoline: the byte before it is another function's.
	if (rule->signal == UNWIND_TRAMPOLINE && !walk->at.exact && !walk->at.first)
		(*frame)++;
	if (rule->cfa < UNWIND_CFA_REGISTER || rule->cfa > UNWIND_CFA_PLT ||
	    !unwind_base(ctx, walk, rule->cfa_register, &cfa))
		return UNWIND_END_UNSUPPORTED;
	cfa += (__s64)rule->cfa_offset;
	if (walk->at.sp_is_bound && rule->cfa_register == UNWIND_SP &&
	    !unwind_by_saved_pointer(walk, rule, &cfa))
		return UNWIND_END_BAD_POINTER;
	if (rule->cfa == UNWIND_CFA_DEREFERENCED) {
		if (!unwind_read(walk, cfa, &cfa))
			return UNWIND_END_UNREADABLE;
		cfa += (__s64)rule->cfa_addend;
	} else if (rule->cfa == UNWIND_CFA_PLT && (walk->at.pc & 15) >= (__u32)rule->cfa_addend) {
		cfa += 8;
	}
	if (rule->ra == UNWIND_SAME && !walk->at.link)
		return UNWIND_END_UNSUPPORTED;
	if (rule->ra == UNWIND_IN_REGISTER) {
		if (!walk->at.first)
			return UNWIND_END_UNSUPPORTED;
		ra = unwind_register(ctx, walk, rule->ra_offset);
	} else if (!unwind_saved(walk, rule->ra, rule->ra_offset, cfa, walk->at.link, &ra)) {
		return UNWIND_END_UNREADABLE;
	}
	if (!unwind_saved(walk, rule->fp, rule->fp_offset, cfa, walk->at.fp, &fp))
		return UNWIND_END_UNREADABLE;
#ifdef UNWIND_ARM64
	// In struct sigcontext x30 lies two registers before the pc.
	if (rule->signal && !unwind_read(walk, walk->at.sp + (__s64)rule->ra_offset - 16, &link))
		return UNWIND_END_UNREADABLE;
#endif
	end = unwind_return(walk, cfa, ra, fp, rule->signal || rule->stack_switch);
	// What a signal interrupted did not call.
	walk->at.exact = rule->signal;
	walk->at.link = link;
	return end;
}

/* By the 16 bits of a row. *@frame: what is reported. Returns 0, or why the walk ends. */
static __always_inline int unwind_apply(void *ctx, struct unwind_walk *walk, __u32 rule,
					__u64 *frame)
{
	if (rule >= UNWIND_PACKED_FP)
		return unwind_apply_packed(walk, rule);
	if (rule == UNWIND_RULE_END)
		return UNWIND_END_ENTRY;
	if (rule == UNWIND_RULE_UNKNOWN)
		return unwind_without_table(walk, *frame);
	return unwind_apply_wide(ctx, walk, rule, frame);
}
