// SPDX-License-Identifier: Apache-2.0
#include "proto/proto.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

static const struct proto_shape tree_shape;
static const struct proto_field_shape tree_fields[] = { { 1, &tree_shape }, { 2, NULL } };
static const struct proto_shape tree_shape = { tree_fields, 2 };

static const char *check(const void *bytes, size_t length, unsigned int depth, size_t elements)
{
	const struct proto_limits limits = { .max_depth = depth, .max_elements = elements };
	size_t offset;

	return proto_check(bytes, length, &tree_shape, &limits, &offset);
}

static void depth_is_bounded(void **state)
{
	// {1: {1: {}}}: three messages deep.
	static const uint8_t bytes[] = { 0x0a, 0x02, 0x0a, 0x00 };

	(void)state;
	assert_null(check(bytes, sizeof(bytes), 3, 10));
	assert_string_equal(check(bytes, sizeof(bytes), 2, 10), "messages are nested too deep");
}

/* As protobuf-c would overflow its stack on. */
static void deep_nesting_is_refused_early(void **state)
{
	const size_t length = 20000 * 4ul;
	uint8_t *bytes = malloc(length);
	size_t at = length;

	(void)state;
	while (at) {
		size_t inner = length - at;

		bytes[--at] = (uint8_t)(inner >> 14);
		bytes[--at] = (uint8_t)(inner >> 7 | 0x80);
		bytes[--at] = (uint8_t)(inner | 0x80);
		bytes[--at] = 0x0a;
	}
	assert_string_equal(check(bytes + at, length - at, 64, SIZE_MAX),
			    "messages are nested too deep");
	free(bytes);
}

static void elements_are_counted_packed_ones_too(void **state)
{
	static const uint8_t bytes[] = { 0x12, 0x04, 1, 2, 0x80, 1, 0x18, 0 };

	(void)state;
	assert_null(check(bytes, sizeof(bytes), 1, 5));
	assert_string_equal(check(bytes, sizeof(bytes), 1, 4), "too many elements");
	assert_string_equal(check(bytes, sizeof(bytes), 1, 3), "too many elements");
}

static void malformed_bytes_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} cases[] = {
		{ "\x00", 1 },                                          // field 0
		{ "\x18", 1 },                                          // no value
		{ "\x18\x80", 2 },                                      // half a varint
		{ "\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11 }, // over 64 bits
		{ "\x0a\x05"
		  "a",
		  3 },                                                  // past the end
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, // length 2^64 - 1
		{ "\x1b\x1c", 2 },                                      // a group
		{ "\x1f", 1 },                                          // wire type 7
		{ "\x19\0\0\0", 4 },                                    // half a fixed64
		{ "\x12\x01\x80", 3 },                                  // packed, half a varint
		{ "\xff\xff\xff\xff\x7f\x00", 6 },                      // tag over 32 bits
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_non_null(check(cases[i].bytes, cases[i].length, 64, 1000));
}

static void put_everything(struct proto_writer *writer)
{
	static const uint32_t small[] = { 0, 127, 128, UINT32_MAX };
	static const int64_t wide[] = { -1, 0, INT64_MAX, 1ll << 62, 1ll << 63 };
	static const uint64_t fixed[] = { 1, UINT64_MAX };
	struct proto_message outer = proto_begin(writer, 1), inner;

	proto_put_packed_u32(writer, 2, small, 4);
	inner = proto_begin(writer, 100);
	proto_put_packed_i64(writer, 3, wide, 5);
	proto_end(writer, inner);
	proto_put_packed_fixed64(writer, 4, fixed, 2);
	proto_put_packed_u32(writer, 5, small, 0);
	proto_end(writer, outer);
	proto_put_uint(writer, 6, 0);
	proto_put_int(writer, 7, -1);
	proto_put_member_uint(writer, 8, 0);
	proto_put_string(writer, 9, "\xff", 1);
}

static void both_passes_agree(void **state)
{
	static const uint8_t tail[] = { 0x38, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					0xff, 0xff, 0x01, 0x40, 0x00, 0x4a, 0x01, '?' };
	struct proto_sizes sizes = { 0 };
	struct proto_writer writer = proto_writer_measuring(&sizes);
	struct proto_writer only_total = proto_writer_measuring(NULL);
	uint8_t *bytes;
	size_t length;

	(void)state;
	put_everything(&writer);
	put_everything(&only_total);
	length = proto_writer_length(&writer);
	assert_int_equal(length, proto_writer_length(&only_total));
	// Exactly the spare byte more, so that the sanitizer sees any excess.
	bytes = malloc(length + 1);
	writer = proto_writer_writing(&sizes, bytes, length);
	put_everything(&writer);
	assert_true(proto_writer_is_complete(&writer, length));
	assert_memory_equal(bytes + length - sizeof(tail), tail, sizeof(tail));
	assert_null(check(bytes, length, 64, 1000));
	free(bytes);
	proto_sizes_deinit(&sizes);
}

/* A second pass with other contents must not leave the buffer or pass for complete. */
static void a_differing_second_pass_is_noticed(void **state)
{
	static const uint32_t items[] = { 1, 2, 3 };
	struct proto_sizes sizes = { 0 };
	struct proto_writer writer = proto_writer_measuring(&sizes);
	uint8_t bytes[6];

	(void)state;
	proto_put_packed_u32(&writer, 1, items, 3);
	assert_int_equal(proto_writer_length(&writer), 5);
	writer = proto_writer_writing(&sizes, bytes, 5);
	proto_put_packed_u32(&writer, 1, items, 2);
	assert_false(proto_writer_is_complete(&writer, 5));
	proto_put_packed_u32(&writer, 1, items, 3);
	assert_false(proto_writer_is_complete(&writer, 5));
	proto_sizes_deinit(&sizes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depth_is_bounded),
		cmocka_unit_test(deep_nesting_is_refused_early),
		cmocka_unit_test(elements_are_counted_packed_ones_too),
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(both_passes_agree),
		cmocka_unit_test(a_differing_second_pass_is_noticed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
