/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of a condition: literals, what paths read, what converters make. A value owns nothing;
 * its bytes are the condition's, the batch's or the scratch memory of one evaluation.
 */
#pragma once

#include "scratch.h"

#include <profcol/batch.h>

#include <stdbool.h>
#include <stdint.h>

enum value_type {
	VALUE_NIL,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_DOUBLE,
	VALUE_STRING,
	VALUE_BYTES,
	VALUE_LIST,
	VALUE_MAP,
	VALUE_TIME,     /* .integer: Unix nanoseconds */
	VALUE_ID,       /* .text: 16 bytes, equal to another id only */
	VALUE_MESSAGE,  /* .integer: which one; equal to itself, and of no use otherwise */
	VALUE_DURATION, /* .integer: nanoseconds */
};

struct value {
	enum value_type type;
	uint32_t count; /* items of a list, pairs of a map */
	union {
		bool boolean;
		int64_t integer;
		double real;
		struct profcol_text text; /* without a NUL behind it */
		const struct value
			*items; /* of a map: each key (a string), then its value; by key */
	};
};

enum compare_operator {
	COMPARE_EQUAL,
	COMPARE_NOT_EQUAL,
	COMPARE_LESS,
	COMPARE_LESS_EQUAL,
	COMPARE_GREATER_EQUAL,
	COMPARE_GREATER,
};

static inline struct value value_bool(bool boolean)
{
	return (struct value){ .type = VALUE_BOOL, .boolean = boolean };
}

static inline struct value value_int(int64_t integer)
{
	return (struct value){ .type = VALUE_INT, .integer = integer };
}

static inline struct value value_double(double real)
{
	return (struct value){ .type = VALUE_DOUBLE, .real = real };
}

static inline struct value value_string(struct profcol_text text)
{
	return (struct value){ .type = VALUE_STRING, .text = text };
}

/* As messages call it: "nil", "bool", "int64", "float64", "string", "bytes", "list", ... */
const char *value_type_name(enum value_type type);

/* OTTL's rules: what cannot be compared is not equal, and neither less nor greater. */
bool value_compare(const struct value *left, const struct value *right, enum compare_operator op);

/* -1, 0 or 1, byte by byte, the shorter one first. */
int text_compare(struct profcol_text left, struct profcol_text right);

/* Put the pairs of a map that is being made into the order of their keys, as all maps have them. */
void value_sort_pairs(struct value *items, uint32_t count);

/* The value of @key in a map, NULL when there is none. */
const struct value *value_find(const struct value *map, struct profcol_text key);

/*
 * @value as text: a string as it is, bytes in hexadecimal, all else in JSON, as Go writes it.
 * Not nil. False when it has none (a number that is not finite), or would be too long.
 */
bool value_to_text(const struct value *value, struct scratch *scratch, struct profcol_text *ret);

/* An attribute's value, lists and maps with all that is in them. False when that is too much. */
bool value_of_attribute(const struct profcol_batch *batch, const struct profcol_value *attribute,
			struct scratch *scratch, struct value *ret);
