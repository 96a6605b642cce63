// SPDX-License-Identifier: Apache-2.0
/*
 * AnyValue and KeyValue: opentelemetry/proto/common/v1/common.proto.
 *
 * Arrays and lists of pairs stay in wire form, but not as they came: written anew with text
 * inline, without unknown fields, so that they mean the same in every message.
 */
#include "decoder.h"

#include <string.h>

enum any_member {
	ANY_NONE,
	ANY_STRING,
	ANY_BOOL,
	ANY_INT,
	ANY_DOUBLE,
	ANY_ARRAY,
	ANY_PAIRS,
	ANY_BYTES,
	ANY_REFERENCE,
};

enum { MAX_DEPTH = 64 };

static const struct otlp_shape any_shape = {
	.name = "AnyValue",
	.wires = {
		[ANY_STRING] = AS_BYTES,
		[ANY_BOOL] = AS_NUMBER,
		[ANY_INT] = AS_NUMBER,
		[ANY_DOUBLE] = AS_FIXED64,
		[ANY_ARRAY] = AS_BYTES,
		[ANY_PAIRS] = AS_BYTES,
		[ANY_BYTES] = AS_BYTES,
		[ANY_REFERENCE] = AS_NUMBER,
	},
};
static const struct otlp_shape array_shape = { "ArrayValue", { [1] = AS_BYTES } };
static const struct otlp_shape pairs_shape = { "KeyValueList", { [1] = AS_BYTES } };
static const struct otlp_shape pair_shape = {
	.name = "KeyValue",
	.wires = { [1] = AS_BYTES, [2] = AS_BYTES, [3] = AS_NUMBER },
};

/* A KeyValue as it is on the wire. */
struct pair {
	struct reader key;
	uint64_t key_index; /* 0 = the key is inline */
	struct otlp_any value;
};

struct profcol_error *otlp_any_read(struct otlp_decoder *decoder, struct reader bytes,
				    struct otlp_any *any)
{
	struct proto_field field;

	while (otlp_next(decoder, &bytes, &any_shape, &field))
		*any = (struct otlp_any){ field.number, field.value, field.bytes };
	return otlp_end(decoder, &bytes);
}

static struct profcol_error *pair_read(struct otlp_decoder *decoder, struct reader bytes,
				       struct pair *ret)
{
	struct profcol_error *error = NULL;
	struct proto_field field;

	*ret = (struct pair){ .key = reader_over(bytes.at, 0) };
	while (!error && otlp_next(decoder, &bytes, &pair_shape, &field)) {
		if (field.number == 1)
			ret->key = field.bytes;
		else if (field.number == 2)
			error = otlp_any_read(decoder, field.bytes, &ret->value);
		else
			ret->key_index = field.value;
	}
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error && reader_left(&ret->key) && ret->key_index)
		error = profcol_error_create(PROFCOL_BAD_DATA,
					     "an attribute has both a key and a key_strindex");
	return error;
}

/* ---- trees, written anew ---- */

static struct profcol_error *put_any(struct otlp_decoder *decoder, struct proto_writer *writer,
				     const struct otlp_any *any, unsigned int depth);

/* Text by index into @field. */
static struct profcol_error *put_reference(struct otlp_decoder *decoder,
					   struct proto_writer *writer, uint32_t field,
					   const char *what, uint64_t index)
{
	struct profcol_text text;
	uint32_t id = 0;
	struct profcol_error *error = otlp_id(decoder, OTLP_STRINGS, what, index, &id);

	if (error)
		return error;
	text = profcol_batch_string(profcol_builder_peek(decoder->builder), id);
	proto_put_string(writer, field, text.bytes, text.length);
	return NULL;
}

static struct profcol_error *put_item(struct otlp_decoder *decoder, struct proto_writer *writer,
				      struct reader bytes, unsigned int depth)
{
	struct otlp_any any = { 0 };
	struct profcol_error *error = otlp_any_read(decoder, bytes, &any);
	struct proto_message message;

	if (error)
		return error;
	message = proto_begin(writer, 1);
	error = put_any(decoder, writer, &any, depth);
	proto_end(writer, message);
	return error;
}

static struct profcol_error *put_pair(struct otlp_decoder *decoder, struct proto_writer *writer,
				      struct reader bytes, unsigned int depth)
{
	struct proto_message message, value;
	struct pair pair;
	struct profcol_error *error = pair_read(decoder, bytes, &pair);

	if (error)
		return error;
	message = proto_begin(writer, 1);
	if (pair.key_index)
		error = put_reference(decoder, writer, 1, "key", pair.key_index);
	else if (reader_left(&pair.key))
		proto_put_string(writer, 1, (const char *)pair.key.at, reader_left(&pair.key));
	value = proto_begin(writer, 2);
	if (!error)
		error = put_any(decoder, writer, &pair.value, depth);
	proto_end(writer, value);
	proto_end(writer, message);
	return error;
}

/* The inside of an array or a list of pairs. */
static struct profcol_error *put_items(struct otlp_decoder *decoder, struct proto_writer *writer,
				       const struct otlp_any *any, unsigned int depth)
{
	bool is_array = any->member == ANY_ARRAY;
	struct proto_message message = proto_begin(writer, any->member);
	struct reader items = any->bytes;
	struct profcol_error *error = NULL;
	struct proto_field field;

	if (depth > MAX_DEPTH)
		error = profcol_error_create(PROFCOL_BAD_DATA, "a value is nested deeper than %d",
					     MAX_DEPTH);
	while (!error && otlp_next(decoder, &items, is_array ? &array_shape : &pairs_shape, &field))
		error = is_array ? put_item(decoder, writer, field.bytes, depth + 1)
				 : put_pair(decoder, writer, field.bytes, depth + 1);
	proto_end(writer, message);
	return error ? error : otlp_end(decoder, &items);
}

/* The member of an AnyValue. */
static struct profcol_error *put_any(struct otlp_decoder *decoder, struct proto_writer *writer,
				     const struct otlp_any *any, unsigned int depth)
{
	switch ((enum any_member)any->member) {
	case ANY_NONE:
		break;
	case ANY_STRING:
		proto_put_string(writer, ANY_STRING, (const char *)any->bytes.at,
				 reader_left(&any->bytes));
		break;
	case ANY_BOOL:
		proto_put_member_uint(writer, ANY_BOOL, any->number != 0);
		break;
	case ANY_INT:
		proto_put_member_uint(writer, ANY_INT, any->number);
		break;
	case ANY_DOUBLE:
		proto_put_member_fixed64(writer, ANY_DOUBLE, any->number);
		break;
	case ANY_ARRAY:
	case ANY_PAIRS:
		return put_items(decoder, writer, any, depth);
	case ANY_BYTES:
		proto_put_bytes(writer, ANY_BYTES, any->bytes.at, reader_left(&any->bytes));
		break;
	case ANY_REFERENCE:
		return put_reference(decoder, writer, ANY_STRING, "string value", any->number);
	}
	return NULL;
}

/* An array or a list of pairs as a blob. */
static struct profcol_error *tree_value(struct otlp_decoder *decoder, const struct otlp_any *any,
					uint32_t *ret)
{
	struct proto_writer writer = proto_writer_measuring(&decoder->sizes);
	struct profcol_error *error = put_any(decoder, &writer, any, 1);
	size_t length = proto_writer_length(&writer);

	if (error)
		return error;
	decoder->text.count = 0;
	error = OTLP_RESERVE(decoder, &decoder->text, length + 1);
	if (!error && writer.failed)
		error = otlp_no_memory();
	if (!error && length > PROTO_MAX_BYTES)
		error = profcol_error_create(
			PROFCOL_BAD_DATA, "a value takes %zu bytes with its text inline", length);
	if (error)
		return error;
	writer = proto_writer_writing(&decoder->sizes, (uint8_t *)decoder->text.items, length);
	error = put_any(decoder, &writer, any, 1);
	return error ? error : otlp_blob(decoder, decoder->text.items, length, ret);
}

/* ---- into the batch ---- */

struct profcol_error *otlp_any_value(struct otlp_decoder *decoder, const struct otlp_any *any,
				     struct profcol_value *ret)
{
	*ret = (struct profcol_value){ .type = PROFCOL_VALUE_EMPTY };
	switch ((enum any_member)any->member) {
	case ANY_NONE:
		break;
	case ANY_STRING:
		ret->type = PROFCOL_VALUE_STRING;
		return otlp_string(decoder, any->bytes, &ret->string);
	case ANY_BOOL:
		ret->type = PROFCOL_VALUE_BOOL;
		ret->boolean = any->number != 0;
		break;
	case ANY_INT:
		ret->type = PROFCOL_VALUE_INT;
		ret->integer = (int64_t)any->number;
		break;
	case ANY_DOUBLE:
		ret->type = PROFCOL_VALUE_DOUBLE;
		memcpy(&ret->real, &any->number, sizeof(ret->real));
		break;
	case ANY_ARRAY:
		ret->type = PROFCOL_VALUE_ARRAY;
		return tree_value(decoder, any, &ret->blob);
	case ANY_PAIRS:
		ret->type = PROFCOL_VALUE_KVLIST;
		return tree_value(decoder, any, &ret->blob);
	case ANY_BYTES:
		ret->type = PROFCOL_VALUE_BYTES;
		return otlp_blob(decoder, any->bytes.at, reader_left(&any->bytes), &ret->blob);
	case ANY_REFERENCE:
		ret->type = PROFCOL_VALUE_STRING;
		return otlp_id(decoder, OTLP_STRINGS, "string value", any->number, &ret->string);
	}
	return NULL;
}

struct profcol_error *otlp_key_value(struct otlp_decoder *decoder, struct reader bytes)
{
	struct profcol_attribute attribute = { 0 };
	struct pair pair;
	struct profcol_error *error = pair_read(decoder, bytes, &pair);

	if (!error)
		error = pair.key_index ? otlp_id(decoder, OTLP_STRINGS, "key", pair.key_index,
						 &attribute.key)
				       : otlp_string(decoder, pair.key, &attribute.key);
	if (!error)
		error = otlp_any_value(decoder, &pair.value, &attribute.value);
	if (!error)
		error = otlp_charge(decoder, sizeof(attribute) + sizeof(uint32_t));
	if (!error)
		error = OTLP_RESERVE(decoder, &decoder->list, 1);
	if (!error)
		decoder->list.items[decoder->list.count++] =
			profcol_builder_attribute(decoder->builder, &attribute);
	return error;
}
