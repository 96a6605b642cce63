// SPDX-License-Identifier: Apache-2.0
/* What becomes of ${...} in values; faults are among the golden tests. */
#include "sample_components.h"

#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define REST                                                                                       \
	"service:\n  pipelines:\n    profiles:\n      receivers: [profiling]\n"                    \
	"      exporters: [otlp_grpc]\n"

static const struct {
	const char *name, *value;
} variables[] = {
	{ "T_NUMBER", "99" },
	{ "T_ZEROS", "007" },
	{ "T_BOOL", "true" },
	{ "T_EMPTY", "" },
	{ "T_HOST", "collector" },
	{ "T_NESTED", "${env:T_HOST}:${env:T_NUMBER}" },
	{ "T_CHAIN", "${env:T_NUMBER}" },
	{ "T_LIST", "[go, 'python']" },
	{ "T_WORDS", "go, python" },
	{ "T_LINES", "- ${env:T_HOST}\n- $${x}\n" },
	{ "T_MAP", "{a: b, 'c': d}" },
	{ "T_QUOTED", "\"5\"" },
	{ "T_COMMENT", "secret # not a comment" },
	{ "T_NOT_YAML", "a: b: [" },
	{ "T_DOLLARS", "pa$$word$" },
	{ "T_DURATION", "1m" },
	{ "T_SECRET", "hunter2 !" },
	{ "T_SECRET_ID", "hunter2" },
	{ "T_SECRET_NUMBER", "4711" },
	{ "T_SECRET_NAME", "${env:hunter2 !}" },
	{ "T_SECRET_DOLLAR", "${env:hunter2$}" },
	{ "T_SECRET_MAP", "{interval: hunter2, directory: '${env:hunter2 !}'}" },
};

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		if (setenv(variables[i].name, variables[i].value, 1))
			return -1;
	return unsetenv("T_UNSET");
}

/* The configuration with @line among the options of @component. */
static struct config *parse(const char *receiver_line, const char *exporter_line)
{
	CLEANUP_FREE char *text = NULL;
	struct config *config = NULL;
	struct profcol_error *error;

	assert_true(asprintf(&text,
			     "receivers:\n  profiling:\n    %s\nexporters:\n  otlp_grpc:\n"
			     "    %s\n%s",
			     receiver_line, exporter_line, REST) > 0);
	error = config_parse("t.yaml", text, strlen(text), &sample_components, &config);
	if (error)
		fail_msg("%s\n%s", text, profcol_error_message(error));
	return config;
}

static const struct sampler_config *sampler_of(const struct config *config)
{
	return config->components[0].options;
}

static const struct sender_config *sender_of(const struct config *config)
{
	return config->components[1].options;
}

static void text_is_taken_as_it_is(void **state)
{
	static const struct {
		const char *given, *expected;
	} cases[] = {
		{ "${env:T_HOST}", "collector" },
		{ "${T_HOST}", "collector" },
		{ "'${env:T_HOST}'", "collector" },
		{ "${env:T_HOST}:${T_NUMBER}", "collector:99" },
		{ "${env:T_NESTED}", "collector:99" },
		{ "<${env:T_NESTED}>", "<collector:99>" },
		{ "${env:T_ZEROS}", "007" },
		{ "${env:T_BOOL}", "true" },
		{ "${env:T_QUOTED}", "\"5\"" },
		{ "${env:T_COMMENT}", "secret # not a comment" },
		{ "${env:T_NOT_YAML}", "a: b: [" },
		{ "${env:T_MAP}", "{a: b, 'c': d}" },
		{ "${env:T_LINES}", "- collector\n- ${x}\n" },
		{ "${env:T_UNSET:-fallback}", "fallback" },
		{ "${env:T_UNSET:-8080}", "8080" },
		{ "${env:T_UNSET:-a:-b}", "a:-b" },
		{ "${env:T_HOST:-fallback}", "collector" },
		{ "'${env:T_UNSET:-${env:T_HOST}}'", "collector" },
		{ "'${env:T_UNSET:-${env:T_UNSET:-deep}}'", "deep" },
		{ "x${env:T_UNSET:-}y", "xy" },
		{ "x${env:T_EMPTY}y", "xy" },
		{ "x${env:T_UNSET}y", "xy" },
		{ "${env:T_DOLLARS}", "pa$word$" },
		{ "$$", "$" },
		{ "$$$$", "$$" },
		{ "$${env:T_HOST}", "${env:T_HOST}" },
		{ "$$${env:T_HOST}", "$collector" },
		{ "$$$${env:T_HOST}", "$${env:T_HOST}" },
		{ "$${env:T_HOST} ${env:T_HOST}", "${env:T_HOST} collector" },
		{ "$T_HOST", "$T_HOST" },
		{ "a}b${c", "a}b${c" },
		{ "'}${env:T_HOST'", "}${env:T_HOST" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP_FREE char *line = NULL;
		struct config *config;

		assert_true(asprintf(&line, "endpoint: %s", cases[i].given) > 0);
		config = parse("", line);
		if (strcmp(sender_of(config)->endpoint, cases[i].expected) != 0)
			fail_msg("'%s' became '%s', not '%s'", cases[i].given,
				 sender_of(config)->endpoint, cases[i].expected);
		config_destroy(config);
	}
}

static void whole_values_have_the_type_of_their_text(void **state)
{
	struct config *config = parse("{samples_per_second: '${env:T_NUMBER}', "
				      "send_idle_frames: \"${T_BOOL}\", "
				      "reporter_interval: \"${T_DURATION}\", "
				      "tracers: '${env:T_LIST}'}",
				      "{endpoint: x, headers: '${env:T_MAP}', ratio: "
				      "'${env:T_UNSET:-0.5}'}");

	(void)state;
	assert_int_equal(sampler_of(config)->samples_per_second, 99);
	assert_true(sampler_of(config)->send_idle_frames);
	assert_int_equal(sampler_of(config)->reporter_interval_ns, PROFCOL_MINUTE);
	assert_int_equal(sampler_of(config)->tracers.count, 2);
	assert_string_equal(sampler_of(config)->tracers.items[1], "python");
	assert_int_equal(sender_of(config)->headers.count, 2);
	assert_string_equal(sender_of(config)->headers.values[1], "d");
	assert_true(fabs(sender_of(config)->ratio - 0.5) < 1e-12);
	config_destroy(config);

	config = parse("{samples_per_second: '${env:T_CHAIN}', tracers: '${env:T_WORDS}'}",
		       "{endpoint: x, headers: {'${env:T_HOST}': '${env:T_ZEROS}'}}");
	assert_int_equal(sampler_of(config)->samples_per_second, 99);
	assert_int_equal(sampler_of(config)->tracers.count, 2);
	assert_string_equal(sampler_of(config)->tracers.items[1], "python");
	// Keys are not expanded.
	assert_string_equal(sender_of(config)->headers.keys[0], "${env:T_HOST}");
	assert_string_equal(sender_of(config)->headers.values[0], "007");
	config_destroy(config);

	config = parse("tracers: ${env:T_LINES}", "endpoint: x");
	assert_int_equal(sampler_of(config)->tracers.count, 2);
	assert_string_equal(sampler_of(config)->tracers.items[0], "collector");
	assert_string_equal(sampler_of(config)->tracers.items[1], "${x}");
	config_destroy(config);
}

static void texts_are_read_as_yaml(void **state)
{
	struct config *config = parse("{samples_per_second: '${yaml:0x10}', tracers: "
				      "'${yaml:[a, b]}'}",
				      "{endpoint: '${yaml:007}', headers: '${yaml:a: b}'}");

	(void)state;
	assert_int_equal(sampler_of(config)->samples_per_second, 16);
	assert_int_equal(sampler_of(config)->tracers.count, 2);
	assert_string_equal(sender_of(config)->endpoint, "007");
	assert_string_equal(sender_of(config)->headers.values[0], "b");
	config_destroy(config);
}

static void unset_and_empty_variables_keep_defaults(void **state)
{
	struct config *config = parse("{samples_per_second: '${env:T_UNSET}', tracers: "
				      "'${env:T_EMPTY}'}",
				      "{endpoint: x, token: '${env:T_EMPTY}'}");

	(void)state;
	assert_int_equal(sampler_of(config)->samples_per_second, 20);
	assert_int_equal(sampler_of(config)->tracers.count, 2);
	assert_string_equal(sender_of(config)->token, "");
	assert_int_equal(config->warning_count, 1);
	assert_string_equal(
		config->warnings[0],
		"t.yaml:3:26: receivers::profiling::samples_per_second: environment "
		"variable \"T_UNSET\" is not set and has no default, its value is null; "
		"write ${env:T_UNSET:-default} to give one");
	config_destroy(config);

	config = parse("tracers: ${env:T_UNSET:-}", "endpoint: x${T_UNSET}${T_UNSET}");
	assert_int_equal(sampler_of(config)->tracers.count, 0);
	assert_int_equal(config->warning_count, 1);
	config_destroy(config);
}

/* What a variable holds may be secret, wherever it is used. */
static void messages_do_not_show_references_of_variables(void **state)
{
	static const struct {
		const char *value, *expected;
	} cases[] = {
		{ "${env:${env:T_SECRET}}",
		  "environment variable \"${env:${env:T_SECRET}}\" has invalid name" },
		{ "a${env:b c}", "environment variable \"b c\" has invalid name" },
		{ "${env:T_HOST}${env:b c}", "environment variable \"b c\" has invalid name" },
		{ "${x:${env:T_SECRET}}", "\"${x:${env:T_SECRET}}\" becomes an invalid uri" },
		{ "${file:/${env:T_SECRET}}", "${file:/${env:T_SECRET}}" },
		{ "${env:T_SECRET_NAME}", "environment variable \"${env:T_SECRET_NAME}\" has" },
		{ "${env:T_SECRET_DOLLAR}", "unsupported characters ('$')" },
	};
	struct config *config = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
		CLEANUP_FREE char *text = NULL;

		assert_true(asprintf(&text, "exporters: {pprof: {directory: '%s'}}",
				     cases[i].value) > 0);
		error = config_parse("t.yaml", text, strlen(text), &sample_components, &config);
		assert_non_null(error);
		assert_non_null(strstr(profcol_error_message(error), cases[i].expected));
		assert_null(strstr(profcol_error_message(error), "hunter2"));
	}
}

static void messages_do_not_show_values_of_variables(void **state)
{
	static const char *const options[] = {
		"exporters: {debug: {verbosity: '${env:T_SECRET}'}}",
		"exporters: {pprof: {interval: '${env:T_SECRET}'}}",
		"exporters: {pprof: {retention: {max_bytes: '${env:T_SECRET}'}}}",
		"exporters: {pprof: {compression_level: '${env:T_SECRET_NUMBER}'}}",
		"exporters: {pprof: {interval: 'x${env:T_SECRET}'}}",
		"exporters: {pprof: '${env:T_SECRET_MAP}'}",
		"service: {pipelines: {profiles: {receivers: ['${env:T_SECRET}']}}}",
		"service: {pipelines: {profiles: {receivers: ['${env:T_SECRET_ID}']}}}",
		("service: {telemetry: {resource: {attributes: [{name: '${env:T_SECRET}', "
		 "value: []}]}}}"),
	};
	struct config *config = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = config_parse(
			"t.yaml", options[i], strlen(options[i]), &sample_components, &config);

		assert_non_null(error);
		assert_null(strstr(profcol_error_message(error), "hunter2"));
		assert_null(strstr(profcol_error_message(error), "4711"));
	}
}

/* A component's body, a section, even the service may come from a variable. */
static void structure_may_come_from_variables(void **state)
{
	static const char text[] = "receivers: ${env:T_SECTION}\n"
				   "exporters: {debug: }\n"
				   "service: {pipelines: {profiles: {receivers: '${env:T_REF}', "
				   "exporters: ['${env:T_EXPORTER}']}}}\n";
	struct config *config = NULL;

	(void)state;
	setenv("T_SECTION", "{profiling: , profiling/2: {samples_per_second: 7}}", 1);
	setenv("T_REF", "[profiling, profiling/2]", 1);
	setenv("T_EXPORTER", "debug", 1);
	assert_null(config_parse("t.yaml", text, strlen(text), &sample_components, &config));
	assert_int_equal(config->pipelines[0].receiver_count, 2);
	assert_string_equal(config->components[1].place, "t.yaml:1:12");
	config_destroy(config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_taken_as_it_is),
		cmocka_unit_test(whole_values_have_the_type_of_their_text),
		cmocka_unit_test(texts_are_read_as_yaml),
		cmocka_unit_test(unset_and_empty_variables_keep_defaults),
		cmocka_unit_test(messages_do_not_show_references_of_variables),
		cmocka_unit_test(messages_do_not_show_values_of_variables),
		cmocka_unit_test(structure_may_come_from_variables),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
