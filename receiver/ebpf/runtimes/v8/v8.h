/* SPDX-License-Identifier: Apache-2.0 */
/*
 * V8, 7.8 to 14.6, as Node.js has it: what its file says of it, and how its objects are read.
 *
 * The file says to debuggers most of how objects look (variables v8dbg_*, made by
 * tools/gen-postmortem-metadata.py of V8's sources); versions.c knows the rest by the version.
 */
#pragma once

#include "runtimes/runtime.h"
#include "runtimes/v8.h"

/* Where what lies in which object, in bytes from its first word on, the map. 0: nowhere. */
struct v8_offsets {
	uint16_t map_type;
	uint16_t array_length, array_items;
	uint16_t string_length, one_byte_chars, two_byte_chars, cons_first, cons_second;
	uint16_t sliced_parent, sliced_offset, thin_actual, external_data;
	uint16_t function_shared;
	uint16_t shared_data; /* bytecode, code, what is known without either; of builtins a number
			       */
	uint16_t shared_name, shared_script, shared_literal;
	uint16_t shared_untrusted; /* from 12.4 on: what `data` was, but for code */
	uint16_t uncompiled_name;  /* inferred */
	uint16_t interpreter_bytecode;
	uint16_t baseline_code, baseline_bytecode;   /* of what has both: 9.0 to 9.6 */
	uint16_t bytecode_positions, bytecode_first; /* table; instructions */
	uint16_t script_source, script_name, script_line, script_column, script_line_ends;
	uint16_t script_id;
	uint16_t script_functions;          /* by their numbers, weakly */
	uint16_t scope_flags, scope_locals; /* numbers: flags; how many variables it has... */
	uint16_t scope_first;               /* ...where these begin... */
	uint16_t scope_position;            /* ...and its function; 0: behind them */
	uint16_t debug_script;              /* of a DebugInfo */
	uint16_t stream_code, stream_first; /* of code with its instructions: its description,
					       instructions */
	uint16_t code_start, code_bytes, code_flags, code_deoptimization, code_positions;
	uint16_t code_bytecode, code_bytecode_positions; /* of baseline code */
	uint16_t regexp_data;   /* of a JSRegExp, its data; 0: those are what frames have */
	uint16_t regexp_source; /* of these; and code for texts of one byte a character, behind
				   which that for two bytes is */
	uint16_t regexp_code;
};

/*
 * Offsets by which a frame of WebAssembly leads to its function, in objects and in structures of
 * V8's own. They differ by version. 0: there is none.
 */
struct v8_wasm {
	uint16_t instance_object; /* of what frames have: the WasmInstanceObject; 0: they have it */
	uint16_t module_object;   /* of that */
	uint16_t script;          /* of a WasmModuleObject */
	/* Of a NativeModule: the bytes that it was made from; its WasmModule; the root of the tree
	 * of its code; a list of what is not in there yet. */
	uint16_t native_bytes, native_module, native_code, native_new_code;
	uint16_t module_imported, module_declared; /* of a WasmModule: how many functions */
	/* Of a WasmCode; its function is a number in the module, imported ones first. */
	uint16_t code_native, code_start, code_bytes, code_function;
};

/* Types of objects (instance types). 0: there is none. */
struct v8_types {
	uint16_t shared, script, scope, debug_info, bytecode, interpreter_data, baseline_data;
	uint16_t code, stream;
	uint16_t array, weak_array, regexp_data, wasm_exported;
	uint16_t uncompiled_first, uncompiled_last;
};

/* Which numbers mean what. */
struct v8_values {
	uint16_t strings_end; /* below are the types of strings, with these bits: */
	uint16_t representation, encoding, one_byte, cons, external, sliced, thin;
	uint16_t kind_mask, kind_baseline; /* of code */
	uint16_t kind_optimized_first, kind_optimized_last;
	uint16_t kind_regexp; /* where frames do not say so */
	uint16_t deoptimization_functions, deoptimization_shared, deoptimization_inlined;
	/* Bits of a scope's flags: its function has a name (two bits), one that was inferred, or
	 * something before that. */
	uint16_t scope_named_bit, scope_inferred_bit, scope_saved_bit;
	uint16_t scope_has_table;    /* instead of the names of many variables: 1 */
	uint16_t scope_has_bits;     /* the flags are no tagged number: 1 */
	uint16_t scope_receiver_bit; /* two bits: 1 and 2 mean that there is a receiver before the
					name; 0: there is none */
	uint16_t position_flag_bits; /* of entries of tables of positions */
	uint16_t position_before;    /* the first one is counted from one before: 1 */
	uint16_t marker_wasm, marker_regexp; /* of frames */
	uint16_t regexp_slot; /* words from a frame's pointer on: the JSRegExp, or its data */
};

/* What a file says of its V8. */
struct v8_layout {
	struct runtime_loop loops[RUNTIME_LOOPS]; /* ELF addresses; both 0: none. Those with an odd
						     number interpret */
	uint64_t bytecode_sizes;          /* ELF address of a byte for each instruction, thrice; 0:
					     unknown */
	uint32_t bytecode_count;          /* of instructions */
	uint32_t version;                 /* major << 24 | minor << 16 | build */
	uint32_t refused;                 /* enum runtime_refusal */
	int8_t function, bytecode_offset; /* of a frame, words from the frame pointer on */
	uint16_t reserved;
	struct v8_offsets offsets;
	struct v8_types types;
	struct v8_values values;
	struct v8_wasm wasm;
};

_Static_assert(sizeof(struct v8_layout) % sizeof(uint64_t) == 0, "8-byte multiple");
_Static_assert(sizeof(struct v8_layout) <= RUNTIME_LAYOUT_BYTES, "as large as one may be");

#define V8_VERSION(major, minor, build) ((uint32_t)(major) << 24 | (minor) << 16 | (build))

/* What the file does not say, by layout->version. False: that version is not known. */
bool v8_complete(struct v8_layout *layout);

/* As in struct runtime. */
bool v8_recognise(const struct runtime_file *file, void *layout_ret);
bool v8_check_layout(const void *layout);
size_t v8_loops(const void *layout, struct runtime_loop ret[RUNTIME_LOOPS]);
bool v8_attach(const void *layout, uint64_t base, const struct runtime_memory *memory,
	       struct runtime_found *ret);
void v8_foresee(const void *layout, uint64_t base, struct runtime_found *ret);
enum runtime_outcome v8_resolve(const struct runtime_process *process,
				const struct runtime_memory *memory,
				const struct runtime_frame *frame, const struct runtime_lines *to);
