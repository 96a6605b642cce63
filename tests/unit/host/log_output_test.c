// SPDX-License-Identifier: Apache-2.0
/* Lines as service::telemetry::logs wants them, read back from files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/logging.h"
#include "host/telemetry/log_output.h"
#include "host/telemetry/log_sampling.h"
#include "host/telemetry/resource.h"

#include "base/base.h"

#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static char directory[] = "/tmp/log_output_test.XXXXXX";
static char path[64], renamed[80];
static const char *paths[1];
static struct config_service service;
static struct log_output *output;
static struct logger logger;

static int set_up(void **state)
{
	static const char *const names[] = { "service.name" }, *const values[] = { "agent" };
	static const char *const removed[] = { "service.instance.id" };

	(void)state;
	setenv("TZ", "UTC", 1);
	snprintf(path, sizeof(path), "%s/log", directory);
	snprintf(renamed, sizeof(renamed), "%s.1", path);
	unlink(path);
	unlink(renamed);
	paths[0] = path;
	service = (struct config_service){
		.resource = { names, values, 1 },
		.resource_removed = { removed, 1 },
		.logs = {
			.level = PROFCOL_INFO,
			.output_paths = { paths, 1 },
			.sampling = true,
			.sampling_tick_ns = 10000000000u,
			.sampling_initial = 10,
			.sampling_thereafter = 100,
		},
	};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	log_output_destroy(TAKE(output));
	return 0;
}

static void open_output(void)
{
	struct profcol_error *error = log_output_create(&service, "1.2.3", STDERR_FILENO, &output);

	if (error)
		fail_msg("unexpected: %s", profcol_error_message(error));
	logging_init(&logger, "pprof/node", log_output_level(output), -1, output);
	logging_set_component(&logger, "exporter", NULL);
}

/* All that the file has; static. */
static const char *read_path(const char *name)
{
	static char text[65536];
	CLEANUP_FD int fd = open(name, O_RDONLY);
	ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	assert_true(length >= 0);
	text[length] = '\0';
	return text;
}

static void expect_match(const char *text, const char *pattern)
{
	regex_t compiled;

	assert_int_equal(regcomp(&compiled, pattern, REG_EXTENDED), 0);
	if (regexec(&compiled, text, 0, NULL, 0))
		fail_msg("'%s' does not match:\n%s", pattern, text);
	regfree(&compiled);
}

static size_t count_lines(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

#define TIME "20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-6][0-9]\\.[0-9]{3}Z"

static void a_console_line_is_as_the_collectors(void **state)
{
	(void)state;
	open_output();
	profcol_log_info(&logger.base, "wrote %d files", 3);
	expect_match(read_path(path),
		     "^" TIME "\tinfo\thost/log_output_test\\.c:[0-9]+\twrote 3 files\t"
		     "\\{\"resource\": \\{\"service\\.name\": \"agent\", \"service\\.version\": "
		     "\"1\\.2\\.3\"\\}, \"otelcol\\.component\\.id\": \"pprof/node\", "
		     "\"otelcol\\.component\\.kind\": \"exporter\", \"otelcol\\.signal\": "
		     "\"profiles\"\\}\n$");
}

static void without_callers_their_column_is_not_there(void **state)
{
	(void)state;
	service.logs.disable_caller = true;
	open_output();
	profcol_log_warn(&logger.base, "low");
	expect_match(read_path(path), "^" TIME "\twarn\tlow\t\\{");
}

static void a_json_line_is_as_the_collectors(void **state)
{
	static const char *const keys[] = { "env" }, *const values[] = { "a \"b\"" };
	struct logger processor;

	(void)state;
	service.logs.encoding = CONFIG_JSON;
	service.logs.initial_fields = (struct profcol_map){ keys, values, 1 };
	open_output();
	logging_init(&processor, "filter", PROFCOL_INFO, -1, output);
	logging_set_component(&processor, "processor", "profiles/raw");
	profcol_log_error(&processor.base, "say \"%s\"\n\x01", "\xff");
	expect_match(read_path(path), "^\\{\"level\":\"error\",\"ts\":\"" TIME
				      "\",\"caller\":\"host/log_output_test\\.c:"
				      "[0-9]+\",\"msg\":\"say "
				      "\\\\\"\\?\\\\\"\\\\n\\\\u0001\",\"env\":\"a \\\\\"b\\\\\"\","
				      "\"resource\":\\{\"service\\.name\":\"agent\",\"service\\."
				      "version\":\"1\\.2\\.3\"\\},"
				      "\"otelcol\\.component\\.id\":\"filter\",\"otelcol\\."
				      "component\\.kind\":\"processor\","
				      "\"otelcol\\.pipeline\\.id\":\"profiles/"
				      "raw\",\"otelcol\\.signal\":\"profiles\"\\}\n$");
}

static void a_line_may_have_fields_of_its_own(void **state)
{
	static const struct log_field fields[] = { { .key = "Version", .text = "1\"2" },
						   { .key = "NumCPU", .number = 4 } };
	struct logger own;

	(void)state;
	service.logs.encoding = CONFIG_JSON;
	open_output();
	logging_init(&own, "profcol", PROFCOL_INFO, -1, output);
	logging_write_fields(&own, PROFCOL_INFO, "a/b/c.c", 7, "Starting...", fields, 2);
	logging_write_fields(&own, PROFCOL_DEBUG, "a/b/c.c", 8, "not shown", fields, 2);
	expect_match(read_path(path),
		     "^\\{\"level\":\"info\",\"ts\":\"" TIME
		     "\",\"caller\":\"b/c\\.c:7\",\"msg\":\"Starting\\.\\.\\.\","
		     "\"resource\":\\{[^}]*\\},\"Version\":\"1\\\\\"2\",\"NumCPU\":4\\}\n$");
}

static void a_resource_has_an_instance_id_of_its_own(void **state)
{
	(void)state;
	service.resource_removed.count = 0;
	open_output();
	profcol_log_info(&logger.base, "x");
	expect_match(read_path(path), "\"service\\.instance\\.id\": \"[0-9a-f]{8}-[0-9a-f]{4}-4"
				      "[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\"");
	assert_non_null(strstr(read_path(path), resource_instance_id()));
}

static void the_service_itself_has_no_component(void **state)
{
	struct logger own;

	(void)state;
	open_output();
	logging_init(&own, "profcol", PROFCOL_INFO, -1, output);
	profcol_log_info(&own.base, "here");
	assert_null(strstr(read_path(path), "otelcol"));
}

static void a_line_without_fields_ends_with_its_message(void **state)
{
	struct logger own;

	(void)state;
	service.logs.disable_zap_resource = true;
	open_output();
	logging_init(&own, "profcol", PROFCOL_INFO, -1, output);
	profcol_log_info(&own.base, "here");
	expect_match(read_path(path), "\\.c:[0-9]+\there\n$");
}

static void repetitions_are_thinned_and_told_of(void **state)
{
	struct log_output_figures figures;
	const char *text;

	(void)state;
	open_output();
	for (int i = 0; i < 1000; i++)
		profcol_log_warn(&logger.base, "dropped batch %d", i);
	text = read_path(path);
	assert_int_equal(count_lines(text), 19);
	assert_non_null(strstr(text, "dropped batch 9\t"));
	assert_null(strstr(text, "dropped batch 10\t"));
	expect_match(text, "dropped batch 109\t.*\"suppressed\": 99\\}\n");
	log_output_figures(output, &figures);
	assert_int_equal(figures.lines[PROFCOL_WARN], 19);
	assert_int_equal(figures.suppressed, 981);
	// What no line has told of comes at the end.
	log_output_destroy(TAKE(output));
	expect_match(read_path(path),
		     "\twarn\tpprof/node\tSuppressed repetitions of: dropped batch 0\t"
		     ".*\"suppressed\": 90\\}\n$");
}

static void other_messages_and_other_speakers_are_not_thinned_with_it(void **state)
{
	struct logger other;

	(void)state;
	open_output();
	logging_init(&other, "debug", PROFCOL_INFO, -1, output);
	for (int i = 0; i < 10; i++) {
		profcol_log_warn(&logger.base, "one %d", i);
		profcol_log_warn(&logger.base, "two %d", i);
		profcol_log_warn(&other.base, "one %d", i);
	}
	assert_int_equal(count_lines(read_path(path)), 30);
}

/* Of which there would be one for each port of a peer. */
static void numbers_make_no_other_message(void **state)
{
	(void)state;
	open_output();
	for (int i = 0; i < 50; i++) {
		char text[64];

		snprintf(text, sizeof(text), "peer 10.0.0.1:%d is away", 4000 + i);
		profcol_log_warn(&logger.base, "%s", text);
	}
	assert_int_equal(count_lines(read_path(path)), 10);
}

static void data_that_a_component_prints_is_whole(void **state)
{
	(void)state;
	open_output();
	for (int i = 0; i < 200; i++)
		profcol_log_info(&logger.base, "%.*s", 4, "line of data");
	assert_int_equal(count_lines(read_path(path)), 200);
}

static void without_sampling_every_line_is_there(void **state)
{
	(void)state;
	service.logs.sampling = false;
	open_output();
	for (int i = 0; i < 200; i++)
		profcol_log_warn(&logger.base, "line %d", i);
	assert_int_equal(count_lines(read_path(path)), 200);
}

static void held_back_lines_are_told_of_once_their_tick_is_over(void **state)
{
	static struct log_sampling sampling;
	uint64_t key = log_sampling_key(PROFCOL_WARN, "e", "format", "text"), suppressed;
	struct log_suppressed held;

	(void)state;
	log_sampling_init(&sampling);
	log_sampling_configure(&sampling, true, 100, 2, 0);
	for (uint64_t now = 1; now <= 5; now++)
		assert_int_equal(log_sampling_admit(&sampling, key, PROFCOL_WARN, "e", "text", now,
						    &suppressed, &held),
				 now <= 2);
	assert_false(log_sampling_take_expired(&sampling, 100, &held));
	assert_true(log_sampling_take_expired(&sampling, 101, &held));
	assert_int_equal(held.count, 3);
	assert_string_equal(held.id, "e");
	assert_string_equal(held.text, "text");
	assert_false(log_sampling_take_expired(&sampling, 1000, &held));
	// The next tick begins anew.
	assert_true(log_sampling_admit(&sampling, key, PROFCOL_WARN, "e", "text", 101, &suppressed,
				       &held));
	log_sampling_deinit(&sampling);
}

static void more_messages_than_are_remembered_lose_no_count(void **state)
{
	static struct log_sampling sampling;
	uint64_t suppressed, told = 0, kept_back = 0;
	struct log_suppressed held;
	char text[16];

	(void)state;
	log_sampling_init(&sampling);
	log_sampling_configure(&sampling, true, 1000000, 1, 0);
	for (uint64_t i = 0; i < 3000; i++) {
		uint64_t key;

		snprintf(text, sizeof(text), "text %c%c", (char)('A' + i / 3 / 40),
			 (char)('A' + i / 3 % 40));
		key = log_sampling_key(PROFCOL_WARN, "e", "%s", text);
		if (!log_sampling_admit(&sampling, key, PROFCOL_WARN, "e", text, i, &suppressed,
					&held))
			kept_back++;
		told += suppressed + held.count;
	}
	while (log_sampling_take_expired(&sampling, UINT64_MAX, &held))
		told += held.count;
	assert_true(kept_back > 1000);
	assert_int_equal(told, kept_back);
	log_sampling_deinit(&sampling);
}

static void a_file_that_was_renamed_is_opened_anew(void **state)
{
	struct stat status;

	(void)state;
	open_output();
	profcol_log_info(&logger.base, "before");
	assert_int_equal(rename(path, renamed), 0);
	log_output_reopen(output);
	profcol_log_info(&logger.base, "after");
	assert_non_null(strstr(read_path(renamed), "before"));
	assert_null(strstr(read_path(path), "before"));
	assert_non_null(strstr(read_path(path), "after"));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777 & ~0640, 0);
}

/* Neither the start nor SIGHUP waits for a reader that may never come. */
static void a_pipe_without_a_reader_holds_up_nobody(void **state)
{
	struct profcol_error *error;
	char text[4096] = "";
	int fd;

	(void)state;
	assert_int_equal(mkfifo(path, 0600), 0);
	error = log_output_create(&service, "1.2.3", STDERR_FILENO, &output);
	assert_non_null(error);
	assert_non_null(strstr(profcol_error_message(error), "nobody reads that pipe"));
	profcol_error_destroy(error);

	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	open_output();
	profcol_log_info(&logger.base, "through the pipe");
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, "through the pipe"));
	close(fd);
	log_output_reopen(output);
}

static void another_configuration_holds_from_the_next_line_on(void **state)
{
	(void)state;
	open_output();
	profcol_log_debug(&logger.base, "too fine");
	service.logs.level = PROFCOL_DEBUG;
	service.logs.encoding = CONFIG_JSON;
	assert_null(log_output_configure(output, &service));
	logging_set_level(&logger, log_output_level(output));
	profcol_log_debug(&logger.base, "fine");
	expect_match(read_path(path), "^\\{\"level\":\"debug\".*\"msg\":\"fine\"");
}

enum { WRITERS = 4, LINES_EACH = 500 };

static void *write_lines(void *context)
{
	struct logger own;

	logging_init(&own, context, PROFCOL_INFO, -1, output);
	logging_set_component(&own, "exporter", NULL);
	for (int i = 0; i < LINES_EACH; i++)
		profcol_log_info(&own.base, "line %d of %s.", i, own.id);
	return NULL;
}

static void lines_stay_whole_while_the_configuration_changes(void **state)
{
	static char ids[WRITERS][8] = { "one", "two", "three", "four" };
	pthread_t threads[WRITERS];
	size_t lines = 0;
	char *text, *rest;

	(void)state;
	service.logs.sampling = false;
	service.logs.disable_zap_resource = true;
	open_output();
	for (size_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_lines, ids[i]), 0);
	for (int i = 0; i < 100; i++) {
		service.logs.disable_caller = i % 2;
		assert_null(log_output_configure(output, &service));
		log_output_reopen(output);
	}
	for (size_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	text = calloc(1, 1 << 20);
	assert_non_null(text);
	assert_int_equal(rename(path, renamed), 0);
	{
		CLEANUP_FD int fd = open(renamed, O_RDONLY);

		assert_true(read(fd, text, (1 << 20) - 1) > 0);
	}
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		expect_match(line, "^" TIME "\tinfo\t(host/log_output_test\\.c:[0-9]+\t)?line "
				   "[0-9]+ of [a-z]+\\.\t\\{\"otelcol[^{}]*\\}$");
		lines++;
	}
	assert_int_equal(lines, WRITERS * LINES_EACH);
	free(text);
}

static void a_path_that_cannot_be_opened_is_named_and_nothing_changes(void **state)
{
	const char *const bad[] = { "/nowhere/at/all.log" }, *const odd[] = { "tcp://host:1" };
	struct profcol_error *error;

	(void)state;
	open_output();
	service.logs.output_paths = (struct profcol_list){ bad, 1 };
	error = log_output_configure(output, &service);
	assert_non_null(error);
	assert_non_null(strstr(profcol_error_message(error),
			       "service::telemetry::logs::output_paths: open "
			       "'/nowhere/at/all.log': "));
	profcol_error_destroy(error);
	service.logs.output_paths = (struct profcol_list){ odd, 1 };
	error = log_output_configure(output, &service);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_CONFIG);
	assert_non_null(strstr(profcol_error_message(error), "cannot log to 'tcp://host:1'"));
	profcol_error_destroy(error);
	profcol_log_info(&logger.base, "still here");
	assert_non_null(strstr(read_path(path), "still here"));
}

static void lost_lines_are_told_of_once_elsewhere(void **state)
{
	const char *const full[] = { "/dev/full" };
	struct log_output_figures figures;

	(void)state;
	service.logs.output_paths = (struct profcol_list){ full, 1 };
	service.logs.error_output_paths = (struct profcol_list){ paths, 1 };
	open_output();
	profcol_log_info(&logger.base, "one");
	profcol_log_info(&logger.base, "two");
	expect_match(read_path(path), "^[^\n]*\terror\tprofcol\tlog lines are lost: write to "
				      "\"/dev/full\": No space left on device\n$");
	log_output_figures(output, &figures);
	assert_int_equal(figures.lines[PROFCOL_INFO], 0);
}

static void a_long_message_does_not_eat_the_fields(void **state)
{
	char *message = calloc(1, 20001);

	(void)state;
	assert_non_null(message);
	memset(message, '\x01', 20000);
	service.logs.encoding = CONFIG_JSON;
	open_output();
	profcol_log_info(&logger.base, "%s", message);
	expect_match(read_path(path), "\\.\\.\\. \\(cut\\)\",\"resource\":.*\"profiles\"\\}\n$");
	free(message);
}

/* Of a message of @count times @first, then bees. */
static void expect_whole_bee_before_cut(char first, size_t count)
{
	static const char bee[] = "\xf0\x9f\x90\x9d";
	char message[20001];
	const char *cut;

	memset(message, first, count);
	for (size_t at = count; at + 4 < sizeof(message); at += 4)
		memcpy(message + at, bee, sizeof(bee));
	assert_int_equal(truncate(path, 0), 0);
	profcol_log_info(&logger.base, "%s", message);
	cut = strstr(read_path(path), "... (cut)");
	assert_non_null(cut);
	assert_memory_equal(cut - 4, bee, 4);
}

static void a_cut_falls_between_characters(void **state)
{
	(void)state;
	service.logs.sampling = false;
	service.logs.encoding = CONFIG_JSON;
	open_output();
	// Whatever stands before, one of them straddles where a cut by bytes would be: of the
	// message, and of the line, in which a control character takes six.
	for (size_t shift = 0; shift < 4; shift++) {
		expect_whole_bee_before_cut('x', shift);
		expect_whole_bee_before_cut('\x01', 2000 + shift);
	}
}

static int make_directory(void **state)
{
	(void)state;
	return mkdtemp(directory) ? 0 : -1;
}

static int remove_directory(void **state)
{
	(void)state;
	unlink(path);
	unlink(renamed);
	return rmdir(directory);
}

#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FILE(a_console_line_is_as_the_collectors),
		WITH_FILE(without_callers_their_column_is_not_there),
		WITH_FILE(a_json_line_is_as_the_collectors),
		WITH_FILE(a_line_may_have_fields_of_its_own),
		WITH_FILE(a_resource_has_an_instance_id_of_its_own),
		WITH_FILE(the_service_itself_has_no_component),
		WITH_FILE(a_line_without_fields_ends_with_its_message),
		WITH_FILE(repetitions_are_thinned_and_told_of),
		WITH_FILE(other_messages_and_other_speakers_are_not_thinned_with_it),
		WITH_FILE(numbers_make_no_other_message),
		WITH_FILE(data_that_a_component_prints_is_whole),
		WITH_FILE(without_sampling_every_line_is_there),
		cmocka_unit_test(held_back_lines_are_told_of_once_their_tick_is_over),
		cmocka_unit_test(more_messages_than_are_remembered_lose_no_count),
		WITH_FILE(a_file_that_was_renamed_is_opened_anew),
		WITH_FILE(a_pipe_without_a_reader_holds_up_nobody),
		WITH_FILE(another_configuration_holds_from_the_next_line_on),
		WITH_FILE(lines_stay_whole_while_the_configuration_changes),
		WITH_FILE(a_path_that_cannot_be_opened_is_named_and_nothing_changes),
		WITH_FILE(lost_lines_are_told_of_once_elsewhere),
		WITH_FILE(a_long_message_does_not_eat_the_fields),
		WITH_FILE(a_cut_falls_between_characters),
	};

	return cmocka_run_group_tests(tests, make_directory, remove_directory);
}
