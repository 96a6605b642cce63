/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays and lists of pairs, which a batch keeps as OTLP AnyValue messages in wire
 * form (opentelemetry/proto/common/v1/common.proto): looking into them, printing
 * them as text for a label, and making arrays.
 *
 * The bytes may come from anywhere: nothing here trusts them.
 */
#pragma once

#include "budget.h"

#include "base/base.h"

#include <profcol/batch.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct any_value {
	enum profcol_value_type type;
	int64_t integer;   /* INT, BOOL */
	double real;       /* DOUBLE */
	const char *bytes; /* STRING, BYTES; ARRAY and KVLIST: the inner message; borrowed */
	size_t length;
};

/* False when @bytes are not an AnyValue. */
bool any_value_parse(const void *bytes, size_t length, struct any_value *ret);

/* One after the other of an ARRAY: @reader starts over its bytes. False at the end or on bad data
 * (then @reader has failed). */
bool any_value_next_item(struct reader *reader, struct any_value *ret);

/* The same of a KVLIST. */
bool any_value_next_pair(struct reader *reader, struct profcol_text *key_ret,
			 struct any_value *ret);

/*
 * @value as JSON: bytes as a string of hex digits, numbers that JSON lacks as a string.
 * False when it is malformed or nested deeper than 32.
 */
bool any_value_print(const struct any_value *value, FILE *stream);

/* A double in the fewest digits that give it back. */
void any_value_print_double(double value, FILE *stream);

/* Lower-case hex digits. */
void any_value_print_hex(const void *bytes, size_t length, FILE *stream);

/* An item of an array to make: a string, or a number with or without a unit. */
struct any_item {
	const char *bytes; /* NULL: a number */
	size_t length;
	int64_t number;
	const char *unit; /* NULL: none. With one the item is the pair list {value, unit} */
	size_t unit_length;
};

/* Is @value one of the items that any_array_encode() makes? The texts are borrowed from it. */
bool any_item_parse(const struct any_value *value, struct any_item *ret);

/* An array as AnyValue in wire form, in @budget's arena. NULL without memory. */
uint8_t *any_array_encode(const struct any_item *items, size_t count, struct budget *budget,
			  size_t *length_ret);
