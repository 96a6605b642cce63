// SPDX-License-Identifier: Apache-2.0
#include "quantity.h"

#include <profcol/options.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUOTED_MAX = 40 }; /* bytes of a bad value that a message shows */

struct unit {
	const char *name;
	uint64_t size;
};

static const struct unit duration_units[] = {
	{ "ns", 1 },
	{ "us", 1000 },
	{ "\u00b5s", 1000 }, /* micro sign */
	{ "\u03bcs", 1000 }, /* Greek mu */
	{ "ms", PROFCOL_MILLISECOND },
	{ "s", PROFCOL_SECOND },
	{ "m", PROFCOL_MINUTE },
	{ "h", PROFCOL_HOUR },
	{ NULL, 0 },
};

static const struct unit byte_units[] = {
	{ "B", 1 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "TiB", UINT64_C(1) << 40 },
	{ NULL, 0 },
};

enum part_fault { PART_FINE, PART_NO_NUMBER, PART_NO_UNIT, PART_UNKNOWN_UNIT, PART_TOO_BIG };

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* 0.@digits of a unit of @size, without floating point. */
static uint64_t fraction_of(const char *digits, size_t count, uint64_t size)
{
	uint64_t result = 0, scale = 1;

	// A tenth of a nanosecond of an hour is beyond the 13th digit.
	for (size_t i = 0; i < count && i < 15; i++) {
		scale *= 10;
		result = result * 10 + (uint64_t)(digits[i] - '0');
	}
	return (uint64_t)((unsigned __int128)result * size / scale);
}

/* Read "1.5h" at *@at: a number and its unit. @unit_ret and its length are for messages. */
static enum part_fault read_part(const char **at, const struct unit *units, uint64_t *ret,
				 const char **unit_ret, size_t *unit_length_ret)
{
	const char *whole = *at, *end = whole, *fraction, *unit;
	uint64_t number = 0, extra;
	size_t digits;

	for (; is_digit(*end); end++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(*end - '0'), &number))
			return PART_TOO_BIG;
	digits = (size_t)(end - whole);
	fraction = end;
	if (*end == '.') {
		fraction = ++end;
		while (is_digit(*end))
			end++;
		digits += (size_t)(end - fraction);
	}
	if (!digits)
		return PART_NO_NUMBER;
	unit = end;
	*unit_ret = unit;
	*unit_length_ret = strcspn(unit, ".0123456789");
	if (!*unit_length_ret)
		return PART_NO_UNIT;
	*at = unit + *unit_length_ret;
	for (; units->name; units++)
		if (strlen(units->name) == *unit_length_ret &&
		    !memcmp(units->name, unit, *unit_length_ret))
			break;
	if (!units->name)
		return PART_UNKNOWN_UNIT;
	extra = fraction_of(fraction, (size_t)(unit - fraction), units->size);
	if (__builtin_mul_overflow(number, units->size, &number) ||
	    __builtin_add_overflow(number, extra, &number) || number > INT64_MAX)
		return PART_TOO_BIG;
	*ret = number;
	return PART_FINE;
}

static bool explain_duration(enum part_fault fault, const char *text, const char *unit,
			     size_t unit_length, char why[QUANTITY_TEXT_MAX])
{
	int shown = unit_length < QUOTED_MAX ? (int)unit_length : QUOTED_MAX;

	if (fault == PART_NO_UNIT)
		snprintf(why, QUANTITY_TEXT_MAX, "time: missing unit in duration \"%.*s\"",
			 QUOTED_MAX, text);
	else if (fault == PART_UNKNOWN_UNIT)
		snprintf(why, QUANTITY_TEXT_MAX, "time: unknown unit \"%.*s\" in duration \"%.*s\"",
			 shown, unit, QUOTED_MAX, text);
	else
		snprintf(why, QUANTITY_TEXT_MAX, "time: invalid duration \"%.*s\"", QUOTED_MAX,
			 text);
	return false;
}

bool quantity_parse_duration(const char *text, int64_t *ret_ns, char why[QUANTITY_TEXT_MAX])
{
	const char *at = text + (*text == '-' || *text == '+'), *unit = NULL;
	uint64_t total = 0, part = 0;
	size_t unit_length = 0;

	if (!strcmp(at, "0")) {
		*ret_ns = 0;
		return true;
	}
	if (!*at)
		return explain_duration(PART_NO_NUMBER, text, NULL, 0, why);
	while (*at) {
		enum part_fault fault = read_part(&at, duration_units, &part, &unit, &unit_length);

		if (!fault && (__builtin_add_overflow(total, part, &total) || total > INT64_MAX))
			fault = PART_TOO_BIG;
		if (fault)
			return explain_duration(fault, text, unit, unit_length, why);
	}
	*ret_ns = *text == '-' ? -(int64_t)total : (int64_t)total;
	return true;
}

void quantity_print_duration(int64_t ns, char to[QUANTITY_TEXT_MAX])
{
	static const struct unit parts[] = {
		{ "h", PROFCOL_HOUR },         { "m", PROFCOL_MINUTE }, { "s", PROFCOL_SECOND },
		{ "ms", PROFCOL_MILLISECOND }, { "us", 1000 },          { "ns", 1 },
	};
	uint64_t left = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
	size_t used = 0;

	if (!left) {
		memcpy(to, "0s", sizeof("0s"));
		return;
	}
	if (ns < 0)
		to[used++] = '-';
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		if (left < parts[i].size)
			continue;
		used += (size_t)snprintf(to + used, QUANTITY_TEXT_MAX - used, "%" PRIu64 "%s",
					 left / parts[i].size, parts[i].name);
		left %= parts[i].size;
	}
}

bool quantity_parse_bytes(const char *text, uint64_t *ret, char why[QUANTITY_TEXT_MAX])
{
	const char *at = text, *unit = NULL;
	enum part_fault fault;
	size_t unit_length = 0;

	fault = read_part(&at, byte_units, ret, &unit, &unit_length);
	if (!fault && !*at)
		return true;
	if (fault == PART_NO_UNIT && !text[strspn(text, "0123456789")]) {
		errno = 0;
		*ret = strtoull(text, NULL, 10);
		if (!errno)
			return true;
		fault = PART_TOO_BIG;
	}
	if (fault == PART_UNKNOWN_UNIT)
		snprintf(why, QUANTITY_TEXT_MAX, "unknown unit \"%.*s\" in size \"%.*s\"",
			 unit_length < QUOTED_MAX ? (int)unit_length : QUOTED_MAX, unit, QUOTED_MAX,
			 text);
	else if (fault == PART_TOO_BIG)
		snprintf(why, QUANTITY_TEXT_MAX, "size \"%.*s\" is too large", QUOTED_MAX, text);
	else
		snprintf(why, QUANTITY_TEXT_MAX, "invalid size \"%.*s\"", QUOTED_MAX, text);
	return false;
}

void quantity_print_bytes(uint64_t bytes, char to[QUANTITY_TEXT_MAX])
{
	size_t i = 0;

	while (bytes && byte_units[i + 1].name && bytes % byte_units[i + 1].size == 0)
		i++;
	snprintf(to, QUANTITY_TEXT_MAX, "%" PRIu64 "%s", bytes / byte_units[i].size,
		 i ? byte_units[i].name : "");
}
