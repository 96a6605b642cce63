// SPDX-License-Identifier: Apache-2.0
/*
 * The memory of a process that runs V8, with functions, bytecode, code, a regular expression and a
 * module of WebAssembly in it, changed by what comes in before and while it is read. Whatever it
 * is: lines are UTF-8 without NUL, and what is read has a bound.
 *
 * The input: kind of frame, which table; position; then changes of 12 bytes each: where, before
 * which read, and the word that is written.
 */
#include "forged_changes.h"

#include "tests/unit/ebpf/runtimes/v8_forged.h"

#include "receiver/ebpf/runtimes/v8/text.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum {
	MOST_READS = 200000,
	MOST_BYTES = 64 << 20,
	LITERAL = 7,
	SCRIPT_ID = 42,
	OPTIMIZED = 12,
	BASELINE = 10,
	REGEXP = 3,
	NATIVE_TREE = 408, /* of a NativeModule: its code */
	NATIVE_NEW = 440,
};

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct v8_forged forged;

static void change(struct v8_forged *memory, size_t number)
{
	forged_changes_make(memory->bytes, memory->used, number, 256);
}

static bool take_line(void *context, const struct runtime_line *line)
{
	(void)context;
	if (!line->function_bytes || line->function_bytes > V8_TEXT_BYTES ||
	    line->file_bytes > V8_TEXT_BYTES || line->line > INT32_MAX ||
	    line->start_line > INT32_MAX || line->column > INT32_MAX)
		abort();
	if (!strings_is_utf8(line->function, line->function_bytes) ||
	    memchr(line->function, '\0', line->function_bytes) ||
	    (line->file_bytes && (!strings_is_utf8(line->file, line->file_bytes) ||
				  memchr(line->file, '\0', line->file_bytes))))
		abort();
	return true;
}

static uint64_t make_function(uint64_t script, const char *name, uint64_t data)
{
	uint64_t scope = v8_forged_scope(&forged, v8_forged_text(&forged, name), 0, 22);

	return v8_forged_function(&forged, script, scope, data, LITERAL);
}

/* Bytecode with a table, baseline and optimized code of it; what to look at to *@address. */
static uint64_t make_objects(bool baseline, uint64_t *address)
{
	static const uint8_t code[] = { 5, 5, 0, 4, 0, 0, 0, 6 }, offsets[] = { 10, 4, 4, 6, 2 };
	static const uint8_t positions[] = { 2, 72, 10, 104 };
	static const uint8_t sizes[3 * 7] = { 1, 1, 1, 1, 2, 1, 1, 1, 1, 1, 1,
					      4, 2, 2, 1, 1, 1, 1, 8, 4, 4 };
	const uint64_t calls[] = { 36, 0, (uint64_t)1 << 31 | 88, 1 };
	uint64_t script, table, bytecode, function, inlined[2], words[8] = { 0 };

	script =
		v8_forged_script(&forged, v8_forged_text(&forged, "file:///srv/a%20b.js"),
				 v8_forged_text(&forged, "function a() {\n  b();\n}\n"), SCRIPT_ID);
	table = v8_forged_bytes(&forged, positions, sizeof(positions));
	bytecode = v8_forged_bytecode(&forged, code, sizeof(code), table);
	forged.layout.bytecode_sizes = v8_forged_bytes(&forged, sizes, sizeof(sizes)) - V8_TAG + 16;
	forged.layout.bytecode_count = 7;
	function = make_function(script, "open", bytecode);
	if (baseline) {
		v8_forged_code(&forged, BASELINE, 64, bytecode,
			       v8_forged_bytes(&forged, offsets, sizeof(offsets)), address);
		return function;
	}
	inlined[0] = make_function(script, "find", bytecode);
	inlined[1] = make_function(script, "look", 0) | 2;
	words[2] = v8_forged_array(&forged, inlined, 2);
	words[6] = function;
	words[7] = v8_forged_bytes(&forged, calls, sizeof(calls));
	v8_forged_code(&forged, OPTIMIZED, 64, v8_forged_array(&forged, words, 8), table, address);
	return function;
}

/* The data of a regular expression, with code at *@address. */
static uint64_t make_regexp(uint64_t *address)
{
	uint64_t code = v8_forged_code(&forged, REGEXP, 64, 0, 0, address);

	return v8_forged_regexp(&forged, v8_forged_text(&forged, "(a|b)*c"), code, 0);
}

static void put(uint64_t address, uint64_t word)
{
	memcpy(v8_forged_at(&forged, address), &word, sizeof(word));
}

/* An instance of a module with names, of whose two functions one is in the tree of code, and one in
 * the list of what is new; that of @number at *@address. */
static uint64_t make_wasm(uint32_t number, uint64_t *address)
{
	static const uint8_t bytes[] = { 0,   'a', 's', 'm', 1, 0, 0, 0, 0,   14, 4, 'n',
					 'a', 'm', 'e', 1,   7, 2, 0, 1, 'f', 1,  1, 'g' };
	struct v8_forged_wasm wasm = v8_forged_wasm(&forged, bytes, sizeof(bytes), 0, 2);
	uint64_t codes[2], starts[2], list = v8_forged_room(&forged, 16);

	for (uint32_t i = 0; i < 2; i++)
		codes[i] = v8_forged_wasm_code(&forged, &wasm, i, 64, &starts[i]);
	put(wasm.native + NATIVE_TREE, v8_forged_node(&forged, starts[0], codes[0], 0, 0));
	put(list, codes[1]);
	put(wasm.native + NATIVE_NEW, list);
	put(wasm.native + NATIVE_NEW + 8, list + 8);
	// A jump to the first one.
	put(starts[1] + 8, ((starts[0] - starts[1] - 13) & 0xffffffff) << 8 | 0xe9);
	*address = starts[number & 1];
	return wasm.instance;
}

/* As the kernel side does: of code whose frame has @object. */
static void fill_held(struct runtime_frame *frame, uint64_t object, uint64_t address)
{
	frame->object = object - V8_TAG;
	frame->position = (uint32_t)address;
	frame->check = v8_check_part(v8_forged_check(&forged, address));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct runtime_memory memory;
	const struct runtime_lines lines = { take_line, NULL };
	struct runtime_process process = { 0 };
	struct runtime_frame frame = { 0 };
	uint64_t function, held, held_at, address;

	if (size < 4)
		return 0;
	forged_changes_take(bytes + 4, size - 4);

	v8_forged_init(&forged);
	function = make_objects(bytes[1] & 1, &address);
	frame.kind = bytes[0] % (V8_KINDS + 1);
	frame.object = function - V8_TAG;
	frame.check = v8_check(LITERAL, SCRIPT_ID);
	frame.position = (uint32_t)(63 + bytes[2] % 16);
	held = frame.kind == V8_REGEXP || (frame.kind == V8_UNSURE && bytes[1] & 2)
		       ? make_regexp(&held_at)
		       : make_wasm(bytes[1], &held_at);
	held_at += bytes[3] % 64;
	address += 8 + bytes[3] % 80;
	if (frame.kind == V8_COMPILED)
		frame.position = (uint32_t)address;
	change(&forged, 0);
	if (frame.kind == V8_COMPILED)
		frame.check ^= v8_check_part(v8_forged_check(&forged, address));
	if (frame.kind == V8_CODE) {
		frame.object = address;
		frame.check = v8_forged_check(&forged, address);
	}
	if (frame.kind >= V8_REGEXP && frame.kind <= V8_UNSURE)
		fill_held(&frame, held, held_at);
	forged.before = change;
	memory = v8_forged_memory(&forged);
	memcpy(process.layout, &forged.layout, sizeof(forged.layout));
	v8_resolve(&process, &memory, &frame, &lines);
	if (forged.reads > MOST_READS || forged.read_bytes > MOST_BYTES)
		abort();
	return 0;
}
