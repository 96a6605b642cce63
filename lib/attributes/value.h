/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a configuration, compiled; and what can be done with those of a batch. Private. */
#pragma once

#include "attributes.h"

struct constant {
	enum profcol_value_type type;
	bool boolean;
	int64_t integer;
	double real;
	char *bytes; /* owned: the text, or a list or map as AnyValue in OTLP wire form */
	size_t length;
};

/* @any must not be NONE, and lives on. 0 or -ENOMEM. */
int constant_init(struct constant *constant, const struct profcol_any *any);
void constant_deinit(struct constant *constant); /* accepts a zeroed one */

/* As a value of the builder's batch. */
struct profcol_value constant_put(const struct constant *constant, struct profcol_builder *builder);

/* Type and contents; doubles as numbers, lists and maps by their encoding. */
bool constant_equals(const struct constant *constant, const struct profcol_batch *batch,
		     const struct profcol_value *value);

/* The SHA-256 of a string, boolean or number in hexadecimal digits; empty text of the rest. */
struct profcol_value value_hash(struct profcol_builder *builder, const struct profcol_value *value);

enum value_conversion { VALUE_TO_STRING, VALUE_TO_INT, VALUE_TO_DOUBLE };

/* @value itself where it cannot be converted: text that is no number, lists, maps. */
struct profcol_value value_convert(struct profcol_builder *builder,
				   const struct profcol_value *value, enum value_conversion to);

/* Same type and the same contents, of one batch? */
bool value_equals(const struct profcol_value *left, const struct profcol_value *right);
