/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go's table of functions, .gopclntab, which every Go program has, stripped or not: how far the
 * stack pointer lies below the caller's, for each pc, and where names and lines are
 * (../runtimes/go/lines.h reads those). Layouts of Go 1.16, 1.18 and 1.20 and
 * later: runtime/symtab.go (pcHeader, step), runtime/runtime2.go (_func) and
 * cmd/link/internal/ld/pcln.go of those. One thread at a time.
 */
#pragma once

#include "effort.h"
#include "elf_view.h"
#include "rule.h"

#include "base/base.h"

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
	const uint8_t *units; /* of each compilation unit where the names of its files are */
	size_t units_bytes;
	const char *files;
	size_t files_bytes;
	uint64_t function_data; /* since 1.18: the address that functions' data are relative to; 0:
				   not known */
};

/* @view is borrowed as long as @table is used. Never fails: without a table nothing is known. */
void pclntab_init(struct pclntab *table, const struct elf_view *view);

/* Give the rules of all of [start, limit), UNKNOWN outside of Go's functions or where @effort has
 * ended; each step of a table is one. */
void pclntab_visit(const struct pclntab *table, uint64_t start, uint64_t limit,
		   struct effort *effort, unwind_take_function take, void *context);

/* The function that holds @address, as a number below function_count. False: none does. */
bool pclntab_find(const struct pclntab *table, uint64_t address, uint64_t *position_ret);

/* The _func of the function at @position, and what follows it up to the end of the table. */
struct elf_piece pclntab_record(const struct pclntab *table, uint64_t position);

/* NULL when there is none at @offset. */
const char *pclntab_name(const struct pclntab *table, uint32_t offset);

/* A pc-value table: a value for each piece of a function, from its start on. */
struct pclntab_steps {
	struct reader reader;
	uint64_t pc;    /* @value holds up to here, */
	uint64_t limit; /* and no value behind this */
	uint32_t value;
	bool begun;
};

/* The one at @offset of the deltas, 0: none, for a function of [start, limit). */
struct pclntab_steps pclntab_steps_begin(const struct pclntab *table, uint32_t offset,
					 uint64_t start, uint64_t limit);
bool pclntab_steps_next(struct pclntab_steps *steps, const struct pclntab *table);

/* Where the function at @position, below function_count, begins, and where the next one does, which
 * may be before it in a broken table. */
uint64_t pclntab_start(const struct pclntab *table, uint64_t position);
uint64_t pclntab_limit(const struct pclntab *table, uint64_t position);
