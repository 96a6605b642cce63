/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of WebAssembly. What V8 knows of their code lies in no heap of objects, but in its own
 * structures (src/wasm/wasm-code-manager.h): an instance leads to its module's. No byte is
 * believed. One thread at a time.
 */
#pragma once

#include "text.h"

/* The code that runs at an address: of which function of which module. */
struct v8_wasm_code {
	uint64_t native;   /* address of what V8 knows of the module (NativeModule) */
	uint64_t script;   /* tagged: the module's, by which it has a name */
	uint32_t function; /* its number */
};

/*
 * Finds what runs at @address, by an instance of its module. False: it is no function of that.
 * Where it @has_frame nothing else counts; else a function may be entered there by a table of
 * jumps.
 */
bool v8_find_wasm(const struct v8_heap *heap, uint64_t instance, uint64_t address, bool has_frame,
		  struct v8_wasm_code *ret);

/* What V8 itself calls it, to the empty @text: by the module's section of names, or its number. */
void v8_name_wasm(const struct v8_heap *heap, const struct v8_wasm_code *code,
		  struct v8_text *text);
