/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call frame information of one ELF file, found by address: .eh_frame through the sorted
 * table of .eh_frame_hdr, or through an index of our own where that is missing; or .debug_frame.
 * Reads what is asked for and nothing else. One thread at a time.
 */
#pragma once

#include "cfi_entry.h"
#include "effort.h"
#include "rule.h"

struct cfi_index_entry {
	uint64_t start;  /* of the code */
	uint64_t offset; /* of the FDE in its section */
};

struct cfi {
	struct cfi_section section;
	const struct unwind_machine *machine;
	const uint8_t *table;          /* of .eh_frame_hdr, in the file; NULL: the index is used */
	struct cfi_index_entry *index; /* owned, by start */
	size_t count;                  /* entries of either */
};

/*
 * @view's file is borrowed until deinit. Returns 0, also when the file has none, or -ENOMEM. A
 * machine that we do not know has none.
 */
int cfi_init_eh_frame(struct cfi *cfi, const struct elf_view *view);

/* @piece is the section, inflated; without bytes there is nothing. Borrowed until deinit. */
int cfi_init_debug_frame(struct cfi *cfi, uint16_t elf_machine, const struct elf_piece *piece);
void cfi_deinit(struct cfi *cfi);

/* The entry at @position of the table, below @cfi->count. */
struct cfi_index_entry cfi_entry_at(const struct cfi *cfi, size_t position);

/* The entry that begins at @address; false: none does. */
bool cfi_find(const struct cfi *cfi, uint64_t address, struct cfi_fde *ret);

/* The entry whose code holds @address; false: none does. */
bool cfi_find_covering(const struct cfi *cfi, uint64_t address, struct cfi_fde *ret);

/* Give the rules of all of [start, limit), UNKNOWN where no entry covers it or @effort has ended.
 */
void cfi_visit(const struct cfi *cfi, uint64_t start, uint64_t limit, struct effort *effort,
	       unwind_take_function take, void *context);
