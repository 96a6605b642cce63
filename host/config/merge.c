// SPDX-License-Identifier: Apache-2.0
#include "merge.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define DELIMITER "::"

/* What stands at one place of several trees, lowest first. */
struct layers {
	struct yaml_node **nodes;
	size_t count;
};

/* A merged map while its entries are collected: those of one key stand together in the end. */
struct merging {
	struct yaml_entry *entries; /* owned; one for each key */
	size_t count;
	size_t *slots;             /* owned; for each entry of all maps its position in @entries */
	size_t *ends;              /* owned; for each of @entries the end of its part of @values */
	struct yaml_node **values; /* owned; of all entries, sorted by slot */
	struct intern index;       /* key to position */
};

struct key_search {
	const struct merging *merging;
	const char *text;
};

static bool entry_has_key(uint32_t id, const void *context)
{
	const struct key_search *search = context;

	return !strcmp(search->merging->entries[id].key->text, search->text);
}

static bool without_memory(struct yaml_source *source)
{
	source->problems->no_memory = true;
	return false;
}

static bool merging_init(struct merging *merging, size_t total)
{
	*merging = (struct merging){
		.entries = calloc(total + 1, sizeof(*merging->entries)),
		.slots = calloc(total + 1, sizeof(*merging->slots)),
		.ends = calloc(total + 1, sizeof(*merging->ends)),
		.values = calloc(total + 1, sizeof(struct yaml_node *)),
	};
	return merging->entries && merging->slots && merging->ends && merging->values;
}

static void merging_deinit(struct merging *merging)
{
	free(merging->entries);
	free(merging->slots);
	free(merging->ends);
	free(merging->values);
	intern_deinit(&merging->index);
}

/* The position of @entry's key, a new one at its first time. False without memory. */
static bool find_slot(struct merging *merging, const struct yaml_entry *entry, size_t *ret)
{
	struct key_search search = { .merging = merging, .text = entry->key->text };
	uint32_t hash = intern_hash(entry->key->text, strlen(entry->key->text));
	uint32_t id = intern_find(&merging->index, hash, entry_has_key, &search);

	*ret = id;
	if (id != INTERN_MISSING)
		return true;
	*ret = merging->count;
	merging->entries[merging->count++] = *entry;
	return intern_insert(&merging->index, hash, (uint32_t)*ret);
}

/* Find the slot of every entry of @maps, and count those of each in ends[]. */
static bool assign_slots(struct merging *merging, struct layers maps)
{
	size_t at = 0;

	for (size_t i = 0; i < maps.count; i++)
		for (size_t j = 0; j < maps.nodes[i]->count; j++, at++) {
			if (!find_slot(merging, &maps.nodes[i]->entries[j], &merging->slots[at]))
				return false;
			merging->ends[merging->slots[at]]++;
		}
	return true;
}

/* A counting sort, which leaves the values of a slot in the order of their maps. */
static void sort_values(struct merging *merging, struct layers maps)
{
	size_t at = 0, begin = 0;

	for (size_t i = 0; i < merging->count; i++) {
		size_t length = merging->ends[i];

		merging->ends[i] = begin;
		begin += length;
	}
	for (size_t i = 0; i < maps.count; i++)
		for (size_t j = 0; j < maps.nodes[i]->count; j++, at++)
			merging->values[merging->ends[merging->slots[at]]++] =
				maps.nodes[i]->entries[j].value;
}

static struct yaml_node *merge_layers(struct yaml_source *source, struct layers layers);

static struct yaml_node *finish_map(struct yaml_source *source, struct merging *merging,
				    struct place place)
{
	struct yaml_entry *kept = arena_alloc(source->memory, (merging->count + 1) * sizeof(*kept));

	if (!kept) {
		without_memory(source);
		return NULL;
	}
	for (size_t i = 0, begin = 0; i < merging->count; begin = merging->ends[i++]) {
		struct layers below = { .nodes = merging->values + begin,
					.count = merging->ends[i] - begin };

		kept[i].key = merging->entries[i].key;
		kept[i].value = merge_layers(source, below);
		if (!kept[i].value)
			return NULL;
	}
	return yaml_create_map(source, place, kept, merging->count);
}

static struct yaml_node *merge_maps(struct yaml_source *source, struct layers maps)
{
	struct yaml_node *result = NULL;
	struct merging merging;
	size_t total = 0;

	for (size_t i = 0; i < maps.count; i++)
		total += maps.nodes[i]->count;
	if (!merging_init(&merging, total) || !assign_slots(&merging, maps)) {
		without_memory(source);
	} else {
		sort_values(&merging, maps);
		result = finish_map(source, &merging, maps.nodes[0]->place);
	}
	merging_deinit(&merging);
	return result;
}

/*
 * All layers in one pass: one after the other would copy a map once for each of them. The
 * recursion is bounded by the depth of what was read and by that of split keys.
 */
static struct yaml_node *merge_layers(struct yaml_source *source, struct layers layers)
{
	size_t first = layers.count - 1;

	// What is no map hides all below it, and is hidden by what follows.
	while (first && layers.nodes[first]->kind == YAML_MAP &&
	       layers.nodes[first - 1]->kind == YAML_MAP)
		first--;
	if (first == layers.count - 1)
		return layers.nodes[first];
	return merge_maps(source, (struct layers){ .nodes = layers.nodes + first,
						   .count = layers.count - first });
}

struct yaml_node *merge_nodes(struct yaml_source *source, struct yaml_node **nodes, size_t count)
{
	return merge_layers(source, (struct layers){ .nodes = nodes, .count = count });
}

static struct yaml_node *create_key(struct yaml_source *source, const struct yaml_node *whole,
				    const char *begin, size_t length)
{
	struct yaml_node *key = arena_alloc(source->memory, sizeof(*key));

	if (!key) {
		without_memory(source);
		return NULL;
	}
	*key = *whole;
	key->text = arena_strndup(source->memory, begin, length);
	return key->text || without_memory(source) ? key : NULL;
}

/* `a::b: value` as a map of its own; @key is what is left of the key. */
static struct yaml_node *split_entry(struct yaml_source *source, const struct yaml_entry *entry,
				     const char *key, unsigned int depth)
{
	const char *delimiter = strstr(key, DELIMITER);
	size_t length = delimiter ? (size_t)(delimiter - key) : strlen(key);
	struct yaml_entry *single = arena_alloc(source->memory, sizeof(*single));

	if (depth >= YAML_DEPTH_MAX) {
		problems_add(source->problems, entry->key->place, NULL,
			     "exceeded the maximum depth of %d levels; shorten the key",
			     YAML_DEPTH_MAX);
		return NULL;
	}
	if (!single) {
		without_memory(source);
		return NULL;
	}
	single->key = create_key(source, entry->key, key, length);
	single->value =
		delimiter ? split_entry(source, entry, delimiter + strlen(DELIMITER), depth + 1)
			  : entry->value;
	if (!single->key || !single->value)
		return NULL;
	return yaml_create_map(source, entry->key->place, single, 1);
}

static bool is_split(const struct yaml_entry *entry)
{
	return strstr(entry->key->text, DELIMITER);
}

/* @root without its split keys, then a map for each of them. False when one cannot be. */
static bool collect_parts(struct yaml_source *source, const struct yaml_node *root,
			  struct yaml_node **parts)
{
	struct yaml_entry *plain = arena_alloc(source->memory, (root->count + 1) * sizeof(*plain));
	size_t plain_count = 0, count = 1;

	if (!plain)
		return without_memory(source);
	for (size_t i = 0; i < root->count; i++) {
		const struct yaml_entry *entry = &root->entries[i];

		if (!is_split(entry)) {
			plain[plain_count++] = *entry;
			continue;
		}
		parts[count] = split_entry(source, entry, entry->key->text, 0);
		if (!parts[count++])
			return false;
	}
	parts[0] = yaml_create_map(source, root->place, plain, plain_count);
	return parts[0];
}

struct yaml_node *merge_split_keys(struct yaml_source *source, struct yaml_node *root)
{
	CLEANUP_FREE struct yaml_node **parts = NULL;
	size_t split = 0;

	for (size_t i = 0; i < root->count; i++)
		split += is_split(&root->entries[i]);
	if (!split)
		return root;
	parts = calloc(split + 1, sizeof(struct yaml_node *));
	if (!parts) {
		without_memory(source);
		return NULL;
	}
	return collect_parts(source, root, parts) ? merge_nodes(source, parts, split + 1) : NULL;
}
