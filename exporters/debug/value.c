// SPDX-License-Identifier: Apache-2.0
#include "value.h"

#include "text.h"

#include "base/base.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_BLOB_BYTES = TEXT_STRING_MAX_BYTES / 4 * 3 };

static void value_add_base64(struct text *text, struct profcol_text blob)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t shown = blob.length < SHOWN_BLOB_BYTES ? blob.length : SHOWN_BLOB_BYTES;

	for (size_t at = 0; at < shown; at += 3) {
		uint32_t group = 0;
		char quad[5] = "====";
		size_t count = shown - at < 3 ? shown - at : 3;

		for (size_t i = 0; i < count; i++)
			group |= (uint32_t)(unsigned char)blob.bytes[at + i] << (16 - 8 * i);
		for (size_t i = 0; i <= count; i++)
			quad[i] = digits[group >> (18 - 6 * i) & 63];
		text_add(text, "%s", quad);
	}
	if (shown < blob.length)
		text_add(text, "... (%zu more bytes)", blob.length - shown);
}

/* The shortest digits that read back as the same number. */
static void value_add_double(struct text *text, double real)
{
	char digits[32];

	for (int precision = 1; precision <= 17; precision++) {
		snprintf(digits, sizeof(digits), "%.*g", precision, real);
		if (isnan(real) || strtod(digits, NULL) == real)
			break;
	}
	text_add(text, "%s", digits);
}

void value_add(struct text *text, const struct profcol_batch *batch, struct profcol_value value)
{
	switch (value.type) {
	case PROFCOL_VALUE_EMPTY:
		break;
	case PROFCOL_VALUE_STRING:
		text_add_string(text, profcol_batch_string(batch, value.string));
		break;
	case PROFCOL_VALUE_BOOL:
		text_add(text, "%s", value.boolean ? "true" : "false");
		break;
	case PROFCOL_VALUE_INT:
		text_add(text, "%" PRId64, value.integer);
		break;
	case PROFCOL_VALUE_DOUBLE:
		value_add_double(text, value.real);
		break;
	case PROFCOL_VALUE_BYTES:
		value_add_base64(text, profcol_batch_blob(batch, value.blob));
		break;
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		text_add(text, "%zu bytes", profcol_batch_blob(batch, value.blob).length);
		break;
	}
}

void value_add_typed(struct text *text, const struct profcol_batch *batch,
		     struct profcol_value value)
{
	static const char *const types[] = {
		[PROFCOL_VALUE_EMPTY] = "Empty",   [PROFCOL_VALUE_STRING] = "Str",
		[PROFCOL_VALUE_BOOL] = "Bool",     [PROFCOL_VALUE_INT] = "Int",
		[PROFCOL_VALUE_DOUBLE] = "Double", [PROFCOL_VALUE_BYTES] = "Bytes",
		[PROFCOL_VALUE_ARRAY] = "Slice",   [PROFCOL_VALUE_KVLIST] = "Map",
	};

	text_add(text, "%s(", value.type <= PROFCOL_VALUE_KVLIST ? types[value.type] : "Empty");
	value_add(text, batch, value);
	text_add(text, ")");
}

void value_add_pairs(struct text *text, const struct profcol_batch *batch, uint32_t id)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, id, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		text_add(text, " ");
		text_add_string(text, profcol_batch_string(batch, attribute.key));
		text_add(text, "=");
		value_add(text, batch, attribute.value);
	}
}

void value_add_lines(struct text *text, const struct profcol_batch *batch, uint32_t id,
		     const char *indent, const char *header)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, id, &count);

	if (count)
		text_add(text, "%s%s:\n", indent, header);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		text_add(text, "%s     -> ", indent);
		text_add_string(text, profcol_batch_string(batch, attribute.key));
		text_add(text, ": ");
		value_add_typed(text, batch, attribute.value);
		text_add(text, "\n");
	}
}
