// SPDX-License-Identifier: Apache-2.0
#include "cfi.h"

#include "cfi_program.h"
#include "encoding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HDR_ENTRY_BYTES = 8,
	MAX_ENTRIES = 1 << 24,
};

/* ---- the table of .eh_frame_hdr: Linux Standard Base 5.0 Core, section 10.6.2 ---- */

struct hdr {
	uint64_t eh_frame; /* address */
	const uint8_t *table;
	size_t count;
};

static bool hdr_read(const struct elf_piece *piece, struct hdr *ret)
{
	struct reader reader = reader_over(piece->bytes, piece->length);
	const struct encoding_bases bases = {
		.bytes = piece->bytes,
		.address = piece->address,
		.data = piece->address,
	};
	uint8_t frame_encoding, count_encoding, table_encoding;
	uint64_t count;

	*ret = (struct hdr){ 0 };
	if (reader_u8(&reader) != 1)
		return false;
	frame_encoding = reader_u8(&reader);
	count_encoding = reader_u8(&reader);
	table_encoding = reader_u8(&reader);
	ret->eh_frame = encoding_read_pointer(&reader, frame_encoding, &bases);
	if (reader.failed)
		return false;
	// Every linker writes the table so; what is written otherwise we index ourselves.
	if (count_encoding == ENCODING_OMIT ||
	    table_encoding != (ENCODING_DATAREL | ENCODING_SDATA4))
		return true;
	count = encoding_read_pointer(&reader, count_encoding, &bases);
	if (!reader.failed && count <= reader_left(&reader) / HDR_ENTRY_BYTES) {
		ret->table = reader.at;
		ret->count = count;
	}
	return true;
}

static struct cfi_index_entry table_entry(const struct cfi *cfi, size_t position)
{
	int32_t numbers[2];

	memcpy(numbers, cfi->table + position * HDR_ENTRY_BYTES, sizeof(numbers));
	return (struct cfi_index_entry){
		.start = cfi->section.data + (uint64_t)(int64_t)numbers[0],
		.offset = cfi->section.data + (uint64_t)(int64_t)numbers[1] -
			  cfi->section.piece.address,
	};
}

/* ---- our own index ---- */

static int index_build(struct cfi *cfi)
{
	VECTOR(struct cfi_index_entry) entries = { 0 };
	enum cfi_entry entry;
	struct cfi_fde fde;
	size_t offset = 0, next = 0;

	while ((entry = cfi_entry_read(&cfi->section, offset, &fde, &next)) != CFI_ENTRY_END) {
		struct cfi_index_entry item = { .start = fde.start, .offset = offset };

		offset = next;
		if (entry != CFI_ENTRY_FDE)
			continue;
		if (entries.count == MAX_ENTRIES || !VECTOR_PUSH(&entries, item)) {
			VECTOR_DEINIT(&entries);
			return -ENOMEM;
		}
	}
	cfi->index = entries.items;
	cfi->count = entries.count;
	return radix_sort(cfi->index, cfi->count, sizeof(*cfi->index),
			  offsetof(struct cfi_index_entry, start));
}

/* ---- life ---- */

int cfi_init_eh_frame(struct cfi *cfi, const struct elf_view *view)
{
	struct elf_piece piece = elf_view_section(view, ".eh_frame_hdr");
	struct hdr hdr = { 0 };
	bool found;

	*cfi = (struct cfi){ .machine = unwind_machine_find(view->machine) };
	if (!cfi->machine)
		return 0;
	if (!piece.bytes && view->eh_frame_hdr) {
		piece = elf_view_at(view, view->eh_frame_hdr);
		if (piece.length > view->eh_frame_hdr_bytes)
			piece.length = view->eh_frame_hdr_bytes;
	}
	found = piece.bytes && hdr_read(&piece, &hdr);
	cfi->section.data = found ? piece.address : 0;
	cfi->section.piece = elf_view_section(view, ".eh_frame");
	// Without section headers it reaches to the entry of length 0 that ends it.
	if (!cfi->section.piece.bytes && found)
		cfi->section.piece = elf_view_at(view, hdr.eh_frame);
	if (!cfi->section.piece.bytes)
		return 0;
	if (hdr.table) {
		cfi->table = hdr.table;
		cfi->count = hdr.count;
		return 0;
	}
	return index_build(cfi);
}

int cfi_init_debug_frame(struct cfi *cfi, uint16_t elf_machine, const struct elf_piece *piece)
{
	*cfi = (struct cfi){ .machine = unwind_machine_find(elf_machine) };
	if (!cfi->machine || !piece->bytes)
		return 0;
	cfi->section.debug = true;
	cfi->section.piece = *piece;
	return index_build(cfi);
}

void cfi_deinit(struct cfi *cfi)
{
	free(cfi->index);
	cfi->index = NULL;
	cfi->count = 0;
}

/* ---- by address ---- */

struct cfi_index_entry cfi_entry_at(const struct cfi *cfi, size_t position)
{
	return cfi->table ? table_entry(cfi, position) : cfi->index[position];
}

/* The last entry that begins at or before @address; 0 when none does. */
static size_t find_entry(const struct cfi *cfi, uint64_t address)
{
	size_t low = 0, high = cfi->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cfi_entry_at(cfi, middle).start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : 0;
}

bool cfi_find_covering(const struct cfi *cfi, uint64_t address, struct cfi_fde *ret)
{
	struct cfi_index_entry entry;
	size_t next;

	if (!cfi->count)
		return false;
	entry = cfi_entry_at(cfi, find_entry(cfi, address));
	return cfi_entry_read(&cfi->section, entry.offset, ret, &next) == CFI_ENTRY_FDE &&
	       address >= ret->start && address < ret->limit;
}

bool cfi_find(const struct cfi *cfi, uint64_t address, struct cfi_fde *ret)
{
	return cfi_find_covering(cfi, address, ret) && ret->start == address;
}

static void give_unknown(uint64_t start, uint64_t limit, unwind_take_function take, void *context)
{
	static const struct unwind_rule unknown = { .cfa = UNWIND_CFA_UNKNOWN };

	if (start < limit)
		take(context, start, limit, &unknown);
}

/* The code of one entry from @at on, inside @whole. Returns where the rules end. */
static uint64_t visit_entry(const struct cfi *cfi, size_t offset, uint64_t at,
			    const struct cfi_window *whole)
{
	struct cfi_window window = *whole;
	struct cfi_fde fde;
	size_t next;

	if (cfi_entry_read(&cfi->section, offset, &fde, &next) != CFI_ENTRY_FDE ||
	    fde.limit <= at || fde.start >= whole->limit)
		return at;
	window.start = fde.start > at ? fde.start : at;
	window.limit = fde.limit < whole->limit ? fde.limit : whole->limit;
	give_unknown(at, window.start, window.take, window.context);
	cfi_program_run(&fde, &cfi->section, cfi->machine, &window);
	return window.limit;
}

void cfi_visit(const struct cfi *cfi, uint64_t start, uint64_t limit, struct effort *effort,
	       unwind_take_function take, void *context)
{
	struct cfi_window window = { .take = take, .context = context, .effort = effort };
	uint64_t at = start;

	for (size_t i = find_entry(cfi, start); i < cfi->count && at < limit; i++) {
		struct cfi_index_entry entry = cfi_entry_at(cfi, i);

		if (entry.start >= limit || !effort_spend(effort, EFFORT_ENTRY))
			break;
		window.limit = limit;
		if (i + 1 < cfi->count && cfi_entry_at(cfi, i + 1).start < limit)
			window.limit = cfi_entry_at(cfi, i + 1).start;
		// A file may have its entries in any order: then those that go back say nothing.
		if (window.limit > at)
			at = visit_entry(cfi, entry.offset, at, &window);
	}
	give_unknown(at, limit, take, context);
}
