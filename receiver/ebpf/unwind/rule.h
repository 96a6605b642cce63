/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How to get from a frame to its caller, for one range of code: what remains of DWARF's call
 * frame information (DWARF 5, section 6.4) when only the program counter, the stack pointer and
 * the frame pointer are carried from frame to frame. Constant; any thread.
 */
#pragma once

#include "sample.h" // struct unwind_rule

#include <stdbool.h>
#include <stdint.h>

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
