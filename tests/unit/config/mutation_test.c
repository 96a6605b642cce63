// SPDX-License-Identifier: Apache-2.0
/*
 * A good configuration with random damage: never a crash, a hang, a leak or an
 * error without place and text. The sanitizers watch.
 */
#include "sample_components.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { ROUNDS = 4000, TEXT_MAX = 4096 };

static const char text[] = "# a configuration that uses everything\n"
			   "receivers:\n"
			   "  profiling: &sampler\n"
			   "    samples_per_second: 99\n"
			   "    reporter_interval: 1m30s\n"
			   "    tracers: [native, \"go\", 'python']\n"
			   "  profiling/2:\n"
			   "    <<: *sampler\n"
			   "    send_idle_frames: ${env:M_BOOL:-true}\n"
			   "processors:\n"
			   "  filter: {min: 1, max: 0x10}\n"
			   "exporters:\n"
			   "  debug:\n"
			   "    verbosity: detailed\n"
			   "  pprof:\n"
			   "    directory: ${env:M_DIRECTORY}/$$x\n"
			   "    retention:\n"
			   "      max_bytes: 10MiB\n"
			   "  otlp:\n"
			   "    endpoint: |\n"
			   "      localhost:4317\n"
			   "    headers: ${env:M_HEADERS}\n"
			   "service:\n"
			   "  extensions: []\n"
			   "  pipelines:\n"
			   "    profiles:\n"
			   "      receivers: [profiling, profiling/2]\n"
			   "      processors: [filter]\n"
			   "      exporters: [debug, pprof, otlp]\n";

static const char *const tokens[] = { "${env:M_HEADERS}",
				      "*sampler",
				      "&a ",
				      "<<: ",
				      "- ",
				      "\n",
				      "\t",
				      "{",
				      "}",
				      "[",
				      "]",
				      ": ",
				      "\"",
				      "'",
				      "#",
				      "---\n",
				      "!!int ",
				      "!x ",
				      "| ",
				      "? ",
				      "\xff",
				      "\xe2\x82",
				      "$$",
				      "${",
				      "null",
				      "~",
				      "\\0",
				      "%",
				      "@",
				      ", ",
				      "\r\n",
				      "0",
				      "-1",
				      "1e309",
				      "99999999999h" };

static uint64_t random_state = 88172645463325252;

static size_t random_below(size_t limit)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (size_t)(random_state % limit);
}

/* Replace @removed bytes at @at by @added ones, if there is room. */
static size_t splice(char *bytes, size_t length, size_t at, size_t removed, const char *added,
		     size_t added_length)
{
	if (removed > length - at)
		removed = length - at;
	if (length - removed + added_length > TEXT_MAX)
		return length;
	memmove(bytes + at + added_length, bytes + at + removed, length - at - removed);
	memcpy(bytes + at, added, added_length);
	return length - removed + added_length;
}

static size_t mutate(char *bytes, size_t length)
{
	size_t at = random_below(length + 1), from, count;
	const char *token;
	char copy[64];

	switch (random_below(4)) {
	case 0:
		token = tokens[random_below(sizeof(tokens) / sizeof(tokens[0]))];
		return splice(bytes, length, at, random_below(3), token, strlen(token));
	case 1:
		return splice(bytes, length, at, random_below(40), "", 0);
	case 2:
		copy[0] = (char)random_below(256);
		return splice(bytes, length, at, 1, copy, 1);
	default:
		from = random_below(length + 1);
		count = random_below(sizeof(copy));
		if (count > length - from)
			count = length - from;
		memcpy(copy, bytes + from, count);
		return splice(bytes, length, at, random_below(8), copy, count);
	}
}

static void damaged_files_are_survived(void **state)
{
	size_t loaded = 0;

	(void)state;
	setenv("M_DIRECTORY", "/tmp", 1);
	setenv("M_HEADERS", "{a: '${env:M_DIRECTORY}'}", 1);
	for (size_t round = 0; round < ROUNDS; round++) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
		char bytes[TEXT_MAX + 1];
		struct config *config = NULL;
		size_t length = strlen(text);

		memcpy(bytes, text, length);
		for (size_t i = round ? 1 + random_below(4) : 0; i; i--)
			length = mutate(bytes, length);
		error = config_parse("m.yaml", bytes, length, &sample_components, &config);
		assert_true(!error == !!config);
		loaded += !!config;
		config_destroy(config);
		if (!error)
			continue;
		assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
		assert_int_equal(strncmp(profcol_error_message(error), "m.yaml:", 7), 0);
		assert_true(round > 0);
	}
	print_message("%d files, %zu still good\n", ROUNDS, loaded);
	assert_in_range(loaded, 1, ROUNDS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(damaged_files_are_survived) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
