/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of the builder share: builder.c opens and edits rows of the
 * tree, dictionary.c interns, seal.c checks. Private to lib/profile.
 */
#pragma once

#include "columns.h"
#include "sealed_index.h"

#include "base/base.h"

enum {
	DICTIONARY_TABLES = PROFCOL_LINKS + 1, /* enum profcol_table begins with them */
	ALL_TABLES = PROFCOL_SAMPLES + 1,
};

/* What is open, and so what may be added. */
enum builder_depth {
	BUILDER_NOTHING_OPEN,
	BUILDER_RESOURCE_OPEN,
	BUILDER_SCOPE_OPEN,
	BUILDER_PROFILE_OPEN,
};

struct profcol_builder {
	struct profcol_batch *batch; /* owned; what the seal gives away */

	struct sealed_index *base; /* a reference: the first rows of some tables; or NULL */
	/* Of the dictionary tables, behind what `base` has of them: the next `count` rows. Rows
	 * enter at the first look-up. */
	struct intern indexes[DICTIONARY_TABLES];
	uint64_t hash_seed; /* random: names come from hostile files */

	/* Rows at the front of each table that an earlier seal has checked. */
	uint32_t checked[ALL_TABLES];
	enum builder_depth depth;
	bool out_of_memory;    /* or of ids */
	const char *misplaced; /* the first thing added without a parent, static text */
};

/* @rows more are about to come into @table: saves the index from growing step by step. */
void dictionary_expect(struct profcol_builder *builder, enum profcol_table table, uint32_t rows);

/* Row 0 of every dictionary table. False without memory. */
bool dictionary_init(struct profcol_builder *builder);

/* Row @row of column @id for writing, no longer counted as checked. NULL when it cannot be. */
void *builder_edit(struct profcol_builder *builder, enum profcol_table table, enum column_id id,
		   uint32_t row);

/* As builder_edit() of a dictionary's row, which is looked up by its contents; NULL for row 0. */
void *builder_edit_entry(struct profcol_builder *builder, enum profcol_table table,
			 enum column_id id, uint32_t row);
