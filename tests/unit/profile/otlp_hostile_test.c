// SPDX-License-Identifier: Apache-2.0
// What the OTLP decoder refuses, and how it says so; damaged, deep and huge requests.
#include "otlp_small_request.h"
#include "wire_bytes.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct otlp_decode_limits limits = { .max_memory = 64 << 20 };

static void assert_refused(const struct wire_bytes *bytes, const char *wanted)
{
	struct profcol_batch *batch = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		otlp_decode(bytes->bytes, bytes->length, &limits, &batch);

	if (!error)
		fail_msg("accepted, not refused with '%s'", wanted);
	assert_null(batch);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	if (!strstr(profcol_error_message(error), wanted))
		fail_msg("'%s' does not mention '%s'", profcol_error_message(error), wanted);
}

/* ---- indices and lengths ---- */

static void stack_index(struct small_request *request)
{
	request->samples[0].stack_index = 900;
}

static void negative_stack_index(struct small_request *request)
{
	request->samples[0].stack_index = -1;
}

static void link_index(struct small_request *request)
{
	request->samples[0].link_index = 2;
}

/* With a value, so that it cannot be taken for an older version's. */
static void sample_attribute(struct small_request *request)
{
	request->samples[0].n_values = 2;
	request->sample_attributes[0] = 4;
}

static void profile_attribute(struct small_request *request)
{
	request->profiles[0].n_attribute_indices = 1;
	request->profile_attributes[0] = 77;
}

static void sample_type(struct small_request *request)
{
	request->sample_type.unit_strindex = 11;
}

static void period_type(struct small_request *request)
{
	request->period_type.type_strindex = 12;
}

static void mapping_filename(struct small_request *request)
{
	request->mappings[1].filename_strindex = 13;
}

static void mapping_attribute(struct small_request *request)
{
	request->mapping_attributes[0] = 14;
}

static void location_mapping(struct small_request *request)
{
	request->locations[1].mapping_index = 15;
}

static void line_function(struct small_request *request)
{
	request->lines[0].function_index = 16;
}

static void function_name(struct small_request *request)
{
	request->functions[1].system_name_strindex = 17;
}

static void stack_location(struct small_request *request)
{
	request->location_indices[0] = 18;
}

static void attribute_unit(struct small_request *request)
{
	request->attributes[2].unit_strindex = 19;
}

static void reference(struct small_request *request)
{
	request->values[1].value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX;
	request->values[1].string_value_strindex = 20;
}

static void resource_key(struct small_request *request)
{
	request->resource_attributes[1].key = request->strings[0];
	request->resource_attributes[1].key_strindex = 21;
}

static void both_keys(struct small_request *request)
{
	request->scope_attributes[0].key_strindex = 1;
}

static void unused_row(struct small_request *request)
{
	request->locations[2].mapping_index = 22;
	request->dictionary.n_location_table = 3;
}

static void too_many_values(struct small_request *request)
{
	request->samples[0].n_values = 3;
}

static void first_string(struct small_request *request)
{
	request->strings[0] = request->strings[1];
}

static void first_mapping(struct small_request *request)
{
	request->mappings[0].memory_limit = 1;
}

static void trace_id(struct small_request *request)
{
	request->links[1].trace_id.len = 17;
}

static void span_id(struct small_request *request)
{
	request->links[1].span_id.len = 7;
}

static void profile_id(struct small_request *request)
{
	request->profiles[0].profile_id.len = 15;
}

static void what_does_not_fit_is_refused_by_place(void **state)
{
	static const struct {
		void (*spoil)(struct small_request *request);
		const char *wanted;
	} cases[] = {
		{ stack_index,
		  "resource 0: scope 0: profile 0: sample 0: stack index 900 is not in "
		  "the table of 2" },
		{ negative_stack_index, "sample 0: stack index -1 is not in the table of 2" },
		{ link_index, "sample 0: link index 2 is not in the table of 2" },
		{ sample_attribute, "sample 0: attribute index 4 is not in the table of 4" },
		{ profile_attribute, "profile 0: attribute index 77 is not in the table of 4" },
		{ sample_type, "profile 0: sample type: unit index 11 is not in" },
		{ period_type, "profile 0: period type: type index 12 is not in" },
		{ mapping_filename, "mapping 1: filename index 13 is not in the table of 11" },
		{ mapping_attribute, "mapping 1: attribute index 14" },
		{ location_mapping, "location 1: mapping index 15 is not in the table of 2" },
		{ line_function, "location 1: function index 16 is not in the table of 2" },
		{ function_name, "function 1: system name index 17" },
		{ stack_location, "stack 1: location index 18 is not in the table of 2" },
		{ attribute_unit, "attribute 2: unit index 19" },
		{ reference, "attribute 1: string value index 20 is not in the table of 11" },
		{ resource_key, "resource 0: key index 21" },
		{ both_keys, "scope 0: an attribute has both a key and a key_strindex" },
		{ unused_row, "location 2: mapping index 22" },
		{ too_many_values, "sample 0: 3 values do not fit 2 timestamps" },
		{ first_string, "string 0: the first entry is not empty" },
		{ first_mapping, "mapping 0: the first entry is not empty" },
		{ trace_id, "link 1: trace id has 17 bytes instead of 16" },
		{ span_id, "link 1: span id has 7 bytes instead of 8" },
		{ profile_id, "profile 0: profile id has 15 bytes instead of 16" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct small_request request;
		CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };

		small_request_init(&request);
		cases[i].spoil(&request);
		bytes.bytes = small_request_pack(&request, &bytes.length);
		assert_refused(&bytes, cases[i].wanted);
	}
}

/* ---- bytes ---- */

/* The decoder must have an answer, and what it takes must be kept by another round. */
static bool is_accepted(const uint8_t *bytes, size_t length)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *first = NULL, *second = NULL;
	CLEANUP_FREE uint8_t *copy = malloc(length ? length : 1), *once = NULL, *twice = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	size_t once_length, twice_length;

	// A copy of the exact size shows reads past the end.
	memcpy(copy, bytes, length);
	error = otlp_decode(copy, length, &limits, &first);
	assert_true(!error == !!first);
	if (error)
		return false;
	assert_null(otlp_encode(first, NULL, &once, &once_length));
	assert_null(otlp_decode(once, once_length, &limits, &second));
	assert_null(otlp_encode(second, NULL, &twice, &twice_length));
	assert_int_equal(once_length, twice_length);
	assert_memory_equal(once, twice, once_length);
	return true;
}

static void every_truncation_is_answered(void **state)
{
	struct small_request request;
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };
	size_t accepted = 0;

	(void)state;
	small_request_init(&request);
	bytes.bytes = small_request_pack(&request, &bytes.length);
	for (size_t i = 0; i < bytes.length; i++)
		accepted += is_accepted(bytes.bytes, i);
	// Nothing at all is a request; the first of its two fields alone lacks all tables.
	assert_int_equal(accepted, 1);
	assert_true(is_accepted(bytes.bytes, bytes.length));
}

static void every_flipped_bit_is_answered(void **state)
{
	struct small_request request;
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };

	(void)state;
	small_request_init(&request);
	bytes.bytes = small_request_pack(&request, &bytes.length);
	for (size_t i = 0; i < bytes.length * 8; i++) {
		bytes.bytes[i / 8] ^= 1 << i % 8;
		is_accepted(bytes.bytes, bytes.length);
		bytes.bytes[i / 8] ^= 1 << i % 8;
	}
}

static void malformed_bytes_are_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *wanted;
	} cases[] = {
		{ "hello", 5, "not OTLP, or damaged" },
		{ "\x0a\x05", 2, "cut short or malformed at byte 2" },
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11, "not OTLP" },
		{ "\x00\x00", 2, "not OTLP" },
		{ "\x08\x01", 2, "field 1 of a ExportProfilesServiceRequest cannot have" },
		{ "\x9b\x06\x0b\x0c", 4, "not OTLP" },         // a group without an end
		{ "\x9b\x06\xa4\x06", 4, "not OTLP" },         // ended by another's
		{ "\x12\x04\x3a\x02\x08\x80", 6, "not OTLP" }, // a stack's index goes on
	};

	(void)state;
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct wire_bytes bytes = {
			.bytes = (uint8_t *)(uintptr_t)cases[i].bytes,
			.length = cases[i].length,
		};

		assert_refused(&bytes, cases[i].wanted);
	}
}

/* ---- depth and size ---- */

/* A request whose resource has an attribute of @depth arrays in each other. */
static struct wire_bytes nested(unsigned int depth)
{
	struct wire_bytes value = { 0 }, pair = { 0 }, resource = { 0 }, row = { 0 };
	struct wire_bytes request = { 0 };

	for (unsigned int i = 0; i < depth; i++) {
		struct wire_bytes array = { 0 }, outer = { 0 };

		wire_message(&array, 1, &value);
		wire_message(&outer, 5, &array);
		value = outer;
	}
	wire_message(&pair, 2, &value);
	wire_message(&resource, 1, &pair);
	wire_message(&row, 1, &resource);
	wire_message(&request, 1, &row);
	return request;
}

static void nesting_is_bounded(void **state)
{
	CLEANUP_WIRE_BYTES struct wire_bytes deep = nested(64), too_deep = nested(65);
	CLEANUP_WIRE_BYTES struct wire_bytes much_too_deep = nested(2000);

	(void)state;
	assert_true(is_accepted(deep.bytes, deep.length));
	assert_refused(&too_deep, "resource 0: a value is nested deeper than 64");
	assert_refused(&much_too_deep, "nested deeper than 64");
}

static void groups_may_not_nest_without_end(void **state)
{
	CLEANUP_WIRE_BYTES struct wire_bytes groups = { 0 };

	(void)state;
	for (unsigned int i = 0; i < 100; i++)
		wire_raw(&groups, "\x9b\x06", 2);
	for (unsigned int i = 0; i < 100; i++)
		wire_raw(&groups, "\x9c\x06", 2);
	assert_refused(&groups, "not OTLP");
}

/* Two bytes a row would be 40 times that in the batch. */
static void memory_is_bounded(void **state)
{
	const struct otlp_decode_limits tight = { .max_memory = 1 << 20 };
	CLEANUP_WIRE_BYTES struct wire_bytes request = { 0 };
	struct wire_bytes tables = { 0 };
	struct profcol_batch *batch = NULL;

	(void)state;
	for (unsigned int i = 0; i < 20000; i++)
		wire_raw(&tables, "\x1a\x00", 2);
	wire_message(&request, 2, &tables);
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		otlp_decode(request.bytes, request.length, &tight, &batch);

	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	assert_non_null(strstr(profcol_error_message(error), "limit of 1048576 bytes"));
}

/* A few bytes in a tree that stand for much text: refused before it is written out. */
static void references_cannot_blow_up(void **state)
{
	CLEANUP_WIRE_BYTES struct wire_bytes request = { 0 };
	CLEANUP_FREE char *text = malloc(1 << 20);
	struct wire_bytes tables = { 0 }, array = { 0 }, value = { 0 }, row = { 0 };

	(void)state;
	memset(text, 'x', (1 << 20) - 1);
	text[(1 << 20) - 1] = '\0';
	for (unsigned int i = 0; i < 10000; i++)
		wire_raw(&array, "\x0a\x02\x40\x01", 4);
	wire_text(&tables, 5, "");
	wire_text(&tables, 5, text);
	wire_message(&value, 5, &array);
	wire_message(&row, 2, &value);
	wire_message(&tables, 6, &row);
	wire_message(&request, 2, &tables);
	assert_refused(&request, "takes more than the limit");
}

/* ---- requests of opentelemetry-proto 1.9 ---- */

static const char old[] = "opentelemetry-proto 1.9";

/* The small request with its one sample replaced by @sample in wire form. */
static void assert_sample(struct wire_bytes *sample, const char *wanted)
{
	struct small_request request;
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };
	struct wire_bytes profile = { 0 }, scope = { 0 }, resource = { 0 };

	small_request_init(&request);
	request.request.n_resource_profiles = 0;
	bytes.bytes = small_request_pack(&request, &bytes.length);
	wire_message(&profile, 2, sample);
	wire_message(&scope, 2, &profile);
	wire_message(&resource, 2, &scope);
	wire_message(&bytes, 1, &resource);
	if (wanted)
		assert_refused(&bytes, wanted);
	else
		assert_true(is_accepted(bytes.bytes, bytes.length));
}

/* A sample with some of stack, 2, 3, 4 and one timestamp; packed as texts. */
static struct wire_bytes sample(const char *packed_2, const char *packed_3, unsigned int number_4,
				const char *packed_4)
{
	struct wire_bytes sample = { 0 };

	wire_number(&sample, 1, 1);
	if (packed_2)
		wire_text(&sample, 2, packed_2);
	if (packed_3)
		wire_text(&sample, 3, packed_3);
	if (number_4)
		wire_number(&sample, 4, number_4);
	if (packed_4)
		wire_text(&sample, 4, packed_4);
	wire_fixed64(&sample, 5, 1);
	return sample;
}

static void older_requests_are_told_by_their_samples(void **state)
{
	struct wire_bytes attributes = sample("\x01", "\x01", 0, NULL);
	struct wire_bytes value = sample("\x7f", NULL, 0, NULL);
	struct wire_bytes linked = sample("\x01", NULL, 1, NULL);
	struct wire_bytes only_value = { 0 };
	struct wire_bytes same = sample("\x01\x01", NULL, 0, NULL);

	(void)state;
	assert_sample(&attributes, old);
	assert_sample(&value, old);
	assert_sample(&linked, old);
	wire_text(&only_value, 2, "\x01");
	assert_sample(&only_value, old);
	wire_fixed64(&same, 5, 1);
	assert_sample(&same, old);
}

static void newer_requests_are_not_taken_for_older_ones(void **state)
{
	struct wire_bytes plain = sample("\x01", NULL, 0, "\x05");
	struct wire_bytes timestamps = sample("\x01", NULL, 0, NULL);
	struct wire_bytes bad_index = sample("\x7f", NULL, 0, "\x05");

	(void)state;
	assert_sample(&plain, NULL);
	assert_sample(&timestamps, NULL);
	assert_sample(&bad_index, "attribute index 127 is not in the table of 4");
}

/* Writers need not pack values: a single number in field 4 is a value, too. */
static void values_that_are_not_packed_are_taken(void **state)
{
	struct wire_bytes alone = { 0 }, several = sample("\x01", NULL, 1, NULL);
	struct wire_bytes no_link = sample("\x01", NULL, 2, NULL);
	struct wire_bytes zero = { 0 };

	(void)state;
	wire_number(&alone, 1, 1);
	wire_number(&alone, 4, 1);
	assert_sample(&alone, NULL);
	wire_number(&several, 4, 1);
	wire_fixed64(&several, 5, 1);
	assert_sample(&several, NULL);
	assert_sample(&no_link, NULL); // the table of links has two entries
	wire_number(&zero, 4, 0);
	wire_fixed64(&zero, 5, 1);
	assert_sample(&zero, NULL); // nobody writes a link of 0
}

/* What may be of 1.9 may also just be wrong. */
static void a_doubt_about_the_version_does_not_hide_the_fault(void **state)
{
	struct wire_bytes bad_index[2] = { sample("\x7f", NULL, 0, NULL),
					   sample("\x7f", NULL, 0, NULL) };
	struct wire_bytes nothing[2] = { 0 };

	(void)state;
	assert_sample(&bad_index[0], "attribute index 127 is not in the table of 4");
	assert_sample(&bad_index[1], old);
	for (int i = 0; i < 2; i++)
		wire_text(&nothing[i], 2, "\x01");
	assert_sample(&nothing[0], "it has neither timestamps nor a value");
	assert_sample(&nothing[1], old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_fit_is_refused_by_place),
		cmocka_unit_test(every_truncation_is_answered),
		cmocka_unit_test(every_flipped_bit_is_answered),
		cmocka_unit_test(malformed_bytes_are_refused),
		cmocka_unit_test(nesting_is_bounded),
		cmocka_unit_test(groups_may_not_nest_without_end),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(references_cannot_blow_up),
		cmocka_unit_test(older_requests_are_told_by_their_samples),
		cmocka_unit_test(newer_requests_are_not_taken_for_older_ones),
		cmocka_unit_test(values_that_are_not_packed_are_taken),
		cmocka_unit_test(a_doubt_about_the_version_does_not_hide_the_fault),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
