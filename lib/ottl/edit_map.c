// SPDX-License-Identifier: Apache-2.0
#include "edit_map.h"

#include "path_write.h"
#include "run.h"
#include "value_store.h"

#include <string.h>

static bool no_memory(struct evaluation *evaluation)
{
	return evaluation_fail(evaluation, "no memory for a map");
}

/* ---- items ---- */

bool edit_item_read(struct evaluation *evaluation, const struct edit_item *item, struct value *ret)
{
	struct profcol_attribute attribute;

	if (item->is_fresh) {
		*ret = item->value;
		return true;
	}
	attribute = profcol_batch_attribute(evaluation->batch, item->id);
	return value_of_attribute(evaluation->batch, &attribute.value, evaluation->scratch, ret) ||
	       evaluation_fail(evaluation, "the attribute is too large");
}

void edit_item_set(struct edit_item *item, const struct value *value)
{
	item->value = *value;
	item->is_fresh = true;
}

static bool is_key(const struct edit_item *item, struct profcol_text key)
{
	return !item->is_removed && item->key.length == key.length &&
	       (!key.length || !memcmp(item->key.bytes, key.bytes, key.length));
}

struct edit_item *edit_map_find(const struct edit_map *map, struct profcol_text key)
{
	for (uint32_t i = 0; i < map->count; i++)
		if (is_key(&map->items[i], key))
			return &map->items[i];
	return NULL;
}

static bool reserve(struct evaluation *evaluation, struct edit_map *map, uint32_t count)
{
	struct edit_item *items;

	if (count <= map->capacity)
		return true;
	if (count > OTTL_MAX_ITEMS)
		return evaluation_fail(evaluation, "%u attributes are too many for a map", count);
	items = scratch_array(evaluation->scratch, 2 * (size_t)count, sizeof(*items));
	if (!items)
		return no_memory(evaluation);
	if (map->count)
		memcpy(items, map->items, map->count * sizeof(*items));
	map->items = items;
	map->capacity = 2 * count;
	return true;
}

bool edit_map_add(struct evaluation *evaluation, struct edit_map *map, struct profcol_text key,
		  const struct value *value)
{
	if (!reserve(evaluation, map, map->count + 1))
		return false;
	map->items[map->count] = (struct edit_item){ .key = key };
	edit_item_set(&map->items[map->count++], value);
	return true;
}

/* ---- attributes of a row ---- */

static bool load_attributes(struct evaluation *evaluation, struct edit_map *map)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(
		evaluation->batch, map->node->path->attributes(evaluation), &count);

	if (!reserve(evaluation, map, count))
		return false;
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute =
			profcol_batch_attribute(evaluation->batch, ids[i]);

		map->items[i] = (struct edit_item){
			.key = profcol_batch_string(evaluation->batch, attribute.key),
			.id = ids[i],
		};
	}
	map->count = count;
	return true;
}

/* Copy what is to be added to the builder, whose own bytes move then. */
static bool keep_fresh(struct evaluation *evaluation, struct edit_map *map)
{
	for (uint32_t i = 0; i < map->count; i++) {
		struct edit_item *item = &map->items[i];
		struct value key = value_string(item->key);

		if (item->is_removed || (!item->is_fresh && !item->is_renamed))
			continue;
		if (item->is_fresh && !value_is_storable(&item->value))
			return evaluation_fail(
				evaluation, "a %s cannot be an attribute, or is nested too deeply",
				value_type_name(item->value.type));
		if (!value_keep(&key, evaluation->scratch, &key) ||
		    (item->is_fresh &&
		     !value_keep(&item->value, evaluation->scratch, &item->value)))
			return no_memory(evaluation);
		item->key = key.text;
	}
	return true;
}

/* The id of the attribute that @item has become. False without memory. */
static bool store_item(struct evaluation *evaluation, const struct edit_item *item, uint32_t *ret)
{
	struct profcol_builder *builder = evaluation->run->builder;
	struct profcol_attribute attribute = { 0 };

	*ret = item->id;
	if (item->id)
		attribute = profcol_batch_attribute(evaluation->batch, item->id);
	if (!item->is_fresh && !item->is_renamed)
		return true;
	if (!item->id || item->is_renamed)
		attribute.key = profcol_builder_string(builder, item->key.bytes, item->key.length);
	if (item->is_fresh && !value_store(&item->value, builder, &attribute.value))
		return no_memory(evaluation);
	*ret = profcol_builder_attribute(builder, &attribute);
	evaluation->run->has_removed |= item->id && item->id != *ret;
	return true;
}

static bool store_attributes(struct evaluation *evaluation, struct edit_map *map)
{
	uint32_t *ids = scratch_array(evaluation->scratch, map->count, sizeof(*ids));
	uint32_t count = 0, list;

	if (!ids)
		return no_memory(evaluation);
	if (!keep_fresh(evaluation, map))
		return false;
	for (uint32_t i = 0; i < map->count; i++) {
		evaluation->run->has_removed |= map->items[i].is_removed;
		if (!map->items[i].is_removed &&
		    !store_item(evaluation, &map->items[i], &ids[count++]))
			return false;
	}
	list = profcol_builder_attribute_list(evaluation->run->builder, ids, count);
	if (list != map->node->path->attributes(evaluation))
		map->node->writer->set_attributes(evaluation, list);
	return true;
}

bool edit_map_replace_attributes(struct evaluation *evaluation, const struct node *node,
				 const struct value *value)
{
	struct edit_map map = { .node = node };
	uint32_t old;

	if (value->type != VALUE_MAP && value->type != VALUE_NIL)
		return evaluation_fail(evaluation, "expects a value of type map but got %s",
				       value_type_name(value->type));
	if (!load_attributes(evaluation, &map))
		return false;
	old = map.count;
	for (uint32_t i = 0; i < old; i++)
		map.items[i].is_removed = true;
	for (uint32_t i = 0; i < value->count; i++) {
		const struct value *pair = &value->items[2 * (size_t)i];

		if (!edit_map_add(evaluation, &map, pair[0].text, &pair[1]))
			return false;
	}
	return store_attributes(evaluation, &map);
}

/* ---- maps that are values ---- */

static bool is_attributes(const struct node *node)
{
	return node->path->attributes && !node->key_count;
}

static bool load_value(struct evaluation *evaluation, struct edit_map *map)
{
	struct value value;

	if (!evaluate_value(evaluation, map->node, &value))
		return false;
	if (value.type != VALUE_MAP)
		return evaluation_fail(evaluation, "expected a map but got %s",
				       value_type_name(value.type));
	for (uint32_t i = 0; i < value.count; i++) {
		const struct value *pair = &value.items[2 * (size_t)i];

		if (!edit_map_add(evaluation, map, pair[0].text, &pair[1]))
			return false;
	}
	return true;
}

static bool store_value(struct evaluation *evaluation, const struct edit_map *map)
{
	struct value value = { .type = VALUE_MAP };
	struct value *items =
		scratch_array(evaluation->scratch, 2 * (size_t)map->count, sizeof(*items));

	if (!items)
		return no_memory(evaluation);
	for (uint32_t i = 0; i < map->count; i++) {
		if (map->items[i].is_removed)
			continue;
		items[2 * (size_t)value.count] = value_string(map->items[i].key);
		items[2 * (size_t)value.count + 1] = map->items[i].value;
		value.count++;
	}
	value_sort_pairs(items, value.count);
	value.items = items;
	return edit_put(evaluation, map->node, &value);
}

bool edit_map_load(struct evaluation *evaluation, const struct node *node, struct edit_map *ret)
{
	*ret = (struct edit_map){ .node = node };
	return is_attributes(node) ? load_attributes(evaluation, ret) : load_value(evaluation, ret);
}

bool edit_map_store(struct evaluation *evaluation, struct edit_map *map)
{
	return is_attributes(map->node) ? store_attributes(evaluation, map)
					: store_value(evaluation, map);
}
