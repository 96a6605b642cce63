/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of an ELF file: of .symtab, or of .dynsym when that has none.
 * One thread at a time.
 */
#pragma once

#include "elf_facts.h"
#include "function_ranges.h"

struct elf_symbols {
	struct function_ranges functions; /* names are offsets into strings */
	const char *strings;              /* borrowed from the file */
	size_t strings_bytes;
};

/*
 * @file is borrowed until deinit and stays as it is. Returns 0, also for a file without symbols or
 * one that is broken, or -ENOMEM. @release is called with @context after each piece of the symbol
 * table: what has been read of the file by then is hardly needed again.
 */
int elf_symbols_read(const void *file, size_t size, const struct elf_facts *facts,
		     void (*release)(const void *context), const void *context,
		     struct elf_symbols *ret);
void elf_symbols_deinit(struct elf_symbols *symbols);
