// SPDX-License-Identifier: Apache-2.0
#include "value_store.h"

#include "proto/proto.h"

#include <stdlib.h>
#include <string.h>

/* ---- copies ---- */

static bool keep_items(const struct value *value, uint32_t count, struct scratch *scratch,
		       struct value *ret)
{
	struct value *items = scratch_array(scratch, count, sizeof(*items));

	if (!items)
		return false;
	for (uint32_t i = 0; i < count; i++)
		if (!value_keep(&value->items[i], scratch, &items[i]))
			return false;
	ret->items = items;
	return true;
}

bool value_keep(const struct value *value, struct scratch *scratch, struct value *ret)
{
	char *bytes;

	*ret = *value;
	switch (value->type) {
	case VALUE_STRING:
	case VALUE_BYTES:
	case VALUE_ID:
		bytes = scratch_alloc(scratch, value->text.length + 1);
		if (!bytes)
			return false;
		if (value->text.length)
			memcpy(bytes, value->text.bytes, value->text.length);
		ret->text.bytes = bytes;
		return true;
	case VALUE_LIST:
		return keep_items(value, value->count, scratch, ret);
	case VALUE_MAP:
		return keep_items(value, 2 * value->count, scratch, ret);
	default:
		return true;
	}
}

static bool is_storable(const struct value *value, unsigned int depth)
{
	uint32_t count = value->type == VALUE_MAP ? 2 * value->count : value->count;

	switch (value->type) {
	case VALUE_NIL:
	case VALUE_BOOL:
	case VALUE_INT:
	case VALUE_DOUBLE:
	case VALUE_STRING:
	case VALUE_BYTES:
		return true;
	case VALUE_LIST:
	case VALUE_MAP:
		for (uint32_t i = 0; i < count; i++)
			if (!depth || !is_storable(&value->items[i], depth - 1))
				return false;
		return true;
	default:
		return false;
	}
}

bool value_is_storable(const struct value *value)
{
	return is_storable(value, VALUE_STORE_DEPTH_MAX);
}

/* ---- lists and maps in wire form: opentelemetry/proto/common/v1/common.proto ---- */

enum { ANY_STRING = 1, ANY_BOOL, ANY_INT, ANY_DOUBLE, ANY_ARRAY, ANY_PAIRS, ANY_BYTES };

struct encoding {
	struct proto_writer writer;
	const struct value *value;
};

static void put_value(struct proto_writer *writer, const struct value *value);

/* An AnyValue in field @field. */
static void put_member(struct proto_writer *writer, uint32_t field, const struct value *value)
{
	struct proto_message message = proto_begin(writer, field);

	put_value(writer, value);
	proto_end(writer, message);
}

static void put_pairs(struct proto_writer *writer, const struct value *map)
{
	for (uint32_t i = 0; i < map->count; i++) {
		const struct value *pair = &map->items[2 * (size_t)i];
		struct proto_message message = proto_begin(writer, 1);

		proto_put_string(writer, 1, pair[0].text.bytes, pair[0].text.length);
		put_member(writer, 2, &pair[1]);
		proto_end(writer, message);
	}
}

static void put_value(struct proto_writer *writer, const struct value *value)
{
	struct proto_message message;
	uint64_t bits;

	switch (value->type) {
	case VALUE_STRING:
		proto_put_string(writer, ANY_STRING, value->text.bytes, value->text.length);
		break;
	case VALUE_BYTES:
		proto_put_bytes(writer, ANY_BYTES, value->text.bytes, value->text.length);
		break;
	case VALUE_BOOL:
		proto_put_member_uint(writer, ANY_BOOL, value->boolean);
		break;
	case VALUE_INT:
		proto_put_member_uint(writer, ANY_INT, (uint64_t)value->integer);
		break;
	case VALUE_DOUBLE:
		memcpy(&bits, &value->real, sizeof(bits));
		proto_put_member_fixed64(writer, ANY_DOUBLE, bits);
		break;
	case VALUE_LIST:
		message = proto_begin(writer, ANY_ARRAY);
		for (uint32_t i = 0; i < value->count; i++)
			put_member(writer, 1, &value->items[i]);
		proto_end(writer, message);
		break;
	case VALUE_MAP:
		message = proto_begin(writer, ANY_PAIRS);
		put_pairs(writer, value);
		proto_end(writer, message);
		break;
	default:
		break;
	}
}

static void put_encoding(void *context)
{
	struct encoding *encoding = context;

	put_value(&encoding->writer, encoding->value);
}

static bool store_encoded(const struct value *value, struct profcol_builder *builder,
			  struct profcol_value *ret)
{
	struct encoding encoding = { .value = value };
	struct proto_sizes sizes = { 0 };
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length = 0;
	struct profcol_error *error;

	error = proto_encode(&encoding.writer, &sizes, put_encoding, &encoding, "a value", "",
			     &bytes, &length);
	proto_sizes_deinit(&sizes);
	if (error) {
		profcol_error_destroy(error);
		return false;
	}
	ret->type = value->type == VALUE_MAP ? PROFCOL_VALUE_KVLIST : PROFCOL_VALUE_ARRAY;
	ret->blob = profcol_builder_blob(builder, bytes, length);
	return true;
}

bool value_store(const struct value *value, struct profcol_builder *builder,
		 struct profcol_value *ret)
{
	memset(ret, 0, sizeof(*ret));
	switch (value->type) {
	case VALUE_STRING:
		ret->type = PROFCOL_VALUE_STRING;
		ret->string =
			profcol_builder_string(builder, value->text.bytes, value->text.length);
		return true;
	case VALUE_BYTES:
		ret->type = PROFCOL_VALUE_BYTES;
		ret->blob = profcol_builder_blob(builder, value->text.bytes, value->text.length);
		return true;
	case VALUE_BOOL:
		ret->type = PROFCOL_VALUE_BOOL;
		ret->boolean = value->boolean;
		return true;
	case VALUE_INT:
		ret->type = PROFCOL_VALUE_INT;
		ret->integer = value->integer;
		return true;
	case VALUE_DOUBLE:
		ret->type = PROFCOL_VALUE_DOUBLE;
		ret->real = value->real;
		return true;
	case VALUE_LIST:
	case VALUE_MAP:
		return store_encoded(value, builder, ret);
	default:
		return true;
	}
}
