/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF expressions in call frame information, brought into the forms that rules have. GCC,
 * LLVM, linkers, glibc and OpenSSL write but a few: a register and an offset, what lies there, and
 * the one of linkage tables. One thread at a time.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum cfi_value_kind {
	CFI_VALUE_UNKNOWN,
	CFI_VALUE_NUMBER,       /* .offset */
	CFI_VALUE_REGISTER,     /* register + offset */
	CFI_VALUE_DEREFERENCED, /* *(register + offset) + addend */
	CFI_VALUE_PLT,          /* register + offset + (pc % 16 >= addend ? 8 : 0) */
	/* On the way to the latter; never a result. */
	CFI_VALUE_PC_LOW,   /* pc % 16 */
	CFI_VALUE_PC_TEST,  /* pc % 16 >= addend */
	CFI_VALUE_PC_EIGHT, /* 8 times that */
};

struct cfi_value {
	enum cfi_value_kind kind;
	uint64_t reg; /* DWARF number */
	int64_t offset, addend;
};

/* @pc_register: DWARF number under which the expression may ask for the pc. */
struct cfi_value cfi_expression_read(const uint8_t *bytes, size_t length, uint64_t pc_register);
