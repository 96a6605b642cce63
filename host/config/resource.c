// SPDX-License-Identifier: Apache-2.0
/*
 * `service.telemetry.resource` in both of its forms: `attributes` as a list of name and value,
 * and attributes as keys of the section itself.
 */
#include "loading.h"
#include "yaml.h"

#include "base/base.h"

#include <string.h>

enum { ATTRIBUTES_MAX = 1000 };

/* The attributes while they are collected, with room for all that the section has. */
struct collecting {
	const char **keys, **values, **removed;
	size_t count, removed_count;
	const struct yaml_node *inline_key; /* the first one that is an attribute itself */
};

static bool allocate(struct loading *loading, size_t count, struct collecting *ret)
{
	size_t bytes = (count + 1) * sizeof(const char *);

	ret->keys = arena_alloc(loading->memory, bytes);
	ret->values = arena_alloc(loading->memory, bytes);
	ret->removed = arena_alloc(loading->memory, bytes);
	if (ret->keys && ret->values && ret->removed)
		return true;
	loading->problems->no_memory = true;
	return false;
}

static void put(struct collecting *to, const char *key, const char *value)
{
	for (size_t i = 0; i < to->count; i++) {
		if (strcmp(to->keys[i], key) != 0)
			continue;
		to->values[i] = value;
		return;
	}
	to->keys[to->count] = key;
	to->values[to->count++] = value;
}

/* The old form: text, or null to remove what is there by itself. */
static void read_inline(struct loading *loading, const struct yaml_entry *entry,
			const struct path *path, struct collecting *to)
{
	const struct yaml_node *value = entry->value;

	if (!to->inline_key)
		to->inline_key = entry->key;
	if (value->broken)
		return;
	if (yaml_is_null(value) && !value->from_variable)
		to->removed[to->removed_count++] = entry->key->text;
	else if (value->kind == YAML_SCALAR &&
		 (value->scalar.type == SCALAR_STRING || value->from_variable))
		put(to, entry->key->text, value->text);
	else
		problems_add(loading->problems, value->place, path,
			     "legacy resource attribute \"%.100s\" must be string or null; put it "
			     "in quotes",
			     entry->key->text);
}

/* One of `attributes`; its type is that of the text, and says nothing more here. */
static void read_pair(struct loading *loading, const struct yaml_node *item,
		      const struct path *path, struct collecting *to)
{
	static const char *const keys[] = { "name", "value", "type", NULL };
	const struct yaml_node *name, *value;

	if (!loading_expect_map(loading, item, path))
		return;
	for (size_t i = 0; i < item->count; i++)
		if (strcmp(item->entries[i].key->text, "name") != 0 &&
		    strcmp(item->entries[i].key->text, "value") != 0 &&
		    strcmp(item->entries[i].key->text, "type") != 0)
			loading_unknown_key(loading, item->entries[i].key, keys, path);
	name = yaml_map_find(item, "name");
	value = yaml_map_find(item, "value");
	if (yaml_is_null(name) || name->kind != YAML_SCALAR || !*name->text)
		problems_add(loading->problems, item->place, path,
			     "the attribute has no name; add 'name: ...' to it");
	else if (value && value->kind != YAML_SCALAR)
		problems_add(loading->problems, value->place, path,
			     "the value of attribute \"%.100s\" is a %s; write text or a number",
			     yaml_shown(name), yaml_type_name(value));
	else
		put(to, name->text, value && !value->broken ? value->text : "");
}

static void read_attributes(struct loading *loading, const struct yaml_node *list,
			    const struct path *parent, struct collecting *to)
{
	struct path path = { .parent = parent, .key = "attributes" };

	if (yaml_is_null(list) || list->broken)
		return;
	if (list->kind != YAML_LIST) {
		problems_add(loading->problems, list->place, &path,
			     "source data must be an array or slice, got %s; write each as "
			     "'- {name: a, value: b}'%s",
			     yaml_type_name(list), yaml_hint(list));
		return;
	}
	for (size_t i = 0; i < list->count; i++) {
		struct path here = { .parent = &path, .index = i };

		read_pair(loading, list->items[i], &here, to);
	}
}

/* True for a key that is no attribute. */
static bool read_special(struct loading *loading, const struct yaml_entry *entry,
			 const struct path *path, struct collecting *to)
{
	struct path here = { .parent = path, .key = entry->key->text };

	if (!strcmp(here.key, "attributes")) {
		read_attributes(loading, entry->value, path, to);
	} else if (!strcmp(here.key, "attributes_list")) {
		if (!yaml_is_null(entry->value))
			problems_add(loading->problems, entry->value->place, &here,
				     "resource::attributes_list is not currently supported, please "
				     "use resource::attributes");
	} else if (!strcmp(here.key, "schema_url") || !strcmp(here.key, "detection/development")) {
		if (!yaml_is_null(entry->value))
			problems_warn(loading->problems, entry->value->place, &here,
				      "has no effect: write the attributes themselves");
	} else {
		return false;
	}
	return true;
}

void resource_read(struct loading *loading, const struct yaml_node *section,
		   const struct path *path)
{
	const struct yaml_node *list;
	struct collecting collected = {};
	size_t count;

	if (!loading_expect_map(loading, section, path))
		return;
	list = yaml_map_find(section, "attributes");
	count = section->count + (list ? list->count : 0);
	if (count > ATTRIBUTES_MAX) {
		problems_add(loading->problems, section->place, path,
			     "more than %d attributes; remove some", ATTRIBUTES_MAX);
		return;
	}
	if (!allocate(loading, count, &collected))
		return;
	for (size_t i = 0; i < section->count; i++)
		if (!read_special(loading, &section->entries[i], path, &collected))
			read_inline(loading, &section->entries[i], path, &collected);
	if (!yaml_is_null(list) && collected.inline_key)
		problems_add(
			loading->problems, collected.inline_key->place, path,
			"has invalid keys: %s; with 'attributes' there, write it as an item of "
			"it",
			collected.inline_key->text);
	loading->service.resource = (struct profcol_map){
		.keys = collected.keys,
		.values = collected.values,
		.count = collected.count,
	};
	loading->service.resource_removed = (struct profcol_list){
		.items = collected.removed,
		.count = collected.removed_count,
	};
}
