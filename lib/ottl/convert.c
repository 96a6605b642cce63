// SPDX-License-Identifier: Apache-2.0
#include "convert.h"

#include "ottl.h"
#include "pattern.h"

#include "base/base.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_LENGTH_MAX = 400 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* ---- integers ---- */

static bool parse_int(struct profcol_text text, int64_t *ret)
{
	bool is_negative = text.length && text.bytes[0] == '-';
	size_t begin = text.length && (is_negative || text.bytes[0] == '+');
	int64_t value = 0;

	if (begin == text.length)
		return false;
	for (size_t i = begin; i < text.length; i++) {
		int digit = text.bytes[i] - '0';

		if (!is_digit(text.bytes[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, is_negative ? -digit : digit, &value))
			return false;
	}
	*ret = value;
	return true;
}

/* What is out of range becomes the least integer, as on the machines that Go runs on. */
static int64_t truncate_double(double real)
{
	return real >= -0x1p63 && real < 0x1p63 ? (int64_t)real : INT64_MIN;
}

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
		*ret = value_int(truncate_double(value->real));
		return true;
	case VALUE_BOOL:
		*ret = value_int(value->boolean);
		return true;
	case VALUE_STRING:
		*ret = parse_int(value->text, &integer) ? value_int(integer) : (struct value){ 0 };
		return true;
	default:
		return false;
	}
}

/* ---- floats ---- */

static const char *skip_digits(const char *at, bool is_hex)
{
	while (is_digit(*at) ||
	       (is_hex && ((*at >= 'a' && *at <= 'f') || (*at >= 'A' && *at <= 'F'))))
		at++;
	return at;
}

/* Is @text a number as Go writes them? strtod() takes more than that. */
static bool is_float(const char *text)
{
	const char *at = text + (*text == '+' || *text == '-'), *begin, *point;
	bool is_hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X');
	char power = is_hex ? 'p' : 'e';
	size_t digits;

	if (!strcasecmp(at, "inf") || !strcasecmp(at, "infinity") || !strcasecmp(text, "nan"))
		return true;
	begin = at + (is_hex ? 2 : 0);
	at = skip_digits(begin, is_hex);
	digits = (size_t)(at - begin);
	if (*at == '.') {
		point = at + 1;
		at = skip_digits(point, is_hex);
		digits += (size_t)(at - point);
	}
	if (!digits)
		return false;
	if ((*at | 0x20) != power)
		return !is_hex && !*at;
	at += 1 + (at[1] == '+' || at[1] == '-');
	return is_digit(*at) && !*skip_digits(at, false);
}

static bool parse_double(struct profcol_text text, double *ret)
{
	char copy[NUMBER_LENGTH_MAX + 1];

	if (!text.length || text.length > NUMBER_LENGTH_MAX ||
	    memchr(text.bytes, '\0', text.length))
		return false;
	memcpy(copy, text.bytes, text.length);
	copy[text.length] = '\0';
	if (!is_float(copy))
		return false;
	errno = 0;
	*ret = strtod(copy, NULL);
	// Too small a number is 0.
	return errno != ERANGE || fabs(*ret) < 1;
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
		return parse_double(value->text, &ret->real);
	default:
		return false;
	}
}

/* ---- text ---- */

bool convert_to_lower(struct profcol_text text, struct scratch *scratch, struct profcol_text *ret)
{
	bool is_ascii = true;
	char *lower;

	lower = text.length > OTTL_MAX_STRING ? NULL : scratch_alloc(scratch, text.length + 1);
	if (!lower)
		return false;
	for (size_t i = 0; i < text.length; i++) {
		char c = text.bytes[i];

		is_ascii &= (unsigned char)c < 0x80;
		lower[i] = c >= 'A' && c <= 'Z' ? (char)(c + 'a' - 'A') : c;
	}
	*ret = (struct profcol_text){ lower, text.length };
	return is_ascii || !strings_is_utf8(text.bytes, text.length) ||
	       pattern_lower(text, scratch, ret);
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
