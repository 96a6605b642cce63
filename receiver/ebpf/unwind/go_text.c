// SPDX-License-Identifier: Apache-2.0
#include "go_text.h"

#include <elf.h>
#include <string.h>

enum {
	/* Bytes in a moduledata: the table's address, six slices, findfunctab, minpc, maxpc. */
	MODULEDATA_MINPC = 8 + 6 * 24 + 8,
	MODULEDATA_TEXT = MODULEDATA_MINPC + 16,
	MODULEDATA_BYTES = MODULEDATA_TEXT + 8,
};

static uint64_t word_at(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* Does a moduledata begin with @table here? Its text begins where its first function does. */
static bool is_moduledata(const struct elf_view *view, const uint8_t *bytes, uint64_t table,
			  uint64_t *ret)
{
	uint64_t text = word_at(bytes + MODULEDATA_TEXT);

	if (word_at(bytes) != table || text > word_at(bytes + MODULEDATA_MINPC) ||
	    !elf_view_code(view, text, 1).bytes)
		return false;
	*ret = text;
	return true;
}

static bool find_in_data(const struct elf_view *view, uint64_t table, uint64_t *ret)
{
	for (size_t i = 0; i < view->segment_count; i++) {
		const struct elf_view_segment *segment = &view->segments[i];
		const uint8_t *bytes = view->file + segment->file_offset;

		if (segment->executable || !segment->writable)
			continue;
		for (uint64_t at = -segment->address & 7;
		     segment->file_bytes >= MODULEDATA_BYTES &&
		     at <= segment->file_bytes - MODULEDATA_BYTES;
		     at += 8)
			if (is_moduledata(view, bytes + at, table, ret))
				return true;
	}
	return false;
}

/* The number that is written to @address when the file is loaded at 0; UINT64_MAX: none. */
static uint64_t relocated(const struct elf_piece *relocations, uint64_t address)
{
	for (size_t at = 0; at + sizeof(Elf64_Rela) <= relocations->length;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela relocation;

		memcpy(&relocation, relocations->bytes + at, sizeof(relocation));
		if (relocation.r_offset == address)
			return (uint64_t)relocation.r_addend;
	}
	return UINT64_MAX;
}

static bool find_in_relocations(const struct elf_view *view, uint64_t table, uint64_t *ret)
{
	struct elf_piece piece = elf_view_at(view, elf_view_dynamic(view, DT_RELA));
	uint64_t bytes = elf_view_dynamic(view, DT_RELASZ);
	unsigned int tries = 8; /* each is a pass over all: the table has few other references */

	if (piece.length > bytes)
		piece.length = bytes;
	for (size_t at = 0; tries && at + sizeof(Elf64_Rela) <= piece.length;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela relocation;
		uint64_t text, first;

		memcpy(&relocation, piece.bytes + at, sizeof(relocation));
		if ((uint64_t)relocation.r_addend != table)
			continue;
		tries--;
		text = relocated(&piece, relocation.r_offset + MODULEDATA_TEXT);
		first = relocated(&piece, relocation.r_offset + MODULEDATA_MINPC);
		if (first != UINT64_MAX && text <= first && elf_view_code(view, text, 1).bytes) {
			*ret = text;
			return true;
		}
	}
	return false;
}

uint64_t go_text_find(const struct elf_view *view, uint64_t table)
{
	uint64_t text = 0;

	if (table && (find_in_data(view, table, &text) || find_in_relocations(view, table, &text)))
		return text;
	return elf_view_section(view, ".text").address;
}
