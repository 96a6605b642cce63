/* SPDX-License-Identifier: Apache-2.0 */
/* The section of names of a module of WebAssembly ("Name Section", appendix of its
 * specification). No byte is believed. One thread at a time. */
#pragma once

#include "text.h"

/*
 * Writes the name of function @function, in the module whose @bytes lie at @address, to the empty
 * @text.
 * False: it has no name that is known.
 */
bool v8_find_wasm_name(const struct v8_heap *heap, uint64_t address, uint64_t bytes,
		       uint32_t function, struct v8_text *text);
