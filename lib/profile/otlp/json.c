// SPDX-License-Identifier: Apache-2.0
/*
 * A request as OTLP/JSON (opentelemetry-proto, docs: JSON Protobuf encoding), from its bytes on the
 * wire: names in lowerCamelCase, ids as hexadecimal digits, 64-bit integers as strings. What is
 * zero is left out, as it is on the wire.
 */
#include "../profile.h"
#include "json_shapes.h"

#include "base/base.h"
#include "proto/proto.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

struct json_text {
	char *bytes; /* owned */
	size_t length, capacity;
	unsigned int depth;
	bool no_memory, malformed;
};

/* Room for @more bytes; NULL without memory, or past what a record may have. */
static char *json_room(struct json_text *text, size_t more)
{
	if (text->no_memory || more > PROTO_MAX_BYTES - text->length ||
	    (text->length + more > text->capacity &&
	     !vector_grow((void **)&text->bytes, &text->capacity, text->length + more, 1))) {
		text->no_memory = true;
		return NULL;
	}
	return text->bytes + text->length;
}

static void json_add(struct json_text *text, const char *bytes, size_t length)
{
	char *to = json_room(text, length);

	if (!to)
		return;
	memcpy(to, bytes, length);
	text->length += length;
}

static void json_add_literal(struct json_text *text, const char *literal)
{
	json_add(text, literal, strlen(literal));
}

__attribute__((format(printf, 2, 3))) static void json_add_number(struct json_text *text,
								  const char *format, ...)
{
	char digits[64];
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(digits, sizeof(digits), format, arguments);
	va_end(arguments);
	json_add(text, digits, (size_t)length);
}

static void json_add_byte(struct json_text *text, unsigned char byte, bool is_utf8)
{
	if (byte == '"' || byte == '\\')
		json_add_number(text, "\\%c", byte);
	else if (byte == '\n')
		json_add_literal(text, "\\n");
	else if (byte < ' ' || byte == 0x7f)
		json_add_number(text, "\\u%04x", byte);
	else if (byte > 0x7f && !is_utf8)
		json_add_literal(text, "?");
	else
		json_add(text, (const char *)&byte, 1);
}

/* Runs of bytes that need nothing are copied at once. */
static void json_add_string(struct json_text *text, const uint8_t *bytes, size_t length)
{
	bool is_utf8 = strings_is_utf8((const char *)bytes, length);
	size_t plain = 0;

	json_add_literal(text, "\"");
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = bytes[i];

		if (byte >= ' ' && byte != '"' && byte != '\\' && byte != 0x7f &&
		    (byte < 0x80 || is_utf8))
			continue;
		json_add(text, (const char *)bytes + plain, i - plain);
		json_add_byte(text, byte, is_utf8);
		plain = i + 1;
	}
	json_add(text, (const char *)bytes + plain, length - plain);
	json_add_literal(text, "\"");
}

static void json_add_base64(struct json_text *text, const uint8_t *bytes, size_t length)
{
	char *to;

	json_add_literal(text, "\"");
	to = json_room(text, STRINGS_BASE64_SIZE(length));
	if (!to)
		return;
	strings_base64(to, bytes, length);
	// The NUL behind it gives way.
	text->length += STRINGS_BASE64_SIZE(length) - 1;
	json_add_literal(text, "\"");
}

static void json_add_id(struct json_text *text, const uint8_t *bytes, size_t length)
{
	char *to;

	json_add_literal(text, "\"");
	to = json_room(text, 2 * length + 1);
	if (!to)
		return;
	strings_hex(to, bytes, length);
	text->length += 2 * length;
	json_add_literal(text, "\"");
}

/* The shortest digits that are this number again; what JSON has no number for is a string. */
static void json_add_double(struct json_text *text, uint64_t bits)
{
	char digits[32];
	double real;

	memcpy(&real, &bits, sizeof(real));
	if (isnan(real)) {
		json_add_literal(text, "\"NaN\"");
	} else if (isinf(real)) {
		json_add_literal(text, real > 0 ? "\"Infinity\"" : "\"-Infinity\"");
	} else {
		for (int precision = 15; precision <= 17; precision++) {
			snprintf(digits, sizeof(digits), "%.*g", precision, real);
			if (strtod(digits, NULL) == real)
				break;
		}
		json_add_literal(text, digits);
	}
}

/* ---- fields ---- */

static void json_add_message(struct json_text *text, const struct json_shape *shape,
			     struct reader bytes);

static enum proto_wire json_wire(enum json_kind kind)
{
	switch (kind) {
	case JSON_INT32:
	case JSON_UINT32:
	case JSON_INT64:
	case JSON_UINT64:
	case JSON_BOOL:
		return PROTO_VARINT;
	case JSON_FIXED64:
	case JSON_DOUBLE:
		return PROTO_FIXED64;
	default:
		return PROTO_BYTES;
	}
}

static void json_add_scalar(struct json_text *text, enum json_kind kind, uint64_t value)
{
	switch (kind) {
	case JSON_INT32:
		json_add_number(text, "%" PRId32, (int32_t)value);
		break;
	case JSON_UINT32:
		json_add_number(text, "%" PRIu32, (uint32_t)value);
		break;
	case JSON_INT64:
		json_add_number(text, "\"%" PRId64 "\"", (int64_t)value);
		break;
	case JSON_BOOL:
		json_add_literal(text, value ? "true" : "false");
		break;
	case JSON_DOUBLE:
		json_add_double(text, value);
		break;
	default:
		json_add_number(text, "\"%" PRIu64 "\"", value);
		break;
	}
}

static void json_add_bytes(struct json_text *text, const struct json_field *field,
			   struct reader bytes)
{
	size_t length = reader_left(&bytes);

	if (field->kind == JSON_STRING)
		json_add_string(text, bytes.at, length);
	else if (field->kind == JSON_BYTES)
		json_add_base64(text, bytes.at, length);
	else if (field->kind == JSON_ID)
		json_add_id(text, bytes.at, length);
	else
		json_add_message(text, field->message, bytes);
}

/* All of a packed field, with a comma before each but the first of the list. */
static void json_add_packed(struct json_text *text, const struct json_field *field,
			    struct reader bytes, bool *first)
{
	enum proto_wire wire = json_wire(field->kind);

	while (reader_left(&bytes)) {
		uint64_t value = wire == PROTO_VARINT ? proto_varint(&bytes) : reader_u64(&bytes);

		if (!*first)
			json_add_literal(text, ",");
		*first = false;
		json_add_scalar(text, field->kind, value);
	}
	text->malformed |= bytes.failed;
}

static void json_add_item(struct json_text *text, const struct json_field *field,
			  const struct proto_field *item, bool *first)
{
	enum proto_wire wire = json_wire(field->kind);

	if (wire != PROTO_BYTES && item->wire == PROTO_BYTES && field->repeated) {
		json_add_packed(text, field, item->bytes, first);
		return;
	}
	if (item->wire != wire) {
		text->malformed = true;
		return;
	}
	if (!*first)
		json_add_literal(text, ",");
	*first = false;
	if (wire == PROTO_BYTES)
		json_add_bytes(text, field, item->bytes);
	else
		json_add_scalar(text, field->kind, item->value);
}

static void json_add_name(struct json_text *text, const char *name, bool *first_field)
{
	if (!*first_field)
		json_add_literal(text, ",");
	*first_field = false;
	json_add_literal(text, "\"");
	json_add_literal(text, name);
	json_add_literal(text, "\":");
}

/* Whatever @bytes have of @field, in one place, wherever it stands. */
static void json_add_field(struct json_text *text, const struct json_field *field,
			   struct reader bytes, bool *first_field)
{
	struct proto_field item, last = { 0 };
	bool first = true, found = false;

	while (proto_next(&bytes, &item)) {
		if (item.number != field->number)
			continue;
		if (field->repeated && !found) {
			json_add_name(text, field->name, first_field);
			json_add_literal(text, "[");
		}
		found = true;
		last = item;
		if (field->repeated)
			json_add_item(text, field, &item, &first);
	}
	text->malformed |= bytes.failed;
	if (field->repeated && found) {
		json_add_literal(text, "]");
	} else if (found) {
		json_add_name(text, field->name, first_field);
		json_add_item(text, field, &last, &first);
	}
}

static void json_add_message(struct json_text *text, const struct json_shape *shape,
			     struct reader bytes)
{
	bool first = true;

	if (text->depth == JSON_DEPTH_MAX)
		text->malformed = true;
	if (text->malformed || text->no_memory)
		return;
	text->depth++;
	json_add_literal(text, "{");
	for (size_t i = 0; i < shape->count && !text->malformed; i++)
		json_add_field(text, &shape->fields[i], bytes, &first);
	json_add_literal(text, "}");
	text->depth--;
}

struct profcol_error *otlp_to_json(const uint8_t *bytes, size_t length, char **text_ret,
				   size_t *length_ret)
{
	struct json_text text = { 0 };

	json_add_message(&text, &otlp_json_request, reader_over(bytes, length));
	json_add(&text, "", 1);
	if (!text.malformed && !text.no_memory) {
		*text_ret = text.bytes;
		*length_ret = text.length - 1;
		return NULL;
	}
	free(text.bytes);
	if (text.malformed)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "the request is not what OTLP says one is");
	return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for %zu bytes of OTLP as JSON",
				    length);
}
