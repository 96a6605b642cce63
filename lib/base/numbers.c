// SPDX-License-Identifier: Apache-2.0
#include "numbers.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { NUMBER_LENGTH_MAX = 400 };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool number_parse_int(const char *bytes, size_t length, int64_t *ret)
{
	bool is_negative = length && bytes[0] == '-';
	size_t begin = length && (is_negative || bytes[0] == '+');
	int64_t value = 0;

	if (begin == length)
		return false;
	for (size_t i = begin; i < length; i++) {
		int digit = bytes[i] - '0';

		if (!is_digit(bytes[i]) || __builtin_mul_overflow(value, 10, &value) ||
		    __builtin_add_overflow(value, is_negative ? -digit : digit, &value))
			return false;
	}
	*ret = value;
	return true;
}

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

bool number_parse_double(const char *bytes, size_t length, double *ret)
{
	char copy[NUMBER_LENGTH_MAX + 1];

	if (!length || length > NUMBER_LENGTH_MAX || memchr(bytes, '\0', length))
		return false;
	memcpy(copy, bytes, length);
	copy[length] = '\0';
	if (!is_float(copy))
		return false;
	errno = 0;
	*ret = strtod(copy, NULL);
	return errno != ERANGE || fabs(*ret) < 1;
}

int64_t number_truncate(double value)
{
	return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

int number_digits(double value, char digits[NUMBER_DIGITS_SIZE])
{
	char text[NUMBER_DIGITS_SIZE + 8];
	size_t count = 0;

	for (int precision = 0; precision <= 16; precision++) {
		snprintf(text, sizeof(text), "%.*e", precision, value);
		if (strtod(text, NULL) == value)
			break;
	}
	for (const char *c = text; *c && *c != 'e'; c++)
		if (*c != '.')
			digits[count++] = *c;
	digits[count] = '\0';
	return (int)strtol(text + strcspn(text, "e") + 1, NULL, 10);
}
