/* SPDX-License-Identifier: Apache-2.0 */
/* Small ELF files, made section by section. What cannot be made fails the test. */
#pragma once

#include "receiver/ebpf/unwind/elf_view.h"

#include <stddef.h>
#include <stdint.h>

enum { MADE_ELF_SECTIONS = 12, MADE_ELF_BYTES = 1 << 16 };

struct made_elf {
	uint8_t bytes[MADE_ELF_BYTES];
	size_t size;
	struct made_section {
		const char *name; /* borrowed */
		uint64_t address; /* 0: not loaded */
		uint64_t offset, length;
		uint64_t flags;   /* SHF_... */
		uint32_t segment; /* PT_LOAD, or another type beside it; 0: no segment */
	} sections[MADE_ELF_SECTIONS];
	size_t count;
	uint16_t machine, type;
	uint64_t entry;
	struct elf_view view; /* after made_elf_finish() */
};

void made_elf_begin(struct made_elf *elf, uint16_t machine);

/* Bytes in a section of their own, and if @address is not 0 in a segment of their own. */
void made_elf_add(struct made_elf *elf, const char *name, uint64_t address, const void *bytes,
		  size_t length, uint64_t flags);

/* As above, with a second program header of that type, PT_DYNAMIC or the like. */
void made_elf_add_typed(struct made_elf *elf, const char *name, uint64_t address, const void *bytes,
			size_t length, uint64_t flags, uint32_t type);

/* Write the headers, with or without those of sections, and open the view. */
void made_elf_finish(struct made_elf *elf, bool with_sections);
