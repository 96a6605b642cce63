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
	bool executable;
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

/* The section of that name; without bytes when there is none, or it is compressed or outside. */
struct elf_piece elf_view_section(const struct elf_view *view, const char *name);
