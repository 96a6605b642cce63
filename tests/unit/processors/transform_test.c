// SPDX-License-Identifier: Apache-2.0
/* The processor `transform`: what statements make of a batch, what they leave, what is refused. */
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

extern const struct profcol_component profcol_processor_transform;

#define PROCESSOR (&profcol_processor_transform)

/* One attribute as text: "text", 42, 0.5, true, [list], {map}; nothing for what is not there. */
static void print_value(const struct profcol_batch *batch, struct profcol_value value, char *to,
			size_t size)
{
	switch (value.type) {
	case PROFCOL_VALUE_STRING:
		snprintf(to, size, "\"%s\"", profcol_batch_string(batch, value.string).bytes);
		break;
	case PROFCOL_VALUE_INT:
		snprintf(to, size, "%lld", (long long)value.integer);
		break;
	case PROFCOL_VALUE_DOUBLE:
		snprintf(to, size, "%g", value.real);
		break;
	case PROFCOL_VALUE_BOOL:
		snprintf(to, size, "%s", value.boolean ? "true" : "false");
		break;
	case PROFCOL_VALUE_ARRAY:
		snprintf(to, size, "[list]");
		break;
	case PROFCOL_VALUE_KVLIST:
		snprintf(to, size, "{map}");
		break;
	default:
		*to = '\0';
	}
}

/* All attributes of @list: "key=value key=value". */
static void print_list(const struct profcol_batch *batch, uint32_t list, char *to, size_t size)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);
	size_t length = 0;
	char value[256];

	*to = '\0';
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		print_value(batch, attribute.value, value, sizeof(value));
		length += (size_t)snprintf(to + length, size - length, "%s%s=%s", i ? " " : "",
					   profcol_batch_string(batch, attribute.key).bytes, value);
	}
}

struct expectation {
	const char *statement; /* in double quotes: YAML's, so \" and \\ */
	const char *left;      /* attributes of shop's resource, or of the first sample of it */
};

static void expect(const struct expectation *expectation, bool of_sample)
{
	struct processor processor;
	const struct profcol_batch *batch;
	char yaml[1024], got[1024];

	snprintf(yaml, sizeof(yaml), "error_mode: propagate\nprofile_statements:\n- '%s'\n",
		 expectation->statement);
	processor_start(&processor, PROCESSOR, yaml);
	batch = processor_consume(&processor, shop_batch_create());
	assert_non_null(batch);
	assert_int_equal(profcol_batch_events(batch), SHOP_EVENTS + CRON_EVENTS);
	print_list(batch, of_sample ? sample_list(batch, 0) : resource_list(batch, 0), got,
		   sizeof(got));
	if (strcmp(got, expectation->left))
		fail_msg("%s: '%s', not '%s'", expectation->statement, got, expectation->left);
	processor_deinit(&processor);
}

#define BEGIN "service.name=\"shop\" k8s.namespace.name=\"prod\" process.pid=4711 load=0.5 "
#define ALL   BEGIN "container.privileged=true"

static void editors_of_a_resource(void **state)
{
	static const struct expectation expectations[] = {
		{ "set(resource.attributes[\"new\"], 7)", ALL " new=7" },
		{ "set(resource.attributes[\"load\"], \"high\")",
		  "service.name=\"shop\" k8s.namespace.name=\"prod\" process.pid=4711 "
		  "load=\"high\" container.privileged=true" },
		{ "set(resource.attributes[\"new\"], nil)", ALL },
		{ "set(resource.attributes[\"new\"], resource.attributes[\"missing\"])", ALL },
		{ "set(resource.attributes[\"a\"][\"b\"], 1)", ALL " a={map}" },
		{ "set(resource.attributes[\"a\"][2], 1)", ALL " a=[list]" },
		{ "set(resource.attributes, {\"only\": 1.5})", "only=1.5" },
		{ "append(resource.attributes[\"load\"], 2)",
		  "service.name=\"shop\" k8s.namespace.name=\"prod\" process.pid=4711 "
		  "load=[list] container.privileged=true" },
		{ "delete_key(resource.attributes, \"container.privileged\")",
		  "service.name=\"shop\" k8s.namespace.name=\"prod\" process.pid=4711 load=0.5" },
		{ "delete_key(resource.attributes, \"missing\")", ALL },
		{ "delete_matching_keys(resource.attributes, \"^(load|k8s)\")",
		  "service.name=\"shop\" process.pid=4711 container.privileged=true" },
		{ "keep_keys(resource.attributes, [\"load\", \"missing\"])", "load=0.5" },
		{ "keep_matching_keys(resource.attributes, \"[.]name$\")",
		  "service.name=\"shop\" k8s.namespace.name=\"prod\"" },
		{ "limit(resource.attributes, 2, [\"load\"])", "service.name=\"shop\" load=0.5" },
		{ "limit(resource.attributes, 9, [])", ALL },
		{ "truncate_all(resource.attributes, 2)",
		  "service.name=\"sh\" k8s.namespace.name=\"pr\" process.pid=4711 load=0.5 "
		  "container.privileged=true" },
		{ "truncate_all(resource.attributes, 3, true, \"~\")",
		  "service.name=\"sh~\" k8s.namespace.name=\"pr~\" process.pid=4711 load=0.5 "
		  "container.privileged=true" },
		{ "stringify_all(resource.attributes)",
		  "service.name=\"shop\" k8s.namespace.name=\"prod\" process.pid=\"4711\" "
		  "load=\"0.5\" container.privileged=\"true\"" },
		{ "replace_pattern(resource.attributes[\"service.name\"], \"(h)(o)\", "
		  "\"${2}-$1$$\")",
		  "service.name=\"so-h$p\" k8s.namespace.name=\"prod\" process.pid=4711 load=0.5 "
		  "container.privileged=true" },
		{ "replace_pattern(resource.attributes[\"service.name\"], \"x*\", \"-\")",
		  "service.name=\"-s-h-o-p-\" k8s.namespace.name=\"prod\" process.pid=4711 "
		  "load=0.5 container.privileged=true" },
		{ "replace_pattern(resource.attributes[\"service.name\"], \"^.*$\", \"$0\", "
		  "MD5, \"<%s>\")",
		  "service.name=\"<fb54f3c5992b96d001bb16e8e92d968d>\" "
		  "k8s.namespace.name=\"prod\" process.pid=4711 load=0.5 "
		  "container.privileged=true" },
		{ "replace_match(resource.attributes[\"service.name\"], \"s?o{p,q}\", \"mart\")",
		  "service.name=\"mart\" k8s.namespace.name=\"prod\" process.pid=4711 load=0.5 "
		  "container.privileged=true" },
		{ "replace_match(resource.attributes[\"service.name\"], \"s\", \"mart\")", ALL },
		{ "replace_all_patterns(resource.attributes, \"value\", \"^(.)\", \"$1$1\")",
		  "service.name=\"sshop\" k8s.namespace.name=\"pprod\" process.pid=4711 load=0.5 "
		  "container.privileged=true" },
		{ "replace_all_patterns(resource.attributes, \"key\", \"[.]\", \"_\")",
		  "service_name=\"shop\" k8s_namespace_name=\"prod\" process_pid=4711 load=0.5 "
		  "container_privileged=true" },
		{ "replace_all_matches(resource.attributes, \"*o*\", \"o\")",
		  "service.name=\"o\" k8s.namespace.name=\"o\" process.pid=4711 load=0.5 "
		  "container.privileged=true" },
		{ "merge_maps(resource.attributes, {\"load\": 9, \"x\": 1}, \"insert\")",
		  ALL " x=1" },
		{ "merge_maps(resource.attributes, {\"load\": 9, \"x\": 1}, \"update\")",
		  "service.name=\"shop\" k8s.namespace.name=\"prod\" process.pid=4711 load=9 "
		  "container.privileged=true" },
		{ "merge_maps(resource.attributes, {\"load\": 9, \"x\": 1}, \"upsert\")",
		  "service.name=\"shop\" k8s.namespace.name=\"prod\" process.pid=4711 load=9 "
		  "container.privileged=true x=1" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++)
		expect(&expectations[i], false);
}

static void converters_in_statements(void **state)
{
	static const struct expectation expectations[] = {
		{ "set(resource.attributes[\"x\"], "
		  "ToUpperCase(resource.attributes[\"service.name\"]))",
		  ALL " x=\"SHOP\"" },
		{ "set(resource.attributes[\"x\"], Trim(\"--a-\", \"-\"))", ALL " x=\"a\"" },
		{ "set(resource.attributes[\"x\"], TrimPrefix(\"abc\", \"a\"))", ALL " x=\"bc\"" },
		{ "set(resource.attributes[\"x\"], TrimSuffix(\"abc\", \"c\"))", ALL " x=\"ab\"" },
		{ "set(resource.attributes[\"x\"], ConvertCase(\"aB\", \"upper\"))",
		  ALL " x=\"AB\"" },
		{ "set(resource.attributes[\"x\"], "
		  "ExtractPatterns(\"a=1\", \"(?P<key>.)=(?P<value>.)\")[\"value\"])",
		  ALL " x=\"1\"" },
		{ "set(resource.attributes[\"x\"], Coalesce([resource.attributes[\"no\"], 3]))",
		  ALL " x=3" },
		{ "set(resource.attributes[\"x\"], FNV(\"hello\"))",
		  ALL " x=-6615550055289275125" },
		{ "set(resource.attributes[\"x\"], Hex(\"hi\"))", ALL " x=\"6869\"" },
		{ "set(resource.attributes[\"x\"], IsMap(resource.attributes))", ALL " x=true" },
		{ "set(resource.attributes[\"x\"], Bool(\"T\"))", ALL " x=true" },
		{ "set(resource.attributes[\"x\"], ContainsValue([1, \"a\"], \"a\"))",
		  ALL " x=true" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expectations) / sizeof(expectations[0]); i++)
		expect(&expectations[i], false);
}

static void statements_have_conditions(void **state)
{
	static const struct expectation resources[] = {
		{ "set(resource.attributes[\"x\"], 1) where resource.attributes[\"load\"] < 1",
		  ALL " x=1" },
		{ "set(resource.attributes[\"x\"], 1) where resource.attributes[\"load\"] > 1",
		  ALL },
	};
	static const struct expectation samples[] = {
		{ "set(sample.attributes[\"pays\"], true) where frame.function == \"pay\"",
		  "thread.name=\"web\" cpu=1 pays=true" },
		{ "set(sample.attributes[\"pays\"], true) where frame.function == \"sweep\"",
		  "thread.name=\"web\" cpu=1" },
		{ "set(sample.attributes[\"s\"], resource.attributes[\"service.name\"]) where "
		  "stack.depth == 2",
		  "thread.name=\"web\" cpu=1 s=\"shop\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
		expect(&resources[i], false);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		expect(&samples[i], true);
}

/* The batch after @yaml, of which @list is printed. */
static void expect_group(const char *yaml, const char *resource, const char *sample)
{
	struct processor processor;
	const struct profcol_batch *batch;
	char got[1024];

	processor_start(&processor, PROCESSOR, yaml);
	batch = processor_consume(&processor, shop_batch_create());
	print_list(batch, resource_list(batch, 0), got, sizeof(got));
	assert_string_equal(got, resource);
	print_list(batch, sample_list(batch, 0), got, sizeof(got));
	assert_string_equal(got, sample);
	processor_deinit(&processor);
}

static void groups_have_context_conditions_and_a_cache(void **state)
{
	(void)state;
	expect_group("profile_statements:\n"
		     "- context: resource\n"
		     "  conditions: ['attributes[\"load\"] > 1', 'attributes[\"load\"] == 0.5']\n"
		     "  statements:\n"
		     "  - set(cache[\"n\"], attributes[\"service.name\"])\n"
		     "  - set(attributes[\"copy\"], cache[\"n\"])\n"
		     "- context: profilesample\n"
		     "  conditions: ['frame.function == \"nobody\"']\n"
		     "  statements: ['set(attributes[\"x\"], 1)']\n",
		     ALL " copy=\"shop\"", "thread.name=\"web\" cpu=1");
	// Texts have one cache, and so the innermost context of all.
	expect_group("profile_statements:\n"
		     "- set(sample.cache[\"n\"], resource.attributes[\"load\"])\n"
		     "- set(sample.attributes[\"load\"], sample.cache[\"n\"])\n"
		     "- set(resource.attributes[\"by\"], sample.attributes[\"thread.name\"]) where "
		     "sample.attributes[\"thread.name\"] == \"batch\"\n",
		     ALL " by=\"batch\"", "thread.name=\"web\" cpu=1 load=0.5");
	expect_group(
		"profile_statements:\n"
		"- statements: ['set(resource.attributes[\"a\"], \"1\")']\n"
		"- statements: ['set(sample.attributes[\"b\"], resource.attributes[\"a\"])']\n",
		ALL " a=\"1\"", "thread.name=\"web\" cpu=1 b=\"1\"");
}

static void other_signals_have_no_effect(void **state)
{
	(void)state;
	expect_group("trace_statements: ['set(span.name, \"x\")']\n"
		     "log_statements: [{context: log, statements: ['set(body, \"x\")']}]\n"
		     "profile_statements: []\n",
		     ALL, "thread.name=\"web\" cpu=1");
}

/* A batch in which nothing has changed is handed on as it is. */
static void nothing_to_do(void **state)
{
	struct processor processor;
	struct profcol_batch *batch = shop_batch_create();

	(void)state;
	processor_start(
		&processor, PROCESSOR,
		"profile_statements: ['delete_key(resource.attributes, \"a\") where false']");
	assert_ptr_equal(processor_consume(&processor, batch), batch);
	processor_deinit(&processor);
}

static void errors_go_by_the_mode(void **state)
{
	static const char statement[] =
		"profile_statements: ['set(resource.attributes[\"x\"], 1 / 0)', "
		"'set(resource.attributes[\"y\"], 1)']\n";
	static const char *const modes[] = { "", "error_mode: ignore\n", "error_mode: silent\n" };
	struct processor processor;
	struct profcol_error *error;
	char yaml[512];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		snprintf(yaml, sizeof(yaml), "%s%s", modes[i], statement);
		expect_group(yaml, ALL " y=1", "thread.name=\"web\" cpu=1");
	}
	snprintf(yaml, sizeof(yaml), "error_mode: propagate\n%s", statement);
	processor_start(&processor, PROCESSOR, yaml);
	error = PROCESSOR->consume(processor.fake.instance, shop_batch_create());
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	assert_non_null(strstr(profcol_error_message(error), "attempted to divide by 0"));
	profcol_error_destroy(error);
	assert_int_equal(processor.passed_count, 0);
	processor_deinit(&processor);
}

/* Samples are counted by their type: as many come out as went in. */
static void the_type_that_counts_stays(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch;
	struct profcol_range samples;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"profile_statements: ['set(profile.sample_type.type, \"events\")', "
			"'set(profile.period_type.type, \"wall\")']");
	batch = processor_consume(&processor, shop_batch_create());
	assert_int_equal(profcol_batch_events(batch), SHOP_EVENTS + CRON_EVENTS);
	for (uint32_t row = 0; row < profcol_batch_count(batch, PROFCOL_PROFILES); row++) {
		struct profcol_profile profile = profcol_batch_profile(batch, row, &samples);
		const char *type = profcol_batch_string(batch, profile.sample_type).bytes;

		assert_string_equal(type, row == 1 ? "events" : "samples");
		assert_string_equal(profcol_batch_string(batch, profile.period_type).bytes, "wall");
	}
	processor_deinit(&processor);
}

static void what_is_wrong_is_refused_at_the_start(void **state)
{
	static const struct {
		const char *statement, *text;
	} cases[] = {
		{ "sett(resource.attributes[\"x\"], 1)", "did you mean \"set\"" },
		{ "Set(resource.attributes[\"x\"], 1)", "must start with a lowercase letter" },
		{ "set(resource.attributes[\"x\"])", "incorrect number of arguments" },
		{ "set(resource.attributes[\"x\"], 1) when true", "unexpected token \"when\"" },
		{ "set(resource.attributes[\"x\"], 1) where", "a value or a condition" },
		{ "set(attributes[\"x\"], 1)", "unable to infer context" },
		{ "set(\"x\", resource.schema_url)", "changes a path" },
		{ "set(sample.values, resource.attributes[\"a\"])", "cannot be changed" },
		{ "set(sample.attributes[\"f\"], frame.function)", "does not say which" },
		{ "set(frame.function, \"x\") where resource.attributes[\"a\"] == 1",
		  "can use frame and mapping only" },
		{ "set(mapping.filename, frame.file)", "can use mapping only" },
		{ "limit(resource.attributes, -1, [])", "cannot be negative" },
		{ "limit(resource.attributes, 1, [\"a\", \"b\"])", "priority attributes" },
		{ "replace_all_patterns(resource.attributes, \"values\", \"a\", \"b\")", "either" },
		{ "replace_pattern(resource.attributes[\"x\"], \"(\", \"b\")", "regex" },
		{ "replace_match(resource.attributes[\"x\"], \"{a\", \"b\")", "glob" },
		{ "replace_pattern(resource.attributes[\"x\"], \"a\", \"b\", IsMatch)",
		  "more than one text" },
		{ "merge_maps(resource.attributes, {\"a\": 1}, \"merge\")", "strategy" },
		{ "flatten(resource.attributes, depth=0)", "greater than 0" },
		{ "set(resource.attributes[\"x\"], ParseXML(\"\"))", "undefined function" },
	};
	char yaml[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(yaml, sizeof(yaml), "profile_statements: ['%s']", cases[i].statement);
		assert_refused(PROCESSOR, yaml, cases[i].text);
	}
	assert_refused(PROCESSOR, "flatten_data: true", "take it away");
	assert_refused(PROCESSOR, "profile_statements: [{context: span}]", "context");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(editors_of_a_resource),
		cmocka_unit_test(converters_in_statements),
		cmocka_unit_test(statements_have_conditions),
		cmocka_unit_test(groups_have_context_conditions_and_a_cache),
		cmocka_unit_test(other_signals_have_no_effect),
		cmocka_unit_test(nothing_to_do),
		cmocka_unit_test(errors_go_by_the_mode),
		cmocka_unit_test(the_type_that_counts_stays),
		cmocka_unit_test(what_is_wrong_is_refused_at_the_start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
