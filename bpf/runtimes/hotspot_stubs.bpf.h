/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file leads a walk from a stub of HotSpot's, or an adapter, to its caller. These have frames
 * of no fixed size; their names, their first bytes, and the code around the pc tell how to go on.
 */
#pragma once

#include "hotspot_kept.bpf.h"
#include "hotspot_leaf.bpf.h"

enum {
	HOTSPOT_SEARCHING = 8, /* words: where a return address may be during a class search */
	HOTSPOT_KEPT_R13 = 2688 + 2 * 8, /* bytes above sp, while an adapter has its call mended */
	HOTSPOT_KEPT_BELOW = 16 * 8,     /* and so many below what it keeps, aligned to 16 */
	HOTSPOT_KEEPING = HOTSPOT_KEPT_BELOW + 2 * 8, /* on the stack, while it keeps registers */
	HOTSPOT_KEPT = HOTSPOT_KEEPING + 512,         /* at least, when all are kept */
	HOTSPOT_FRAMELESS = 4, /* words, in which a stub without a frame has its return address */
};

/*
 * An adapter keeps all registers while the JVM mends the call that led to it. Of these, %r13 says
 * where the return address is (gen_c2i_adapter, sharedRuntime_x86_64.cpp; push_CPU_state,
 * macroAssembler_x86.cpp). UNWIND_END_COUNT: it is none, or does something else.
 */
static __noinline int hotspot_leave_mending(struct unwind_walk *walk)
{
	__u64 kept = walk->at.sp + HOTSPOT_KEPT_R13, entry, ra;

	if (!unwind_read(walk, kept, &entry) || (entry & ~15ull) - kept != HOTSPOT_KEPT_BELOW ||
	    !hotspot_read_near(walk, entry, &ra))
		return UNWIND_END_COUNT;
	return hotspot_below(walk, entry + 8, 0);
}

/*
 * The frame pointer of a stub leads to its caller. The stub that a method's code calls when it is
 * entered pushes a word before it, -1, in which it may say where to go on
 * (generate_method_entry_barrier, stubGenerator_x86_64.cpp).
 */
static __always_inline int hotspot_leave_stub_frame(struct unwind_walk *walk)
{
	__u64 frame = walk->at.fp, ra;
	int end;

	unwind_approach(walk, frame, frame + 24);
	if (frame & 7 || frame < walk->at.sp || !unwind_read(walk, frame + 8, &ra) || ~ra)
		return unwind_by_frame_pointer(walk);
	end = unwind_below(walk, frame + 24, 2);
	walk->at.guessed = true;
	return end;
}

/*
 * An adapter, and what calls a MethodHandle's method, have no frame, and keep registers while they
 * call the JVM without notice: a collector has barriers where the one asks whether a class is in
 * use, and the other for the method. UNWIND_END_COUNT: it is neither.
 */
static __always_inline int hotspot_leave_asking(struct unwind_walk *walk)
{
	__u64 words = hotspot_words_taken(walk), slot = walk->at.sp + 8 * words, ra;
	__u32 name = words ? hotspot_name(walk) : 0;

	if ((name != HOTSPOT_ADAPTERS && name != HOTSPOT_NATIVE) ||
	    !hotspot_read_near(walk, slot, &ra))
		return UNWIND_END_COUNT;
	return hotspot_below(walk, slot + 8, 0);
}

/* Of a leaf in a stub that has pushed nothing, or its caller's frame pointer, @saved; and before
 * that -1, as above. */
static __noinline int hotspot_leave_pushing(struct unwind_walk *walk, __u32 saved)
{
	__u64 slot = walk->at.sp + 8 * saved, word;
	bool has_more = unwind_read(walk, slot, &word) && !~word;

	return hotspot_below(walk, slot + (has_more ? 16 : 8), saved && has_more ? 2 : saved);
}

/* A stub that has called something has a frame pointer, or is an adapter that has kept registers.
 */
static __always_inline int hotspot_leave_calling_stub(struct unwind_walk *walk)
{
	int end = hotspot_leave_asking(walk), mending;

	if (end != UNWIND_END_COUNT)
		return end;
	end = hotspot_leave_stub_frame(walk);
	if (!end)
		return 0;
	mending = hotspot_leave_mending(walk);
	return mending != UNWIND_END_COUNT ? mending : end;
}

/* An adapter keeps %rsp in %r13 before it moves arguments: five words of code may show either. It
 * is mov %rsp, %r13 or lea 8(%rsp), %r13; and mov of 64 bits, movss or movsd to disp(%rsp). */
__noinline int hotspot_find_kept_sp(__u64 first, __u64 second, __u64 third, __u64 fourth,
				    __u64 fifth)
{
	__u64 words[] = { first, second, third, fourth, fifth };

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i <= sizeof(words) - 4; i++) {
		const __u8 *code = (const __u8 *)words + i;
		bool moves = (code[0] & 0xfb) == 0x48 && code[1] == 0x89;

		if (code[0] == 0x4c && ((code[1] == 0x8b && code[2] == 0xec) ||
					(code[1] == 0x8d && code[2] == 0x6c && code[3] == 0x24)))
			return true;
		if ((moves || (code[0] == 0x0f && code[1] == 0x11)) && code[3] == 0x24 &&
		    ((code[2] & 0xc7) == 0x44 || (code[2] & 0xc7) == 0x84))
			return true;
	}
	return false;
}

/* Does code before the pc of an adapter keep %rsp in %r13, or move arguments, which comes later? */
static __always_inline bool hotspot_has_kept_sp(const struct hotspot_leaf *leaf)
{
	const __u64 *code = leaf->words_before;

	hotspot_forget_words();
	// What begins in the one and ends in the other is in both.
	if (hotspot_find_kept_sp(code[0], code[1], code[2], code[3], code[4]))
		return true;
	hotspot_forget_words();
	return hotspot_find_kept_sp(code[3], code[4], code[5], code[6], code[7]);
}

/*
 * %r13 says where the return address of an adapter is while it has its call mended. After that, and
 * while arguments are moved, it says where the caller's stack ended, and anything may lie there.
 * A word @on_top of the stack that leads into the code cache says that it is after that, but where
 * so much lies on the stack as in the midst of mending. UNWIND_END_COUNT: it is not being mended.
 */
static __always_inline int hotspot_leave_kept(void *ctx, struct unwind_walk *walk, bool on_top)
{
	__u64 sp = walk->at.sp, kept, deep, ra;

	if (!walk->at.first)
		return UNWIND_END_COUNT;
	kept = unwind_register(ctx, walk, HOTSPOT_R13);
	deep = (kept & ~15ull) - sp;
	if (kept <= sp || kept - sp >= HOTSPOT_LOCALS ||
	    (on_top && deep != HOTSPOT_KEEPING && deep < HOTSPOT_KEPT))
		return UNWIND_END_COUNT;
	return hotspot_read_near(walk, kept, &ra) ? hotspot_below(walk, kept + 8, 0)
						  : UNWIND_END_COUNT;
}

/*
 * The code at @ra says how many words lie above the return address of a class search. C1 pushes two
 * before it calls: pop; pop; cmp $0, or test; je follows. Its System.arraycopy has pushed these two
 * before, too: pop %rcx; pop %rsi; cmp $0, %esi, or test %esi, %esi; jne; pop %rcx; pop %rsi
 * follows (emit_arraycopy, c1_LIRAssembler_x86.cpp). Other code is marked, and taken for the
 * former.
 */
static __always_inline __u64 hotspot_words_for_search(struct unwind_walk *walk, __u64 ra)
{
	const __u8 *code = (const void *)walk->scratch;

	// The stack has no room for it (Linux 5.10). The leaf's code is not needed any more.
	if (bpf_probe_read_user(walk->scratch, 16, (void *)ra))
		__builtin_memset(walk->scratch, 0, 16);
	// cmp is a byte longer than test.
	if (code[0] == 0x59 && code[1] == 0x5e &&
	    ((code[2] == 0x83 && code[5] == 0x0f && code[6] == 0x85 && code[11] == 0x59 &&
	      code[12] == 0x5e) ||
	     (code[2] == 0x85 && code[4] == 0x0f && code[5] == 0x85 && code[10] == 0x59 &&
	      code[11] == 0x5e)))
		return 4;
	// Registers from %r8 on have a prefix.
#pragma clang loop unroll(full)
	for (int i = 4; i < 9; i++)
		if (code[i] == 0x0f && code[i + 1] == 0x84)
			return 2;
	walk->marked = true;
	return 2;
}

/*
 * A stub looks for a class among those above another one, for code of C1. It is push %rdi;
 * push %rsi; push %rcx; push %rax; ... pop %rax; pop %rcx; pop %rsi; pop %rdi; ret
 * (slow_subtype_check, c1_Runtime1_x86.cpp). Its frame pointer is its caller's.
 * UNWIND_END_COUNT: it is another one.
 */
static __always_inline int hotspot_leave_class_search(struct unwind_walk *walk,
						      const struct hotspot_leaf *leaf)
{
	__u64 bytes = hotspot_code_offset(walk), pushed = 4, slot, ra;
	const __u8 *at = leaf->at;
	bool found = false;
	__u32 begin = 0;
	int end;

	bpf_probe_read_user(&begin, sizeof(begin), (void *)(walk->at.pc - bytes));
	if (begin != 0x50515657)
		return UNWIND_END_COUNT;
	if (bytes < pushed)
		pushed = bytes;
	else if (at[0] == 0x59 && at[1] == 0x5e && at[2] == 0x5f)
		pushed = 3;
	else if (at[0] == 0x5e && at[1] == 0x5f)
		pushed = 2;
	else if (at[0] == 0x5f && at[1] == 0xc3)
		pushed = 1;
	else if (at[0] == 0xc3)
		pushed = 0;
	slot = walk->at.sp + 8 * pushed;
	// While it looks it may have pushed more. (Linux 5.10 refuses this as a loop.)
#pragma clang loop unroll(full)
	for (int i = 0; i < HOTSPOT_SEARCHING; i++) {
		if (found)
			break;
		found = hotspot_read_near(walk, slot, &ra);
		slot += 8;
	}
	if (!found)
		return UNWIND_END_BAD_CFA;
	end = hotspot_return(walk, slot + 8 * hotspot_words_for_search(walk, ra), ra, walk->at.fp);
	// The words that the caller takes back are left behind already.
	walk->at.called_method = !end;
	return end;
}

/* Does the code before @ra call what lies in the leaf's block, up to where it stands? */
static __always_inline bool hotspot_is_called_from(struct unwind_walk *walk, __u64 ra)
{
	__u64 block = hotspot_state_of(walk)->block, code;

	return hotspot_is_near(walk, ra) && unwind_code_before(walk, ra, &code) &&
	       (code >> 24 & 0xff) == 0xe8 &&
	       ra + (__s64)(__s32)(code >> 32) - block <= walk->at.pc - block;
}

/*
 * A stub has a frame pointer, or none: those that look for a class among those above another one
 * have none (is_instance_of, c1_Runtime1_x86.cpp; lookup_secondary_supers_table,
 * stubGenerator_x86_64.cpp), and the register is its caller's. The call before
 * the return address tells which.
 */
static __noinline int hotspot_leave_called_stub(struct unwind_walk *walk)
{
	__u64 sp = walk->at.sp, fp = walk->at.fp, ra;

	if (!(fp & 7) && fp >= sp && unwind_read(walk, fp + 8, &ra) &&
	    (!~ra || hotspot_is_called_from(walk, ra)))
		return hotspot_leave_stub_frame(walk);
#pragma clang loop unroll(full)
	for (int i = 0; i < HOTSPOT_FRAMELESS; i++) {
		if (unwind_read(walk, sp + 8 * i, &ra) && hotspot_is_called_from(walk, ra))
			return hotspot_return(walk, sp + 8 * i + 8, ra, fp);
	}
	return hotspot_leave_stub_frame(walk);
}

/* A leaf in a stub has a frame pointer or none. */
static __always_inline int hotspot_leave_stub(void *ctx, struct unwind_walk *walk,
					      const struct hotspot_leaf *leaf)
{
	bool on_top;
	__u64 ra;
	__u32 name;
	int end = hotspot_leave_class_search(walk, leaf);

	if (end != UNWIND_END_COUNT)
		return end;
	// ret; push %rbp, the first of all
	if (leaf->at[0] == 0xc3 || leaf->at[0] == 0x55)
		return hotspot_leave_pushing(walk, 0);
	// mov %rsp, %rbp, the second; pop %rbp; ret
	if ((hotspot_back(leaf, 1) == 0x55 && leaf->at[0] == 0x48 &&
	     (leaf->at[1] == 0x8b || leaf->at[1] == 0x89)) ||
	    (leaf->at[0] == 0x5d && leaf->at[1] == 0xc3))
		return hotspot_leave_pushing(walk, 1);
	name = hotspot_name(walk);
	if (name == HOTSPOT_ADAPTERS || name == 0x6874654d) { // the latter: MethodHandles adapters
		// pop %rax before it, mov %rsp, %r13: the return address is nowhere else.
		if (walk->at.first && hotspot_back(leaf, 1) == 0x58 && leaf->at[0] == 0x4c &&
		    leaf->at[1] == 0x8b && leaf->at[2] == 0xec)
			return hotspot_return(walk, walk->at.sp,
					      unwind_register(ctx, walk, HOTSPOT_RAX), walk->at.fp);
		on_top = hotspot_read_near(walk, walk->at.sp, &ra);
		if (on_top && !hotspot_has_kept_sp(leaf))
			return hotspot_below(walk, walk->at.sp + 8, 0);
		end = hotspot_leave_kept(ctx, walk, on_top);
		if (end != UNWIND_END_COUNT)
			return end;
		end = hotspot_leave_entry(ctx, walk, true);
		if (end != UNWIND_END_COUNT)
			return end;
		return hotspot_below(walk, walk->at.sp + 8, 0);
	}
	// vtable chunks, itable stub, InlineCacheBuffer: they jump, and make none
	if (name == 0x62617476 || name == 0x62617469 || name == 0x696c6e49)
		return hotspot_below(walk, walk->at.sp + 8, 0);
	// So does a native nmethod without a frame, which calls what a MethodHandle is of. A
	// barrier before that pushes a register.
	if (name == HOTSPOT_NATIVE)
		return hotspot_leave_frame(walk, walk->at.sp + 8, false);
	return hotspot_leave_called_stub(walk);
}
