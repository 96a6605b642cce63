// SPDX-License-Identifier: Apache-2.0
/* The processor `attributes`: whose attributes it changes, and whose not. */
#include "processor_fixture.h"
#include "shop_batch.h"

#include "attributes/attributes.h"
#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern const struct profcol_component profcol_processor_attributes;

#define PROCESSOR (&profcol_processor_attributes)
#define MARK      "actions: [{key: mark, value: 1, action: insert}]"

enum { SAMPLES = 4 };

/* Which samples get the mark when the configuration has @yaml besides: "1010". */
static void expect_marked(const char *yaml, const char *marks)
{
	CLEANUP_FREE char *text = NULL;
	struct processor processor;
	const struct profcol_batch *batch;
	char got[SAMPLES + 1] = "";

	assert_true(asprintf(&text, "%s\n" MARK, yaml) > 0);
	processor_start(&processor, PROCESSOR, text);
	batch = processor_consume(&processor, shop_batch_create());
	for (uint32_t row = 0; row < SAMPLES; row++) {
		struct profcol_value mark = find_value(batch, sample_list(batch, row), "mark");

		got[row] = mark.type == PROFCOL_VALUE_INT ? '1' : '0';
	}
	if (strcmp(got, marks))
		fail_msg("%s: %s, not %s", yaml, got, marks);
	processor_deinit(&processor);
}

/* Rows: web and batch of shop, web of shop in the scope `other`, sweeper of cron. */
static void samples_are_chosen_by_include_and_exclude(void **state)
{
	static const struct {
		const char *yaml, *marks;
	} cases[] = {
		{ "", "1111" },
		{ "include: ", "1111" },
		{ "include: {match_type: strict, attributes: [{key: thread.name, value: web}]}",
		  "1010" },
		{ "exclude: {match_type: strict, attributes: [{key: thread.name, value: web}]}",
		  "0101" },
		{ "include: {match_type: regexp, attributes: [{key: thread.name, value: e}]}",
		  "1011" },
		{ "include: {match_type: regexp, attributes: [{key: thread.name, value: '^w'}]}",
		  "1010" },
		{ "include: {attributes: [{key: cpu}]}", "1000" },
		{ "include: {match_type: strict, attributes: [{key: cpu, value: 1}]}", "1000" },
		{ "include: {match_type: strict, attributes: [{key: cpu, value: '1'}]}", "0000" },
		{ "include: {match_type: regexp, attributes: [{key: cpu, value: '1'}]}", "1000" },
		{ "include: {match_type: strict, attributes: [{key: cpu, value: 1},"
		  " {key: thread.name, value: batch}]}",
		  "0000" },
		{ "include: {match_type: strict, services: [cron, other]}", "0001" },
		{ "include: {match_type: regexp, services: ['^s']}", "1110" },
		{ "include: {match_type: strict, resources: [{key: service.name, value: shop}]}",
		  "1110" },
		{ "include: {match_type: regexp, resources: [{key: load, value: '^0[.]5$'}]}",
		  "1110" },
		{ "include: {match_type: strict, resources: [{key: load, value: 2.0}]}", "0001" },
		{ "include: {match_type: regexp,"
		  " resources: [{key: container.privileged, value: '^true$'}]}",
		  "1110" },
		{ "include: {match_type: strict, libraries: [{name: profcol}]}", "1101" },
		{ "include: {match_type: strict, libraries: [{name: profcol, version: '2.0'}]}",
		  "0000" },
		{ "include: {match_type: regexp, libraries: [{name: '.', version: '^2'}]}",
		  "0010" },
		{ "include: {match_type: strict, services: [shop]}\n"
		  "exclude: {match_type: strict, attributes: [{key: thread.name, value: web}]}",
		  "0100" },
		{ "exclude: {match_type: strict, services: [shop],"
		  " attributes: [{key: thread.name, value: web}]}",
		  "0101" },
		{ "include: {match_type: strict, regexp: {cacheenabled: true}, services: [shop]}",
		  "1110" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_marked(cases[i].yaml, cases[i].marks);
}

static const struct profcol_batch *process(struct processor *processor, const char *yaml)
{
	processor_start(processor, PROCESSOR, yaml);
	return processor_consume(processor, shop_batch_create());
}

static void resources_have_their_level(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch =
		process(&processor, "level: resource\n"
				    "include: {match_type: strict, services: [cron]}\n" MARK);

	(void)state;
	expect_int(batch, resource_list(batch, 1), "mark", 1);
	expect_text(batch, resource_list(batch, 0), "mark", NULL);
	expect_text(batch, sample_list(batch, 3), "mark", NULL);
	processor_deinit(&processor);
}

static void locations_have_their_level(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch =
		process(&processor,
			"level: location\n"
			"include: {match_type: strict,"
			" attributes: [{key: profile.frame.type, value: native}]}\n"
			"actions: [{key: profile.frame.type, value: compiled, action: update}]");
	uint32_t count, compiled = 0, others = 0;

	(void)state;
	count = profcol_batch_count(batch, PROFCOL_LOCATIONS);
	assert_int_equal(count, 1 + 5);
	for (uint32_t id = 1; id < count; id++) {
		struct profcol_value type =
			find_value(batch, location_list(batch, id), "profile.frame.type");
		const char *text = profcol_batch_string(batch, type.string).bytes;

		assert_int_equal(type.type, PROFCOL_VALUE_STRING);
		compiled += !strcmp(text, "compiled");
		others += !strcmp(text, "cpython");
	}
	assert_int_equal(compiled, 4);
	assert_int_equal(others, 1);
	assert_false(is_anywhere(batch, "native"));
	processor_deinit(&processor);
}

static void mappings_have_their_level(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch = process(
		&processor, "level: mapping\n"
			    "actions: [{key: process.executable.build_id.gnu, action: delete}]");

	(void)state;
	expect_text(batch, mapping_list(batch, find_mapping(batch, "/usr/bin/shop")),
		    "process.executable.build_id.gnu", NULL);
	assert_false(is_anywhere(batch, "0c0d"));
	expect_text(batch, sample_list(batch, 0), "thread.name", "web");
	processor_deinit(&processor);
}

/* Two functions in two files of the same name and, from now on, no attribute to tell them apart:
 * the stacks still lead to the right ones. */
static void entries_that_become_equal_are_one(void **state)
{
	const struct profcol_mapping row = { .filename = 1 };
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t mappings[2], locations[2];
	struct profcol_batch *batch = NULL;
	struct processor processor;
	const struct profcol_batch *after;

	(void)state;
	profcol_builder_cstring(builder, "libx.so");
	for (size_t i = 0; i < 2; i++) {
		const uint32_t id = profcol_builder_attribute_int(builder, "id", (int64_t)i);
		struct profcol_mapping mapping = row;

		mapping.attributes = profcol_builder_attribute_list(builder, &id, 1);
		mappings[i] = profcol_builder_mapping(builder, &mapping);
		locations[i] = profcol_builder_location(
			builder,
			&(struct profcol_location){ .mapping = mappings[i], .address = 16 });
	}
	assert_int_not_equal(mappings[0], mappings[1]);
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
	for (size_t i = 0; i < 2; i++)
		profcol_builder_add_sample(
			builder, &(struct profcol_sample){
					 .stack = profcol_builder_stack(builder, &locations[i], 1),
					 .value_count = 1,
					 .values = &(const int64_t){ 1 } });
	assert_no_error(profcol_builder_seal(builder, &batch));
	processor_start(&processor, PROCESSOR,
			"level: mapping\nactions: [{key: id, action: delete}]");
	after = processor_consume(&processor, batch);
	assert_int_equal(profcol_batch_count(after, PROFCOL_MAPPINGS), 2);
	assert_int_equal(profcol_batch_count(after, PROFCOL_LOCATIONS), 2);
	assert_int_equal(profcol_batch_sample(after, 0).stack,
			 profcol_batch_sample(after, 1).stack);
	assert_int_equal(profcol_batch_count(after, PROFCOL_SAMPLES), 2);
	processor_deinit(&processor);
}

static void what_is_removed_from_samples_leaves_no_text(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch =
		process(&processor, "actions: [{pattern: '^user', action: delete},"
				    " {key: thread.name, action: hash}]");

	(void)state;
	assert_false(is_anywhere(batch, "alice"));
	assert_false(is_anywhere(batch, "user.email"));
	assert_false(is_anywhere(batch, "sweeper"));
	assert_true(is_anywhere(batch, "sweep"));
	processor_deinit(&processor);
}

/* A batch with one sample, whose thread is called so that patterns do not come to an end. */
static struct profcol_batch *doubtful_batch(void)
{
	static const char name[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!";
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;
	struct profcol_sample sample = { .value_count = 1, .values = &(const int64_t){ 1 } };
	uint32_t attributes[2];

	assert_non_null(builder);
	attributes[0] =
		profcol_builder_attribute_string(builder, "thread.name", name, strlen(name));
	attributes[1] = profcol_builder_attribute_string(builder, "user", "alice", 5);
	sample.attributes = profcol_builder_attribute_list(builder, attributes, 2);
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
	profcol_builder_add_sample(builder, &sample);
	assert_no_error(profcol_builder_seal(builder, &batch));
	return batch;
}

/* Where a pattern reaches its limit, what is to be hidden is hidden; all else is left alone. */
static void doubt_hides(void **state)
{
#define DOUBT "{match_type: regexp, attributes: [{key: thread.name, value: '^(a|aa)+[b-d]$'}]}\n"
	static const struct {
		const char *yaml;
		bool hides, marks;
	} cases[] = {
		{ "include: " DOUBT "actions: [{key: user, action: delete}]", true, false },
		{ "exclude: " DOUBT "actions: [{key: user, action: hash}]", true, false },
		{ "include: " DOUBT MARK, false, false },
		{ "exclude: " DOUBT MARK, false, false },
		{ "include: " DOUBT "actions: [{key: mark, value: 1, action: insert},"
		  " {key: user, action: delete}]",
		  true, true },
		{ "include: {match_type: regexp, attributes: [{key: none, value: a},"
		  " {key: thread.name, value: '^(a|aa)+[b-d]$'}]}\n"
		  "actions: [{key: user, action: delete}]",
		  false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct processor processor;
		const struct profcol_batch *batch;

		processor_start(&processor, PROCESSOR, cases[i].yaml);
		batch = processor_consume(&processor, doubtful_batch());
		if (is_anywhere(batch, "alice") == cases[i].hides ||
		    is_anywhere(batch, "mark") != cases[i].marks)
			fail_msg("%s: not so", cases[i].yaml);
		processor_deinit(&processor);
	}
}

/* Whatever level it was removed from: nobody here knows the formats of payloads. */
static void original_payloads_go_with_what_is_removed(void **state)
{
	static const char *const removing[] = {
		"actions: [{key: user.email, action: delete}]",
		"actions: [{key: thread.name, action: hash}]",
		"level: resource\nactions: [{key: process.command_line, action: delete}]",
		("level: mapping\n"
		 "actions: [{key: process.executable.build_id.gnu, action: hash}]"),
		"level: location\nactions: [{pattern: type, action: delete}]",
	};
	struct processor processor;

	(void)state;
	for (size_t i = 0; i < sizeof(removing) / sizeof(removing[0]); i++) {
		const struct profcol_batch *batch = process(&processor, removing[i]);

		if (is_anywhere(batch, "raw: ") || is_anywhere(batch, "x-raw"))
			fail_msg("%s: the original payload is still there", removing[i]);
		processor_deinit(&processor);
	}
	assert_true(is_anywhere(process(&processor, MARK), "raw: sweeper"));
	processor_deinit(&processor);
}

/* Adding shares the dictionary with the batch that came: its own strings keep their ids. */
static void what_is_added_leaves_the_dictionary_as_it_was(void **state)
{
	struct processor processor;
	struct profcol_batch *before = shop_batch_create();
	const struct profcol_batch *after;

	(void)state;
	processor_start(&processor, PROCESSOR, MARK);
	after = processor_consume(&processor, profcol_batch_ref(before));
	for (uint32_t id = 0; id < profcol_batch_count(before, PROFCOL_STRINGS); id++)
		assert_string_equal(profcol_batch_string(after, id).bytes,
				    profcol_batch_string(before, id).bytes);
	assert_int_equal(profcol_batch_count(after, PROFCOL_STRINGS),
			 profcol_batch_count(before, PROFCOL_STRINGS) + 1);
	expect_text(before, sample_list(before, 0), "mark", NULL);
	profcol_batch_unref(before);
	processor_deinit(&processor);
}

/* As Go prints them with 'f': in the fewest digits, and never with an exponent. */
static void doubles_have_plain_text(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0.0, "0" },
		{ -0.0, "-0" },
		{ 1.0, "1" },
		{ -2.5, "-2.5" },
		{ 0.1, "0.1" },
		{ 0.3, "0.3" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 100.0, "100" },
		{ 123456.789, "123456.789" },
		{ 0.001, "0.001" },
		{ 1e-7, "0.0000001" },
		{ 1e21, "1000000000000000000000" },
		{ 1.0 / 0.0, "+Inf" },
		{ -1.0 / 0.0, "-Inf" },
	};
	char space[ATTRIBUTES_DOUBLE_MAX];
	struct profcol_value value = { .type = PROFCOL_VALUE_DOUBLE };
	struct profcol_text text;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		value.real = cases[i].value;
		assert_true(attributes_value_text(NULL, &value, space, &text));
		assert_string_equal(text.bytes, cases[i].text);
		assert_int_equal(text.length, strlen(cases[i].text));
	}
	// The longest there are.
	value.real = -5e-324;
	assert_true(attributes_value_text(NULL, &value, space, &text));
	assert_int_equal(text.length, strlen("-0.") + 324);
	value.real = -2.2250738585072014e-308;
	assert_true(attributes_value_text(NULL, &value, space, &text));
	assert_int_equal(text.length, strlen("-0.") + 307 + 17);
	value.real = -1.7976931348623157e308;
	assert_true(attributes_value_text(NULL, &value, space, &text));
	assert_int_equal(text.length, strlen("-") + 309);
}

static void faults_are_named(void **state)
{
	static const struct {
		const char *yaml, *text;
	} cases[] = {
		{ "level: sample", "missing required field \"actions\"" },
		{ "level: frame\n" MARK, "unknown value \"frame\" (valid values: [resource sample "
					 "location mapping])" },
		{ MARK "\ninclude: {}",
		  "include: at least one of \"attributes\", \"libraries\",  or "
		  "\"resources\" field must be specified" },
		{ MARK "\nexclude: {match_type: strict}",
		  "exclude: at least one of \"attributes\"" },
		{ MARK "\ninclude: {services: [a]}",
		  "include::match_type: unrecognized match_type: '', valid types are: [regexp "
		  "strict]" },
		{ MARK "\ninclude: {match_type: exact, attributes: [{key: a, value: b}]}",
		  "unrecognized match_type: 'exact'" },
		{ MARK "\ninclude: {match_type: strict, attributes: [{value: b}]}",
		  "include::attributes::0: can't have empty key in the list of attributes" },
		{ MARK "\ninclude: {match_type: regexp, attributes: [{key: a, value: 1}]}",
		  "match_type=regexp for \"a\" only supports Str, but found Int" },
		{ MARK "\ninclude: {match_type: regexp, resources: [{key: a, value: '['}]}",
		  "include::resources::0" },
		{ MARK "\ninclude: {match_type: regexp, services: ['(?<!a)b']}",
		  "include::services::0" },
		{ MARK "\ninclude: {match_type: strict, libraries: [{name: a, version: 1.0}]}",
		  "include::libraries::0::version: expected type 'string'" },
		{ MARK "\ninclude: {match_type: strict, span_names: [a]}",
		  "include::span_names: span_names should not be specified for profiles" },
		{ MARK "\ninclude: {match_type: strict, log_severity_number: {min: 9}}",
		  "include::log_severity_number: log_severity_number should not be specified" },
		{ MARK "\nlevel: mapping\ninclude: {match_type: strict, services: [a]}",
		  "services should not be specified for locations and mappings" },
		{ MARK "\nlevel: resource\ninclude: {match_type: strict, libraries: [{name: a}]}",
		  "libraries should not be specified for level: resource" },
		{ "actions: [{key: k, action: x}]",
		  "actions::0: error with key \"k\" (0-th action)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(PROCESSOR, cases[i].yaml, cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_chosen_by_include_and_exclude),
		cmocka_unit_test(resources_have_their_level),
		cmocka_unit_test(locations_have_their_level),
		cmocka_unit_test(mappings_have_their_level),
		cmocka_unit_test(entries_that_become_equal_are_one),
		cmocka_unit_test(what_is_removed_from_samples_leaves_no_text),
		cmocka_unit_test(doubt_hides),
		cmocka_unit_test(original_payloads_go_with_what_is_removed),
		cmocka_unit_test(what_is_added_leaves_the_dictionary_as_it_was),
		cmocka_unit_test(doubles_have_plain_text),
		cmocka_unit_test(faults_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
