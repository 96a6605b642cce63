/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to get from a frame to its caller, for one range of code: what remains of DWARF's call
 * frame information (DWARF 5, section 6.4) when only the program counter, the stack pointer and
 * the frame pointer are carried from frame to frame. Constant; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Where the canonical frame address is: the caller's stack pointer, at the call. */
enum unwind_cfa {
	UNWIND_CFA_UNKNOWN,      /* no table says anything of this code */
	UNWIND_CFA_END,          /* the outermost frame: it has no caller */
	UNWIND_CFA_REGISTER,     /* register + offset */
	UNWIND_CFA_DEREFERENCED, /* *(register + offset) + addend */
	/* register + offset + (pc % 16 >= addend ? 8 : 0): a stub of the procedure linkage table */
	UNWIND_CFA_PLT,
	UNWIND_CFA_UNSUPPORTED, /* said, but not in a form of ours; .unsupported says why */
};

/* Where the caller's value of a register is. */
enum unwind_saved {
	UNWIND_SAME,        /* still in the register */
	UNWIND_AT_CFA,      /* *(cfa + offset) */
	UNWIND_AT_SP,       /* *(stack pointer of this frame + offset): signal frames */
	UNWIND_AT_FP,       /* *(frame pointer of this frame + offset): realigned stacks */
	UNWIND_IN_REGISTER, /* in the register of DWARF number `offset`; known in a leaf only */
	UNWIND_LOST,        /* the caller's value is gone */
};

/* What a table said that no rule can say. */
enum unwind_unsupported {
	UNWIND_SUPPORTED,
	UNWIND_BAD_PROGRAM, /* malformed, or beyond our bounds */
	UNWIND_CFA_EXPRESSION,
	UNWIND_RA_EXPRESSION,
	UNWIND_FP_EXPRESSION,
	UNWIND_RANGE,       /* an offset does not fit */
	UNWIND_OTHER_STACK, /* the caller is on a stack that no register leads to */
	UNWIND_UNSUPPORTED_COUNT,
};

/* Machine-independent: `register` is sp, fp or, in a leaf, any other DWARF number. */
struct unwind_rule {
	uint8_t cfa;          /* enum unwind_cfa */
	uint8_t cfa_register; /* DWARF number */
	uint8_t ra;           /* enum unwind_saved: the return address */
	uint8_t fp;           /* enum unwind_saved: the frame pointer */
	uint8_t signal;       /* 1: interrupted there, not called; the pc is exact */
	uint8_t unsupported;  /* enum unwind_unsupported */
	uint8_t stack_switch; /* 1: the caller is on another stack, which need not lie above */
	uint8_t reserved;
	int32_t cfa_offset, cfa_addend;
	int32_t ra_offset, fp_offset;
};

_Static_assert(sizeof(struct unwind_rule) == 24, "no padding: rules are compared as bytes");

/* DWARF numbers of the registers that are carried (System V ABI AMD64 3.6.2, DWARF for the Arm
 * 64-bit Architecture 4.1). */
struct unwind_machine {
	uint16_t elf_machine; /* EM_X86_64, EM_AARCH64 */
	uint8_t sp, fp, ra;
};

/* NULL for any other machine. */
const struct unwind_machine *unwind_machine_find(uint16_t elf_machine);

/* Takes what holds for [start, limit). Ranges come in ascending order and do not overlap. */
typedef void (*unwind_take_function)(void *context, uint64_t start, uint64_t limit,
				     const struct unwind_rule *rule);
