// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/command_line.h"

#include "base/base.h"

#include <string.h>

enum { WORDS_MAX = 16 };

/* Parse "profcol" followed by the words of @text. The texts live until the next call. */
static struct profcol_error *parse(const char *text, struct command_line *ret)
{
	static char words[512], program[] = "profcol";
	static char *argv[WORDS_MAX + 2];
	char *rest = NULL;
	int argc = 1;

	memset(argv, 0, sizeof(argv));
	argv[0] = program;
	*ret = (struct command_line){ 0 };
	snprintf(words, sizeof(words), "%s", text);
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		assert_true(argc <= WORDS_MAX);
		argv[argc++] = word;
	}
	return command_line_parse(argc, argv, ret);
}

/* Words joined by '|', to compare lists at a glance. */
static void join(const char *const *items, size_t count, char *to, size_t size)
{
	size_t used = 0;

	to[0] = '\0';
	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(to + used, size - used, "%s%s", i ? "|" : "", items[i]);
}

static void accept(const char *text, enum command command, const char *uris)
{
	CLEANUP(command_line_deinit) struct command_line line;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = parse(text, &line);
	char joined[256];

	if (error)
		fail_msg("%s: %s", text, profcol_error_message(error));
	assert_int_equal(line.command, command);
	join(line.sources.uris, line.sources.uri_count, joined, sizeof(joined));
	assert_string_equal(joined, uris);
}

static void refuse(const char *text, const char *message)
{
	struct command_line line;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = parse(text, &line);

	if (!error)
		fail_msg("%s: accepted", text);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_string_equal(profcol_error_message(error), message);
}

static void commands_and_flags(void **state)
{
	(void)state;
	accept("--config a.yaml", COMMAND_RUN, "a.yaml");
	accept("--config=a.yaml", COMMAND_RUN, "a.yaml");
	accept("validate --config a.yaml", COMMAND_VALIDATE, "a.yaml");
	accept("--config a.yaml validate", COMMAND_VALIDATE, "a.yaml");
	accept("print-config --config a", COMMAND_PRINT_CONFIG, "a");
	accept("print-initial-config --config a", COMMAND_PRINT_CONFIG, "a");
	accept("components", COMMAND_COMPONENTS, "");
	accept("schema", COMMAND_SCHEMA, "");
	accept("doctor", COMMAND_DOCTOR, "");
	accept("doctor --json --config a", COMMAND_DOCTOR, "a");
	accept("featuregate", COMMAND_FEATUREGATE, "");
	accept("--version", COMMAND_VERSION, "");
	accept("-v", COMMAND_VERSION, "");
	accept("validate --help", COMMAND_HELP, "");
	accept("help", COMMAND_HELP, "");
	accept("-h", COMMAND_HELP, "");
	accept("-h -v", COMMAND_HELP, "");
}

static void one_dash_does_as_gos_flag_package_has_it(void **state)
{
	(void)state;
	accept("-config a.yaml", COMMAND_RUN, "a.yaml");
	accept("-config=a.yaml", COMMAND_RUN, "a.yaml");
	accept("-config a -set x=y -feature-gates=g", COMMAND_RUN, "a");
	accept("-version", COMMAND_VERSION, "");
	accept("--v", COMMAND_VERSION, "");
	accept("--config a -- validate", COMMAND_VALIDATE, "a");
	refuse("--config a -- --validate",
	       "unknown command '--validate'; did you mean 'validate'?");
}

static void sources_keep_their_order_and_their_scheme(void **state)
{
	(void)state;
	accept("--config file:/etc/a.yaml --config env:MORE -config=yaml:a::b=c", COMMAND_RUN,
	       "file:/etc/a.yaml|env:MORE|yaml:a::b=c");
}

static void sets_and_gates_are_collected(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;
	char joined[256];

	(void)state;
	assert_null(parse("--set a.b=1 --config c --set=d.e=f=g --feature-gates=+x,-y,, "
			  "--feature-gates z",
			  &line));
	join(line.sources.sets, line.sources.set_count, joined, sizeof(joined));
	assert_string_equal(joined, "a.b=1|d.e=f=g");
	join(line.sources.gates, line.sources.gate_count, joined, sizeof(joined));
	assert_string_equal(joined, "+x|-y|z");
}

static void the_level_of_the_log_is_a_set_after_all_others(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;
	char joined[256];

	(void)state;
	assert_null(parse("--log-level debug --config c --set service.telemetry.logs.level=warn",
			  &line));
	join(line.sources.sets, line.sources.set_count, joined, sizeof(joined));
	assert_string_equal(joined, "service.telemetry.logs.level=warn|"
				    "service.telemetry.logs.level=debug");
}

static void the_words_of_the_level_are_the_keys(void **state)
{
	(void)state;
	accept("--config a --log-level DEBUG", COMMAND_RUN, "a");
	accept("--config a --log-level warning", COMMAND_RUN, "a");
	accept("--config a --log-level loud", COMMAND_RUN, "a"); // validate says where it stands
}

static void help_takes_the_command_that_it_is_about(void **state)
{
	(void)state;
	accept("help validate", COMMAND_HELP, "");
	accept("help print-config --config a", COMMAND_HELP, "a");
	accept("help help", COMMAND_HELP, "");
	refuse("help validat", "unknown command 'validat'; did you mean 'validate'?");
	refuse("help validate doctor", "unexpected word 'doctor'; give one command only");
	refuse("validate help", "unexpected word 'help'; give one command only");
}

static void switches_take_gos_words(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line, other;

	(void)state;
	assert_null(parse("--watch-config --config c", &line));
	assert_true(line.watch);
	assert_null(parse("--config c -watch-config=F", &other));
	assert_false(other.watch);
	refuse("--config c --watch-config=maybe",
	       "flag '--watch-config' takes true or false, if anything");
}

static void print_config_has_flags_of_its_own(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;

	(void)state;
	assert_null(parse("print-config --format json --mode=unredacted --validate=true --config c",
			  &line));
	assert_int_equal(line.format, CONFIG_JSON_FORMAT);
	assert_true(line.unredacted);
	refuse("print-config --config c --format toml",
	       "flag '--format' takes yaml or json, not 'toml'");
	refuse("print-config --config c --mode clear",
	       "flag '--mode' takes redacted or unredacted, not 'clear'");
	refuse("print-config --config c --validate=false",
	       "flag '--validate' cannot be switched off: profcol prints only what it has checked; "
	       "leave it out");
}

static void a_flag_of_another_command_is_told_so(void **state)
{
	(void)state;
	refuse("validate --config c --json", "flag '--json' is one of 'profcol doctor'");
	refuse("--format json --config c",
	       "flag '--format' is one of 'profcol print-config' and 'profcol shadow'");
	refuse("validate --config c --watch-config",
	       "flag '--watch-config' has no meaning for 'validate'");
}

static void featuregate_takes_an_id(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;

	(void)state;
	assert_null(parse("featuregate service.profilesSupport", &line));
	assert_string_equal(line.gate, "service.profilesSupport");
	refuse("featuregate a b", "unexpected word 'b'; give one command only");
}

static void wrong_words_get_a_hint(void **state)
{
	(void)state;
	refuse("--confg a.yaml", "unknown flag '--confg'; did you mean '--config'?");
	refuse("-confg a.yaml", "unknown flag '--confg'; did you mean '--config'?");
	refuse("--log_level debug", "unknown flag '--log_level'; did you mean '--log-level'?");
	refuse("-x", "unknown flag '-x'; see 'profcol --help'");
	refuse("validat --config a", "unknown command 'validat'; did you mean 'validate'?");
	refuse("run --config a",
	       "unknown command 'run'; without one profcol runs; see 'profcol --help'");
	refuse("pipeline.yaml", "unknown command 'pipeline.yaml'; a configuration is given as "
				"'--config pipeline.yaml'");
	refuse("validate components", "unexpected word 'components'; give one command only");
}

static void values_are_asked_for(void **state)
{
	(void)state;
	refuse("--config", "flag '--config' needs a value: --config VALUE");
	refuse("--config=", "flag '--config' needs a value: --config FILE");
	refuse("--help=yes", "flag '--help' takes no value");
}

static void no_configuration_shows_a_minimal_one(void **state)
{
	static const char *const lines[] = { "", "validate", "--log-level debug", "print-config",
					     "--set a.b=c" };

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

static void record_takes_a_program(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;

	(void)state;
	assert_null(parse("record -o a.folded --frequency 199 --seconds 3 -- sh -c --help", &line));
	assert_int_equal(line.command, COMMAND_RECORD);
	assert_string_equal(line.record.file, "a.folded");
	assert_int_equal(line.record.frequency, 199);
	assert_int_equal(line.record.seconds, 3);
	assert_string_equal(line.record.words[0], "sh");
	assert_string_equal(line.record.words[2], "--help");
	assert_null(line.record.words[3]);
}

static void record_takes_an_event(void **state)
{
	static const struct {
		const char *words;
		enum record_event event;
	} cases[] = {
		{ "record -o a", RECORD_CPU },
		{ "record -o a --event cpu", RECORD_CPU },
		{ "record -o a --event off-cpu", RECORD_OFF_CPU },
		{ "record -o a --event=wall", RECORD_WALL },
		{ "record -o a --event page-faults", RECORD_PAGE_FAULTS },
		{ "record -o a --event memory-growth", RECORD_MEMORY_GROWTH },
		{ "record -o a --event wakers", RECORD_WAKERS },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CLEANUP(command_line_deinit) struct command_line line;

		assert_null(parse(cases[i].words, &line));
		assert_int_equal(line.record.event, cases[i].event);
	}
}

static void record_finds_a_cgroup_by_its_directory(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;

	(void)state;
	assert_null(parse("record --output=a --cgroup /sys/fs/cgroup/system.slice", &line));
	assert_string_equal(line.record.cgroup, "/system.slice");
	refuse("record -o a --cgroup system.slice",
	       "flag '--cgroup' takes a path that begins with '/', as in /proc/PID/cgroup: "
	       "--cgroup /system.slice");
}

static void shadow_takes_an_address(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;

	(void)state;
	assert_null(parse("shadow --otlp [::1]:4317", &line));
	assert_int_equal(line.command, COMMAND_SHADOW);
	assert_string_equal(line.shadow.address, "[::1]:4317");
	assert_int_equal(line.shadow.seconds, 60);
	assert_int_equal(line.shadow.frequency, 0);
	assert_false(line.shadow.json);
}

static void shadow_takes_what_record_takes(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;

	(void)state;
	assert_null(
		parse("shadow --otlp 0.0.0.0:4317 --seconds 5 --frequency 99 --pid 7 --format json",
		      &line));
	assert_int_equal(line.shadow.seconds, 5);
	assert_int_equal(line.shadow.frequency, 99);
	assert_int_equal(line.shadow.pid, 7);
	assert_true(line.shadow.json);
}

static void what_shadow_cannot_do_is_refused(void **state)
{
	(void)state;
	refuse("shadow", "'shadow' needs an address for the other profiler to send to: --otlp "
			 "127.0.0.1:4317");
	refuse("shadow --otlp here",
	       "flag '--otlp' takes HOST:PORT, not 'here': --otlp 127.0.0.1:4317");
	refuse("shadow --otlp a:1 --format yaml", "flag '--format' takes text or json, not 'yaml'");
	refuse("shadow --otlp a:1 --config c", "flag '--config' has no meaning for 'shadow', which "
					       "has its own; keys of it are set by "
					       "'--set'");
	refuse("shadow --otlp a:1 --comm sh",
	       "flag '--comm' is one of 'profcol record' and 'profcol top'");
	refuse("shadow --otlp a:1 -- sh", "unexpected word 'sh'; give one command only");
	refuse("validate --config c --pid 7",
	       "flag '--pid' is one of 'profcol doctor', 'profcol record', 'profcol shadow' and "
	       "'profcol top'");
}

static void what_record_cannot_do_is_refused(void **state)
{
	(void)state;
	refuse("record", "'record' needs a file to write: -o FILE.pb.gz, -o FILE.folded, "
			 "-o FILE.otlp, -o FILE.html or -o FILE.svg");
	refuse("recrd -o a", "unknown command 'recrd'; did you mean 'record'?");
	refuse("record -o a --pid 7 -- sh",
	       "'record' takes one of --pid, --comm, --cgroup and '-- PROGRAM'");
	refuse("record -o a ./shop",
	       "unexpected word './shop'; a program to run stands behind '--': -- ./shop");
	refuse("record -o a --frequency 10001",
	       "flag '--frequency' takes a whole number from 1 to 10000, not '10001'");
	refuse("record -o a --event off_cpu", "flag '--event' takes cpu, off-cpu, wall, wakers, "
					      "page-faults or memory-growth, not 'off_cpu'");
	refuse("record -o a --comm abcdefghijklmnopq",
	       "flag '--comm' takes a name of 1 to 15 bytes, which is all that the kernel keeps of "
	       "one: --comm 'abcdefghijklmno'");
	refuse("validate --config a -o b",
	       "flag '--output' is one of 'profcol record' and 'profcol view'");
}

static void view_takes_files(void **state)
{
	CLEANUP(command_line_deinit) struct command_line line;

	(void)state;
	assert_null(parse("view new.pb.gz old.otlp -o a.html", &line));
	assert_int_equal(line.command, COMMAND_VIEW);
	assert_string_equal(line.view.files[0], "new.pb.gz");
	assert_string_equal(line.view.files[1], "old.otlp");
	assert_string_equal(line.view.output, "a.html");
	refuse("view", "'view' needs a file to show: profcol view FILE.pb.gz");
	refuse("view a b c", "unexpected word 'c'; 'view' takes a file, or two to compare");
	refuse("view a --config c", "flag '--config' has no meaning for 'view', which has "
				    "its own; keys of it are set by '--set'");
	refuse("view a --serve", "flag '--serve' is one of 'profcol record'");
}

static void the_help_names_every_command_and_flag(void **state)
{
	static const char *const words[] = {
		"validate",        "print-config",   "doctor",      "components",
		"schema",          "featuregate",    "--config",    "--set",
		"--feature-gates", "--watch-config", "--log-level", "--format",
		"--mode",          "--json",         "--version",   "--help",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		assert_non_null(strstr(command_line_help, words[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_and_flags),
		cmocka_unit_test(one_dash_does_as_gos_flag_package_has_it),
		cmocka_unit_test(sources_keep_their_order_and_their_scheme),
		cmocka_unit_test(sets_and_gates_are_collected),
		cmocka_unit_test(the_level_of_the_log_is_a_set_after_all_others),
		cmocka_unit_test(the_words_of_the_level_are_the_keys),
		cmocka_unit_test(help_takes_the_command_that_it_is_about),
		cmocka_unit_test(switches_take_gos_words),
		cmocka_unit_test(print_config_has_flags_of_its_own),
		cmocka_unit_test(a_flag_of_another_command_is_told_so),
		cmocka_unit_test(featuregate_takes_an_id),
		cmocka_unit_test(wrong_words_get_a_hint),
		cmocka_unit_test(values_are_asked_for),
		cmocka_unit_test(no_configuration_shows_a_minimal_one),
		cmocka_unit_test(record_takes_a_program),
		cmocka_unit_test(record_takes_an_event),
		cmocka_unit_test(record_finds_a_cgroup_by_its_directory),
		cmocka_unit_test(shadow_takes_an_address),
		cmocka_unit_test(shadow_takes_what_record_takes),
		cmocka_unit_test(what_shadow_cannot_do_is_refused),
		cmocka_unit_test(what_record_cannot_do_is_refused),
		cmocka_unit_test(view_takes_files),
		cmocka_unit_test(the_help_names_every_command_and_flag),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
