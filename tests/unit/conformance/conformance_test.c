// SPDX-License-Identifier: Apache-2.0
/*
 * For each rule a request that breaks it, and nothing else if that can be. The same
 * requests are in tests/golden/otlp_conformance, so that other checkers can be asked about
 * them; PROFCOL_UPDATE_GOLDEN=1 writes them there.
 */
#include "otlp_conformance.h"

#include "otlp_small_request.h"
#include "random_batch.h"
#include "wire_bytes.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>

/* ---- what can be added without breaking a rule ---- */

/* A second sample, of another identity. */
static Otlp__Sample *extra_sample(struct small_request *request)
{
	Otlp__Sample *sample = &request->samples[1];

	sample->stack_index = 1;
	sample->timestamps_unix_nano = request->sample_timestamps;
	sample->n_timestamps_unix_nano = 1;
	request->profiles[0].n_samples = 2;
	return sample;
}

/* A second location, at the end of the stack. */
static Otlp__Location *extra_location(struct small_request *request)
{
	request->dictionary.n_location_table = 3;
	request->locations[2].mapping_index = 1;
	request->locations[2].address = 0x2000;
	request->location_indices[1] = 2;
	request->stacks[1].n_location_indices = 2;
	return &request->locations[2];
}

/* A second mapping, with a location in it. */
static Otlp__Mapping *extra_mapping(struct small_request *request)
{
	Otlp__Location *location = extra_location(request);
	Otlp__Mapping *mapping = &request->mappings[2];

	request->dictionary.n_mapping_table = 3;
	mapping->memory_start = 0x10000;
	mapping->memory_limit = 0x20000;
	mapping->filename_strindex = request->mappings[1].filename_strindex;
	mapping->attribute_indices = request->mapping_attributes;
	mapping->n_attribute_indices = 1;
	location->mapping_index = 2;
	location->address = 0x10010;
	return mapping;
}

/* A second function, inlined into the first. */
static Otlp__Function *extra_function(struct small_request *request)
{
	request->dictionary.n_function_table = 3;
	request->functions[2].name_strindex = 2;
	request->lines[1].function_index = 2;
	request->locations[1].n_lines = 2;
	return &request->functions[2];
}

/* A fourth attribute, of the profile. */
static Otlp__KeyValueAndUnit *extra_attribute(struct small_request *request)
{
	request->dictionary.n_attribute_table = 5;
	request->attributes[4].key_strindex = 1;
	request->profile_attributes[0] = 4;
	request->profiles[0].n_attribute_indices = 1;
	return &request->attributes[4];
}

/* ---- one for each rule ---- */

static void spoil_1(struct small_request *request)
{
	request->request.n_resource_profiles = 0;
}

static void spoil_2(struct small_request *request)
{
	request->request.n_resource_profiles = 2;
}

static void spoil_3(struct small_request *request)
{
	request->resource_profiles[0].n_scope_profiles = 2;
}

static void spoil_4(struct small_request *request)
{
	request->profile_attributes[0] = request->profile_attributes[1] = 1;
	request->profiles[0].n_attribute_indices = 2;
}

static void spoil_5(struct small_request *request)
{
	request->sample_type.type_strindex = 99;
}

static void spoil_6(struct small_request *request)
{
	request->period_type.unit_strindex = 99;
}

static void spoil_7(struct small_request *request)
{
	extra_sample(request)->stack_index = 9;
}

static void spoil_8(struct small_request *request)
{
	Otlp__Sample *sample = extra_sample(request);

	request->profile_attributes[0] = 9;
	sample->attribute_indices = request->profile_attributes;
	sample->n_attribute_indices = 1;
}

static void spoil_9(struct small_request *request)
{
	extra_sample(request)->link_index = -1;
}

/* The last timestamp is the window's end. */
static void spoil_10(struct small_request *request)
{
	request->profiles[0].duration_nano = 1000000000;
}

static void spoil_11(struct small_request *request)
{
	request->samples[0].n_values = 3;
}

static void spoil_12(struct small_request *request)
{
	request->samples[0].n_values = 2;
	request->samples[0].n_timestamps_unix_nano = 0;
}

static void spoil_13(struct small_request *request)
{
	request->samples[0].n_timestamps_unix_nano = 0;
}

static void spoil_14(struct small_request *request)
{
	Otlp__Sample *sample = extra_sample(request);

	sample->values = request->sample_values;
	sample->n_values = 1;
}

static void spoil_15(struct small_request *request)
{
	request->mappings[0].file_offset = 1;
}

static void spoil_16(struct small_request *request)
{
	extra_mapping(request)->filename_strindex = 99;
}

static void spoil_17(struct small_request *request)
{
	request->mapping_attributes[1] = 2;
	request->mappings[1].n_attribute_indices = 2;
}

static void spoil_18(struct small_request *request)
{
	Otlp__Mapping *mapping = extra_mapping(request);

	mapping->memory_limit = mapping->memory_start;
}

static void spoil_19(struct small_request *request)
{
	Otlp__Mapping *mapping = extra_mapping(request);

	mapping->memory_start = request->mappings[1].memory_start;
	mapping->memory_limit = request->mappings[1].memory_limit;
	request->locations[2].address = 0x2000;
}

static void spoil_20(struct small_request *request)
{
	request->locations[0].address = 1;
}

static void spoil_21(struct small_request *request)
{
	extra_location(request)->mapping_index = 9;
}

static void spoil_22(struct small_request *request)
{
	request->location_attributes[1] = 3;
	request->locations[1].n_attribute_indices = 2;
}

static void spoil_23(struct small_request *request)
{
	request->locations[1].n_lines = 2;
	request->lines[1].function_index = 9;
}

static void spoil_24(struct small_request *request)
{
	request->lines[0].column = -1;
}

static void spoil_25(struct small_request *request)
{
	request->functions[0].start_line = 1;
}

static void spoil_26(struct small_request *request)
{
	extra_function(request)->system_name_strindex = 99;
}

static void spoil_27(struct small_request *request)
{
	request->functions[1].start_line = -1;
}

/* As the proto itself once recommended. */
static void spoil_28(struct small_request *request)
{
	static uint8_t zeros[16];

	request->links[0].trace_id = (ProtobufCBinaryData){ 16, zeros };
	request->links[0].span_id = (ProtobufCBinaryData){ 8, zeros };
}

static void spoil_29(struct small_request *request)
{
	request->links[1].trace_id.len = 15;
}

static void spoil_30(struct small_request *request)
{
	request->strings[0] = request->strings[SMALL_STRINGS - 1];
}

static void spoil_31(struct small_request *request)
{
	request->strings[SMALL_STRINGS - 1] = request->strings[1];
	request->dictionary.n_string_table = SMALL_STRINGS;
	request->functions[1].system_name_strindex = SMALL_STRINGS - 1;
}

static void spoil_32(struct small_request *request)
{
	request->attributes[0].unit_strindex = 1;
}

static void spoil_33(struct small_request *request)
{
	extra_attribute(request)->unit_strindex = 99;
}

static void spoil_34(struct small_request *request)
{
	request->stacks[0].location_indices = request->location_indices;
	request->stacks[0].n_location_indices = 1;
	request->location_indices[1] = 1;
	request->stacks[1].n_location_indices = 2;
}

static void spoil_35(struct small_request *request)
{
	request->stacks[1].n_location_indices = 2;
	request->location_indices[1] = 9;
}

static void spoil_36(struct small_request *request)
{
	request->dictionary.n_string_table = SMALL_STRINGS;
}

static void spoil_37(struct small_request *request)
{
	extra_attribute(request);
	request->profiles[0].n_attribute_indices = 0;
}

static void spoil_38(struct small_request *request)
{
	extra_mapping(request);
	request->locations[2].mapping_index = 1;
	request->locations[2].address = 0x2000;
}

static void spoil_39(struct small_request *request)
{
	extra_function(request);
	request->locations[1].n_lines = 1;
}

static void spoil_40(struct small_request *request)
{
	extra_location(request);
	request->stacks[1].n_location_indices = 1;
}

static void spoil_41(struct small_request *request)
{
	request->location_indices[1] = 1;
	request->stacks[2].location_indices = request->location_indices;
	request->stacks[2].n_location_indices = 2;
	request->dictionary.n_stack_table = 3;
}

static void spoil_42(struct small_request *request)
{
	request->links[2].trace_id = (ProtobufCBinaryData){ 16, request->profile_id };
	request->links[2].span_id = request->links[1].span_id;
	request->dictionary.n_link_table = 3;
}

static void spoil_43(struct small_request *request)
{
	request->resource_values[1].value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX;
	request->resource_values[1].string_value_strindex = 99;
}

static void spoil_44(struct small_request *request)
{
	request->scope_attributes[0].key_strindex = 1;
}

static void spoil_45(struct small_request *request)
{
	request->resource_attributes[2].key = request->resource_attributes[1].key;
	request->resource.n_attributes = 3;
}

static void spoil_46(struct small_request *request)
{
	request->profiles[0].profile_id.len = 15;
}

static void spoil_47(struct small_request *request)
{
	request->profiles[0].original_payload_format = request->strings[1];
}

static void spoil_48(struct small_request *request)
{
	request->samples[1] = request->samples[0];
	request->profiles[0].n_samples = 2;
}

static void spoil_49(struct small_request *request)
{
	*extra_location(request) = request->locations[1];
}

static void spoil_50(struct small_request *request)
{
	request->mappings[1].n_attribute_indices = 0;
	request->profile_attributes[0] = 2;
	request->profiles[0].n_attribute_indices = 1;
}

static void spoil_51(struct small_request *request)
{
	Otlp__Function *function = extra_function(request);

	function->name_strindex = 0;
	function->start_line = 5;
}

static void spoil_52(struct small_request *request)
{
	request->entity_keys[0] = request->strings[1];
}

static void spoil_53(struct small_request *request)
{
	static char text[] = "ma\xffn";

	request->strings[1] = text;
}

static void spoil_54(struct small_request *request)
{
	request->scope_profiles[0].n_profiles = 2;
	request->profiles[1].time_unix_nano = 1;
}

static void spoil_55(struct small_request *request)
{
	request->locations[1].address = 0x9000;
}

struct spoiler {
	void (*spoil)(struct small_request *request);
	uint64_t also; /* what cannot be kept then */
};

static const struct spoiler spoilers[RULES] = {
	{ 0 },
	{ spoil_1, 0 },
	{ spoil_2, 0 },
	{ spoil_3, 0 },
	{ spoil_4, 0 },
	{ spoil_5, RULE_BIT(RULE_STRING_ORPHAN) },
	{ spoil_6, RULE_BIT(RULE_STRING_ORPHAN) },
	{ spoil_7, 0 },
	{ spoil_8, 0 },
	{ spoil_9, 0 },
	{ spoil_10, 0 },
	{ spoil_11, 0 },
	{ spoil_12, 0 },
	{ spoil_13, 0 },
	{ spoil_14, 0 },
	{ spoil_15, 0 },
	{ spoil_16, 0 },
	{ spoil_17, 0 },
	{ spoil_18, RULE_BIT(RULE_ADDRESS_IN_MAPPING) },
	{ spoil_19, 0 },
	{ spoil_20, 0 },
	{ spoil_21, 0 },
	{ spoil_22, 0 },
	{ spoil_23, 0 },
	{ spoil_24, 0 },
	{ spoil_25, 0 },
	{ spoil_26, 0 },
	{ spoil_27, 0 },
	{ spoil_28, 0 },
	{ spoil_29, 0 },
	{ spoil_30, 0 },
	{ spoil_31, 0 },
	{ spoil_32, 0 },
	{ spoil_33, 0 },
	{ spoil_34, 0 },
	{ spoil_35, 0 },
	{ spoil_36, 0 },
	{ spoil_37, 0 },
	{ spoil_38, 0 },
	{ spoil_39, 0 },
	{ spoil_40, 0 },
	{ spoil_41, 0 },
	{ spoil_42, 0 },
	{ spoil_43, 0 },
	{ spoil_44, 0 },
	{ spoil_45, 0 },
	{ spoil_46, 0 },
	{ spoil_47, 0 },
	{ spoil_48, 0 },
	{ spoil_49, 0 },
	{ spoil_50, 0 },
	{ spoil_51, 0 },
	{ spoil_52, 0 },
	{ spoil_53, 0 },
	{ spoil_54, 0 },
	{ spoil_55, 0 },
};

/* The request for @rule; rule 0 is the one that keeps them all. */
static struct wire_bytes request_of(int rule)
{
	struct small_request request;
	struct wire_bytes bytes = { 0 };

	small_request_init(&request);
	if (rule)
		spoilers[rule].spoil(&request);
	bytes.bytes = small_request_pack(&request, &bytes.length);
	return bytes;
}

static void each_rule_has_a_request_that_breaks_it(void **state)
{
	(void)state;
	for (int rule = 0; rule < RULES; rule++) {
		CLEANUP_WIRE_BYTES struct wire_bytes bytes = request_of(rule);
		struct conformance conformance = { 0 };
		uint64_t wanted = rule ? RULE_BIT(rule) | spoilers[rule].also : 0;

		assert_true(otlp_conformance_check(&conformance, bytes.bytes, bytes.length));
		if (conformance.broken == wanted)
			continue;
		conformance.stream = stderr;
		otlp_conformance_check(&conformance, bytes.bytes, bytes.length);
		fail_msg("request of rule %d breaks others", rule);
	}
}

static void write_file(const char *path, const struct wire_bytes *bytes)
{
	CLEANUP_FILE FILE *file = fopen(path, "we");

	if (!file || fwrite(bytes->bytes, 1, bytes->length, file) != bytes->length)
		fail_msg("%s cannot be written", path);
}

static void the_files_hold_these_requests(void **state)
{
	(void)state;
	for (int rule = 0; rule < RULES; rule++) {
		CLEANUP_WIRE_BYTES struct wire_bytes bytes = request_of(rule);
		CLEANUP_FREE char *file = NULL;
		char path[300];
		size_t length;

		snprintf(path, sizeof(path), "%s/tests/golden/otlp_conformance/%02d.bin",
			 PROFCOL_SOURCE_DIR, rule);
		if (getenv("PROFCOL_UPDATE_GOLDEN"))
			write_file(path, &bytes);
		if (file_read(AT_FDCWD, path, 1 << 20, &file, &length) < 0)
			fail_msg("%s cannot be read; write it with PROFCOL_UPDATE_GOLDEN=1", path);
		assert_int_equal(length, bytes.length);
		assert_memory_equal(file, bytes.bytes, length);
		assert_true(length < 1024);
	}
}

/* Of compact batches. */
static void what_the_encoder_writes_keeps_the_rules(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *compact = NULL;
		struct conformance conformance = { .ignored = RULES_OF_CONTENT, .stream = stderr };
		struct otlp_encode_options options = { .attribute_references = seed % 2 };
		CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };

		assert_null(profile_compact(batch, &compact));
		assert_null(otlp_encode(compact, &options, &bytes.bytes, &bytes.length));
		assert_true(otlp_conformance_check(&conformance, bytes.bytes, bytes.length));
		assert_int_equal(conformance.violations, 0);
	}
}

static void what_is_not_a_request_is_said_so(void **state)
{
	struct conformance conformance = { 0 };

	(void)state;
	assert_false(otlp_conformance_check(&conformance, (const uint8_t *)"hello", 5));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rule_has_a_request_that_breaks_it),
		cmocka_unit_test(the_files_hold_these_requests),
		cmocka_unit_test(what_the_encoder_writes_keeps_the_rules),
		cmocka_unit_test(what_is_not_a_request_is_said_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
