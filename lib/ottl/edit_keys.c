// SPDX-License-Identifier: Apache-2.0
/* Editors that take keys away from maps. */
#include "calls.h"
#include "edit_calls.h"
#include "edit_map.h"
#include "run.h"

#include <string.h>

static bool is_same(struct profcol_text left, struct profcol_text right)
{
	return left.length == right.length && !text_compare(left, right);
}

EDIT_CALL(delete_key)
{
	struct profcol_text key = { 0 };
	struct edit_map map;

	(void)ret;
	if (!edit_map_load(evaluation, node->children[0], &map) ||
	    !argument_string(evaluation, node, 1, &key))
		return false;
	for (uint32_t i = 0; i < map.count; i++)
		if (is_same(map.items[i].key, key)) {
			map.items[i].is_removed = true;
			return edit_map_store(evaluation, &map);
		}
	return true;
}

/* Take the keys away in which the pattern occurs, or does not. */
static bool remove_matching(struct evaluation *evaluation, const struct node *node,
			    bool removes_matches)
{
	struct profcol_text written = { 0 };
	const struct ottl_pattern *pattern;
	struct edit_map map;

	if (!node->pattern && !argument_string(evaluation, node, 1, &written))
		return false;
	pattern = evaluation_pattern(evaluation, node, written);
	if (!pattern || !edit_map_load(evaluation, node->children[0], &map))
		return false;
	for (uint32_t i = 0; i < map.count; i++) {
		struct profcol_text key = map.items[i].key;
		enum pattern_outcome outcome =
			pattern_match(pattern, key, &evaluation->run->matches);

		// Where the pattern cannot tell, the key goes: that is the safe side.
		map.items[i].is_removed = outcome == PATTERN_TRUE    ? removes_matches
					  : outcome == PATTERN_FALSE ? !removes_matches
								     : true;
	}
	return edit_map_store(evaluation, &map);
}

EDIT_CALL(delete_matching_keys)
{
	(void)ret;
	return remove_matching(evaluation, node, true);
}

EDIT_CALL(keep_matching_keys)
{
	(void)ret;
	return remove_matching(evaluation, node, false);
}

static bool list_has(const struct value *list, struct profcol_text key)
{
	for (uint32_t i = 0; i < list->count; i++)
		if (is_same(list->items[i].text, key))
			return true;
	return false;
}

EDIT_CALL(keep_keys)
{
	struct edit_map map;
	struct value keys;

	(void)ret;
	if (!edit_map_load(evaluation, node->children[0], &map) ||
	    !evaluate_value(evaluation, node->children[1], &keys))
		return false;
	for (uint32_t i = 0; i < keys.count; i++)
		if (keys.items[i].type != VALUE_STRING)
			return evaluation_fail(evaluation, "%s: expected string but got %s",
					       node->name, value_type_name(keys.items[i].type));
	for (uint32_t i = 0; i < map.count; i++)
		map.items[i].is_removed = !list_has(&keys, map.items[i].key);
	return edit_map_store(evaluation, &map);
}

EDIT_CALL(limit)
{
	const struct value *keys = &node->children[2]->literal;
	int64_t limit = node->children[1]->literal.integer, count = 0;
	struct edit_map map;

	(void)ret;
	if (!edit_map_load(evaluation, node->children[0], &map))
		return false;
	if (map.count <= limit)
		return true;
	for (uint32_t i = 0; i < keys->count; i++)
		count += edit_map_find(&map, keys->items[i].text) != NULL;
	for (uint32_t i = 0; i < map.count; i++)
		if (!list_has(keys, map.items[i].key) && ++count > limit)
			map.items[i].is_removed = true;
	return edit_map_store(evaluation, &map);
}
