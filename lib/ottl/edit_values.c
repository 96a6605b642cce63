// SPDX-License-Identifier: Apache-2.0
/* Editors that put values: one, those of another map, other forms of what is there. */
#include "edit_calls.h"
#include "edit_map.h"
#include "run.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

EDIT_CALL(set)
{
	struct value value;

	(void)ret;
	if (!evaluate_value(evaluation, node->children[1], &value))
		return false;
	// As the Collector: what is not there is not set.
	return value.type == VALUE_NIL || edit_put(evaluation, node->children[0], &value);
}

/* ---- lists ---- */

/* The values of the list argument @list, in brackets. */
static bool read_list(struct evaluation *evaluation, const struct node *list, struct value *ret)
{
	*ret = (struct value){ .type = VALUE_LIST };
	return !list || evaluate_value(evaluation, list, ret);
}

EDIT_CALL(append)
{
	const struct node *one = node->children[1];
	struct value old, more, *items;
	uint32_t count = 0;

	(void)ret;
	if (!evaluate_value(evaluation, node->children[0], &old) ||
	    !read_list(evaluation, node->children[2], &more))
		return false;
	if (old.type == VALUE_MAP || old.type > VALUE_LIST)
		return evaluation_fail(evaluation, "%s: unsupported type of target field: %s",
				       node->name, value_type_name(old.type));
	items = scratch_array(evaluation->scratch, (size_t)old.count + more.count + 2,
			      sizeof(*items));
	if (!items)
		return evaluation_fail(evaluation, "%s: no memory", node->name);
	if (old.type == VALUE_LIST)
		for (; count < old.count; count++)
			items[count] = old.items[count];
	else if (old.type != VALUE_NIL)
		items[count++] = old;
	if (one && !evaluate_value(evaluation, one, &items[count++]))
		return false;
	for (uint32_t i = 0; i < more.count; i++)
		items[count++] = more.items[i];
	if (count > OTTL_MAX_ITEMS)
		return evaluation_fail(evaluation, "%s: more than %d items", node->name,
				       OTTL_MAX_ITEMS);
	return edit_put(evaluation, node->children[0],
			&(struct value){ .type = VALUE_LIST, .count = count, .items = items });
}

/* ---- maps ---- */

/* Of the pair @key, @value as @strategy has it: 'i'nsert, 'u'p'd'ate, 'u'p's'ert. */
static bool merge_pair(struct evaluation *evaluation, struct edit_map *map, const char *strategy,
		       const struct value *key, const struct value *value)
{
	struct edit_item *item = edit_map_find(map, key->text);
	bool inserts = strategy[2] != 'd', replaces = strategy[0] != 'i';

	if (item && replaces)
		edit_item_set(item, value);
	if (item || !inserts)
		return true;
	return edit_map_add(evaluation, map, key->text, value);
}

EDIT_CALL(merge_maps)
{
	const char *strategy = node->children[2]->literal.text.bytes;
	struct edit_map map;
	struct value source;

	(void)ret;
	if (!edit_map_load(evaluation, node->children[0], &map) ||
	    !evaluate_value(evaluation, node->children[1], &source))
		return false;
	if (source.type != VALUE_MAP)
		return evaluation_fail(evaluation, "%s: expected a map but got %s", node->name,
				       value_type_name(source.type));
	for (uint32_t i = 0; i < source.count; i++)
		if (!merge_pair(evaluation, &map, strategy, &source.items[2 * (size_t)i],
				&source.items[2 * (size_t)i + 1]))
			return false;
	return edit_map_store(evaluation, &map);
}

/* A map that is being flattened. */
struct flattening {
	struct evaluation *evaluation;
	const struct node *node;
	struct edit_map map; /* what it becomes */
	int64_t depth_max;
	bool resolves_conflicts;
};

/* @prefix, and behind a dot @rest, which may be empty: then @prefix itself. */
static bool join_key(struct flattening *flattening, struct profcol_text prefix,
		     struct profcol_text rest, struct profcol_text *ret)
{
	size_t length = prefix.length + (prefix.length > 0) + rest.length;
	char *bytes = length > OTTL_MAX_STRING
			      ? NULL
			      : scratch_alloc(flattening->evaluation->scratch, length + 1);

	if (!bytes)
		return evaluation_fail(flattening->evaluation, "%s: a key of %zu bytes is too long",
				       flattening->node->name, length);
	if (prefix.length) {
		memcpy(bytes, prefix.bytes, prefix.length);
		bytes[prefix.length] = '.';
	}
	if (rest.length)
		memcpy(bytes + length - rest.length, rest.bytes, rest.length);
	*ret = (struct profcol_text){ bytes, length };
	return true;
}

static bool join_number(struct flattening *flattening, struct profcol_text prefix, uint32_t number,
			struct profcol_text *ret)
{
	char digits[16];
	int length = snprintf(digits, sizeof(digits), "%u", number);

	return join_key(flattening, prefix, (struct profcol_text){ digits, (size_t)length }, ret);
}

/* @index: of a list's item, which without conflicts to be resolved is part of its key. */
static bool flatten_leaf(struct flattening *flattening, struct profcol_text key,
			 const uint32_t *index, const struct value *value)
{
	struct edit_item *item;

	if (index && !flattening->resolves_conflicts && !join_number(flattening, key, *index, &key))
		return false;
	item = edit_map_find(&flattening->map, key);
	if (item && flattening->resolves_conflicts) {
		if (!join_number(flattening, key, item->conflicts++, &key))
			return false;
		item = edit_map_find(&flattening->map, key);
	}
	if (!item)
		return edit_map_add(flattening->evaluation, &flattening->map, key, value);
	edit_item_set(item, value);
	return true;
}

static bool flatten_value(struct flattening *flattening, struct profcol_text key,
			  const struct value *value, int64_t depth);

static bool flatten_items(struct flattening *flattening, struct profcol_text key,
			  const struct value *list, int64_t depth)
{
	for (uint32_t i = 0; i < list->count; i++) {
		const struct value *item = &list->items[i];
		bool is_deeper = (item->type == VALUE_MAP || item->type == VALUE_LIST) &&
				 depth + 1 < flattening->depth_max;
		struct profcol_text inner;

		if (!is_deeper) {
			if (!flatten_leaf(flattening, key, &i, item))
				return false;
			continue;
		}
		if (!join_number(flattening, key, i, &inner) ||
		    !flatten_value(flattening, inner, item, depth + 1))
			return false;
	}
	return true;
}

static bool flatten_value(struct flattening *flattening, struct profcol_text key,
			  const struct value *value, int64_t depth)
{
	struct profcol_text inner;

	if (value->type == VALUE_LIST && depth < flattening->depth_max)
		return flatten_items(flattening, key, value, depth);
	if (value->type != VALUE_MAP || depth >= flattening->depth_max)
		return flatten_leaf(flattening, key, NULL, value);
	for (uint32_t i = 0; i < value->count; i++) {
		const struct value *pair = &value->items[2 * (size_t)i];

		if (!join_key(flattening, key, pair[0].text, &inner) ||
		    !flatten_value(flattening, inner, &pair[1], depth + 1))
			return false;
	}
	return true;
}

static bool flatten_item(struct flattening *flattening, struct profcol_text prefix,
			 const struct edit_item *item)
{
	struct edit_item *kept = NULL;
	struct profcol_text key;
	struct value value;

	if (!edit_item_read(flattening->evaluation, item, &value) ||
	    !join_key(flattening, prefix, item->key, &key))
		return false;
	if (prefix.length || value.type == VALUE_LIST || value.type == VALUE_MAP ||
	    edit_map_find(&flattening->map, key))
		return flatten_value(flattening, key, &value, 0);
	// It is as it was.
	if (!edit_map_add(flattening->evaluation, &flattening->map, key, &value))
		return false;
	kept = &flattening->map.items[flattening->map.count - 1];
	*kept = *item;
	return true;
}

EDIT_CALL(flatten)
{
	const struct node *depth = node->children[2], *conflicts = node->children[3];
	struct profcol_text prefix = { "", 0 };
	struct flattening flattening = {
		.evaluation = evaluation,
		.node = node,
		.map = { .node = node->children[0] },
		.depth_max = depth ? depth->literal.integer : INT64_MAX,
		.resolves_conflicts = conflicts && conflicts->literal.boolean,
	};
	struct edit_map from;

	(void)ret;
	if (node->children[1])
		prefix = node->children[1]->literal.text;
	if (!edit_map_load(evaluation, node->children[0], &from))
		return false;
	for (uint32_t i = 0; i < from.count; i++)
		if (!flatten_item(&flattening, prefix, &from.items[i]))
			return false;
	// Texts may be gone: of a key, or of a value that another one took the place of.
	evaluation->run->has_removed |= from.count > 0;
	return edit_map_store(evaluation, &flattening.map);
}

/* ---- all values of a map ---- */

/* A power of one digit is written without a 0 in front: 1.5e-7. */
static void shorten_power(struct profcol_text *text, struct scratch *scratch)
{
	size_t at = text->length - 2;
	char *bytes;

	if (text->length < sizeof("1e-07") - 1 || text->bytes[at] != '0' ||
	    text->bytes[at - 1] != '-')
		return;
	bytes = scratch_alloc(scratch, text->length);
	if (!bytes)
		return;
	memcpy(bytes, text->bytes, at);
	bytes[at] = text->bytes[at + 1];
	*text = (struct profcol_text){ bytes, text->length - 1 };
}

/* As an attribute's value is written as text: bytes in base64. */
static bool value_to_string(const struct value *value, struct scratch *scratch,
			    struct profcol_text *ret)
{
	size_t size = STRINGS_BASE64_SIZE(value->type == VALUE_BYTES ? value->text.length : 0);
	char *bytes;

	if (value->type != VALUE_BYTES) {
		if (!value_to_text(value, scratch, ret))
			return false;
		if (value->type == VALUE_DOUBLE)
			shorten_power(ret, scratch);
		return true;
	}
	bytes = size > OTTL_MAX_STRING ? NULL : scratch_alloc(scratch, size);
	if (!bytes)
		return false;
	strings_base64(bytes, value->text.bytes, value->text.length);
	*ret = (struct profcol_text){ bytes, size - 1 };
	return true;
}

EDIT_CALL(stringify_all)
{
	struct edit_map map;

	(void)ret;
	if (!edit_map_load(evaluation, node->children[0], &map))
		return false;
	for (uint32_t i = 0; i < map.count; i++) {
		struct profcol_text text = { "", 0 };
		struct value value;

		if (!edit_item_read(evaluation, &map.items[i], &value))
			return false;
		if (value.type == VALUE_STRING)
			continue;
		if (value.type != VALUE_NIL && !value_to_string(&value, evaluation->scratch, &text))
			return evaluation_fail(evaluation, "%s: a %s cannot be made into text",
					       node->name, value_type_name(value.type));
		value = value_string(text);
		edit_item_set(&map.items[i], &value);
	}
	return edit_map_store(evaluation, &map);
}

/* @text cut to @limit bytes, with @marker at its end. False without memory. */
static bool truncate_text(struct evaluation *evaluation, struct profcol_text text, size_t limit,
			  bool utf8_safe, struct profcol_text marker, struct value *ret)
{
	size_t at = limit - marker.length;
	char *bytes = scratch_alloc(evaluation->scratch, limit + 1);

	if (!bytes)
		return evaluation_fail(evaluation, "no memory for a text");
	while (utf8_safe && at && ((unsigned char)text.bytes[at] & 0xc0) == 0x80)
		at--;
	if (at)
		memcpy(bytes, text.bytes, at);
	if (marker.length)
		memcpy(bytes + at, marker.bytes, marker.length);
	*ret = value_string((struct profcol_text){ bytes, at + marker.length });
	return true;
}

EDIT_CALL(truncate_all)
{
	int64_t limit = node->children[1]->literal.integer;
	bool utf8_safe = !node->children[2] || node->children[2]->literal.boolean;
	struct profcol_text marker = { "", 0 };
	struct edit_map map;

	(void)ret;
	if (node->children[3])
		marker = node->children[3]->literal.text;
	if (!edit_map_load(evaluation, node->children[0], &map))
		return false;
	for (uint32_t i = 0; i < map.count; i++) {
		struct value value;

		if (!edit_item_read(evaluation, &map.items[i], &value))
			return false;
		if (value.type != VALUE_STRING || (int64_t)value.text.length <= limit)
			continue;
		if (!truncate_text(evaluation, value.text, (size_t)limit, utf8_safe, marker,
				   &value))
			return false;
		edit_item_set(&map.items[i], &value);
	}
	return edit_map_store(evaluation, &map);
}
