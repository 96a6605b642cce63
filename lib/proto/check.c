// SPDX-License-Identifier: Apache-2.0
#include "proto.h"

#include "base/base.h"

enum wire_type { WIRE_VARINT, WIRE_FIXED64, WIRE_BYTES, WIRE_GROUP, WIRE_GROUP_END, WIRE_FIXED32 };

struct check {
	const uint8_t *begin; /* of the outermost message */
	const struct proto_limits *limits;
	size_t elements; /* left */
	size_t offset;   /* of what is wrong */
};

static const char *check_fail(struct check *check, const uint8_t *at, const char *what)
{
	check->offset = (size_t)(at - check->begin);
	return what;
}

static const struct proto_field_shape *shape_find(const struct proto_shape *shape, uint64_t field)
{
	for (size_t i = 0; i < shape->count; i++)
		if (shape->fields[i].field == field)
			return &shape->fields[i];
	return NULL;
}

/* Items of a packed array: each ends with the one byte that has its top bit clear. */
static const char *check_packed(struct check *check, const uint8_t *bytes, size_t length)
{
	size_t items = 0;

	for (size_t i = 0; i < length; i++)
		items += bytes[i] < 0x80;
	if (length && bytes[length - 1] >= 0x80)
		return check_fail(check, bytes, "a packed array ends inside a number");
	if (items > check->elements)
		return check_fail(check, bytes, "too many elements");
	check->elements -= items;
	return NULL;
}

static const char *check_message(struct check *check, const uint8_t *bytes, size_t length,
				 const struct proto_shape *shape, unsigned int depth);

/* A length-delimited field. */
static const char *check_bytes(struct check *check, struct reader *reader,
			       const struct proto_field_shape *field, unsigned int depth)
{
	const uint8_t *at = reader->at, *bytes;
	uint64_t length = reader_varint(reader);

	bytes = length <= SIZE_MAX ? reader_bytes(reader, (size_t)length) : NULL;
	if (!bytes || reader->failed)
		return check_fail(check, at, "a field reaches past the end");
	if (!field)
		return NULL;
	if (!field->message)
		return check_packed(check, bytes, (size_t)length);
	if (depth + 1 > check->limits->max_depth)
		return check_fail(check, at, "messages are nested too deep");
	return check_message(check, bytes, (size_t)length, field->message, depth + 1);
}

static const char *check_message(struct check *check, const uint8_t *bytes, size_t length,
				 const struct proto_shape *shape, unsigned int depth)
{
	struct reader reader = reader_over(bytes, length);

	while (reader_left(&reader)) {
		const uint8_t *at = reader.at;
		uint64_t tag = reader_varint(&reader);
		const char *wrong = NULL;

		if (reader.failed || tag > UINT32_MAX || !(tag >> 3))
			return check_fail(check, at, "a field has a bad tag");
		if (!check->elements)
			return check_fail(check, at, "too many elements");
		check->elements--;
		switch ((enum wire_type)(tag & 7)) {
		case WIRE_VARINT:
			reader_varint(&reader);
			break;
		case WIRE_FIXED64:
			reader_bytes(&reader, 8);
			break;
		case WIRE_FIXED32:
			reader_bytes(&reader, 4);
			break;
		case WIRE_BYTES:
			wrong = check_bytes(check, &reader, shape_find(shape, tag >> 3), depth);
			break;
		default:
			return check_fail(check, at, "a field has an unknown wire type");
		}
		if (wrong)
			return wrong;
		if (reader.failed)
			return check_fail(check, at,
					  "a field is cut short or a number is too long");
	}
	return NULL;
}

const char *proto_check(const uint8_t *bytes, size_t length, const struct proto_shape *shape,
			const struct proto_limits *limits, size_t *offset_ret)
{
	struct check check = { .begin = bytes, .limits = limits, .elements = limits->max_elements };
	const char *wrong = check_message(&check, bytes, length, shape, 1);

	*offset_ret = check.offset;
	return wrong;
}
