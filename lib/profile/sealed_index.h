/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a builder has found out about the rows of a batch, kept with the batch: where its texts,
 * blobs, attributes and lists of attributes are found again. A builder made from the batch looks
 * there first, and so enters only the rows that it adds. Private to lib/profile.
 *
 * Immutable, and reference counted: any thread.
 */
#pragma once

#include "base/base.h"

#include <profcol/batch.h>

#include <stdatomic.h>

enum { INDEXED_TABLES = 4 };

/* Those that processors add to. */
extern const enum profcol_table sealed_index_tables[INDEXED_TABLES];

struct sealed_index {
	atomic_uint references;
	uint64_t hash_seed;
	struct intern tables[INDEXED_TABLES]; /* owned; each of the first rows of its table */
};

/* Takes the contents of those of @indexes, by table, that are kept. NULL without memory. */
struct sealed_index *sealed_index_create(struct intern *indexes, uint64_t hash_seed);
struct sealed_index *sealed_index_ref(struct sealed_index *index); /* accepts NULL */
void sealed_index_unref(struct sealed_index *index);               /* accepts NULL */

/* The index of @table; NULL when none is kept. @index may be NULL. */
const struct intern *sealed_index_of(const struct sealed_index *index, enum profcol_table table);

size_t sealed_index_memory(const struct sealed_index *index); /* bytes; accepts NULL */
