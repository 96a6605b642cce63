// SPDX-License-Identifier: Apache-2.0
/* A value put to the place that the keys of a path lead to. */
#include "edit_map.h"

#include "path_write.h"
#include "run.h"
#include "value_store.h"

#include <string.h>

/* What is put, and the keys that are left on the way to its place. */
struct setting {
	struct evaluation *evaluation;
	const struct node *node;
	const struct value *value;
};

static bool put_behind(const struct setting *setting, uint32_t key, struct value *at);

/* @map with @key for @value, in place of the one that is there. */
static bool map_with(struct evaluation *evaluation, struct value *map, struct profcol_text key,
		     const struct value *value)
{
	struct value *items =
		scratch_array(evaluation->scratch, 2 * ((size_t)map->count + 1), sizeof(*items));
	uint32_t count = 0;
	bool is_there = false;

	if (!items || map->count >= OTTL_MAX_ITEMS)
		return evaluation_fail(evaluation, "no room for another key of a map");
	for (; count < map->count; count++) {
		const struct value *pair = &map->items[2 * (size_t)count];

		items[2 * (size_t)count] = pair[0];
		items[2 * (size_t)count + 1] = pair[1];
		if (is_there || text_compare(pair[0].text, key) != 0)
			continue;
		items[2 * (size_t)count + 1] = *value;
		is_there = true;
	}
	if (!is_there) {
		items[2 * (size_t)count] = value_string(key);
		items[2 * (size_t)count + 1] = *value;
		count++;
	}
	value_sort_pairs(items, count);
	*map = (struct value){ .type = VALUE_MAP, .count = count, .items = items };
	return true;
}

static bool put_into_map(const struct setting *setting, uint32_t key, const struct value *name,
			 struct value *map)
{
	const struct value *found = value_find(map, name->text);
	struct value inner = found ? *found : (struct value){ 0 };

	return put_behind(setting, key + 1, &inner) &&
	       map_with(setting->evaluation, map, name->text, &inner);
}

/* A list with room for position @index; false when that is beyond what is there. */
static bool put_into_list(const struct setting *setting, uint32_t key, int64_t index,
			  struct value *list)
{
	struct evaluation *evaluation = setting->evaluation;
	bool is_new = list->type == VALUE_NIL;
	struct value *items, inner = { 0 };
	uint32_t count;

	if (index < 0 || index >= (is_new ? OTTL_MAX_ITEMS : (int64_t)list->count))
		return evaluation_fail(evaluation, "index %lld out of bounds", (long long)index);
	count = is_new ? (uint32_t)index + 1 : list->count;
	items = scratch_array(evaluation->scratch, count, sizeof(*items));
	if (!items)
		return evaluation_fail(evaluation, "no memory for a list");
	for (uint32_t i = 0; i < count; i++)
		items[i] = is_new ? (struct value){ 0 } : list->items[i];
	inner = items[index];
	if (!put_behind(setting, key + 1, &inner))
		return false;
	items[index] = inner;
	*list = (struct value){ .type = VALUE_LIST, .count = count, .items = items };
	return true;
}

/* Put the value where the keys from @key on lead to from @at. */
static bool put_behind(const struct setting *setting, uint32_t key, struct value *at)
{
	struct evaluation *evaluation = setting->evaluation;
	struct value name;

	if (key == setting->node->key_count) {
		*at = *setting->value;
		return value_is_storable(at) ||
		       evaluation_fail(evaluation,
				       "a %s cannot be an attribute, or is nested too deeply",
				       value_type_name(at->type));
	}
	if (!evaluate_value(evaluation, setting->node->keys[key], &name))
		return false;
	if (name.type == VALUE_STRING && (at->type == VALUE_MAP || at->type == VALUE_NIL))
		return put_into_map(setting, key, &name, at);
	if (name.type == VALUE_INT && (at->type == VALUE_LIST || at->type == VALUE_NIL))
		return put_into_list(setting, key, name.integer, at);
	return evaluation_fail(evaluation, "a %s cannot be indexed by a %s",
			       value_type_name(at->type), value_type_name(name.type));
}

/* The first key leads to an attribute, whose place in the list stays. */
static bool set_attribute(const struct setting *setting)
{
	struct evaluation *evaluation = setting->evaluation;
	struct edit_map map;
	struct edit_item *item;
	struct value key, value = { 0 };
	struct node whole = *setting->node;

	if (!evaluate_value(evaluation, setting->node->keys[0], &key))
		return false;
	if (key.type != VALUE_STRING)
		return evaluation_fail(evaluation,
				       "cannot set map value: could not resolve key for map, "
				       "expecting 'string' but got '%s'",
				       value_type_name(key.type));
	whole.key_count = 0;
	if (!edit_map_load(evaluation, &whole, &map))
		return false;
	item = edit_map_find(&map, key.text);
	if (item && !edit_item_read(evaluation, item, &value))
		return false;
	if (!put_behind(setting, 1, &value))
		return false;
	if (item)
		edit_item_set(item, &value);
	else if (!edit_map_add(evaluation, &map, key.text, &value))
		return false;
	return edit_map_store(evaluation, &map);
}

bool edit_put(struct evaluation *evaluation, const struct node *node, const struct value *value)
{
	const struct setting setting = { evaluation, node, value };

	if (node->key_count && node->path->attributes)
		return set_attribute(&setting);
	if (node->key_count) {
		struct value cache = evaluation->run->cache;

		return put_behind(&setting, 0, &cache) && node->writer->write(evaluation, &cache);
	}
	return path_write(evaluation, node, value);
}
