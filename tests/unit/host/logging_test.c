// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/logging.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A logger into a packet pipe: each write(2) arrives as one read. */
static int pipe_fds[2];
static struct logger logger;

static int open_pipe(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	if (pipe2(pipe_fds, O_DIRECT | O_NONBLOCK) != 0)
		return -1;
	logging_init(&logger, "pprof/node", PROFCOL_INFO, pipe_fds[1], NULL);
	return 0;
}

static int close_pipe(void **state)
{
	(void)state;
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	return 0;
}

/* The next packet, NUL-terminated; NULL when there is none. */
static const char *read_packet(void)
{
	static char packet[4097];
	ssize_t length = read(pipe_fds[0], packet, sizeof(packet) - 1);

	if (length < 0)
		return NULL;
	packet[length] = '\0';
	return packet;
}

/* What follows the time in the one line that was written. */
static const char *read_line(void)
{
	const char *line = read_packet();

	assert_non_null(line);
	assert_null(strchr(strchr(line, '\n') + 1, '\n'));
	return strchr(line, '\t') + 1;
}

static void a_line_has_time_level_id_and_message(void **state)
{
	const char *line;
	regex_t pattern;

	(void)state;
	assert_int_equal(regcomp(&pattern,
				 "^20[0-9]{2}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:"
				 "[0-6][0-9]\\.[0-9]{3}Z\tinfo\tpprof/node\twrote 3 files\n$",
				 REG_EXTENDED),
			 0);
	profcol_log_info(&logger.base, "wrote %d files", 3);
	line = read_packet();
	assert_non_null(line);
	assert_int_equal(regexec(&pattern, line, 0, NULL, 0), 0);
	regfree(&pattern);
}

static void the_offset_of_another_zone_is_shown(void **state)
{
	const char *line;

	(void)state;
	setenv("TZ", "IST-5:30", 1);
	tzset();
	profcol_log_info(&logger.base, "hello");
	line = read_packet();
	assert_non_null(line);
	assert_memory_equal(strchr(line, '\t') - 5, "+0530", 5);
}

static void lines_below_the_level_are_dropped(void **state)
{
	(void)state;
	profcol_log_debug(&logger.base, "too fine");
	assert_null(read_packet());
	profcol_log_error(&logger.base, "heard");
	assert_string_equal(read_line(), "error\tpprof/node\theard\n");
}

static void control_characters_cannot_forge_a_line(void **state)
{
	(void)state;
	profcol_log_warn(&logger.base, "a\nb\tc\rd\x1b[31me\x7f");
	assert_string_equal(read_line(), "warn\tpprof/node\ta\\nb\\tc\\rd\\x1b[31me\\x7f\n");
	// U+009B is ESC [ in one character.
	profcol_log_warn(&logger.base, "x\xc2\x9b"
				       "31my");
	assert_string_equal(read_line(), "warn\tpprof/node\tx\\u009b31my\n");
}

static void text_of_many_lines_is_one_record(void **state)
{
	static const char table[] = "flat  function\n 12%  a\x1b[31m\t(b)\xff\n";
	const char *packet;

	(void)state;
	profcol_log_text(&logger.base, PROFCOL_INFO, table, sizeof(table) - 1);
	packet = read_packet();
	assert_non_null(packet);
	assert_string_equal(strchr(packet, '\t') + 1, "info\tpprof/node\tflat  function\n"
						      " 12%  a\\x1b[31m\\t(b)?\n");
	assert_null(read_packet());
	profcol_log_text(&logger.base, PROFCOL_DEBUG, table, sizeof(table) - 1);
	assert_null(read_packet());
}

static void text_that_is_no_utf8_is_made_so(void **state)
{
	(void)state;
	profcol_log_info(&logger.base, "%s", "caf\xc3\xa9 \xff\xc3");
	assert_string_equal(read_line(), "info\tpprof/node\tcaf\xc3\xa9 ??\n");
}

static void an_id_with_a_line_break_is_escaped_too(void **state)
{
	struct logger odd;

	(void)state;
	logging_init(&odd, "pprof/a\nb", PROFCOL_INFO, pipe_fds[1], NULL);
	profcol_log_info(&odd.base, "m");
	assert_string_equal(read_line(), "info\tpprof/a\\nb\tm\n");
}

static void a_huge_message_is_cut_and_says_so(void **state)
{
	char *message = malloc(100001), *whole = calloc(1, 100001);
	size_t length = 0;
	const char *packet;

	(void)state;
	assert_non_null(message);
	assert_non_null(whole);
	memset(message, '\x01', 100000);
	message[100000] = '\0';
	profcol_log_info(&logger.base, "%s", message);
	while ((packet = read_packet()) != NULL) {
		memcpy(whole + length, packet, strlen(packet));
		length += strlen(packet);
	}
	assert_in_range(length, LOGGING_MESSAGE_BYTES, 2 * LOGGING_MESSAGE_BYTES);
	assert_string_equal(whole + length - strlen("... (cut)\n"), "... (cut)\n");
	assert_ptr_equal(strchr(whole, '\n'), whole + length - 1);
	memset(message, 'x', 100000);
	profcol_log_info(&logger.base, "%s", message);
	length = 0;
	while ((packet = read_packet()) != NULL)
		length = strlen(packet);
	assert_true(length > 0);
	free(whole);
	free(message);
}

static void a_full_or_closed_descriptor_is_survived(void **state)
{
	struct logger closed;

	(void)state;
	logging_init(&closed, "x", PROFCOL_DEBUG, -1, NULL);
	errno = ENOENT;
	profcol_log_info(&closed.base, "nobody hears this");
	assert_int_equal(errno, ENOENT);
	for (int i = 0; i < 1000; i++) // the pipe holds fewer packets
		profcol_log_info(&logger.base, "line %d", i);
}

static void levels_have_their_words(void **state)
{
	enum profcol_level level;

	(void)state;
	assert_true(logging_parse_level("warn", &level));
	assert_int_equal(level, PROFCOL_WARN);
	assert_false(logging_parse_level("warning", &level));
}

#define WITH_PIPE(test) cmocka_unit_test_setup_teardown(test, open_pipe, close_pipe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_PIPE(a_line_has_time_level_id_and_message),
		WITH_PIPE(the_offset_of_another_zone_is_shown),
		WITH_PIPE(lines_below_the_level_are_dropped),
		WITH_PIPE(control_characters_cannot_forge_a_line),
		WITH_PIPE(text_of_many_lines_is_one_record),
		WITH_PIPE(text_that_is_no_utf8_is_made_so),
		WITH_PIPE(an_id_with_a_line_break_is_escaped_too),
		WITH_PIPE(a_huge_message_is_cut_and_says_so),
		WITH_PIPE(a_full_or_closed_descriptor_is_survived),
		cmocka_unit_test(levels_have_their_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
