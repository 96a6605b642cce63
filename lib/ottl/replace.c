// SPDX-License-Identifier: Apache-2.0
#include "replace.h"

#include "functions.h"
#include "run.h"

#include "base/base.h"

#include <string.h>

/* Thread time for one text, and that for one of a batch that has used up its own. */
enum { TEXT_NS = 100000000, TEXT_NS_LEAST = 1000000, BUDGET_NS = 500000000 };

/* A text that is being made. */
struct making {
	struct evaluation *evaluation;
	const struct node *node;
	const struct ottl_pattern *pattern;
	const struct replacement *replacement;
	struct profcol_text text;
	struct profcol_text *captures;
	char *bytes; /* scratch memory */
	size_t length, capacity;
};

static bool append(struct making *making, const char *bytes, size_t length)
{
	if (length > OTTL_MAX_STRING - making->length)
		return evaluation_fail(making->evaluation, "%s: a text longer than %d bytes",
				       making->node->name, OTTL_MAX_STRING);
	if (making->length + length > making->capacity) {
		size_t capacity = 2 * (making->length + length) + 64;
		char *grown = scratch_alloc(making->evaluation->scratch, capacity);

		if (!grown)
			return evaluation_fail(making->evaluation, "%s: no memory for a text",
					       making->node->name);
		if (making->length)
			memcpy(grown, making->bytes, making->length);
		making->bytes = grown;
		making->capacity = capacity;
	}
	if (length)
		memcpy(making->bytes + making->length, bytes, length);
	making->length += length;
	return true;
}

/* ---- $1, ${name} ---- */

static bool is_name(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       c == '_';
}

/* The name behind the '$' at @at; false where there is none, and the '$' means itself. */
static bool reference_name(const char *at, const char *end, struct profcol_text *name_ret,
			   const char **next_ret)
{
	const char *begin = at + 1, *last;
	bool is_braced = begin < end && *begin == '{';

	begin += is_braced;
	for (last = begin; last < end && is_name(*last);)
		last++;
	if (last == begin || (is_braced && (last == end || *last != '}')))
		return false;
	*name_ret = (struct profcol_text){ begin, (size_t)(last - begin) };
	*next_ret = last + is_braced;
	return true;
}

/* What the group @name has found; nothing for one that is not there. */
static struct profcol_text find_group(const struct making *making, struct profcol_text name)
{
	size_t number = 0, digits = 0;

	for (; digits < name.length && name.bytes[digits] >= '0' && name.bytes[digits] <= '9' &&
	       number < 100000;
	     digits++)
		number = 10 * number + (size_t)(name.bytes[digits] - '0');
	if (digits == name.length)
		return number <= ottl_pattern_capture_count(making->pattern)
			       ? making->captures[number]
			       : (struct profcol_text){ 0 };
	for (size_t i = 0; i < ottl_pattern_group_count(making->pattern); i++) {
		const char *own = ottl_pattern_group_name(making->pattern, i);
		size_t capture = ottl_pattern_capture_number(making->pattern, i);

		if (strlen(own) == name.length && !memcmp(own, name.bytes, name.length) &&
		    making->captures[capture].bytes)
			return making->captures[capture];
	}
	return (struct profcol_text){ 0 };
}

static bool append_expanded(struct making *making)
{
	struct profcol_text template = making->replacement->text;
	const char *at = template.bytes, *end = template.bytes + template.length, *next;
	struct profcol_text name, found;

	while (at < end) {
		const char *dollar = memchr(at, '$', (size_t)(end - at));
		size_t plain = (size_t)((dollar ? dollar : end) - at);

		if (!append(making, at, plain))
			return false;
		at += plain;
		if (at == end)
			break;
		if (at + 1 < end && at[1] == '$') {
			found = (struct profcol_text){ "$", 1 };
			next = at + 2;
		} else if (reference_name(at, end, &name, &next)) {
			found = find_group(making, name);
		} else {
			found = (struct profcol_text){ "$", 1 };
			next = at + 1;
		}
		if (!append(making, found.bytes, found.length))
			return false;
		at = next;
	}
	return true;
}

/* ---- converters of what is put in ---- */

bool replace_format_is_valid(struct profcol_text format)
{
	const char *percent = memchr(format.bytes, '%', format.length);
	size_t left;

	if (!percent)
		return false;
	left = format.length - (size_t)(percent - format.bytes);
	return left > 1 && percent[1] == 's' && !memchr(percent + 2, '%', left - 2);
}

bool replace_convert(struct evaluation *evaluation, const struct node *node,
		     const struct replacement *replacement, struct profcol_text text,
		     struct profcol_text *ret)
{
	struct node argument = { .kind = NODE_LITERAL, .literal = value_string(text) };
	struct node *children[PARAMETERS_MAX] = { &argument };
	struct profcol_text format = replacement->format;
	struct making making = { .evaluation = evaluation, .node = node };
	const char *percent;
	struct value value;
	struct node call;

	*ret = text;
	if (!replacement->converter)
		return true;
	call = *replacement->converter;
	call.children = children;
	if (!replacement->converter->converter->call(evaluation, &call, &value))
		return false;
	if (value.type != VALUE_STRING)
		return evaluation_fail(evaluation, "%s: the replacement value must be a string",
				       node->name);
	*ret = value.text;
	if (!format.length)
		return true;
	percent = memchr(format.bytes, '%', format.length);
	if (!append(&making, format.bytes, (size_t)(percent - format.bytes)) ||
	    !append(&making, value.text.bytes, value.text.length) ||
	    !append(&making, percent + 2, (size_t)(format.bytes + format.length - percent) - 2))
		return false;
	*ret = (struct profcol_text){ making.bytes, making.length };
	return true;
}

static bool append_replacement(struct making *making)
{
	size_t begin = making->length;
	struct profcol_text expanded, converted;
	char *copy;

	if (!append_expanded(making))
		return false;
	if (!making->replacement->converter)
		return true;
	// What the converter is given must not move when its result is appended.
	expanded.length = making->length - begin;
	copy = scratch_alloc(making->evaluation->scratch, expanded.length + 1);
	if (!copy)
		return evaluation_fail(making->evaluation, "%s: no memory", making->node->name);
	memcpy(copy, making->bytes ? making->bytes + begin : "", expanded.length);
	expanded.bytes = copy;
	making->length = begin;
	return replace_convert(making->evaluation, making->node, making->replacement, expanded,
			       &converted) &&
	       append(making, converted.bytes, converted.length);
}

/* ---- all matches ---- */

/* Bytes of the character at @at; 1 at the end. */
static size_t character_at(struct profcol_text text, size_t at)
{
	size_t length = 1;

	while (at + length < text.length && (text.bytes[at + length] & 0xc0) == 0x80)
		length++;
	return length;
}

/* Where to look for the next match. */
static size_t search_after(struct profcol_text text, size_t at, size_t match_end)
{
	size_t width = at < text.length ? character_at(text, at) : 0;

	if (at + width > match_end)
		return at + width;
	return at + 1 > match_end ? at + 1 : match_end;
}

static enum pattern_outcome replace_all(struct making *making, size_t *last_ret)
{
	struct ottl_budget *budget = &making->evaluation->run->matches;
	uint64_t begin_ns = clock_thread_ns(), bound = TEXT_NS;
	size_t at = 0, match_begin, match_end;

	if (budget->spent_ns >= BUDGET_NS)
		bound = TEXT_NS_LEAST;
	while (at <= making->text.length) {
		enum pattern_outcome outcome = pattern_capture(making->pattern, making->text, at,
							       budget, making->captures);

		if (outcome != PATTERN_TRUE)
			return outcome == PATTERN_FALSE ? PATTERN_TRUE : outcome;
		if (clock_thread_ns() - begin_ns > bound) {
			budget->spent_ns += bound;
			return PATTERN_TOO_SLOW;
		}
		match_begin = (size_t)(making->captures[0].bytes - making->text.bytes);
		match_end = match_begin + making->captures[0].length;
		if (!append(making, making->text.bytes + *last_ret, match_begin - *last_ret))
			return PATTERN_FALSE;
		// Nothing is put for an empty match right behind another one.
		if ((match_end > *last_ret || !match_begin) && !append_replacement(making))
			return PATTERN_FALSE;
		*last_ret = match_end;
		at = search_after(making->text, at, match_end);
	}
	return PATTERN_TRUE;
}

bool replace_matches(struct evaluation *evaluation, const struct node *node,
		     const struct ottl_pattern *pattern, struct profcol_text text,
		     const struct replacement *replacement, bool *found_ret,
		     struct profcol_text *ret)
{
	struct making making = {
		.evaluation = evaluation,
		.node = node,
		.pattern = pattern,
		.replacement = replacement,
		.text = { text.length ? text.bytes : "", text.length },
	};
	enum pattern_outcome outcome = pattern_match(pattern, text, &evaluation->run->matches);
	size_t last = 0;

	*found_ret = outcome == PATTERN_TRUE;
	if (outcome == PATTERN_FALSE)
		return true;
	if (outcome == PATTERN_TRUE) {
		making.captures =
			scratch_array(evaluation->scratch, ottl_pattern_capture_count(pattern) + 1,
				      sizeof(*making.captures));
		if (!making.captures)
			return evaluation_fail(evaluation, "%s: no memory", node->name);
		outcome = replace_all(&making, &last);
	}
	if (outcome == PATTERN_FALSE) // with a message
		return false;
	if (outcome != PATTERN_TRUE)
		return evaluation_fail_match(evaluation, node, outcome, text.length);
	if (!append(&making, making.text.bytes + last, text.length - last))
		return false;
	*ret = (struct profcol_text){ making.bytes ? making.bytes : "", making.length };
	return true;
}
