/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entries of .eh_frame and .debug_frame: common information entries (CIE) and frame
 * description entries (FDE); DWARF 5, section 6.4.1, and Linux Standard Base 5.0 Core, section
 * 10.6. One thread at a time.
 */
#pragma once

#include "elf_view.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_section {
	struct elf_piece piece;
	bool debug;    /* .debug_frame */
	uint64_t data; /* what DW_EH_PE_datarel is relative to */
};

struct cfi_program_bytes {
	const uint8_t *bytes;
	size_t length;
};

struct cfi_cie {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint64_t return_register;
	uint8_t pointer_encoding;
	bool augmented; /* an FDE has augmentation data */
	bool signal;
	struct cfi_program_bytes program;
};

struct cfi_fde {
	struct cfi_cie cie;
	uint64_t start, limit; /* of the code, limit exclusive */
	struct cfi_program_bytes program;
};

enum cfi_entry {
	CFI_ENTRY_FDE,
	CFI_ENTRY_OTHER, /* a CIE, or an FDE that is malformed or of no code */
	CFI_ENTRY_END,   /* of the section, or nothing behind it can be read */
};

/* Read the entry at @offset of @section; *@next_ret is where the next one begins. */
enum cfi_entry cfi_entry_read(const struct cfi_section *section, size_t offset, struct cfi_fde *ret,
			      size_t *next_ret);
