/* SPDX-License-Identifier: GPL-2.0 */
/*
 * From a frame of code that HotSpot, the JVM, has made to its caller. Such code comes and goes by
 * the second and has no tables, and uses the frame pointer for anything. What the JVM itself goes
 * by lies before each piece of it, in the process's memory: the size of its frames. Everything read
 * may be wrong, as it may be in any process that says it is a JVM.
 *
 * Frames: JDK, src/hotspot/cpu/x86/frame_x86.hpp (of compiled code and of the interpreter);
 * prologues and epilogues: the encodings in c1_MacroAssembler_x86.cpp and x86_64.ad.
 */
#pragma once

#include "hotspot.methods.bpf.h"
#include "hotspot_kept.bpf.h"
#include "hotspot_leaf.bpf.h"
#include "hotspot_safepoint.bpf.h"
#include "hotspot_stubs.bpf.h"

enum {
	HOTSPOT_JUMPS = 32,     /* 254 segments each: a block has up to 512 KiB */
	HOTSPOT_LONGEST = 4096, /* words; of a frame */
};

/* Which block holds @pc: *@ret is the number of the segment that it begins with. 0, or why the walk
 * ends; UNWIND_END_COUNT: there is none. */
static __always_inline int hotspot_find_block(const struct unwind_walk *walk, __u64 pc, __u64 *ret)
{
	__u64 number = (pc - walk->code_start) >> hotspot_area_of(walk)->shift;
	__u64 segments = (__u64)hotspot_area_of(walk)->segments * HOTSPOT_PAGE;
	__u8 back = 1;

#pragma clang loop unroll(disable)
	for (int i = 0; i < HOTSPOT_JUMPS; i++) {
		if (bpf_probe_read_user(&back, sizeof(back), (void *)(segments + number)))
			return UNWIND_END_UNREADABLE;
		if (!back || back == HOTSPOT_FREE || back > number)
			break;
		number -= back;
	}
	*ret = number;
	return back ? UNWIND_END_COUNT : 0;
}

/* ---- leaves of methods ---- */

/* Does the method return with what begins at @at: does it only ask before whether a safepoint is
 * due, or, in calls of native code, whether there is an exception? */
static __always_inline bool hotspot_is_return(const __u8 *at)
{
	if (at[0] == 0xc3) // ret
		return true;
	if (at[0] == 0x0f && (at[1] == 0x87 || at[1] == 0x85)) // ja, jne
		return at[6] == 0xc3;
	if (at[0] == 0x49 && at[1] == 0x3b && at[2] == 0xa7) // cmp disp32(%r15), %rsp
		return at[7] == 0x0f && at[8] == 0x87 && at[13] == 0xc3;
	if (at[0] == 0x49 && at[1] == 0x3b && at[2] == 0x67) // cmp disp8(%r15), %rsp
		return at[4] == 0x0f && at[5] == 0x87 && at[10] == 0xc3;
	if (at[0] == 0x49 && at[1] == 0x83 && at[2] == 0x7f) // cmp $imm8, disp8(%r15)
		return at[5] == 0x0f && at[6] == 0x85 && at[11] == 0xc3;
	if (at[0] == 0x4d && at[1] == 0x8b && at[2] == 0x97) // mov disp32(%r15), %r10
		return at[7] == 0x41 && at[8] == 0x85 && at[9] == 0x02 && at[10] == 0xc3;
	if (at[0] == 0x41 && at[1] == 0x85 && at[2] == 0x02) // test %eax, (%r10)
		return at[3] == 0xc3;
	if (at[0] == 0x85 && at[1] == 0x05) // test %eax, disp32(%rip), up to JDK 9
		return at[6] == 0xc3;
	if (at[0] == 0x49 && at[1] == 0xba) // mov $imm64, %r10, the same
		return at[10] == 0x41 && at[11] == 0x85 && at[12] == 0x02 && at[13] == 0xc3;
	return false;
}

static __always_inline bool hotspot_keeps_r10(const __u8 *at) // mov %r10, disp32(%r15)
{
	return at[0] == 0x4d && at[1] == 0x89 && at[2] == 0x97;
}

/*
 * A method that finds a safepoint due when it returns has taken its frame down, and goes to code
 * that waits by way of lea disp32(%rip), %r10; mov %r10, disp32(%r15); jmp (C2SafepointPollStub,
 * c2_CodeStubs_x86.cpp).
 */
static __always_inline bool hotspot_is_about_to_wait(const struct hotspot_leaf *leaf)
{
	const __u8 *at = leaf->at;

	if (at[0] == 0x4c && at[1] == 0x8d && at[2] == 0x15)
		return hotspot_keeps_r10(at + 7) && at[14] == 0xe9;
	if (hotspot_keeps_r10(at))
		return at[7] == 0xe9 && hotspot_back(leaf, 7) == 0x4c &&
		       hotspot_back(leaf, 6) == 0x8d;
	return at[0] == 0xe9 && hotspot_keeps_r10(&leaf->before[HOTSPOT_BEFORE - 7]);
}

/* In the last words of code before a pc, @bytes into its block's code: sub $imm, %rsp. */
__noinline int hotspot_find_sub_sp(__u64 first, __u64 second, __u64 third, __u64 fourth,
				   __u64 bytes)
{
	__u64 words[] = { first, second, third, fourth };

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i <= sizeof(words) - 4; i++) {
		const __u8 *code = (const __u8 *)words + i;

		if (i + bytes >= sizeof(words) && code[0] == 0x48 && code[2] == 0xec &&
		    (code[1] == 0x83 || (code[1] == 0x81 && i <= sizeof(words) - 7)))
			return true;
	}
	return false;
}

/* Has the frame been made by what lies before the pc, @bytes into the code? */
static __always_inline bool hotspot_has_frame(const struct hotspot_leaf *leaf, __u64 bytes)
{
	const __u64 *code = leaf->words_before;

	hotspot_forget_words();
	return hotspot_find_sub_sp(code[4], code[5], code[6], code[7], bytes);
}

/* Is a frame not complete @bytes into the block's code? Where it begins none is. */
static __always_inline bool hotspot_is_in_prologue(const struct unwind_walk *walk, __u64 bytes)
{
	const struct hotspot_area *heap = hotspot_area_of(walk);
	void *at = (void *)(hotspot_state_of(walk)->block + 2ull * heap->complete);
	__s16 narrow = 0;
	__s32 wide = 0;
	__s64 complete;

	if (heap->is_narrow)
		bpf_probe_read_user(&narrow, sizeof(narrow), at);
	else
		bpf_probe_read_user(&wide, sizeof(wide), at);
	complete = heap->is_narrow ? (__s64)narrow : (__s64)wide;
	return !bytes || (complete > 0 && bytes < (__u64)complete);
}

/* In the prologue of a method whose frames have @words. */
static __always_inline int hotspot_leave_prologue(struct unwind_walk *walk, __u32 words,
						  __u64 bytes, struct hotspot_leaf *leaf)
{
	__u64 sp = walk->at.sp;

	// What lies in front of the block's code may be any byte, one of a push among them.
	if (bytes < 8)
		leaf->words_before[HOTSPOT_BEFORE / 8 - 1] &= ~(~0ull >> 8 * bytes);
	if (hotspot_has_frame(leaf, bytes)) {
		// Those that do not push the frame pointer: mov %rbp, disp(%rsp) comes next.
		bool unsaved = leaf->at[0] == 0x48 && leaf->at[1] == 0x89 &&
			       (leaf->at[2] & 0x3f) == 0x2c && leaf->at[3] == 0x24;

		return hotspot_below(walk, sp + 8ull * words, !unsaved);
	}
	// push %rbp; with frame pointers also mov %rsp, %rbp, in both encodings
	if (hotspot_back(leaf, 1) == 0x55 ||
	    (hotspot_back(leaf, 4) == 0x55 && hotspot_back(leaf, 3) == 0x48 &&
	     ((hotspot_back(leaf, 2) == 0x8b && hotspot_back(leaf, 1) == 0xec) ||
	      (hotspot_back(leaf, 2) == 0x89 && hotspot_back(leaf, 1) == 0xe5))))
		return hotspot_below(walk, sp + 16, 1);
	return hotspot_below(walk, sp + 8, 0);
}

/* In five words of code: pop %rdx; mov %rax, %r8. */
__noinline int hotspot_find_pop_rdx(__u64 first, __u64 second, __u64 third, __u64 fourth,
				    __u64 fifth)
{
	__u64 words[] = { first, second, third, fourth, fifth };

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i <= sizeof(words) - 4; i++) {
		const __u8 *code = (const __u8 *)words + i;

		if (code[0] == 0x5a && code[1] == 0x4c && code[2] == 0x8b && code[3] == 0xc0)
			return true;
	}
	return false;
}

/* Behind pop %rdx; mov %rax, %r8, with which exceptions leave a method for where it handles them.
 */
static __always_inline bool hotspot_has_popped_rdx(const struct hotspot_leaf *leaf)
{
	const __u64 *code = leaf->words_before;

	hotspot_forget_words();
	if (hotspot_find_pop_rdx(code[3], code[4], code[5], code[6], code[7]))
		return true;
	return hotspot_back(leaf, 1) == 0x5a && leaf->at[0] == 0x4c && leaf->at[1] == 0x8b &&
	       leaf->at[2] == 0xc0;
}

/*
 * Of a leaf in the stubs that exceptions lead through, which are jumped to with the place in %rdx:
 * push %rdx; sub $8, %rsp; mov %rbp, (%rsp); ... pop %rdx; mov %rax, %r8; ... jmp *%r8, and
 * pop %rbp; pop %rdx; jmp *%r10. UNWIND_END_COUNT: it is none of these places.
 */
static __always_inline int hotspot_leave_thrown(void *ctx, struct unwind_walk *walk,
						const struct hotspot_leaf *leaf)
{
	__u64 sp = walk->at.sp;
	const __u8 *at = leaf->at;

	if (walk->at.first && at[0] == 0x52 && at[1] == 0x48 && at[2] == 0x83 && at[3] == 0xec)
		return hotspot_return(walk, sp, unwind_register(ctx, walk, HOTSPOT_RDX),
				      walk->at.fp);
	if (walk->at.first && hotspot_has_popped_rdx(leaf))
		return hotspot_return(walk, sp, unwind_register(ctx, walk, HOTSPOT_RDX),
				      walk->at.fp);
	if (at[0] == 0x48 && at[1] == 0x83 && at[2] == 0xec && at[3] == 8 &&
	    hotspot_back(leaf, 1) == 0x52)
		return hotspot_below(walk, sp + 8, 0);
	if (at[0] == 0x48 && at[1] == 0x89 && at[2] == 0x2c && at[3] == 0x24 &&
	    hotspot_back(leaf, 5) == 0x52)
		return hotspot_below(walk, sp + 16, 0);
	if (at[0] == 0x5a && ((at[1] == 0x4c && at[2] == 0x8b && at[3] == 0xc0) ||
			      (at[1] == 0x41 && at[2] == 0xff && at[3] == 0xe2)))
		return hotspot_below(walk, sp + 8, 0);
	if (at[0] == 0x5d && at[1] == 0x5a && at[2] == 0x41 && at[3] == 0xff)
		return hotspot_below(walk, sp + 16, 1);
	return UNWIND_END_COUNT;
}

/* Of a method's leaf. */
static __always_inline int hotspot_leave_method(void *ctx, struct unwind_walk *walk,
						struct hotspot_leaf *leaf)
{
	__u64 sp = walk->at.sp, bytes;
	__u32 words;
	int end;

	if (hotspot_is_return(leaf->at) || hotspot_is_about_to_wait(leaf))
		return hotspot_below(walk, sp + 8, 0);
	// pop %rbp; and then it returns, or jumps to where exceptions go
	if (leaf->at[0] == 0x5d && (hotspot_is_return(leaf->at + 1) || leaf->at[1] == 0xe9))
		return hotspot_below(walk, sp + 16, 1);
	if (leaf->at[0] == 0xe9 && hotspot_back(leaf, 1) == 0x5d)
		return hotspot_below(walk, sp + 8, 0);
	end = hotspot_leave_keeping(ctx, walk);
	if (end != UNWIND_END_COUNT)
		return end;
	// push %rbp before it, mov %rsp, %rbp. Runtime stubs do not say how long their prologues
	// are.
	if (hotspot_back(leaf, 1) == 0x55 && leaf->at[0] == 0x48 && leaf->at[1] == 0x8b &&
	    leaf->at[2] == 0xec)
		return hotspot_below(walk, sp + 16, 1);
	end = hotspot_leave_thrown(ctx, walk, leaf);
	if (end != UNWIND_END_COUNT)
		return end;
	bytes = hotspot_code_offset(walk);
	words = (__u32)hotspot_state_of(walk)->words;
	if (hotspot_is_in_prologue(walk, bytes))
		return hotspot_leave_prologue(walk, words, bytes, leaf);
	return hotspot_leave_frame(walk, sp + hotspot_bytes_kept(walk) + 8ull * words, words > 1);
}

/* ---- the interpreter ---- */

/*
 * It keeps where its caller's stack ended, which may lie below its own frame's end: it has made
 * room for locals there, or the last argument is gone. @bcp: the bytecode that runs, if that is one
 * of its method's; elsewhere the frame has what it has stored last.
 */
static __always_inline int hotspot_leave_interpreter(struct unwind_walk *walk, __u64 bcp)
{
	__u64 frame = walk->at.fp, fp, ra, cfa;

	if (frame & 7 || frame < walk->at.sp)
		return UNWIND_END_BAD_POINTER;
	unwind_approach(walk, frame - HOTSPOT_INTERPRETED_BELOW, frame + 16);
	hotspot_give_interpreted(walk, frame, bcp);
	if (!unwind_read(walk, frame - 8, &cfa) || !unwind_read(walk, frame, &fp) ||
	    !unwind_read(walk, frame + 8, &ra))
		return UNWIND_END_UNREADABLE;
	if (cfa & 7 || cfa < frame + 8 || cfa - frame > HOTSPOT_LOCALS)
		return UNWIND_END_BAD_POINTER;
	return hotspot_return(walk, cfa, ra, fp);
}

static __always_inline bool hotspot_restores_sp(const __u8 *at) // mov %rbx, %rsp
{
	return at[0] == 0x48 && at[1] == 0x8b && at[2] == 0xe3;
}

static __always_inline bool hotspot_pops_r13(const __u8 *at)
{
	return at[0] == 0x41 && at[1] == 0x5d;
}

/* In four words of code: push %rax; push %rbp; mov %rsp, %rbp, without pop %rax before it. */
__noinline int hotspot_find_push_rax(__u64 first, __u64 second, __u64 third, __u64 fourth)
{
	__u64 words[] = { first, second, third, fourth };

#pragma clang loop unroll(disable)
	for (__u32 i = 0; i <= sizeof(words) - 4; i++) {
		const __u8 *code = (const __u8 *)words + i;

		if (code[0] == 0x58)
			return false;
		if (code[0] == 0x50 && code[1] == 0x55 && code[2] == 0x48 && code[3] == 0x8b)
			return true;
	}
	return false;
}

/* Is the return address in %rax until it is pushed? */
static __always_inline bool hotspot_pushes_rax(const struct hotspot_leaf *leaf)
{
	const __u64 *code = leaf->words;

	hotspot_forget_words();
	return hotspot_find_push_rax(code[0], code[1], code[2], code[3]);
}

/*
 * Of a leaf that makes its frame: ... push %rax; push %rbp; mov %rsp, %rbp; push %r13; %r13 says
 * where the caller's stack ends. UNWIND_END_COUNT: it is none of these places.
 */
static __always_inline int hotspot_leave_unmade(void *ctx, struct unwind_walk *walk,
						const struct hotspot_leaf *leaf)
{
	__u64 sp = walk->at.sp, sender = unwind_register(ctx, walk, HOTSPOT_R13), fp, ra;
	const __u8 *at = leaf->at;

	if (sender & 7 || sender - sp > HOTSPOT_LOCALS)
		return UNWIND_END_COUNT;
	if (hotspot_pushes_rax(leaf))
		return hotspot_return(walk, sender, unwind_register(ctx, walk, HOTSPOT_RAX),
				      walk->at.fp);
	if ((hotspot_back(leaf, 1) == 0x55 && at[0] == 0x48 && at[1] == 0x8b && at[2] == 0xec) ||
	    (hotspot_back(leaf, 4) == 0x55 && hotspot_back(leaf, 3) == 0x48 &&
	     hotspot_back(leaf, 2) == 0x8b && at[0] == 0x41 && at[1] == 0x55)) {
		if (!unwind_read(walk, sp, &fp) || !unwind_read(walk, sp + 8, &ra))
			return UNWIND_END_UNREADABLE;
		return hotspot_return(walk, sender, ra, fp);
	}
	return UNWIND_END_COUNT;
}

/*
 * Of a leaf: it may have given up its frame, or not have made it. The former is leave; movb $0,
 * disp32(%r15) in later versions; pop %r13; mov %rbx, %rsp; cmp disp32(%r15), %rsp; jb; movq $0,
 * disp32(%r15) in these; jmp *%r13.
 */
static __always_inline int hotspot_leave_interpreter_leaf(void *ctx, struct unwind_walk *walk,
							  const struct hotspot_leaf *leaf)
{
	__u64 sp = walk->at.sp, fp = walk->at.fp, r13, ra;
	const __u8 *at = leaf->at;
	int end;

	if (!walk->at.first)
		return hotspot_leave_interpreter(walk, 0);
	if ((hotspot_pops_r13(at) && hotspot_restores_sp(at + 2)) ||
	    (at[0] == 0x41 && at[1] == 0xc6 && hotspot_pops_r13(at + 8) &&
	     hotspot_restores_sp(at + 10))) {
		if (!unwind_read(walk, sp, &ra))
			return UNWIND_END_UNREADABLE;
		return hotspot_return(walk, unwind_register(ctx, walk, HOTSPOT_RBX), ra, fp);
	}
	r13 = unwind_register(ctx, walk, HOTSPOT_R13);
	// Of mathematical functions, which have none: mov %r13, %rsp; jmp *%rax
	if (at[0] == 0x49 && at[1] == 0x8b && at[2] == 0xe5 && at[3] == 0xff && at[4] == 0xe0)
		return hotspot_return(walk, r13, unwind_register(ctx, walk, HOTSPOT_RAX), fp);
	if (at[0] == 0xff && at[1] == 0xe0 && hotspot_back(leaf, 1) == 0xe5 &&
	    hotspot_back(leaf, 3) == 0x49)
		return hotspot_return(walk, sp, unwind_register(ctx, walk, HOTSPOT_RAX), fp);
	if (hotspot_is_near(walk, r13)) {
		if (hotspot_restores_sp(at))
			return hotspot_return(walk, unwind_register(ctx, walk, HOTSPOT_RBX), r13,
					      fp);
		if ((at[0] == 0x41 && at[1] == 0xff && at[2] == 0xe5) ||
		    (at[0] == 0x49 && at[1] == 0x3b && at[2] == 0xa7 && at[7] == 0x72) ||
		    (at[0] == 0x72 && at[2] == 0x49 && at[3] == 0xc7) ||
		    (at[0] == 0x49 && at[1] == 0xc7 && at[11] == 0x41 && at[12] == 0xff &&
		     at[13] == 0xe5))
			return hotspot_return(walk, sp, r13, fp);
	}
	end = hotspot_leave_unmade(ctx, walk, leaf);
	if (end == UNWIND_END_COUNT)
		end = hotspot_leave_entry(ctx, walk, false);
	if (end == UNWIND_END_COUNT)
		return hotspot_leave_interpreter(walk, r13);
	// The method that is entered is in %rbx until it has a frame.
	hotspot_give_method(walk, unwind_register(ctx, walk, HOTSPOT_RBX), 0, 0);
	return end;
}

/* ---- all of it ---- */

/* By a frame of @words whose code has called something: where that is none of a method's, registers
 * may be kept below the frame. */
static __always_inline int hotspot_leave_caller(struct unwind_walk *walk, __u32 words)
{
	__u64 cfa = walk->at.sp + 8ull * words;

	int end;

	if (!walk->at.called_method)
		cfa += hotspot_bytes_kept(walk);
	end = hotspot_leave_frame(walk, cfa, words > 1);
	walk->at.called_method = !end;
	return end;
}

/* The block of the interpreter, if the heap has it. */
static __always_inline __u64 hotspot_interpreter(const struct unwind_walk *walk)
{
	return walk->code_start +
	       ((__u64)hotspot_area_of(walk)->interpreter << hotspot_area_of(walk)->shift);
}

/* Is the interpreter all that can be at @pc? Then nothing has to be read to tell. */
static __always_inline bool hotspot_is_interpreter(const struct unwind_walk *walk, __u64 pc)
{
	return pc - hotspot_interpreter(walk) <
	       (__u64)hotspot_area_of(walk)->interpreter_parts * HOTSPOT_PART;
}

/* A function of its own: only one frame of a walk needs it. It takes the block by
 * hotspot_state_of(), as by arguments it would be on the stack, which is short. */
static __noinline int hotspot_leave_leaf(struct bpf_perf_event_data *ctx, struct unwind_walk *walk)
{
	__u64 pc = unwind_code_address(&walk->at);
	struct hotspot_leaf *leaf = (void *)walk->scratch;
	int end;

	_Static_assert(sizeof(*leaf) <= sizeof(walk->scratch), "it has room there");
	__builtin_memset(leaf, 0, sizeof(*leaf));
	// Without its code it is taken for one in the middle of it.
	if (bpf_probe_read_user(leaf, sizeof(*leaf), (void *)(pc - HOTSPOT_BEFORE)))
		bpf_probe_read_user(&leaf->before, sizeof(leaf->before),
				    (void *)(pc - HOTSPOT_BEFORE));
	if (hotspot_state_of(walk)->words == HOTSPOT_INTERPRETED)
		end = hotspot_leave_interpreter_leaf(ctx, walk, leaf);
	else if (hotspot_state_of(walk)->words)
		end = hotspot_leave_method(ctx, walk, leaf);
	else
		end = hotspot_leave_stub(ctx, walk, leaf);
	walk->at.guessed = !end;
	walk->at.called_method |= !end && hotspot_state_of(walk)->words;
	return end;
}

/* The block that holds @pc, and the words of its frames, 0 where these are not always the same.
 * Returns as hotspot_find_block. */
static __always_inline int hotspot_read_block(struct unwind_walk *walk, __u64 pc, __u64 *number,
					      __u64 *block, __s32 *words)
{
	int end = hotspot_find_block(walk, pc, number);
	__u32 at = 4u * hotspot_area_of(walk)->frame_words;

	if (end)
		return end;
	*block = walk->code_start + (*number << hotspot_area_of(walk)->shift);
	if (hotspot_read_head(walk, *block))
		*words = (__s32)hotspot_head_word(walk, at, sizeof(*words));
	// The last block of a heap may be shorter.
	else if (bpf_probe_read_user(words, sizeof(*words), (void *)(*block + at)))
		return UNWIND_END_UNREADABLE;
	if (*words > HOTSPOT_LONGEST)
		return UNWIND_END_BAD_CFA;
	if (*words < 0)
		*words = 0;
	return 0;
}

/*
 * A function of its own: where it is not called, its instructions are not waited for. 0, or why the
 * walk ends.
 */
static __noinline int hotspot_step(struct bpf_perf_event_data *ctx, struct unwind_walk *walk)
{
	__u64 pc = unwind_code_address(&walk->at), number = 0, block = 0;
	bool interpreted = hotspot_is_interpreter(walk, pc);
	__s32 words = 0;

	if (!interpreted) {
		int end = hotspot_read_block(walk, pc, &number, &block, &words);

		if (end == UNWIND_END_COUNT)
			return unwind_by_frame_pointer(walk);
		if (end)
			return end;
		interpreted = number == hotspot_area_of(walk)->interpreter &&
			      number != HOTSPOT_NO_SEGMENT;
	}
	if (walk->at.first || walk->at.exact) {
		if (interpreted)
			block = hotspot_interpreter(walk);
		if (block && (!interpreted || hotspot_read_head(walk, block)))
			hotspot_give_code(walk, block);
		hotspot_state_of(walk)->block = block;
		hotspot_state_of(walk)->words = interpreted ? HOTSPOT_INTERPRETED : words;
		return hotspot_leave_leaf(ctx, walk);
	}
	if (interpreted)
		return hotspot_leave_interpreter(walk, 0);
	hotspot_give_code(walk, block);
	hotspot_state_of(walk)->block = block;
	if (!words)
		return hotspot_leave_calling_stub(walk);
	return hotspot_leave_caller(walk, (__u32)words);
}
