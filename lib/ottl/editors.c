// SPDX-License-Identifier: Apache-2.0
#include "editors.h"

#include "edit_calls.h"

#include "base/base.h"

#include <string.h>

#define P(name_, kind_) { name_, PARAMETER_##kind_, false }
#define O(name_, kind_) { name_, PARAMETER_##kind_, true }

/* @pattern_: 1 + the parameter that is a regular expression, or a glob; 0 = none. */
#define EDITOR(name_, pattern_, is_glob_, ...)                                                     \
	{ .name = #name_,                                                                          \
	  .parameters = { __VA_ARGS__ },                                                           \
	  .parameter_count =                                                                       \
		  sizeof((struct parameter[]){ __VA_ARGS__ }) / sizeof(struct parameter),          \
	  .pattern = (pattern_),                                                                   \
	  .is_glob = (is_glob_),                                                                   \
	  .call = edit_##name_ }

static const struct function editors[] = {
	EDITOR(set, 0, false, P("target", TARGET), P("value", ANY)),
	EDITOR(append, 0, false, P("target", TARGET), O("value", ANY), O("values", VALUE_LIST)),
	EDITOR(delete_key, 0, false, P("target", MAP_TARGET), P("key", STRING)),
	EDITOR(delete_matching_keys, 2, false, P("target", MAP_TARGET), P("pattern", STRING)),
	EDITOR(keep_keys, 0, false, P("target", MAP_TARGET), P("keys", STRING_LIST)),
	EDITOR(keep_matching_keys, 2, false, P("target", MAP_TARGET), P("pattern", STRING)),
	EDITOR(limit, 0, false, P("target", MAP_TARGET), P("limit", LITERAL_INT),
	       P("priority_keys", LITERAL_TEXTS)),
	EDITOR(truncate_all, 0, false, P("target", MAP_TARGET), P("limit", LITERAL_INT),
	       O("utf8_safe", FLAG), O("truncation_marker", LITERAL_TEXT)),
	EDITOR(stringify_all, 0, false, P("target", MAP_TARGET)),
	EDITOR(replace_pattern, 2, false, P("target", TARGET), P("regex_pattern", STRING),
	       P("replacement", STRING), O("function", FUNCTION), O("replacement_format", STRING)),
	EDITOR(replace_match, 2, true, P("target", TARGET), P("pattern", STRING),
	       P("replacement", STRING), O("function", FUNCTION), O("replacement_format", STRING)),
	EDITOR(replace_all_patterns, 3, false, P("target", MAP_TARGET), P("mode", LITERAL_TEXT),
	       P("regex_pattern", STRING), P("replacement", STRING), O("function", FUNCTION),
	       O("replacement_format", STRING)),
	EDITOR(replace_all_matches, 2, true, P("target", MAP_TARGET), P("pattern", STRING),
	       P("replacement", STRING), O("function", FUNCTION), O("replacement_format", STRING)),
	EDITOR(merge_maps, 0, false, P("target", MAP_TARGET), P("source", MAP),
	       P("strategy", LITERAL_TEXT)),
	EDITOR(flatten, 0, false, P("target", MAP_TARGET), O("prefix", LITERAL_TEXT),
	       O("depth", LITERAL_INT), O("resolve_conflicts", FLAG)),
};

#define EDITOR_NAMES                                                                               \
	"append, delete_key, delete_matching_keys, flatten, keep_keys, keep_matching_keys, "       \
	"limit, merge_maps, replace_all_matches, replace_all_patterns, replace_match, "            \
	"replace_pattern, set, stringify_all, truncate_all"

enum { EDITOR_COUNT = sizeof(editors) / sizeof(editors[0]) };

const struct function *editor_find(const char *name)
{
	for (size_t i = 0; i < EDITOR_COUNT; i++)
		if (!strcmp(editors[i].name, name))
			return &editors[i];
	return NULL;
}

const char *editor_nearest(const char *name)
{
	const char *names[EDITOR_COUNT];

	for (size_t i = 0; i < EDITOR_COUNT; i++)
		names[i] = editors[i].name;
	return strings_nearest(name, names, EDITOR_COUNT);
}

const char *editor_names(void)
{
	return EDITOR_NAMES;
}

/* ---- literal arguments ---- */

/* The argument for parameter @name; NULL when it is not given, or there is no such parameter. */
static const struct node *argument_of(const struct node *node, const char *name)
{
	for (uint32_t i = 0; i < node->function->parameter_count; i++)
		if (!strcmp(node->function->parameters[i].name, name))
			return node->children[i];
	return NULL;
}

static bool is_word(const struct node *argument, const char *word)
{
	struct profcol_text text = argument->literal.text;

	return text.length == strlen(word) && !memcmp(text.bytes, word, text.length);
}

static const char *fault_of_limit(const struct node *node, const struct node *limit)
{
	const struct node *keys = argument_of(node, "priority_keys");
	const struct node *marker = argument_of(node, "truncation_marker");
	int64_t number = limit->literal.integer;

	if (number < 0)
		return "a limit cannot be negative";
	if (keys && number < (int64_t)keys->literal.count)
		return "a limit cannot be less than the number of priority attributes";
	if (marker && number < (int64_t)marker->literal.text.length)
		return "the length of the marker cannot be greater than the limit";
	return NULL;
}

const char *editor_fault(const struct node *node, const struct node **argument_ret)
{
	const struct node *mode = argument_of(node, "mode");
	const struct node *strategy = argument_of(node, "strategy");
	const struct node *depth = argument_of(node, "depth");
	const struct node *limit = argument_of(node, "limit");

	*argument_ret = mode ? mode : strategy ? strategy : depth ? depth : limit ? limit : node;
	if (mode && !is_word(mode, "key") && !is_word(mode, "value"))
		return "invalid mode, must be either 'key' or 'value'";
	if (strategy && !is_word(strategy, "insert") && !is_word(strategy, "update") &&
	    !is_word(strategy, "upsert"))
		return "invalid value for strategy, must be 'insert', 'update' or 'upsert'";
	if (depth && depth->literal.integer < 1)
		return "invalid depth, must be greater than 0";
	if (!strcmp(node->name, "append") && !node->children[1] && !node->children[2])
		return "at least one of the optional arguments ('value' or 'values') must be "
		       "provided";
	return limit ? fault_of_limit(node, limit) : NULL;
}
