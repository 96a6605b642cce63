// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/command_line.h"

#include <string.h>

enum { WORDS_MAX = 8 };

/* Parse "profcol" followed by the words of @text. */
static struct profcol_error *parse(const char *text, struct command_line *ret)
{
	static char words[256];
	char *argv[WORDS_MAX + 2] = { (char[]){ "profcol" } }, *rest = NULL;
	int argc = 1;

	*ret = (struct command_line){ 0 };
	strncpy(words, text, sizeof(words) - 1);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		argv[argc++] = word;
	return command_line_parse(argc, argv, ret);
}

static void accept(const char *text, enum command command, const char *config,
		   enum profcol_level level)
{
	struct command_line line;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = parse(text, &line);

	if (error)
		fail_msg("%s: %s", text, profcol_error_message(error));
	assert_int_equal(line.command, command);
	assert_int_equal(line.level, level);
	if (config)
		assert_string_equal(line.config, config);
	else
		assert_null(line.config);
}

static void refuse(const char *text, const char *message)
{
	struct command_line line;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = parse(text, &line);

	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_string_equal(profcol_error_message(error), message);
}

static void commands_and_flags(void **state)
{
	(void)state;
	accept("--config a.yaml", COMMAND_RUN, "a.yaml", PROFCOL_INFO);
	accept("--config=a.yaml", COMMAND_RUN, "a.yaml", PROFCOL_INFO);
	accept("--config file:/etc/a.yaml", COMMAND_RUN, "/etc/a.yaml", PROFCOL_INFO);
	accept("validate --config a.yaml", COMMAND_VALIDATE, "a.yaml", PROFCOL_INFO);
	accept("--config a.yaml validate", COMMAND_VALIDATE, "a.yaml", PROFCOL_INFO);
	accept("--log-level debug --config a", COMMAND_RUN, "a", PROFCOL_DEBUG);
	accept("--log-level=error --config a", COMMAND_RUN, "a", PROFCOL_ERROR);
	accept("components", COMMAND_COMPONENTS, NULL, PROFCOL_INFO);
	accept("--version", COMMAND_VERSION, NULL, PROFCOL_INFO);
	accept("-v", COMMAND_VERSION, NULL, PROFCOL_INFO);
	accept("validate --help", COMMAND_HELP, NULL, PROFCOL_INFO);
	accept("-h", COMMAND_HELP, NULL, PROFCOL_INFO);
}

static void the_collectors_feature_gate_is_accepted(void **state)
{
	(void)state;
	accept("--config a --feature-gates=service.profilesSupport", COMMAND_RUN, "a",
	       PROFCOL_INFO);
	accept("--config a --feature-gates +service.profilesSupport", COMMAND_RUN, "a",
	       PROFCOL_INFO);
	accept("--config a --feature-gates=-service.profilesSupport,service.profilesSupport",
	       COMMAND_RUN, "a", PROFCOL_INFO);
	accept("--config a --feature-gates=", COMMAND_RUN, "a", PROFCOL_INFO);
	refuse("--config a --feature-gates=+service.profileSupport",
	       "unknown feature gate 'service.profileSupport'; did you mean "
	       "'service.profilesSupport'?");
	refuse("--config a --feature-gates=x", "unknown feature gate 'x'; known is "
					       "service.profilesSupport");
}

static void wrong_words_get_a_hint(void **state)
{
	(void)state;
	refuse("--confg a.yaml", "unknown flag '--confg'; did you mean '--config'?");
	refuse("--log_level debug", "unknown flag '--log_level'; did you mean '--log-level'?");
	refuse("--set a=b", "unknown flag '--set'; see 'profcol --help'");
	refuse("-x", "unknown flag '-x'; see 'profcol --help'");
	refuse("validat --config a", "unknown command 'validat'; did you mean 'validate'?");
	refuse("run --config a", "unknown command 'run'; there are 'validate' and 'components', "
				 "and none to run");
	refuse("pipeline.yaml", "unknown command 'pipeline.yaml'; a configuration is given as "
				"'--config pipeline.yaml'");
	refuse("validate components", "unexpected word 'components'; give one command only");
	refuse("--config a --log-level inf", "unknown log level 'inf'; did you mean 'info'?");
	refuse("--config a --log-level loud",
	       "unknown log level 'loud'; valid are debug, info, warn and error");
}

static void values_are_asked_for(void **state)
{
	(void)state;
	refuse("--config", "flag '--config' needs a value: --config VALUE");
	refuse("--config=", "flag '--config' needs a value: --config FILE");
	refuse("--help=yes", "flag '--help' takes no value");
	refuse("--config a --config b", "flag '--config' given twice; put all into one file");
}

static void no_configuration_shows_a_minimal_one(void **state)
{
	static const char *const lines[] = { "", "validate", "--log-level debug" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct command_line line;
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = parse(lines[i], &line);

		assert_non_null(error);
		assert_non_null(strstr(profcol_error_message(error),
				       "at least one config flag must be provided"));
		assert_non_null(strstr(profcol_error_message(error), "receivers: [profiling]"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_and_flags),
		cmocka_unit_test(the_collectors_feature_gate_is_accepted),
		cmocka_unit_test(wrong_words_get_a_hint),
		cmocka_unit_test(values_are_asked_for),
		cmocka_unit_test(no_configuration_shows_a_minimal_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
