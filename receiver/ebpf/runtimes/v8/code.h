/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that V8 has made, which lies in its heap (Code, InstructionStream): found by an address in
 * it, since functions get other code while some of their frames still run the old one. One thread
 * at a time.
 */
#pragma once

#include "function.h"

enum v8_code_kind {
	V8_CODE_OTHER, /* wrappers; regular expressions where their frames have a number */
	V8_CODE_REGEXP,
	V8_CODE_BASELINE,
	V8_CODE_OPTIMIZED,
};

struct v8_code {
	uint64_t object; /* tagged: what describes it */
	uint64_t start;  /* address of its instructions */
	uint32_t bytes;
	enum v8_code_kind kind;
};

/* Do the instructions of the Code @object hold @address? */
bool v8_code_holds(const struct v8_heap *heap, uint64_t object, uint64_t address);

/* The code that holds @address. False: there is none. */
bool v8_find_code(const struct v8_heap *heap, uint64_t address, struct v8_code *ret);

/* A function that runs at a place in code, and where in its script. */
struct v8_inlined {
	uint64_t function; /* tagged */
	uint32_t at;       /* characters */
};

enum { V8_INLINED_MOST = 64 };

/*
 * Which functions run @offset bytes into optimized @code, the innermost first, the last one of them
 * the code's own. 0: that is not known; *@function_ret is the code's own in any case, or 0.
 */
size_t v8_find_inlined(const struct v8_heap *heap, const struct v8_code *code, uint32_t offset,
		       struct v8_inlined ret[V8_INLINED_MOST], uint64_t *function_ret);

/* Which byte of @bytecode baseline @code is of, @offset bytes into it. -1: that is not known. */
int64_t v8_find_baseline_place(const struct v8_heap *heap, const struct v8_code *code,
			       uint64_t bytecode, uint32_t offset);

/* Where in its script byte number @offset of @bytecode is of. False: that is not known. */
bool v8_find_bytecode_place(const struct v8_heap *heap, uint64_t bytecode, uint32_t offset,
			    uint32_t *at_ret);
