/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Addresses to names: kernel functions from kallsyms, functions of ELF files
 * through the worker (worker/), which is the only one to parse such files.
 *
 * A file is read once: what a worker makes of it, an index of its functions, is kept, and so is, by
 * file and address range, what was asked of it, both under a byte budget.
 *
 * Threads: create, start and destroy from the host's, the rest from the reporter's; never two at a
 * time.
 */
#pragma once

#include "../processes/processes.h"

struct symbols;

struct symbols_settings {
	/* For names in use, a quarter, and the indexes of files; while a batch is built twice as
	 * much for names. */
	uint64_t memory_bytes;
	struct profcol_list debug_directories; /* absolute paths; borrowed until destroy */
	uint32_t worker_uid;                   /* whom workers become */
	uint32_t without_lines; /* 1 << enum runtime_number each: whose files are not asked */
};

/* NULL without memory. @host and @processes are borrowed until destroy. */
struct symbols *symbols_create(const struct profcol_host *host, struct processes *processes,
			       const struct symbols_settings *settings);
void symbols_destroy(struct symbols *symbols); /* accepts NULL; ends the workers */

/* Read kallsyms, start a worker. */
PROFCOL_MUST_CHECK struct profcol_error *symbols_start(struct symbols *symbols);

/* Processes that read files for it, with the memory for what they made of them; see
 * worker_pool_use. Any thread. */
struct worker_use;
void symbols_workers(const struct symbols *symbols, struct worker_use *use);

/* Bytes of memory that the indexes of all files take. Any thread. */
uint64_t symbols_index_memory(const struct symbols *symbols);

/* From now on names and indexes may take @memory_bytes, no more than the settings say. Indexes
 * beyond go at once, names when the batch is built. */
void symbols_limit(struct symbols *symbols, uint64_t memory_bytes);

/* In place of a file id: the code that the kernel maps into every 64-bit process as "[vdso]". */
enum { SYMBOLS_VDSO = UINT32_MAX - 16 };

/* A function that runs at an address. What is not known is 0, or "". */
struct symbol_line {
	const char *function, *file;
	uint32_t line, start_line; /* from 1 on */
};

struct symbol_query {
	/* in */
	uint32_t file;        /* file id of `processes`, or SYMBOLS_VDSO */
	uint64_t file_offset; /* of the instruction, bytes */
	/* out; text borrowed until symbols_forget */
	const char *name;        /* demangled; NULL when there is none, or not yet */
	const char *system_name; /* as in the symbol table; NULL when equal to name */
	bool unnamed;            /* there is something without a name, which begins at @entry */
	uint64_t entry;          /* in the file's own address space */
	uint64_t elf_address;    /* of the instruction in the file's own address space; the
				    file offset while the file is not read yet */
	/* Where a language runtime knows its file: the functions that run there, the innermost
	 * first, which are what it is called then; borrowed as the text is. */
	const struct symbol_line *lines;
	uint32_t line_count; /* 0: see name */
	uint32_t trace;      /* of enum runtime_trace */
	uint32_t runtime;    /* whose they are: its number */
};

/*
 * Answer all queries, waiting for the worker at most until @deadline_ns (CLOCK_MONOTONIC).
 * What comes later is there at the next call. Order does not matter.
 */
void symbols_lookup(struct symbols *symbols, struct symbol_query *queries, size_t count,
		    uint64_t deadline_ns);

/*
 * Take what has come since the last lookup, ask for what it had no time for, and end workers that
 * are idle or take too long. Without waiting. Returns in how many ns the next call is due; 0: in
 * about a second, since nothing more is to come.
 */
uint64_t symbols_tend(struct symbols *symbols);

/* Had the last lookup no time for all names, and are some still to come? */
bool symbols_are_behind(const struct symbols *symbols);

/* What is known of a file after a lookup in it; build ids as text, "" when it has none. */
struct symbol_file {
	const char *build_id_gnu; /* lower-case hex of NT_GNU_BUILD_ID */
	const char *build_id_go;
	const char *htlhash; /* lower-case hex, otlp-conventions "htlhash" */
};

bool symbols_file(struct symbols *symbols, uint32_t file, struct symbol_file *ret);

/* The load segment of @file that holds @file_offset, in the file's own address space. */
bool symbols_file_segment(struct symbols *symbols, uint32_t file, uint64_t file_offset,
			  uint64_t *elf_start_ret, uint64_t *elf_limit_ret,
			  uint64_t *segment_offset_ret);

struct kernel_symbol {
	const char *name;         /* borrowed until symbols_forget */
	const char *module;       /* "vmlinux", a module's name, or "bpf" */
	uint64_t module_start;    /* address of the module's (or the kernel's) text */
	const char *build_id_gnu; /* of the kernel or the module, hex; "" when unknown */
	const char *htlhash;      /* as kernel_modules.h says; "" when unknown */
};

/* Before symbols_start: as kernel_follow has it. */
struct kernel_code;
void symbols_follow_kernel(struct symbols *symbols, struct kernel_code *code);

bool symbols_kernel(struct symbols *symbols, uint64_t address, struct kernel_symbol *ret);

/* What the vDSO is. False: there is none. */
bool symbols_vdso(struct symbols *symbols, struct symbol_file *ret);

/* The batch is built: text handed out before may go. */
void symbols_forget(struct symbols *symbols);
