// SPDX-License-Identifier: Apache-2.0
/* The keys of `service` that are about profcol itself. */
#include "sources_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BASE                                                                                       \
	"yaml:{receivers: {profiling: }, exporters: {debug: }, service: {pipelines: {profiles: "   \
	"{receivers: [profiling], exporters: [debug]}}}}"

static void config_cleanup(struct config **config)
{
	config_destroy(*config);
}
#define CLEANUP_CONFIG CLEANUP(config_cleanup)

static struct config *with(const char *service)
{
	CLEANUP_FREE char *uri = NULL;

	assert_true(asprintf(&uri, "yaml:service:\n%s", service) > 0);
	return must_load(WORDS(BASE, uri), NULL);
}

/* Of what is refused, the end of the error without its place. */
static void must_say(const char *service, const char *text)
{
	CLEANUP_FREE char *uri = NULL;
	struct profcol_error *error;
	struct config *config;

	assert_true(asprintf(&uri, "yaml:service:\n%s", service) > 0);
	error = load_sources(WORDS(BASE, uri), NULL, NULL, &config);
	config_destroy(config);
	if (!error)
		fail_msg("%s\nloads, instead of: %s", service, text);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("%s\ninstead of: %s", profcol_error_message(error), text);
	assert_ptr_equal(profcol_error_message(error),
			 strstr(profcol_error_message(error), "yaml:service::"));
	profcol_error_destroy(error);
}

static void defaults_are_the_collectors(void **state)
{
	CLEANUP_CONFIG struct config *config = must_load(WORDS(BASE), NULL);
	const struct config_service *service = &config->service;

	(void)state;
	assert_int_equal(service->shutdown_timeout_ns, 5 * PROFCOL_SECOND);
	assert_int_equal(service->plugins.count, 0);
	assert_int_equal(service->resource.count, 0);
	assert_int_equal(service->logs.level, PROFCOL_INFO);
	assert_int_equal(service->logs.encoding, CONFIG_CONSOLE);
	assert_int_equal(service->logs.output_paths.count, 1);
	assert_string_equal(service->logs.output_paths.items[0], "stderr");
	assert_true(service->logs.sampling);
	assert_int_equal(service->logs.sampling_tick_ns, 10 * PROFCOL_SECOND);
	assert_int_equal(service->logs.sampling_initial, 10);
	assert_int_equal(service->logs.sampling_thereafter, 100);
	assert_int_equal(service->metrics.level, CONFIG_METRICS_NORMAL);
	assert_int_equal(service->metrics.reader_count, 1);
	assert_string_equal(service->metrics.readers[0].endpoint, "localhost:8888");
	assert_true(service->metrics.readers[0].without_type_suffix);
	assert_true(service->metrics.readers[0].without_units);
	assert_true(service->metrics.readers[0].without_scope_info);
	assert_null(service->metrics.readers[0].place);
}

static void logs_are_configured(void **state)
{
	CLEANUP_CONFIG struct config *config =
		with("  telemetry:\n"
		     "    logs:\n"
		     "      level: DEBUG\n"
		     "      encoding: json\n"
		     "      disable_caller: true\n"
		     "      output_paths: stdout, /var/log/x\n"
		     "      initial_fields: {a: 1, b: [x, {y: 2}], c: text}\n"
		     "      sampling: {tick: 1s, initial: 3, thereafter: 0}\n");
	const struct config_logs *logs = &config->service.logs;

	(void)state;
	assert_int_equal(logs->level, PROFCOL_DEBUG);
	assert_int_equal(logs->encoding, CONFIG_JSON);
	assert_true(logs->disable_caller);
	assert_int_equal(logs->output_paths.count, 2);
	assert_string_equal(logs->output_paths.items[1], "/var/log/x");
	assert_int_equal(logs->initial_fields.count, 3);
	assert_string_equal(logs->initial_fields.values[0], "1");
	assert_string_equal(logs->initial_fields.values[1], "[\"x\",{\"y\":2}]");
	assert_string_equal(logs->initial_fields.values[2], "text");
	assert_int_equal(logs->sampling_tick_ns, PROFCOL_SECOND);
	assert_int_equal(logs->sampling_thereafter, 0);
	config_destroy(config);
	config = with("  telemetry: {logs: {level: dpanic, sampling: {enabled: false}}}\n");
	assert_int_equal(config->service.logs.level, PROFCOL_ERROR);
	assert_false(config->service.logs.sampling);
	config_destroy(config);
	config = with("  telemetry: {logs: {level: '', sampling: {tick: 0}}}\n");
	assert_int_equal(config->service.logs.level, PROFCOL_INFO);
	assert_false(config->service.logs.sampling);
}

static void readers_are_listeners(void **state)
{
	CLEANUP_CONFIG struct config *config =
		with("  telemetry:\n"
		     "    metrics:\n"
		     "      level: Detailed\n"
		     "      readers:\n"
		     "        - pull: {exporter: {prometheus: {host: '::1', port: 9}}}\n"
		     "        - pull:\n"
		     "            exporter:\n"
		     "              prometheus:\n"
		     "                host: ''\n"
		     "                without_units: false\n"
		     "                with_resource_constant_labels: {included: [service.*]}\n"
		     "        - periodic: {interval: 1000, exporter: {otlp: {protocol: grpc}}}\n"
		     "        - {}\n");
	const struct config_metrics *metrics = &config->service.metrics;

	(void)state;
	assert_int_equal(metrics->level, CONFIG_METRICS_DETAILED);
	assert_int_equal(metrics->reader_count, 2);
	assert_string_equal(metrics->readers[0].endpoint, "[::1]:9");
	// As with the Collector's, for names to stay when a reader is written by hand.
	assert_true(metrics->readers[0].without_type_suffix);
	assert_true(metrics->readers[0].without_units);
	assert_true(metrics->readers[0].without_scope_info);
	assert_string_equal(metrics->readers[1].endpoint, "0.0.0.0:8888");
	assert_false(metrics->readers[1].without_units);
	assert_true(metrics->readers[1].without_type_suffix);
	assert_string_equal(metrics->readers[1].resource_labels.items[0], "service.*");
	assert_int_equal(config->warning_count, 2);
	assert_non_null(strstr(config->warnings[0], "readers::2: has no effect: profcol sends"));
	assert_non_null(strstr(config->warnings[1], "readers::3: has no effect: it has no pull"));
	config_destroy(config);
	config = with("  telemetry: {metrics: {level: none}}\n");
	assert_int_equal(config->service.metrics.reader_count, 0);
	config_destroy(config);
	config = with("  telemetry: {metrics: {readers: }}\n");
	assert_int_equal(config->service.metrics.reader_count, 1);
}

static void the_resource_has_two_forms(void **state)
{
	CLEANUP_CONFIG struct config *config =
		with("  telemetry: {resource: {a: b, service.name: mine, host.id: }}\n");
	const struct config_service *service = &config->service;

	(void)state;
	assert_int_equal(service->resource.count, 2);
	assert_string_equal(service->resource.keys[1], "service.name");
	assert_string_equal(service->resource.values[1], "mine");
	assert_int_equal(service->resource_removed.count, 1);
	assert_string_equal(service->resource_removed.items[0], "host.id");
	config_destroy(config);
	config = with("  telemetry:\n"
		      "    resource: {attributes: [{name: a, value: b}, {name: n, value: 1}, "
		      "{name: a, value: c}]}\n");
	service = &config->service;
	assert_int_equal(service->resource.count, 2);
	assert_string_equal(service->resource.values[0], "c");
	assert_string_equal(service->resource.values[1], "1");
}

static void the_rest_is_taken(void **state)
{
	CLEANUP_CONFIG struct config *config =
		with("  shutdown_timeout: 1m30s\n"
		     "  plugins: [/usr/lib/profcol]\n"
		     "  telemetry: {traces: {level: none, propagators: [b3], processors: []}}\n");

	(void)state;
	assert_int_equal(config->service.shutdown_timeout_ns, 90 * PROFCOL_SECOND);
	assert_string_equal(config->service.plugins.items[0], "/usr/lib/profcol");
	assert_int_equal(config->warning_count, 0);
}

static void faults_are_told(void **state)
{
	static const struct {
		const char *service, *text;
	} cases[] = {
		{ "  telemtry: {}\n",
		  "service: has invalid keys: telemtry; did you mean 'telemetry'?" },
		{ "  telemetry: [a]\n", "service::telemetry: expected a map, got 'slice'" },
		{ "  telemetry: {bogus: 1}\n", "service::telemetry: has invalid keys: bogus" },
		{ "  telemetry: {logs: {level: trace}}\n",
		  "service::telemetry::logs::level: unknown value \"trace\" (valid values: [debug "
		  "info warn error warning dpanic panic fatal])" },
		{ "  telemetry: {logs: {encoding: xml}}\n", "unknown value \"xml\"" },
		{ "  telemetry: {logs: {development: 'true'}}\n",
		  "expected type 'bool', got unconvertible type 'string'" },
		{ "  telemetry: {logs: {output_paths: [1]}}\n",
		  "output_paths::0: expected type 'string', got unconvertible type 'int'" },
		{ "  telemetry: {logs: {sampling: {initial: -1}}}\n",
		  "must be at least 0, got -1" },
		{ "  telemetry: {metrics: {address: 'localhost:1'}}\n",
		  "service::telemetry::metrics: has invalid keys: address" },
		{ "  telemetry: {metrics: {level: ''}}\n", "metrics::level: unknown value \"\"" },
		{ "  telemetry: {metrics: {readers: []}}\n",
		  "service::telemetry: collector telemetry metrics reader should exist when metric "
		  "level is not none" },
		{ "  telemetry: {metrics: {views: []}}\n",
		  "service::telemetry::metrics::views can only be set when "
		  "service::telemetry::metrics::level is detailed" },
		{ "  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {port: "
		  "'1'}}}}]}}\n",
		  "readers::0::pull::exporter::prometheus::port: expected type 'int', got "
		  "unconvertible type 'string'" },
		{ "  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {bogus: "
		  "1}}}}]}}\n",
		  "readers::0::pull::exporter::prometheus: has invalid keys: bogus" },
		{ "  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {}}}}, {pull: "
		  "{exporter: {prometheus: {}}}}]}}\n",
		  "readers::1: listens on localhost:8888, as another reader does" },
		{ "  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: bad "
		  "host}}}}]}}\n",
		  "readers::0: endpoint: \"bad host\" is no host name or address" },
		{ "  telemetry: {resource: {c: 1}}\n",
		  "legacy resource attribute \"c\" must be string or null" },
		{ "  telemetry: {resource: {attributes: {a: b}}}\n",
		  "resource::attributes: source data must be an array or slice, got map" },
		{ "  telemetry: {resource: {attributes: [{name: a}], x: y}}\n",
		  "resource: has invalid keys: x" },
		{ "  telemetry: {resource: {attributes_list: a=b}}\n",
		  "resource::attributes_list is not currently supported" },
		{ "  telemetry: {metrics: {readers: [{pull: {exporter: {prometheus: {host: "
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
		  "aaaaaaaaaaaaaaaaaaaa}}}}]}}\n",
		  "readers::0: its host has more than 253 characters" },
		{ "  extensions: ['${env:S_NOT_SET}']\n",
		  "got unconvertible type 'nil'; name a component (a variable that is not set?)" },
		{ "  shutdown_timeout: 5\n", "time: missing unit in duration \"5\"" },
		{ "  plugins: {a: b}\n", "source data must be an array or slice, got map" },
		{ "  extensions: health_check\n",
		  "service::extensions: source data must be an array or slice, got string" },
		{ "  pipelines: {traces: }\n",
		  "telemetry type is not supported: profcol carries profiles only" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		must_say(cases[i].service, cases[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_the_collectors),
		cmocka_unit_test(logs_are_configured),
		cmocka_unit_test(readers_are_listeners),
		cmocka_unit_test(the_resource_has_two_forms),
		cmocka_unit_test(the_rest_is_taken),
		cmocka_unit_test(faults_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
