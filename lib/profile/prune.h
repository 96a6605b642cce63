/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A dictionary without the entries that nothing needs, in the order of the old one. No two entries
 * of a dictionary are equal, so none has to be looked up: this is many times as fast as importing
 * what is needed. First all that is needed is marked, then the dictionary is made. Private to
 * lib/profile.
 */
#pragma once

#include "builder.h"

struct prune {
	const struct profcol_batch *from; /* borrowed */
	uint32_t *ids;                    /* owned; of all tables, behind one another */
	/* In `ids`: 0 = not needed; else 1, and once the dictionary is made its id there plus 1. */
	uint32_t *tables[DICTIONARY_TABLES];
};

/* False without memory. */
bool prune_init(struct prune *prune, const struct profcol_batch *from);
void prune_deinit(struct prune *prune); /* accepts a zeroed one */

static inline void prune_need(struct prune *prune, enum profcol_table table, uint32_t id)
{
	prune->tables[table][id] = 1;
}

/* What is needed and what that refers to, as a batch without resources. NULL without memory. Ids
 * are then translated by prune_id(). */
struct profcol_batch *prune_make(struct prune *prune);

static inline uint32_t prune_id(const struct prune *prune, enum profcol_table table, uint32_t id)
{
	return prune->tables[table][id] - 1;
}
