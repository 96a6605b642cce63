// SPDX-License-Identifier: Apache-2.0
/* Several sources and what comes of them: order, merging, --set, files in values, places. */
#include "sources_fixture.h"

#include "base/base.h"
#include "tests/unit/own_descriptors.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BASE                                                                                       \
	"receivers:\n"                                                                             \
	"  profiling: {samples_per_second: 19, tracers: [a, b]}\n"                                 \
	"exporters:\n"                                                                             \
	"  pprof:\n"                                                                               \
	"    directory: /a\n"                                                                      \
	"    retention: {max_files: 3, max_age: 1h}\n"                                             \
	"  debug:\n"                                                                               \
	"service:\n"                                                                               \
	"  pipelines:\n"                                                                           \
	"    profiles: {receivers: [profiling], exporters: [pprof, debug]}\n"

static int set_up(void **state)
{
	(void)state;
	enter_directory();
	write_file("base.yaml", BASE);
	return unsetenv("S_UNSET");
}

static int tear_down(void **state)
{
	(void)state;
	leave_directory();
	return 0;
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

/* Maps deeply, lists as a whole, the last one wins; what is said once stays. */
static void later_sources_lie_on_top(void **state)
{
	CLEANUP_CONFIG struct config *config = NULL;
	const struct sampler_config *sampler;
	const struct file_config *file;

	(void)state;
	write_file("over.yaml", "exporters:\n"
				"  pprof: {retention: {max_files: 7}}\n"
				"  debug/second: {verbosity: detailed}\n"
				"receivers: {profiling: {tracers: [c]}}\n");
	setenv("S_OVER", "exporters: {pprof: {directory: /c}}\n", 1);
	config = must_load(WORDS("base.yaml", "file:over.yaml",
				 "yaml:exporters::pprof::directory: /b", "env:S_OVER"),
			   NULL);
	sampler = options_of(config, "profiling");
	file = options_of(config, "pprof");
	assert_int_equal(sampler->samples_per_second, 19);
	assert_int_equal(sampler->tracers.count, 1);
	assert_string_equal(sampler->tracers.items[0], "c");
	assert_string_equal(file->directory, "/c");
	assert_int_equal(file->retention.max_files, 7);
	assert_int_equal(file->retention.max_age_ns, PROFCOL_HOUR);
	assert_int_equal(config->pipelines[0].exporter_count, 2);
	// A component stays where it was configured first.
	assert_string_equal(config->components[1].place, "base.yaml:4:3");
	assert_string_equal(config->components[3].id, "debug/second");
	assert_string_equal(config->components[3].place, "over.yaml:3:3");
}

static void null_replaces_a_map(void **state)
{
	struct config *config;

	(void)state;
	config = must_load(WORDS("base.yaml", "yaml:exporters::pprof::retention: "), NULL);
	assert_int_equal(
		((const struct file_config *)options_of(config, "pprof"))->retention.max_files,
		100);
	config_destroy(config);
	must_refuse(WORDS("base.yaml", "yaml:receivers: null"), NULL,
		    "base.yaml:10:28: service::pipelines::profiles: references receiver "
		    "\"profiling\" which is not configured; add it under 'receivers'");
}

/* Nothing in one of several is fine; nothing in all of them is not. */
static void empty_sources_add_nothing(void **state)
{
	CLEANUP_CONFIG struct config *config = NULL;

	(void)state;
	write_file("empty.yaml", "# nothing\n");
	config = must_load(WORDS("empty.yaml", "base.yaml", "yaml:", "env:S_UNSET"), NULL);
	assert_int_equal(config->component_count, 3);
	assert_int_equal(config->warning_count, 1);
	assert_string_equal(config->warnings[0],
			    "env:S_UNSET: environment variable \"S_UNSET\" is not set and has no "
			    "default, it adds nothing to the configuration");
	must_refuse(WORDS("empty.yaml", "empty.yaml"), NULL,
		    "empty.yaml:1:1: empty configuration file; a configuration has the keys "
		    "receivers, exporters and service");
}

static void set_comes_after_everything(void **state)
{
	CLEANUP_CONFIG struct config *config = NULL;
	const struct sampler_config *sampler;
	const struct file_config *file;

	(void)state;
	config = must_load(WORDS("base.yaml"),
			   WORDS("receivers.profiling.samples_per_second=30",
				 " receivers.profiling.samples_per_second = 0x1f ",
				 "receivers.profiling.tracers=[x, 'y=z']",
				 "exporters.pprof.retention={max_files: 9}",
				 "exporters::pprof::directory=/d", "exporters.debug.top="));
	sampler = options_of(config, "profiling");
	file = options_of(config, "pprof");
	assert_int_equal(sampler->samples_per_second, 31);
	assert_int_equal(sampler->tracers.count, 2);
	assert_string_equal(sampler->tracers.items[1], "y=z");
	assert_int_equal(file->retention.max_files, 9);
	assert_int_equal(file->retention.max_age_ns, PROFCOL_HOUR);
	assert_string_equal(file->directory, "/d");
}

static void problems_keep_their_places(void **state)
{
	(void)state;
	write_file("over.yaml", "exporters:\n  pprof:\n    directory: 5\n    interval: x\n");
	setenv("S_BAD", "exporters: {pprof: {interval: 1}}", 1);
	must_refuse(WORDS("base.yaml", "over.yaml"), NULL,
		    "over.yaml:3:16: exporters::pprof::directory: expected type 'string', got "
		    "unconvertible type 'int'; put it in quotes\n"
		    "over.yaml:4:15: exporters::pprof::interval: time: invalid duration \"x\"; "
		    "write it as 300ms, 5s or 1h30m");
	must_refuse(WORDS("base.yaml", "env:S_BAD"), WORDS("receivers.profiling.top=[1, 2]"),
		    "env:S_BAD:1:31: exporters::pprof::interval: time: missing unit in duration "
		    "\"1\"; write it as 300ms, 5s or 1h30m\n"
		    "--set receivers.profiling.top:1:1: receivers::profiling: has invalid keys: "
		    "top; valid keys: samples_per_second, reporter_interval, send_idle_frames, "
		    "tracers");
	must_refuse(WORDS("base.yaml"), WORDS("receivers.profiling.tracers=[a, 1]"),
		    "--set receivers.profiling.tracers:1:5: receivers::profiling::tracers::1: "
		    "expected type 'string', got unconvertible type 'int'; put it in quotes");
	must_refuse(WORDS("base.yaml", "yaml:exporters: {pprof / : }"), NULL,
		    "yaml:exporters::1:13: exporters: in \"pprof /\" id: the part after / should "
		    "not be empty; write type/name, or leave out the /");
	must_refuse(WORDS("base.yaml", "yaml:exporters: {' debug': }"), NULL,
		    "yaml:exporters::1:13: exporters: duplicate name \"debug\", first given at "
		    "base.yaml:7:3; rename one of them");
}

static void sources_that_cannot_be_used_are_told_at_once(void **state)
{
	(void)state;
	write_file("bad.yaml", "a: b: c\n");
	write_file("list.yaml", "- a\n");
	write_file("whole.yaml", "${file:base.yaml}\n");
	must_refuse(WORDS("nosuch.yaml", "bad.yaml", "list.yaml", "whole.yaml", "env:1X",
			  "http://localhost/x", "yaml:a: [b"),
		    WORDS("a.b", "a.c=x: y"),
		    "nosuch.yaml: cannot retrieve the configuration: unable to read the file "
		    "file:nosuch.yaml: No such file or directory; name a readable file\n"
		    "bad.yaml:1:5: mapping values are not allowed in this context; quote a value "
		    "that contains ': ', or check the indentation\n"
		    "list.yaml:1:1: retrieved value (type=slice) cannot be used as a Conf; a "
		    "configuration has the keys receivers, exporters and service\n"
		    "whole.yaml:1:1: retrieved value (type=string) cannot be used as a Conf; a "
		    "configuration has the keys receivers, exporters and service\n"
		    "env:1X: cannot retrieve the configuration: environment variable \"1X\" has "
		    "invalid name: must match regex ^[a-zA-Z_][a-zA-Z0-9_]*$; write $$ for a '$' "
		    "that names no variable\n"
		    "http://localhost/x: unsupported scheme on URI; supported: a path, file:PATH, "
		    "env:NAME and yaml:TEXT\n"
		    "yaml:a::2:1: did not find expected ',' or ']' while parsing a flow sequence "
		    "at line 1, column 4\n"
		    "--set a.b: invalid argument \"a.b\" for \"--set\" flag: missing equal sign; "
		    "write --set key.of.it=value\n"
		    "--set a.c:1:2: mapping values are not allowed in this context; quote a value "
		    "that contains ': ', or check the indentation");
	must_refuse(NULL, NULL,
		    "at least one config flag must be provided; name a file with --config");
}

static void names_of_nothing_are_refused(void **state)
{
	(void)state;
	must_refuse(WORDS("file:"), NULL,
		    "file:: names no file; write file:PATH, or the path alone");
	must_refuse(
		WORDS("base.yaml"), WORDS("=19", " = 19"),
		"--set : invalid argument \"=19\" for \"--set\" flag: the key is empty; write "
		"--set key.of.it=value\n"
		"--set  : invalid argument \" = 19\" for \"--set\" flag: the key is empty; write "
		"--set key.of.it=value");
}

/* Neither keys in parts nor many --set copy what lies beside them. */
static void parts_are_merged_in_one_pass(void **state)
{
	CLEANUP_CONFIG struct config *config = NULL;
	CLEANUP_FREE const char **sets = NULL;
	CLEANUP_FREE char *text = NULL, *names = NULL;
	CLEANUP_FILE FILE *stream = NULL;
	const struct sender_config *sender;
	size_t length;

	(void)state;
	stream = open_memstream(&text, &length);
	fputs("exporters: {otlp_grpc: {endpoint: x}}\n", stream);
	for (int i = 0; i < 5000; i++)
		fprintf(stream, "exporters::otlp_grpc::headers::h%d: v%d\n", i, i);
	fflush(stream);
	write_file("parts.yaml", text);
	sets = calloc(3001, sizeof(*sets));
	names = calloc(3000, 64);
	assert_true(sets && names);
	for (int i = 0; i < 3000; i++) {
		char *name = names + (size_t)i * 64;

		// The last one is on top of the first.
		snprintf(name, 64, "exporters.otlp_grpc.headers.s%d=v%d", i % 2999, i);
		sets[i] = name;
	}
	config = must_load(WORDS("base.yaml", "parts.yaml"), sets);
	sender = options_of(config, "otlp_grpc");
	assert_int_equal(sender->headers.count, 5000 + 2999);
	assert_string_equal(sender->headers.keys[4999], "h4999");
	assert_string_equal(sender->headers.values[4999], "v4999");
	assert_string_equal(sender->headers.keys[5000], "s0");
	assert_string_equal(sender->headers.values[5000], "v2999");
}

/* A map that something else hides in between begins anew. */
static void what_is_hidden_stays_hidden(void **state)
{
	CLEANUP_CONFIG struct config *config = NULL;
	const struct file_config *file;

	(void)state;
	config = must_load(WORDS("base.yaml", "yaml:exporters::pprof::retention::max_files: 5",
				 "yaml:exporters::pprof: ", "yaml:exporters::pprof::directory: /z"),
			   NULL);
	file = options_of(config, "pprof");
	assert_string_equal(file->directory, "/z");
	assert_int_equal(file->retention.max_files, 100);
}

/* Such a file is at fault, not the machine. */
static void what_needs_too_much_memory_is_refused_as_such(void **state)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FILE FILE *stream = NULL;
	size_t length;

	(void)state;
	stream = open_memstream(&text, &length);
	for (int i = 0; i < 5000; i++) {
		fprintf(stream, "a%d", i);
		for (int j = 0; j < 62; j++)
			fputs("::b", stream);
		fputs(":\n", stream);
	}
	fflush(stream);
	write_file("dear.yaml", text);
	must_refuse(WORDS("dear.yaml"), NULL,
		    "dear.yaml: the configuration needs more than 64 MiB of memory; shorten it");
}

/* All faults at once, the plugins' own at their place; their types may be anything. */
static void refused_plugins_hide_no_other_problem(void **state)
{
	static const char *const uri =
		"yaml:{service: {plugins: [/a], pipelines: {profiles: {receivers: [profiling], "
		"exporters: [debug, mine]}}}, receivers: {profiling: }, exporters: {mine: , debug: "
		"{verbositi: 1}}}";
	const struct config_sources sources = { .uris = &uri, .uri_count = 1 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *refused = NULL, *error = NULL;
	struct config_tree *tree = NULL;
	struct config *config = NULL;

	(void)state;
	refused = profcol_error_create(PROFCOL_UNSUPPORTED, "cannot load 'x'\ncannot load 'y'");
	assert_null(config_tree_load(&sources, &tree));
	config_tree_refuse_plugins(tree, refused);
	error = config_tree_decode(tree, &sample_components, &config);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_string_equal(profcol_error_message(error),
			    "yaml::1:21: service::plugins: cannot load 'x'\n"
			    "yaml::1:21: service::plugins: cannot load 'y'\n"
			    "yaml::1:157: exporters::debug: has invalid keys: verbositi; did you "
			    "mean 'verbosity'?");
}

static void files_stand_for_values(void **state)
{
	CLEANUP_CONFIG struct config *config = NULL;
	const struct sampler_config *sampler;
	const struct sender_config *sender;
	CLEANUP_FREE char *directory = get_current_dir_name(), *path = NULL;

	(void)state;
	write_file("rate", "99\n");
	write_file("token", "pa$$ss\r\n");
	write_file("tracers.yaml", "- native\n- ${file:one}\n");
	write_file("one", "python\n");
	config = must_load(
		WORDS("base.yaml"),
		WORDS("receivers.profiling.samples_per_second=${file:rate}",
		      "receivers.profiling.tracers=${file:tracers.yaml}",
		      "exporters.otlp_grpc={endpoint: 'x${file:rate}y', token: '${file:token}'}"));
	sampler = options_of(config, "profiling");
	sender = options_of(config, "otlp_grpc");
	assert_int_equal(sampler->samples_per_second, 99);
	assert_int_equal(sampler->tracers.count, 2);
	assert_string_equal(sampler->tracers.items[1], "python");
	assert_string_equal(sender->endpoint, "x99y");
	assert_string_equal(sender->token, "pa$ss");
	assert_int_equal(config->watched_count, 5);
	assert_true(asprintf(&path, "%s/base.yaml", directory) > 0);
	assert_string_equal(config->watched[0], path);
	for (size_t i = 0; i < config->watched_count; i++)
		assert_int_equal(config->watched[i][0], '/');
}

static void faults_in_included_files_have_their_places(void **state)
{
	(void)state;
	write_file("options.yaml", "samples_per_second: many\ntracers:\n  - 5\n");
	write_file("self", "x${file:self}");
	write_file("broken", "a: b: c\n");
	write_file("latin1", "caf\xe9\n");
	must_refuse(WORDS("base.yaml"), WORDS("receivers.profiling=${file:options.yaml}"),
		    "options.yaml:1:21: receivers::profiling::samples_per_second: expected type "
		    "'int', got unconvertible type 'string'; write a whole number without quotes\n"
		    "options.yaml:3:5: receivers::profiling::tracers::0: expected type 'string', "
		    "got unconvertible type 'int'; put it in quotes");
	must_refuse(WORDS("base.yaml"), WORDS("exporters.pprof.directory=${file:self}"),
		    "--set exporters.pprof.directory:1:1: exporters::pprof::directory: too many "
		    "recursive expansions; does a variable refer to itself?");
	must_refuse(
		WORDS("base.yaml"), WORDS("exporters.pprof=${file:broken}"),
		"--set exporters.pprof:1:1: exporters::pprof: error reading configuration for "
		"\"pprof\": expected a map, got 'string'; write 'key: value' lines below it, or "
		"nothing for the defaults; assuming string type since contents are not valid "
		"YAML: mapping values are not allowed in this context at line 1, column 5");
	must_refuse(WORDS("base.yaml"),
		    WORDS("exporters.pprof.directory=${file:latin1}",
			  "exporters.pprof.interval=${file:nosuch}"),
		    "--set exporters.pprof.directory:1:1: exporters::pprof::directory: the file "
		    "'latin1' is not valid UTF-8; save it as UTF-8 text\n"
		    "--set exporters.pprof.interval:1:1: exporters::pprof::interval: unable to "
		    "read the file file:nosuch: No such file or directory; name a readable file");
}

/* A list that names very many files does not open them all. */
static void the_number_of_files_is_bounded(void **state)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FILE FILE *stream = NULL;
	struct profcol_error *error;
	struct config *config;
	char name[32];
	size_t length;

	(void)state;
	stream = open_memstream(&text, &length);
	fputs("receivers: {profiling: {tracers: [", stream);
	for (int i = 0; i < 999; i++) {
		snprintf(name, sizeof(name), "file-%d", i);
		write_file(name, "python");
		fprintf(stream, "'${file:%s}',\n", name);
	}
	fputs("]}}", stream);
	fflush(stream);
	assert_non_null(text);
	write_file("many.yaml", text);
	error = load_sources(WORDS("base.yaml", "many.yaml"), NULL, NULL, &config);
	assert_non_null(error);
	assert_string_equal(profcol_error_message(error),
			    "many.yaml:999:1: receivers::profiling::tracers::998: more than 1000 "
			    "files are read; name fewer");
	profcol_error_destroy(error);
}

/* Who reads one text for a test does not want files to come with it. */
static void a_single_text_reads_no_files(void **state)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct config *config = NULL;
	static const char text[] = "receivers: ${file:/etc/hostname}\n";

	(void)state;
	error = config_parse("t.yaml", text, strlen(text), &sample_components, &config);
	assert_non_null(error);
	assert_non_null(strstr(profcol_error_message(error), "files are not read here"));
}

static void gates_are_checked(void **state)
{
	struct profcol_error *error;
	struct config *config;

	(void)state;
	error = load_sources(WORDS("base.yaml"), NULL,
			     WORDS("service.profilesSupport", "+service.profilesSupport",
				   "+service.AllowNoPipelines", "-service.partialReload"),
			     &config);
	assert_null(error);
	assert_int_equal(config->warning_count, 1);
	assert_string_equal(config->warnings[0],
			    "--feature-gates: feature gate \"service.AllowNoPipelines\" has no "
			    "effect: at least one pipeline is needed");
	config_destroy(config);
	error = load_sources(
		WORDS("base.yaml"), NULL,
		WORDS("+service.profileSupport", "-service.profilesSupport", "zzz", ""), &config);
	assert_non_null(error);
	assert_string_equal(
		profcol_error_message(error),
		"--feature-gates: no such feature gate \"service.profileSupport\"; did you mean "
		"'service.profilesSupport'?\n"
		"--feature-gates: feature gate \"service.profilesSupport\" is stable, can not be "
		"disabled: profcol carries profiles only; remove -service.profilesSupport\n"
		"--feature-gates: no such feature gate \"zzz\"; 'profcol featuregate' lists them\n"
		"--feature-gates: empty feature gate identifier; write --feature-gates=+ID,-ID");
	profcol_error_destroy(error);
}

/* The directories are needed before the types of components are known. */
static void plugins_are_known_before_decoding(void **state)
{
	const char *uri = "yaml:service::plugins: [/a, '${env:S_DIRECTORY}']";
	const struct config_sources sources = { .uris = &uri, .uri_count = 1 };
	struct config_tree *tree = NULL;
	struct profcol_list plugins;

	(void)state;
	setenv("S_DIRECTORY", "/b", 1);
	assert_null(config_tree_load(&sources, &tree));
	config_tree_plugins(tree, &plugins);
	assert_int_equal(plugins.count, 2);
	assert_string_equal(plugins.items[0], "/a");
	assert_string_equal(plugins.items[1], "/b");
	config_tree_destroy(tree);
}

/* As a reload does, for ever. The sanitizer sees what is not given back. */
static void loading_leaves_nothing_behind(void **state)
{
	size_t before;

	(void)state;
	write_file("rate", "99\n");
	write_file("bad.yaml", "exporters: {pprof: {directory: 1}}");
	before = own_descriptors();
	for (int i = 0; i < 1000; i++) {
		struct profcol_error *error;
		struct config *config;

		config = must_load(WORDS("base.yaml"),
				   WORDS("receivers.profiling.samples_per_second=${file:rate}"));
		config_destroy(config);
		error = load_sources(WORDS("base.yaml", "bad.yaml"), NULL, NULL, &config);
		assert_non_null(error);
		profcol_error_destroy(error);
	}
	assert_int_equal(own_descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(later_sources_lie_on_top),
		cmocka_unit_test(null_replaces_a_map),
		cmocka_unit_test(empty_sources_add_nothing),
		cmocka_unit_test(set_comes_after_everything),
		cmocka_unit_test(problems_keep_their_places),
		cmocka_unit_test(sources_that_cannot_be_used_are_told_at_once),
		cmocka_unit_test(names_of_nothing_are_refused),
		cmocka_unit_test(parts_are_merged_in_one_pass),
		cmocka_unit_test(what_is_hidden_stays_hidden),
		cmocka_unit_test(what_needs_too_much_memory_is_refused_as_such),
		cmocka_unit_test(refused_plugins_hide_no_other_problem),
		cmocka_unit_test(files_stand_for_values),
		cmocka_unit_test(faults_in_included_files_have_their_places),
		cmocka_unit_test(the_number_of_files_is_bounded),
		cmocka_unit_test(a_single_text_reads_no_files),
		cmocka_unit_test(gates_are_checked),
		cmocka_unit_test(plugins_are_known_before_decoding),
		cmocka_unit_test(loading_leaves_nothing_behind),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
