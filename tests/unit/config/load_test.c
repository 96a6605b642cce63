// SPDX-License-Identifier: Apache-2.0
/* Configurations that load: what components and pipelines get. */
#include "sample_components.h"

#include "base/base.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define SERVICE                                                                                    \
	"service:\n  pipelines:\n    profiles:\n      receivers: [profiling]\n"                    \
	"      exporters: [debug]\n"

static struct config *parse(const char *text)
{
	struct config *config = NULL;
	struct profcol_error *error =
		config_parse("test.yaml", text, strlen(text), &sample_components, &config);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	assert_non_null(config);
	return config;
}

static const void *options_of(const struct config *config, const char *id)
{
	for (size_t i = 0; i < config->component_count; i++)
		if (!strcmp(config->components[i].id, id))
			return config->components[i].options;
	fail_msg("no component '%s'", id);
	return NULL;
}

static void config_cleanup(struct config **config)
{
	config_destroy(*config);
}
#define CLEANUP_CONFIG CLEANUP(config_cleanup)

static void empty_bodies_give_defaults(void **state)
{
	CLEANUP_CONFIG struct config *config = parse("receivers:\n"
						     "  profiling:\n"
						     "  profiling/braces: {}\n"
						     "  profiling/nulls:\n"
						     "    samples_per_second: null\n"
						     "    tracers: ~\n"
						     "exporters:\n"
						     "  debug:\n"
						     "  pprof:\n"
						     "    retention:\n" SERVICE);
	const char *ids[] = { "profiling", "profiling/braces", "profiling/nulls" };
	const struct file_config *file = options_of(config, "pprof");
	const struct printer_config *printer = options_of(config, "debug");

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct sampler_config *sampler = options_of(config, ids[i]);

		assert_int_equal(sampler->samples_per_second, 20);
		assert_int_equal(sampler->reporter_interval_ns, 5 * PROFCOL_SECOND);
		assert_false(sampler->send_idle_frames);
		assert_int_equal(sampler->tracers.count, 2);
		assert_string_equal(sampler->tracers.items[0], "native");
		assert_string_equal(sampler->tracers.items[1], "kernel");
	}
	assert_string_equal(file->directory, "/var/lib/profcol");
	assert_int_equal(file->interval_ns, PROFCOL_MINUTE);
	assert_int_equal(file->retention.max_files, 100);
	assert_int_equal(file->retention.max_age_ns, 0);
	assert_int_equal(file->retention.max_bytes, 1 << 30);
	assert_int_equal(file->compression_level, 6);
	assert_int_equal(printer->verbosity, VERBOSITY_BASIC);
}

static void every_type_is_decoded(void **state)
{
	CLEANUP_CONFIG struct config *config =
		parse("receivers:\n"
		      "  profiling:\n"
		      "    samples_per_second: 0x_63\n"
		      "    reporter_interval: 1m2.5s\n"
		      "    send_idle_frames: True\n"
		      "    tracers: native, python ,go\n"
		      "  profiling/none:\n"
		      "    tracers: []\n"
		      "    samples_per_second: 1e2\n"
		      "exporters:\n"
		      "  debug:\n"
		      "    verbosity: Detailed\n"
		      "  pprof:\n"
		      "    retention:\n"
		      "      max_bytes: 1.5MiB\n"
		      "      max_age: 2h45m\n"
		      "      max_files: 0\n"
		      "  pprof/2:\n"
		      "    retention: {max_bytes: 1_000_000}\n"
		      "    interval: 1h\n"
		      "  otlp_grpc:\n"
		      "    endpoint: '5'\n"
		      "    token: !!str 007\n"
		      "    headers: {b: x, a: '', c: }\n"
		      "    ratio: 0.25\n"
		      "    tls: {insecure: true, ca_file: /a}\n" SERVICE);
	const struct sampler_config *sampler = options_of(config, "profiling");
	const struct sampler_config *none = options_of(config, "profiling/none");
	const struct printer_config *printer = options_of(config, "debug");
	const struct file_config *file = options_of(config, "pprof");
	const struct file_config *second = options_of(config, "pprof/2");
	const struct sender_config *sender = options_of(config, "otlp_grpc");

	(void)state;
	assert_int_equal(sampler->samples_per_second, 99);
	assert_int_equal(sampler->reporter_interval_ns, 62500 * PROFCOL_MILLISECOND);
	assert_true(sampler->send_idle_frames);
	assert_int_equal(sampler->tracers.count, 3);
	assert_string_equal(sampler->tracers.items[1], "python");
	assert_string_equal(sampler->tracers.items[2], "go");
	assert_int_equal(none->tracers.count, 0);
	assert_int_equal(none->samples_per_second, 100);
	assert_int_equal(printer->verbosity, VERBOSITY_DETAILED);
	assert_int_equal(file->retention.max_bytes, 3 << 19);
	assert_int_equal(file->retention.max_age_ns, 165 * PROFCOL_MINUTE);
	assert_int_equal(file->retention.max_files, 0);
	assert_int_equal(second->retention.max_bytes, 1000000);
	assert_int_equal(second->retention.max_files, 100);
	assert_string_equal(sender->endpoint, "5");
	assert_string_equal(sender->token, "007");
	assert_int_equal(sender->headers.count, 3);
	assert_string_equal(sender->headers.keys[0], "b");
	assert_string_equal(sender->headers.values[0], "x");
	assert_string_equal(sender->headers.keys[1], "a");
	assert_string_equal(sender->headers.values[2], "");
	assert_true(fabs(sender->ratio - 0.25) < 1e-12);
	assert_true(sender->tls.insecure);
	assert_string_equal(sender->tls.ca_file, "/a");
}

static void a_map_may_be_a_list_of_pairs(void **state)
{
	CLEANUP_CONFIG struct config *config =
		parse("receivers: {profiling: }\n"
		      "exporters:\n"
		      "  otlp_grpc:\n"
		      "    endpoint: x\n"
		      "    headers:\n"
		      "    - {name: Authorization, value: Bearer x}\n"
		      "    - name: empty\n"
		      "  debug:\n" SERVICE);
	const struct sender_config *sender = options_of(config, "otlp_grpc");

	(void)state;
	assert_int_equal(sender->headers.count, 2);
	assert_string_equal(sender->headers.keys[0], "Authorization");
	assert_string_equal(sender->headers.values[0], "Bearer x");
	assert_string_equal(sender->headers.keys[1], "empty");
	assert_string_equal(sender->headers.values[1], "");
}

static void a_section_tells_whether_it_is_there(void **state)
{
	CLEANUP_CONFIG struct config *config =
		parse("receivers: {profiling: }\n"
		      "exporters:\n"
		      "  otlp_grpc: {endpoint: x}\n"
		      "  otlp_grpc/null: {endpoint: x, tls: , ping: }\n"
		      "  otlp_grpc/empty: {endpoint: x, tls: {}, ping: {}}\n"
		      "  otlp_grpc/full: {endpoint: x, tls: {insecure: true}, ping: {every: 3}}\n"
		      "  debug:\n" SERVICE);
	const struct sender_config *absent = options_of(config, "otlp_grpc");
	const struct sender_config *null = options_of(config, "otlp_grpc/null");
	const struct sender_config *empty = options_of(config, "otlp_grpc/empty");
	const struct sender_config *full = options_of(config, "otlp_grpc/full");

	(void)state;
	assert_false(absent->tls_named);
	assert_false(absent->ping_named);
	assert_true(null->tls_named);
	assert_false(null->tls.insecure);
	// An optional one: null is as good as absence.
	assert_false(null->ping_named);
	assert_true(empty->tls_named);
	assert_true(empty->ping_named);
	assert_int_equal(empty->ping.every, 5);
	assert_true(full->tls_named);
	assert_true(full->tls.insecure);
	assert_int_equal(full->ping.every, 3);
}

/* What is switched off has defaults, whatever it says; `enabled` is known nowhere else. */
static void a_section_is_switched_off(void **state)
{
	CLEANUP_CONFIG struct config *config =
		parse("receivers: {profiling: }\n"
		      "exporters:\n"
		      "  otlp_grpc/off: {endpoint: x, tls: {enabled: false, insecure: true, "
		      "ca_file: /a}, ping: {every: 3, enabled: false}}\n"
		      "  otlp_grpc/on: {endpoint: x, tls: {enabled: true, insecure: true}, "
		      "ping: {enabled: true}}\n"
		      "  debug:\n" SERVICE);
	const struct sender_config *off = options_of(config, "otlp_grpc/off");
	const struct sender_config *on = options_of(config, "otlp_grpc/on");

	(void)state;
	assert_false(off->tls_named);
	assert_false(off->tls.insecure);
	assert_string_equal(off->tls.ca_file, "");
	assert_false(off->ping_named);
	assert_int_equal(off->ping.every, 5);
	assert_true(on->tls_named);
	assert_true(on->tls.insecure);
	assert_true(on->ping_named);
	assert_int_equal(on->ping.every, 5);
}

static void lists_of_sections_are_decoded(void **state)
{
	CLEANUP_CONFIG struct config *config = parse("receivers: {profiling: }\n"
						     "exporters:\n"
						     "  otlp_grpc:\n"
						     "    endpoint: x\n"
						     "    rules:\n"
						     "    - key: first\n"
						     "    - {weight: 7, key: second}\n"
						     "  otlp_grpc/none: {endpoint: x, rules: []}\n"
						     "  debug:\n" SERVICE);
	const struct sender_config *sender = options_of(config, "otlp_grpc");
	const struct sender_config *none = options_of(config, "otlp_grpc/none");
	const struct rule_config *rules = sender->rules.items;

	(void)state;
	assert_int_equal(sender->rules.count, 2);
	assert_string_equal(rules[0].key, "first");
	assert_int_equal(rules[0].weight, 1);
	assert_string_equal(rules[1].key, "second");
	assert_int_equal(rules[1].weight, 7);
	assert_int_equal(none->rules.count, 0);
}

static void pipelines_refer_to_components(void **state)
{
	CLEANUP_CONFIG struct config *config = parse("service:\n"
						     "  extensions: [health_check]\n"
						     "  pipelines:\n"
						     "    profiles:\n"
						     "      receivers: [ profiling ]\n"
						     "      processors: [filter/b, filter]\n"
						     "      exporters: [debug, otlp]\n"
						     "    profiles / raw:\n"
						     "      receivers: [profiling]\n"
						     "      exporters: [debug,otlp]\n"
						     "extensions: {health_check: }\n"
						     "receivers: {profiling: }\n"
						     "processors: {filter: , filter/b: {min: 3}}\n"
						     "exporters:\n"
						     "  debug:\n"
						     "  otlp: {endpoint: a:1}\n");
	const struct config_pipeline *first, *second;

	(void)state;
	assert_int_equal(config->pipeline_count, 2);
	first = &config->pipelines[0];
	second = &config->pipelines[1];
	assert_string_equal(first->id, "profiles");
	assert_string_equal(first->place, "test.yaml:4:5");
	assert_int_equal(first->receiver_count, 1);
	assert_int_equal(first->processor_count, 2);
	assert_string_equal(config->components[first->processors[0]].id, "filter/b");
	assert_string_equal(config->components[first->processors[1]].id, "filter");
	assert_int_equal(first->exporter_count, 2);
	assert_string_equal(config->components[first->exporters[1]].id, "otlp");
	assert_string_equal(config->components[first->exporters[1]].type->type, "otlp_grpc");
	assert_string_equal(config->components[first->exporters[1]].place, "test.yaml:16:3");
	assert_string_equal(second->id, "profiles/raw");
	assert_int_equal(second->receivers[0], first->receivers[0]);
	assert_int_equal(second->processor_count, 0);
	assert_int_equal(second->exporter_count, 2);
	assert_int_equal(config->extension_count, 1);
	assert_int_equal(config->components[config->extensions[0]].kind, PROFCOL_EXTENSION);
	assert_int_equal(config->warning_count, 1);
	assert_string_equal(config->warnings[0],
			    "test.yaml:16:3: exporters::otlp: \"otlp\" alias is deprecated; use "
			    "\"otlp_grpc\" instead");
}

static void what_does_nothing_is_warned_about(void **state)
{
	CLEANUP_CONFIG struct config *config =
		parse("extensions:\n"
		      "  health_check:\n"
		      "receivers:\n"
		      "  profiling:\n"
		      "exporters:\n"
		      "  debug:\n"
		      "  pprof:\n"
		      "connectors:\n"
		      "service:\n"
		      "  telemetry: {logs: {processors: [{}]}, traces: }\n"
		      "  pipelines:\n"
		      "    profiles:\n"
		      "      receivers: [profiling, profiling]\n"
		      "      exporters: [debug]\n");
	const char *expected[] = {
		"test.yaml:2:3: extensions::health_check: is configured but service::extensions "
		"does "
		"not name it, it will not run",
		"test.yaml:7:3: exporters::pprof: is configured but no pipeline names it, it will "
		"not run",
		"test.yaml:10:34: service::telemetry::logs::processors: has no effect: profcol "
		"sends its own logs nowhere but to output_paths",
		"test.yaml:13:30: service::pipelines::profiles: references receiver \"profiling\" "
		"multiple times, it is used once",
	};

	(void)state;
	assert_int_equal(config->warning_count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(config->warnings[i], expected[i]);
	assert_int_equal(config->pipelines[0].receiver_count, 1);
}

static void anchors_and_merge_keys_work(void **state)
{
	CLEANUP_CONFIG struct config *config = parse("exporters:\n"
						     "  pprof: &defaults\n"
						     "    directory: /a\n"
						     "    interval: 5s\n"
						     "    retention: &keep {max_files: 3}\n"
						     "  pprof/2:\n"
						     "    <<: *defaults\n"
						     "    directory: /b\n"
						     "  pprof/3:\n"
						     "    directory: /c\n"
						     "    <<: [{interval: 7s}, *defaults]\n"
						     "  pprof/4:\n"
						     "    retention: *keep\n"
						     "  pprof/5: &defaults {interval: 9s}\n"
						     "  pprof/6: *defaults\n"
						     "  debug:\n"
						     "receivers: {profiling: }\n" SERVICE);
	const struct file_config *second = options_of(config, "pprof/2");
	const struct file_config *third = options_of(config, "pprof/3");
	const struct file_config *fourth = options_of(config, "pprof/4");
	const struct file_config *sixth = options_of(config, "pprof/6");

	(void)state;
	assert_string_equal(second->directory, "/b");
	assert_int_equal(second->interval_ns, 5 * PROFCOL_SECOND);
	assert_int_equal(second->retention.max_files, 3);
	assert_string_equal(third->directory, "/c");
	assert_int_equal(third->interval_ns, 7 * PROFCOL_SECOND);
	assert_int_equal(third->retention.max_files, 3);
	assert_int_equal(fourth->retention.max_files, 3);
	assert_int_equal(sixth->interval_ns, 9 * PROFCOL_SECOND);
}

static void byte_order_mark_and_crlf_are_accepted(void **state)
{
	CLEANUP_CONFIG struct config *config = parse(
		"\xef\xbb\xbfreceivers:\r\n  profiling:\r\nexporters:\r\n  debug:\r\n"
		"service:\r\n  pipelines:\r\n    profiles:\r\n      receivers: [profiling]\r\n"
		"      exporters: [debug]\r\n");

	(void)state;
	assert_int_equal(config->component_count, 2);
	assert_string_equal(config->components[1].place, "test.yaml:4:3");
}

static void expect_error(struct profcol_error *error, enum profcol_code code, const char *text)
{
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), code);
	assert_string_equal(profcol_error_message(error), text);
	profcol_error_destroy(error);
}

static struct profcol_error *load_file(const char *path, struct config **ret)
{
	const struct config_sources sources = { .uris = &path, .uri_count = 1 };

	return config_load(&sources, &sample_components, ret);
}

static void files_that_cannot_be_read_are_named(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct config *config = NULL;
	char path[] = "/tmp/profcol-config-XXXXXX";
	CLEANUP_FD int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (1 << 20) + 1), 0);
	expect_error(load_file("/nowhere/x.yaml", &config), PROFCOL_CONFIG,
		     "/nowhere/x.yaml: cannot retrieve the configuration: unable to read the file "
		     "file:/nowhere/x.yaml: No such file or directory; name a readable file");
	expect_error(load_file("/tmp", &config), PROFCOL_CONFIG,
		     "/tmp: cannot retrieve the configuration: unable to read the file file:/tmp: "
		     "Is a directory; name a readable file");
	error = load_file(path, &config);
	unlink(path);
	assert_non_null(error);
	assert_non_null(
		strstr(profcol_error_message(error), "is larger than 1048576 bytes; shorten it"));
	assert_null(config);
}

static void a_file_is_loaded_by_path(void **state)
{
	static const char text[] = "receivers: {profiling: }\nexporters: {debug: }\n" SERVICE;
	CLEANUP_CONFIG struct config *config = NULL;
	char path[] = "/tmp/profcol-config-XXXXXX", place[64];
	CLEANUP_FD int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_null(load_file(path, &config));
	snprintf(place, sizeof(place), "%s:5:5", path);
	assert_string_equal(config->pipelines[0].place, place);
	unlink(path);
}

/* @count times @item, in the middle of a configuration that is fine otherwise. */
static struct profcol_error *parse_many(const char *begin, const char *item, size_t count,
					const char *end)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FILE FILE *stream = NULL;
	struct config *config = NULL;
	struct profcol_error *error;
	size_t length;

	stream = open_memstream(&text, &length);
	fputs(begin, stream);
	for (size_t i = 0; i < count; i++)
		fprintf(stream, item, i);
	fputs(end, stream);
	fflush(stream);
	error = config_parse("many.yaml", text, length, &sample_components, &config);
	config_destroy(config);
	return error;
}

static void large_files_meet_limits(void **state)
{
	static const char begin[] = "receivers: {profiling: }\n";
	static const char end[] = "exporters: {debug: }\n" SERVICE;

	(void)state;
	assert_null(parse_many("receivers:\n  profiling:\n    tracers: [", "t%zu,", 90000,
			       "x]\nexporters: {debug: }\n" SERVICE));
	expect_error(parse_many("receivers:\n  profiling:\n    tracers: [", "t,", 110000,
				"x]\nexporters: {debug: }\n" SERVICE),
		     PROFCOL_CONFIG,
		     "many.yaml:3:200001: document contains more than 100000 values; shorten it");
	expect_error(parse_many(begin, "#%01024zu\n", 1024, end), PROFCOL_CONFIG,
		     "many.yaml:1:1: the file is larger than 1048576 bytes; shorten it");
	expect_error(parse_many("receivers:\n  profiling:\n", "  profiling/%zu:\n", 1001, end),
		     PROFCOL_CONFIG,
		     "many.yaml:1002:3: receivers: more than 1000 components; "
		     "remove some");
}

/* Also those of what an alias stands for. */
static void aliases_do_not_deepen_beyond_the_limit(void **state)
{
	(void)state;
	expect_error(
		parse_many("a: &a [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n"
			   "b: [[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
			   "*a", 1, "]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]\n"),
		PROFCOL_CONFIG,
		"many.yaml:2:39: exceeded the maximum depth of 64 levels with what alias 'a' "
		"stands for; flatten it");
}

static uint64_t cpu_time_ns(void)
{
	struct timespec time;

	assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), 0);
	return (uint64_t)time.tv_sec * PROFCOL_SECOND + (uint64_t)time.tv_nsec;
}

/* Some inputs are cheap to write and, read carelessly, dear. None is more than the machine has. */
static void hostile_files_are_read_in_time(void **state)
{
	static const struct {
		const char *begin, *item;
		size_t count;
		const char *end;
	} files[] = {
		{ "", "[", 1 << 20, "" },
		{ "", "{a: ", 1 << 18, "" },
		{ "a: &a%zu", " &b", 300000, "" },
		{ "", "- &a%zu *a\n", 60000, "" },
		{ "", "- &a%zu\n", 90000, "" },
		{ "", "k%zu:\n", 100000, "" },
		{ "", "k%zu::b::c: 1\n", 50000, "" },
		{ "", "same:\n", 100000, "" },
		{ "exporters:\n", "  debugg%zu:\n", 60000, "" },
		{ "exporters:\n  debug:\n", "    verbositi%zu: 1\n", 40000, "" },
		{ "service:\n  pipelines:\n", "    profiles/%zu:\n", 40000, "" },
		{ "receivers: {profiling: }\nservice:\n  pipelines:\n"
		  "    profiles:\n      receivers: [",
		  "profilng,", 90000, "]\n" },
		{ "exporters:\n  pprof:\n    directory: \"", "${x}", 200000, "\"\n" },
		{ "exporters:\n  pprof:\n    directory: \"", "$${", 300000, "\"\n" },
		{ "exporters:\n  pprof:\n    directory: \"", "$${}", 200000, "\"\n" },
	};
	uint64_t begin = cpu_time_ns();

	(void)state;
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error =
			parse_many(files[i].begin, files[i].item, files[i].count, files[i].end);

		// Each lacks most of what a configuration has.
		assert_non_null(error);
		assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	}
	// Two seconds with sanitizers on; a quadratic step takes minutes.
	assert_true(cpu_time_ns() - begin < 30 * (uint64_t)PROFCOL_SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_bodies_give_defaults),
		cmocka_unit_test(every_type_is_decoded),
		cmocka_unit_test(a_map_may_be_a_list_of_pairs),
		cmocka_unit_test(a_section_tells_whether_it_is_there),
		cmocka_unit_test(a_section_is_switched_off),
		cmocka_unit_test(lists_of_sections_are_decoded),
		cmocka_unit_test(pipelines_refer_to_components),
		cmocka_unit_test(what_does_nothing_is_warned_about),
		cmocka_unit_test(anchors_and_merge_keys_work),
		cmocka_unit_test(byte_order_mark_and_crlf_are_accepted),
		cmocka_unit_test(files_that_cannot_be_read_are_named),
		cmocka_unit_test(a_file_is_loaded_by_path),
		cmocka_unit_test(large_files_meet_limits),
		cmocka_unit_test(aliases_do_not_deepen_beyond_the_limit),
		cmocka_unit_test(hostile_files_are_read_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
