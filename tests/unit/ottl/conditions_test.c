// SPDX-License-Identifier: Apache-2.0
/*
 * What conditions say of the batch in ottl_batch.c. Those above the line are the Collector's
 * language, and were evaluated by pkg/ottl 0.159 with the same results; below it is what we add, or
 * do otherwise (lib/ottl/README.md).
 */
#include "ottl/ottl.h"
#include "tests/unit/ottl/ottl_batch.h"

#include "base/base.h"

// cmocka wants these before itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define R OTTL_RESOURCE
#define C OTTL_SCOPE
#define P OTTL_PROFILE
#define S OTTL_SAMPLE
#define F OTTL_FALSE
#define T OTTL_TRUE
#define E OTTL_ERROR

struct expectation {
	enum ottl_context context;
	const char *text;
	enum ottl_result result; /* for the first resource, scope, profile and sample */
};

static const struct expectation collector[] = {
	// ---- literals and boolean operators
	{ R, "true", T },
	{ R, "false", F },
	{ R, "not true", F },
	{ R, "not false", T },
	{ R, "(true)", T },
	{ R, "not (true and false)", T },
	{ R, "true and true", T },
	{ R, "true and false", F },
	{ R, "false or true", T },
	{ R, "false or false", F },
	{ R, "true or false and false", T },
	{ R, "(true or false) and false", F },
	{ R, "not false and false", F },
	{ R, "not (false and false)", T },
	{ R, "true or 1 / 0 == 1", T },
	{ R, "false and 1 / 0 == 1", F },
	{ R, "1 / 0 == 1 or true", T },
	{ R, "1 / 0 == 1 and 1 == 2", F },
	{ R, "1 / 0 == 1 and true", E },
	{ R, "1 / 0 == 1 or (not true)", E },
	{ R, "((((1 == 1))))", T },
	// ---- comparisons of one type
	{ R, "1 == 1", T },
	{ R, "1 != 1", F },
	{ R, "1 < 2", T },
	{ R, "2 <= 1", F },
	{ R, "2 >= 2", T },
	{ R, "-1 > -2", T },
	{ R, "1.5 == 1.5", T },
	{ R, ".5 < 1.", T },
	{ R, "1.5e3 == 1500", T },
	{ R, "\"a\" < \"b\"", T },
	{ R, "\"a\" == \"a\"", T },
	{ R, "\"ab\" > \"a\"", T },
	{ R, "\"B\" < \"a\"", T },
	{ R, "true > false", T },
	{ R, "true == true", T },
	{ R, "0x01ff == 0x01FF", T },
	{ R, "0x01 < 0x02", T },
	{ R, "0x01 != 0x0100", T },
	{ R, "nil == nil", T },
	{ R, "nil != nil", F },
	{ R, "nil <= nil", T },
	{ R, "nil < nil", F },
	{ R, "[1, 2] == [1, 2]", T },
	{ R, "[1, 2] == [2, 1]", F },
	{ R, "[1, 2] != [1]", T },
	{ R, "[] == []", T },
	{ R, "[1] < [2]", F },
	{ R, "[1] == [1.0]", F },
	{ R, "[\"a\", [nil, true]] == [\"a\", [nil, true]]", T },
	{ R, "{\"a\": 1} == {\"a\": 1}", T },
	{ R, "{\"a\": 1, \"b\": 2} == {\"b\": 2, \"a\": 1}", T },
	{ R, "{\"a\": 1} != {\"a\": 2}", T },
	// ---- of two types
	{ R, "1 == 1.0", T },
	{ R, "1 < 1.5", T },
	{ R, "2.5 >= 2", T },
	{ R, "1 == \"1\"", F },
	{ R, "1 != \"1\"", T },
	{ R, "1 < \"2\"", F },
	{ R, "true == 1", F },
	{ R, "\"\" == nil", F },
	{ R, "nil != 0", T },
	{ R, "0 < nil", F },
	{ R, "[] == nil", F },
	{ R, "0x61 == \"a\"", F },
	{ R, "00012 == 10", T },
	{ R, "0 == 00", T },
	{ R, "0x00 == nil", F },
	// ---- strings
	{ R, "\"a\\tb\" == \"a\\x09b\"", T },
	{ R, "\"\\u00dc\" == \"\\xdc\"", T },
	{ R, "\"\\u00dc\" == \"\\334\"", T },
	{ R, "Len(\"\\xff\") == 2", T },
	{ R, "\"a\nb\" == \"a\\nb\"", T },
	{ R, "\"\\\\d\" == \"\\134d\"", T },
	{ R, "Len(\"\\\"\\\"\") == 2", T },
	// ---- arithmetic
	{ R, "1 + 1 == 2", T },
	{ R, "1 + 2 * 3 == 7", T },
	{ R, "(1 + 2) * 3 == 9", T },
	{ R, "10 - 2 - 3 == 5", T },
	{ R, "7 / 2 == 3", T },
	{ R, "-7 / 2 == -3", T },
	{ R, "7.0 / 2 == 3.5", T },
	{ R, "1 + 0.5 == 1.5", T },
	{ R, "2 * (3 - (4 - 1)) == 0", T },
	{ R, "-(1 + 2) == -3", T },
	{ R, "+1 == 1", T },
	{ R, "9223372036854775807 + 1 < 0", T },
	{ R, "1 / 0 == 1", E },
	{ R, "1.0 / 0 == 1", E },
	{ R, "1 + attributes[\"service.name\"] == 1", E },
	{ R, "-attributes[\"prod\"] == 1", E },
	{ R, "attributes[\"host.cpus\"] * 2 == 16", T },
	{ R, "attributes[\"host.cpus\"] - attributes[\"load\"] == 7.25", T },
	{ P, "duration / 1000000000 == 5", T },
	{ P, "time - time < time", F },
	{ P, "time - time == time - time", T },
	{ P, "time + (time - time) == time", T },
	{ P, "time + time == time", E },
	{ P, "time * 2 == time", E },
	// ---- paths
	{ R, "attributes[\"service.name\"] == \"checkout\"", T },
	{ R, "resource.attributes[\"service.name\"] == \"checkout\"", T },
	{ R, "attributes[\"service.name\"] != \"checkout\"", F },
	{ R, "attributes[\"none\"] == nil", T },
	{ R, "attributes[\"none\"] != nil", F },
	{ R, "attributes[\"none\"] == \"\"", F },
	{ R, "attributes[\"none\"][\"deeper\"] == nil", T },
	{ R, "attributes[\"empty\"] == nil", T },
	{ R, "attributes[\"host.cpus\"] == 8", T },
	{ R, "attributes[\"load\"] > 0.5", T },
	{ R, "attributes[\"prod\"] == true", T },
	{ R, "attributes[\"raw\"] == 0x01ff", T },
	{ R, "attributes[\"list\"] == [\"a\", \"b\", 3]", T },
	{ R, "attributes[\"list\"][0] == \"a\"", T },
	{ R, "attributes[\"list\"][2] == 3", T },
	{ R, "attributes[\"list\"][3] == nil", E },
	{ R, "attributes[\"list\"][-1] == nil", E },
	{ R, "attributes[\"list\"][\"a\"] == nil", E },
	{ R, "attributes[\"map\"][\"a\"] == 1", T },
	{ R, "attributes[\"map\"][\"b\"][\"c\"][1] == \"y\"", T },
	{ R, "attributes[\"map\"][\"none\"] == nil", T },
	{ R, "attributes[\"map\"][\"n\"] == nil", T },
	{ R, "attributes[\"map\"][0] == nil", E },
	{ R, "attributes[\"service.name\"][\"a\"] == nil", E },
	{ R, "attributes[\"map\"] == {\"a\": 1, \"b\": {\"c\": [\"x\", \"y\"]}, \"n\": nil}", T },
	{ R, "attributes[Concat([\"service\", \"name\"], \".\")] == \"checkout\"", T },
	{ R, "attributes[attributes[\"none\"]] == nil", E },
	{ R, "Len(attributes) == 12", T },
	{ R, "dropped_attributes_count == 3", T },
	{ R, "schema_url == \"https://opentelemetry.io/schemas/1.40.0\"", T },
	{ R, "cache[\"x\"] == nil", T },
	{ R, "resource.cache[\"x\"][\"y\"] == nil", T },
	{ C, "name == \"profcol\" and version == \"1.2.3\"", T },
	{ C, "scope.name == instrumentation_scope.name", T },
	{ C, "attributes[\"scope.key\"] == \"v\"", T },
	{ C, "dropped_attributes_count == 1", T },
	{ C, "schema_url == \"https://example.com/scope\"", T },
	{ C, "resource.attributes[\"prod\"] == true", T },
	{ P, "sample_type.type == \"samples\"", T },
	{ P, "profile.sample_type.unit == \"count\"", T },
	{ P, "period_type.type == \"cpu\"", T },
	{ P, "period_type.unit == \"nanoseconds\"", T },
	{ P, "sample_type == nil", F },
	{ P, "sample == nil", F },
	{ P, "period == 10101010", T },
	{ P, "time_unix_nano == 1700000000000000000", T },
	{ P, "time > time", F },
	{ P, "time == time_unix_nano", F },
	{ P, "duration_unix_nano == 5000000000", T },
	{ P, "profile_id.string == \"ab0102030405060708090a0b0c0d0e0f\"", T },
	{ P, "profile_id == profile_id", T },
	{ P, "profile_id == 0xab0102030405060708090a0b0c0d0e0f", F },
	{ P, "dropped_attributes_count == 2", T },
	{ P, "original_payload_format == \"pprof\"", T },
	{ P, "original_payload == 0x1f8b", T },
	{ P, "attributes[\"profile.kind\"] == \"cpu\"", T },
	{ P, "Len(attribute_indices) == 1", T },
	{ P, "resource.attributes[\"load\"] == 0.75 and scope.name == \"profcol\"", T },
	{ S, "attributes[\"thread.name\"] == \"worker-1\"", T },
	{ S, "profilesample.attributes[\"thread.id\"] == 77", T },
	{ S, "Len(values) == 2", T },
	{ S, "Index(values, 4) == 1", T },
	{ S, "Len(timestamps) == 2", T },
	{ S, "Index(timestamps_unix_nano, 1700000000000000002) == 1", T },
	{ S, "Len(attribute_indices) == 2", T },
	{ S, "link_index > 0", T },
	// ---- converters
	{ R, "IsMatch(attributes[\"service.name\"], \"^check\")", T },
	{ R, "IsMatch(attributes[\"service.name\"], \"^out\")", F },
	{ R, "IsMatch(attributes[\"service.name\"], \"(?i)CHECKOUT\")", T },
	{ R, "IsMatch(attributes[\"none\"], \".*\")", F },
	{ R, "IsMatch(attributes[\"host.cpus\"], \"^8$\")", T },
	{ R, "IsMatch(attributes[\"prod\"], \"true\")", T },
	{ R, "IsMatch(attributes[\"raw\"], \"^01ff$\")", T },
	{ R, "IsMatch(attributes[\"list\"], \"^\\\\[\\\"a\\\",\\\"b\\\",3\\\\]$\")", T },
	{ R, "IsMatch(\"a\\nb\", \"a.b\")", F },
	{ R, "IsMatch(\"a\\n\", \"a$\")", F },
	{ R, "IsMatch(\"checkout\", attributes[\"service.name\"])", T },
	{ R, "IsMatch(\"a\", attributes[\"none\"])", E },
	{ R, "IsMatch(\"x\", \"y\") == false", T },
	{ R, "not IsMatch(target=\"x\", pattern=\"y\")", T },
	{ R, "IsMatch(pattern=\"y\", target=\"xy\")", T },
	{ R, "IsString(attributes[\"service.name\"])", T },
	{ R, "IsString(attributes[\"host.cpus\"])", F },
	{ R, "IsString(attributes[\"none\"])", F },
	{ R, "IsString(1 / attributes[\"host.cpus\"])", F },
	{ R, "Int(\"42\") == 42", T },
	{ R, "Int(\"-7\") + Int(\"+7\") == 0", T },
	{ R, "Int(\"4 2\") == nil", T },
	{ R, "Int(\"1.5\") == nil", T },
	{ R, "Int(\"\") == nil", T },
	{ R, "Int(\"9223372036854775808\") == nil", T },
	{ R, "Int(1.9) == 1", T },
	{ R, "Int(-1.9) == -1", T },
	{ R, "Int(true) == 1", T },
	{ R, "Int(nil) == nil", T },
	{ R, "Int(attributes[\"number\"]) > 41", T },
	{ R, "Int(attributes[\"list\"]) == 1", E },
	{ R, "Double(\"1.5\") == 1.5", T },
	{ R, "Double(\"-1e3\") == -1000", T },
	{ R, "Double(\"inf\") > 1", T },
	{ R, "Double(2) == 2.0", T },
	{ R, "Double(false) == 0", T },
	{ R, "Double(nil) == nil", T },
	{ R, "Double(attributes[\"service.name\"]) == 1", E },
	{ R, "Double(attributes[\"float\"]) == 1.5", T },
	{ R, "String(1) == \"1\"", T },
	{ R, "String(1.5) == \"1.5\"", T },
	{ R, "String(1.0) == \"1\"", T },
	{ R, "String(0.0000001) == \"1e-07\"", T },
	{ R, "String(123456789012345680000.0) == \"123456789012345680000\"", T },
	{ R, "String(true) == \"true\"", T },
	{ R, "String(nil) == nil", T },
	{ R, "String(\"a\") == \"a\"", T },
	{ R, "String(0x01ff) == \"01ff\"", T },
	{ R,
	  "String([1, \"<a>\", nil, 0x01]) == "
	  "\"[1,\\\"\\\\u003ca\\\\u003e\\\",null,\\\"AQ==\\\"]\"",
	  T },
	{ R,
	  "String(attributes[\"map\"]) == "
	  "\"{\\\"a\\\":1,\\\"b\\\":{\\\"c\\\":[\\\"x\\\",\\\"y\\\"]},\\\"n\\\":null}\"",
	  T },
	{ P, "String(time) == \"\\\"2023-11-14T22:13:20Z\\\"\"", T },
	{ P, "String(sample_type) == \"{}\"", T },
	{ R, "Len(\"abc\") == 3", T },
	{ R,
	  "String([\"\\x01\\x1f\\n\\t\\\"\\\\\"]) == "
	  "\"[\\\"\\\\u0001\\\\u001f\\\\n\\\\t\\\\\\\"\\\\\\\\\\\"]\"",
	  T },
	{ R, "Len(\"\\u00dc\") == 2", T },
	{ R, "Len(attributes[\"list\"]) == 3", T },
	{ R, "Len(attributes[\"map\"]) == 3", T },
	{ R, "Len([1, 2]) == 2", T },
	{ R, "Len(0x010203) == 3", T },
	{ R, "Len(attributes[\"none\"]) == 0", E },
	{ R, "Len(1) == 1", E },
	{ R, "Concat([\"a\", 1, true, nil], \"-\") == \"a-1-true-<nil>\"", T },
	{ R, "Concat([], \"-\") == \"\"", T },
	{ R, "Concat([attributes[\"service.name\"]], \"\") == \"checkout\"", T },
	{ R, "Concat([1.5, [2]], attributes[\"none\"]) == \"\"", E },
	{ R, "Substring(\"checkout\", 0, 5) == \"check\"", T },
	{ R, "Substring(\"checkout\", 5, 3) == \"out\"", T },
	{ R, "Substring(\"checkout\", start=5, length=3) == \"out\"", T },
	{ R, "Substring(\"abc\", 1, 3) == \"\"", E },
	{ R, "Substring(\"abc\", 0, 0) == \"\"", E },
	{ R, "Substring(\"abc\", -1, 1) == \"\"", E },
	{ R, "Substring(\"Z\\u00dcR\", 0, 2, true) == \"Z\"", T },
	{ R, "Substring(\"Z\\u00dcR\", 2, 2, utf8_safe=true) == \"R\"", T },
	{ R, "Len(Substring(\"Z\\u00dcR\", 0, 2)) == 2", T },
	{ R, "Substring(attributes[\"none\"], 0, 1) == \"\"", E },
	{ R, "ToLowerCase(\"ABC xyz 1\") == \"abc xyz 1\"", T },
	{ R, "ToLowerCase(attributes[\"city\"]) == \"z\\u00fcrich\"", T },
	{ R, "ToLowerCase(\"\\u0391\\u0416\\u0130\") != \"\"", T },
	{ R, "ToLowerCase(\"\\u0391\\u0416\") == \"\\u03b1\\u0436\"", T },
	{ R, "ToLowerCase(\"\") == \"\"", T },
	{ R, "ToLowerCase(attributes[\"prod\"]) == \"\"", E },
	{ R, "HasPrefix(attributes[\"service.name\"], \"check\")", T },
	{ R, "HasPrefix(\"a\", \"ab\")", F },
	{ R, "HasPrefix(\"a\", \"\")", T },
	{ R, "HasPrefix(attributes[\"none\"], \"a\")", E },
	{ R, "HasSuffix(attributes[\"service.name\"], \"out\")", T },
	{ R, "HasSuffix(\"b\", \"ab\")", F },
	{ R, "Split(\"a,b,c\", \",\")[1] == \"b\"", T },
	{ R, "Len(Split(\"a,b,,c\", \",\")) == 4", T },
	{ R, "Len(Split(\"\", \",\")) == 1", T },
	{ R, "Len(Split(\"\", \"\")) == 0", T },
	{ R, "Len(Split(\"Z\\u00dcR\", \"\")) == 3", T },
	{ R, "Split(\"a\", \",\")[1] == nil", E },
	{ R, "Split(\"a\", \",\")[\"a\"] == nil", E },
	{ R, "Index(\"checkout\", \"k\") == 4", T },
	{ R, "Index(\"checkout\", \"x\") == -1", T },
	{ R, "Index(\"checkout\", \"\") == 0", T },
	{ R, "Index(\"checkout\", 1) == 0", E },
	{ R, "Index(attributes[\"list\"], \"b\") == 1", T },
	{ R, "Index(attributes[\"list\"], 3.0) == 2", T },
	{ R, "Index([1, 2], 3) == -1", T },
	{ R, "Index(Split(\"a,b\", \",\"), \"b\") == 1", T },
	{ R, "Index(1, 1) == 0", E },
};

static const struct expectation own[] = {
	// ---- lists of texts and of numbers can be compared
	{ R, "Split(\"a,b\", \",\") == [\"a\", \"b\"]", T },
	{ S, "values == [3, 4]", T },
	{ S, "values != [3]", T },
	{ S, "timestamps_unix_nano == [1700000000000000001, 1700000000000000002]", T },
	{ P, "String(profile_id) == profile_id.string", T },
	{ R, "attributes[\"list\"][1 + 1] == 3", T },
	// ---- whose a path is
	{ S, "sample.attributes[\"thread.id\"] == 77", T },
	{ S, "profile.sample_type.type == \"samples\" and profile.period > 1", T },
	{ S, "resource.attributes[\"host.cpus\"] > scope.dropped_attributes_count", T },
	// ---- frames: any of them
	{ S, "frame.function == \"main\"", T },
	{ S, "frame.function == \"run\"", T },
	{ S, "frame.function == \"schedule\"", F },
	{ S, "frame.function == \"\"", T },
	{ S, "frame.file == \"malloc.c\"", T },
	{ S, "frame.type == \"native\"", T },
	{ S, "frame.type == \"kernel\"", F },
	{ S, "mapping.filename == \"/usr/bin/app\"", T },
	{ S, "HasSuffix(mapping.filename, \"libc.so.6\")", T },
	{ S, "IsMatch(frame.function, \"^mal\")", T },
	{ S, "IsMatch(frame.function, \"^sched\")", F },
	{ S, "Len(frame.function) > 5", T },
	{ S, "frame.function < \"b\"", T }, // the nameless one
	{ S, "ToLowerCase(frame.function) == \"main\" and frame.file == \"malloc.c\"", T },
	// ---- no frame: the opposite of any
	{ S, "frame.function != \"main\"", F },
	{ S, "frame.function != \"schedule\"", T },
	{ S, "not frame.function == \"main\"", F },
	{ S, "not frame.function == \"schedule\"", T },
	{ S, "not frame.function != \"main\"", T },
	{ S, "not IsMatch(frame.function, \"^sched\")", T },
	{ S, "IsMatch(frame.function, \"^mal\") == false", T }, // another one
	// ---- of one and the same frame
	{ S, "Concat([frame.function, frame.file], \"@\") == \"main@app.c\"", T },
	{ S, "Concat([frame.function, frame.file], \"@\") == \"main@malloc.c\"", F },
	{ S, "Concat([mapping.filename, frame.function], \"!\") == \"/usr/bin/app!run\"", T },
	{ S, "Concat([frame.type, frame.function], \"!\") == \"native!\"", T },
	// ---- beside what is not of a frame
	{ S, "frame.function == resource.attributes[\"service.name\"]", F },
	{ S, "Concat([\"ma\", \"in\"], attributes[\"thread.id\"][0]) == frame.function", E },
	{ S, "Len(frame.function) == Len(attributes[\"thread.name\"]) - 4", T },
	{ S, "Len(frame.function) == stack.depth", T },
	{ S, "stack.depth == 4", T },
	{ S, "stack.depth > 3 and frame.function == \"main\"", T },
	{ S, "stack.depth > 4 or frame.function == \"none\"", F },
};

static enum ottl_result evaluate(const struct profcol_batch *batch, enum ottl_context context,
				 const char *text, uint32_t sample)
{
	struct ottl_position position = { .sample = sample };
	OTTL_CLEANUP_RUN struct ottl_run *run = ottl_run_create(batch);
	struct ottl_condition *condition = NULL;
	struct profcol_error *error = ottl_compile(context, text, &condition);
	enum ottl_result result, again;

	if (error)
		fail_msg("%s: %s", text, profcol_error_message(error));
	assert_non_null(run);
	assert_string_equal(ottl_condition_text(condition), text);
	assert_int_equal(ottl_condition_context(condition), context);
	result = ottl_evaluate(condition, run, &position);
	if (result == OTTL_ERROR)
		assert_string_not_equal(ottl_run_message(run), "");
	// What is remembered is what was found out.
	again = ottl_evaluate(condition, run, &position);
	assert_int_equal(again, result);
	ottl_condition_destroy(condition);
	return result;
}

static void expect_all(const struct expectation *expectations, size_t count)
{
	struct profcol_batch *batch = ottl_batch_create();
	size_t wrong = 0;

	for (size_t i = 0; i < count; i++) {
		const struct expectation *expected = &expectations[i];
		enum ottl_result result = evaluate(batch, expected->context, expected->text, 0);

		if (result == expected->result)
			continue;
		print_error("%s: %d instead of %d\n", expected->text, result, expected->result);
		wrong++;
	}
	profcol_batch_unref(batch);
	assert_int_equal(wrong, 0);
}

static void conditions_of_the_collector_have_its_results(void **state)
{
	(void)state;
	expect_all(collector, sizeof(collector) / sizeof(collector[0]));
}

static void frames_and_lists_can_be_asked_for(void **state)
{
	(void)state;
	expect_all(own, sizeof(own) / sizeof(own[0]));
}

static void a_condition_is_of_the_sample_it_is_evaluated_for(void **state)
{
	static const struct {
		const char *text;
		enum ottl_result results[3];
	} cases[] = {
		{ "attributes[\"thread.name\"] == \"worker-1\"", { T, F, F } },
		{ "IsMatch(attributes[\"thread.name\"], \"^kworker\")", { F, T, F } },
		{ "attributes[\"thread.name\"] == nil", { F, F, T } },
		{ "Len(values) == 0", { F, T, F } },
		{ "Len(timestamps) == 0", { F, F, T } },
		{ "frame.type == \"kernel\"", { F, T, F } },
		{ "frame.type != \"kernel\"", { T, F, T } },
		{ "mapping.filename == \"\"", { F, T, F } },
		{ "stack.depth == 0", { F, F, T } },
		{ "frame.function == \"schedule\" or attributes[\"thread.id\"] == 77",
		  { T, T, F } },
		{ "not (frame.file == \"app.c\" and stack.depth > 2)", { F, T, T } },
	};
	struct profcol_batch *batch = ottl_batch_create();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (uint32_t sample = 0; sample < 3; sample++)
			if (evaluate(batch, OTTL_SAMPLE, cases[i].text, sample) !=
			    cases[i].results[sample])
				fail_msg("%s: sample %u", cases[i].text, sample);
	profcol_batch_unref(batch);
}

static void the_innermost_context_of_a_path_is_the_conditions(void **state)
{
	static const struct {
		const char *text;
		enum ottl_context context;
	} cases[] = {
		{ "resource.attributes[\"x\"] == nil", OTTL_RESOURCE },
		{ "scope.name == resource.schema_url", OTTL_SCOPE },
		{ "resource.schema_url == instrumentation_scope.name", OTTL_SCOPE },
		{ "profile.period > 0 and resource.attributes[\"x\"] == nil", OTTL_PROFILE },
		{ "profile.sample_type.type == \"cpu\"", OTTL_PROFILE },
		{ "not (resource.schema_url == \"\" or sample.link_index == 1)", OTTL_SAMPLE },
		{ "profilesample.link_index + 1 > Len(profile.attributes)", OTTL_SAMPLE },
		{ "frame.function == \"main\"", OTTL_SAMPLE },
		{ "stack.depth > 1", OTTL_SAMPLE },
		{ "HasPrefix(mapping.filename, \"/lib\")", OTTL_SAMPLE },
		{ "resource.attributes[profile.sample_type.type] == nil", OTTL_PROFILE },
		{ "IsMatch(Concat([scope.name], \"\"), \"x\")", OTTL_SCOPE },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ottl_condition *condition = NULL;
		struct profcol_error *error = ottl_compile_inferred(cases[i].text, &condition);

		if (error)
			fail_msg("%s: %s", cases[i].text, profcol_error_message(error));
		assert_int_equal(ottl_condition_context(condition), cases[i].context);
		ottl_condition_destroy(condition);
	}
}

static void contexts_have_the_collectors_names(void **state)
{
	enum ottl_context context = OTTL_RESOURCE;

	(void)state;
	assert_true(ottl_context_parse("sample", &context) && context == OTTL_SAMPLE);
	assert_true(ottl_context_parse("profilesample", &context) && context == OTTL_SAMPLE);
	assert_true(ottl_context_parse("profile", &context) && context == OTTL_PROFILE);
	assert_true(ottl_context_parse("instrumentation_scope", &context) && context == OTTL_SCOPE);
	assert_true(ottl_context_parse("resource", &context) && context == OTTL_RESOURCE);
	assert_false(ottl_context_parse("span", &context));
	assert_false(ottl_context_parse("frame", &context));
	assert_string_equal(ottl_context_name(OTTL_SAMPLE), "profilesample");
	assert_string_equal(ottl_context_name(OTTL_SCOPE), "scope");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_of_the_collector_have_its_results),
		cmocka_unit_test(frames_and_lists_can_be_asked_for),
		cmocka_unit_test(a_condition_is_of_the_sample_it_is_evaluated_for),
		cmocka_unit_test(the_innermost_context_of_a_path_is_the_conditions),
		cmocka_unit_test(contexts_have_the_collectors_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
