/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which strings and attributes of a batch go into the OTLP dictionary, and at which
 * index.
 *
 * Attribute values, and everything about resources and scopes, are written inline
 * (readers up to Collector 0.159 do not resolve references there), so rows that
 * only they use would be orphans in the dictionary: they are left out. With
 * references, the strings of resource and scope attributes are in it after all.
 */
#pragma once

#include "../columns.h"

#include <stdbool.h>

struct numbering {
	/* by string id and attribute id: index in the message; 0 = left out */
	uint32_t *strings, *attributes;
	uint32_t *list_items; /* the attribute lists' column with the indices instead of ids */
	const struct profcol_batch *batch; /* borrowed */
};

/*
 * Never fails: without memory the arrays are NULL, an index is the id, and nothing
 * is left out, which is a correct message too, only larger.
 */
void numbering_init(struct numbering *numbering, const struct profcol_batch *batch,
		    bool references);
void numbering_deinit(struct numbering *numbering);

static inline uint32_t numbering_string(const struct numbering *numbering, uint32_t id)
{
	return numbering->strings ? numbering->strings[id] : id;
}

static inline bool numbering_has_string(const struct numbering *numbering, uint32_t id)
{
	return !numbering->strings || numbering->strings[id];
}

static inline bool numbering_has_attribute(const struct numbering *numbering, uint32_t id)
{
	return !numbering->attributes || numbering->attributes[id];
}

/* The attribute indices of a list; NULL when it is empty. */
static inline const uint32_t *numbering_list(const struct numbering *numbering, uint32_t list,
					     uint32_t *count_ret)
{
	const uint32_t *ends = COLUMN(numbering->batch, COLUMN_ATTRIBUTE_LIST_END, uint32_t);
	const uint32_t *items = numbering->list_items;
	uint32_t begin = list ? ends[list - 1] : 0;

	*count_ret = list ? ends[list] - begin : 0;
	if (!*count_ret)
		return NULL;
	if (!items)
		items = COLUMN(numbering->batch, COLUMN_ATTRIBUTE_LIST_ITEM, uint32_t);
	return items + begin;
}
