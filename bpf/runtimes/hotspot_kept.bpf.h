/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How many words of kept registers lie below a frame of HotSpot's, for the time of a call that the
 * frame's size does not know of: the code behind the call tells.
 */
#pragma once

#include "hotspot_code.h"
#include "hotspot_leaf.bpf.h"

enum {
	/* Registers that are taken back one by one: at most 32 vectors by two instructions, 8
	 * masks, 25 others. */
	HOTSPOT_TAKEN_BACK = 100,
	HOTSPOT_PUSHED = 32, /* words that may lie below a frame besides */
	/* The first letters of names of blocks */
	HOTSPOT_NMETHOD = 0x74656d6e,  /* nmethod */
	HOTSPOT_NATIVE = 0x6974616e,   /* native nmethod */
	HOTSPOT_ADAPTERS = 0x2f433249, /* I2C/C2I adapters */
};

/* The name of the block's code begins with these four letters. */
static __always_inline __u32 hotspot_name(const struct unwind_walk *walk)
{
	__u64 text = 0;
	__u32 name = 0;

	bpf_probe_read_user(
		&text, sizeof(text),
		(void *)(hotspot_state_of(walk)->block + 8ull * hotspot_area_of(walk)->name));
	bpf_probe_read_user(&name, sizeof(name), (void *)text);
	return name;
}

/* A global function, as those that search code (hotspot_forget_words). */
__noinline int hotspot_effect_at(__u64 code)
{
	return hotspot_effect_of(code);
}

/* So many words the code from the walk's pc on takes from the stack, in a straight line, before it
 * does anything else; 0 if it takes the frame down itself. */
static __noinline __u64 hotspot_words_taken(const struct unwind_walk *walk)
{
	__u64 pc = walk->at.pc, code;
	__s64 words = 0;

#pragma clang loop unroll(disable)
	for (int i = 0; i < HOTSPOT_TAKEN_BACK; i++) {
		int effect;

		if (bpf_probe_read_user(&code, sizeof(code), (void *)pc))
			break;
		effect = hotspot_effect_at(code);
		if (effect == HOTSPOT_TAKES_DOWN)
			return 0;
		if (effect == HOTSPOT_OTHER)
			break;
		pc += hotspot_effect_bytes(effect);
		words += hotspot_effect_words(effect);
	}
	return words > 0 ? words : 0;
}

/* The same in bytes, of code of a method. Other blocks have frames that they take down in parts. */
static __noinline __u64 hotspot_bytes_kept(const struct unwind_walk *walk)
{
	__u64 words = hotspot_words_taken(walk);
	__u32 name = words ? hotspot_name(walk) : 0;

	return name == HOTSPOT_NMETHOD || name == HOTSPOT_NATIVE ? 8 * words : 0;
}

/* By a frame that ends at @cfa, or some words further up: for the time of a call, or of a move from
 * memory to memory, there may be more on the stack. @saved: the frame pointer is. */
static __noinline int hotspot_leave_frame(struct unwind_walk *walk, __u64 cfa, bool saved)
{
	bool found = false;
	__u64 ra;

	unwind_approach(walk, cfa - 16, cfa);
#pragma clang loop unroll(disable)
	for (int i = 0; i < HOTSPOT_PUSHED && !found; i++) {
		found = hotspot_read_near(walk, cfa - 8, &ra);
		cfa += found ? 0 : 8;
	}
	return found ? unwind_below(walk, cfa, saved) : UNWIND_END_BAD_CFA;
}
