// SPDX-License-Identifier: Apache-2.0
/* What a frame of V8's is called, and which line of it runs. */
#include "code.h"
#include "regexp.h"
#include "script.h"
#include "wasm.h"

#include <string.h>

static const char anonymous[] = "(anonymous)"; // as V8 itself shows it

/* What is known of a frame's function, and of the code that it runs. */
struct look {
	struct v8_heap heap;
	const struct runtime_frame *frame;
	const struct runtime_lines *to;
	struct v8_function function;
	struct v8_inlined inlined[V8_INLINED_MOST];
	size_t count; /* of these; the last one is the function itself */
	bool has_place;
};

/* ---- places ---- */

static void find_interpreted(struct look *look)
{
	const struct v8_heap *heap = &look->heap;
	uint64_t bytecode = v8_find_bytecode(heap, &look->function);
	// What a frame has counts from the object's tagged address on.
	int64_t offset = (int64_t)look->frame->position - heap->layout->offsets.bytecode_first + 1;

	look->has_place =
		bytecode && offset >= 0 && offset < INT32_MAX &&
		v8_find_bytecode_place(heap, bytecode, (uint32_t)offset, &look->inlined[0].at);
}

/* The address of code that a frame stands for has more bits than a position. */
static uint64_t code_address(const struct runtime_frame *frame)
{
	return frame->position |
	       (uint64_t)(frame->kind >> V8_KIND_BITS & ((1 << V8_CODE_IN_KIND) - 1)) << 32 |
	       (uint64_t)(frame->check & ((1 << V8_CODE_IN_CHECK) - 1)) << (32 + V8_CODE_IN_KIND);
}

/* Is @code made of @bytecode, that of the function? */
static bool is_its_baseline(const struct look *look, const struct v8_code *code, uint64_t bytecode)
{
	const struct v8_heap *heap = &look->heap;
	uint64_t of_function;

	if (heap->layout->offsets.baseline_code &&
	    v8_is(heap, look->function.data, heap->layout->types.baseline_data))
		return v8_word(heap, look->function.data, heap->layout->offsets.baseline_code,
			       &of_function) &&
		       of_function == code->object;
	return v8_bytecode_of(heap, code->object) == bytecode;
}

static void find_baseline(struct look *look, const struct v8_code *code, uint32_t offset)
{
	const struct v8_heap *heap = &look->heap;
	uint64_t bytecode = v8_find_bytecode(heap, &look->function);
	int64_t at;

	// Of the function that the frame is of, and not another one that has its place by now.
	if (!bytecode || !is_its_baseline(look, code, bytecode))
		return;
	at = v8_find_baseline_place(heap, code, bytecode, offset);
	// Code that enters the function is of its first line, too.
	look->has_place = at >= 0 && v8_find_bytecode_place(heap, bytecode, (uint32_t)at,
							    &look->inlined[0].at);
}

static void find_compiled(struct look *look)
{
	uint64_t address = code_address(look->frame), function;
	struct v8_code code;
	uint32_t offset;
	size_t count;

	if (!address || !v8_find_code(&look->heap, address, &code))
		return;
	offset = (uint32_t)(address - code.start);
	if (code.kind == V8_CODE_BASELINE)
		find_baseline(look, &code, offset);
	if (code.kind != V8_CODE_OPTIMIZED)
		return;
	count = v8_find_inlined(&look->heap, &code, offset, look->inlined, &function);
	if (!count || function != look->function.object) {
		look->inlined[0] = (struct v8_inlined){ look->function.object, 0 };
		return;
	}
	look->count = count;
	look->has_place = true;
}

/* ---- what functions are called ---- */

/* The function at @object, what it is called, and its file. */
static enum runtime_outcome read_names(const struct v8_heap *heap, uint64_t object,
				       struct v8_function *function, struct v8_text *name,
				       struct v8_text *file)
{
	enum runtime_outcome outcome = v8_read_function(heap, object, function);

	name->length = file->length = 0;
	name->is_odd = file->is_odd = false;
	if (outcome == RUNTIME_NAMED)
		outcome = v8_name_function(heap, function, name);
	if (outcome == RUNTIME_NAMED && function->script)
		outcome = v8_name_script(heap, function->script, file);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	// What a program has written has a script, and names of characters.
	if (name->is_odd || (!function->script && v8_find_bytecode(heap, function)))
		return RUNTIME_GONE;
	return RUNTIME_NAMED;
}

/* ---- lines ---- */

static enum runtime_outcome add_line(struct look *look, const struct v8_inlined *inlined)
{
	const struct v8_heap *heap = &look->heap;
	struct v8_text name, file;
	struct v8_function function;
	struct v8_place place = { 0 }, start = { 0 };
	struct runtime_line line = { 0 };
	enum runtime_outcome outcome = read_names(heap, inlined->function, &function, &name, &file);
	uint32_t first;

	if (outcome != RUNTIME_NAMED)
		return outcome;
	if (!name.length)
		v8_append(&name, anonymous, strlen(anonymous));
	if (v8_find_start(heap, &function, &first))
		start = v8_find_place(heap, function.script, first);
	if (look->has_place)
		place = v8_find_place(heap, function.script, inlined->at);
	// Without a table the function's own line is all that is known.
	if (!place.line)
		place = (struct v8_place){ start.line, 0 };
	line.function = name.bytes;
	line.function_bytes = name.length;
	line.file = file.bytes;
	line.file_bytes = file.length;
	line.line = place.line;
	line.column = place.column;
	line.start_line = start.line;
	return look->to->add(look->to->context, &line) ? RUNTIME_NAMED : RUNTIME_MALFORMED;
}

/* ---- names alone ---- */

static enum runtime_outcome add_name(struct look *look, const struct v8_text *name,
				     const struct v8_text *file)
{
	struct runtime_line line = { .function = name->bytes, .function_bytes = name->length };

	if (file) {
		line.file = file->bytes;
		line.file_bytes = file->length;
	}
	return look->to->add(look->to->context, &line) ? RUNTIME_NAMED : RUNTIME_MALFORMED;
}

static enum runtime_outcome add_kind(struct look *look, const char *what)
{
	struct v8_text name = { .length = 0 };

	v8_append(&name, what, strlen(what));
	return add_name(look, &name, NULL);
}

static const char some_code[] = "(V8 code)", some_wasm[] = "(WebAssembly)",
		  some_regexp[] = "(regular expression)";

/* ---- functions ---- */

/* JavaScript calls WebAssembly by an exported function, an object of its own with code in the heap.
 * True: the frame has such an object, and runs code that is not in the heap. */
static bool is_exported(const struct look *look)
{
	const struct v8_heap *heap = &look->heap;
	struct v8_code code;

	return v8_is(heap, look->function.data, heap->layout->types.wasm_exported) &&
	       code_address(look->frame) && !v8_find_code(heap, code_address(look->frame), &code);
}

/* The check word of the code at @address, as it is now. */
static bool check_code(const struct look *look, uint64_t address, uint32_t *ret)
{
	const struct runtime_memory *memory = look->heap.memory;
	__u64 line[V8_LINE_WORDS];

	if (!memory->read(memory->context, v8_line(address), line, sizeof(line)))
		return false;
	*ret = v8_code_check(line);
	return true;
}

/* Is the function that was read the one that was sampled, and its code still there? */
static bool is_same(const struct look *look, uint32_t kind)
{
	uint64_t address = kind == V8_COMPILED ? code_address(look->frame) : 0;
	uint32_t check = look->function.check, of_code = 0;

	if (address && !check_code(look, address, &of_code))
		return false;
	return v8_check_part(check ^ of_code) == v8_check_part(look->frame->check);
}

static enum runtime_outcome resolve_function(struct look *look, uint32_t kind)
{
	const struct runtime_memory *memory = look->heap.memory;
	uint64_t object = look->frame->object + V8_TAG;
	enum runtime_outcome outcome = v8_read_function(&look->heap, object, &look->function);

	if (outcome != RUNTIME_NAMED)
		return outcome;
	if (!is_same(look, kind))
		return RUNTIME_GONE;
	if (kind == V8_COMPILED && is_exported(look))
		return add_kind(look, some_wasm);
	look->count = 1;
	look->inlined[0] = (struct v8_inlined){ object, 0 };
	if (kind == V8_INTERPRETED)
		find_interpreted(look);
	else if (kind == V8_COMPILED)
		find_compiled(look);
	for (size_t i = 0; i < look->count && outcome == RUNTIME_NAMED; i++)
		outcome = add_line(look, &look->inlined[i]);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	// It may have become another one while it was read.
	memory->renew(memory->context);
	outcome = v8_read_function(&look->heap, object, &look->function);
	return outcome == RUNTIME_NAMED && !is_same(look, kind) ? RUNTIME_GONE : outcome;
}

/* ---- code alone ---- */

/* Of the check word the lowest bits may be those of an address. */
static enum runtime_outcome is_same_code(const struct look *look, uint64_t address, int low_bits)
{
	uint32_t check;

	if (!check_code(look, address, &check))
		return RUNTIME_UNREADABLE;
	return check >> low_bits == look->frame->check >> low_bits ? RUNTIME_NAMED : RUNTIME_GONE;
}

static enum runtime_outcome name_code(struct look *look)
{
	const struct v8_values *values = &look->heap.layout->values;

	if (values->marker_wasm && look->frame->position == values->marker_wasm)
		return add_kind(look, some_wasm);
	if (values->marker_regexp && look->frame->position == values->marker_regexp)
		return add_kind(look, some_regexp);
	return add_kind(look, some_code);
}

/* Optimized code itself says which function it is of. */
static void find_functions(struct look *look)
{
	struct v8_code code;

	if (!v8_find_code(&look->heap, look->frame->object, &code) ||
	    code.kind != V8_CODE_OPTIMIZED)
		return;
	look->count =
		v8_find_inlined(&look->heap, &code, (uint32_t)(look->frame->object - code.start),
				look->inlined, &look->function.object);
	look->has_place = look->count;
	if (!look->count && look->function.object)
		look->inlined[look->count++] = (struct v8_inlined){ look->function.object, 0 };
}

static enum runtime_outcome resolve_code(struct look *look)
{
	const struct runtime_memory *memory = look->heap.memory;
	uint64_t address = look->frame->object;
	enum runtime_outcome outcome = is_same_code(look, address, 0);

	if (outcome != RUNTIME_NAMED)
		return outcome;
	find_functions(look);
	if (!look->count)
		return name_code(look);
	for (size_t i = 0; i < look->count && outcome == RUNTIME_NAMED; i++)
		outcome = add_line(look, &look->inlined[i]);
	if (outcome != RUNTIME_NAMED)
		return outcome;
	memory->renew(memory->context);
	return is_same_code(look, address, 0);
}

/* ---- code that something in its frame leads to ---- */

/* The frame's object leads to no code at @address: adds a generic name for the kind of code. */
static enum runtime_outcome name_unknown(struct look *look, uint32_t kind, uint64_t address)
{
	struct v8_code code;

	if (kind == V8_WASM)
		return add_kind(look, some_wasm);
	if (kind == V8_REGEXP ||
	    (v8_find_code(&look->heap, address, &code) && code.kind == V8_CODE_REGEXP))
		return add_kind(look, some_regexp);
	return add_kind(look, some_code);
}

static enum runtime_outcome resolve_regexp(struct look *look, uint64_t address, bool *found_ret)
{
	const struct runtime_memory *memory = look->heap.memory;
	uint64_t data = look->frame->object + V8_TAG;
	struct v8_text name = { .length = 0 };

	*found_ret = v8_is_regexp_at(&look->heap, data, address) &&
		     v8_name_regexp(&look->heap, data, &name);
	if (!*found_ret)
		return RUNTIME_NAMED;
	memory->renew(memory->context);
	return v8_is_regexp_at(&look->heap, data, address) ? add_name(look, &name, NULL)
							   : RUNTIME_GONE;
}

static enum runtime_outcome resolve_wasm(struct look *look, uint64_t address, bool has_frame,
					 bool *found_ret)
{
	const struct runtime_memory *memory = look->heap.memory;
	uint64_t instance = look->frame->object + V8_TAG;
	struct v8_text name = { .length = 0 }, file = { .length = 0 };
	struct v8_wasm_code code, now;

	*found_ret = v8_find_wasm(&look->heap, instance, address, has_frame, &code);
	if (!*found_ret)
		return RUNTIME_NAMED;
	v8_name_wasm(&look->heap, &code, &name);
	if (v8_name_script(&look->heap, code.script, &file) != RUNTIME_NAMED)
		file.length = 0;
	memory->renew(memory->context);
	if (!v8_find_wasm(&look->heap, instance, address, has_frame, &now) ||
	    now.native != code.native || now.function != code.function)
		return RUNTIME_GONE;
	return add_name(look, &name, &file);
}

static enum runtime_outcome resolve_held(struct look *look, uint32_t kind)
{
	uint64_t address = code_address(look->frame);
	enum runtime_outcome outcome = is_same_code(look, address, V8_CODE_IN_CHECK);
	bool found = false;

	if (outcome == RUNTIME_NAMED && kind != V8_REGEXP)
		outcome = resolve_wasm(look, address, kind == V8_WASM, &found);
	if (outcome == RUNTIME_NAMED && !found && kind != V8_WASM)
		outcome = resolve_regexp(look, address, &found);
	if (outcome == RUNTIME_NAMED && !found)
		outcome = name_unknown(look, kind, address);
	return outcome;
}

enum runtime_outcome v8_resolve(const struct runtime_process *process,
				const struct runtime_memory *memory,
				const struct runtime_frame *frame, const struct runtime_lines *to)
{
	struct look look = {
		.heap = { (const void *)process->layout, memory, process->base },
		.frame = frame,
		.to = to,
	};
	uint32_t kind = frame->kind & ((1 << V8_KIND_BITS) - 1);

	if (kind == V8_CODE)
		return resolve_code(&look);
	if (kind == V8_REGEXP || kind == V8_WASM || kind == V8_UNSURE)
		return resolve_held(&look, kind);
	if (!kind || kind > V8_COMPILED)
		return RUNTIME_MALFORMED;
	return resolve_function(&look, kind);
}
