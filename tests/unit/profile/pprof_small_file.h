/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small pprof file as objects, to be changed by a test and packed by protobuf-c:
 * so it may say anything, also what our encoder never would.
 */
#pragma once

#include <pprof.pb-c.h>
#include <stddef.h>
#include <stdint.h>

/* Its strings, by index. */
enum { S_EMPTY, S_SAMPLES, S_COUNT, S_CPU, S_NS, S_MAIN, S_BIN, S_KEY, S_VALUE, S_BYTES, S_ID };

/* The initializer of a string, which may hold any bytes. */
#define BYTES(text) { sizeof(text) - 1, (uint8_t *)(uintptr_t)(text) }

struct small_file {
	Perftools__Profile profile;
	Perftools__ValueType types[2], period_type, *type_list[2];
	Perftools__Mapping mapping, *mapping_list[2];
	Perftools__Function function, *function_list[2];
	Perftools__Line line, *line_list[1];
	Perftools__Location location, *location_list[2];
	Perftools__Label labels[4], *label_list[4];
	Perftools__Sample sample, *sample_list[2];
	uint64_t location_ids[2];
	int64_t values[3], comments[2];
	ProtobufCBinaryData strings[11];
};

/* One sample of a stack of one frame, twice, in two columns, with one label. */
void small_file_init(struct small_file *file);

/* The caller's to free(). */
uint8_t *small_file_pack(const struct small_file *file, size_t *length_ret);
