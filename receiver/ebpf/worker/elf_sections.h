/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections of an ELF file, little-endian of 32 or 64 bits, by libelf. Nothing in it is
 * believed: what is given out lies inside the file, or was unpacked within a bound. One thread at a
 * time.
 */
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_SECTIONS_INFLATED = 4 };

struct elf_sections {
	Elf *elf;
	size_t count;
	bool is_64_bit;
	uint16_t machine;
	size_t names; /* section */
	struct {
		size_t section;
		uint8_t *bytes; /* owned */
		size_t length;
	} inflated[ELF_SECTIONS_INFLATED];
	size_t inflated_count, inflated_bytes;
};

/* Bytes of a section. */
struct elf_bytes {
	const uint8_t *bytes; /* NULL: there are none */
	size_t length;
};

/* @file is borrowed until close. False when it is no such file; then close need not be called. */
bool elf_sections_open(struct elf_sections *sections, const void *file, size_t size);
void elf_sections_close(struct elf_sections *sections);

/* By value: in a broken file the original may lie at any address. */
bool elf_sections_header(const struct elf_sections *sections, size_t index, GElf_Shdr *ret);

/* The first section of that name, or type; 0: none. */
size_t elf_sections_find(const struct elf_sections *sections, const char *name);
size_t elf_sections_find_type(const struct elf_sections *sections, uint32_t type);

/*
 * The bytes of section @index, unpacked if they are compressed, which is done once. Borrowed until
 * close. Without bytes when there are none in the file, or they are broken, or more than 192 MiB
 * would have been unpacked in all. 0 or -ENOMEM.
 */
int elf_sections_bytes(struct elf_sections *sections, size_t index, struct elf_bytes *ret);

/* Bytes on the heap. */
static inline size_t elf_sections_memory(const struct elf_sections *sections)
{
	return sections->inflated_bytes;
}
