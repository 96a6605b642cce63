/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of V8's that say which place in a source a place in code is of
 * (src/codegen/source-position-table.h, source-position.h,
 * src/baseline/bytecode-offset-iterator.h). No byte is believed. Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct v8_position {
	uint32_t at;      /* characters from the script's beginning on */
	int32_t inlining; /* number of the call that was inlined; -1: of the function itself */
};

/* As a word of a table has it. False: it is none of a script. */
bool v8_decode_position(uint64_t word, struct v8_position *ret);

/* How entries of a table follow each other. */
struct v8_table_form {
	uint32_t flag_bits; /* the lowest of how far one is from that before: they say something
			       else */
	int32_t first;      /* place from which the first one is counted: 0, or -1 */
};

/* That of the last entry of @table at or before @offset. False: there is none. */
bool v8_find_position(const uint8_t *table, size_t bytes, struct v8_table_form form,
		      uint32_t offset, struct v8_position *ret);

/* How long instructions of bytecode are: bytes, by the first one, thrice: usual ones, those behind
 * a prefix `Wide` and behind `ExtraWide`. */
struct v8_bytecode_sizes {
	uint8_t bytes[3 * 256];
	uint32_t count; /* of instructions; at most 256 */
};

/*
 * Which instruction, in bytes from the first one on, of @code (@code_bytes) baseline code is of
 * that lies @offset bytes into its own, by its @table. -1: none; it begins the function.
 */
int64_t v8_find_bytecode_offset(const struct v8_bytecode_sizes *sizes, const uint8_t *code,
				size_t code_bytes, const uint8_t *table, size_t bytes,
				uint32_t offset);
