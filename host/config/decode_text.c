// SPDX-License-Identifier: Apache-2.0
#include "decode_text.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

enum { PAIRS_MAX = 1000 };

static const char *keep_text(const struct target *target, const char *text, size_t length)
{
	const char *copy = arena_strndup(target->decoding->memory, text, length);

	if (!copy)
		target->decoding->problems->no_memory = true;
	return copy;
}

static void *keep_array(const struct target *target, size_t count)
{
	void *array = arena_alloc(target->decoding->memory, (count + 1) * sizeof(const char *));

	if (!array)
		target->decoding->problems->no_memory = true;
	return array;
}

const char *decode_take_text(const struct target *target, const struct yaml_node *node,
			     const struct path *path)
{
	bool is_text = node->kind == YAML_SCALAR && node->scalar.type == SCALAR_STRING;
	bool is_scalar = node->kind == YAML_SCALAR;

	if (is_text || node->from_variable)
		return keep_text(target, node->text, strlen(node->text));
	decode_wrong_type(target, node, path, "string", is_scalar ? "; put it in quotes" : "");
	return NULL;
}

/* An item or a value of a map: null is the empty text, as in the Collector. */
static const char *take_element(const struct target *target, const struct yaml_node *node,
				const struct path *path)
{
	if (node->broken || yaml_is_null(node))
		return "";
	return decode_take_text(target, node, path);
}

bool decode_split_list(struct arena *memory, const char *text, struct profcol_list *ret)
{
	size_t count = *text != '\0';
	const char **items;

	for (const char *c = text; *c; c++)
		count += *c == ',';
	items = arena_alloc(memory, (count + 1) * sizeof(*items));
	for (size_t i = 0; items && i < count; i++) {
		size_t length = strcspn(text, ","), blanks = strspn(text, " ");
		const char *end = text + length;

		text += blanks < length ? blanks : length;
		while (end > text && end[-1] == ' ')
			end--;
		items[i] = arena_strndup(memory, text, (size_t)(end - text));
		if (!items[i])
			return false;
		text += strcspn(text, ",");
		text += *text == ',';
	}
	if (items)
		*ret = (struct profcol_list){ .items = items, .count = count };
	return items;
}

void decode_list(const struct target *target)
{
	const struct yaml_node *node = target->node;
	struct profcol_list *list = target->field;
	const char **items;

	if (node->kind == YAML_SCALAR &&
	    (node->scalar.type == SCALAR_STRING || node->from_variable)) {
		if (!decode_split_list(target->decoding->memory, node->text, list))
			target->decoding->problems->no_memory = true;
		return;
	}
	if (node->kind != YAML_LIST) {
		problems_add(target->decoding->problems, node->place, target->path,
			     "source data must be an array or slice, got %s; write it as [a, b]%s",
			     yaml_type_name(node), yaml_hint(node));
		return;
	}
	items = keep_array(target, node->count);
	if (!items)
		return;
	for (size_t i = 0; i < node->count; i++) {
		struct path here = { .parent = target->path, .index = i };

		items[i] = take_element(target, node->items[i], &here);
	}
	*list = (struct profcol_list){ .items = items, .count = node->count };
}

/* The other form of a map: a list of {name: ..., value: ...}. */
static bool take_pair(const struct target *target, const struct yaml_node *node,
		      const struct path *path, const char **key, const char **value)
{
	const struct yaml_node *name = NULL, *text = NULL;
	struct path here = { .parent = path, .key = "value" };

	if (node->kind == YAML_MAP) {
		name = yaml_map_find(node, "name");
		text = yaml_map_find(node, "value");
	}
	if (!name || yaml_is_null(name) || node->count != (text ? 2u : 1u)) {
		problems_add(target->decoding->problems, node->place, path,
			     "is no pair of name and value; write 'key: value' lines "
			     "instead of the list");
		return false;
	}
	*key = take_element(target, name, path);
	*value = text ? take_element(target, text, &here) : "";
	return true;
}

static bool has_key(const char *const *keys, size_t count, const char *key)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static void decode_pairs(const struct target *target, const char **keys, const char **values)
{
	struct profcol_map *map = target->field;
	size_t count = 0;

	for (size_t i = 0; i < target->node->count; i++) {
		const struct yaml_node *item = target->node->items[i];
		struct path here = { .parent = target->path, .index = i };

		if (item->broken || !take_pair(target, item, &here, &keys[count], &values[count]))
			continue;
		if (has_key(keys, count, keys[count]))
			problems_add(target->decoding->problems, item->place, &here,
				     "duplicate keys in map-style list: [%.100s]; keep one of them",
				     item->concealed || yaml_map_find(item, "name")->concealed
					     ? "..."
					     : keys[count]);
		else
			count++;
	}
	*map = (struct profcol_map){ .keys = keys, .values = values, .count = count };
}

void decode_map(const struct target *target)
{
	const struct yaml_node *node = target->node;
	struct profcol_map *map = target->field;
	const char **keys, **values;

	if (node->kind != YAML_MAP && node->kind != YAML_LIST) {
		problems_add(target->decoding->problems, node->place, target->path,
			     "expected a map, got '%s'; write 'key: value' lines below it",
			     yaml_type_name(node));
		return;
	}
	if (node->kind == YAML_LIST && node->count > PAIRS_MAX) {
		problems_add(target->decoding->problems, node->place, target->path,
			     "more than %d pairs; write 'key: value' lines instead of the list",
			     PAIRS_MAX);
		return;
	}
	keys = keep_array(target, node->count);
	values = keep_array(target, node->count);
	if (!keys || !values)
		return;
	if (node->kind == YAML_LIST) {
		decode_pairs(target, keys, values);
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		const char *key = node->entries[i].key->text;
		struct path here = { .parent = target->path, .key = key };

		keys[i] = keep_text(target, key, strlen(key));
		values[i] = take_element(target, node->entries[i].value, &here);
	}
	*map = (struct profcol_map){ .keys = keys, .values = values, .count = node->count };
}

/* ---- any type ---- */

static void take_any(const struct target *target, const struct yaml_node *node,
		     struct profcol_any *ret);

/* The items of a list or the values of a map, as deep as YAML_DEPTH_MAX lets them be. */
static void take_any_items(const struct target *target, const struct yaml_node *node,
			   struct profcol_any *ret)
{
	struct profcol_any *items =
		arena_alloc(target->decoding->memory, (node->count + 1) * sizeof(*items));
	const char **keys = keep_array(target, node->count);

	if (!items || !keys) {
		target->decoding->problems->no_memory = true;
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		bool is_map = node->kind == YAML_MAP;

		take_any(target, is_map ? node->entries[i].value : node->items[i], &items[i]);
		if (is_map)
			keys[i] = keep_text(target, node->entries[i].key->text,
					    strlen(node->entries[i].key->text));
	}
	ret->type = node->kind == YAML_MAP ? PROFCOL_ANY_MAP : PROFCOL_ANY_LIST;
	ret->items = items;
	ret->keys = keys;
	ret->count = node->count;
}

static void take_any(const struct target *target, const struct yaml_node *node,
		     struct profcol_any *ret)
{
	const struct scalar *scalar = &node->scalar;

	*ret = (struct profcol_any){ .type = PROFCOL_ANY_NONE };
	if (node->broken || yaml_is_null(node))
		return;
	if (node->kind != YAML_SCALAR) {
		take_any_items(target, node, ret);
	} else if (scalar->type == SCALAR_BOOL) {
		*ret = (struct profcol_any){ PROFCOL_ANY_BOOL, .boolean = scalar->boolean };
	} else if (scalar->type == SCALAR_INT) {
		*ret = (struct profcol_any){ PROFCOL_ANY_INT, .integer = scalar->integer };
	} else if (scalar->type == SCALAR_FLOAT) {
		*ret = (struct profcol_any){ PROFCOL_ANY_DOUBLE, .real = scalar->number };
	} else {
		ret->text = keep_text(target, node->text, strlen(node->text));
		ret->type = ret->text ? PROFCOL_ANY_TEXT : PROFCOL_ANY_NONE;
	}
}

void decode_any(const struct target *target)
{
	take_any(target, target->node, target->field);
}

void decode_join_words(char *to, size_t size, const char *const *words, const char *separator)
{
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; words[i] && used < size; i++)
		used += (size_t)snprintf(to + used, size - used, "%s%s", i ? separator : "",
					 words[i]);
	if (used >= size)
		memcpy(to + size - sizeof("..."), "...", sizeof("..."));
}
