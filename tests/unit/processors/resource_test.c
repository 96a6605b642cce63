// SPDX-License-Identifier: Apache-2.0
/* The processor `resource`: what each action makes of attributes, and what it refuses. */
#include "processor_fixture.h"
#include "shop_batch.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

extern const struct profcol_component profcol_processor_resource;

#define PROCESSOR (&profcol_processor_resource)

/* An attribute of shop's resource after @actions, as text with its type in front. */
struct expectation {
	const char *actions; /* items of `attributes`, one after the other */
	const char *key;
	const char *value; /* "string x", "int 1", "double 1", "bool true"; NULL: not there */
};

static void print_value(const struct profcol_batch *batch, const struct profcol_value *value,
			char *to, size_t size)
{
	switch (value->type) {
	case PROFCOL_VALUE_STRING:
		snprintf(to, size, "string %s", profcol_batch_string(batch, value->string).bytes);
		break;
	case PROFCOL_VALUE_INT:
		snprintf(to, size, "int %lld", (long long)value->integer);
		break;
	case PROFCOL_VALUE_DOUBLE:
		snprintf(to, size, "double %.17g", value->real);
		break;
	case PROFCOL_VALUE_BOOL:
		snprintf(to, size, "bool %s", value->boolean ? "true" : "false");
		break;
	default:
		snprintf(to, size, "type %d", (int)value->type);
	}
}

static void expect_all(const struct expectation *expectations, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct expectation *expected = &expectations[i];
		CLEANUP_FREE char *yaml = NULL;
		struct processor processor;
		const struct profcol_batch *batch;
		struct profcol_value value;
		char text[256] = "";

		assert_true(asprintf(&yaml, "attributes: [%s]", expected->actions) > 0);
		processor_start(&processor, PROCESSOR, yaml);
		batch = processor_consume(&processor, shop_batch_create());
		value = find_value(batch, resource_list(batch, 0), expected->key);
		if (value.type != PROFCOL_VALUE_EMPTY)
			print_value(batch, &value, text, sizeof(text));
		if (strcmp(text, expected->value ? expected->value : ""))
			fail_msg("%s: %s is '%s', not '%s'", expected->actions, expected->key, text,
				 expected->value ? expected->value : "");
		assert_int_equal(profcol_batch_events(batch), SHOP_EVENTS + CRON_EVENTS);
		processor_deinit(&processor);
	}
}

#define EXPECT_ALL(expectations)                                                                   \
	expect_all(expectations, sizeof(expectations) / sizeof((expectations)[0]))

static void values_are_set(void **state)
{
	static const struct expectation expectations[] = {
		{ "{key: team, value: pay, action: insert}", "team", "string pay" },
		{ "{key: service.name, value: other, action: insert}", "service.name",
		  "string shop" },
		{ "{key: service.name, value: other, action: update}", "service.name",
		  "string other" },
		{ "{key: team, value: pay, action: update}", "team", NULL },
		{ "{key: team, value: pay, action: upsert}", "team", "string pay" },
		{ "{key: service.name, value: other, action: UPSERT}", "service.name",
		  "string other" },
		{ "{key: number, value: 12, action: insert}", "number", "int 12" },
		{ "{key: number, value: '12', action: insert}", "number", "string 12" },
		{ "{key: number, value: 1.5, action: insert}", "number", "double 1.5" },
		{ "{key: yes, value: true, action: insert}", "yes", "bool true" },
		{ "{key: process.pid, value: none, action: update}", "process.pid", "string none" },
	};

	(void)state;
	EXPECT_ALL(expectations);
}

static void values_come_from_other_attributes(void **state)
{
	static const struct expectation expectations[] = {
		{ "{key: copy, from_attribute: service.name, action: insert}", "copy",
		  "string shop" },
		{ "{key: copy, from_attribute: process.pid, action: upsert}", "copy", "int 4711" },
		{ "{key: copy, from_attribute: missing, action: insert}", "copy", NULL },
		{ "{key: copy, from_attribute: missing, default_value: 7, action: insert}", "copy",
		  "int 7" },
		{ "{key: copy, from_context: metadata.tenant, action: insert}", "copy", NULL },
		{ "{key: copy, from_context: x, default_value: none, action: insert}", "copy",
		  "string none" },
		{ "{key: copy, default_value: none, action: insert}", "copy", "string none" },
		// In order: the second sees what the first has done.
		{ "{key: a, value: 1, action: insert}, {key: b, from_attribute: a, action: insert}",
		  "b", "int 1" },
	};

	(void)state;
	EXPECT_ALL(expectations);
}

static void attributes_are_removed(void **state)
{
	static const struct expectation expectations[] = {
		{ "{key: service.name, action: delete}", "service.name", NULL },
		{ "{key: missing, action: delete}", "service.name", "string shop" },
		{ "{pattern: '^k8s[.]', action: delete}", "k8s.namespace.name", NULL },
		{ "{pattern: '^k8s[.]', action: delete}", "service.name", "string shop" },
		{ "{key: process.pid, pattern: service, action: delete}", "process.pid", NULL },
		{ "{key: process.pid, pattern: service, action: delete}", "service.name", NULL },
	};

	(void)state;
	EXPECT_ALL(expectations);
}

/* The hashes are SHA-256 of the text, of one byte, and of eight bytes, least significant first. */
static void values_are_hashed(void **state)
{
	static const struct expectation expectations[] = {
		{ "{key: service.name, action: hash}", "service.name",
		  "string 8d9001d32c6a703d95921a77115050f33dd823d3f1730bd35215dcbecad6dc20" },
		{ "{key: container.privileged, action: hash}", "container.privileged",
		  "string 4bf5122f344554c53bde2ebb8cd2b7e3d1600ad631c385a5d7cce23c7785459a" },
		{ "{key: process.pid, action: hash}", "process.pid",
		  "string 5fe8597e0dc460c6635f71149d9ba24ffe4cef7741516398fb664b738af5e2b9" },
		{ "{key: load, action: hash}", "load",
		  "string 4cfa5b42ca669328764e67cd9a34bb8f90b16ed7ca8d85e8443783d7ccce15ed" },
		{ "{pattern: '^service', action: hash}", "service.name",
		  "string 8d9001d32c6a703d95921a77115050f33dd823d3f1730bd35215dcbecad6dc20" },
		{ "{key: list, value: [1, 2], action: insert}, {key: list, action: hash}", "list",
		  "string " },
		{ "{key: missing, action: hash}", "missing", NULL },
	};

	(void)state;
	EXPECT_ALL(expectations);
}

static void groups_of_a_pattern_become_attributes(void **state)
{
#define COMMAND "{key: c, value: 'run --user=eve x', action: insert}, "
	static const struct expectation expectations[] = {
		{ COMMAND "{key: c, pattern: '--user=(?P<user>\\w+)', action: extract}", "user",
		  "string eve" },
		{ COMMAND "{key: c, pattern: '^(?P<a>\\w+) .* (?P<b>\\w)$', action: extract}", "b",
		  "string x" },
		{ COMMAND "{key: c, pattern: '^(?P<a>\\w+)(?P<none>Z)?', action: extract}", "none",
		  "string " },
		{ COMMAND "{key: c, pattern: 'zzz(?P<a>.)', action: extract}", "a", NULL },
		{ COMMAND "{key: c, pattern: '(?P<load>eve)', action: extract}", "load",
		  "string eve" },
		// Only of text.
		{ "{key: process.pid, pattern: '(?P<digit>4)', action: extract}", "digit", NULL },
	};

	(void)state;
	EXPECT_ALL(expectations);
#undef COMMAND
}

static void values_are_converted(void **state)
{
#define CONVERT(value, type)                                                                       \
	"{key: v, value: " value ", action: insert}, "                                             \
	"{key: v, converted_type: " type ", action: convert}"
	static const struct expectation expectations[] = {
		{ CONVERT("'42'", "int"), "v", "int 42" },
		{ CONVERT("'+42'", "int"), "v", "int 42" },
		{ CONVERT("'-9223372036854775808'", "int"), "v", "int -9223372036854775808" },
		{ CONVERT("'9223372036854775808'", "int"), "v", "string 9223372036854775808" },
		{ CONVERT("' 42'", "int"), "v", "string  42" },
		{ CONVERT("'0x10'", "int"), "v", "string 0x10" },
		{ CONVERT("'4.2'", "int"), "v", "string 4.2" },
		{ CONVERT("''", "int"), "v", "string " },
		{ CONVERT("4.9", "int"), "v", "int 4" },
		{ CONVERT("-4.9", "int"), "v", "int -4" },
		{ CONVERT("true", "int"), "v", "int 1" },
		{ CONVERT("'4.25'", "double"), "v", "double 4.25" },
		{ CONVERT("'1e3'", "double"), "v", "double 1000" },
		{ CONVERT("'0x1f'", "double"), "v", "string 0x1f" },
		{ CONVERT("'0x1fp1'", "double"), "v", "double 62" },
		{ CONVERT("'nan(1)'", "double"), "v", "string nan(1)" },
		{ CONVERT("'1e999'", "double"), "v", "string 1e999" },
		{ CONVERT("' 1'", "double"), "v", "string  1" },
		{ CONVERT("7", "double"), "v", "double 7" },
		{ CONVERT("false", "double"), "v", "double 0" },
		{ CONVERT("7", "string"), "v", "string 7" },
		{ CONVERT("true", "string"), "v", "string true" },
		{ CONVERT("0.1", "string"), "v", "string 0.1" },
		{ CONVERT("1.0", "string"), "v", "string 1" },
		{ CONVERT("-250.0", "string"), "v", "string -250" },
		{ CONVERT("123456.789", "string"), "v", "string 123456.789" },
		{ CONVERT("1e20", "string"), "v", "string 100000000000000000000" },
		{ CONVERT("1e21", "string"), "v", "string 1e+21" },
		{ CONVERT("1.5e-7", "string"), "v", "string 1.5e-7" },
		{ CONVERT("0.000001", "string"), "v", "string 0.000001" },
		{ CONVERT("[1]", "string"), "v", "type 6" },
	};

	(void)state;
	EXPECT_ALL(expectations);
#undef CONVERT
}

static void lists_and_maps_are_values_too(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch;
	struct profcol_value list, map;
	// AnyValue: an array of "a" and 1; and a list of one pair of "k" and true.
	static const uint8_t array[] = { 0x2a, 9, 0x0a, 3, 0x0a, 1, 'a', 0x0a, 2, 0x18, 1 };
	static const uint8_t pairs[] = { 0x32, 9, 0x0a, 7, 0x0a, 1, 'k', 0x12, 2, 0x10, 1 };

	(void)state;
	processor_start(&processor, PROCESSOR,
			"attributes: [{key: l, value: [a, 1], action: insert},"
			" {key: m, value: {k: true}, action: insert}]");
	batch = processor_consume(&processor, shop_batch_create());
	list = find_value(batch, resource_list(batch, 0), "l");
	map = find_value(batch, resource_list(batch, 0), "m");
	assert_int_equal(list.type, PROFCOL_VALUE_ARRAY);
	assert_int_equal(map.type, PROFCOL_VALUE_KVLIST);
	assert_int_equal(profcol_batch_blob(batch, list.blob).length, sizeof(array));
	assert_memory_equal(profcol_batch_blob(batch, list.blob).bytes, array, sizeof(array));
	assert_int_equal(profcol_batch_blob(batch, map.blob).length, sizeof(pairs));
	assert_memory_equal(profcol_batch_blob(batch, map.blob).bytes, pairs, sizeof(pairs));
	processor_deinit(&processor);
}

/* Of the resource that an action is not about, and of everything else, nothing changes. */
static void the_rest_stays(void **state)
{
	struct processor processor;
	struct profcol_batch *before = shop_batch_create();
	const struct profcol_batch *after;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"attributes: [{key: container.privileged, action: delete}]");
	after = processor_consume(&processor, profcol_batch_ref(before));
	assert_ptr_not_equal(after, before);
	assert_int_equal(find_value(before, resource_list(before, 0), "container.privileged").type,
			 PROFCOL_VALUE_BOOL);
	expect_text(after, resource_list(after, 1), "process.command_line",
		    "cron --password=hunter2");
	for (uint32_t row = 0; row < 4; row++)
		assert_int_equal(profcol_batch_sample(after, row).value_count,
				 profcol_batch_sample(before, row).value_count);
	expect_text(after, sample_list(after, 3), "user.email", "alice@example.com");
	profcol_batch_unref(before);
	processor_deinit(&processor);
}

static void a_batch_without_anything_to_change_is_passed_on_as_it_is(void **state)
{
	struct processor processor;
	struct profcol_batch *before = shop_batch_create();

	(void)state;
	processor_start(&processor, PROCESSOR,
			"attributes: [{key: missing, action: delete},"
			" {key: service.name, value: x, action: insert}]");
	assert_ptr_equal(processor_consume(&processor, profcol_batch_ref(before)), before);
	profcol_batch_unref(before);
	processor_deinit(&processor);
}

static void what_is_removed_or_hashed_leaves_no_text(void **state)
{
	static const char *const actions[] = {
		"{key: process.command_line, action: delete}",
		"{key: process.command_line, action: hash}",
		"{key: process.command_line, value: hidden, action: update}",
		"{pattern: command, action: delete}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		CLEANUP_FREE char *yaml = NULL;
		struct processor processor;
		struct profcol_batch *before = shop_batch_create();
		const struct profcol_batch *batch;

		assert_true(is_anywhere(before, "hunter2"));
		assert_true(asprintf(&yaml, "attributes: [%s]", actions[i]) > 0);
		processor_start(&processor, PROCESSOR, yaml);
		batch = processor_consume(&processor, before);
		assert_false(is_anywhere(batch, "hunter2"));
		assert_true(is_anywhere(batch, "sweep"));
		processor_deinit(&processor);
	}
}

static void a_refusal_behind_it_comes_back(void **state)
{
	struct processor processor;
	struct profcol_error *error;

	(void)state;
	processor_start(&processor, PROCESSOR, "attributes: [{key: a, value: 1, action: insert}]");
	processor.refusal = profcol_error_create(PROFCOL_UNAVAILABLE, "queue is full");
	error = PROCESSOR->consume(processor.fake.instance, shop_batch_create());
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_UNAVAILABLE);
	profcol_error_destroy(error);
	processor_deinit(&processor);
}

static void faults_are_named_in_the_collectors_words(void **state)
{
#define PLACE     "attributes::0: error creating AttrProc"
#define WITH_KEY  "attributes::0: error with key \"k\" (0-th action): error creating AttrProc"
#define ACTION(x) "attributes: [{" x "}]"
	static const struct {
		const char *yaml, *text;
	} cases[] = {
		{ "", "missing required field \"attributes\"" },
		{ "attributes: []", "missing required field \"attributes\"" },
		{ ACTION("action: insert, value: 1"),
		  PLACE " due to missing required field \"key\" at the 0-th action" },
		{ ACTION("action: delete"),
		  PLACE " due to missing required field (at least one of \"key\" and \"pattern\" "
			"have to be used) at the 0-th action" },
		{ ACTION("key: k, action: insert"),
		  WITH_KEY ". Either field \"value\", \"from_attribute\", \"from_context\", or "
			   "\"default_value\" must be specified" },
		{ ACTION("key: k, action: insert, value: 1, from_attribute: a"),
		  WITH_KEY " due to multiple value sources being set" },
		{ ACTION("key: k, action: upsert, value: 1, pattern: a"),
		  WITH_KEY ". Action \"upsert\" does not use the \"pattern\" field. This must not "
			   "be specified" },
		{ ACTION("key: k, action: update, value: 1, converted_type: int"),
		  WITH_KEY ". Action \"update\" does not use the \"converted_type\" field." },
		{ ACTION("key: k, action: delete, value: 1"), WITH_KEY
		  ". Action \"delete\" does not use \"value\" or \"from_attribute\" field." },
		{ ACTION("key: k, action: hash, pattern: '('"),
		  WITH_KEY ". Field \"pattern\" has invalid pattern: \"(\"" },
		{ ACTION("key: k, action: hash, pattern: '(?=a)'"),
		  WITH_KEY ". Field \"pattern\" has invalid pattern: \"(?=a)\"" },
		{ ACTION("key: k, action: hash, converted_type: int"),
		  WITH_KEY ". Action \"hash\" does not use the \"converted_type\" field." },
		{ ACTION("key: k, action: extract, value: 1"),
		  WITH_KEY ". Action \"extract\" does not use a value source field." },
		{ ACTION("key: k, action: extract"),
		  WITH_KEY " due to missing required field \"pattern\" for action \"extract\"" },
		{ ACTION("key: k, action: extract, pattern: abc"),
		  WITH_KEY ". Field \"pattern\" contains no named matcher groups" },
		{ ACTION("key: k, action: extract, pattern: '(?P<a>.)(b)'"),
		  WITH_KEY ". Field \"pattern\" contains at least one unnamed matcher group" },
		{ ACTION("key: k, action: extract, pattern: '(b)'"),
		  WITH_KEY ". Field \"pattern\" contains at least one unnamed matcher group" },
		{ ACTION("key: k, action: convert"),
		  WITH_KEY " due to missing required field \"converted_type\" for action "
			   "\"convert\"" },
		{ ACTION("key: k, action: convert, converted_type: bool"),
		  WITH_KEY " due to invalid value \"bool\" in field \"converted_type\" for action "
			   "\"convert\"" },
		{ ACTION("key: k, action: convert, converted_type: int, value: 1"), WITH_KEY
		  ". Action \"convert\" does not use value sources or \"pattern\" field." },
		{ ACTION("key: k, action: insrt, value: 1"),
		  WITH_KEY " due to unsupported action \"insrt\"; did you mean insert" },
		{ ACTION("key: k, value: 1"), WITH_KEY " due to unsupported action \"\"" },
		{ ACTION("key: k, action: insert, valu: 1"), "did you mean 'value'?" },
		{ ACTION("key: 1, action: insert, value: 1"), "expected type 'string'" },
		{ "attributes: [{key: a, action: delete}, {key: k, action: x}]",
		  "attributes::1: error with key \"k\" (1-th action)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(PROCESSOR, cases[i].yaml, cases[i].text);
#undef PLACE
#undef WITH_KEY
#undef ACTION
}

/* Parentheses that capture nothing are no groups without a name. */
static void patterns_may_have_other_parentheses(void **state)
{
	static const char *const patterns[] = {
		"(?:a)(?P<x>b)", "\\((?P<x>b)",          "[(](?P<x>b)",     "[]()](?P<x>b)",
		"[^](](?P<x>b)", "[[:alpha:](](?P<x>b)", "\\Q(\\E(?P<x>b)", "(?i)(?P<x>b)",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
		CLEANUP_FREE char *yaml = NULL;
		struct processor processor;

		assert_true(asprintf(&yaml,
				     "attributes: [{key: k, action: extract, pattern: '%s'}]",
				     patterns[i]) > 0);
		processor_start(&processor, PROCESSOR, yaml);
		processor_deinit(&processor);
	}
}

static void from_context_is_accepted_with_a_warning(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"attributes: [{key: a, from_context: metadata.x, action: insert}]");
	assert_int_equal(fake_host_log_count(&processor.fake, "warn 'from_context' finds nothing"),
			 1);
	processor_deinit(&processor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_set),
		cmocka_unit_test(values_come_from_other_attributes),
		cmocka_unit_test(attributes_are_removed),
		cmocka_unit_test(values_are_hashed),
		cmocka_unit_test(groups_of_a_pattern_become_attributes),
		cmocka_unit_test(values_are_converted),
		cmocka_unit_test(lists_and_maps_are_values_too),
		cmocka_unit_test(the_rest_stays),
		cmocka_unit_test(a_batch_without_anything_to_change_is_passed_on_as_it_is),
		cmocka_unit_test(what_is_removed_or_hashed_leaves_no_text),
		cmocka_unit_test(a_refusal_behind_it_comes_back),
		cmocka_unit_test(faults_are_named_in_the_collectors_words),
		cmocka_unit_test(patterns_may_have_other_parentheses),
		cmocka_unit_test(from_context_is_accepted_with_a_warning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
