/* SPDX-License-Identifier: Apache-2.0 */
/* Actions, compiled, and the list of attributes that they change. Private. */
#pragma once

#include "value.h"

#include "base/base.h"
#include "ottl/ottl.h"

enum action_kind {
	ACTION_INSERT,
	ACTION_UPDATE,
	ACTION_UPSERT,
	ACTION_DELETE,
	ACTION_HASH,
	ACTION_EXTRACT,
	ACTION_CONVERT,
};

struct action {
	enum action_kind kind;
	const char *key; /* borrowed from the configuration, as all texts here; "" = none */
	const char *from_attribute;
	bool has_value, has_fallback;
	struct constant value, fallback;
	struct ottl_pattern *pattern; /* owned; or NULL */
	enum value_conversion conversion;
};

struct attributes_actions {
	struct action *items; /* owned */
	size_t count;
	bool use_context;
	size_t group_count; /* the most groups that a pattern has */
};

/* One attribute of the list that is being changed. */
struct edit_item {
	struct profcol_attribute attribute;
	uint32_t id;   /* in the batch, unless it is fresh */
	bool is_fresh; /* not in the batch, or not as it is there */
};

/* Changes lists of one builder; zeroed but for the builder. One thread. */
struct edit {
	struct profcol_builder *builder; /* borrowed */
	VECTOR(struct edit_item) items;
	VECTOR(uint32_t) ids;
	VECTOR(struct profcol_text) groups;
	struct ottl_budget matches;
	bool changed; /* the list at hand */
	bool removed; /* some list has lost something that was there: a key, or a value */
	bool no_memory;
};

void edit_deinit(struct edit *edit);

/* The id of list @list after @actions; the same when they change nothing. */
uint32_t edit_list(struct edit *edit, const struct attributes_actions *actions, uint32_t list);
