// SPDX-License-Identifier: Apache-2.0
#include "runtimes/go/build_info.h"

#include "unwind/unwind.h"

#include "base/base.h"

#include <elf.h>
#include <string.h>

enum {
	HEADER_BYTES = 32,
	HEADER_ALIGNMENT = 16,
	HEADER_POINTER_BYTES = 14, /* of an address: offset in the header */
	HEADER_FLAGS = 15,
	HEADER_VERSION = 16, /* address of a string, up to Go 1.17 */
	FLAG_BIG_ENDIAN = 1,
	FLAG_INLINE = 2, /* since Go 1.18: the text follows the header */
	SEARCHED_BYTES = 1 << 20,
};

static const char magic[] = "\xff Go buildinf:";

/* Is there all of a header? */
static bool begins(const struct elf_piece *piece)
{
	return piece->length >= HEADER_BYTES && !memcmp(piece->bytes, magic, sizeof(magic) - 1);
}

/* Go's linker puts it near the beginning of the data. */
static struct elf_piece search(const struct elf_view *view)
{
	for (size_t i = 0; i < view->segment_count; i++) {
		const struct elf_view_segment *segment = &view->segments[i];
		struct elf_piece piece;

		if (segment->executable || !segment->writable)
			continue;
		piece = elf_view_at(view, segment->address);
		for (size_t at = 0; at < SEARCHED_BYTES && at + HEADER_BYTES <= piece.length;
		     at += HEADER_ALIGNMENT) {
			const struct elf_piece found = {
				.bytes = piece.bytes + at,
				.length = piece.length - at,
				.address = piece.address + at,
			};

			if (begins(&found))
				return found;
		}
	}
	return (struct elf_piece){ 0 };
}

static struct elf_piece find(const struct elf_view *view)
{
	struct elf_piece piece = elf_view_section(view, ".go.buildinfo");

	// A file without sections was stripped of them.
	if (!piece.bytes && !view->has_sections)
		piece = search(view);
	return begins(&piece) ? piece : (struct elf_piece){ 0 };
}

/* The address at @address, which may be written there only when the file is loaded; 0: none. */
static uint64_t address_at(const struct elf_view *view, uint64_t address)
{
	struct elf_piece piece = elf_view_at(view, address);
	struct elf_piece relocations = elf_view_at(view, elf_view_dynamic(view, DT_RELA));
	uint64_t bytes = elf_view_dynamic(view, DT_RELASZ), word = 0;

	if (piece.length >= sizeof(word))
		memcpy(&word, piece.bytes, sizeof(word));
	if (relocations.length > bytes)
		relocations.length = bytes;
	for (size_t at = 0; !word && at + sizeof(Elf64_Rela) <= relocations.length;
	     at += sizeof(Elf64_Rela)) {
		Elf64_Rela relocation;

		memcpy(&relocation, relocations.bytes + at, sizeof(relocation));
		if (relocation.r_offset == address)
			word = (uint64_t)relocation.r_addend;
	}
	return word;
}

/* The text behind the header, after its length. */
static struct elf_piece inline_text(const struct elf_piece *piece)
{
	struct reader reader =
		reader_over(piece->bytes + HEADER_BYTES, piece->length - HEADER_BYTES);
	uint64_t length = reader_varint(&reader);
	const uint8_t *bytes = reader_bytes(&reader, length);

	return (struct elf_piece){ .bytes = bytes, .length = bytes ? length : 0 };
}

/* The text of the string that the header leads to. */
static struct elf_piece pointed_text(const struct elf_view *view, const struct elf_piece *piece)
{
	uint64_t string = address_at(view, piece->address + HEADER_VERSION);
	struct elf_piece text = elf_view_at(view, string ? address_at(view, string) : 0);
	struct elf_piece length = elf_view_at(view, string + sizeof(uint64_t));
	uint64_t bytes = 0;

	if (string && length.length >= sizeof(bytes))
		memcpy(&bytes, length.bytes, sizeof(bytes));
	if (bytes > text.length)
		return (struct elf_piece){ 0 };
	text.length = bytes;
	return text;
}

void go_build_info_version(const struct elf_view *view, char *to, size_t size)
{
	struct elf_piece piece = find(view), text = { 0 };
	size_t length;

	if (piece.bytes && piece.bytes[HEADER_FLAGS] & FLAG_INLINE)
		text = inline_text(&piece);
	else if (piece.bytes && !(piece.bytes[HEADER_FLAGS] & FLAG_BIG_ENDIAN) &&
		 piece.bytes[HEADER_POINTER_BYTES] == sizeof(uint64_t))
		text = pointed_text(view, &piece);
	length = text.length < size ? text.length : size - 1;
	for (size_t i = 0; i < length; i++)
		to[i] = text.bytes[i] >= ' ' && text.bytes[i] <= '~' ? (char)text.bytes[i] : '?';
	to[length] = '\0';
}
