/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/*
 * Compiled code keeps registers on the stack while it calls the JVM without notice, as barriers of
 * collectors do (SaveLiveRegisters, barrierSetAssembler_x86.cpp). Nothing tells of them but the
 * code itself, which takes them back behind the call. This file says what an instruction does to
 * the stack, for those that such code consists of (Intel's manual, volume 2, chapter 2 and appendix
 * A).
 */
#pragma once

#include <linux/types.h>

#include <stdbool.h>

enum {
	/* Instead of what an instruction does: */
	HOTSPOT_OTHER = 0,        /* it is not known, or goes elsewhere */
	HOTSPOT_TAKES_DOWN = 255, /* it takes a frame down */
	/* bytes; what is added to the stack pointer at once, at most: 32 registers of 64 bytes, and
	 * more of 8 */
	HOTSPOT_ADDED = 4096,
};

/* An instruction is so many bytes long, and takes so many words from the stack. */
static __always_inline int hotspot_effect(__u32 bytes, __s32 words)
{
	return (int)bytes + words * 256;
}

static __always_inline __u32 hotspot_effect_bytes(int effect)
{
	return (__u32)effect & 0xff;
}

static __always_inline __s32 hotspot_effect_words(int effect)
{
	return effect >> 8;
}

/* So many bytes has the operand that begins with the first ones of @code. */
static __always_inline __u32 hotspot_operand_bytes(__u64 code)
{
	__u32 mode = code >> 6 & 3, base = code & 7, more = code >> 8 & 7;

	if (mode == 3)
		return 1;
	if (base == 4 && mode == 0)
		return more == 5 ? 6 : 2;
	return 1 + (base == 4) + (mode == 1 ? 1 : mode == 2 || base == 5 ? 4 : 0);
}

/* Does this opcode move between vectors, masks and memory, in the map that begins with 0f? Xor is
 * among them: it clears what is then inserted to. */
static __always_inline bool hotspot_moves_vector(__u32 opcode)
{
	switch (opcode) {
	case 0x10:
	case 0x11:
	case 0x28:
	case 0x29:
	case 0x57:
	case 0x6e:
	case 0x6f:
	case 0x7e:
	case 0x7f:
	case 0x90: // kmov, as are the next three
	case 0x91:
	case 0x92:
	case 0x93:
	case 0xd6:
	case 0xef:
		return true;
	default:
		return false;
	}
}

/* Of an instruction with a prefix for vectors of @prefix bytes; @code follows it. */
static __always_inline int hotspot_vector_effect(__u64 code, __u32 prefix, __u32 map)
{
	__u32 opcode = code & 0xff, bytes = prefix + 1;

	if (map == 1 && opcode == 0x77) // vzeroupper
		return hotspot_effect(bytes, 0);
	if (map == 1 && hotspot_moves_vector(opcode))
		return hotspot_effect(bytes + hotspot_operand_bytes(code >> 8), 0);
	// Parts of vectors are inserted and extracted by a number.
	if (map == 3 && ((opcode & 0xfe) == 0x18 || (opcode & 0xfc) == 0x38))
		return hotspot_effect(bytes + hotspot_operand_bytes(code >> 8) + 1, 0);
	return HOTSPOT_OTHER;
}

/* Of add or sub of a constant, to or from %rsp; @code begins with the opcode. */
static __always_inline int hotspot_add_effect(__u64 code, __u32 prefix)
{
	bool is_short = (code & 0xff) == 0x83;
	__u32 added = is_short ? (__u32)(__s32)(__s8)(code >> 16) : (__u32)(code >> 16);
	__u32 operand = code >> 8 & 0xff, bytes = prefix + (is_short ? 3 : 6);

	if ((operand != 0xc4 && operand != 0xec) || added & 7 || added > HOTSPOT_ADDED)
		return HOTSPOT_OTHER;
	return hotspot_effect(bytes, (__s32)(added >> 3) * (operand == 0xc4 ? 1 : -1));
}

/* Does mov, of these forms, or lea write %rsp? */
static __always_inline bool hotspot_writes_sp(__u32 opcode, __u32 operand, __u32 rex)
{
	if (opcode == 0x89)
		return (operand & 0xc7) == 0xc4 && !(rex & 1);
	return (operand & 0x38) == 0x20 && !(rex & 4);
}

/* Of an instruction behind its @prefix bytes, the last of which is @rex, or 0. */
static __always_inline int hotspot_plain_effect(__u64 code, __u32 prefix, __u32 rex)
{
	__u32 opcode = code & 0xff, operand = code >> 8 & 0xff;

	switch (opcode) {
	case 0x50 ... 0x57:
		return hotspot_effect(prefix + 1, -1);
	case 0x58 ... 0x5f:
		return opcode == 0x5d && !(rex & 1) ? HOTSPOT_TAKES_DOWN
						    : hotspot_effect(prefix + 1, 1);
	case 0x81:
	case 0x83:
		return rex == 0x48 ? hotspot_add_effect(code, prefix) : HOTSPOT_OTHER;
	case 0x89:
	case 0x8b:
	case 0x8d:
		if (hotspot_writes_sp(opcode, operand, rex))
			return HOTSPOT_OTHER;
		return hotspot_effect(prefix + 1 + hotspot_operand_bytes(code >> 8), 0);
	case 0x31: // xor
	case 0x33:
	case 0x87: // xchg
		return hotspot_effect(prefix + 1 + hotspot_operand_bytes(code >> 8), 0);
	case 0x90: // nop
		return hotspot_effect(prefix + 1, 0);
	case 0xb8 ... 0xbf:
		return hotspot_effect(prefix + (rex & 8 ? 9 : 5), 0);
	case 0xc3:
	case 0xc9: // leave
		return HOTSPOT_TAKES_DOWN;
	case 0xe8:
		return hotspot_effect(prefix + 5, 0);
	case 0xeb: // further on, behind a call with the stack otherwise aligned
		return operand < 0x80 ? hotspot_effect(prefix + 2 + operand, 0) : HOTSPOT_OTHER;
	case 0xff: // call of an address in a register
		return (operand & 0xf8) == 0xd0 ? hotspot_effect(prefix + 2, 0) : HOTSPOT_OTHER;
	case 0x0f:
		// long nop, cmpxchg
		if (operand != 0x1f && operand != 0xb1 && !hotspot_moves_vector(operand))
			return HOTSPOT_OTHER;
		return hotspot_effect(prefix + 2 + hotspot_operand_bytes(code >> 16), 0);
	default:
		return HOTSPOT_OTHER;
	}
}

/* Says of the instruction that begins with the 8 bytes of @code what it does to the stack: its
 * bytes and words (hotspot_effect), HOTSPOT_OTHER or HOTSPOT_TAKES_DOWN. */
static __always_inline int hotspot_effect_of(__u64 code)
{
	__u32 first = code & 0xff, second = code >> 8 & 0xff, prefix = 0, rex = 0;

	if (first == 0xc5)
		return hotspot_vector_effect(code >> 16, 2, 1);
	if (first == 0xc4)
		return hotspot_vector_effect(code >> 24, 3, second & 31);
	if (first == 0x62)
		return hotspot_vector_effect(code >> 32, 4, second & 7);
	// pop %rbp with the prefix for more registers
	if (first == 0xd5)
		return (code >> 16 & 0xff) == 0x5d && !(second & 0x11) ? HOTSPOT_TAKES_DOWN
								       : HOTSPOT_OTHER;
	if (first == 0x66 || first == 0xf0 || first == 0xf2 || first == 0xf3) {
		code >>= 8;
		prefix++;
	}
	if ((code & 0xf0) == 0x40) {
		rex = code & 0xff;
		code >>= 8;
		prefix++;
	}
	return hotspot_plain_effect(code, prefix, rex);
}
