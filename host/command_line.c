// SPDX-License-Identifier: Apache-2.0
#include "command_line.h"
#include "command_line_check.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What is being put together. */
struct parsing {
	struct command_line *line;
	/* In the line's memory, with room for all there may be. */
	const char **uris, **sets, **gates;
	size_t uri_count, set_count, gate_count;
	const char *level;  /* of --log-level, or NULL */
	const char *format; /* of --format, or NULL */
	unsigned int flags_seen;
	bool command_seen;
	bool topic_expected; /* after `help` */
};

/* ---- words ---- */

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

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

/* ---- flags: each takes the value that was given ---- */

typedef struct profcol_error *(*flag_setter)(struct parsing *parsing, const char *value);

static struct profcol_error *set_config(struct parsing *parsing, const char *value)
{
	if (!value[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "flag '--config' needs a value: --config FILE");
	parsing->uris[parsing->uri_count++] = value;
	return NULL;
}

static struct profcol_error *set_set(struct parsing *parsing, const char *value)
{
	parsing->sets[parsing->set_count++] = value;
	return NULL;
}

/* A comma-separated list; empty parts mean nothing. */
static struct profcol_error *set_gates(struct parsing *parsing, const char *value)
{
	while (*value) {
		size_t length = strcspn(value, ",");
		const char *gate = arena_strndup(parsing->line->memory, value, length);

		if (!gate)
			return no_memory();
		if (length)
			parsing->gates[parsing->gate_count++] = gate;
		value += length + (value[length] == ',');
	}
	return NULL;
}

/* Which words there are is the key's to say: it takes more than the four that the help names. */
static struct profcol_error *set_level(struct parsing *parsing, const char *value)
{
	parsing->level =
		arena_printf(parsing->line->memory, "service.telemetry.logs.level=%s", value);
	return parsing->level ? NULL : no_memory();
}

/* The position of @value in @words, of which there are two: what @flag takes. */
static struct profcol_error *choose(const char *flag, const char *value,
				    const char *const words[static 2], int *ret)
{
	for (int i = 0; i < 2; i++) {
		if (strcmp(value, words[i]) == 0) {
			*ret = i;
			return NULL;
		}
	}
	return profcol_error_create(PROFCOL_CONFIG, "flag '%s' takes %s or %s, not '%s'", flag,
				    words[0], words[1], value);
}

static struct profcol_error *set_format(struct parsing *parsing, const char *value)
{
	parsing->format = value;
	return NULL;
}

/* Which words there are is the command's to say. */
static struct profcol_error *check_format(const struct parsing *parsing)
{
	static const char *const words[] = { "yaml", "json" };
	static const char *const shadow_words[] = { "text", "json" };
	struct command_line *line = parsing->line;
	bool shadows = line->command == COMMAND_SHADOW;
	int choice = 0;
	struct profcol_error *error;

	if (!parsing->format)
		return NULL;
	error = choose("--format", parsing->format, shadows ? shadow_words : words, &choice);
	if (shadows)
		line->shadow.json = choice;
	else
		line->format = choice ? CONFIG_JSON_FORMAT : CONFIG_YAML_FORMAT;
	return error;
}

static struct profcol_error *set_mode(struct parsing *parsing, const char *value)
{
	static const char *const words[] = { "redacted", "unredacted" };
	int choice = 0;
	struct profcol_error *error = choose("--mode", value, words, &choice);

	parsing->line->unredacted = choice;
	return error;
}

/* The Collector's: whether to check what is printed. Here what is printed has been checked. */
static struct profcol_error *set_validate(struct parsing *parsing, const char *value)
{
	(void)parsing;
	if (strcmp(value, "true") == 0)
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "flag '--validate' cannot be switched off: profcol prints only "
				    "what it has checked; leave it out");
}

static struct profcol_error *set_watch(struct parsing *parsing, const char *value)
{
	parsing->line->watch = strcmp(value, "true") == 0;
	return NULL;
}

static struct profcol_error *set_json(struct parsing *parsing, const char *value)
{
	parsing->line->json = strcmp(value, "true") == 0;
	return NULL;
}

/* ---- of record, shadow and top ---- */

static struct profcol_error *read_number(const char *flag, const char *value, int64_t most,
					 int64_t *ret)
{
	if (number_parse_int(value, strlen(value), ret) && *ret >= 1 && *ret <= most)
		return NULL;
	return profcol_error_create(
		PROFCOL_CONFIG, "flag '%s' takes a whole number from 1 to %" PRId64 ", not '%s'",
		flag, most, value);
}

static struct profcol_error *set_output(struct parsing *parsing, const char *value)
{
	parsing->line->record.file = parsing->line->view.output = value;
	return value[0] ? NULL
			: profcol_error_create(PROFCOL_CONFIG,
					       "flag '--output' needs a value: -o FILE.pb.gz");
}

static struct profcol_error *set_serve(struct parsing *parsing, const char *value)
{
	parsing->line->record.serve = strcmp(value, "true") == 0;
	return NULL;
}

static struct profcol_error *set_pid(struct parsing *parsing, const char *value)
{
	int64_t number = 0;
	struct profcol_error *error = read_number("--pid", value, INT32_MAX, &number);

	parsing->line->record.pid = parsing->line->shadow.pid = (int32_t)number;
	parsing->line->doctor_pid = (uint32_t)number;
	return error;
}

static struct profcol_error *set_comm(struct parsing *parsing, const char *value)
{
	parsing->line->record.comm = value;
	return command_line_check_comm(value);
}

static struct profcol_error *set_event(struct parsing *parsing, const char *value)
{
	return command_line_read_event(value, &parsing->line->record.event);
}

static struct profcol_error *set_cgroup(struct parsing *parsing, const char *value)
{
	static const char mount[] = "/sys/fs/cgroup/";
	size_t length = sizeof(mount) - 1;

	if (value[0] != '/')
		return profcol_error_create(PROFCOL_CONFIG,
					    "flag '--cgroup' takes a path that begins with '/', as "
					    "in /proc/PID/cgroup: --cgroup /%s",
					    value);
	// As it is found there, too.
	parsing->line->record.cgroup = strncmp(value, mount, length) ? value : value + length - 1;
	return NULL;
}

static struct profcol_error *set_seconds(struct parsing *parsing, const char *value)
{
	enum { YEAR = 365 * 24 * 60 * 60 };
	int64_t number = 0;
	struct profcol_error *error = read_number("--seconds", value, YEAR, &number);

	parsing->line->record.seconds = parsing->line->shadow.seconds = (uint32_t)number;
	return error;
}

static struct profcol_error *set_frequency(struct parsing *parsing, const char *value)
{
	enum { MOST = 10000 };
	int64_t number = 0;
	struct profcol_error *error = read_number("--frequency", value, MOST, &number);

	parsing->line->record.frequency = parsing->line->shadow.frequency = (uint32_t)number;
	return error;
}

static struct profcol_error *set_otlp(struct parsing *parsing, const char *value)
{
	const char *colon = strrchr(value, ':');

	parsing->line->shadow.address = value;
	if (colon && colon > value && colon[1])
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "flag '--otlp' takes HOST:PORT, not '%s': --otlp "
				    "127.0.0.1:4317",
				    value);
}

static struct profcol_error *set_version(struct parsing *parsing, const char *value)
{
	(void)value;
	if (parsing->line->command != COMMAND_HELP)
		parsing->line->command = COMMAND_VERSION;
	return NULL;
}

static struct profcol_error *set_help(struct parsing *parsing, const char *value)
{
	(void)value;
	parsing->line->command = COMMAND_HELP;
	return NULL;
}

enum flag_kind {
	FLAG_VALUE,  /* takes one */
	FLAG_SWITCH, /* --flag, --flag=true, --flag=false */
	FLAG_BARE,   /* takes none */
};

enum {
	ANY_COMMAND = 0,
	OF_RUN = 1 << COMMAND_RUN,
	OF_PRINT_CONFIG = 1 << COMMAND_PRINT_CONFIG,
	OF_DOCTOR = 1 << COMMAND_DOCTOR,
	OF_RECORD = 1 << COMMAND_RECORD,
	OF_SHADOW = 1 << COMMAND_SHADOW,
	OF_VIEW = 1 << COMMAND_VIEW,
	OF_TOP = 1 << COMMAND_TOP,
};

struct flag {
	const char *name;
	enum flag_kind kind;
	int commands; /* those it belongs to, or ANY_COMMAND */
	flag_setter set;
};

static const struct flag flags[] = {
	{ "--config", FLAG_VALUE, ANY_COMMAND, set_config },
	{ "--set", FLAG_VALUE, ANY_COMMAND, set_set },
	{ "--feature-gates", FLAG_VALUE, ANY_COMMAND, set_gates },
	{ "--log-level", FLAG_VALUE, ANY_COMMAND, set_level },
	{ "--watch-config", FLAG_SWITCH, OF_RUN, set_watch },
	{ "--format", FLAG_VALUE, OF_PRINT_CONFIG | OF_SHADOW, set_format },
	{ "--mode", FLAG_VALUE, OF_PRINT_CONFIG, set_mode },
	{ "--validate", FLAG_SWITCH, OF_PRINT_CONFIG, set_validate },
	{ "--json", FLAG_SWITCH, OF_DOCTOR, set_json },
	{ "--output", FLAG_VALUE, OF_RECORD | OF_VIEW, set_output },
	{ "--serve", FLAG_SWITCH, OF_RECORD, set_serve },
	{ "--pid", FLAG_VALUE, OF_RECORD | OF_SHADOW | OF_DOCTOR | OF_TOP, set_pid },
	{ "--comm", FLAG_VALUE, OF_RECORD | OF_TOP, set_comm },
	{ "--cgroup", FLAG_VALUE, OF_RECORD | OF_TOP, set_cgroup },
	{ "--seconds", FLAG_VALUE, OF_RECORD | OF_SHADOW | OF_TOP, set_seconds },
	{ "--frequency", FLAG_VALUE, OF_RECORD | OF_SHADOW | OF_TOP, set_frequency },
	{ "--event", FLAG_VALUE, OF_RECORD, set_event },
	{ "--otlp", FLAG_VALUE, OF_SHADOW, set_otlp },
	{ "--version", FLAG_BARE, ANY_COMMAND, set_version },
	{ "--help", FLAG_BARE, ANY_COMMAND, set_help },
};

enum { FLAGS = sizeof(flags) / sizeof(flags[0]) };

/* The flag called @name (without dashes), or NULL. */
static const struct flag *flag_find(const char *name, size_t length)
{
	for (size_t i = 0; i < FLAGS; i++) {
		const char *known = flags[i].name + 2;
		bool short_form = flags[i].kind == FLAG_BARE || flags[i].set == set_output;
		bool letter = short_form && length == 1 && name[0] == known[0];

		if (letter || (strlen(known) == length && memcmp(known, name, length) == 0))
			return &flags[i];
	}
	return NULL;
}

static struct profcol_error *unknown_flag(const char *name, size_t length)
{
	CLEANUP_FREE char *word = NULL;
	const char *names[FLAGS];

	for (size_t i = 0; i < FLAGS; i++)
		names[i] = flags[i].name;
	if (asprintf(&word, "%s%.*s", length == 1 ? "-" : "--", (int)length, name) < 0) {
		word = NULL;
		return no_memory();
	}
	return unknown_word("flag", word, names, FLAGS, "see 'profcol --help'");
}

/* Go's flag package, which the Collector's users write for: also 1, t, T, TRUE and so on. */
static const char *read_switch(const char *value)
{
	static const char *const yes[] = { "true", "1", "t", "T", "TRUE", "True" };
	static const char *const no[] = { "false", "0", "f", "F", "FALSE", "False" };

	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++) {
		if (strcmp(value, yes[i]) == 0)
			return "true";
		if (strcmp(value, no[i]) == 0)
			return "false";
	}
	return NULL;
}

/* Read the flag at argv[*index] with its value, and leave *index at the last word of it. */
static struct profcol_error *parse_flag(struct parsing *parsing, int argc, char *const *argv,
					int *index)
{
	const char *name = argv[*index] + 1 + (argv[*index][1] == '-'), *value = NULL;
	size_t length = strcspn(name, "=");
	const struct flag *flag = flag_find(name, length);

	if (!flag)
		return unknown_flag(name, length);
	if (name[length] == '=')
		value = name + length + 1;
	else if (flag->kind == FLAG_VALUE && *index + 1 < argc)
		value = argv[++*index];
	if (flag->kind == FLAG_VALUE && !value)
		return profcol_error_create(PROFCOL_CONFIG, "flag '%s' needs a value: %s VALUE",
					    flag->name, flag->name);
	if (flag->kind == FLAG_BARE && value)
		return profcol_error_create(PROFCOL_CONFIG, "flag '%s' takes no value", flag->name);
	if (flag->kind == FLAG_SWITCH) {
		value = read_switch(value ? value : "true");
		if (!value)
			return profcol_error_create(PROFCOL_CONFIG,
						    "flag '%s' takes true or false, if anything",
						    flag->name);
	}
	parsing->flags_seen |= 1u << (flag - flags);
	return flag->set(parsing, value);
}

/* ---- commands ---- */

static const char *const command_names[] = {
	"validate", "components", "print-config", "print-initial-config",
	"schema",   "doctor",     "help",         "featuregate",
	"record",   "shadow",     "view",         "top",
};

static const enum command command_values[] = {
	COMMAND_VALIDATE, COMMAND_COMPONENTS, COMMAND_PRINT_CONFIG, COMMAND_PRINT_CONFIG,
	COMMAND_SCHEMA,   COMMAND_DOCTOR,     COMMAND_HELP,         COMMAND_FEATUREGATE,
	COMMAND_RECORD,   COMMAND_SHADOW,     COMMAND_VIEW,         COMMAND_TOP,
};

enum { COMMANDS = sizeof(command_names) / sizeof(command_names[0]) };

static const char *command_name(enum command command)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (command_values[i] == command)
			return command_names[i];
	return "run";
}

static struct profcol_error *parse_command(struct parsing *parsing, const char *word)
{
	struct command_line *line = parsing->line;

	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(word, command_names[i]) != 0)
			continue;
		parsing->topic_expected =
			!parsing->command_seen && command_values[i] == COMMAND_HELP;
		// `profcol --help validate` asks for help.
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
			    "without one profcol runs; see 'profcol --help'");
}

static bool is_command(const char *word)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (!strcmp(word, command_names[i]))
			return true;
	return false;
}

static struct profcol_error *parse_word(struct parsing *parsing, const char *word)
{
	struct command_line *line = parsing->line;
	struct profcol_error *error;

	if (line->command == COMMAND_FEATUREGATE && !line->gate) {
		line->gate = word;
		return NULL;
	}
	if (line->command == COMMAND_VIEW) {
		size_t count = line->view.files[0] ? 1 : 0;

		if (line->view.files[1])
			return profcol_error_create(PROFCOL_CONFIG,
						    "unexpected word '%s'; 'view' takes a file, or "
						    "two to compare",
						    word);
		line->view.files[count] = word;
		return NULL;
	}
	if (line->command == COMMAND_RECORD)
		return profcol_error_create(PROFCOL_CONFIG,
					    "unexpected word '%s'; a program to run stands behind "
					    "'--': -- %s",
					    word, word);
	// `profcol validate FILE`: as with --config.
	if (line->command == COMMAND_VALIDATE && parsing->command_seen &&
	    !parsing->topic_expected && !is_command(word))
		return set_config(parsing, word);
	// `profcol help validate`: all help is one text.
	if (parsing->command_seen && !parsing->topic_expected)
		return profcol_error_create(PROFCOL_CONFIG,
					    "unexpected word '%s'; give one command only", word);
	error = parse_command(parsing, word);
	parsing->command_seen = true;
	return error;
}

/* @flag has been given to @command, which it does not belong to. */
static struct profcol_error *misplaced_flag(const struct flag *flag, enum command command)
{
	char owners[256] = "";
	size_t length = 0;
	int left = __builtin_popcount((unsigned int)flag->commands);

	if (flag->commands == OF_RUN)
		return profcol_error_create(PROFCOL_CONFIG, "flag '%s' has no meaning for '%s'",
					    flag->name, command_name(command));
	for (int owner = 0; owner <= COMMAND_HELP && length < sizeof(owners); owner++) {
		if (!(flag->commands & 1 << owner))
			continue;
		left--;
		length += (size_t)snprintf(owners + length, sizeof(owners) - length,
					   "'profcol %s'%s", command_name((enum command)owner),
					   left > 1   ? ", "
					   : left > 0 ? " and "
						      : "");
	}
	return profcol_error_create(PROFCOL_CONFIG, "flag '%s' is one of %s", flag->name, owners);
}

static struct profcol_error *check_flags(const struct parsing *parsing)
{
	enum command command = parsing->line->command;
	struct profcol_error *error;

	if (command == COMMAND_HELP || command == COMMAND_VERSION)
		return NULL;
	for (size_t i = 0; i < FLAGS; i++)
		if (parsing->flags_seen & 1u << i && flags[i].commands != ANY_COMMAND &&
		    !(flags[i].commands & 1 << command))
			return misplaced_flag(&flags[i], command);
	error = check_format(parsing);
	if (error)
		return error;
	if (command == COMMAND_SHADOW)
		return command_line_check_shadow(&parsing->line->shadow, parsing->uri_count);
	if (command == COMMAND_VIEW)
		return command_line_check_view(&parsing->line->view, parsing->uri_count);
	if (command == COMMAND_RECORD)
		return command_line_check_record(&parsing->line->record, parsing->uri_count);
	if (command == COMMAND_TOP)
		return command_line_check_top(&parsing->line->record, parsing->uri_count);
	if (!parsing->uri_count && (command == COMMAND_RUN || command == COMMAND_VALIDATE ||
				    command == COMMAND_PRINT_CONFIG))
		return profcol_error_create(PROFCOL_CONFIG, "%s", command_line_no_config);
	return NULL;
}

/* ---- all of it ---- */

static bool parsing_init(struct parsing *parsing, struct command_line *line, int argc,
			 char *const *argv)
{
	size_t words = (size_t)argc + 1, characters = 0;

	for (int i = 0; i < argc; i++)
		characters += strlen(argv[i]) + 1;
	*parsing = (struct parsing){ .line = line };
	line->memory = arena_create(0);
	if (!line->memory)
		return false;
	parsing->uris = arena_alloc(line->memory, words * sizeof(char *));
	parsing->sets = arena_alloc(line->memory, words * sizeof(char *));
	parsing->gates = arena_alloc(line->memory, (characters + 1) * sizeof(char *));
	return parsing->uris && parsing->sets && parsing->gates;
}

static void parsing_finish(struct parsing *parsing)
{
	// After every --set, so that of several levels the one with its own flag holds.
	if (parsing->level)
		parsing->sets[parsing->set_count++] = parsing->level;
	parsing->line->sources = (struct config_sources){
		.uris = parsing->uris,
		.uri_count = parsing->uri_count,
		.sets = parsing->sets,
		.set_count = parsing->set_count,
		.gates = parsing->gates,
		.gate_count = parsing->gate_count,
	};
}

static struct profcol_error *parse_all(struct parsing *parsing, int argc, char *const *argv)
{
	struct profcol_error *error = NULL;
	bool flags_ended = false;

	for (int i = 1; i < argc && !error; i++) {
		if (!flags_ended && strcmp(argv[i], "--") == 0) {
			flags_ended = true;
			if (parsing->line->command != COMMAND_RECORD)
				continue;
			if (i + 1 < argc)
				parsing->line->record.words = argv + i + 1;
			break;
		}
		if (!flags_ended && argv[i][0] == '-' && argv[i][1])
			error = parse_flag(parsing, argc, argv, &i);
		else
			error = parse_word(parsing, argv[i]);
	}
	return error ? error : check_flags(parsing);
}

struct profcol_error *command_line_parse(int argc, char *const *argv, struct command_line *ret)
{
	CLEANUP(command_line_deinit) struct command_line line = { .command = COMMAND_RUN };
	struct profcol_error *error;
	struct parsing parsing;

	if (!parsing_init(&parsing, &line, argc, argv))
		return no_memory();
	error = parse_all(&parsing, argc, argv);
	if (error)
		return error;
	parsing_finish(&parsing);
	*ret = line;
	line.memory = NULL;
	return NULL;
}

void command_line_deinit(struct command_line *line)
{
	arena_destroy(line->memory);
	line->memory = NULL;
}
