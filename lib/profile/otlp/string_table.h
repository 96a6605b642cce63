/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which strings of a batch go into the OTLP string table, and at which index.
 *
 * Attribute values, and everything about resources and scopes, are written inline
 * (readers up to Collector 0.159 do not resolve references there), so the strings
 * that only they use would be orphans in the table: they are left out.
 */
#pragma once

#include "../columns.h"

#include <stdbool.h>

struct string_table {
	const struct profcol_batch *batch; /* borrowed */
	uint32_t *indices; /* by string id; 0 = left out. NULL: all strings, index = id */
};

/*
 * Never fails: without memory all strings are kept, which is a correct table too,
 * only larger.
 */
void string_table_init(struct string_table *table, const struct profcol_batch *batch);
void string_table_deinit(struct string_table *table);

static inline uint32_t string_table_index(const struct string_table *table, uint32_t string)
{
	return table->indices ? table->indices[string] : string;
}

static inline bool string_table_has(const struct string_table *table, uint32_t string)
{
	return !table->indices || table->indices[string];
}
