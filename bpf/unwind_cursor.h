/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/* Where a walk stands. */
#pragma once

#include "unwind_tables.h"

#include <stdbool.h>

#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define UNWIND_ARM64
#endif

/* DWARF numbers of registers: System V ABI AMD64, figure 3.36; DWARF for the Arm 64-bit
 * Architecture, 4.1. */
enum {
#ifdef UNWIND_ARM64
	UNWIND_SP = 31,
	UNWIND_FP = 29,
	UNWIND_RESULT = 0, /* x0: of a system call */
	UNWIND_PACKS = 0,  /* are there rules of 16 bits? */
#else
	UNWIND_SP = 7,
	UNWIND_FP = 6,
	UNWIND_RESULT = 0, /* rax */
	UNWIND_PACKS = 1,
#endif
	UNWIND_LOWEST = 4096, /* no code below */
};

/* How much of its frame a function has where execution stands. */
enum unwind_frame {
	UNWIND_FRAME_UNKNOWN,
	UNWIND_FRAME_WHOLE,  /* the frame pointer leads to it */
	UNWIND_FRAME_PUSHED, /* the caller's frame pointer and the return address were pushed */
	UNWIND_FRAME_NONE,   /* the return address is where the call put it */
};

/* The frame that is to be reported next. */
struct unwind_cursor {
	__u64 pc, sp, fp;
	__u64 link;       /* arm64: the link register, of the first frame */
	bool exact;       /* the pc is where execution stood, no return address */
	bool first;       /* all registers are those of the interrupt */
	bool sp_is_bound; /* arm64: the stack pointer is this one, or above */
	bool guessed;     /* a frame pointer led here, no table */
	__u8 frame;       /* enum unwind_frame, of code without a table: if it was asked before */
	bool called;      /* in a file's code without a table: it was asked before, and the word at
			     the stack pointer is the return address */
	bool called_method; /* a runtime's own step led here, from a method of its language: nothing
			       but the frame lies above the stack pointer */
};

/* An address that belongs to the frame's code: a return address may be the first byte of another
 * function, the call lies before it. */
static inline __u64 unwind_code_address(const struct unwind_cursor *at)
{
	return at->pc - (at->exact ? 0 : 1);
}
