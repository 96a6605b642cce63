// SPDX-License-Identifier: Apache-2.0
#include "told.h"

#include "unwind/unwind.h"

#include <stdlib.h>
#include <string.h>

static const char prefix[] = "v8dbg_";

#define OFFSET(member) offsetof(struct v8_layout, offsets.member)
#define TYPE(member)   offsetof(struct v8_layout, types.member)
#define VALUE(member)  offsetof(struct v8_layout, values.member)

/* What variables are called behind the prefix, and what they are the value of. Where versions call
 * one thing differently there are several. */
static const struct variable {
	const char *name;
	size_t member; /* of the layout: 16 bits */
} variables[] = {
	{ "class_Map__instance_type__uint16_t", OFFSET(map_type) },
	{ "class_FixedArrayBase__length__SMI", OFFSET(array_length) },
	{ "class_FixedArray__data__uintptr_t", OFFSET(array_items) },
	{ "class_String__length__int32_t", OFFSET(string_length) },
	{ "class_SeqOneByteString__chars__char", OFFSET(one_byte_chars) },
	{ "class_SeqTwoByteString__chars__char", OFFSET(two_byte_chars) },
	{ "class_ConsString__first__String", OFFSET(cons_first) },
	{ "class_ConsString__second__String", OFFSET(cons_second) },
	{ "class_SlicedString__parent__String", OFFSET(sliced_parent) },
	{ "class_SlicedString__offset__SMI", OFFSET(sliced_offset) },
	{ "class_ThinString__actual__String", OFFSET(thin_actual) },
	{ "class_ExternalString__resource__Object", OFFSET(external_data) },
	{ "class_JSFunction__shared__SharedFunctionInfo", OFFSET(function_shared) },
	{ "class_SharedFunctionInfo__function_data__Object", OFFSET(shared_data) },
	{ "class_SharedFunctionInfo__name_or_scope_info__Object", OFFSET(shared_name) },
	{ "class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_", OFFSET(shared_name) },
	{ "class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_",
	  OFFSET(shared_name) },
	{ "class_SharedFunctionInfo__raw_script__Tagged_Object_", OFFSET(shared_script) },
	{ "class_SharedFunctionInfo__script_or_debug_info__HeapObject", OFFSET(shared_script) },
	{ "class_SharedFunctionInfo__script_or_debug_info__Object", OFFSET(shared_script) },
	{ "class_SharedFunctionInfo__flags__int", OFFSET(shared_literal) },
	{ "class_UncompiledData__inferred_name__String", OFFSET(uncompiled_name) },
	{ "class_BytecodeArray__data__uintptr_t", OFFSET(bytecode_first) },
	{ "class_Script__source__Object", OFFSET(script_source) },
	{ "class_Script__name__Object", OFFSET(script_name) },
	{ "class_Script__line_ends__Object", OFFSET(script_line_ends) },
	{ "class_Code__deoptimization_data__FixedArray", OFFSET(code_deoptimization) },
	{ "class_Code__source_position_table__ByteArray", OFFSET(code_positions) },
	{ "class_Code__bytecode_or_interpreter_data__HeapObject", OFFSET(code_bytecode) },
	{ "class_Code__bytecode_offset_table__ByteArray", OFFSET(code_bytecode_positions) },
	{ "class_Code__instruction_start__Address", OFFSET(code_start) },
	{ "class_Code__instruction_start__uintptr_t", OFFSET(stream_first) },
	{ "class_InstructionStream__instruction_start__uintptr_t", OFFSET(stream_first) },
	{ "class_Code__flags__uint32_t", OFFSET(code_flags) },
	{ "class_Code__instruction_size__int", OFFSET(code_bytes) },
	{ "type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", TYPE(shared) },
	{ "type_Script__SCRIPT_TYPE", TYPE(script) },
	{ "type_ScopeInfo__SCOPE_INFO_TYPE", TYPE(scope) },
	{ "type_DebugInfo__DEBUG_INFO_TYPE", TYPE(debug_info) },
	{ "type_BytecodeArray__BYTECODE_ARRAY_TYPE", TYPE(bytecode) },
	{ "type_InterpreterData__INTERPRETER_DATA_TYPE", TYPE(interpreter_data) },
	{ "type_BaselineData__BASELINE_DATA_TYPE", TYPE(baseline_data) },
	{ "type_Code__CODE_TYPE", TYPE(code) },
	{ "type_FixedArray__FIXED_ARRAY_TYPE", TYPE(array) },
	{ "type_WeakFixedArray__WEAK_FIXED_ARRAY_TYPE", TYPE(weak_array) },
	{ "type_IrRegExpData__IR_REG_EXP_DATA_TYPE", TYPE(regexp_data) },
	{ "type_InstructionStream__INSTRUCTION_STREAM_TYPE", TYPE(stream) },
	{ "type_WasmExportedFunctionData__WASM_EXPORTED_FUNCTION_DATA_TYPE", TYPE(wasm_exported) },
	{ "FirstNonstringType", VALUE(strings_end) },
	{ "StringRepresentationMask", VALUE(representation) },
	{ "StringEncodingMask", VALUE(encoding) },
	{ "OneByteStringTag", VALUE(one_byte) },
	{ "ConsStringTag", VALUE(cons) },
	{ "ExternalStringTag", VALUE(external) },
	{ "SlicedStringTag", VALUE(sliced) },
	{ "ThinStringTag", VALUE(thin) },
	{ "CodeKindFieldMask", VALUE(kind_mask) },
	{ "CodeKindBaseline", VALUE(kind_baseline) },
	{ "DeoptimizationDataLiteralArrayIndex", VALUE(deoptimization_functions) },
	{ "DeoptimizationDataSharedFunctionInfoIndex", VALUE(deoptimization_shared) },
	{ "DeoptimizationDataWrappedSharedFunctionInfoIndex", VALUE(deoptimization_shared) },
	{ "DeoptimizationDataInliningPositionsIndex", VALUE(deoptimization_inlined) },
	{ "frametype_WasmFrame", VALUE(marker_wasm) },
	{ "frametype_WasmCompiledFrame", VALUE(marker_wasm) },
	{ "frametype_IrregexpFrame", VALUE(marker_regexp) },
};

static bool read_value(const struct elf_view *view, uint64_t address, int32_t *ret)
{
	struct elf_piece piece = elf_view_at(view, address);

	if (piece.length < sizeof(*ret))
		return false;
	memcpy(ret, piece.bytes, sizeof(*ret));
	return true;
}

static void note_frame(struct v8_told *told, const char *name, int32_t value)
{
	if (!strcmp(name, "off_fp_function"))
		told->layout->function = (int8_t)(value / 8);
	else if (!strcmp(name, "off_fp_bytecode_offset"))
		told->layout->bytecode_offset = (int8_t)(value / 8);
	else if (!strcmp(name, "off_fp_context") || !strcmp(name, "off_fp_context_or_frame_type"))
		told->context_slot = value;
	else if (!strcmp(name, "off_fp_bytecode_array"))
		told->array_slot = value;
	else if (!strcmp(name, "TaggedSize") || !strcmp(name, "PointerSizeLog2"))
		told->tagged_bytes = name[0] == 'T' ? value : 1 << (value & 7);
	else if (!strcmp(name, "SmiShiftSize"))
		told->smi_shift = value;
}

/* What comes after the numbers of types, of which there are several. */
static void note_type(struct v8_told *told, const char *name, int32_t value)
{
	struct v8_types *types = &told->layout->types;

	if (strncmp(name, "type_UncompiledData", strlen("type_UncompiledData")) != 0)
		return;
	if (!types->uncompiled_first || value < types->uncompiled_first)
		types->uncompiled_first = (uint16_t)value;
	if (value > types->uncompiled_last)
		types->uncompiled_last = (uint16_t)value;
}

struct reading {
	const struct elf_view *view;
	struct v8_told *told;
};

static bool take(void *context, const struct elf_view_symbol *symbol)
{
	const struct reading *reading = context;
	const char *name = symbol->name + strlen(prefix);
	int32_t value;
	uint16_t narrow;

	if (symbol->is_function || !read_value(reading->view, symbol->value, &value))
		return true;
	note_frame(reading->told, name, value);
	if (value < 0 || value > UINT16_MAX)
		return true;
	note_type(reading->told, name, value);
	narrow = (uint16_t)value;
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		if (!strcmp(name, variables[i].name))
			memcpy((char *)reading->told->layout + variables[i].member, &narrow,
			       sizeof(narrow));
	return true;
}

void v8_read_told(const struct elf_view *view, struct v8_told *told)
{
	struct reading reading = { view, told };

	elf_view_visit_symbols(view, false, prefix, take, &reading);
	if (!told->layout->types.shared)
		elf_view_visit_symbols(view, true, prefix, take, &reading);
	// Between two words of an external string: its owner, and where its characters are.
	if (told->layout->offsets.external_data)
		told->layout->offsets.external_data += 8;
	// A function's number in its script follows its flags.
	if (told->layout->offsets.shared_literal)
		told->layout->offsets.shared_literal += 4;
}

/* ---- */

enum {
	FARTHEST = 512,         /* in an object */
	FARTHEST_NATIVE = 1024, /* in a structure */
};

/* Without these nothing can be said. */
static bool has_all(const struct v8_layout *layout)
{
	const struct v8_offsets *at = &layout->offsets;
	const uint16_t needed[] = {
		at->map_type,
		at->array_items,
		at->string_length,
		at->one_byte_chars,
		at->two_byte_chars,
		at->function_shared,
		at->shared_data,
		at->shared_name,
		at->shared_script,
		at->shared_literal,
		at->script_name,
		at->script_source,
		at->script_id,
		at->scope_first,
		layout->types.shared,
		layout->types.script,
		layout->types.scope,
		layout->types.bytecode,
		layout->values.strings_end,
		layout->values.representation,
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (!needed[i])
			return false;
	return layout->function < 0 && layout->bytecode_offset < 0;
}

/* The kernel side has these in bytes. */
static bool has_narrow(const struct v8_values *values)
{
	return values->marker_wasm < V8_MARKERS && values->marker_regexp < V8_MARKERS &&
	       values->regexp_slot <= 8;
}

bool v8_is_sound(const struct v8_layout *layout)
{
	const uint16_t *offsets = (const uint16_t *)&layout->offsets;
	const uint16_t *wasm = (const uint16_t *)&layout->wasm;
	const struct v8_offsets *at = &layout->offsets;

	for (size_t i = 0; i < sizeof(layout->offsets) / sizeof(*offsets); i++)
		if (offsets[i] > FARTHEST)
			return false;
	for (size_t i = 0; i < sizeof(layout->wasm) / sizeof(*wasm); i++)
		if (wasm[i] > FARTHEST_NATIVE || wasm[i] % 4)
			return false;
	// The kernel side has them in fewer bits.
	return has_all(layout) && has_narrow(&layout->values) && layout->function >= -6 &&
	       layout->bytecode_offset >= -6 && at->shared_literal < 8 * V8_OBJECT_WORDS &&
	       at->shared_literal % 4 == 0 && at->shared_script < 8 * V8_OBJECT_WORDS &&
	       at->shared_script % 8 == 0 && at->shared_data < 8 * V8_OBJECT_WORDS &&
	       at->shared_data % 8 == 0 && at->function_shared % 8 == 0 && at->script_id % 8 == 0;
}
