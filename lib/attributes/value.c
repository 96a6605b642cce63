// SPDX-License-Identifier: Apache-2.0
#include "value.h"

#include "double_text.h"

#include "base/base.h"
#include "proto/proto.h"

#include <errno.h>
#include <inttypes.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Fields of AnyValue: opentelemetry/proto/common/v1/common.proto. */
enum any_field { ANY_STRING = 1, ANY_BOOL, ANY_INT, ANY_DOUBLE, ANY_ARRAY, ANY_PAIRS };

/* ---- lists and maps of a configuration, in wire form ---- */

struct any_encoding {
	struct proto_writer writer;
	const struct profcol_any *any;
};

static void put_any(struct proto_writer *writer, const struct profcol_any *any);

static void put_items(struct proto_writer *writer, const struct profcol_any *any)
{
	for (size_t i = 0; i < any->count; i++) {
		struct proto_message item = proto_begin(writer, 1);

		if (any->type == PROFCOL_ANY_MAP) {
			struct proto_message value;

			proto_put_string(writer, 1, any->keys[i], strlen(any->keys[i]));
			value = proto_begin(writer, 2);
			put_any(writer, &any->items[i]);
			proto_end(writer, value);
		} else {
			put_any(writer, &any->items[i]);
		}
		proto_end(writer, item);
	}
}

static void put_any(struct proto_writer *writer, const struct profcol_any *any)
{
	struct proto_message message;
	uint64_t bits;

	switch (any->type) {
	case PROFCOL_ANY_NONE:
		break;
	case PROFCOL_ANY_TEXT:
		proto_put_string(writer, ANY_STRING, any->text, strlen(any->text));
		break;
	case PROFCOL_ANY_BOOL:
		proto_put_member_uint(writer, ANY_BOOL, any->boolean);
		break;
	case PROFCOL_ANY_INT:
		proto_put_member_uint(writer, ANY_INT, (uint64_t)any->integer);
		break;
	case PROFCOL_ANY_DOUBLE:
		memcpy(&bits, &any->real, sizeof(bits));
		proto_put_member_fixed64(writer, ANY_DOUBLE, bits);
		break;
	case PROFCOL_ANY_LIST:
	case PROFCOL_ANY_MAP:
		message = proto_begin(writer, any->type == PROFCOL_ANY_MAP ? ANY_PAIRS : ANY_ARRAY);
		put_items(writer, any);
		proto_end(writer, message);
		break;
	}
}

static void put_encoding(void *context)
{
	struct any_encoding *encoding = context;

	put_any(&encoding->writer, encoding->any);
}

static int encode(struct constant *constant, const struct profcol_any *any)
{
	struct any_encoding encoding = { .any = any };
	struct proto_sizes sizes = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	uint8_t *bytes = NULL;

	error = proto_encode(&encoding.writer, &sizes, put_encoding, &encoding, "a value", "",
			     &bytes, &constant->length);
	proto_sizes_deinit(&sizes);
	constant->bytes = (char *)bytes;
	return error ? -ENOMEM : 0;
}

/* ---- constants ---- */

int constant_init(struct constant *constant, const struct profcol_any *any)
{
	*constant = (struct constant){ 0 };
	switch (any->type) {
	case PROFCOL_ANY_NONE:
		break;
	case PROFCOL_ANY_TEXT:
		constant->type = PROFCOL_VALUE_STRING;
		constant->length = strlen(any->text);
		constant->bytes = strdup(any->text);
		return constant->bytes ? 0 : -ENOMEM;
	case PROFCOL_ANY_BOOL:
		constant->type = PROFCOL_VALUE_BOOL;
		constant->boolean = any->boolean;
		break;
	case PROFCOL_ANY_INT:
		constant->type = PROFCOL_VALUE_INT;
		constant->integer = any->integer;
		break;
	case PROFCOL_ANY_DOUBLE:
		constant->type = PROFCOL_VALUE_DOUBLE;
		constant->real = any->real;
		break;
	case PROFCOL_ANY_LIST:
		constant->type = PROFCOL_VALUE_ARRAY;
		return encode(constant, any);
	case PROFCOL_ANY_MAP:
		constant->type = PROFCOL_VALUE_KVLIST;
		return encode(constant, any);
	}
	return 0;
}

void constant_deinit(struct constant *constant)
{
	free(constant->bytes);
	constant->bytes = NULL;
}

struct profcol_value constant_put(const struct constant *constant, struct profcol_builder *builder)
{
	struct profcol_value value = { .type = constant->type };

	switch (constant->type) {
	case PROFCOL_VALUE_EMPTY:
	case PROFCOL_VALUE_BYTES:
		break;
	case PROFCOL_VALUE_STRING:
		value.string = profcol_builder_string(builder, constant->bytes, constant->length);
		break;
	case PROFCOL_VALUE_BOOL:
		value.boolean = constant->boolean;
		break;
	case PROFCOL_VALUE_INT:
		value.integer = constant->integer;
		break;
	case PROFCOL_VALUE_DOUBLE:
		value.real = constant->real;
		break;
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		value.blob = profcol_builder_blob(builder, constant->bytes, constant->length);
		break;
	}
	return value;
}

static bool text_is(struct profcol_text text, const struct constant *constant)
{
	return text.length == constant->length && !memcmp(text.bytes, constant->bytes, text.length);
}

bool constant_equals(const struct constant *constant, const struct profcol_batch *batch,
		     const struct profcol_value *value)
{
	if (constant->type != value->type)
		return false;
	switch (value->type) {
	case PROFCOL_VALUE_EMPTY:
		return true;
	case PROFCOL_VALUE_STRING:
		return text_is(profcol_batch_string(batch, value->string), constant);
	case PROFCOL_VALUE_BOOL:
		return constant->boolean == value->boolean;
	case PROFCOL_VALUE_INT:
		return constant->integer == value->integer;
	case PROFCOL_VALUE_DOUBLE:
		return constant->real == value->real;
	case PROFCOL_VALUE_BYTES:
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		return text_is(profcol_batch_blob(batch, value->blob), constant);
	}
	return false;
}

static bool same_bits(double left, double right)
{
	uint64_t left_bits, right_bits;

	memcpy(&left_bits, &left, sizeof(left));
	memcpy(&right_bits, &right, sizeof(right));
	return left_bits == right_bits;
}

bool value_equals(const struct profcol_value *left, const struct profcol_value *right)
{
	if (left->type != right->type)
		return false;
	switch (left->type) {
	case PROFCOL_VALUE_EMPTY:
		return true;
	case PROFCOL_VALUE_STRING:
		return left->string == right->string;
	case PROFCOL_VALUE_BOOL:
		return left->boolean == right->boolean;
	case PROFCOL_VALUE_INT:
		return left->integer == right->integer;
	case PROFCOL_VALUE_DOUBLE:
		return same_bits(left->real, right->real);
	case PROFCOL_VALUE_BYTES:
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		return left->blob == right->blob;
	}
	return false;
}

/* ---- texts ---- */

bool attributes_value_text(const struct profcol_batch *batch, const struct profcol_value *value,
			   char space[ATTRIBUTES_DOUBLE_MAX], struct profcol_text *ret)
{
	switch (value->type) {
	case PROFCOL_VALUE_STRING:
		*ret = profcol_batch_string(batch, value->string);
		return true;
	case PROFCOL_VALUE_BOOL:
		snprintf(space, ATTRIBUTES_DOUBLE_MAX, "%s", value->boolean ? "true" : "false");
		break;
	case PROFCOL_VALUE_INT:
		snprintf(space, ATTRIBUTES_DOUBLE_MAX, "%" PRId64, value->integer);
		break;
	case PROFCOL_VALUE_DOUBLE:
		double_text_plain(value->real, space);
		break;
	default:
		return false;
	}
	*ret = (struct profcol_text){ space, strlen(space) };
	return true;
}

/* ---- hashes ---- */

struct profcol_value value_hash(struct profcol_builder *builder, const struct profcol_value *value)
{
	struct profcol_value hashed = { .type = PROFCOL_VALUE_STRING };
	const void *bytes = &value->integer;
	uint8_t digest[SHA256_DIGEST_SIZE];
	char text[2 * sizeof(digest) + 1];
	size_t length = sizeof(value->integer);
	struct sha256_ctx sha256;
	struct profcol_text string;
	uint8_t boolean = value->type == PROFCOL_VALUE_BOOL && value->boolean;

	switch (value->type) {
	case PROFCOL_VALUE_STRING:
		string = profcol_batch_string(profcol_builder_peek(builder), value->string);
		bytes = string.bytes;
		length = string.length;
		break;
	case PROFCOL_VALUE_BOOL:
		bytes = &boolean;
		length = 1;
		break;
	case PROFCOL_VALUE_INT:
	case PROFCOL_VALUE_DOUBLE: // both 8 bytes, in the order of little-endian machines
		break;
	default:
		return hashed;
	}
	sha256_init(&sha256);
	sha256_update(&sha256, length, bytes);
	sha256_digest(&sha256, sizeof(digest), digest);
	strings_hex(text, digest, sizeof(digest));
	hashed.string = profcol_builder_string(builder, text, strlen(text));
	return hashed;
}

/* ---- conversions ---- */

static struct profcol_value put_text(struct profcol_builder *builder, const char *text)
{
	return (struct profcol_value){
		.type = PROFCOL_VALUE_STRING,
		.string = profcol_builder_cstring(builder, text),
	};
}

static struct profcol_value to_string(struct profcol_builder *builder,
				      const struct profcol_value *value)
{
	char space[ATTRIBUTES_DOUBLE_MAX];
	struct profcol_text text;

	switch (value->type) {
	case PROFCOL_VALUE_EMPTY:
		return put_text(builder, "");
	case PROFCOL_VALUE_DOUBLE:
		double_text_short(value->real, space);
		return put_text(builder, space);
	case PROFCOL_VALUE_BOOL:
	case PROFCOL_VALUE_INT:
		attributes_value_text(NULL, value, space, &text);
		return put_text(builder, space);
	case PROFCOL_VALUE_BYTES: {
		struct profcol_text blob =
			profcol_batch_blob(profcol_builder_peek(builder), value->blob);
		CLEANUP_FREE char *encoded = malloc(STRINGS_BASE64_SIZE(blob.length));

		if (!encoded)
			return *value;
		strings_base64(encoded, blob.bytes, blob.length);
		return put_text(builder, encoded);
	}
	default:
		return *value;
	}
}

static struct profcol_value to_int(struct profcol_builder *builder,
				   const struct profcol_value *value)
{
	struct profcol_value converted = { .type = PROFCOL_VALUE_INT };
	struct profcol_text text;

	switch (value->type) {
	case PROFCOL_VALUE_DOUBLE:
		converted.integer = number_truncate(value->real);
		return converted;
	case PROFCOL_VALUE_BOOL:
		converted.integer = value->boolean;
		return converted;
	case PROFCOL_VALUE_STRING:
		text = profcol_batch_string(profcol_builder_peek(builder), value->string);
		return number_parse_int(text.bytes, text.length, &converted.integer) ? converted
										     : *value;
	default:
		return *value;
	}
}

static struct profcol_value to_double(struct profcol_builder *builder,
				      const struct profcol_value *value)
{
	struct profcol_value converted = { .type = PROFCOL_VALUE_DOUBLE };
	struct profcol_text text;

	switch (value->type) {
	case PROFCOL_VALUE_INT:
		converted.real = (double)value->integer;
		return converted;
	case PROFCOL_VALUE_BOOL:
		converted.real = value->boolean;
		return converted;
	case PROFCOL_VALUE_STRING:
		text = profcol_batch_string(profcol_builder_peek(builder), value->string);
		return number_parse_double(text.bytes, text.length, &converted.real) ? converted
										     : *value;
	default:
		return *value;
	}
}

struct profcol_value value_convert(struct profcol_builder *builder,
				   const struct profcol_value *value, enum value_conversion to)
{
	switch (to) {
	case VALUE_TO_STRING:
		return to_string(builder, value);
	case VALUE_TO_INT:
		return to_int(builder, value);
	case VALUE_TO_DOUBLE:
		break;
	}
	return to_double(builder, value);
}
