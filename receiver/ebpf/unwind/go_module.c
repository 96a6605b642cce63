// SPDX-License-Identifier: Apache-2.0
#include "go_module.h"

#include <elf.h>
#include <string.h>

enum {
	/* Bytes in a moduledata: the table's address, six slices, findfunctab, minpc, maxpc. */
	MODULEDATA_MINPC = 8 + 6 * 24 + 8,
	MODULEDATA_TEXT = MODULEDATA_MINPC + 16,
	MODULEDATA_BYTES = MODULEDATA_TEXT + 8,
	/* And on to gofunc: eight pairs, up to gcbss, two or three of types, rodata. Since 1.20
	 * covctrs, since 1.27 typedesclen and two of itabs lie in between. */
	MODULEDATA_GOFUNC_118 = 304,
	MODULEDATA_GOFUNC_120 = 320,
	MODULEDATA_GOFUNC_127 = 344,
};

/* What may be a moduledata: its bytes as linked, or what is relocated to there. */
struct candidate {
	const uint8_t *bytes; /* or NULL */
	size_t length;
	struct elf_piece relocations;
	uint64_t address;
};

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

/* The address at @offset; UINT64_MAX: none is there. */
static uint64_t word_at(const struct candidate *candidate, size_t offset)
{
	uint64_t word;

	if (!candidate->bytes)
		return relocated(&candidate->relocations, candidate->address + offset);
	if (offset + sizeof(word) > candidate->length)
		return UINT64_MAX;
	memcpy(&word, candidate->bytes + offset, sizeof(word));
	return word;
}

static uint64_t find_function_data(const struct candidate *candidate, uint64_t table,
				   bool since_120)
{
	uint64_t data = word_at(candidate, MODULEDATA_GOFUNC_127);
	uint64_t end = word_at(candidate, MODULEDATA_GOFUNC_127 + 8);

	// Since 1.26 it lies in the table, whose end follows; before 1.27 there are lengths here.
	if (!since_120 || data <= table || end == UINT64_MAX || data > end)
		data = word_at(candidate,
			       since_120 ? MODULEDATA_GOFUNC_120 : MODULEDATA_GOFUNC_118);
	return data == UINT64_MAX ? 0 : data;
}

/* Is it one, of @table? Its text begins where its first function does, or before. */
static bool read_moduledata(const struct elf_view *view, const struct candidate *candidate,
			    uint64_t table, bool since_120, struct go_module *ret)
{
	uint64_t text = word_at(candidate, MODULEDATA_TEXT);
	uint64_t first = word_at(candidate, MODULEDATA_MINPC);

	if (word_at(candidate, 0) != table || first == UINT64_MAX || text > first ||
	    !elf_view_code(view, text, 1).bytes)
		return false;
	ret->text = text;
	ret->function_data = find_function_data(candidate, table, since_120);
	return true;
}

static bool find_in_data(const struct elf_view *view, uint64_t table, bool since_120,
			 struct go_module *ret)
{
	for (size_t i = 0; i < view->segment_count; i++) {
		const struct elf_view_segment *segment = &view->segments[i];
		const uint8_t *bytes = view->file + segment->file_offset;

		if (segment->executable || !segment->writable)
			continue;
		for (uint64_t at = -segment->address & 7;
		     segment->file_bytes >= MODULEDATA_BYTES &&
		     at <= segment->file_bytes - MODULEDATA_BYTES;
		     at += 8) {
			const struct candidate candidate = {
				.bytes = bytes + at,
				.length = segment->file_bytes - at,
			};

			if (read_moduledata(view, &candidate, table, since_120, ret))
				return true;
		}
	}
	return false;
}

static bool find_in_relocations(const struct elf_view *view, uint64_t table, bool since_120,
				struct go_module *ret)
{
	struct candidate candidate = {
		.relocations = elf_view_at(view, elf_view_dynamic(view, DT_RELA)),
	};
	struct elf_piece *piece = &candidate.relocations;
	uint64_t bytes = elf_view_dynamic(view, DT_RELASZ);
	unsigned int tries = 8; /* some passes over all: the table has few other references */

	if (piece->length > bytes)
		piece->length = bytes;
	for (size_t at = 0; tries && at + sizeof(Elf64_Rela) <= piece->length;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela relocation;

		memcpy(&relocation, piece->bytes + at, sizeof(relocation));
		if ((uint64_t)relocation.r_addend != table)
			continue;
		tries--;
		candidate.address = relocation.r_offset;
		if (read_moduledata(view, &candidate, table, since_120, ret))
			return true;
	}
	return false;
}

struct go_module go_module_find(const struct elf_view *view, uint64_t table, bool since_120)
{
	struct go_module module = { 0 };

	if (table && (find_in_data(view, table, since_120, &module) ||
		      find_in_relocations(view, table, since_120, &module)))
		return module;
	module.text = elf_view_section(view, ".text").address;
	return module;
}
