// SPDX-License-Identifier: Apache-2.0
/*
 * OTLP/JSON as the bytes of the same request. A message's length is written into four bytes before
 * it is known what it will be: a varint may have more bytes than it needs.
 */
#include "../profile.h"
#include "json_shapes.h"

#include "base/base.h"
#include "proto/proto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

enum {
	LENGTH_BYTES = 4, /* of a message: 28 bits */
	DIGITS_MOST = 64,
	PROFILE_ID_DIGITS = 32,
	/* A character of JSON becomes no more bytes: "0," of a list of times is a tag and eight. */
	MORE_MOST = 5,
};

/* Whole numbers below are exact as doubles. */
#define WHOLE_MOST 1e15

/* A message that has begun. */
struct json_frame {
	const struct json_shape *shape;
	const struct json_field *field; /* whose value comes; NULL = none that is known */
	size_t begin;                   /* of its length */
	size_t list_begin;              /* the same of a list of numbers */
	bool in_list;
};

struct json_parse {
	const struct json_shape *shape; /* of all of it */
	struct json_frame frames[JSON_DEPTH_MAX];
	unsigned int depth;   /* of them */
	unsigned int skipped; /* maps and lists of a field that is not known */
	uint8_t *bytes;       /* owned */
	size_t length, capacity, most;
	struct memory_share *share; /* borrowed; NULL = no bound */
	const char *fault;          /* a constant text; NULL = none */
	const char *fault_name;
	bool no_memory, sound;
};

/* ---- bytes ---- */

static int fail(struct json_parse *parse, const char *fault)
{
	parse->fault = fault;
	if (parse->depth && parse->frames[parse->depth - 1].field)
		parse->fault_name = parse->frames[parse->depth - 1].field->name;
	return 0;
}

static bool grow(struct json_parse *parse, size_t wanted)
{
	size_t capacity = parse->capacity * 2 > wanted ? parse->capacity * 2 : wanted;
	uint8_t *grown;

	if (capacity > parse->most)
		capacity = parse->most;
	if (parse->share && !memory_share_take(parse->share, capacity - parse->capacity))
		return false;
	grown = realloc(parse->bytes, capacity);
	if (!grown)
		return false;
	parse->bytes = grown;
	parse->capacity = capacity;
	return true;
}

static uint8_t *take(struct json_parse *parse, size_t length)
{
	size_t wanted = parse->length + length;

	if (wanted > parse->most) {
		fail(parse, "is too long");
		return NULL;
	}
	if (wanted > parse->capacity && !grow(parse, wanted)) {
		parse->no_memory = true;
		return NULL;
	}
	parse->length = wanted;
	return parse->bytes + wanted - length;
}

static int put_varint(struct json_parse *parse, uint64_t value)
{
	uint8_t *to = take(parse, proto_varint_size(value));

	if (to)
		proto_varint_write(to, value);
	return to != NULL;
}

static int put_tag(struct json_parse *parse, const struct json_field *field, enum proto_wire wire)
{
	return put_varint(parse, (uint64_t)field->number << 3 | (unsigned int)wire);
}

/* Numbers of a list are packed: its tag is there. */
static int put_number(struct json_parse *parse, const struct json_field *field, uint64_t value)
{
	return (field->repeated || put_tag(parse, field, PROTO_VARINT)) && put_varint(parse, value);
}

static int put_fixed(struct json_parse *parse, const struct json_field *field, uint64_t value)
{
	uint8_t *to;

	if (!field->repeated && !put_tag(parse, field, PROTO_FIXED64))
		return 0;
	to = take(parse, sizeof(value));
	for (size_t i = 0; to && i < sizeof(value); i++)
		to[i] = (uint8_t)(value >> 8 * i);
	return to != NULL;
}

/* Room for a length that is not known yet. */
static int begin_length(struct json_parse *parse, const struct json_field *field, size_t *begin_ret)
{
	if (!put_tag(parse, field, PROTO_BYTES))
		return 0;
	*begin_ret = parse->length;
	return take(parse, LENGTH_BYTES) != NULL;
}

static int end_length(struct json_parse *parse, size_t begin)
{
	size_t length = parse->length - begin - LENGTH_BYTES;

	if (length >> 7 * LENGTH_BYTES)
		return fail(parse, "is too long");
	for (int i = 0; i < LENGTH_BYTES; i++)
		parse->bytes[begin + (size_t)i] =
			(uint8_t)((length >> 7 * i & 0x7f) | (i < LENGTH_BYTES - 1 ? 0x80 : 0));
	return 1;
}

static bool is_packed(const struct json_field *field)
{
	return field->repeated && field->kind <= JSON_DOUBLE;
}

static int put_bytes(struct json_parse *parse, const struct json_field *field, const void *bytes,
		     size_t length)
{
	uint8_t *to;

	if (!put_tag(parse, field, PROTO_BYTES) || !put_varint(parse, length))
		return 0;
	to = take(parse, length);
	if (to && length)
		memcpy(to, bytes, length);
	return to != NULL;
}

/* ---- scalars ---- */

/* A copy with an end, which strtod() and others need. */
static bool copy_digits(char to[static DIGITS_MOST], const char *text, size_t length)
{
	if (!length || length >= DIGITS_MOST || memchr(text, '\0', length) || text[0] == ' ')
		return false;
	memcpy(to, text, length);
	to[length] = '\0';
	return true;
}

static bool read_double(const char *text, size_t length, double *ret)
{
	char digits[DIGITS_MOST], *end;

	if (length == 3 && !memcmp(text, "NaN", 3)) {
		*ret = __builtin_nan("");
		return true;
	}
	if (!copy_digits(digits, text, length))
		return false;
	*ret = strtod(digits, &end);
	return !*end;
}

/* Also "1e3" and "1.0", which are whole. Unsigned ones as the same bits. */
static bool read_integer(const char *text, size_t length, bool is_signed, uint64_t *ret)
{
	char digits[DIGITS_MOST], *end;
	double value;

	if (!copy_digits(digits, text, length) || (!is_signed && digits[0] == '-'))
		return false;
	errno = 0;
	*ret = is_signed ? (uint64_t)strtoll(digits, &end, 10) : strtoull(digits, &end, 10);
	if (!*end && end != digits)
		return !errno;
	if (!read_double(text, length, &value) || !(value > -WHOLE_MOST && value < WHOLE_MOST))
		return false;
	*ret = (uint64_t)(int64_t)value;
	return (double)(int64_t)value == value;
}

static int put_integer(struct json_parse *parse, const struct json_field *field, const char *text,
		       size_t length)
{
	bool is_signed = field->kind == JSON_INT32 || field->kind == JSON_INT64;
	uint64_t value;

	if (!read_integer(text, length, is_signed, &value))
		return fail(parse, "has to be a whole number in its range");
	if ((field->kind == JSON_INT32 &&
	     ((int64_t)value > INT32_MAX || (int64_t)value < INT32_MIN)) ||
	    (field->kind == JSON_UINT32 && value > UINT32_MAX))
		return fail(parse, "has to be a whole number of 32 bits");
	return field->kind == JSON_FIXED64 ? put_fixed(parse, field, value)
					   : put_number(parse, field, value);
}

static int put_double(struct json_parse *parse, const struct json_field *field, const char *text,
		      size_t length)
{
	uint64_t bits;
	double value;

	if (!read_double(text, length, &value))
		return fail(parse, "has to be a number");
	memcpy(&bits, &value, sizeof(bits));
	return put_fixed(parse, field, bits);
}

static bool is_hex(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (strings_hex_digit(text[i]) < 0)
			return false;
	return length % 2 == 0;
}

static int put_hex(struct json_parse *parse, const struct json_field *field, const char *text,
		   size_t length)
{
	uint8_t *to;

	if (!put_tag(parse, field, PROTO_BYTES) || !put_varint(parse, length / 2))
		return 0;
	to = take(parse, length / 2);
	for (size_t i = 0; to && i < length / 2; i++)
		to[i] = (uint8_t)(strings_hex_digit(text[2 * i]) << 4 |
				  strings_hex_digit(text[2 * i + 1]));
	return to != NULL;
}

/* Of either alphabet; -1 for another character. */
static int base64_digit(char digit)
{
	if (digit >= 'A' && digit <= 'Z')
		return digit - 'A';
	if (digit >= 'a' && digit <= 'z')
		return digit - 'a' + 26;
	if (digit >= '0' && digit <= '9')
		return digit - '0' + 52;
	if (digit == '+' || digit == '-')
		return 62;
	return digit == '/' || digit == '_' ? 63 : -1;
}

static int put_base64(struct json_parse *parse, const struct json_field *field, const char *text,
		      size_t length)
{
	uint32_t bits = 0;
	size_t size, at = 0;
	uint8_t *to;

	while (length && text[length - 1] == '=')
		length--;
	size = length * 3 / 4;
	if (!put_tag(parse, field, PROTO_BYTES) || !put_varint(parse, size))
		return 0;
	to = take(parse, size);
	for (size_t i = 0; to && i < length; i++) {
		int digit = base64_digit(text[i]);

		if (digit < 0)
			return fail(parse, "has to be base64");
		bits = bits << 6 | (uint32_t)digit;
		// Each digit but the first of four completes a byte.
		if (i % 4)
			to[at++] = (uint8_t)(bits >> (6 - 2 * (i % 4)));
	}
	return to != NULL;
}

/* pdata writes profile ids, too, in hexadecimal digits; other programs as JSON has bytes. */
static int put_id(struct json_parse *parse, const struct json_field *field, const char *text,
		  size_t length)
{
	if (is_hex(text, length) && (length == PROFILE_ID_DIGITS || length == 16 || !length))
		return put_hex(parse, field, text, length);
	return put_base64(parse, field, text, length);
}

/* ---- events ---- */

/* The field whose value has come; NULL when it is to be skipped. False when there cannot be one. */
static bool current_field(struct json_parse *parse, const struct json_field **ret)
{
	struct json_frame *frame;

	*ret = NULL;
	if (parse->skipped)
		return true;
	if (!parse->depth) {
		fail(parse, "it has to be an object");
		return false;
	}
	frame = &parse->frames[parse->depth - 1];
	*ret = frame->field;
	if (frame->field && frame->field->repeated && !frame->in_list) {
		fail(parse, "has to be a list");
		return false;
	}
	return true;
}

static int on_null(void *context)
{
	struct json_parse *parse = context;

	return parse->depth ? 1 : fail(parse, "it has to be an object");
}

static int on_bool(void *context, int value)
{
	struct json_parse *parse = context;
	const struct json_field *field;

	if (!current_field(parse, &field))
		return 0;
	if (!field)
		return 1;
	if (field->kind != JSON_BOOL)
		return fail(parse, "is no boolean");
	return put_number(parse, field, value != 0);
}

static int on_number(void *context, const char *text, size_t length)
{
	struct json_parse *parse = context;
	const struct json_field *field;

	if (!current_field(parse, &field))
		return 0;
	if (!field)
		return 1;
	if (field->kind == JSON_DOUBLE)
		return put_double(parse, field, text, length);
	if (field->kind <= JSON_FIXED64)
		return put_integer(parse, field, text, length);
	return fail(parse, "is no number");
}

static int on_string(void *context, const unsigned char *bytes, size_t length)
{
	struct json_parse *parse = context;
	const char *text = (const char *)bytes;
	const struct json_field *field;

	if (!current_field(parse, &field))
		return 0;
	if (!field)
		return 1;
	switch (field->kind) {
	case JSON_STRING:
		return put_bytes(parse, field, text, length);
	case JSON_BYTES:
		return put_base64(parse, field, text, length);
	case JSON_ID:
		return put_id(parse, field, text, length);
	case JSON_DOUBLE:
		return put_double(parse, field, text, length);
	case JSON_BOOL:
	case JSON_MESSAGE:
		return fail(parse, "is no text");
	default:
		return put_integer(parse, field, text, length);
	}
}

static int on_map(void *context)
{
	struct json_parse *parse = context;
	const struct json_field *field = NULL;
	const struct json_shape *shape = parse->shape;
	size_t begin = 0;

	if (parse->depth && !current_field(parse, &field))
		return 0;
	if (parse->skipped || (parse->depth && !field)) {
		parse->skipped++;
		return 1;
	}
	if (parse->depth == JSON_DEPTH_MAX)
		return fail(parse, "is nested too deep");
	if (field) {
		if (field->kind != JSON_MESSAGE)
			return fail(parse, "is no object");
		shape = field->message;
		if (!begin_length(parse, field, &begin))
			return 0;
	}
	parse->frames[parse->depth++] = (struct json_frame){ .shape = shape, .begin = begin };
	return 1;
}

static int on_key(void *context, const unsigned char *name, size_t length)
{
	struct json_parse *parse = context;
	struct json_frame *frame = &parse->frames[parse->depth - 1];

	if (parse->skipped)
		return 1;
	frame->field = NULL;
	for (size_t i = 0; i < frame->shape->count && !frame->field; i++) {
		const struct json_field *field = &frame->shape->fields[i];

		if (strlen(field->name) == length && !memcmp(field->name, name, length))
			frame->field = field;
	}
	return 1;
}

static int on_map_end(void *context)
{
	struct json_parse *parse = context;
	const struct json_frame *frame;

	if (parse->skipped) {
		parse->skipped--;
		return 1;
	}
	frame = &parse->frames[--parse->depth];
	if (!parse->depth)
		return 1;
	return end_length(parse, frame->begin);
}

static int on_list(void *context)
{
	struct json_parse *parse = context;
	struct json_frame *frame;

	if (!parse->depth)
		return fail(parse, "it has to be an object");
	frame = &parse->frames[parse->depth - 1];
	if (parse->skipped || !frame->field) {
		parse->skipped++;
		return 1;
	}
	if (!frame->field->repeated || frame->in_list)
		return fail(parse, "is no list");
	frame->in_list = true;
	return !is_packed(frame->field) || begin_length(parse, frame->field, &frame->list_begin);
}

static int on_list_end(void *context)
{
	struct json_parse *parse = context;

	struct json_frame *frame;

	if (parse->skipped) {
		parse->skipped--;
		return 1;
	}
	frame = &parse->frames[parse->depth - 1];
	frame->in_list = false;
	return !is_packed(frame->field) || end_length(parse, frame->list_begin);
}

/* ---- all of it ---- */

static struct profcol_error *explain(const struct json_parse *parse)
{
	if (!parse->fault)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "not OTLP/JSON: the text is no JSON, or is cut short");
	if (!parse->fault_name)
		return profcol_error_create(PROFCOL_BAD_DATA, "not OTLP/JSON: %s", parse->fault);
	return profcol_error_create(PROFCOL_BAD_DATA, "not OTLP/JSON: field %s %s",
				    parse->fault_name, parse->fault);
}

static bool parse_text(struct json_parse *parse, const char *text, size_t length)
{
	static const yajl_callbacks callbacks = {
		.yajl_null = on_null,
		.yajl_boolean = on_bool,
		.yajl_number = on_number,
		.yajl_string = on_string,
		.yajl_start_map = on_map,
		.yajl_map_key = on_key,
		.yajl_end_map = on_map_end,
		.yajl_start_array = on_list,
		.yajl_end_array = on_list_end,
	};
	yajl_handle yajl = yajl_alloc(&callbacks, NULL, parse);
	bool sound = yajl &&
		     yajl_parse(yajl, (const unsigned char *)text, length) == yajl_status_ok &&
		     yajl_complete_parse(yajl) == yajl_status_ok;

	if (yajl)
		yajl_free(yajl);
	parse->sound = sound;
	return sound;
}

static struct profcol_error *read_json(const struct json_shape *shape, const char *text,
				       size_t length, struct memory_share *share,
				       uint8_t **bytes_ret, size_t *length_ret)
{
	struct json_parse *parse =
		length < PROTO_MAX_BYTES / MORE_MOST ? calloc(1, sizeof(*parse)) : NULL;
	struct profcol_error *error = NULL;

	if (!parse)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to read OTLP/JSON");
	parse->shape = shape;
	parse->share = share;
	parse->most = MORE_MOST * length + MORE_MOST;
	// Usual requests become shorter.
	if (!grow(parse, length + 1) || (!parse_text(parse, text, length) && parse->no_memory))
		error = profcol_error_create(PROFCOL_NO_MEMORY, "no memory to read OTLP/JSON: %s",
					     share && share->budget ? memory_share_reason(share)
								    : "the process has no more");
	else if (parse->fault || !parse->sound)
		error = explain(parse);
	if (!error) {
		*bytes_ret = TAKE(parse->bytes);
		*length_ret = parse->length;
	}
	free(parse->bytes);
	free(parse);
	return error;
}

struct profcol_error *otlp_from_json(const char *text, size_t length, struct memory_share *share,
				     uint8_t **bytes_ret, size_t *length_ret)
{
	return read_json(&otlp_json_request, text, length, share, bytes_ret, length_ret);
}

struct profcol_error *otlp_response_from_json(const char *text, size_t length, uint8_t **bytes_ret,
					      size_t *length_ret)
{
	return read_json(&otlp_json_response, text, length, NULL, bytes_ret, length_ret);
}

struct profcol_error *otlp_status_from_json(const char *text, size_t length, uint8_t **bytes_ret,
					    size_t *length_ret)
{
	return read_json(&otlp_json_status, text, length, NULL, bytes_ret, length_ret);
}
