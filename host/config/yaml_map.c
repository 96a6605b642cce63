// SPDX-License-Identifier: Apache-2.0
#include "yaml_map.h"

#include "base/base.h"

#include <string.h>

void map_builder_deinit(struct map_builder *builder)
{
	VECTOR_DEINIT(&builder->entries);
	intern_deinit(&builder->index);
}

struct key_search {
	const struct map_builder *builder;
	const char *text;
};

static bool entry_has_key(uint32_t id, const void *context)
{
	const struct key_search *search = context;

	return !strcmp(search->builder->entries.items[id].key->text, search->text);
}

/* Add unless the key is there; then that entry comes back in *@ret. False without memory. */
static bool add_new(struct map_builder *builder, struct yaml_entry entry, struct yaml_entry **ret)
{
	struct key_search search = { .builder = builder, .text = entry.key->text };
	uint32_t hash = intern_hash(entry.key->text, strlen(entry.key->text));
	uint32_t id = intern_find(&builder->index, hash, entry_has_key, &search);

	*ret = NULL;
	if (id != INTERN_MISSING) {
		*ret = &builder->entries.items[id];
		return true;
	}
	if (VECTOR_PUSH(&builder->entries, entry) &&
	    intern_insert(&builder->index, hash, (uint32_t)builder->entries.count - 1))
		return true;
	builder->reading->source->problems->no_memory = true;
	return false;
}

/* In a file duplicates are collected and reading goes on; a variable's text is then no YAML. */
static bool refuse_duplicate(struct map_builder *builder, const struct yaml_node *key,
			     const struct yaml_node *first, const struct path *path)
{
	reading_problem(
		builder->reading, key->place, path,
		"mapping key \"%s\" already defined at line %u, column %u; keep one of them",
		key->text, first->place.line, first->place.column);
	return !builder->reading->options->quiet;
}

bool map_builder_add(struct map_builder *builder, struct yaml_node *key, struct yaml_node *value,
		     const struct path *path)
{
	struct yaml_entry entry = { .key = key, .value = value };
	struct yaml_entry *old;

	// In quotes as well: so it is in yaml.v3.
	if (!strcmp(key->text, "<<")) {
		if (builder->merge_key)
			return refuse_duplicate(builder, key, builder->merge_key, path);
		builder->merge_key = key;
		builder->merge = value;
		return true;
	}
	if (!add_new(builder, entry, &old))
		return false;
	return !old || refuse_duplicate(builder, key, old->key, path);
}

static bool merge_map(struct map_builder *builder, const struct yaml_node *map,
		      const struct path *path)
{
	struct yaml_entry *old;

	if (map->kind != YAML_MAP) {
		reading_problem(builder->reading, builder->merge_key->place, path,
				"map merge requires map or sequence of maps as the value, got %s",
				yaml_type_name(map));
		return false;
	}
	for (size_t i = 0; i < map->count; i++)
		if (!add_new(builder, map->entries[i], &old))
			return false;
	return true;
}

static bool merge_all(struct map_builder *builder, const struct path *path)
{
	const struct yaml_node *merge = builder->merge;

	if (!merge)
		return true;
	if (merge->kind != YAML_LIST)
		return merge_map(builder, merge, path);
	for (size_t i = 0; i < merge->count; i++)
		if (!merge_map(builder, merge->items[i], path))
			return false;
	return true;
}

bool map_builder_finish(struct map_builder *builder, struct yaml_node *node,
			const struct path *path)
{
	if (!merge_all(builder, path))
		return false;
	node->entries = reading_keep(builder->reading, builder->entries.items,
				     builder->entries.count * sizeof(*builder->entries.items));
	node->count = builder->entries.count;
	if (!node->entries)
		return false;
	node->weight = 0;
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_node *value = node->entries[i].value;

		node->weight += 1 + value->weight;
		if (value->height > node->height)
			node->height = value->height;
	}
	return true;
}
