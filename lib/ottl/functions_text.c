// SPDX-License-Identifier: Apache-2.0
/* Converters that make texts of texts: cut, in another case, found in them, hashed. */
#include "calls.h"
#include "convert.h"
#include "pattern.h"
#include "run.h"

#include "base/base.h"

#include <nettle/md5.h>
#include <nettle/sha1.h>
#include <nettle/sha2.h>

#include <string.h>

/* ---- cutting ---- */

/* The bytes of the first character of @text, which has some. */
static size_t first_length(struct profcol_text text)
{
	size_t length = 1;

	while (length < text.length && (text.bytes[length] & 0xc0) == 0x80)
		length++;
	return length;
}

/* Is the character of @length bytes at @at among those of @set? */
static bool set_has(struct profcol_text set, const char *at, size_t length)
{
	while (set.length) {
		size_t own = first_length(set);

		if (own == length && !memcmp(set.bytes, at, length))
			return true;
		set.bytes += own;
		set.length -= own;
	}
	return false;
}

static struct profcol_text trim_begin(struct profcol_text text, struct profcol_text set)
{
	while (text.length) {
		size_t length = first_length(text);

		if (!set_has(set, text.bytes, length))
			break;
		text.bytes += length;
		text.length -= length;
	}
	return text;
}

static struct profcol_text trim_end(struct profcol_text text, struct profcol_text set)
{
	while (text.length) {
		size_t begin = text.length - 1;

		while (begin && (text.bytes[begin] & 0xc0) == 0x80)
			begin--;
		if (!set_has(set, text.bytes + begin, text.length - begin))
			break;
		text.length = begin;
	}
	return text;
}

bool call_trim(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text text = { 0 }, set = { " ", 1 };

	if (!argument_string(evaluation, node, 0, &text))
		return false;
	if (node->children[1])
		set = node->children[1]->literal.text;
	*ret = value_string(trim_end(trim_begin(text, set), set));
	return true;
}

bool call_trim_prefix(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text text = { 0 }, prefix = { 0 };

	if (!argument_string(evaluation, node, 0, &text) ||
	    !argument_string(evaluation, node, 1, &prefix))
		return false;
	if (prefix.length && prefix.length <= text.length &&
	    !memcmp(text.bytes, prefix.bytes, prefix.length)) {
		text.bytes += prefix.length;
		text.length -= prefix.length;
	}
	*ret = value_string(text);
	return true;
}

bool call_trim_suffix(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text text = { 0 }, suffix = { 0 };

	if (!argument_string(evaluation, node, 0, &text) ||
	    !argument_string(evaluation, node, 1, &suffix))
		return false;
	if (suffix.length && suffix.length <= text.length &&
	    !memcmp(text.bytes + text.length - suffix.length, suffix.bytes, suffix.length))
		text.length -= suffix.length;
	*ret = value_string(text);
	return true;
}

/* ---- case ---- */

static bool change_case(struct evaluation *evaluation, const struct node *node, bool to_upper,
			struct value *ret)
{
	struct profcol_text text = { 0 }, changed;

	if (!argument_string(evaluation, node, 0, &text))
		return false;
	if (!convert_case(text, to_upper, evaluation->scratch, &changed))
		return evaluation_fail(evaluation, "%s: a text of %zu bytes is too long",
				       node->name, text.length);
	*ret = value_string(changed);
	return true;
}

bool call_to_lower_case(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	return change_case(evaluation, node, false, ret);
}

bool call_to_upper_case(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	return change_case(evaluation, node, true, ret);
}

bool call_convert_case(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct profcol_text name = node->children[1]->literal.text;

	return change_case(evaluation, node, name.length && *name.bytes == 'u', ret);
}

/* ---- what a pattern finds ---- */

/* A map of the named groups of @pattern, by what they are in @text; empty when it does not occur.
 */
static bool extract_groups(struct evaluation *evaluation, const struct node *node,
			   const struct ottl_pattern *pattern, struct profcol_text text,
			   struct value *ret)
{
	size_t count = ottl_pattern_group_count(pattern);
	struct profcol_text *captures = scratch_array(
		evaluation->scratch, ottl_pattern_capture_count(pattern) + 1, sizeof(*captures));
	struct value *items = scratch_array(evaluation->scratch, 2 * count, sizeof(*items));
	enum pattern_outcome outcome;

	if (!captures || !items)
		return evaluation_fail(evaluation, "%s: no memory", node->name);
	outcome = pattern_capture(pattern, text, 0, &evaluation->run->matches, captures);
	*ret = (struct value){ .type = VALUE_MAP };
	if (outcome != PATTERN_TRUE)
		return outcome == PATTERN_FALSE ||
		       evaluation_fail_match(evaluation, node, outcome, text.length);
	for (size_t i = 0; i < count; i++) {
		const char *name = ottl_pattern_group_name(pattern, i);
		struct profcol_text found = captures[ottl_pattern_capture_number(pattern, i)];

		items[2 * i] = value_string((struct profcol_text){ name, strlen(name) });
		items[2 * i + 1] =
			value_string(found.bytes ? found : (struct profcol_text){ "", 0 });
	}
	value_sort_pairs(items, (uint32_t)count);
	ret->count = (uint32_t)count;
	ret->items = items;
	return true;
}

bool call_extract_patterns(struct evaluation *evaluation, const struct node *node,
			   struct value *ret)
{
	struct profcol_text text = { 0 }, written = { 0 };
	const struct ottl_pattern *pattern;

	if (!node->pattern && !argument_string(evaluation, node, 1, &written))
		return false;
	pattern = evaluation_pattern(evaluation, node, written);
	if (!pattern)
		return false;
	if (!ottl_pattern_group_count(pattern))
		return evaluation_fail(evaluation,
				       "%s: at least 1 named capture group must be "
				       "supplied in the given regex",
				       node->name);
	return argument_string(evaluation, node, 0, &text) &&
	       extract_groups(evaluation, node, pattern, text, ret);
}

/* ---- hashes ---- */

static bool hex_text(struct evaluation *evaluation, const struct node *node, const void *bytes,
		     size_t length, struct value *ret)
{
	char *text =
		length > OTTL_MAX_STRING / 2 ? NULL : text_create(evaluation, node, 2 * length);

	if (!text)
		return evaluation_fail(evaluation, "%s: %zu bytes are too many", node->name,
				       length);
	strings_hex(text, bytes, length);
	*ret = value_string((struct profcol_text){ text, 2 * length });
	return true;
}

#define CALL_HASH(call_, name_, size_)                                                             \
	bool call_(struct evaluation *evaluation, const struct node *node, struct value *ret)      \
	{                                                                                          \
		struct name_##_ctx context;                                                        \
		uint8_t digest[size_];                                                             \
		struct profcol_text text = { 0 };                                                  \
                                                                                                   \
		if (!argument_string(evaluation, node, 0, &text))                                  \
			return false;                                                              \
		name_##_init(&context);                                                            \
		name_##_update(&context, text.length, (const uint8_t *)text.bytes);                \
		name_##_digest(&context, sizeof(digest), digest);                                  \
		return hex_text(evaluation, node, digest, sizeof(digest), ret);                    \
	}

CALL_HASH(call_md5, md5, MD5_DIGEST_SIZE)
CALL_HASH(call_sha1, sha1, SHA1_DIGEST_SIZE)
CALL_HASH(call_sha256, sha256, SHA256_DIGEST_SIZE)
CALL_HASH(call_sha512, sha512, SHA512_DIGEST_SIZE)

/* FNV-1a with 64 bits. */
bool call_fnv(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	uint64_t hash = UINT64_C(14695981039346656037);
	struct profcol_text text = { 0 };

	if (!argument_string(evaluation, node, 0, &text))
		return false;
	for (size_t i = 0; i < text.length; i++)
		hash = (hash ^ (uint8_t)text.bytes[i]) * UINT64_C(1099511628211);
	*ret = value_int((int64_t)hash);
	return true;
}

bool call_hex(struct evaluation *evaluation, const struct node *node, struct value *ret)
{
	struct value value;

	if (!evaluate_value(evaluation, node->children[0], &value))
		return false;
	if (value.type != VALUE_STRING && value.type != VALUE_BYTES)
		return evaluation_fail(evaluation, "%s: expected a string or bytes but got %s",
				       node->name, value_type_name(value.type));
	return hex_text(evaluation, node, value.text.bytes, value.text.length, ret);
}
