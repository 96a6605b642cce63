/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts that locations.c, file_locations.c and location_order.c share. Threads: the reporter's.
 */
#pragma once

#include "locations.h"

#include "runtimes/runtime.h"

#include <limits.h>

/* What one build needs everywhere, and what many locations share, interned once. */
struct resolving {
	struct profcol_builder *builder;
	const struct location_parts *parts;
	uint32_t kernel_type, native_type; /* attribute lists, */
	uint32_t rust_type;                /* and one more; 0: none yet */
	uint32_t runtime_types[RUNTIMES];  /* the same; 0: none yet */

	// Of the last file: frames that follow each other are mostly of one.
	uint32_t file, filename, build_ids, file_type;
	char file_name[NAME_MAX + 1]; /* without its directory */
	bool has_mapping;
	bool is_read; /* a worker has said what it is */
};

enum { LABEL_BYTES = NAME_MAX + 32 };

/* What a frame is called, if it is: as symbols.h has it, and what is shown in place of that. */
struct frame_words {
	const char *name, *system_name, *label;
};

/* The attribute list of a frame of @type (profile.frame.type). */
uint32_t location_frame_type(struct profcol_builder *builder, const char *type);

/* The same for frames of the runtime with that number, which may be any. */
uint32_t location_runtime_type(struct resolving *resolving, uint32_t number);

/* The attribute list of a mapping: every build id that is known. */
uint32_t location_build_ids(struct profcol_builder *builder, const struct symbol_file *file);

/* What becomes of @label, a place in place of a name. */
struct frame_words location_unnamed_words(const struct resolving *resolving, const char *label);

/* A location at @address of @mapping with at most one line, of the function that @words name. */
uint32_t location_add(struct profcol_builder *builder, uint32_t type, uint32_t mapping,
		      uint64_t address, struct frame_words words);

/* Of a place in a file. */
uint32_t location_of_file(struct resolving *resolving, const struct symbol_query *query);

/* Fill locations->places: the frames that stacks have, in the order in which locations are made.
 * The capture's mappings have been found. `places` is empty; it and `counts` have room for all
 * frames. */
void locations_order(struct locations *locations, const struct capture *capture);
