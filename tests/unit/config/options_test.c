// SPDX-License-Identifier: Apache-2.0
/* Option tables themselves: faults in them, and the documentation made from them. */
#include "sample_components.h"

#include "config/check.h"
#include "config/describe.h"

#include "base/base.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct faulty_config {
	int64_t number;
	uint64_t delay_ns;
	bool flag;
	int word;
};

static const char *const words[] = { "one", "two", NULL };

static const struct profcol_option faulty_options[] = {
	PROFCOL_OPTION_INT("number", struct faulty_config, number, "11", 1, 10,
			   "default too large"),
	PROFCOL_OPTION_DURATION("delay", struct faulty_config, delay_ns, "5", 0, 0, "no unit"),
	PROFCOL_OPTION_BOOL("flag", struct faulty_config, flag, "yes", "no boolean"),
	PROFCOL_OPTION_ENUM("word", struct faulty_config, word, "three", words, "no such word"),
	PROFCOL_OPTION_INT("other", struct faulty_config, number, "[1", 1, 10, "no YAML"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option ill_formed_options[] = {
	PROFCOL_OPTION_INT("Number", struct faulty_config, number, "1", 1, 10, "key"),
	PROFCOL_OPTION_INT("number", struct faulty_config, number, "1", 10, 1, "bounds"),
	PROFCOL_OPTION_BOOL("flag", struct faulty_config, flag, "true", ""),
	PROFCOL_OPTION_BOOL("twice", struct faulty_config, flag, "true", "first"),
	PROFCOL_OPTION_BOOL("twice", struct faulty_config, flag, "true", "second"),
	{ .key = "outside", .type = PROFCOL_OPTION_STRING, .offset = 4096, .doc = "offset" },
	{ .key = "empty", .type = PROFCOL_OPTION_ENUM, .doc = "no words" },
	{ .key = "hollow", .type = PROFCOL_OPTION_NESTED, .doc = "no table" },
	{ .key = "sizeless",
	  .type = PROFCOL_OPTION_SECTIONS,
	  .nested = faulty_options,
	  .doc = "no size" },
	{ .key = "later",
	  .type = (enum profcol_option_type)(PROFCOL_OPTION_ANY + 1),
	  .doc = "no such type",
	  .fallback = "1" },
	PROFCOL_OPTION_END,
};

#define FAULTY(type_, options_)                                                                    \
	{ .abi = PROFCOL_ABI,                                                                      \
	  .size = sizeof(struct profcol_component),                                                \
	  .kind = PROFCOL_EXPORTER,                                                                \
	  .type = (type_),                                                                         \
	  .summary = "for tests",                                                                  \
	  .options = (options_),                                                                   \
	  .config_size = sizeof(struct faulty_config) }

static const struct profcol_component faulty = FAULTY("faulty", faulty_options);
static const struct profcol_component ill_formed = FAULTY("ill-formed", ill_formed_options);

static void sample_tables_are_sound(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		config_check_options(&sample_components);

	(void)state;
	if (error)
		fail_msg("%s", profcol_error_message(error));
}

static void faulty_tables_are_found(void **state)
{
	static const struct profcol_component *const components[] = { &faulty, &ill_formed };
	static const struct component_registry registry = { components, 2 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = config_check_options(&registry);
	static const char *const expected[] = {
		"exporters::faulty::number: must be between 1 and 10, got 11",
		"exporters::faulty::delay: time: missing unit in duration \"5\"",
		"exporters::faulty::flag: expected type 'bool', got unconvertible type 'string'",
		"exporters::faulty::word: unknown value \"three\"",
		"exporters::faulty::other: the default '[1' is not YAML",
		"exporters::ill-formed: the type is against the grammar of ids",
		"exporters::ill-formed::Number: the key is not lower_snake_case",
		"exporters::ill-formed::number: the lower bound is above the upper one",
		"exporters::ill-formed::flag: the option has no doc line",
		"exporters::ill-formed::twice: the key is there twice",
		"exporters::ill-formed::outside: the field lies outside of the struct",
		"exporters::ill-formed::empty: an enum has no words",
		"exporters::ill-formed::hollow: a nested option has no table",
		"exporters::ill-formed::sizeless: a list of sections has no table or no size",
		"exporters::ill-formed::later: is of a type that this program does not know",
	};

	(void)state;
	assert_non_null(error);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		if (!strstr(profcol_error_message(error), expected[i]))
			fail_msg("'%s' is not in\n%s", expected[i], profcol_error_message(error));
}

static const struct profcol_component *find(const char *type)
{
	for (size_t i = 0; i < sample_components.count; i++)
		if (!strcmp(sample_components.components[i]->type, type))
			return sample_components.components[i];
	return NULL;
}

static void expect_description(const char *type, const char *expected)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	assert_non_null(stream);
	describe_options(find(type)->options, stream);
	fclose(stream);
	assert_string_equal(text, expected);
}

static void tables_become_markdown(void **state)
{
	(void)state;
	expect_description(
		"pprof",
		"| key | type | default | |\n"
		"|---|---|---|---|\n"
		"| `directory` | string | `/var/lib/profcol` | where files are written |\n"
		"| `interval` | duration, at least 1s | `60s` | one file per interval |\n"
		"| `retention` | section |  | which files are deleted |\n"
		"| `retention.max_files` | int, at least 0 | `100` | files kept, 0 for all |\n"
		"| `retention.max_age` | duration | `0` | files kept this long, 0 for ever |\n"
		"| `retention.max_bytes` | bytes, at least 4KiB | `1GiB` | space for all files |\n"
		"| `compression_level` | int, 0 to 9 | `6` | of gzip |\n");
	expect_description("otlp_grpc",
			   "| key | type | default | |\n"
			   "|---|---|---|---|\n"
			   "| `endpoint` | string | required | host:port |\n"
			   "| `token` | secret |  | bearer token |\n"
			   "| `headers` | map |  | sent with each request |\n"
			   "| `ratio` | float, 0 to 1 | `1` | share of samples |\n"
			   "| `tls` | section |  | transport security |\n"
			   "| `tls.insecure` | bool |  | without TLS |\n"
			   "| `tls.ca_file` | string |  | PEM file \\| system store |\n"
			   "| `ping` | section |  | signs of life |\n"
			   "| `ping.every` | int, 1 to 10 | `5` | seconds |\n"
			   "| `rules` | list of sections |  | applied in order |\n"
			   "| `rules[].key` | string | required | what it is about |\n"
			   "| `rules[].weight` | int, 0 to 10 | `1` | its weight |\n");
	expect_description(
		"debug",
		"| key | type | default | |\n"
		"|---|---|---|---|\n"
		"| `verbosity` | `basic`, `normal`, `detailed` | `basic` | how much is printed |\n"
		"| `top` | int, 0 to 1000 | `0` | hottest functions |\n");
	expect_description("health_check", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sample_tables_are_sound),
		cmocka_unit_test(faulty_tables_are_found),
		cmocka_unit_test(tables_become_markdown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
