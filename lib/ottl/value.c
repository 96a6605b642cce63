// SPDX-License-Identifier: Apache-2.0
#include "value.h"

#include "ottl.h"

#include "base/base.h"
#include "proto/proto.h"

#include <stdlib.h>
#include <string.h>

enum { WIRE_DEPTH_MAX = 64, MEMBERS = 7 };

const char *value_type_name(enum value_type type)
{
	static const char *const names[] = {
		[VALUE_NIL] = "nil",         [VALUE_BOOL] = "bool",
		[VALUE_INT] = "int64",       [VALUE_DOUBLE] = "float64",
		[VALUE_STRING] = "string",   [VALUE_BYTES] = "bytes",
		[VALUE_LIST] = "list",       [VALUE_MAP] = "map",
		[VALUE_TIME] = "time",       [VALUE_ID] = "profile id",
		[VALUE_MESSAGE] = "message", [VALUE_DURATION] = "duration",
	};

	return names[type];
}

/* ---- comparison ---- */

int text_compare(struct profcol_text left, struct profcol_text right)
{
	return strings_compare(left.bytes, left.length, right.bytes, right.length);
}

static bool text_equal(struct profcol_text left, struct profcol_text right)
{
	return left.length == right.length && !text_compare(left, right);
}

static int compare_pairs(const void *left, const void *right)
{
	const struct value *first = left, *second = right;
	int order = text_compare(first->text, second->text);

	return order ? order : (first->count > second->count) - (first->count < second->count);
}

void value_sort_pairs(struct value *items, uint32_t count)
{
	// Of several with one key, the first remains the one that is found.
	for (uint32_t i = 0; i < count; i++)
		items[2 * (size_t)i].count = i;
	qsort(items, count, 2 * sizeof(*items), compare_pairs);
}

const struct value *value_find(const struct value *map, struct profcol_text key)
{
	uint32_t begin = 0, end = map->count;

	while (begin < end) {
		uint32_t middle = begin + (end - begin) / 2;

		if (text_compare(map->items[2 * (size_t)middle].text, key) < 0)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin < map->count && text_equal(map->items[2 * (size_t)begin].text, key)
		       ? &map->items[2 * (size_t)begin + 1]
		       : NULL;
}

/* Inside lists and maps, where 1 and 1.0 differ. */
static bool value_equal(const struct value *left, const struct value *right);

static bool lists_equal(const struct value *left, const struct value *right)
{
	if (left->count != right->count)
		return false;
	for (uint32_t i = 0; i < left->count; i++)
		if (!value_equal(&left->items[i], &right->items[i]))
			return false;
	return true;
}

static bool maps_equal(const struct value *left, const struct value *right)
{
	if (left->count != right->count)
		return false;
	for (uint32_t i = 0; i < left->count; i++) {
		const struct value *found = value_find(right, left->items[2 * (size_t)i].text);

		if (!found || !value_equal(&left->items[2 * (size_t)i + 1], found))
			return false;
	}
	return true;
}

static bool value_equal(const struct value *left, const struct value *right)
{
	if (left->type != right->type)
		return false;
	switch (left->type) {
	case VALUE_NIL:
		return true;
	case VALUE_BOOL:
		return left->boolean == right->boolean;
	case VALUE_DOUBLE:
		return left->real == right->real;
	case VALUE_STRING:
	case VALUE_BYTES:
	case VALUE_ID:
		return text_equal(left->text, right->text);
	case VALUE_LIST:
		return lists_equal(left, right);
	case VALUE_MAP:
		return maps_equal(left, right);
	case VALUE_INT:
	case VALUE_TIME:
	case VALUE_MESSAGE:
	case VALUE_DURATION:
		return left->integer == right->integer;
	}
	return false;
}

static bool order_satisfies(int order, enum compare_operator op)
{
	switch (op) {
	case COMPARE_EQUAL:
		return order == 0;
	case COMPARE_NOT_EQUAL:
		return order != 0;
	case COMPARE_LESS:
		return order < 0;
	case COMPARE_LESS_EQUAL:
		return order <= 0;
	case COMPARE_GREATER_EQUAL:
		return order >= 0;
	case COMPARE_GREATER:
		return order > 0;
	}
	return false;
}

static bool is_number(const struct value *value)
{
	return value->type == VALUE_INT || value->type == VALUE_DOUBLE;
}

static double as_double(const struct value *value)
{
	return value->type == VALUE_INT ? (double)value->integer : value->real;
}

/* Not by an order: what is not a number has none. */
static bool doubles_compare(double left, double right, enum compare_operator op)
{
	switch (op) {
	case COMPARE_EQUAL:
		return left == right;
	case COMPARE_NOT_EQUAL:
		return left != right;
	case COMPARE_LESS:
		return left < right;
	case COMPARE_LESS_EQUAL:
		return left <= right;
	case COMPARE_GREATER_EQUAL:
		return left >= right;
	case COMPARE_GREATER:
		return left > right;
	}
	return false;
}

/* Bytes of which there are none are nothing, as in the Collector. */
static bool is_nothing(const struct value *value)
{
	return value->type == VALUE_NIL || (value->type == VALUE_BYTES && !value->text.length);
}

bool value_compare(const struct value *left, const struct value *right, enum compare_operator op)
{
	bool equal;

	if (is_nothing(left) && is_nothing(right))
		return order_satisfies(0, op);

	if (is_number(left) && is_number(right) &&
	    (left->type == VALUE_DOUBLE || right->type == VALUE_DOUBLE))
		return doubles_compare(as_double(left), as_double(right), op);
	if (left->type != right->type)
		return op == COMPARE_NOT_EQUAL;
	switch (left->type) {
	case VALUE_NIL:
		return order_satisfies(0, op);
	case VALUE_BOOL:
		return order_satisfies(left->boolean - right->boolean, op);
	case VALUE_STRING:
	case VALUE_BYTES:
		return order_satisfies(text_compare(left->text, right->text), op);
	case VALUE_INT:
	case VALUE_TIME:
	case VALUE_DURATION:
		return order_satisfies(
			(left->integer > right->integer) - (left->integer < right->integer), op);
	default:
		equal = value_equal(left, right);
		return (op == COMPARE_EQUAL && equal) || (op == COMPARE_NOT_EQUAL && !equal);
	}
}

/* ---- attributes ---- */

/* One AnyValue of opentelemetry/proto/common/v1/common.proto: the last of its members. */
static bool value_of_wire(struct reader reader, unsigned int depth, struct scratch *scratch,
			  struct value *ret);

/* Room for what is in an array or a list of pairs, @size bytes each; NULL when that is too much. */
static void *room_for_items(struct reader reader, size_t size, struct scratch *scratch,
			    uint32_t *count_ret)
{
	struct proto_field field;

	*count_ret = 0;
	while (proto_next(&reader, &field))
		*count_ret += field.number == 1 && field.wire == PROTO_BYTES;
	return *count_ret > OTTL_MAX_ITEMS ? NULL : scratch_array(scratch, *count_ret, size);
}

static bool list_of_wire(struct reader reader, unsigned int depth, struct scratch *scratch,
			 struct value *ret)
{
	uint32_t count, i = 0;
	struct value *items = room_for_items(reader, sizeof(*items), scratch, &count);
	struct proto_field field;

	if (!items)
		return false;
	while (proto_next(&reader, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES &&
		    !value_of_wire(field.bytes, depth, scratch, &items[i++]))
			return false;
	*ret = (struct value){ .type = VALUE_LIST, .count = count, .items = items };
	return !reader.failed;
}

/* A KeyValue. */
static bool pair_of_wire(struct reader reader, unsigned int depth, struct scratch *scratch,
			 struct value pair[static 2])
{
	struct proto_field field;

	pair[0] = value_string((struct profcol_text){ "", 0 });
	pair[1] = (struct value){ 0 };
	while (proto_next(&reader, &field)) {
		if (field.wire != PROTO_BYTES)
			continue;
		if (field.number == 1)
			pair[0].text = (struct profcol_text){ (const char *)field.bytes.at,
							      reader_left(&field.bytes) };
		else if (field.number == 2 && !value_of_wire(field.bytes, depth, scratch, &pair[1]))
			return false;
	}
	return !reader.failed;
}

static bool map_of_wire(struct reader reader, unsigned int depth, struct scratch *scratch,
			struct value *ret)
{
	uint32_t count, i = 0;
	struct value *items = room_for_items(reader, 2 * sizeof(*items), scratch, &count);
	struct proto_field field;

	if (!items)
		return false;
	while (proto_next(&reader, &field))
		if (field.number == 1 && field.wire == PROTO_BYTES &&
		    !pair_of_wire(field.bytes, depth, scratch, &items[2 * (size_t)i++]))
			return false;
	value_sort_pairs(items, count);
	*ret = (struct value){ .type = VALUE_MAP, .count = count, .items = items };
	return !reader.failed;
}

static bool member_of_wire(struct proto_field *field, unsigned int depth, struct scratch *scratch,
			   struct value *ret)
{
	struct profcol_text text = { .bytes = "" };

	if (field->wire == PROTO_BYTES)
		text = (struct profcol_text){ (const char *)field->bytes.at,
					      reader_left(&field->bytes) };
	switch (field->number) {
	case 1:
		*ret = value_string(text);
		return true;
	case 2:
		*ret = value_bool(field->value != 0);
		return true;
	case 3:
		*ret = value_int((int64_t)field->value);
		return true;
	case 4:
		*ret = (struct value){ .type = VALUE_DOUBLE };
		memcpy(&ret->real, &field->value, sizeof(ret->real));
		return true;
	case 5:
		return list_of_wire(field->bytes, depth, scratch, ret);
	case 6:
		return map_of_wire(field->bytes, depth, scratch, ret);
	case 7:
		*ret = (struct value){ .type = VALUE_BYTES, .text = text };
		return true;
	default:
		return true;
	}
}

static bool value_of_wire(struct reader reader, unsigned int depth, struct scratch *scratch,
			  struct value *ret)
{
	static const enum proto_wire wires[MEMBERS + 1] = { [1] = PROTO_BYTES, PROTO_VARINT,
							    PROTO_VARINT,      PROTO_FIXED64,
							    PROTO_BYTES,       PROTO_BYTES,
							    PROTO_BYTES };
	struct proto_field field;

	*ret = (struct value){ 0 };
	if (!depth)
		return false;
	while (proto_next(&reader, &field)) {
		if (field.number < 1 || field.number > MEMBERS || field.wire != wires[field.number])
			continue;
		if (!member_of_wire(&field, depth - 1, scratch, ret))
			return false;
	}
	return !reader.failed;
}

bool value_of_attribute(const struct profcol_batch *batch, const struct profcol_value *attribute,
			struct scratch *scratch, struct value *ret)
{
	struct profcol_text blob;

	switch (attribute->type) {
	case PROFCOL_VALUE_EMPTY:
		*ret = (struct value){ 0 };
		return true;
	case PROFCOL_VALUE_STRING:
		*ret = value_string(profcol_batch_string(batch, attribute->string));
		return true;
	case PROFCOL_VALUE_BOOL:
		*ret = value_bool(attribute->boolean);
		return true;
	case PROFCOL_VALUE_INT:
		*ret = value_int(attribute->integer);
		return true;
	case PROFCOL_VALUE_DOUBLE:
		*ret = value_double(attribute->real);
		return true;
	case PROFCOL_VALUE_BYTES:
		*ret = (struct value){ .type = VALUE_BYTES,
				       .text = profcol_batch_blob(batch, attribute->blob) };
		return true;
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		blob = profcol_batch_blob(batch, attribute->blob);
		return value_of_wire(reader_over(blob.bytes, blob.length), WIRE_DEPTH_MAX, scratch,
				     ret);
	}
	return false;
}
