// SPDX-License-Identifier: Apache-2.0
#include "v8_forged.h"

#include <string.h>

enum {
	START = 1 << 20,
	ONE_BYTE = 8 | 32, /* types of strings */
	TWO_BYTE = 32,
	FIRST_TYPE = 200,
	BASELINE = 10,
	SCOPE_FLAGS = 2 | 3 << 12, /* a function's, which has a name */
	SCOPE_INFERRED = 1 << 14,
};

static bool read_bytes(void *context, uint64_t address, void *to, size_t bytes)
{
	struct v8_forged *forged = context;

	// A line of code is there as a whole.
	size_t used = (forged->used + V8_LINE_BYTES - 1) & ~(V8_LINE_BYTES - 1ul);

	forged->reads++;
	forged->read_bytes += bytes;
	if (forged->before)
		forged->before(forged, forged->reads);
	if (forged->reads > forged->most_reads || address < forged->start ||
	    address - forged->start > used || bytes > used - (address - forged->start))
		return false;
	memcpy(to, forged->bytes + (address - forged->start), bytes);
	return true;
}

static void renew(void *context)
{
	(void)context;
}

struct runtime_memory v8_forged_memory(struct v8_forged *forged)
{
	static uint64_t requests;

	return (struct runtime_memory){ read_bytes, renew, forged, ++requests };
}

uint64_t v8_forged_room(struct v8_forged *forged, size_t bytes)
{
	uint64_t address = forged->start + forged->used;

	bytes = (bytes + 7) & ~7ul;
	memset(forged->bytes + forged->used, 0, bytes);
	forged->used += bytes;
	return address;
}

uint8_t *v8_forged_at(struct v8_forged *forged, uint64_t address)
{
	return forged->bytes + (address - forged->start);
}

uint32_t v8_forged_check(struct v8_forged *forged, uint64_t address)
{
	__u64 line[V8_LINE_WORDS] = { 0 };

	if (address - forged->start < sizeof(forged->bytes))
		memcpy(line, v8_forged_at(forged, v8_line(address)), sizeof(line));
	return v8_code_check(line);
}

void v8_forged_put(struct v8_forged *forged, uint64_t object, size_t offset, uint64_t word)
{
	memcpy(v8_forged_at(forged, object - V8_TAG + offset), &word, sizeof(word));
}

void v8_forged_put_half(struct v8_forged *forged, uint64_t object, size_t offset, uint32_t half)
{
	memcpy(v8_forged_at(forged, object - V8_TAG + offset), &half, sizeof(half));
}

uint64_t v8_forged_object(struct v8_forged *forged, uint64_t map, size_t bytes)
{
	uint64_t object = v8_forged_room(forged, bytes < 16 ? 16 : bytes) + V8_TAG;

	v8_forged_put(forged, object, 0, map);
	return object;
}

uint64_t v8_forged_map(struct v8_forged *forged, uint16_t type)
{
	uint64_t map = v8_forged_object(forged, 0, 32);

	memcpy(v8_forged_at(forged, map - V8_TAG + forged->layout.offsets.map_type), &type,
	       sizeof(type));
	return map;
}

uint64_t v8_forged_number(int32_t number)
{
	return (uint64_t)(uint32_t)number << 32;
}

/* As the file of that version says. */
static void fill_layout(struct v8_layout *layout)
{
	*layout = (struct v8_layout){
		.version = V8_VERSION(12, 4, 254),
		.function = -2,
		.bytecode_offset = -5,
		.offsets = { .map_type = 12,
			     .array_length = 8,
			     .array_items = 16,
			     .string_length = 12,
			     .one_byte_chars = 16,
			     .two_byte_chars = 16,
			     .sliced_parent = 16,
			     .external_data = 24,
			     .function_shared = 32,
			     .shared_name = 16,
			     .shared_script = 32,
			     .shared_literal = 52,
			     .script_name = 16,
			     .script_line_ends = 56,
			     .bytecode_first = 64,
			     .stream_first = 32,
			     .code_flags = 48,
			     .code_bytes = 52 },
		.types = { .shared = FIRST_TYPE + V8_FORGED_SHARED,
			   .script = FIRST_TYPE + V8_FORGED_SCRIPT,
			   .scope = FIRST_TYPE + V8_FORGED_SCOPE,
			   .bytecode = FIRST_TYPE + V8_FORGED_BYTECODE,
			   .code = FIRST_TYPE + V8_FORGED_CODE,
			   .array = FIRST_TYPE + V8_FORGED_ARRAY,
			   .stream = FIRST_TYPE + V8_FORGED_STREAM,
			   .uncompiled_first = FIRST_TYPE + V8_FORGED_UNCOMPILED,
			   .uncompiled_last = FIRST_TYPE + V8_FORGED_UNCOMPILED },
		.values = { .strings_end = 128,
			    .representation = 7,
			    .encoding = 8,
			    .one_byte = 8,
			    .cons = 1,
			    .external = 2,
			    .sliced = 3,
			    .thin = 5,
			    .kind_mask = 15,
			    .kind_baseline = BASELINE,
			    .deoptimization_functions = 2,
			    .deoptimization_shared = 6,
			    .deoptimization_inlined = 7,
			    .marker_wasm = 4,
			    .marker_regexp = 29 },
	};
	v8_complete(layout);
}

void v8_forged_init(struct v8_forged *forged)
{
	memset(forged->bytes, 0, forged->used);
	forged->start = START;
	forged->used = 0;
	forged->reads = forged->read_bytes = 0;
	forged->most_reads = SIZE_MAX;
	forged->before = NULL;
	fill_layout(&forged->layout);
	v8_forged_room(forged, 4096);
	for (uint16_t i = 0; i < V8_FORGED_TYPES; i++)
		forged->maps[i] = v8_forged_map(forged, FIRST_TYPE + i);
}

static uint64_t make_string(struct v8_forged *forged, uint16_t type, const void *characters,
			    size_t count, size_t width)
{
	uint64_t text = v8_forged_object(forged, v8_forged_map(forged, type), 16 + count * width);

	v8_forged_put_half(forged, text, 12, (uint32_t)count);
	memcpy(v8_forged_at(forged, text - V8_TAG + 16), characters, count * width);
	return text;
}

uint64_t v8_forged_text(struct v8_forged *forged, const char *text)
{
	return make_string(forged, ONE_BYTE, text, strlen(text), 1);
}

uint64_t v8_forged_wide(struct v8_forged *forged, const uint16_t *text, size_t count)
{
	return make_string(forged, TWO_BYTE, text, count, 2);
}

uint64_t v8_forged_bytes(struct v8_forged *forged, const void *bytes, size_t count)
{
	uint64_t array = v8_forged_object(forged, forged->maps[V8_FORGED_BYTES_ARRAY], 16 + count);

	v8_forged_put(forged, array, 8, v8_forged_number((int32_t)count));
	memcpy(v8_forged_at(forged, array - V8_TAG + 16), bytes, count);
	return array;
}

uint64_t v8_forged_array(struct v8_forged *forged, const uint64_t *words, size_t count)
{
	uint64_t array = v8_forged_object(forged, forged->maps[V8_FORGED_ARRAY], 16 + 8 * count);

	v8_forged_put(forged, array, 8, v8_forged_number((int32_t)count));
	memcpy(v8_forged_at(forged, array - V8_TAG + 16), words, 8 * count);
	return array;
}

uint64_t v8_forged_script(struct v8_forged *forged, uint64_t name, uint64_t source, int32_t id)
{
	uint64_t script = v8_forged_object(forged, forged->maps[V8_FORGED_SCRIPT], 96);

	v8_forged_put(forged, script, 8, source);
	v8_forged_put(forged, script, 16, name);
	v8_forged_put(forged, script, 64, v8_forged_number(id));
	return script;
}

uint64_t v8_forged_scope(struct v8_forged *forged, uint64_t name, uint64_t inferred, int32_t start)
{
	uint64_t scope = v8_forged_object(forged, forged->maps[V8_FORGED_SCOPE], 96);
	uint64_t words[8] = { v8_forged_number(1), name,
			      v8_forged_number(-1) }; // what the one variable is; name; its slot
	size_t count = 3;

	v8_forged_put(forged, scope, 8,
		      v8_forged_number(SCOPE_FLAGS | (inferred ? SCOPE_INFERRED : 0)));
	v8_forged_put(forged, scope, 24, v8_forged_number(1));
	if (inferred)
		words[count++] = inferred;
	words[count++] = v8_forged_number(start);
	words[count++] = v8_forged_number(start + 100);
	memcpy(v8_forged_at(forged, scope - V8_TAG + 40), words, count * sizeof(*words));
	return scope;
}

uint64_t v8_forged_bytecode(struct v8_forged *forged, const void *code, size_t count,
			    uint64_t positions)
{
	uint64_t bytecode = v8_forged_object(forged, forged->maps[V8_FORGED_BYTECODE], 64 + count);

	v8_forged_put(forged, bytecode, 8, v8_forged_number((int32_t)count));
	v8_forged_put(forged, bytecode, 24, positions);
	memcpy(v8_forged_at(forged, bytecode - V8_TAG + 64), code, count);
	return bytecode;
}

uint64_t v8_forged_function(struct v8_forged *forged, uint64_t script, uint64_t scope,
			    uint64_t data, uint32_t literal)
{
	uint64_t function = v8_forged_object(forged, forged->maps[V8_FORGED_SHARED], 64);

	v8_forged_put(forged, function, 8, data);
	v8_forged_put(forged, function, 16, scope);
	v8_forged_put(forged, function, 32, script);
	v8_forged_put_half(forged, function, 52, literal);
	return function;
}

uint64_t v8_forged_code(struct v8_forged *forged, uint32_t kind, size_t count, uint64_t first,
			uint64_t second, uint64_t *start_ret)
{
	uint64_t code = v8_forged_object(forged, forged->maps[V8_FORGED_CODE], 88);
	uint64_t stream = v8_forged_object(forged, forged->maps[V8_FORGED_STREAM], 32 + count);

	*start_ret = stream - V8_TAG + 32;
	v8_forged_put(forged, stream, 8, code);
	v8_forged_put(forged, code, 8, first);
	v8_forged_put(forged, code, 16, second);
	v8_forged_put(forged, code, 40, *start_ret);
	v8_forged_put_half(forged, code, 48, kind);
	v8_forged_put_half(forged, code, 52, (uint32_t)count);
	return code;
}

uint64_t v8_forged_regexp(struct v8_forged *forged, uint64_t source, uint64_t narrow, uint64_t wide)
{
	const uint64_t none = v8_forged_number(-1);
	const uint64_t words[] = { v8_forged_number(2), source,
				   v8_forged_number(0), narrow ? narrow : none,
				   wide ? wide : none,  none };

	return v8_forged_array(forged, words, sizeof(words) / sizeof(*words));
}

/* A word at a plain address. */
static void put_word(struct v8_forged *forged, uint64_t address, uint64_t word)
{
	memcpy(v8_forged_at(forged, address), &word, sizeof(word));
}

struct v8_forged_wasm v8_forged_wasm(struct v8_forged *forged, const void *bytes, size_t count,
				     uint32_t imported, uint32_t declared)
{
	const struct v8_wasm *at = &forged->layout.wasm;
	uint64_t map = forged->maps[V8_FORGED_BYTES_ARRAY];
	uint64_t object = v8_forged_object(forged, map, 64), script, foreign, held, managed, text;
	uint64_t module_object = v8_forged_object(forged, map, 64);
	struct v8_forged_wasm wasm = {
		.instance = v8_forged_object(forged, map, 256),
		.native = v8_forged_room(forged, 512),
		.module = v8_forged_room(forged, 128),
	};

	script = v8_forged_script(forged, v8_forged_text(forged, "wasm://wasm/0123abcd"), 0, 9);
	foreign = v8_forged_object(forged, map, 16);
	managed = v8_forged_room(forged, 48);
	held = v8_forged_room(forged, 16);
	text = v8_forged_room(forged, count);
	memcpy(v8_forged_at(forged, text), bytes, count);
	v8_forged_put(forged, wasm.instance, at->instance_object, object);
	v8_forged_put(forged, object, at->module_object, module_object);
	v8_forged_put(forged, module_object, at->script, script);
	v8_forged_put(forged, module_object, 24, foreign);
	v8_forged_put(forged, foreign, 8, managed);
	put_word(forged, managed + 24, held);
	put_word(forged, held, wasm.native);
	held = v8_forged_room(forged, 16);
	put_word(forged, held, text);
	put_word(forged, held + 8, count);
	put_word(forged, wasm.native + at->native_bytes, held);
	put_word(forged, wasm.native + at->native_module, wasm.module);
	memcpy(v8_forged_at(forged, wasm.module + at->module_imported), &imported, 4);
	memcpy(v8_forged_at(forged, wasm.module + at->module_declared), &declared, 4);
	return wasm;
}

uint64_t v8_forged_wasm_code(struct v8_forged *forged, const struct v8_forged_wasm *wasm,
			     uint32_t function, size_t count, uint64_t *start_ret)
{
	const struct v8_wasm *at = &forged->layout.wasm;
	uint64_t code = v8_forged_room(forged, 64);
	uint32_t bytes = (uint32_t)count;

	*start_ret = v8_forged_room(forged, count);
	put_word(forged, code + at->code_native, wasm->native);
	put_word(forged, code + at->code_start, *start_ret);
	memcpy(v8_forged_at(forged, code + at->code_bytes), &bytes, 4);
	memcpy(v8_forged_at(forged, code + at->code_function), &function, 4);
	return code;
}

uint64_t v8_forged_node(struct v8_forged *forged, uint64_t start, uint64_t code, uint64_t left,
			uint64_t right)
{
	uint64_t node = v8_forged_room(forged, 48);

	put_word(forged, node + 16, left);
	put_word(forged, node + 24, right);
	put_word(forged, node + 32, start);
	put_word(forged, node + 40, code);
	return node;
}
