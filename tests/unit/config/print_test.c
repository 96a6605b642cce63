// SPDX-License-Identifier: Apache-2.0
/* What a configuration amounts to: printed, compared, and loaded again from what was printed. */
#include "sources_fixture.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char text[] = "receivers: {profiling: {samples_per_second: 0x13, tracers: []}}\n"
			   "processors: {filter: }\n"
			   "exporters:\n"
			   "  pprof: {directory: 'a: \"b\"\\c', interval: 90m,"
			   " retention: {max_bytes: 1.5MiB}}\n"
			   "  otlp:\n"
			   "    endpoint: $$${P_HOST}$${x}\n"
			   "    token: se$$cret\n"
			   "    headers: {Authorization: Bearer x, 'yes': \"1\\n\\t\\\"\"}\n"
			   "    ratio: 0.1\n"
			   "    rules: [{key: 'true'}, {key: '1', weight: 2}]\n"
			   "    tls: {}\n"
			   "service:\n"
			   "  telemetry: {logs: {initial_fields: {a: 1}}, resource: {x: y, z: }}\n"
			   "  pipelines:\n"
			   "    profiles: {receivers: [profiling], exporters: [otlp, pprof]}\n";

static struct config *parse(const char *yaml)
{
	struct config *config = NULL;
	struct profcol_error *error =
		config_parse("p.yaml", yaml, strlen(yaml), &sample_components, &config);

	if (error)
		fail_msg("%s\n%s", yaml, profcol_error_message(error));
	return config;
}

static char *print(const struct config *config, enum config_format format, bool redacted)
{
	char *printed;
	size_t length;
	FILE *stream = open_memstream(&printed, &length);

	assert_non_null(stream);
	config_print(config, format, redacted, stream);
	assert_int_equal(fclose(stream), 0);
	return printed;
}

static int set_up(void **state)
{
	(void)state;
	return setenv("P_HOST", "host:1", 1);
}

/* The beginning of it: what follows is what profcol does by itself. */
static const char expected[] = "connectors: {}\n"
			       "exporters:\n"
			       "    pprof:\n"
			       "        compression_level: 6\n"
			       "        directory: \"a: \\\"b\\\"\\\\c\"\n"
			       "        interval: 1h30m\n"
			       "        retention:\n"
			       "            max_age: 0s\n"
			       "            max_bytes: 1536KiB\n"
			       "            max_files: 100\n"
			       "    otlp:\n"
			       "        endpoint: \"$host:1$${x}\"\n"
			       "        headers:\n"
			       "            Authorization: \"[REDACTED]\"\n"
			       "            \"yes\": \"[REDACTED]\"\n"
			       "        ping: null\n"
			       "        ratio: 0.1\n"
			       "        rules:\n"
			       "            -   key: \"true\"\n"
			       "                weight: 1\n"
			       "            -   key: \"1\"\n"
			       "                weight: 2\n"
			       "        tls:\n"
			       "            ca_file: \"\"\n"
			       "            insecure: false\n"
			       "        token: \"[REDACTED]\"\n"
			       "extensions: {}\n"
			       "processors:\n"
			       "    filter:\n"
			       "        max: 100\n"
			       "        min: 0\n"
			       "receivers:\n"
			       "    profiling:\n"
			       "        reporter_interval: 5s\n"
			       "        samples_per_second: 19\n"
			       "        send_idle_frames: false\n"
			       "        tracers: []\n"
			       "service:\n"
			       "    extensions: []\n"
			       "    pipelines:\n"
			       "        profiles:\n"
			       "            exporters:\n"
			       "                - otlp\n"
			       "                - pprof\n"
			       "            processors: []\n"
			       "            receivers:\n"
			       "                - profiling\n"
			       "    plugins: []\n"
			       "    shutdown_timeout: 5s\n"
			       "    telemetry:\n"
			       "        logs:\n";

static void the_effective_configuration_is_printed(void **state)
{
	struct config *config = parse(text);
	CLEANUP_FREE char *printed = print(config, CONFIG_YAML_FORMAT, true);

	(void)state;
	config_destroy(config);
	if (strncmp(printed, expected, strlen(expected)) != 0)
		assert_string_equal(printed, expected);
	assert_null(strstr(printed, "Bearer"));
	assert_null(strstr(printed, "cret"));
}

#define FRAME                                                                                      \
	"receivers: {profiling: }\nexporters: {debug: }\n"                                         \
	"service: {pipelines: {profiles: {receivers: [profiling], exporters: [debug]}}"

/* Readers that do nothing are still readers, and no list of them is another thing than none. */
static void readers_of_no_use_are_kept(void **state)
{
	static const char given[] =
		FRAME ", telemetry: {metrics: {readers: [{periodic: {}}, {}, {pull: {exporter: "
		      "{prometheus: {port: 1}}}}]}}}\n";
	struct config *first = parse(given), *second;
	CLEANUP_FREE char *printed = print(first, CONFIG_YAML_FORMAT, true), *again = NULL;

	(void)state;
	assert_int_equal(first->service.metrics.reader_count, 1);
	assert_int_equal(first->service.metrics.ignored_count, 2);
	second = parse(printed);
	again = print(second, CONFIG_YAML_FORMAT, true);
	assert_string_equal(printed, again);
	config_destroy(first);
	config_destroy(second);
}

/* Also for readers who take more for dates, times or numbers than we do. */
static void text_is_quoted_where_it_could_be_taken_for_something_else(void **state)
{
	static const char given[] = FRAME
		", telemetry: {resource: {a: '2026-01-31', b: '10:30', c: 5s, d: 127.0.0.1:80, "
		"e: 1GiB, f: '+1:30', g: 2026-01-31T00:00:00Z}}}\n";
	struct config *config = parse(given);
	CLEANUP_FREE char *printed = print(config, CONFIG_YAML_FORMAT, false);

	(void)state;
	config_destroy(config);
	assert_non_null(strstr(printed, "a: \"2026-01-31\"\n"));
	assert_non_null(strstr(printed, "b: \"10:30\"\n"));
	assert_non_null(strstr(printed, "c: 5s\n"));
	assert_non_null(strstr(printed, "d: 127.0.0.1:80\n"));
	assert_non_null(strstr(printed, "e: 1GiB\n"));
	assert_non_null(strstr(printed, "f: \"+1:30\"\n"));
	assert_non_null(strstr(printed, "g: \"2026-01-31T00:00:00Z\"\n"));
}

/* Such a key has to have a mark, or is none. */
static void a_long_key_is_printed_as_one(void **state)
{
	struct config *first, *second;
	CLEANUP_FREE char *given = NULL, *printed = NULL, *again = NULL;
	char name[1021];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_true(asprintf(&given, "%s}\nprocessors:\n  ? filter/%s\n  : {min: 3}\n", FRAME,
			     name) > 0);
	first = parse(given);
	printed = print(first, CONFIG_YAML_FORMAT, true);
	second = parse(printed);
	again = print(second, CONFIG_YAML_FORMAT, true);
	assert_string_equal(printed, again);
	assert_non_null(strstr(printed, "min: 3"));
	config_destroy(first);
	config_destroy(second);
}

static const char *text_of(const struct config *config, const char *id)
{
	for (size_t i = 0; i < config->component_count; i++)
		if (!strcmp(config->components[i].id, id))
			return config->components[i].text;
	fail_msg("no component '%s'", id);
	return NULL;
}

/* Unredacted, it is the same configuration once more, in either format. */
static void what_is_printed_loads_again(void **state)
{
	static const enum config_format formats[] = { CONFIG_YAML_FORMAT, CONFIG_JSON_FORMAT };
	struct config *first = parse(text);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		CLEANUP_FREE char *printed = print(first, formats[i], false);
		struct config *second = parse(printed);
		CLEANUP_FREE char *again = print(second, formats[i], false);
		CLEANUP_FREE char *hidden = print(first, formats[i], true);

		assert_string_equal(printed, again);
		assert_non_null(strstr(printed, "se$cret"));
		assert_null(strstr(hidden, "se$cret"));
		for (size_t j = 0; j < first->component_count; j++)
			assert_string_equal(first->components[j].text,
					    text_of(second, first->components[j].id));
		config_destroy(second);
	}
	config_destroy(first);
}

/* Equal text means equally configured, however it was written. */
static void text_tells_what_has_changed(void **state)
{
	struct config *first = parse(text);
	struct config *same, *other;
	CLEANUP_FREE char *changed = strdup(text);

	(void)state;
	same = parse(text);
	*strstr(changed, "cret") = 'C';
	other = parse(changed);
	assert_int_equal(first->component_count, other->component_count);
	for (size_t i = 0; i < first->component_count; i++) {
		bool is_sender = !strcmp(first->components[i].id, "otlp");

		assert_string_equal(first->components[i].text, same->components[i].text);
		assert_int_equal(strcmp(first->components[i].text, other->components[i].text) != 0,
				 is_sender);
	}
	config_destroy(first);
	config_destroy(same);
	config_destroy(other);
}

static void json_is_json(void **state)
{
	struct config *config = parse(text);
	CLEANUP_FREE char *printed = print(config, CONFIG_JSON_FORMAT, true);

	(void)state;
	config_destroy(config);
	assert_non_null(strstr(printed,
			       "{\n  \"connectors\": {},\n  \"exporters\": {\n    \"pprof\": {\n"
			       "      \"compression_level\": 6,\n"));
	assert_non_null(
		strstr(printed, "      \"rules\": [\n        {\n          \"key\": \"true\",\n"));
	assert_string_equal(printed + strlen(printed) - 4, "}\n}\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_effective_configuration_is_printed),
		cmocka_unit_test(readers_of_no_use_are_kept),
		cmocka_unit_test(text_is_quoted_where_it_could_be_taken_for_something_else),
		cmocka_unit_test(a_long_key_is_printed_as_one),
		cmocka_unit_test(what_is_printed_loads_again),
		cmocka_unit_test(text_tells_what_has_changed),
		cmocka_unit_test(json_is_json),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
