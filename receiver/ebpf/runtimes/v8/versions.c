// SPDX-License-Identifier: Apache-2.0
/* What files do not say of the objects in them, by V8's version. Each was compared with objects of
 * processes of that version. */
#include "v8.h"

/* Up to 8.6 nothing lies between a frame's function and its bytecode. */
#define ARGUMENT_COUNTS V8_VERSION(8, 7, 198)

/* From then on, or a little before, functions have a position before their first instruction. */
#define ENTRY_POSITIONS V8_VERSION(8, 4, 0)

/* From some version on, not before 13.7, entries of tables of positions have one more bit. */
#define BREAKABLE_POSITIONS V8_VERSION(13, 7, 0)

enum {
	OPTIMIZED = 2
}; /* kinds of code that follow baseline code: Maglev's and TurboFan's, or
      Turboprop's */

static const struct known {
	uint32_t since, until; /* V8_VERSION; the last one is not of it */
	struct v8_offsets offsets;
	struct v8_values values;
} known[] = {
	// Node.js 12
	{ V8_VERSION(7, 8, 0),
	  V8_VERSION(7, 9, 0),
	  { .bytecode_positions = 32,
	    .bytecode_first = 54,
	    .scope_flags = 16,
	    .scope_locals = 32,
	    .scope_first = 40,
	    .code_bytes = 40,
	    .code_flags = 44,
	    .code_deoptimization = 16,
	    .code_positions = 24 },
	  { .kind_mask = 0x3e,
	    .scope_receiver_bit = 7,
	    .scope_named_bit = 11,
	    .scope_inferred_bit = 13 } },
	// Node.js 13 and 14
	{ V8_VERSION(7, 9, 0),
	  V8_VERSION(8, 5, 0),
	  { .bytecode_positions = 32,
	    .bytecode_first = 54,
	    .scope_flags = 16,
	    .scope_locals = 32,
	    .scope_first = 40,
	    .code_bytes = 40,
	    .code_flags = 44,
	    .code_deoptimization = 16,
	    .code_positions = 24 },
	  { .kind_mask = 0x3e,
	    .scope_receiver_bit = 7,
	    .scope_named_bit = 12,
	    .scope_inferred_bit = 14,
	    .scope_saved_bit = 10 } },
	// Node.js 15
	{ V8_VERSION(8, 6, 0),
	  V8_VERSION(8, 7, 0),
	  { .bytecode_positions = 32,
	    .bytecode_first = 54,
	    .scope_flags = 16,
	    .scope_locals = 32,
	    .scope_first = 40,
	    .code_bytes = 40,
	    .code_flags = 44,
	    .code_deoptimization = 16,
	    .code_positions = 24 },
	  { .kind_mask = 0x1e,
	    .scope_receiver_bit = 7,
	    .scope_named_bit = 12,
	    .scope_inferred_bit = 14,
	    .scope_saved_bit = 10 } },
	// Node.js 16 and 17
	{ V8_VERSION(9, 4, 0),
	  V8_VERSION(9, 7, 0),
	  { .bytecode_positions = 32,
	    .bytecode_first = 54,
	    .scope_flags = 8,
	    .scope_locals = 24,
	    .scope_first = 32,
	    .code_bytes = 40,
	    .code_flags = 48,
	    .code_deoptimization = 16,
	    .code_positions = 24,
	    .code_bytecode = 16,
	    .code_bytecode_positions = 24 },
	  { .kind_mask = 15,
	    .scope_receiver_bit = 7,
	    .kind_baseline = 11,
	    .scope_named_bit = 12,
	    .scope_inferred_bit = 14,
	    .scope_saved_bit = 10,
	    .scope_has_table = 1 } },
	// Node.js 18
	{ V8_VERSION(10, 2, 0),
	  V8_VERSION(10, 3, 0),
	  { .bytecode_positions = 32,
	    .scope_flags = 8,
	    .scope_locals = 24,
	    .scope_first = 32,
	    .code_bytes = 40,
	    .code_flags = 48,
	    .code_deoptimization = 16,
	    .code_positions = 24,
	    .code_bytecode = 16,
	    .code_bytecode_positions = 24 },
	  { .scope_named_bit = 12,
	    .scope_inferred_bit = 14,
	    .scope_saved_bit = 10,
	    .scope_has_table = 1 } },
	// Node.js 20
	{ V8_VERSION(11, 3, 0),
	  V8_VERSION(11, 4, 0),
	  { .bytecode_positions = 32,
	    .scope_flags = 8,
	    .scope_locals = 24,
	    .scope_first = 32,
	    .stream_code = 8,
	    .code_start = 40,
	    .code_bytes = 56,
	    .code_flags = 48 },
	  { .scope_named_bit = 12,
	    .scope_inferred_bit = 14,
	    .scope_saved_bit = 10,
	    .scope_has_table = 1 } },
	// Node.js 21
	{ V8_VERSION(11, 8, 0),
	  V8_VERSION(11, 9, 0),
	  { .shared_data = 8,
	    .bytecode_positions = 32,
	    .scope_flags = 8,
	    .scope_locals = 24,
	    .scope_first = 32,
	    .stream_code = 8,
	    .code_start = 32,
	    .code_flags = 40,
	    .code_bytes = 44,
	    .code_deoptimization = 8,
	    .code_positions = 16,
	    .code_bytecode = 8,
	    .code_bytecode_positions = 16 },
	  { .scope_named_bit = 12,
	    .scope_inferred_bit = 14,
	    .scope_saved_bit = 10,
	    .scope_has_table = 1 } },
	// Node.js 22
	{ V8_VERSION(12, 4, 0),
	  V8_VERSION(12, 5, 0),
	  { .shared_data = 8,
	    .bytecode_positions = 24,
	    .scope_flags = 8,
	    .scope_locals = 24,
	    .scope_first = 32,
	    .stream_code = 8,
	    .code_start = 40,
	    .code_deoptimization = 8,
	    .code_positions = 16,
	    .code_bytecode = 8,
	    .code_bytecode_positions = 16 },
	  { .scope_named_bit = 12,
	    .scope_inferred_bit = 14,
	    .scope_saved_bit = 10,
	    .scope_has_table = 1 } },
	// Node.js 24 to 26
	{ V8_VERSION(13, 6, 0),
	  V8_VERSION(14, 7, 0),
	  { .shared_data = 8,
	    .shared_untrusted = 16,
	    .bytecode_positions = 24,
	    .scope_flags = 8,
	    .scope_locals = 24,
	    .scope_first = 48,
	    .scope_position = 32,
	    .stream_code = 8,
	    .code_deoptimization = 8,
	    .code_positions = 16,
	    .code_bytecode = 8,
	    .code_bytecode_positions = 16 },
	  { .scope_named_bit = 12,
	    .scope_inferred_bit = 14,
	    .scope_saved_bit = 10,
	    .scope_has_table = 1,
	    .scope_has_bits = 1 } },
};

/* Layouts of regular expressions, by the version that each came with. */
static const struct known_regexp {
	uint32_t since;
	uint16_t slot, kind, data, source, code; /* as in struct v8_values and struct v8_offsets */
} known_regexps[] = {
	{ V8_VERSION(7, 8, 0), 5, 8, 24, 24, 40 },
	{ V8_VERSION(9, 4, 0), 5, 3, 24, 24, 40 },  // Node.js 16
	{ V8_VERSION(9, 5, 0), 4, 3, 24, 24, 40 },  // Node.js 17
	{ V8_VERSION(11, 3, 0), 4, 0, 24, 24, 40 }, // Node.js 20: frames say so
	{ V8_VERSION(13, 6, 0), 4, 0, 0, 16, 56 },  // Node.js 24: data are objects of their own
};

/* Layouts of WebAssembly. Only these versions are known: others may have any structures. */
static const struct known_wasm {
	uint32_t version; /* V8_VERSION, of any build */
	struct v8_wasm at;
} known_wasm[] = {
	{ V8_VERSION(7, 8, 0), { 0, 136, 40, 208, 184, 568, 0, 60, 68, 48, 0, 8, 56 } },
	{ V8_VERSION(7, 9, 0), { 0, 136, 40, 208, 184, 312, 0, 60, 68, 48, 0, 8, 56 } },
	{ V8_VERSION(8, 4, 0), { 0, 136, 40, 296, 272, 408, 0, 60, 68, 0, 8, 32, 48 } },
	{ V8_VERSION(8, 6, 0), { 0, 136, 40, 296, 272, 416, 0, 60, 68, 0, 8, 32, 48 } },
	{ V8_VERSION(9, 4, 0), { 0, 208, 40, 312, 288, 432, 464, 68, 76, 0, 8, 32, 48 } },
	{ V8_VERSION(9, 6, 0), { 0, 208, 40, 312, 288, 432, 464, 68, 76, 0, 8, 32, 48 } },
	{ V8_VERSION(10, 2, 0), { 0, 208, 40, 312, 288, 432, 464, 40, 48, 0, 8, 32, 48 } },
	{ V8_VERSION(11, 3, 0), { 0, 208, 32, 200, 176, 320, 352, 116, 128, 0, 8, 24, 44 } },
	{ V8_VERSION(11, 8, 0), { 0, 216, 32, 200, 176, 320, 352, 84, 96, 0, 8, 24, 44 } },
	{ V8_VERSION(12, 4, 0), { 160, 32, 32, 200, 176, 408, 440, 84, 96, 0, 8, 24, 44 } },
	{ V8_VERSION(13, 6, 0), { 152, 32, 32, 240, 216, 328, 360, 84, 96, 0, 8, 32, 56 } },
	{ V8_VERSION(14, 1, 0), { 152, 32, 32, 240, 216, 328, 360, 84, 96, 0, 8, 32, 56 } },
	{ V8_VERSION(14, 6, 0), { 104, 32, 32, 232, 208, 320, 352, 44, 56, 0, 8, 32, 56 } },
};

/* The same in all of them. */
static const struct v8_offsets always = {
	.uncompiled_name = 8,
	.baseline_code = 8,
	.baseline_bytecode = 16,
	.cons_first = 16,
	.cons_second = 24,
	.sliced_offset = 24,
	.thin_actual = 16,
	.interpreter_bytecode = 8,
	.script_source = 8,
	.debug_script = 24,
};

/* What is 0 is that of @from. */
static void fill(void *to, const void *from, size_t bytes)
{
	uint16_t *numbers = to;
	const uint16_t *others = from;

	for (size_t i = 0; i < bytes / sizeof(*numbers); i++)
		if (!numbers[i])
			numbers[i] = others[i];
}

static void complete_regexps(struct v8_layout *layout)
{
	const struct known_regexp *found = NULL;

	for (size_t i = 0; i < sizeof(known_regexps) / sizeof(*known_regexps); i++)
		if (layout->version >= known_regexps[i].since)
			found = &known_regexps[i];
	if (!found)
		return;
	layout->values.regexp_slot = found->slot;
	layout->values.kind_regexp = found->kind;
	layout->offsets.regexp_data = found->data;
	layout->offsets.regexp_source = found->source;
	layout->offsets.regexp_code = found->code;
	// Where they are no objects of their own.
	if (found->data)
		layout->types.regexp_data = layout->types.array;
}

static void complete_wasm(struct v8_layout *layout)
{
	for (size_t i = 0; i < sizeof(known_wasm) / sizeof(*known_wasm); i++)
		if (layout->version >> 16 == known_wasm[i].version >> 16)
			layout->wasm = known_wasm[i].at;
}

bool v8_complete(struct v8_layout *layout)
{
	struct v8_offsets *at = &layout->offsets;
	struct v8_values *values = &layout->values;
	const struct known *found = NULL;

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (layout->version >= known[i].since && layout->version < known[i].until)
			found = &known[i];
	if (!found)
		return false;
	fill(at, &found->offsets, sizeof(*at));
	fill(at, &always, sizeof(*at));
	fill(values, &found->values, sizeof(*values));
	complete_regexps(layout);
	complete_wasm(layout);
	values->position_before = layout->version >= ENTRY_POSITIONS;
	values->position_flag_bits = layout->version >= BREAKABLE_POSITIONS ? 2 : 1;
	if (values->kind_baseline) {
		values->kind_optimized_first = values->kind_baseline + 1;
		values->kind_optimized_last = values->kind_baseline + OPTIMIZED;
	}
	// Up to Node.js 18.
	if (!values->deoptimization_shared) {
		values->deoptimization_functions = 2;
		values->deoptimization_shared = 6;
		values->deoptimization_inlined = 7;
	}
	if (!layout->bytecode_offset)
		layout->bytecode_offset = layout->version >= ARGUMENT_COUNTS ? -5 : -4;
	// Up to Node.js 18 code and what describes it are one object.
	if (!layout->types.stream)
		layout->types.stream = layout->types.code;
	// Around the table of lines these have stood since ever.
	if (at->script_line_ends) {
		at->script_id = at->script_line_ends + 8;
		at->script_functions = at->script_line_ends + 32;
		at->script_line = at->script_name + 8;
		at->script_column = at->script_name + 16;
	}
	return true;
}
