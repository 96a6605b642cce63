// SPDX-License-Identifier: Apache-2.0
#include "any_value.h"

#include "proto/proto.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum any_field {
	ANY_STRING = 1,
	ANY_BOOL,
	ANY_INT,
	ANY_DOUBLE,
	ANY_ARRAY,
	ANY_KVLIST,
	ANY_BYTES,
};

enum { MAX_DEPTH = 32 };

/* One field off the wire; `bytes` for length-delimited ones, else `number`. */
struct field {
	uint64_t tag;
	uint64_t number;
	const char *bytes;
	size_t length;
};

static bool field_next(struct reader *reader, struct field *ret)
{
	if (!reader_left(reader))
		return false;
	*ret = (struct field){ .tag = reader_varint(reader) };
	switch (ret->tag & 7) {
	case PB_WT_VARINT:
		ret->number = reader_varint(reader);
		break;
	case PB_WT_64BIT:
		ret->number = reader_u64(reader);
		break;
	case PB_WT_32BIT:
		ret->number = reader_u32(reader);
		break;
	case PB_WT_STRING:
		ret->length = (size_t)reader_varint(reader);
		ret->bytes = reader_bytes(reader, ret->length);
		break;
	default:
		reader->failed = true;
	}
	return !reader->failed;
}

#define TAG(field, type) ((field) << 3 | (type))

static void any_value_set(struct any_value *value, const struct field *field)
{
	enum { TAG_LIMIT = TAG(ANY_BYTES, PB_WT_STRING) + 1 };
	static const enum profcol_value_type types[TAG_LIMIT] = {
		[TAG(ANY_STRING, PB_WT_STRING)] = PROFCOL_VALUE_STRING,
		[TAG(ANY_BOOL, PB_WT_VARINT)] = PROFCOL_VALUE_BOOL,
		[TAG(ANY_INT, PB_WT_VARINT)] = PROFCOL_VALUE_INT,
		[TAG(ANY_DOUBLE, PB_WT_64BIT)] = PROFCOL_VALUE_DOUBLE,
		[TAG(ANY_ARRAY, PB_WT_STRING)] = PROFCOL_VALUE_ARRAY,
		[TAG(ANY_KVLIST, PB_WT_STRING)] = PROFCOL_VALUE_KVLIST,
		[TAG(ANY_BYTES, PB_WT_STRING)] = PROFCOL_VALUE_BYTES,
	};

	if (field->tag >= TAG_LIMIT || !types[field->tag])
		return;
	*value = (struct any_value){
		.type = types[field->tag],
		.integer = (int64_t)field->number,
		.bytes = field->bytes,
		.length = field->length,
	};
	if (value->type == PROFCOL_VALUE_DOUBLE)
		memcpy(&value->real, &field->number, sizeof(value->real));
}

bool any_value_parse(const void *bytes, size_t length, struct any_value *ret)
{
	struct reader reader = reader_over(bytes, length);
	struct field field;

	*ret = (struct any_value){ 0 };
	while (field_next(&reader, &field))
		any_value_set(ret, &field);
	return !reader.failed;
}

bool any_value_next_item(struct reader *reader, struct any_value *ret)
{
	struct field field;

	while (field_next(reader, &field)) {
		if (field.tag != TAG(1, PB_WT_STRING))
			continue;
		if (any_value_parse(field.bytes, field.length, ret))
			return true;
		reader->failed = true;
	}
	return false;
}

/* A KeyValue. */
static bool pair_parse(const struct field *pair, struct profcol_text *key_ret,
		       struct any_value *ret)
{
	struct reader reader = reader_over(pair->bytes, pair->length);
	struct field field;

	*key_ret = (struct profcol_text){ .bytes = "" };
	*ret = (struct any_value){ 0 };
	while (field_next(&reader, &field)) {
		if (field.tag == TAG(1, PB_WT_STRING))
			*key_ret = (struct profcol_text){ field.bytes, field.length };
		else if (field.tag == TAG(2, PB_WT_STRING) &&
			 !any_value_parse(field.bytes, field.length, ret))
			return false;
	}
	return !reader.failed;
}

bool any_value_next_pair(struct reader *reader, struct profcol_text *key_ret, struct any_value *ret)
{
	struct field field;

	while (field_next(reader, &field)) {
		if (field.tag != TAG(1, PB_WT_STRING))
			continue;
		if (pair_parse(&field, key_ret, ret))
			return true;
		reader->failed = true;
	}
	return false;
}

void any_value_print_hex(const void *bytes, size_t length, FILE *stream)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < length; i++)
		fprintf(stream, "%02x", at[i]);
}

void any_value_print_double(double value, FILE *stream)
{
	char text[40];

	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, value);
		if (strtod(text, NULL) == value)
			break;
	}
	fputs(text, stream);
}

static void print_string(const char *bytes, size_t length, FILE *stream)
{
	fputc('"', stream);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte == '"' || byte == '\\')
			fprintf(stream, "\\%c", byte);
		else if (byte < 0x20)
			fprintf(stream, "\\u%04x", byte);
		else
			fputc(byte, stream);
	}
	fputc('"', stream);
}

static bool print_nested(const struct any_value *value, FILE *stream, unsigned int depth);

static bool print_array(const struct any_value *value, FILE *stream, unsigned int depth)
{
	struct reader reader = reader_over(value->bytes, value->length);
	const char *separator = "[";
	struct any_value item;

	while (any_value_next_item(&reader, &item)) {
		fputs(separator, stream);
		separator = ",";
		if (!print_nested(&item, stream, depth + 1))
			return false;
	}
	fputs(*separator == '[' ? "[]" : "]", stream);
	return !reader.failed;
}

static bool print_pairs(const struct any_value *value, FILE *stream, unsigned int depth)
{
	struct reader reader = reader_over(value->bytes, value->length);
	const char *separator = "{";
	struct profcol_text key;
	struct any_value item;

	while (any_value_next_pair(&reader, &key, &item)) {
		fputs(separator, stream);
		separator = ",";
		print_string(key.bytes, key.length, stream);
		fputc(':', stream);
		if (!print_nested(&item, stream, depth + 1))
			return false;
	}
	fputs(*separator == '{' ? "{}" : "}", stream);
	return !reader.failed;
}

static bool print_nested(const struct any_value *value, FILE *stream, unsigned int depth)
{
	bool quoted;

	switch (value->type) {
	case PROFCOL_VALUE_STRING:
		print_string(value->bytes, value->length, stream);
		return true;
	case PROFCOL_VALUE_BOOL:
		fputs(value->integer ? "true" : "false", stream);
		return true;
	case PROFCOL_VALUE_INT:
		fprintf(stream, "%" PRId64, value->integer);
		return true;
	case PROFCOL_VALUE_DOUBLE:
		quoted = !isfinite(value->real);
		fputs(quoted ? "\"" : "", stream);
		any_value_print_double(value->real, stream);
		fputs(quoted ? "\"" : "", stream);
		return true;
	case PROFCOL_VALUE_BYTES:
		fputc('"', stream);
		any_value_print_hex(value->bytes, value->length, stream);
		fputc('"', stream);
		return true;
	case PROFCOL_VALUE_ARRAY:
		return depth <= MAX_DEPTH && print_array(value, stream, depth);
	case PROFCOL_VALUE_KVLIST:
		return depth <= MAX_DEPTH && print_pairs(value, stream, depth);
	case PROFCOL_VALUE_EMPTY:
		break;
	}
	fputs("null", stream);
	return true;
}

bool any_value_print(const struct any_value *value, FILE *stream)
{
	return print_nested(value, stream, 1);
}

static bool text_is(const struct profcol_text *text, const char *wanted)
{
	return text->length == strlen(wanted) && memcmp(text->bytes, wanted, text->length) == 0;
}

bool any_item_parse(const struct any_value *value, struct any_item *ret)
{
	struct reader reader = reader_over(value->bytes, value->length);
	struct any_value number, unit, more;
	struct profcol_text key;

	*ret = (struct any_item){ .bytes = value->bytes, .length = value->length };
	if (value->type == PROFCOL_VALUE_STRING)
		return true;
	*ret = (struct any_item){ .number = value->integer };
	if (value->type == PROFCOL_VALUE_INT)
		return true;
	if (value->type != PROFCOL_VALUE_KVLIST)
		return false;
	if (!any_value_next_pair(&reader, &key, &number) || !text_is(&key, "value") ||
	    number.type != PROFCOL_VALUE_INT || !any_value_next_pair(&reader, &key, &unit) ||
	    !text_is(&key, "unit") || unit.type != PROFCOL_VALUE_STRING ||
	    any_value_next_pair(&reader, &key, &more) || reader.failed)
		return false;
	*ret = (struct any_item){
		.number = number.integer,
		.unit = unit.bytes,
		.unit_length = unit.length,
	};
	return true;
}

static void put_pair(struct proto_writer *writer, const char *key, const struct any_item *item)
{
	struct proto_message pair = proto_begin(writer, 1), value;

	proto_put_bytes(writer, 1, key, strlen(key));
	value = proto_begin(writer, 2);
	if (item->bytes)
		proto_put_bytes(writer, ANY_STRING, item->bytes, item->length);
	else
		proto_put_member_uint(writer, ANY_INT, (uint64_t)item->number);
	proto_end(writer, value);
	proto_end(writer, pair);
}

static void put_item(struct proto_writer *writer, const struct any_item *item)
{
	struct proto_message value = proto_begin(writer, 1), list;

	if (item->bytes) {
		proto_put_bytes(writer, ANY_STRING, item->bytes, item->length);
	} else if (!item->unit) {
		proto_put_member_uint(writer, ANY_INT, (uint64_t)item->number);
	} else {
		list = proto_begin(writer, ANY_KVLIST);
		put_pair(writer, "value", &(struct any_item){ .number = item->number });
		put_pair(writer, "unit",
			 &(struct any_item){ .bytes = item->unit, .length = item->unit_length });
		proto_end(writer, list);
	}
	proto_end(writer, value);
}

static void put_array(struct proto_writer *writer, const struct any_item *items, size_t count)
{
	struct proto_message array = proto_begin(writer, ANY_ARRAY);

	for (size_t i = 0; i < count; i++)
		put_item(writer, &items[i]);
	proto_end(writer, array);
}

uint8_t *any_array_encode(const struct any_item *items, size_t count, struct budget *budget,
			  size_t *length_ret)
{
	CLEANUP(proto_sizes_deinit) struct proto_sizes sizes = { 0 };
	struct proto_writer writer = proto_writer_measuring(&sizes);
	uint8_t *bytes = NULL;

	put_array(&writer, items, count);
	*length_ret = proto_writer_length(&writer);
	if (!writer.failed && *length_ret <= PROTO_MAX_BYTES)
		bytes = budget_alloc(budget, *length_ret + 1);
	if (!bytes)
		return NULL;
	writer = proto_writer_writing(&sizes, bytes, *length_ret);
	put_array(&writer, items, count);
	return proto_writer_is_complete(&writer, *length_ret) ? bytes : NULL;
}
