// SPDX-License-Identifier: Apache-2.0
/* `profcol components`: laid out as the Collector's, with the options besides. */
#include "host/commands/command.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

struct sample_config {
	int64_t rate;
	uint64_t wait_ns;
	int mode;
	const char *name;
	struct {
		bool on;
	} part;
};

static const char *const modes[] = { "", "fast", "slow", NULL };

static const struct profcol_option part_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct sample_config, part.on, "false",
			    "whether it is \"on\""),
	PROFCOL_OPTION_END,
};

static const struct profcol_option options[] = {
	PROFCOL_OPTION_INT("rate", struct sample_config, rate, "20", 1, INT64_MAX, "how often"),
	PROFCOL_OPTION_DURATION("wait", struct sample_config, wait_ns, "5s", 0, PROFCOL_MINUTE,
				"how long"),
	PROFCOL_OPTION_ENUM("mode", struct sample_config, mode, NULL, modes, "how: a # or b"),
	PROFCOL_OPTION_REQUIRED_STRING("name", struct sample_config, name, "what"),
	{ .key = "part", .type = PROFCOL_OPTION_NESTED, .nested = part_options, .doc = "more" },
	PROFCOL_OPTION_END,
};

static const char *const otlp_aliases[] = { "otlp", "otlp_old", NULL };

static const struct profcol_component otlp = {
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.type = "otlp_grpc",
	.aliases = otlp_aliases,
	.stability = PROFCOL_BETA,
	.summary = "sends \"profiles\": by gRPC # 1.11",
};

static const struct profcol_component profiling = {
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_RECEIVER,
	.type = "profiling",
	.stability = PROFCOL_DEVELOPMENT,
	.summary = "samples this machine",
	.options = options,
	.config_size = sizeof(struct sample_config),
};

static const struct profcol_component *const components[] = { &otlp, &profiling };
static const struct component_registry registry = { components, 2 };

static char *print(void)
{
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	assert_non_null(stream);
	components_print(&registry, "1.2.3", stream);
	fclose(stream);
	return text;
}

static void components_are_printed_as_the_collector_does(void **state)
{
	CLEANUP_FREE char *text = print();

	(void)state;
	assert_non_null(strstr(text, "buildinfo:\n    command: profcol\n"));
	assert_non_null(strstr(text, "    version: 1.2.3\n"
				     "receivers:\n"
				     "    - name: profiling\n"
				     "      stability:\n"
				     "        profiles: Development\n"
				     "      summary: \"samples this machine\"\n"));
	assert_non_null(strstr(text, "processors: []\n"
				     "exporters:\n"
				     "    - name: otlp_grpc\n"
				     "      aliases: [otlp, otlp_old]\n"
				     "      stability:\n"
				     "        profiles: Beta\n"
				     "      summary: \"sends \\\"profiles\\\": by gRPC # 1.11\"\n"
				     "      options: []\n"
				     "connectors: []\n"
				     "extensions: []\n"
				     "providers:\n"));
}

static void every_option_has_type_bounds_default_and_doc(void **state)
{
	CLEANUP_FREE char *text = print();

	(void)state;
	assert_non_null(strstr(text, "      options:\n"
				     "          - key: rate\n"
				     "            type: int\n"
				     "            minimum: 1\n"
				     "            default: 20\n"
				     "            doc: \"how often\"\n"
				     "          - key: wait\n"
				     "            type: duration\n"
				     "            maximum: 1m\n"
				     "            default: 5s\n"
				     "            doc: \"how long\"\n"
				     "          - key: mode\n"
				     "            type: enum\n"
				     "            values: [\"fast\", \"slow\"]\n"
				     "            doc: \"how: a # or b\"\n"
				     "          - key: name\n"
				     "            type: string\n"
				     "            required: true\n"
				     "            doc: \"what\"\n"
				     "          - key: part\n"
				     "            type: section\n"
				     "            doc: \"more\"\n"
				     "            options:\n"
				     "                - key: enabled\n"
				     "                  type: bool\n"
				     "                  default: false\n"
				     "                  doc: \"whether it is \\\"on\\\"\"\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(components_are_printed_as_the_collector_does),
		cmocka_unit_test(every_option_has_type_bounds_default_and_doc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
