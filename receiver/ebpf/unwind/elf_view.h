/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An ELF file as bytes at addresses, for readers of its tables. Everything in it is hostile:
 * sizes and offsets are checked here, contents by the readers. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_VIEW_SEGMENTS = 64 };

struct elf_view_segment {
	uint64_t address, file_offset, file_bytes;
	bool executable, writable;
};

struct elf_view {
	const uint8_t *file; /* borrowed */
	size_t size;
	uint16_t machine; /* e_machine */
	uint16_t type;    /* e_type */
	uint64_t entry;
	struct elf_view_segment segments[ELF_VIEW_SEGMENTS]; /* PT_LOADs with bytes in the file */
	size_t segment_count;
	uint64_t eh_frame_hdr, eh_frame_hdr_bytes; /* PT_GNU_EH_FRAME; 0 without */
	uint64_t dynamic, dynamic_bytes;           /* PT_DYNAMIC; 0 without */
	bool has_interpreter;                      /* PT_INTERP */
	bool has_sections;
};

/* Bytes of the file that lie at an address. */
struct elf_piece {
	const uint8_t *bytes; /* NULL: there are none */
	size_t length;
	uint64_t address; /* of the first; 0 for what is not loaded */
};

/* False when it is no 64-bit little-endian ELF file. @file is borrowed. */
bool elf_view_init(struct elf_view *view, const void *file, size_t size);

/* From @address to the end of what the file has of its segment. */
struct elf_piece elf_view_at(const struct elf_view *view, uint64_t address);

/* At most @length bytes from @address on, all of them code; without bytes where there is none. */
struct elf_piece elf_view_code(const struct elf_view *view, uint64_t address, size_t length);

/* The section of that name; without bytes when there is none, or it is compressed or outside. */
struct elf_piece elf_view_section(const struct elf_view *view, const char *name);

/*
 * A section that is compressed (SHF_COMPRESSED): its bytes as they are, without the header in front
 * of them, and in *@type_ret and *@size_ret what that says: ELFCOMPRESS_ZLIB and the like, and the
 * size of what comes out. Without bytes when there is none, or it is not compressed.
 */
struct elf_piece elf_view_compressed_section(const struct elf_view *view, const char *name,
					     uint32_t *type_ret, uint64_t *size_ret);

/* The value of an entry of the dynamic section, DT_...; 0 when there is none. */
uint64_t elf_view_dynamic(const struct elf_view *view, int64_t tag);

/* DT_SONAME, in the file; NULL without. */
const char *elf_view_soname(const struct elf_view *view);

/* The address of the function of that name in .dynsym or .symtab; 0 when there is none. */
uint64_t elf_view_function(const struct elf_view *view, const char *name);

/* The same for a variable. */
uint64_t elf_view_object(const struct elf_view *view, const char *name);

/* A symbol of a file; its name is borrowed from that. */
struct elf_view_symbol {
	const char *name;
	uint64_t value, size;
	bool is_function;
};

/* Give all functions, variables, and places without a type of .dynsym, if not @local, or of
 * .symtab, whose names begin with
 * @prefix, until @take returns false. */
void elf_view_visit_symbols(const struct elf_view *view, bool local, const char *prefix,
			    bool (*take)(void *context, const struct elf_view_symbol *symbol),
			    void *context);
