/* SPDX-License-Identifier: Apache-2.0 */
/* Memory with objects of V8's in it, made by hand, as version 12.4 has them (Node.js 22). */
#pragma once

#include "receiver/ebpf/runtimes/v8/heap.h"

#include <stddef.h>
#include <stdint.h>

enum { V8_FORGED_BYTES = 1 << 20 };

enum v8_forged_type {
	V8_FORGED_SHARED,
	V8_FORGED_SCRIPT,
	V8_FORGED_SCOPE,
	V8_FORGED_BYTECODE,
	V8_FORGED_CODE,
	V8_FORGED_STREAM,
	V8_FORGED_BYTES_ARRAY,
	V8_FORGED_ARRAY,
	V8_FORGED_UNCOMPILED,
	V8_FORGED_TYPES,
};

struct v8_forged {
	struct v8_layout layout;
	uint64_t start; /* address of the first byte */
	size_t used;
	size_t reads, most_reads; /* those beyond fail */
	size_t read_bytes;
	/* Called before each read, with its number from 1 on. May be NULL. */
	void (*before)(struct v8_forged *forged, size_t number);
	uint64_t maps[V8_FORGED_TYPES]; /* tagged */
	uint8_t bytes[V8_FORGED_BYTES];
};

/* Begin anew. @forged is 0 before the first time. */
void v8_forged_init(struct v8_forged *forged);

struct runtime_memory v8_forged_memory(struct v8_forged *forged);

/* The byte at an address there is room at. */
uint8_t *v8_forged_at(struct v8_forged *forged, uint64_t address);

/* As the kernel side makes it: the check word of the code at @address. What cannot be read is 0. */
uint32_t v8_forged_check(struct v8_forged *forged, uint64_t address);

/* Room for an object of @bytes with this map, all else 0; tagged. */
uint64_t v8_forged_object(struct v8_forged *forged, uint64_t map, size_t bytes);
uint64_t v8_forged_map(struct v8_forged *forged, uint16_t type);
void v8_forged_put(struct v8_forged *forged, uint64_t object, size_t offset, uint64_t word);
void v8_forged_put_half(struct v8_forged *forged, uint64_t object, size_t offset, uint32_t half);

/* Room for bytes that are no object; 8-byte aligned. */
uint64_t v8_forged_room(struct v8_forged *forged, size_t bytes);

/* A small number, as a word. */
uint64_t v8_forged_number(int32_t number);

/* Objects; tagged. */
uint64_t v8_forged_text(struct v8_forged *forged, const char *text);
uint64_t v8_forged_wide(struct v8_forged *forged, const uint16_t *text, size_t count);
uint64_t v8_forged_bytes(struct v8_forged *forged, const void *bytes, size_t count);
uint64_t v8_forged_array(struct v8_forged *forged, const uint64_t *words, size_t count);
uint64_t v8_forged_script(struct v8_forged *forged, uint64_t name, uint64_t source, int32_t id);
uint64_t v8_forged_scope(struct v8_forged *forged, uint64_t name, uint64_t inferred, int32_t start);
uint64_t v8_forged_bytecode(struct v8_forged *forged, const void *code, size_t count,
			    uint64_t positions);
uint64_t v8_forged_function(struct v8_forged *forged, uint64_t script, uint64_t scope,
			    uint64_t data, uint32_t literal);

/* Code of @kind with @count bytes of instructions; @first and @second: its first two fields. Its
 * instructions' address to *@start_ret. */
uint64_t v8_forged_code(struct v8_forged *forged, uint32_t kind, size_t count, uint64_t first,
			uint64_t second, uint64_t *start_ret);

/* The data of a regular expression, with its code for texts of one byte and of two; 0: none. */
uint64_t v8_forged_regexp(struct v8_forged *forged, uint64_t source, uint64_t narrow,
			  uint64_t wide);

/* A module of WebAssembly with an instance. */
struct v8_forged_wasm {
	uint64_t instance; /* tagged */
	uint64_t native, module;
};

/* It is made from @count @bytes. */
struct v8_forged_wasm v8_forged_wasm(struct v8_forged *forged, const void *bytes, size_t count,
				     uint32_t imported, uint32_t declared);

/* Code of it with @count bytes of instructions, in no list; their address to *@start_ret. Returns
 * the address of what describes it. */
uint64_t v8_forged_wasm_code(struct v8_forged *forged, const struct v8_forged_wasm *wasm,
			     uint32_t function, size_t count, uint64_t *start_ret);

/* A node of the tree of code, whose children are nodes or 0. */
uint64_t v8_forged_node(struct v8_forged *forged, uint64_t start, uint64_t code, uint64_t left,
			uint64_t right);
