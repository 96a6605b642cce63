/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Ways out of a leaf share what this file has: the code around its pc, the words on its stack, and
 * how it returns. hotspot.bpf.h says which code that is.
 */
#pragma once

#include "hotspot.h"

#include "unwind_lookup.bpf.h"
#include "unwind_memory.bpf.h"
#include "unwind_registers.bpf.h"

#include "unwind_apply.h"

enum {
	HOTSPOT_BEFORE = 64,        /* bytes of code before a leaf's pc that are looked at */
	HOTSPOT_AFTER = 32,         /* from it on */
	HOTSPOT_INTERPRETED = -1,   /* instead of words */
	HOTSPOT_LOCALS = 8 * 65536, /* bytes, at most, that the locals of a method take */
	/* DWARF numbers */
	HOTSPOT_RAX = 0,
	HOTSPOT_RDX = 1,
	HOTSPOT_RBX = 3,
	HOTSPOT_R13 = 13,
};

/* The walk's scratch holds the code around the pc of a leaf. Its words are read again where they
 * are needed again (hotspot_forget_words()): kept in between, they would take more of the stack
 * than there is, as it would itself (Linux 5.10). */
struct hotspot_leaf {
	union {
		__u8 before[HOTSPOT_BEFORE];
		__u64 words_before[HOTSPOT_BEFORE / 8];
	};
	union {
		__u8 at[HOTSPOT_AFTER];
		__u64 words[HOTSPOT_AFTER / 8];
	};
} __attribute__((may_alias));

/* The range that the walk is in has this area. */
static __always_inline const struct hotspot_area *hotspot_area_of(const struct unwind_walk *walk)
{
	return (const void *)walk->area;
}

/* The walk's words for its runtime hand this from one function of HotSpot's to the next. */
struct hotspot_state {
	__u64 block; /* address of that of the leaf */
	__s32 words; /* of its frames, or HOTSPOT_INTERPRETED */
} __attribute__((may_alias));

static __always_inline struct hotspot_state *hotspot_state_of(const struct unwind_walk *walk)
{
	return (void *)walk->of_runtime;
}

/* Is @address in the code cache that the walk is in, or less than a HOTSPOT_UNIT behind it?
 * Callers of its code lie in it, too. */
static __always_inline bool hotspot_is_near(const struct unwind_walk *walk, __u64 address)
{
	__u64 below = (__u64)hotspot_area_of(walk)->below * HOTSPOT_PAGE;
	__u64 above = (__u64)hotspot_area_of(walk)->above * HOTSPOT_UNIT;

	return address - walk->code_start + below < below + above;
}

/* Does the word at @address lead into the code cache? */
static __always_inline bool hotspot_read_near(struct unwind_walk *walk, __u64 address, __u64 *ret)
{
	return unwind_read(walk, address, ret) && hotspot_is_near(walk, *ret);
}

/* All ways out of a leaf lead through these two: the verifier waits once for what is there once. */
static __noinline int hotspot_below(struct unwind_walk *walk, __u64 cfa, __u32 slot)
{
	return unwind_below(walk, cfa, slot);
}

static __noinline int hotspot_return(struct unwind_walk *walk, __u64 cfa, __u64 ra, __u64 fp)
{
	return unwind_return(walk, cfa, ra, fp, false);
}

/* This is the last byte before the pc for 1 of @bytes, and the ones in front of it for more. */
static __always_inline __u8 hotspot_back(const struct hotspot_leaf *leaf, int bytes)
{
	return leaf->before[HOTSPOT_BEFORE - bytes];
}

/*
 * The compiler reads words of code again after a call of this.
 *
 * Searches of code are global functions, and take it by value: so the verifier, which follows each
 * turn of a loop in each state that leads to it, follows these once. In their callers they took
 * four fifths of the time in which the program was loaded.
 */
static __always_inline void hotspot_forget_words(void)
{
	asm volatile("" : : : "memory");
}

/* The pc of a leaf is so many bytes into the code of its block. */
static __always_inline __u64 hotspot_code_offset(const struct unwind_walk *walk)
{
	const struct hotspot_area *heap = hotspot_area_of(walk);
	void *at = (void *)(hotspot_state_of(walk)->block + 4ull * heap->code);
	__u64 code = 0;
	__s32 offset = 0;

	if (!heap->has_offsets) {
		bpf_probe_read_user(&code, sizeof(code), at);
		return walk->at.pc - code;
	}
	bpf_probe_read_user(&offset, sizeof(offset), at);
	return walk->at.pc - hotspot_state_of(walk)->block - (heap->is_small ? 8 : 16) -
	       (__s64)offset;
}

/*
 * %r13 says where the caller's stack ended, before a frame is made and while arguments are moved.
 * It is believed if that is above the stack pointer, and the return address is on top of the stack
 * or, if not and @in_rax, in %rax. Returns UNWIND_END_COUNT if it is neither.
 */
static __always_inline int hotspot_leave_entry(void *ctx, struct unwind_walk *walk, bool in_rax)
{
	__u64 sp = walk->at.sp, sender, ra;

	if (!walk->at.first)
		return UNWIND_END_COUNT;
	sender = unwind_register(ctx, walk, HOTSPOT_R13);
	if (sender & 7 || sender - sp > HOTSPOT_LOCALS)
		return UNWIND_END_COUNT;
	if (!hotspot_read_near(walk, sp, &ra)) {
		ra = in_rax ? unwind_register(ctx, walk, HOTSPOT_RAX) : 0;
		if (!hotspot_is_near(walk, ra))
			return UNWIND_END_COUNT;
	}
	return hotspot_return(walk, sender, ra, walk->at.fp);
}
