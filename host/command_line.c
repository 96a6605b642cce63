// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"

#include "logging.h"

#include "base/base.h"

#include <string.h>

const char command_line_help[] =
	"profcol profiles this machine and passes the profiles through a pipeline.\n"
	"\n"
	"Usage:\n"
	"  profcol --config FILE             run the pipelines of FILE until SIGINT or SIGTERM\n"
	"  profcol validate --config FILE    check FILE and exit; silent when it is right\n"
	"  profcol components                show the components in this program, as YAML\n"
	"\n"
	"Flags:\n"
	"  --config FILE           the configuration; file:FILE is accepted, too\n"
	"  --log-level LEVEL       debug, info, warn or error (default info)\n"
	"  --feature-gates LIST    accepted for the Collector's sake: service.profilesSupport\n"
	"  -v, --version           print the version\n"
	"  -h, --help              print this text\n"
	"\n"
	"Exit codes: 0 fine, 2 wrong usage, 78 wrong configuration, 1 anything else.\n";

static const char no_config_text[] =
	"at least one config flag must be provided: --config FILE; a minimal FILE reads\n"
	"\n"
	"receivers:\n"
	"  profiling:\n"
	"exporters:\n"
	"  pprof:\n"
	"    directory: /tmp/profiles\n"
	"service:\n"
	"  pipelines:\n"
	"    profiles:\n"
	"      receivers: [profiling]\n"
	"      exporters: [pprof]";

enum flag { FLAG_CONFIG, FLAG_LOG_LEVEL, FLAG_FEATURE_GATES, FLAG_VERSION, FLAG_HELP, FLAGS };

static const char *const flag_names[FLAGS] = {
	[FLAG_CONFIG] = "--config",   [FLAG_LOG_LEVEL] = "--log-level",
	[FLAG_VERSION] = "--version", [FLAG_FEATURE_GATES] = "--feature-gates",
	[FLAG_HELP] = "--help",
};

enum { COMMANDS = 2 };

static const char *const command_names[COMMANDS] = { "validate", "components" };
static const enum command command_values[COMMANDS] = { COMMAND_VALIDATE, COMMAND_COMPONENTS };

static const char *const feature_gates[] = { "service.profilesSupport" };

/* "unknown flag '--confg'; did you mean '--config'?" */
static struct profcol_error *unknown_word(const char *what, const char *word,
					  const char *const *known, size_t count,
					  const char *otherwise)
{
	const char *nearest = strings_nearest(word, known, count);

	if (nearest)
		return profcol_error_create(PROFCOL_CONFIG, "unknown %s '%s'; did you mean '%s'?",
					    what, word, nearest);
	return profcol_error_create(PROFCOL_CONFIG, "unknown %s '%s'; %s", what, word, otherwise);
}

static struct profcol_error *set_config(struct command_line *line, const char *value)
{
	static const char scheme[] = "file:";

	if (line->config)
		return profcol_error_create(PROFCOL_CONFIG,
					    "flag '--config' given twice; put all into one file");
	if (strncmp(value, scheme, sizeof(scheme) - 1) == 0)
		value += sizeof(scheme) - 1;
	if (!value[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "flag '--config' needs a value: --config FILE");
	line->config = value;
	return NULL;
}

static struct profcol_error *set_level(struct command_line *line, const char *value)
{
	if (logging_parse_level(value, &line->level))
		return NULL;
	return unknown_word("log level", value, logging_levels, LOGGING_LEVELS,
			    "valid are debug, info, warn and error");
}

/* A comma-separated list of gates, each with an optional '+' or '-': known ones change nothing. */
static struct profcol_error *check_feature_gates(const char *value)
{
	size_t count = sizeof(feature_gates) / sizeof(feature_gates[0]);

	while (*value) {
		size_t length = strcspn(value, ",");
		const char *rest = value + length + (value[length] == ',');
		CLEANUP_FREE char *gate = NULL;
		bool known = false;

		if (*value == '+' || *value == '-') {
			value++;
			length--;
		}
		gate = strndup(value, length);
		if (!gate)
			return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
		for (size_t i = 0; i < count; i++)
			known |= strcmp(gate, feature_gates[i]) == 0;
		if (!known)
			return unknown_word("feature gate", gate, feature_gates, count,
					    "known is service.profilesSupport");
		value = rest;
	}
	return NULL;
}

static struct profcol_error *set_flag(struct command_line *line, enum flag flag, const char *value)
{
	switch (flag) {
	case FLAG_CONFIG:
		return set_config(line, value);
	case FLAG_LOG_LEVEL:
		return set_level(line, value);
	case FLAG_FEATURE_GATES:
		return check_feature_gates(value);
	case FLAG_VERSION:
		line->command = COMMAND_VERSION;
		return NULL;
	case FLAG_HELP:
	case FLAGS:
		break;
	}
	line->command = COMMAND_HELP;
	return NULL;
}

static bool flag_find(const char *word, size_t length, enum flag *ret)
{
	if (length == 2 && (memcmp(word, "-h", 2) == 0 || memcmp(word, "-v", 2) == 0)) {
		*ret = word[1] == 'h' ? FLAG_HELP : FLAG_VERSION;
		return true;
	}
	for (unsigned int i = 0; i < FLAGS; i++) {
		if (strlen(flag_names[i]) == length && memcmp(word, flag_names[i], length) == 0) {
			*ret = (enum flag)i;
			return true;
		}
	}
	return false;
}

/* Read the flag at argv[*index] with its value, and leave *index at the last word of it. */
static struct profcol_error *parse_flag(struct command_line *line, int argc, char *const *argv,
					int *index)
{
	const char *word = argv[*index], *value = NULL;
	size_t length = strcspn(word, "=");
	bool takes_value;
	enum flag flag;

	if (!flag_find(word, length, &flag))
		return unknown_word("flag", word, flag_names, FLAGS, "see 'profcol --help'");
	takes_value = flag == FLAG_CONFIG || flag == FLAG_LOG_LEVEL || flag == FLAG_FEATURE_GATES;
	if (word[length] == '=')
		value = word + length + 1;
	else if (takes_value && *index + 1 < argc)
		value = argv[++*index];
	if (takes_value && !value)
		return profcol_error_create(PROFCOL_CONFIG, "flag '%s' needs a value: %s VALUE",
					    word, word);
	if (!takes_value && value)
		return profcol_error_create(PROFCOL_CONFIG, "flag '%s' takes no value",
					    flag_names[flag]);
	return set_flag(line, flag, value);
}

static struct profcol_error *parse_command(struct command_line *line, const char *word, bool *seen)
{
	if (*seen)
		return profcol_error_create(PROFCOL_CONFIG,
					    "unexpected word '%s'; give one command only", word);
	*seen = true;
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(word, command_names[i]) != 0)
			continue;
		// `profcol validate --help` asks for help.
		if (line->command == COMMAND_RUN)
			line->command = command_values[i];
		return NULL;
	}
	if (strpbrk(word, "./"))
		return profcol_error_create(PROFCOL_CONFIG,
					    "unknown command '%s'; a configuration is given as "
					    "'--config %s'",
					    word, word);
	return unknown_word("command", word, command_names, COMMANDS,
			    "there are 'validate' and 'components', and none to run");
}

struct profcol_error *command_line_parse(int argc, char *const *argv, struct command_line *ret)
{
	struct command_line line = { .command = COMMAND_RUN, .level = PROFCOL_INFO };
	bool seen_command = false;

	for (int i = 1; i < argc; i++) {
		struct profcol_error *error;

		if (argv[i][0] == '-')
			error = parse_flag(&line, argc, argv, &i);
		else
			error = parse_command(&line, argv[i], &seen_command);
		if (error)
			return error;
	}
	if (!line.config && (line.command == COMMAND_RUN || line.command == COMMAND_VALIDATE))
		return profcol_error_create(PROFCOL_CONFIG, "%s", no_config_text);
	*ret = line;
	return NULL;
}
