// SPDX-License-Identifier: Apache-2.0
#include "convert.h"

#include "ottl.h"
#include "pattern.h"

#include "base/base.h"

#include <string.h>

/* ---- numbers ---- */

bool convert_to_int(const struct value *value, struct value *ret)
{
	int64_t integer;

	switch (value->type) {
	case VALUE_NIL:
		*ret = (struct value){ 0 };
		return true;
	case VALUE_INT:
		*ret = *value;
		return true;
	case VALUE_DOUBLE:
		*ret = value_int(number_truncate(value->real));
		return true;
	case VALUE_BOOL:
		*ret = value_int(value->boolean);
		return true;
	case VALUE_STRING:
		*ret = number_parse_int(value->text.bytes, value->text.length, &integer)
			       ? value_int(integer)
			       : (struct value){ 0 };
		return true;
	default:
		return false;
	}
}

bool convert_to_double(const struct value *value, struct value *ret)
{
	switch (value->type) {
	case VALUE_NIL:
	case VALUE_DOUBLE:
		*ret = *value;
		return true;
	case VALUE_INT:
		*ret = value_double((double)value->integer);
		return true;
	case VALUE_BOOL:
		*ret = value_double(value->boolean);
		return true;
	case VALUE_STRING:
		*ret = value_double(0);
		return number_parse_double(value->text.bytes, value->text.length, &ret->real);
	default:
		return false;
	}
}

/* ---- text ---- */

bool convert_case(struct profcol_text text, bool to_upper, struct scratch *scratch,
		  struct profcol_text *ret)
{
	char first = to_upper ? 'a' : 'A', last = to_upper ? 'z' : 'Z', *changed;
	bool is_ascii = true;

	changed = text.length > OTTL_MAX_STRING ? NULL : scratch_alloc(scratch, text.length + 1);
	if (!changed)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		char c = text.bytes[i];

		is_ascii &= (unsigned char)c < 0x80;
		changed[i] = c >= first && c <= last ? (char)(c ^ ('a' ^ 'A')) : c;
	}
	*ret = (struct profcol_text){ changed, text.length };
	return is_ascii || !strings_is_utf8(text.bytes, text.length) ||
	       pattern_change_case(text, to_upper, scratch, ret);
}

/* Bytes of the character at @at, of at most @left. */
static size_t character_length(const char *at, size_t left)
{
	size_t length = 1;

	while (length < left && length < 4 && ((unsigned char)at[length] & 0xc0) == 0x80)
		length++;
	return length;
}

/* The first of the parts of @text, and what is behind it: NULL when it is the last one. */
static struct profcol_text next_part(struct profcol_text text, struct profcol_text delimiter,
				     const char **rest_ret)
{
	const char *end = text.bytes + text.length, *found;
	size_t length;

	if (delimiter.length) {
		found = memmem(text.bytes, text.length, delimiter.bytes, delimiter.length);
		*rest_ret = found ? found + delimiter.length : NULL;
		return (struct profcol_text){ text.bytes,
					      found ? (size_t)(found - text.bytes) : text.length };
	}
	length = character_length(text.bytes, text.length);
	*rest_ret = text.bytes + length < end ? text.bytes + length : NULL;
	return (struct profcol_text){ text.bytes, length };
}

/* How many parts there are; into @items unless that is NULL. */
static size_t split_into(struct profcol_text text, struct profcol_text delimiter,
			 struct value *items)
{
	const char *end = text.bytes + text.length, *rest = text.bytes;
	size_t count = 0;

	if (!text.length && !delimiter.length)
		return 0;
	while (rest && count <= OTTL_MAX_ITEMS) {
		struct profcol_text left = { rest, (size_t)(end - rest) };
		struct profcol_text part = next_part(left, delimiter, &rest);

		if (items)
			items[count] = value_string(part);
		count++;
	}
	return count;
}

bool convert_split(struct profcol_text text, struct profcol_text delimiter, struct scratch *scratch,
		   struct value *ret)
{
	size_t count = split_into(text, delimiter, NULL);
	struct value *items;

	items = count > OTTL_MAX_ITEMS ? NULL : scratch_array(scratch, count, sizeof(*items));
	if (!items)
		return false;
	split_into(text, delimiter, items);
	*ret = (struct value){ .type = VALUE_LIST, .count = (uint32_t)count, .items = items };
	return true;
}
