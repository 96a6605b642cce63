// SPDX-License-Identifier: Apache-2.0
/* Actions on one list. */
#include "action.h"

#include <stdlib.h>
#include <string.h>

void edit_deinit(struct edit *edit)
{
	VECTOR_DEINIT(&edit->items);
	VECTOR_DEINIT(&edit->ids);
	VECTOR_DEINIT(&edit->groups);
}

static const struct profcol_batch *edit_batch(const struct edit *edit)
{
	return profcol_builder_peek(edit->builder);
}

static bool edit_load(struct edit *edit, uint32_t list)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(edit_batch(edit), list, &count);

	edit->changed = false;
	edit->items.count = 0;
	if (!VECTOR_RESERVE(&edit->items, count))
		return false;
	for (uint32_t i = 0; i < count; i++)
		edit->items.items[edit->items.count++] = (struct edit_item){
			.attribute = profcol_batch_attribute(edit_batch(edit), ids[i]),
			.id = ids[i],
		};
	return true;
}

static uint32_t edit_store(struct edit *edit)
{
	edit->ids.count = 0;
	if (!VECTOR_RESERVE(&edit->ids, edit->items.count)) {
		edit->no_memory = true;
		return 0;
	}
	for (size_t i = 0; i < edit->items.count; i++) {
		const struct edit_item *item = &edit->items.items[i];

		edit->ids.items[i] =
			item->is_fresh ? profcol_builder_attribute(edit->builder, &item->attribute)
				       : item->id;
	}
	return profcol_builder_attribute_list(edit->builder, edit->ids.items,
					      (uint32_t)edit->items.count);
}

static bool is_called(const struct edit *edit, const struct edit_item *item, const char *key)
{
	struct profcol_text name = profcol_batch_string(edit_batch(edit), item->attribute.key);

	return name.length == strlen(key) && !memcmp(name.bytes, key, name.length);
}

/* The first attribute called @key; items.count when there is none. */
static size_t edit_find(const struct edit *edit, const char *key)
{
	size_t i = 0;

	while (i < edit->items.count && !is_called(edit, &edit->items.items[i], key))
		i++;
	return i;
}

static void edit_remove(struct edit *edit, size_t position)
{
	struct edit_item *at = &edit->items.items[position];

	edit->items.count--;
	memmove(at, at + 1, (edit->items.count - position) * sizeof(*at));
	edit->changed = edit->removed = true;
}

static void edit_replace(struct edit *edit, size_t position, struct profcol_value value,
			 uint32_t unit)
{
	struct edit_item *item = &edit->items.items[position];

	if (value_equals(&item->attribute.value, &value) && item->attribute.unit == unit)
		return;
	item->attribute.value = value;
	item->attribute.unit = unit;
	item->is_fresh = true;
	edit->changed = edit->removed = true;
}

/* @key is that value from now on, once, whether it was there or not. */
static void edit_put(struct edit *edit, const char *key, struct profcol_value value, uint32_t unit)
{
	size_t position = edit_find(edit, key);
	struct edit_item item = { .attribute = { .unit = unit, .value = value }, .is_fresh = true };

	if (position < edit->items.count) {
		edit_replace(edit, position, value, unit);
		for (size_t i = edit->items.count; --i > position;)
			if (is_called(edit, &edit->items.items[i], key))
				edit_remove(edit, i);
		return;
	}
	item.attribute.key = profcol_builder_cstring(edit->builder, key);
	edit->changed = true;
	if (!VECTOR_PUSH(&edit->items, item))
		edit->no_memory = true;
}

/* ---- insert, update, upsert ---- */

/* Where the value comes from; false when there is none. */
static bool find_source(struct edit *edit, const struct action *action, struct profcol_value *value,
			uint32_t *unit)
{
	size_t position;

	*unit = 0;
	if (action->has_value) {
		*value = constant_put(&action->value, edit->builder);
		return true;
	}
	position = *action->from_attribute ? edit_find(edit, action->from_attribute)
					   : edit->items.count;
	if (position < edit->items.count) {
		*value = edit->items.items[position].attribute.value;
		*unit = edit->items.items[position].attribute.unit;
		return true;
	}
	if (!action->has_fallback)
		return false;
	*value = constant_put(&action->fallback, edit->builder);
	return true;
}

static void act_put(struct edit *edit, const struct action *action)
{
	bool is_there = edit_find(edit, action->key) < edit->items.count;
	struct profcol_value value;
	uint32_t unit;

	if (action->kind == ACTION_INSERT ? is_there : action->kind == ACTION_UPDATE && !is_there)
		return;
	if (find_source(edit, action, &value, &unit))
		edit_put(edit, action->key, value, unit);
}

/* ---- delete, hash ---- */

/* Where a pattern cannot tell within its limit, the safe side is that it matches. */
static bool matches_pattern(struct edit *edit, const struct action *action, size_t position)
{
	struct profcol_text key;

	if (!action->pattern)
		return false;
	key = profcol_batch_string(edit_batch(edit), edit->items.items[position].attribute.key);
	return ottl_pattern_match(action->pattern, key.bytes, key.length, &edit->matches) !=
	       OTTL_FALSE;
}

static void act_delete(struct edit *edit, const struct action *action)
{
	for (size_t i = edit->items.count; i-- > 0;)
		if ((*action->key && is_called(edit, &edit->items.items[i], action->key)) ||
		    matches_pattern(edit, action, i))
			edit_remove(edit, i);
}

static void hash_item(struct edit *edit, size_t position)
{
	struct profcol_value value = edit->items.items[position].attribute.value;

	edit_replace(edit, position, value_hash(edit->builder, &value), 0);
}

/* As in the Collector, one that is called @key and matches the pattern is hashed twice. */
static void act_hash(struct edit *edit, const struct action *action)
{
	for (size_t i = 0; i < edit->items.count; i++) {
		if (*action->key && is_called(edit, &edit->items.items[i], action->key))
			hash_item(edit, i);
		if (matches_pattern(edit, action, i))
			hash_item(edit, i);
	}
}

/* ---- extract, convert ---- */

static void act_extract(struct edit *edit, const struct action *action)
{
	size_t position = edit_find(edit, action->key);
	const struct profcol_value *value;
	CLEANUP_FREE char *subject = NULL;
	struct profcol_text text;

	if (position == edit->items.count)
		return;
	value = &edit->items.items[position].attribute.value;
	if (value->type != PROFCOL_VALUE_STRING)
		return;
	// The batch's own text moves when others come in.
	text = profcol_batch_string(edit_batch(edit), value->string);
	subject = malloc(text.length + 1);
	if (!subject) {
		edit->no_memory = true;
		return;
	}
	memcpy(subject, text.bytes, text.length + 1);
	if (ottl_pattern_extract(action->pattern, subject, text.length, &edit->matches,
				 edit->groups.items) != OTTL_TRUE)
		return;
	for (size_t i = 0; i < ottl_pattern_group_count(action->pattern); i++) {
		const struct profcol_text *group = &edit->groups.items[i];
		struct profcol_value extracted = { .type = PROFCOL_VALUE_STRING };

		extracted.string =
			profcol_builder_string(edit->builder, group->bytes ? group->bytes : "",
					       group->bytes ? group->length : 0);
		edit_put(edit, ottl_pattern_group_name(action->pattern, i), extracted, 0);
	}
}

static void act_convert(struct edit *edit, const struct action *action)
{
	for (size_t i = 0; i < edit->items.count; i++) {
		struct profcol_attribute attribute = edit->items.items[i].attribute;

		if (is_called(edit, &edit->items.items[i], action->key))
			edit_replace(
				edit, i,
				value_convert(edit->builder, &attribute.value, action->conversion),
				attribute.unit);
	}
}

uint32_t edit_list(struct edit *edit, const struct attributes_actions *actions, uint32_t list)
{
	if (!edit_load(edit, list) || !VECTOR_RESERVE(&edit->groups, actions->group_count)) {
		edit->no_memory = true;
		return list;
	}
	for (size_t i = 0; i < actions->count; i++) {
		const struct action *action = &actions->items[i];

		switch (action->kind) {
		case ACTION_INSERT:
		case ACTION_UPDATE:
		case ACTION_UPSERT:
			act_put(edit, action);
			break;
		case ACTION_DELETE:
			act_delete(edit, action);
			break;
		case ACTION_HASH:
			act_hash(edit, action);
			break;
		case ACTION_EXTRACT:
			act_extract(edit, action);
			break;
		case ACTION_CONVERT:
			act_convert(edit, action);
			break;
		}
	}
	return edit->changed ? edit_store(edit) : list;
}
