// SPDX-License-Identifier: Apache-2.0
/* Which options are acted on, which not, and which of them change while the receiver runs. */
#include "config.h"
#include "events/events.h"
#include "runtimes/runtime.h"
#include "settings.h"
#include "unheeded.h"

#include "config/config.h"

#include <profcol/component.h>

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static const struct profcol_option no_options[] = { PROFCOL_OPTION_END };

static const struct profcol_component receiver = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_RECEIVER,
	.type = "profiling",
	.options = profiling_options,
	.config_size = sizeof(struct profiling_config),
	.validate = profiling_validate,
};

static const struct profcol_component exporter = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.type = "sink",
	.options = no_options,
};

static const struct profcol_component *const components[] = { &receiver, &exporter };
static const struct component_registry registry = { .components = components, .count = 2 };

/* A whole configuration, of which the receiver has @options. */
static struct config *parse(const char *options)
{
	struct config *config = NULL;
	struct profcol_error *error;
	char text[1024];

	snprintf(text, sizeof(text),
		 "receivers: {profiling: {%s}}\n"
		 "exporters: {sink: {}}\n"
		 "service: {pipelines: {profiles: {receivers: [profiling], exporters: [sink]}}}\n",
		 options);
	error = config_parse("test.yaml", text, strlen(text), &registry, &config);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	return config;
}

static void config_cleanup(struct config **config)
{
	config_destroy(*config);
}
#define CLEANUP_CONFIG CLEANUP(config_cleanup)

static const struct profiling_config *options_of(const struct config *config)
{
	assert_string_equal(config->components[0].id, "profiling");
	return config->components[0].options;
}

/* What was said, a line each. */
static char said[4096];

static void say(const char *format, ...)
{
	size_t length = strlen(said);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(said + length, sizeof(said) - length, format, arguments);
	va_end(arguments);
}

static void hear(const struct profcol_logger *logger, enum profcol_level level, const char *format,
		 va_list arguments)
{
	char line[512];

	(void)logger;
	vsnprintf(line, sizeof(line), format, arguments);
	say("%s %s\n", level == PROFCOL_WARN ? "warn" : "info", line);
}

static void note(struct profcol_findings *findings, const struct profcol_finding *finding)
{
	(void)findings;
	say("%s\n", finding->subject);
}

static const char *logged_for(const char *options)
{
	const struct profcol_logger logger = { .size = sizeof(logger), .write = hear };
	CLEANUP_CONFIG struct config *config = parse(options);

	*said = '\0';
	unheeded_log(&options_of(config)->unheeded, &logger);
	return said;
}

static const char *diagnosed_for(const char *options)
{
	struct profcol_findings findings = { .add = note };
	CLEANUP_CONFIG struct config *config = parse(options);

	*said = '\0';
	unheeded_diagnose(&options_of(config)->unheeded, &findings);
	return said;
}

static const char java[] = "interpreters: {hotspot: {disabled: true}}";
static const char java_and_others[] =
	"interpreters: {hotspot: {disabled: true}, php: {disabled: true}}";

static void what_is_acted_on_is_not_warned_of(void **state)
{
	(void)state;
	assert_string_equal(logged_for(""), "");
	assert_string_equal(logged_for(java), "");
	assert_string_equal(diagnosed_for(java), "");
}

static void other_languages_are_warned_of(void **state)
{
	static const char *const others[] = {
		"perl: {disabled: true}",           "php: {disabled: true}",
		"ruby: {disabled: true}",           "dotnet: {disabled: true}",
		"ruby: {skip_native_resume: true}", "beam: {disabled: true}",
		"luajit: {disabled: true}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char options[128];

		snprintf(options, sizeof(options), "interpreters: {%s}", others[i]);
		if (!strstr(logged_for(options), "warn the option 'interpreters' is accepted"))
			fail_msg("no warning of %s", options);
		assert_string_equal(diagnosed_for(options), "option interpreters\n");
	}
	assert_non_null(strstr(logged_for(java_and_others), "'interpreters'"));
}

static void what_is_acted_on_reaches_the_parts(void **state)
{
	static const char *const rows[] = { "", java, java_and_others };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP_CONFIG struct config *config = parse(rows[i]);
		struct settings *settings = settings_create(options_of(config));

		assert_non_null(settings);
		assert_int_equal(settings->config.interpreters.hotspot_disabled, i > 0);
		settings_destroy(settings);
	}
}

static void each_runtime_can_be_disabled(void **state)
{
	static const struct {
		const char *text;
		uint32_t disabled;
	} rows[] = {
		{ "", 0 },
		{ "interpreters: {hotspot: {disabled: true}}", 1u << RUNTIME_HOTSPOT },
		{ "interpreters: {python: {disabled: true}}", 1u << RUNTIME_CPYTHON },
		{ "interpreters: {v8: {disabled: true}}", 1u << RUNTIME_V8 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP_CONFIG struct config *config = parse(rows[i].text);

		assert_int_equal(profiling_disabled_runtimes(options_of(config)), rows[i].disabled);
		assert_string_equal(logged_for(rows[i].text), "");
	}
}

static void lines_of_go_can_be_disabled(void **state)
{
	static const char *const texts[] = {
		"interpreters: {go: {disabled: true}}",
		"interpreters: {go: {symbolization: {disabled: true}}}",
	};
	CLEANUP_CONFIG struct config *plain = parse("");

	(void)state;
	assert_int_equal(profiling_runtimes_without_lines(options_of(plain)), 0);
	for (size_t i = 0; i < 2; i++) {
		CLEANUP_CONFIG struct config *config = parse(texts[i]);

		assert_int_equal(profiling_runtimes_without_lines(options_of(config)),
				 1u << RUNTIME_GO);
		assert_int_equal(profiling_disabled_runtimes(options_of(config)), 0);
		assert_string_equal(logged_for(texts[i]), "");
	}
}

static void events_are_those_that_are_asked_for(void **state)
{
	enum { CPU = 1u << SAMPLE_CPU_CLOCK, OFF_CPU = 1u << SAMPLE_OFF_CPU };
	static const struct {
		const char *text;
		uint32_t wanted;
	} rows[] = {
		{ "", CPU },
		{ "events: []", CPU },
		{ "events: [off_cpu]", OFF_CPU },
		{ "events: [cpu, page_faults]", CPU | 1u << SAMPLE_PAGE_FAULTS },
		{ "events: [memory_growth]", 1u << SAMPLE_MEMORY_GROWTH },
		{ "events: [wakers]", 1u << SAMPLE_WAKERS },
		{ "events: [wall]", CPU | OFF_CPU | 1u << SAMPLE_WALL },
		{ "off_cpu_threshold: 0.1", CPU | OFF_CPU },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CLEANUP_CONFIG struct config *config = parse(rows[i].text);
		struct settings *settings = settings_create(options_of(config));
		uint32_t wanted = 0;

		assert_null(events_wanted(&settings->config, &wanted));
		assert_int_equal(wanted, rows[i].wanted);
		assert_string_equal(logged_for(rows[i].text), "");
		settings_destroy(settings);
	}
}

static void labels_of_go_can_be_disabled(void **state)
{
	static const char off[] = "interpreters: {go: {labels: {disabled: true}}}";
	CLEANUP_CONFIG struct config *plain = parse("");
	CLEANUP_CONFIG struct config *config = parse(off);

	(void)state;
	assert_int_equal(profiling_runtimes_without_labels(options_of(plain)), 0);
	assert_int_equal(profiling_runtimes_without_labels(options_of(config)), 1u << RUNTIME_GO);
	assert_int_equal(profiling_runtimes_without_lines(options_of(config)), 0);
	assert_int_equal(profiling_disabled_runtimes(options_of(config)), 0);
	assert_string_equal(logged_for(off), "");
}

static bool changes_while_it_runs(const char *from, const char *to)
{
	CLEANUP_CONFIG struct config *old = parse(from);
	CLEANUP_CONFIG struct config *new = parse(to);

	return settings_can_change(options_of(old), options_of(new));
}

static void selection_and_what_has_no_effect_change_while_it_runs(void **state)
{
	(void)state;
	assert_true(changes_while_it_runs(java, java));
	assert_true(changes_while_it_runs("", "select: {exclude: [{uid: 7}]}"));
	assert_true(changes_while_it_runs("", "pin_cpu_ids: 0-3"));
	assert_true(changes_while_it_runs(java, java_and_others));
	assert_true(changes_while_it_runs("", "probes: [{type: kprobe, symbol: vfs_open}]"));
}

static void all_else_needs_a_restart(void **state)
{
	(void)state;
	assert_false(changes_while_it_runs("", java));
	assert_false(changes_while_it_runs(java_and_others, ""));
	assert_false(changes_while_it_runs("", "interpreters: {go: {labels: {disabled: true}}}"));
	assert_false(changes_while_it_runs("", "samples_per_second: 21"));
	assert_false(changes_while_it_runs("", "include_env_vars: [HOME]"));
	assert_false(changes_while_it_runs("", "events: [cpu, off_cpu]"));
	assert_false(changes_while_it_runs("", "off_cpu: {max_events: 10}"));
	assert_false(changes_while_it_runs("", "off_cpu_threshold: 0.1"));
	assert_false(changes_while_it_runs("", "overhead: {cpu: 0.5%}"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_acted_on_is_not_warned_of),
		cmocka_unit_test(other_languages_are_warned_of),
		cmocka_unit_test(what_is_acted_on_reaches_the_parts),
		cmocka_unit_test(each_runtime_can_be_disabled),
		cmocka_unit_test(lines_of_go_can_be_disabled),
		cmocka_unit_test(labels_of_go_can_be_disabled),
		cmocka_unit_test(events_are_those_that_are_asked_for),
		cmocka_unit_test(selection_and_what_has_no_effect_change_while_it_runs),
		cmocka_unit_test(all_else_needs_a_restart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
