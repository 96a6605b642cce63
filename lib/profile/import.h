/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Carrying rows of a batch over into a builder: what they refer to comes along,
 * once, in the order of its first use. Merging, compacting and splitting are all
 * this. Private to lib/profile.
 */
#pragma once

#include "builder.h"

struct import {
	const struct profcol_batch *from; /* borrowed */
	struct profcol_builder *to;       /* borrowed; remembers when memory runs out */
	uint32_t *ids;                    /* owned; of all tables, behind one another */

	/* In `ids`: for each row of @from its id in @to plus 1, or 0 while it is not there. */
	uint32_t *tables[DICTIONARY_TABLES];

	/* Scratch for one row each; a stack is open while its locations' lists are made. */
	VECTOR(uint32_t) stack;
	VECTOR(uint32_t) list;
	VECTOR(struct profcol_line) lines;
};

/* False without memory. */
bool import_init(struct import *import, const struct profcol_batch *from,
		 struct profcol_builder *to);
void import_deinit(struct import *import); /* accepts a zeroed one */

/*
 * Bring all of the dictionary over at once, row by row: for large batches that are
 * nearly all in use three times as fast as in the order of use, which jumps about.
 */
void import_dictionary(struct import *import);

/* The id in the builder of row @id of @table, a table of the dictionary. */
uint32_t import_id(struct import *import, enum profcol_table table, uint32_t id);

/* The row with its ids as they are in the builder. */
struct profcol_resource import_resource(struct import *import,
					const struct profcol_resource *resource);
struct profcol_scope import_scope(struct import *import, const struct profcol_scope *scope);
struct profcol_profile import_profile(struct import *import, const struct profcol_profile *profile);

/* Add @sample, or the samples of rows @begin to @end (exclusive), to the open profile. */
void import_sample(struct import *import, const struct profcol_sample *sample);
void import_samples(struct import *import, uint32_t begin, uint32_t end);
