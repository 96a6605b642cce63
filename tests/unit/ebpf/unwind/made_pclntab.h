/* SPDX-License-Identifier: Apache-2.0 */
/* Go's table of functions, made as the linkers of its versions write it. */
#pragma once

#include "receiver/ebpf/unwind/pclntab.h"

#include <stddef.h>
#include <stdint.h>

enum { MADE_PCLNTAB_BYTES = 4096, MADE_PCLNTAB_STEPS = 8 };

/* Up to @limit, bytes from the function's start, it has taken @depth bytes off the stack. */
struct made_step {
	uint32_t limit;
	int32_t depth;
};

/* A call that was inlined. */
struct made_call {
	const char *name;
	uint32_t parent; /* where in the function it was called, bytes from the start */
	uint8_t id;
	int32_t start_line;
};

/* What is known of a function's source. Values of steps are numbers: of a file in made_files, of a
 * line, of a call in @calls (-1: none is inlined there). */
struct made_source {
	uint8_t id;
	int32_t start_line;
	struct made_step files[MADE_PCLNTAB_STEPS], lines[MADE_PCLNTAB_STEPS];
	struct made_step inlined[MADE_PCLNTAB_STEPS];
	struct made_call calls[4];
	size_t call_count;
};

extern const char *const made_files[2];

struct made_function {
	const char *name;
	uint64_t start;
	uint8_t flag;
	struct made_step steps[MADE_PCLNTAB_STEPS]; /* ended by limit 0 */
	const struct made_source *source;           /* or NULL */
};

/*
 * Write the table of @count functions, ascending, the last one up to @limit. @text is what entries
 * are relative to; @says_text: the table has it. Returns its length.
 */
size_t made_pclntab_write(uint8_t to[MADE_PCLNTAB_BYTES], enum pclntab_version version,
			  uint8_t quantum, const struct made_function *functions, size_t count,
			  uint64_t limit, uint64_t text, bool says_text);

/* The same with sources, of a table at @address. *@function_data_ret: what the offsets of
 * functions' data are relative to. */
size_t made_pclntab_write_sources(uint8_t to[MADE_PCLNTAB_BYTES], enum pclntab_version version,
				  const struct made_function *functions, size_t count,
				  uint64_t limit, uint64_t text, uint64_t address,
				  uint64_t *function_data_ret);
