// SPDX-License-Identifier: Apache-2.0
#include "double_text.h"

#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* @to has room for any double: the smallest has 324 places behind the point. */
static void print_plain(double value, char *to, size_t size)
{
	char digits[NUMBER_DIGITS_SIZE];
	int whole = number_digits(value, digits) + 1, count = (int)strlen(digits);
	int zeros = whole <= 0 ? -whole : whole - count;
	char *at = to;

	if (whole <= 0)
		at += snprintf(to, size, "0.");
	else
		at += snprintf(to, size, "%.*s", whole, digits);
	if (zeros > 0) {
		memset(at, '0', (size_t)zeros);
		at += zeros;
	}
	*at = '\0';
	if (whole <= 0)
		snprintf(at, size - (size_t)(at - to), "%s", digits);
	else if (count > whole)
		snprintf(at, size - (size_t)(at - to), ".%s", digits + whole);
}

static void print_with_exponent(double value, char *to, size_t size)
{
	char digits[NUMBER_DIGITS_SIZE];
	int exponent = number_digits(value, digits);

	snprintf(to, size, "%c%s%se%c%d", digits[0], digits[1] ? "." : "", digits + 1,
		 exponent < 0 ? '-' : '+', abs(exponent));
}

/* What has no digits, and 0, which has none before its end. NULL for all else. */
static const char *find_word(double value, const char *infinity, const char *minus_infinity)
{
	if (isnan(value))
		return "NaN";
	if (isinf(value))
		return value > 0 ? infinity : minus_infinity;
	if (value == 0)
		return signbit(value) ? "-0" : "0";
	return NULL;
}

void double_text_plain(double value, char to[ATTRIBUTES_DOUBLE_MAX])
{
	const char *word = find_word(value, "+Inf", "-Inf");

	if (word) {
		snprintf(to, ATTRIBUTES_DOUBLE_MAX, "%s", word);
		return;
	}
	if (value < 0)
		*to++ = '-';
	print_plain(fabs(value), to, ATTRIBUTES_DOUBLE_MAX - 1);
}

void double_text_short(double value, char to[ATTRIBUTES_DOUBLE_MAX])
{
	const char *word = find_word(value, "Infinity", "-Infinity");
	double size = fabs(value);

	if (word) {
		snprintf(to, ATTRIBUTES_DOUBLE_MAX, "%s", word);
		return;
	}
	if (value < 0)
		*to++ = '-';
	if (size < 1e-6 || size >= 1e21)
		print_with_exponent(size, to, ATTRIBUTES_DOUBLE_MAX - 1);
	else
		print_plain(size, to, ATTRIBUTES_DOUBLE_MAX - 1);
}
