/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's table of functions, .gopclntab, which every Go program has, stripped or not: how far the
 * stack pointer lies below the caller's, for each pc. Layouts of Go 1.16, 1.18 and 1.20 and
 * later: runtime/symtab.go (pcHeader, step), runtime/runtime2.go (_func) and
 * cmd/link/internal/ld/pcln.go of those. One thread at a time.
 */
#pragma once

#include "elf_view.h"
#include "rule.h"

enum pclntab_version { PCLNTAB_NONE, PCLNTAB_116, PCLNTAB_118, PCLNTAB_120 };

struct pclntab {
	const struct elf_view *view;
	const struct unwind_machine *machine;
	enum pclntab_version version; /* NONE: there is no table that we can read */
	uint8_t quantum;              /* bytes that a pc delta of 1 stands for */
	uint64_t text;                /* what entries are relative to; 0 in 1.16 */
	uint64_t function_count;
	const uint8_t *functions; /* the sorted index, and what it points to */
	size_t functions_bytes;
	const uint8_t *deltas; /* all pc-value tables */
	size_t deltas_bytes;
	const char *names;
	size_t names_bytes;
};

/* @view is borrowed as long as @table is used. Never fails: without a table nothing is known. */
void pclntab_init(struct pclntab *table, const struct elf_view *view);

/* Give the rules of all of [start, limit), UNKNOWN outside of Go's functions. */
void pclntab_visit(const struct pclntab *table, uint64_t start, uint64_t limit,
		   unwind_take_function take, void *context);
