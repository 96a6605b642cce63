// SPDX-License-Identifier: Apache-2.0
/* The processor `filter`: what stays of a batch, how the rest is booked, what is refused. */
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

extern const struct profcol_component profcol_processor_filter;

#define PROCESSOR (&profcol_processor_filter)

/*
 * The samples of the test batch, by a letter each: Web and Batch of shop, web of shop in the scope
 * `other` (O), Cron. They are known again by thread and number of events.
 */
static char sample_letter(const struct profcol_batch *batch, uint32_t row)
{
	struct profcol_value thread = find_value(batch, sample_list(batch, row), "thread.name");
	const char *name = profcol_batch_string(batch, thread.string).bytes;

	if (!strcmp(name, "batch"))
		return 'B';
	if (!strcmp(name, "sweeper"))
		return 'C';
	return profcol_batch_sample(batch, row).timestamp_count ? 'W' : 'O';
}

static void print_left(const struct profcol_batch *batch, char *to)
{
	uint32_t count = batch ? profcol_batch_count(batch, PROFCOL_SAMPLES) : 0;

	for (uint32_t row = 0; row < count; row++)
		*to++ = sample_letter(batch, row);
	*to = '\0';
}

static uint64_t events(const struct profcol_batch *batch)
{
	return batch ? profcol_batch_events(batch) : 0;
}

/* What stays when the filter has @yaml, and that the rest is booked. */
static void expect_left(const char *yaml, const char *expected)
{
	struct processor processor;
	const struct profcol_batch *batch;
	char got[8];

	processor_start(&processor, PROCESSOR, yaml);
	batch = processor_consume(&processor, shop_batch_create());
	print_left(batch, got);
	if (strcmp(got, expected))
		fail_msg("%s: '%s', not '%s'", yaml, got, expected);
	assert_int_equal(events(batch) + processor.fake.lost, SHOP_EVENTS + CRON_EVENTS);
	assert_int_equal(fake_host_metric(&processor.fake, "processor_filter_profiles_filtered"),
			 processor.fake.lost);
	assert_int_equal(processor.passed_count, *expected != '\0');
	processor_deinit(&processor);
}

struct expectation {
	const char *yaml, *left;
};

static void expect_all(const struct expectation *expectations, size_t count)
{
	for (size_t i = 0; i < count; i++)
		expect_left(expectations[i].yaml, expectations[i].left);
}

#define EXPECT_ALL(expectations)                                                                   \
	expect_all(expectations, sizeof(expectations) / sizeof((expectations)[0]))

static void conditions_drop_what_they_are_true_of(void **state)
{
	static const struct expectation expectations[] = {
		{ "", "WBOC" },
		{ "profile_conditions: []", "WBOC" },
		{ "profile_conditions: ['resource.attributes[\"service.name\"] == \"shop\"']",
		  "C" },
		{ "profile_conditions: ['resource.attributes[\"missing\"] == nil']", "" },
		{ "profile_conditions: ['scope.name == \"other\"']", "WBC" },
		{ "profile_conditions: ['instrumentation_scope.version == \"1.0\"']", "O" },
		{ "profile_conditions: ['profile.sample_type.type == \"cpu\"']", "WBC" },
		{ "profile_conditions: ['profile.duration_unix_nano > 3000']", "WBOC" },
		{ "profile_conditions: ['sample.attributes[\"thread.name\"] == \"web\"']", "BC" },
		{ "profile_conditions: ['profilesample.attributes[\"cpu\"] == 1']", "BOC" },
		{ "profile_conditions: ['frame.function == \"pay\"']", "BC" },
		{ "profile_conditions: ['frame.type == \"cpython\"']", "WBO" },
		{ "profile_conditions: ['IsMatch(mapping.filename, \"^/opt/\")']", "WBO" },
		// Any of them.
		{ "profile_conditions: ['scope.name == \"other\"',"
		  " 'sample.attributes[\"thread.name\"] == \"batch\"']",
		  "WC" },
		// One condition over two levels.
		{ "profile_conditions: ['resource.attributes[\"service.name\"] == \"shop\" and "
		  "sample.attributes[\"thread.name\"] == \"batch\"']",
		  "WOC" },
	};

	(void)state;
	EXPECT_ALL(expectations);
}

static void groups_have_a_context_of_their_own(void **state)
{
	static const struct expectation expectations[] = {
		{ "profile_conditions: [{context: resource,"
		  " conditions: ['attributes[\"service.name\"] == \"cron\"']}]",
		  "WBO" },
		{ "profile_conditions: [{context: scope, conditions: ['name == \"other\"']}]",
		  "WBC" },
		{ "profile_conditions: [{context: sample,"
		  " conditions: ['attributes[\"thread.name\"] == \"web\"']}]",
		  "BC" },
		{ "profile_conditions: [{context: profilesample,"
		  " conditions: ['attributes[\"thread.name\"] == \"web\"']}]",
		  "BC" },
		{ "profile_conditions: [{conditions: ['scope.name == \"other\"']},"
		  " {context: profile, conditions: ['sample_type.type == \"samples\"']}]",
		  "" },
		{ "profile_conditions: [{context: resource, conditions: []}]", "WBOC" },
	};

	(void)state;
	EXPECT_ALL(expectations);
}

static void the_older_form_means_the_same(void **state)
{
	static const struct expectation expectations[] = {
		{ "profiles: {resource: ['attributes[\"service.name\"] == \"cron\"']}", "WBO" },
		{ "profiles: {profile: ['sample_type.type == \"cpu\"']}", "WBC" },
		{ "profiles: {resource: ['attributes[\"service.name\"] == \"cron\"'],"
		  " profile: ['sample_type.type == \"cpu\"']}",
		  "WB" },
	};

	(void)state;
	EXPECT_ALL(expectations);
}

static void attributes_select(void **state)
{
	static const struct expectation expectations[] = {
		{ "exclude_attributes: [{key: service.name, values: [shop]}]", "C" },
		{ "include_attributes: [{key: service.name, values: [shop]}]", "WBO" },
		{ "include_attributes: [{key: service.name, values: [x, shop, cron]}]", "WBOC" },
		{ "include_attributes: [{key: service.name, regexes: ['^c']}]", "C" },
		{ "include_attributes: [{key: container.privileged}]", "WBO" },
		{ "include_attributes: [{key: process.pid, values: ['815']}]", "C" },
		{ "include_attributes: [{key: load, values: ['0.5']}]", "WBO" },
		{ "include_attributes: [{key: container.privileged, values: ['true']}]", "WBO" },
		{ "include_attributes: [{key: missing}]", "" },
		{ "exclude_attributes: [{key: missing}]", "WBOC" },
		{ "exclude_attributes: [{level: sample, key: thread.name, values: [web]}]", "BC" },
		{ "include_attributes: [{level: sample, key: cpu}]", "W" },
		{ "exclude_attributes: [{level: location, key: profile.frame.type,"
		  " values: [cpython]}]",
		  "WBO" },
		// Of cron one frame is native.
		{ "exclude_attributes: [{level: location, key: profile.frame.type,"
		  " values: [native]}]",
		  "" },
		{ "include_attributes: [{level: mapping, key: process.executable.build_id.gnu,"
		  " regexes: ['^0C']}]",
		  "" },
		{ "include_attributes: [{level: mapping, key: process.executable.build_id.gnu,"
		  " regexes: ['(?i)^0C']}]",
		  "C" },
		// Any entry; and what is excluded goes, be it included.
		{ "include_attributes: [{key: service.name, values: [cron]},"
		  " {level: sample, key: thread.name, values: [batch]}]",
		  "BC" },
		{ "include_attributes: [{key: service.name, values: [shop]}]\n"
		  "exclude_attributes: [{level: sample, key: thread.name, values: [web]}]",
		  "B" },
		{ "include_attributes: [{key: service.name, values: [shop]}]\n"
		  "profile_conditions: ['scope.name == \"other\"']",
		  "WB" },
	};

	(void)state;
	EXPECT_ALL(expectations);
}

static void each_cause_is_booked(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"profile_conditions: ['scope.name == \"other\"']\n"
			"include_attributes: [{key: service.name, values: [shop]}]\n"
			"exclude_attributes:"
			" [{level: sample, key: thread.name, values: [batch, web]}]");
	assert_null(processor_consume(&processor, shop_batch_create()));
	assert_int_equal(fake_host_lost_by(&processor.fake, "condition"), 1);
	assert_int_equal(fake_host_lost_by(&processor.fake, "include_attributes"), CRON_EVENTS);
	assert_int_equal(fake_host_lost_by(&processor.fake, "exclude_attributes"), 5);
	processor_deinit(&processor);
}

static void what_stays_has_its_place(void **state)
{
	struct processor processor;
	const struct profcol_batch *batch;
	struct profcol_range range;
	uint32_t count;
	const uint32_t *frames;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"profile_conditions: ['scope.name == \"other\"',"
			" 'sample.attributes[\"thread.name\"] == \"web\"']");
	batch = processor_consume(&processor, shop_batch_create());
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 2);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SCOPES), 2);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES), 2);
	expect_text(batch, resource_list(batch, 1), "service.name", "cron");
	expect_int(batch, resource_list(batch, 0), "process.pid", 4711);
	assert_int_equal(profcol_batch_profile(batch, 0, &range).time_unix_ns, 1000);
	assert_int_equal(range.end - range.begin, 1);
	assert_int_equal(profcol_batch_sample(batch, 0).values[0], 2);
	frames = profcol_batch_stack(batch, profcol_batch_sample(batch, 0).stack, &count);
	assert_int_equal(count, 2);
	assert_int_equal(
		profcol_batch_mapping(batch, profcol_batch_location(batch, frames[0]).mapping)
			.filename,
		profcol_batch_mapping(batch, find_mapping(batch, "/usr/bin/shop")).filename);
	assert_int_equal(profcol_batch_sample(batch, 1).timestamps_unix_ns[3], 1004);
	processor_deinit(&processor);
}

static void a_batch_that_stays_is_passed_on_as_it_is(void **state)
{
	struct processor processor;
	struct profcol_batch *before = shop_batch_create();

	(void)state;
	processor_start(&processor, PROCESSOR,
			"profile_conditions: ['scope.name == \"nobody\"']\n"
			"exclude_attributes: [{key: service.name, values: [nobody]}]");
	assert_ptr_equal(processor_consume(&processor, profcol_batch_ref(before)), before);
	profcol_batch_unref(before);
	processor_deinit(&processor);
}

/* Profiles without samples stay, until a condition is true of them. */
static void empty_profiles_stay_unless_a_condition_is_true(void **state)
{
	static const struct {
		const char *yaml;
		bool stays;
	} cases[] = {
		{ "profile_conditions: ['sample.attributes[\"x\"] == nil']", true },
		{ "profile_conditions: ['profile.duration_unix_nano == 0']", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profcol_builder *builder = profcol_builder_create();
		struct profcol_batch *batch = NULL;
		struct processor processor;

		profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
		profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
		profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
		assert_no_error(profcol_builder_seal(builder, &batch));
		processor_start(&processor, PROCESSOR, cases[i].yaml);
		assert_int_equal(!!processor_consume(&processor, batch), cases[i].stays);
		processor_deinit(&processor);
	}
}

/* ---- conditions that cannot be evaluated ---- */

#define FAILING "Int(resource.attributes[\"container.privileged\"]) / 0 == 1"

static void errors_are_ignored_with_one_line(void **state)
{
	struct processor processor;
	char left[8];

	(void)state;
	processor_start(&processor, PROCESSOR,
			"profile_conditions: ['" FAILING "', 'scope.name == \"other\"']");
	for (unsigned int i = 0; i < 3; i++) {
		print_left(processor_consume(&processor, shop_batch_create()), left);
		assert_string_equal(left, "WBC");
	}
	assert_int_equal(
		fake_host_log_count(&processor.fake, "warn failed to eval condition: " FAILING), 1);
	processor_deinit(&processor);
}

static void errors_are_ignored_in_silence(void **state)
{
	struct processor processor;

	(void)state;
	processor_start(&processor, PROCESSOR,
			"error_mode: silent\nprofile_conditions: ['" FAILING "']");
	assert_non_null(processor_consume(&processor, shop_batch_create()));
	assert_int_equal(fake_host_log_count(&processor.fake, "failed"), 0);
	processor_deinit(&processor);
}

static void expect_batch_refused(const char *yaml)
{
	struct processor processor;
	struct profcol_error *error;

	processor_start(&processor, PROCESSOR, yaml);
	error = PROCESSOR->consume(processor.fake.instance, shop_batch_create());
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	assert_non_null(
		strstr(profcol_error_message(error), "failed to eval condition: " FAILING ", "));
	profcol_error_destroy(error);
	// The host books what was refused.
	assert_int_equal(processor.fake.lost, 0);
	assert_int_equal(processor.passed_count, 0);
	processor_deinit(&processor);
}

static void errors_refuse_the_batch(void **state)
{
	(void)state;
	expect_batch_refused("error_mode: propagate\nprofile_conditions: ['" FAILING "']");
	expect_batch_refused("error_mode: propagate\nprofiles: {resource: ['" FAILING "']}");
	expect_batch_refused("profile_conditions:"
			     " [{error_mode: propagate, conditions: ['" FAILING "']}]");
}

static void a_group_may_have_another_error_mode(void **state)
{
	(void)state;
	expect_left("error_mode: propagate\nprofile_conditions:"
		    " [{error_mode: silent, conditions: ['" FAILING "']}]",
		    "WBOC");
}

/* ---- configuration ---- */

static void faults_are_named_with_their_place(void **state)
{
	static const struct {
		const char *yaml, *text;
	} cases[] = {
		{ "profile_conditions: ['scope.name ==']",
		  "profile_conditions::0::conditions::0: unable to parse OTTL condition "
		  "\"scope.name ==\": 1:" },
		{ "profile_conditions: ['scope.name == \"a\"', 'scope.nam == \"a\"']",
		  "profile_conditions::1::conditions::0: unable to parse OTTL condition "
		  "\"scope.nam == \\\"a\\\"\": 1:" },
		{ "profile_conditions: [{conditions: ['scope.name == \"a\"', 'Foo()']}]",
		  "profile_conditions::0::conditions::1: unable to parse OTTL condition "
		  "\"Foo()\"" },
		{ "profile_conditions: ['name == \"a\"']", "profile_conditions::0::conditions::0" },
		{ "profiles: {profile: ['x == 1']}", "profiles::profile::0: unable to parse" },
		{ "profiles: {sample: ['x == 1']}", "has invalid keys: sample" },
		{ "profile_conditions: ['scope.name == nil', {conditions: []}]",
		  "configuring multiple configuration styles is not supported, please use only "
		  "Basic configuration or only Advanced configuration" },
		{ "profile_conditions: ['scope.name == nil']\nprofiles: {resource: ['true']}",
		  "cannot use context inferred profile conditions \"profile_conditions\" and the "
		  "settings \"profiles.resource\", \"profiles.profile\" at the same time" },
		{ "profile_conditions: [{context: log, conditions: []}]",
		  "unknown value \"log\" (valid values: [resource scope profile sample "
		  "profilesample])" },
		{ "error_mode: loud", "unknown value \"loud\" (valid values: [ignore silent "
				      "propagate])" },
		{ "profile_conditions: 'scope.name == nil'", "expected type 'slice'" },
		{ "include_attributes: [{values: [a]}]", "requires a non-empty \"key\"" },
		{ "include_attributes: [{key: a, values: [1]}]", "expected type 'string'" },
		{ "include_attributes: [{key: a}, {key: a, regexes: [b, '(']}]",
		  "include_attributes::1: regexes::1" },
		{ "exclude_attributes: [{key: a, level: frame}]", "unknown value \"frame\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		// What a message quotes is quoted as it is.
		CLEANUP_FREE char *text = strdup(cases[i].text);
		char *to = text;

		for (const char *from = cases[i].text; *from; from++)
			if (*from != '\\')
				*to++ = *from;
		*to = '\0';
		assert_refused(PROCESSOR, cases[i].yaml, text);
	}
}

static void every_fault_is_named(void **state)
{
	static const char yaml[] = "profile_conditions: ['a b', 'Foo()']\n"
				   "exclude_attributes: [{key: a, regexes: ['(']}]";

	(void)state;
	assert_refused(PROCESSOR, yaml, "profile_conditions::0");
	assert_refused(PROCESSOR, yaml, "profile_conditions::1");
	assert_refused(PROCESSOR, yaml, "exclude_attributes::0");
}

static void conditions_of_other_signals_are_left_alone(void **state)
{
	(void)state;
	expect_left("traces: {span: ['attributes[\"a\"] == 1']}\n"
		    "log_conditions: [log.body == 1]\n"
		    "metric_conditions: [{context: metric, conditions: [x]}]\n"
		    "spans: {include: {match_type: strict}}\nmetrics: \nlogs: {}\n"
		    "trace_conditions: [span.name == nil]",
		    "WBOC");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_drop_what_they_are_true_of),
		cmocka_unit_test(groups_have_a_context_of_their_own),
		cmocka_unit_test(the_older_form_means_the_same),
		cmocka_unit_test(attributes_select),
		cmocka_unit_test(each_cause_is_booked),
		cmocka_unit_test(what_stays_has_its_place),
		cmocka_unit_test(a_batch_that_stays_is_passed_on_as_it_is),
		cmocka_unit_test(empty_profiles_stay_unless_a_condition_is_true),
		cmocka_unit_test(errors_are_ignored_with_one_line),
		cmocka_unit_test(errors_are_ignored_in_silence),
		cmocka_unit_test(errors_refuse_the_batch),
		cmocka_unit_test(a_group_may_have_another_error_mode),
		cmocka_unit_test(faults_are_named_with_their_place),
		cmocka_unit_test(every_fault_is_named),
		cmocka_unit_test(conditions_of_other_signals_are_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
