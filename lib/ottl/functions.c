// SPDX-License-Identifier: Apache-2.0
#include "functions.h"

#include "calls.h"

#include "convert.h"

#include <string.h>

/* ---- arguments ---- */

bool argument_string(struct evaluation *evaluation, const struct node *node, uint32_t index,
		     struct profcol_text *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[index], &value))
		return false;
	if (value.type != VALUE_STRING)
		return evaluation_fail(evaluation, "%s: expected string but got %s", node->name,
				       value_type_name(value.type));
	*ret = value.text;
	return true;
}

static bool argument_int(struct evaluation *evaluation, const struct node *node, uint32_t index,
			 int64_t *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[index], &value))
		return false;
	if (value.type != VALUE_INT)
		return evaluation_fail(evaluation, "%s: expected int64 but got %s", node->name,
				       value_type_name(value.type));
	*ret = value.integer;
	return true;
}

/* @value as text; nil gives *@is_nil_ret. */
static bool make_text(struct evaluation *evaluation, const struct node *node,
		      const struct value *value, struct profcol_text *ret, bool *is_nil_ret)
{
	*is_nil_ret = value->type == VALUE_NIL;
	if (*is_nil_ret || value_to_text(value, evaluation->scratch, ret))
		return true;
	return evaluation_fail(evaluation, "%s: a %s cannot be made into text", node->name,
			       value_type_name(value->type));
}

static bool argument_text(struct evaluation *evaluation, const struct node *node, uint32_t index,
			  struct profcol_text *ret, bool *is_nil_ret)
{
	struct value value;

	return evaluate_value(evaluation, node->children[index], &value) &&
	       make_text(evaluation, node, &value, ret, is_nil_ret);
}

char *text_create(struct evaluation *evaluation, const struct node *node, size_t length)
{
	char *bytes =
		length > OTTL_MAX_STRING ? NULL : scratch_alloc(evaluation->scratch, length + 1);

	if (!bytes)
		evaluation_fail(evaluation, "%s: a text of %zu bytes is too long", node->name,
				length);
	return bytes;
}

/* ---- converters ---- */

bool call_is_match(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text target, pattern = { 0 };
	bool is_nil, matches = false;

	if (!node->pattern && !argument_string(evaluation, node, 1, &pattern))
		return false;
	if (!argument_text(evaluation, node, 0, &target, &is_nil))
		return false;
	if (!is_nil && !evaluate_match(evaluation, node, pattern, target, &matches))
		return false;
	*ret = value_bool(matches);
	return true;
}

bool call_is_string(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[0], &value))
		return false;
	*ret = value_bool(value.type == VALUE_STRING);
	return true;
}

bool call_int(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[0], &value))
		return false;
	return convert_to_int(&value, ret) ||
	       evaluation_fail(evaluation, "%s: unsupported type: %s", node->name,
			       value_type_name(value.type));
}

bool call_double(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[0], &value))
		return false;
	if (convert_to_double(&value, ret))
		return true;
	if (value.type == VALUE_STRING)
		return evaluation_fail(evaluation, "%s: a string of %zu bytes is no number",
				       node->name, value.text.length);
	return evaluation_fail(evaluation, "%s: unsupported type: %s", node->name,
			       value_type_name(value.type));
}

bool call_string(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text text = { 0 };
	bool is_nil;

	if (!argument_text(evaluation, node, 0, &text, &is_nil))
		return false;
	*ret = is_nil ? (struct value){ 0 } : value_string(text);
	return true;
}

bool call_len(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[0], &value))
		return false;
	switch (value.type) {
	case VALUE_STRING:
	case VALUE_BYTES:
		*ret = value_int((int64_t)value.text.length);
		return true;
	case VALUE_LIST:
	case VALUE_MAP:
		*ret = value_int(value.count);
		return true;
	default:
		return evaluation_fail(evaluation,
				       "%s: unsupported target type %s; it has to be a string, "
				       "bytes, a list or a map",
				       node->name, value_type_name(value.type));
	}
}

/* The parts of a Concat, of which *@length_ret is the sum. */
static bool concat_parts(struct evaluation *evaluation, const struct node *node,
			 const struct value *list, struct profcol_text *parts, size_t *length_ret)
{
	static const struct profcol_text nil = { "<nil>", 5 };

	*length_ret = 0;
	for (uint32_t i = 0; i < list->count; i++) {
		bool is_nil;

		if (!make_text(evaluation, node, &list->items[i], &parts[i], &is_nil))
			return false;
		if (is_nil)
			parts[i] = nil;
		*length_ret += parts[i].length;
	}
	return true;
}

bool call_concat(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text delimiter = { 0 }, *parts;
	struct value list;
	size_t length, at = 0;
	char *text;

	if (!argument_string(evaluation, node, 1, &delimiter) ||
	    !evaluate_value(evaluation, node->children[0], &list))
		return false;
	parts = scratch_array(evaluation->scratch, list.count, sizeof(*parts));
	if (!parts)
		return evaluation_fail(evaluation, "%s: no memory", node->name);
	if (!concat_parts(evaluation, node, &list, parts, &length))
		return false;
	length += list.count ? (list.count - 1) * delimiter.length : 0;
	text = text_create(evaluation, node, length);
	if (!text)
		return false;
	for (uint32_t i = 0; i < list.count; i++) {
		if (i && delimiter.length)
			memcpy(text + at, delimiter.bytes, delimiter.length);
		at += i ? delimiter.length : 0;
		if (parts[i].length)
			memcpy(text + at, parts[i].bytes, parts[i].length);
		at += parts[i].length;
	}
	*ret = value_string((struct profcol_text){ text, length });
	return true;
}

static bool begins_character(char c)
{
	return ((unsigned char)c & 0xc0) != 0x80;
}

bool call_substring(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text text = { 0 };
	int64_t start = 0, length = 0;
	size_t begin, end;

	if (!argument_int(evaluation, node, 1, &start))
		return false;
	if (start < 0)
		return evaluation_fail(evaluation, "%s: start cannot be negative", node->name);
	if (!argument_int(evaluation, node, 2, &length))
		return false;
	if (length <= 0)
		return evaluation_fail(evaluation, "%s: length cannot be negative or zero",
				       node->name);
	if (!argument_string(evaluation, node, 0, &text))
		return false;
	if (start > (int64_t)text.length || length > (int64_t)text.length - start)
		return evaluation_fail(evaluation,
				       "%s: start + length cannot be greater than the length of "
				       "target string (%zu)",
				       node->name, text.length);
	begin = (size_t)start;
	end = (size_t)(start + length);
	if (node->children[3] && node->children[3]->literal.boolean) {
		while (begin < text.length && !begins_character(text.bytes[begin]))
			begin++;
		while (begin < end && end < text.length && !begins_character(text.bytes[end]))
			end--;
		if (end < begin)
			end = begin;
	}
	*ret = value_string((struct profcol_text){ text.bytes + begin, end - begin });
	return true;
}

bool call_has_prefix(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text text = { 0 }, prefix = { 0 };

	if (!argument_string(evaluation, node, 0, &text) ||
	    !argument_string(evaluation, node, 1, &prefix))
		return false;
	*ret = value_bool(!prefix.length || (prefix.length <= text.length &&
					     !memcmp(text.bytes, prefix.bytes, prefix.length)));
	return true;
}

bool call_has_suffix(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text text = { 0 }, suffix = { 0 };

	if (!argument_string(evaluation, node, 0, &text) ||
	    !argument_string(evaluation, node, 1, &suffix))
		return false;
	*ret = value_bool(!suffix.length || (suffix.length <= text.length &&
					     !memcmp(text.bytes + text.length - suffix.length,
						     suffix.bytes, suffix.length)));
	return true;
}

bool call_split(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text text = { 0 }, delimiter = { 0 };

	if (!argument_string(evaluation, node, 0, &text) ||
	    !argument_string(evaluation, node, 1, &delimiter))
		return false;
	return convert_split(text, delimiter, evaluation->scratch, ret) ||
	       evaluation_fail(evaluation, "%s: more than %d parts", node->name, OTTL_MAX_ITEMS);
}

bool call_index(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value target, value;

	if (!evaluate_value(evaluation, node->children[0], &target) ||
	    !evaluate_value(evaluation, node->children[1], &value))
		return false;
	*ret = value_int(-1);
	if (target.type == VALUE_STRING) {
		const char *found;

		if (value.type != VALUE_STRING)
			return evaluation_fail(evaluation,
					       "%s: invalid value type, value must be a string",
					       node->name);
		found = value.text.length ? memmem(target.text.bytes, target.text.length,
						   value.text.bytes, value.text.length)
					  : target.text.bytes;
		if (found)
			ret->integer = found - target.text.bytes;
		return true;
	}
	if (target.type != VALUE_LIST)
		return evaluation_fail(evaluation, "%s: expected a string or list but got %s",
				       node->name, value_type_name(target.type));
	for (uint32_t i = 0; i < target.count; i++) {
		if (value_compare(&target.items[i], &value, COMPARE_EQUAL)) {
			ret->integer = i;
			break;
		}
	}
	return true;
}
