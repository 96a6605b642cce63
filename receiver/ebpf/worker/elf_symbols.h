/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that one symbol table names, as candidates for function_ranges.h. One thread at a
 * time.
 */
#pragma once

#include "elf_facts.h"
#include "elf_sections.h"
#include "function_ranges.h"

#include "base/base.h"

/* What symbol tables have said so far. All zero is empty. */
struct elf_symbols {
	VECTOR(struct function_candidate) functions; /* names are offsets into strings */
	VECTOR(char) strings; /* owned copies; only when there are several tables */
	const char *names;    /* of the functions: strings, or borrowed from the file */
	size_t names_bytes;
};

/*
 * Add the functions of section @index of @sections, a symbol table, which lie in code of @facts.
 * What was added before stays right. The file is borrowed until deinit. Returns 0, also when there
 * are none or the table is broken, or -ENOMEM. @release is called after each piece of the table.
 */
int elf_symbols_add(struct elf_symbols *symbols, struct elf_sections *sections, size_t index,
		    const struct elf_facts *facts, const struct elf_release *release);
void elf_symbols_deinit(struct elf_symbols *symbols);
