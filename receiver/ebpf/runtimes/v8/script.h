/* SPDX-License-Identifier: Apache-2.0 */
/* Scripts of V8's: what they are called, and which line a character of their source is in. One
 * thread at a time. */
#pragma once

#include "text.h"

struct v8_place {
	uint32_t line, column; /* from 1 on; both 0: unknown */
};

/* The file of the script, to the empty @text: as a path if it is one; empty if it is none.
 * RUNTIME_NAMED, or why not. */
enum runtime_outcome v8_name_script(const struct v8_heap *heap, uint64_t script,
				    struct v8_text *text);

/* Where character number @position of its source is. */
struct v8_place v8_find_place(const struct v8_heap *heap, uint64_t script, uint32_t position);
