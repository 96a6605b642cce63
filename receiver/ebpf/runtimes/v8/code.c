// SPDX-License-Identifier: Apache-2.0
#include "code.h"

#include "positions.h"

enum {
	PAGE_BYTES = 4096,
	CODE_MOST = 1 << 20,  /* bytes from where code begins to an address in it */
	TABLE_MOST = 1 << 18, /* of a table */
	INLINING_BYTES = 16,  /* of an entry: the call's position, and number of the function */
	INLINING_FUNCTION = 8,
	WRAPPED = 8, /* where what stands for a function has it */
};

static uint8_t table[TABLE_MOST], instructions[TABLE_MOST]; // of the worker, which has one thread

/* ---- code by address ---- */

/* Is what begins at @at, with a word that leads to a map, code that holds @address? */
static bool read_code(const struct v8_heap *heap, uint64_t at, uint64_t address,
		      struct v8_code *ret)
{
	const struct v8_offsets *offsets = &heap->layout->offsets;
	const struct v8_values *values = &heap->layout->values;
	uint64_t object = at + V8_TAG, start;
	uint32_t flags, kind;

	ret->object = object;
	ret->start = at + offsets->stream_first;
	if (offsets->stream_code &&
	    (!v8_word(heap, object, offsets->stream_code, &ret->object) ||
	     !v8_is(heap, ret->object, heap->layout->types.code) ||
	     !v8_word(heap, ret->object, offsets->code_start, &start) || start != ret->start))
		return false;
	if (!v8_half(heap, ret->object, offsets->code_bytes, &ret->bytes) ||
	    !v8_half(heap, ret->object, offsets->code_flags, &flags) ||
	    address - ret->start >= ret->bytes)
		return false;
	kind = flags & values->kind_mask;
	ret->kind = V8_CODE_OTHER;
	if (values->kind_baseline && kind == values->kind_baseline)
		ret->kind = V8_CODE_BASELINE;
	else if (kind >= values->kind_optimized_first && kind <= values->kind_optimized_last)
		ret->kind = V8_CODE_OPTIMIZED;
	else if (values->kind_regexp && kind == values->kind_regexp)
		ret->kind = V8_CODE_REGEXP;
	return true;
}

bool v8_code_holds(const struct v8_heap *heap, uint64_t object, uint64_t address)
{
	const struct v8_offsets *offsets = &heap->layout->offsets;
	uint64_t start = object - V8_TAG + offsets->stream_first;
	uint32_t bytes;

	// Up to Node.js 18 they are in it.
	if (offsets->stream_code && !v8_word(heap, object, offsets->code_start, &start))
		return false;
	return offsets->code_bytes && v8_half(heap, object, offsets->code_bytes, &bytes) &&
	       address - start < bytes;
}

bool v8_find_code(const struct v8_heap *heap, uint64_t address, struct v8_code *ret)
{
	// All code has the same map, which is remembered within a request.
	static uint64_t known, number;
	uint64_t words[PAGE_BYTES / sizeof(uint64_t)], at = address & ~7ull;
	bool knows = number && number == heap->memory->number;

	if (!heap->layout->types.stream || !heap->layout->offsets.code_bytes || address >> 47)
		return false;
	for (int pages = 0; pages <= CODE_MOST / PAGE_BYTES && at >= PAGE_BYTES; pages++) {
		uint64_t page = at & ~(PAGE_BYTES - 1ull);
		size_t count = (at - page) / sizeof(*words) + 1;

		if (!heap->memory->read(heap->memory->context, page, words, count * sizeof(*words)))
			return false;
		for (size_t i = count; i; i--) {
			uint64_t found = page + 8 * (i - 1), map = words[i - 1];

			// Instructions may look like that, too, but not all that follows from it.
			if (knows ? map != known
				  : !v8_is_tagged(map) || !v8_is(heap, found + V8_TAG,
								 heap->layout->types.stream))
				continue;
			if (!read_code(heap, found, address, ret))
				continue;
			known = map;
			number = heap->memory->number;
			return true;
		}
		at = page - 8;
	}
	return false;
}

/* ---- what was inlined ---- */

/* A function that is kept as such, or by what stands for it. */
static uint64_t function_at(const struct v8_heap *heap, uint64_t array, uint32_t index)
{
	uint64_t word;

	if (!v8_item(heap, array, index, &word))
		return 0;
	word &= ~(uint64_t)V8_WEAK;
	if (v8_is(heap, word, heap->layout->types.shared))
		return word;
	return v8_word(heap, word, WRAPPED, &word) && v8_is(heap, word, heap->layout->types.shared)
		       ? word
		       : 0;
}

/* The call number @index that was inlined: where it is, and of which function. */
static bool read_inlining(const struct v8_heap *heap, uint64_t data, int32_t index,
			  struct v8_position *position_ret, uint64_t *function_ret)
{
	const struct v8_values *values = &heap->layout->values;
	uint64_t calls, functions, offset = (uint64_t)(uint32_t)index * INLINING_BYTES, word;
	uint32_t number;

	if (!v8_item(heap, data, values->deoptimization_inlined, &calls) ||
	    !v8_item(heap, data, values->deoptimization_functions, &functions) ||
	    offset + INLINING_BYTES > v8_length(heap, calls))
		return false;
	offset += heap->layout->offsets.array_items;
	if (!v8_word(heap, calls, offset, &word) ||
	    !v8_half(heap, calls, offset + INLINING_FUNCTION, &number) ||
	    !v8_decode_position(word, position_ret))
		return false;
	*function_ret = function_at(heap, functions, number);
	return *function_ret;
}

static struct v8_table_form form_of(const struct v8_heap *heap)
{
	return (struct v8_table_form){
		.flag_bits = heap->layout->values.position_flag_bits,
		.first = -(int32_t)heap->layout->values.position_before,
	};
}

size_t v8_find_inlined(const struct v8_heap *heap, const struct v8_code *code, uint32_t offset,
		       struct v8_inlined ret[V8_INLINED_MOST], uint64_t *function_ret)
{
	const struct v8_offsets *at = &heap->layout->offsets;
	struct v8_position position;
	uint64_t data, positions;
	size_t count = 0, bytes;

	*function_ret = 0;
	if (!v8_word(heap, code->object, at->code_deoptimization, &data))
		return 0;
	*function_ret = function_at(heap, data, heap->layout->values.deoptimization_shared);
	if (!*function_ret || !v8_word(heap, code->object, at->code_positions, &positions))
		return 0;
	bytes = v8_bytes(heap, positions, table, sizeof(table));
	if (!v8_find_position(table, bytes, form_of(heap), offset, &position))
		return 0;
	while (position.inlining >= 0 && count < V8_INLINED_MOST - 1) {
		ret[count].at = position.at;
		if (!read_inlining(heap, data, position.inlining, &position, &ret[count].function))
			return 0;
		count++;
	}
	if (position.inlining >= 0)
		return 0;
	ret[count++] = (struct v8_inlined){ *function_ret, position.at };
	return count;
}

/* ---- bytecode ---- */

static bool read_sizes(const struct v8_heap *heap, struct v8_bytecode_sizes *ret)
{
	ret->count = heap->layout->bytecode_count;
	return ret->count && ret->count <= 256 &&
	       heap->memory->read(heap->memory->context, heap->base + heap->layout->bytecode_sizes,
				  ret->bytes, 3ull * ret->count);
}

int64_t v8_find_baseline_place(const struct v8_heap *heap, const struct v8_code *code,
			       uint64_t bytecode, uint32_t offset)
{
	const struct v8_offsets *at = &heap->layout->offsets;
	struct v8_bytecode_sizes sizes;
	uint32_t length = v8_length(heap, bytecode);
	uint64_t offsets;
	size_t bytes;

	if (!at->code_bytecode_positions || !read_sizes(heap, &sizes) ||
	    !v8_word(heap, code->object, at->code_bytecode_positions, &offsets) ||
	    length > sizeof(instructions) ||
	    !v8_read(heap, bytecode, at->bytecode_first, instructions, length))
		return -1;
	bytes = v8_bytes(heap, offsets, table, sizeof(table));
	return v8_find_bytecode_offset(&sizes, instructions, length, table, bytes, offset);
}

bool v8_find_bytecode_place(const struct v8_heap *heap, uint64_t bytecode, uint32_t offset,
			    uint32_t *at_ret)
{
	struct v8_position position;
	uint64_t positions;
	size_t bytes;

	if (!heap->layout->offsets.bytecode_positions ||
	    !v8_word(heap, bytecode, heap->layout->offsets.bytecode_positions, &positions) ||
	    offset >= v8_length(heap, bytecode))
		return false;
	bytes = v8_bytes(heap, positions, table, sizeof(table));
	if (!v8_find_position(table, bytes, form_of(heap), offset, &position))
		return false;
	*at_ret = position.at;
	return true;
}
