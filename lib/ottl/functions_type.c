// SPDX-License-Identifier: Apache-2.0
/* Converters that ask what a value is, and those of lists and maps. */
#include "calls.h"

#include <string.h>

static bool is_of_type(struct evaluation *evaluation, const struct node *node, enum value_type type,
		       struct value *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[0], &value))
		return false;
	*ret = value_bool(value.type == type);
	return true;
}

bool call_is_bool(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	return is_of_type(evaluation, node, VALUE_BOOL, ret);
}

bool call_is_int(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	return is_of_type(evaluation, node, VALUE_INT, ret);
}

bool call_is_double(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	return is_of_type(evaluation, node, VALUE_DOUBLE, ret);
}

bool call_is_map(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	return is_of_type(evaluation, node, VALUE_MAP, ret);
}

bool call_is_list(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	return is_of_type(evaluation, node, VALUE_LIST, ret);
}

/* Nothing, or the zero value of its type. */
static bool is_empty(const struct value *value)
{
	switch (value->type) {
	case VALUE_NIL:
		return true;
	case VALUE_BOOL:
		return !value->boolean;
	case VALUE_INT:
	case VALUE_DURATION:
		return !value->integer;
	case VALUE_DOUBLE:
		return value->real == 0;
	case VALUE_STRING:
	case VALUE_BYTES:
		return !value->text.length;
	case VALUE_LIST:
	case VALUE_MAP:
		return !value->count;
	default:
		return false;
	}
}

bool call_is_empty(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[0], &value))
		return false;
	*ret = value_bool(is_empty(&value));
	return true;
}

/* Go's words for true and false. */
static bool parse_bool(struct profcol_text text, bool *ret)
{
	static const char *const words[] = { "0", "f", "F", "false", "FALSE", "False",
					     "1", "t", "T", "true",  "TRUE",  "True" };
	enum { WORDS = sizeof(words) / sizeof(words[0]) };

	for (size_t i = 0; i < WORDS; i++) {
		if (strlen(words[i]) != text.length ||
		    memcmp(words[i], text.bytes, text.length) != 0)
			continue;
		*ret = i >= WORDS / 2;
		return true;
	}
	return false;
}

bool call_bool(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value value;
	bool boolean;

	if (!evaluate_value(evaluation, node->children[0], &value))
		return false;
	switch (value.type) {
	case VALUE_NIL:
	case VALUE_BOOL:
		*ret = value;
		return true;
	case VALUE_INT:
		*ret = value_bool(value.integer != 0);
		return true;
	case VALUE_DOUBLE:
		*ret = value_bool(value.real != 0);
		return true;
	case VALUE_STRING:
		if (!parse_bool(value.text, &boolean))
			return evaluation_fail(
				evaluation, "%s: a string of %zu bytes is neither true nor false",
				node->name, value.text.length);
		*ret = value_bool(boolean);
		return true;
	default:
		return evaluation_fail(evaluation, "%s: unsupported type: %s", node->name,
				       value_type_name(value.type));
	}
}

bool call_keys(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value map, *items;

	if (!evaluate_value(evaluation, node->children[0], &map))
		return false;
	if (map.type != VALUE_MAP)
		return evaluation_fail(evaluation, "%s: expected a map but got %s", node->name,
				       value_type_name(map.type));
	items = scratch_array(evaluation->scratch, map.count, sizeof(*items));
	if (!items)
		return evaluation_fail(evaluation, "%s: no memory", node->name);
	for (uint32_t i = 0; i < map.count; i++)
		items[i] = value_string(map.items[2 * (size_t)i].text);
	*ret = (struct value){ .type = VALUE_LIST, .count = map.count, .items = items };
	return true;
}

bool call_contains_value(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value list, item;
	bool found = false;

	if (!evaluate_value(evaluation, node->children[0], &list) ||
	    !evaluate_value(evaluation, node->children[1], &item))
		return false;
	if (list.type != VALUE_LIST)
		return evaluation_fail(evaluation, "%s: expected a list but got %s", node->name,
				       value_type_name(list.type));
	for (uint32_t i = 0; i < list.count && !found; i++)
		found = value_compare(&list.items[i], &item, COMPARE_EQUAL);
	*ret = value_bool(found);
	return true;
}

bool call_coalesce(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	const struct node *list = node->children[0];

	*ret = (struct value){ 0 };
	if (list->kind == NODE_LITERAL) {
		for (uint32_t i = 0; i < list->literal.count && ret->type == VALUE_NIL; i++)
			*ret = list->literal.items[i];
		return true;
	}
	for (uint32_t i = 0; i < list->child_count && ret->type == VALUE_NIL; i++)
		if (!evaluate_value(evaluation, list->children[i], ret))
			return false;
	return true;
}
