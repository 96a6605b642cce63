/* SPDX-License-Identifier: Apache-2.0 */
/* ELF files in memory that ends where the file ends: one byte further is a fault. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct elf_file {
	uint8_t *bytes; /* writable */
	size_t size;
	void *map;
	size_t map_bytes;
};

void elf_file_init(struct elf_file *file, const void *bytes, size_t size);
void elf_file_read(struct elf_file *file, const char *path); /* fails the test when it cannot */
void elf_file_deinit(struct elf_file *file);

/* Take away the section headers, as some packers do. */
void elf_file_drop_sections(struct elf_file *file);

/* Call @each for every line "address type name" of the output of nm at @path. */
void nm_read(const char *path,
	     void (*each)(void *context, uint64_t address, char type, const char *name),
	     void *context);
