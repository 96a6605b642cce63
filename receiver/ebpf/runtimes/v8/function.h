/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of V8's (SharedFunctionInfo): what they are called, and where they stand. One thread at
 * a time. */
#pragma once

#include "text.h"

struct v8_function {
	uint64_t object; /* tagged, as are the others */
	uint64_t data;   /* its bytecode, or what leads to that; of a builtin its number */
	uint64_t script; /* 0: none */
	uint32_t check;  /* by which it is told from others (v8_check) */
};

/* The one at @object. RUNTIME_GONE: there is none. */
enum runtime_outcome v8_read_function(const struct v8_heap *heap, uint64_t object,
				      struct v8_function *ret);

/* What it is called, to the empty @text: by its name, or else by what it was assigned to. Some have
 * neither. RUNTIME_NAMED, or why not. */
enum runtime_outcome v8_name_function(const struct v8_heap *heap,
				      const struct v8_function *function, struct v8_text *text);

/* Where it begins in its script, in characters. */
bool v8_find_start(const struct v8_heap *heap, const struct v8_function *function,
		   uint32_t *start_ret);

/* The object with its bytecode; 0: it has none (any more). */
uint64_t v8_find_bytecode(const struct v8_heap *heap, const struct v8_function *function);

/* The same, of what leads to it. */
uint64_t v8_bytecode_of(const struct v8_heap *heap, uint64_t data);
