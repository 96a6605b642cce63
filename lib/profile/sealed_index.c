// SPDX-License-Identifier: Apache-2.0
#include "sealed_index.h"

#include <stdatomic.h>
#include <stdlib.h>

const enum profcol_table sealed_index_tables[INDEXED_TABLES] = {
	PROFCOL_STRINGS,
	PROFCOL_BLOBS,
	PROFCOL_ATTRIBUTES,
	PROFCOL_ATTRIBUTE_LISTS,
};

struct sealed_index *sealed_index_create(struct intern *indexes, uint64_t hash_seed)
{
	struct sealed_index *index = malloc(sizeof(*index));

	if (!index)
		return NULL;
	atomic_init(&index->references, 1);
	index->hash_seed = hash_seed;
	for (unsigned int i = 0; i < INDEXED_TABLES; i++) {
		index->tables[i] = indexes[sealed_index_tables[i]];
		indexes[sealed_index_tables[i]] = (struct intern){ 0 };
	}
	return index;
}

struct sealed_index *sealed_index_ref(struct sealed_index *index)
{
	if (index)
		atomic_fetch_add_explicit(&index->references, 1, memory_order_relaxed);
	return index;
}

void sealed_index_unref(struct sealed_index *index)
{
	if (!index || atomic_fetch_sub_explicit(&index->references, 1, memory_order_acq_rel) != 1)
		return;
	for (unsigned int i = 0; i < INDEXED_TABLES; i++)
		intern_deinit(&index->tables[i]);
	free(index);
}

const struct intern *sealed_index_of(const struct sealed_index *index, enum profcol_table table)
{
	for (unsigned int i = 0; index && i < INDEXED_TABLES; i++)
		if (sealed_index_tables[i] == table)
			return &index->tables[i];
	return NULL;
}

size_t sealed_index_memory(const struct sealed_index *index)
{
	size_t bytes = index ? sizeof(*index) : 0;

	for (unsigned int i = 0; index && i < INDEXED_TABLES; i++)
		bytes += intern_memory(&index->tables[i]);
	return bytes;
}
