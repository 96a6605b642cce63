// SPDX-License-Identifier: Apache-2.0
/*
 * Any bytes as a configuration, or, with lines "%%" between them, as several that are merged, the
 * last one as an argument of --set. Variables are part of it: F_... hold what a file could refer
 * to. What loads is printed, and has to load again.
 */
#include "config/config.h"
#include "tests/unit/config/sample_components.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEPARATOR "\n%%\n"

enum {
	PARTS_MAX = 4,
	/* Keys have to stay short to be keys, and aliases may stand for more than a file may have.
	 */
	PRINTED_INPUT_MAX = 900,
	PRINTED_MAX = 64 << 10,
};

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return setenv("F_A", "99", 1) || setenv("F_B", "[a, '${env:F_A}']", 1) ||
	       setenv("F_C", "${env:F_A}$${x}", 1) || setenv("F_D", "- ${env:F_D}\n- 1", 1) ||
	       setenv("F_E", "{a: b, profiling: , debug: {top: 1}}", 1);
}

static void must_load(const char *text, size_t length)
{
	struct profcol_error *error;
	struct config *config = NULL;

	error = config_parse("again.yaml", text, length, &sample_components, &config);
	if (error) {
		fprintf(stderr, "%s\n%s\n", text, profcol_error_message(error));
		abort();
	}
	config_destroy(config);
}

static void print_and_load(const struct config *config, enum config_format format)
{
	char *text = NULL;
	size_t length = 0;
	FILE *stream = open_memstream(&text, &length);

	if (!stream)
		abort();
	config_print(config, format, false, stream);
	fclose(stream);
	if (length < PRINTED_MAX)
		must_load(text, length);
	free(text);
}

static void check(struct profcol_error *error, struct config *config, size_t input_length)
{
	// Exactly one of the two, and every error says something.
	if (!error == !config || (error && !*profcol_error_message(error)))
		abort();
	if (config && input_length < PRINTED_INPUT_MAX) {
		print_and_load(config, CONFIG_YAML_FORMAT);
		print_and_load(config, CONFIG_JSON_FORMAT);
	}
	profcol_error_destroy(error);
	config_destroy(config);
}

/* Several texts: `yaml:` locations, and behind the last separator an argument of --set. */
static void load_parts(char *text, size_t length)
{
	const char *uris[PARTS_MAX], *set;
	struct config_sources sources = { .uris = uris, .sets = &set, .set_count = 1 };
	char *rest = text, *end, *owned[PARTS_MAX] = {};
	struct profcol_error *error;
	struct config *config = NULL;

	while (sources.uri_count < PARTS_MAX && (end = strstr(rest, SEPARATOR))) {
		*end = '\0';
		if (asprintf(&owned[sources.uri_count], "yaml:%s", rest) < 0)
			abort();
		uris[sources.uri_count] = owned[sources.uri_count];
		sources.uri_count++;
		rest = end + strlen(SEPARATOR);
	}
	set = rest;
	sources.without_files = true;
	error = config_load(&sources, &sample_components, &config);
	check(error, config, length);
	for (size_t i = 0; i < sources.uri_count; i++)
		free(owned[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = strndup((const char *)bytes, length);
	struct profcol_error *error;
	struct config *config = NULL;

	if (!text)
		return 0;
	if (strstr(text, SEPARATOR)) {
		load_parts(text, length);
	} else {
		error = config_parse("fuzz.yaml", (const char *)bytes, length, &sample_components,
				     &config);
		check(error, config, length);
	}
	free(text);
	return 0;
}
