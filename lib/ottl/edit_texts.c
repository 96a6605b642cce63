// SPDX-License-Identifier: Apache-2.0
/* Editors that replace texts, or parts of them. */
#include "calls.h"
#include "edit_calls.h"
#include "edit_map.h"
#include "replace.h"
#include "run.h"

/* The arguments from @index on: what is put, the converter, the format. */
static bool read_replacement(struct evaluation *evaluation, const struct node *node, uint32_t index,
			     struct replacement *ret)
{
	*ret = (struct replacement){ .converter = node->children[index + 1] };
	if (!argument_string(evaluation, node, index, &ret->text))
		return false;
	if (!ret->converter || !node->children[index + 2])
		return true;
	if (!argument_string(evaluation, node, index + 2, &ret->format))
		return false;
	return replace_format_is_valid(ret->format) ||
	       evaluation_fail(evaluation,
			       "%s: replacement_format must be a format string with a single %%s "
			       "and no other format specifiers",
			       node->name);
}

/* The pattern of the call, which may be made of its argument. NULL with a message. */
static const struct ottl_pattern *read_pattern(struct evaluation *evaluation,
					       const struct node *node)
{
	struct profcol_text written = { 0 };

	if (!node->pattern &&
	    !argument_string(evaluation, node, node->function->pattern - 1, &written))
		return NULL;
	return evaluation_pattern(evaluation, node, written);
}

/* Does the pattern, a glob, fit all of @text? */
static bool is_match(struct evaluation *evaluation, const struct node *node,
		     const struct ottl_pattern *pattern, struct profcol_text text, bool *ret)
{
	enum pattern_outcome outcome = pattern_match(pattern, text, &evaluation->run->matches);

	*ret = outcome == PATTERN_TRUE;
	return outcome == PATTERN_TRUE || outcome == PATTERN_FALSE ||
	       evaluation_fail_match(evaluation, node, outcome, text.length);
}

EDIT_CALL(replace_pattern)
{
	const struct ottl_pattern *pattern;
	struct replacement replacement;
	struct profcol_text replaced;
	struct value target;
	bool found;

	(void)ret;
	if (!evaluate_value(evaluation, node->children[0], &target))
		return false;
	if (target.type == VALUE_NIL)
		return true;
	if (!read_replacement(evaluation, node, 2, &replacement))
		return false;
	if (target.type != VALUE_STRING)
		return true;
	pattern = read_pattern(evaluation, node);
	if (!pattern || !replace_matches(evaluation, node, pattern, target.text, &replacement,
					 &found, &replaced))
		return false;
	target = value_string(replaced);
	return !found || edit_put(evaluation, node->children[0], &target);
}

EDIT_CALL(replace_match)
{
	const struct ottl_pattern *pattern = read_pattern(evaluation, node);
	struct replacement replacement;
	struct profcol_text text;
	struct value target;
	bool matches;

	(void)ret;
	if (!pattern || !evaluate_value(evaluation, node->children[0], &target) ||
	    !read_replacement(evaluation, node, 2, &replacement) ||
	    !replace_convert(evaluation, node, &replacement, replacement.text, &text))
		return false;
	if (target.type != VALUE_STRING)
		return true;
	if (!is_match(evaluation, node, pattern, target.text, &matches))
		return false;
	target = value_string(text);
	return !matches || edit_put(evaluation, node->children[0], &target);
}

/* Values, or with @is_key keys, with the matches in them replaced. */
static bool replace_in_item(struct evaluation *evaluation, const struct node *node,
			    const struct ottl_pattern *pattern,
			    const struct replacement *replacement, bool is_key,
			    struct edit_item *item)
{
	struct profcol_text replaced;
	struct value value;
	bool found;

	if (is_key) {
		if (!replace_matches(evaluation, node, pattern, item->key, replacement, &found,
				     &replaced))
			return false;
		if (found) {
			item->key = replaced;
			item->is_renamed = true;
		}
		return true;
	}
	if (!edit_item_read(evaluation, item, &value))
		return false;
	if (value.type != VALUE_STRING)
		return true;
	if (!replace_matches(evaluation, node, pattern, value.text, replacement, &found, &replaced))
		return false;
	value = value_string(replaced);
	if (found)
		edit_item_set(item, &value);
	return true;
}

/* Of items that have got one key, the value of the last is at the place of the first. */
static bool merge_renamed(struct evaluation *evaluation, struct edit_map *map)
{
	for (uint32_t i = 1; i < map->count; i++) {
		struct edit_item *first = edit_map_find(map, map->items[i].key);
		struct value value;

		if (first == &map->items[i])
			continue;
		if (!edit_item_read(evaluation, &map->items[i], &value))
			return false;
		edit_item_set(first, &value);
		map->items[i].is_removed = true;
	}
	return true;
}

EDIT_CALL(replace_all_patterns)
{
	bool is_key = node->children[1]->literal.text.length == sizeof("key") - 1;
	const struct ottl_pattern *pattern;
	struct replacement replacement;
	struct edit_map map;

	(void)ret;
	if (!edit_map_load(evaluation, node->children[0], &map) ||
	    !read_replacement(evaluation, node, 3, &replacement))
		return false;
	pattern = read_pattern(evaluation, node);
	if (!pattern)
		return false;
	for (uint32_t i = 0; i < map.count; i++)
		if (!replace_in_item(evaluation, node, pattern, &replacement, is_key,
				     &map.items[i]))
			return false;
	if (is_key && !merge_renamed(evaluation, &map))
		return false;
	return edit_map_store(evaluation, &map);
}

EDIT_CALL(replace_all_matches)
{
	const struct ottl_pattern *pattern = read_pattern(evaluation, node);
	struct replacement replacement;
	struct profcol_text text;
	struct edit_map map;
	bool matches;

	(void)ret;
	if (!pattern || !edit_map_load(evaluation, node->children[0], &map) ||
	    !read_replacement(evaluation, node, 2, &replacement) ||
	    !replace_convert(evaluation, node, &replacement, replacement.text, &text))
		return false;
	for (uint32_t i = 0; i < map.count; i++) {
		struct value value;

		if (!edit_item_read(evaluation, &map.items[i], &value))
			return false;
		if (value.type != VALUE_STRING)
			continue;
		if (!is_match(evaluation, node, pattern, value.text, &matches))
			return false;
		value = value_string(text);
		if (matches)
			edit_item_set(&map.items[i], &value);
	}
	return edit_map_store(evaluation, &map);
}
