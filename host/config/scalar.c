// SPDX-License-Identifier: Apache-2.0
#include "scalar.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 128 }; /* longer than any number somebody means */

struct scalar_word {
	const char *text;
	struct scalar value;
};

static const struct scalar_word scalar_words[] = {
	{ "", { .type = SCALAR_NULL } },
	{ "~", { .type = SCALAR_NULL } },
	{ "null", { .type = SCALAR_NULL } },
	{ "Null", { .type = SCALAR_NULL } },
	{ "NULL", { .type = SCALAR_NULL } },
	{ "true", { .type = SCALAR_BOOL, .boolean = true } },
	{ "True", { .type = SCALAR_BOOL, .boolean = true } },
	{ "TRUE", { .type = SCALAR_BOOL, .boolean = true } },
	{ "false", { .type = SCALAR_BOOL } },
	{ "False", { .type = SCALAR_BOOL } },
	{ "FALSE", { .type = SCALAR_BOOL } },
	{ ".nan", { .type = SCALAR_FLOAT, .number = NAN } },
	{ ".NaN", { .type = SCALAR_FLOAT, .number = NAN } },
	{ ".NAN", { .type = SCALAR_FLOAT, .number = NAN } },
	{ ".inf", { .type = SCALAR_FLOAT, .number = INFINITY } },
	{ ".Inf", { .type = SCALAR_FLOAT, .number = INFINITY } },
	{ ".INF", { .type = SCALAR_FLOAT, .number = INFINITY } },
	{ "+.inf", { .type = SCALAR_FLOAT, .number = INFINITY } },
	{ "+.Inf", { .type = SCALAR_FLOAT, .number = INFINITY } },
	{ "+.INF", { .type = SCALAR_FLOAT, .number = INFINITY } },
	{ "-.inf", { .type = SCALAR_FLOAT, .number = -INFINITY } },
	{ "-.Inf", { .type = SCALAR_FLOAT, .number = -INFINITY } },
	{ "-.INF", { .type = SCALAR_FLOAT, .number = -INFINITY } },
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The number's characters without '_'. False when it is too long to be one. */
static bool strip_underscores(const char *text, char to[static DIGITS_MAX])
{
	size_t used = 0;

	for (; *text; text++) {
		if (*text == '_')
			continue;
		if (used + 1 >= DIGITS_MAX)
			return false;
		to[used++] = *text;
	}
	to[used] = '\0';
	return true;
}

/* As Go's strconv.ParseInt with base 0: 0x, 0o, 0b, and a leading 0 means octal. */
static bool parse_integer(const char *text, int64_t *ret)
{
	const char *digits = text + (*text == '-' || *text == '+');
	bool negative = *text == '-';
	unsigned long long magnitude;
	int base = 10;
	char *end;

	if (digits[0] == '0' && digits[1]) {
		char mark = (char)(digits[1] | 0x20);

		base = mark == 'x' ? 16 : mark == 'b' ? 2 : 8;
		digits += mark == 'x' || mark == 'b' || mark == 'o' ? 2 : 1;
	}
	// strtoull would skip blanks and take a sign or a prefix of its own.
	if (!is_digit(*digits) && !(base == 16 && strchr("abcdefABCDEF", *digits) && *digits))
		return false;
	if (base == 16 && digits[0] == '0' && (digits[1] | 0x20) == 'x')
		return false;
	errno = 0;
	magnitude = strtoull(digits, &end, base);
	if (errno || *end || magnitude > (unsigned long long)INT64_MAX + negative)
		return false;
	*ret = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
	return true;
}

static const char *skip_digits(const char *at)
{
	while (is_digit(*at))
		at++;
	return at;
}

/* ^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$ */
static bool looks_like_float(const char *text)
{
	const char *at = text + (*text == '-' || *text == '+');
	const char *begin = at;

	at = skip_digits(at);
	if (*at == '.') {
		const char *fraction = at + 1;

		at = skip_digits(fraction);
		if (fraction - 1 == begin && at == fraction)
			return false;
	} else if (at == begin) {
		return false;
	}
	if (*at == 'e' || *at == 'E') {
		at += 1 + (at[1] == '-' || at[1] == '+');
		if (!is_digit(*at))
			return false;
		at = skip_digits(at);
	}
	return !*at;
}

struct scalar scalar_resolve(const char *text)
{
	struct scalar scalar = { .type = SCALAR_STRING };
	char digits[DIGITS_MAX];

	for (size_t i = 0; i < sizeof(scalar_words) / sizeof(scalar_words[0]); i++)
		if (!strcmp(scalar_words[i].text, text))
			return scalar_words[i].value;
	if (!is_digit(*text) && !strchr("+-.", *text))
		return scalar;
	if (!strip_underscores(text, digits))
		return scalar;
	if (parse_integer(digits, &scalar.integer)) {
		scalar.type = SCALAR_INT;
		scalar.number = (double)scalar.integer;
	} else if (looks_like_float(digits)) {
		// The program never sets a locale: the point is a point. What no double holds is
		// text, as in the Collector: an identifier like 61e9540 looks like a number.
		scalar.number = strtod(digits, NULL);
		scalar.type = isinf(scalar.number) ? SCALAR_STRING : SCALAR_FLOAT;
	}
	return scalar;
}

const char *scalar_type_name(enum scalar_type type)
{
	switch (type) {
	case SCALAR_NULL:
		return "nil";
	case SCALAR_BOOL:
		return "bool";
	case SCALAR_INT:
		return "int";
	case SCALAR_FLOAT:
		return "float64";
	case SCALAR_STRING:
		break;
	}
	return "string";
}
