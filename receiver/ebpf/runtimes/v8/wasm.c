// SPDX-License-Identifier: Apache-2.0
#include "wasm.h"

#include "wasm_names.h"

#include <stdio.h>
#include <string.h>

enum {
	MODULE_MANAGED = 24,      /* of a WasmModuleObject: its Managed<NativeModule>... */
	FOREIGN_ADDRESS = 8,      /* ...of that: what lies in no heap of objects... */
	MANAGED_SHARED = 24,      /* ...and of that: where the module's std::shared_ptr is */
	NODES_MOST = 64,          /* of a tree, from its root down */
	NEW_MOST = 4096,          /* of code that is in no tree yet, from the newest on */
	AT_ONCE = 64,             /* the same, that are read */
	CODE_BYTES = 64,          /* of a WasmCode */
	FUNCTIONS_MOST = 1 << 20, /* of a module: V8 takes a million */
	JUMP = 0xe9,              /* followed by how far, from its end on */
	JUMP_BYTES = 5,
};

/* A node of a std::map, as all libraries of GCC's have had it. */
struct node {
	uint64_t colour, parent, left, right;
	uint64_t start, code; /* where the code begins; its WasmCode */
};

/* ---- structures, which lie at plain addresses ---- */

static bool read_at(const struct v8_heap *heap, uint64_t address, void *to, size_t bytes)
{
	return address >> 16 && !(address >> 47) && !(address & 3) &&
	       heap->memory->read(heap->memory->context, address, to, bytes);
}

static bool word_at(const struct v8_heap *heap, uint64_t address, uint64_t *ret)
{
	return read_at(heap, address, ret, sizeof(*ret));
}

static uint64_t word_in(const uint8_t *bytes, size_t at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static uint32_t half_in(const uint8_t *bytes, size_t at)
{
	uint32_t half;

	memcpy(&half, bytes + at, sizeof(half));
	return half;
}

/* ---- from an instance to what is known of its module ---- */

static bool find_native(const struct v8_heap *heap, uint64_t instance, struct v8_wasm_code *ret)
{
	const struct v8_wasm *at = &heap->layout->wasm;
	uint64_t module, managed, address;

	if (!at->module_object)
		return false;
	if (at->instance_object && !v8_word(heap, instance, at->instance_object, &instance))
		return false;
	if (!v8_word(heap, instance, at->module_object, &module) ||
	    !v8_word(heap, module, at->script, &ret->script) ||
	    !v8_is(heap, ret->script, heap->layout->types.script))
		return false;
	return v8_word(heap, module, MODULE_MANAGED, &managed) &&
	       v8_word(heap, managed, FOREIGN_ADDRESS, &address) &&
	       word_at(heap, address + MANAGED_SHARED, &address) &&
	       word_at(heap, address, &ret->native);
}

/* ---- code of a module by an address in it ---- */

/* Is the WasmCode at @place one of that module's that holds @address? Its function to @ret. */
static bool is_code(const struct v8_heap *heap, uint64_t place, uint64_t address,
		    struct v8_wasm_code *ret)
{
	const struct v8_wasm *at = &heap->layout->wasm;
	uint8_t code[CODE_BYTES];

	if (at->code_native > CODE_BYTES - 8 || at->code_start > CODE_BYTES - 8 ||
	    at->code_bytes > CODE_BYTES - 4 || at->code_function > CODE_BYTES - 4 ||
	    !read_at(heap, place, code, sizeof(code)))
		return false;
	ret->function = half_in(code, at->code_function);
	return word_in(code, at->code_native) == ret->native &&
	       address - word_in(code, at->code_start) < half_in(code, at->code_bytes);
}

static bool find_in_tree(const struct v8_heap *heap, uint64_t address, struct v8_wasm_code *ret)
{
	uint64_t next, code = 0;
	struct node node;

	if (!word_at(heap, ret->native + heap->layout->wasm.native_code, &next))
		return false;
	for (int i = 0; i < NODES_MOST && next; i++) {
		if (!read_at(heap, next, &node, sizeof(node)))
			return false;
		if (node.start <= address)
			code = node.code;
		next = node.start <= address ? node.right : node.left;
	}
	return is_code(heap, code, address, ret);
}

/* V8 puts code into the tree when it looks for some, which may be never. */
static bool find_in_new(const struct v8_heap *heap, uint64_t address, struct v8_wasm_code *ret)
{
	uint64_t list[2], codes[AT_ONCE], count;

	if (!heap->layout->wasm.native_new_code ||
	    !read_at(heap, ret->native + heap->layout->wasm.native_new_code, list, sizeof(list)) ||
	    list[1] < list[0])
		return false;
	count = (list[1] - list[0]) / sizeof(*codes);
	for (uint64_t seen = 0; seen < count && seen < NEW_MOST;) {
		uint64_t part = count - seen < AT_ONCE ? count - seen : AT_ONCE;

		seen += part;
		if (!read_at(heap, list[1] - seen * sizeof(*codes), codes, part * sizeof(*codes)))
			return false;
		for (uint64_t i = part; i; i--)
			if (is_code(heap, codes[i - 1], address, ret))
				return true;
	}
	return false;
}

/* Code that leads to imported functions has their numbers. */
static bool is_declared(const struct v8_heap *heap, const struct v8_wasm_code *code)
{
	const struct v8_wasm *at = &heap->layout->wasm;
	uint32_t imported, declared;
	uint64_t module;

	return word_at(heap, code->native + at->native_module, &module) &&
	       read_at(heap, module + at->module_imported, &imported, sizeof(imported)) &&
	       read_at(heap, module + at->module_declared, &declared, sizeof(declared)) &&
	       imported <= FUNCTIONS_MOST && declared <= FUNCTIONS_MOST &&
	       code->function >= imported && code->function - imported < declared;
}

static bool find_code(const struct v8_heap *heap, uint64_t address, struct v8_wasm_code *ret)
{
	return find_in_tree(heap, address, ret) || find_in_new(heap, address, ret);
}

/* Calls go by tables of jumps, which are code of the module, too. Where the one at @address leads
 * to *@address_ret. */
static bool follow_jump(const struct v8_heap *heap, uint64_t address, uint64_t *address_ret)
{
	uint8_t code[JUMP_BYTES];
	int32_t distance;

	if (!heap->memory->read(heap->memory->context, address, code, sizeof(code)) ||
	    code[0] != JUMP)
		return false;
	memcpy(&distance, code + 1, sizeof(distance));
	*address_ret = address + sizeof(code) + (uint64_t)(int64_t)distance;
	return true;
}

bool v8_find_wasm(const struct v8_heap *heap, uint64_t instance, uint64_t address, bool has_frame,
		  struct v8_wasm_code *ret)
{
	if (!find_native(heap, instance, ret) || !find_code(heap, address, ret))
		return false;
	return is_declared(heap, ret) || (!has_frame && follow_jump(heap, address, &address) &&
					  find_code(heap, address, ret) && is_declared(heap, ret));
}

void v8_name_wasm(const struct v8_heap *heap, const struct v8_wasm_code *code, struct v8_text *text)
{
	uint64_t held, bytes[2];
	char number[32];

	// These are held by a std::shared_ptr, too.
	if (word_at(heap, code->native + heap->layout->wasm.native_bytes, &held) &&
	    read_at(heap, held, bytes, sizeof(bytes)) &&
	    v8_find_wasm_name(heap, bytes[0], bytes[1], code->function, text))
		return;
	text->length = 0;
	snprintf(number, sizeof(number), "wasm-function[%u]", code->function);
	v8_append(text, number, strlen(number));
}
