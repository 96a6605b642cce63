/* SPDX-License-Identifier: Apache-2.0 */
/* One log line in the making. Nothing in it but LOG_LINE_TEXT can end it early, and nothing can
 * steer a terminal. */
#pragma once

#include <profcol/logging.h>

#include <stdbool.h>
#include <stdint.h>

enum {
	LOG_LINE_TEXT_END = 16384 - 32, /* a message that reaches here is cut */
	LOG_LINE_BYTES = LOG_LINE_TEXT_END + 8192,
	LOG_LINE_ID_BYTES = 512, /* up to here an id's escaped form is shown */
};

/* How a character that has to be escaped is. */
enum log_line_escape {
	LOG_LINE_CONSOLE,
	LOG_LINE_TEXT, /* the same, but for line breaks, which stand */
	LOG_LINE_JSON,
};

struct log_line {
	size_t length;
	char bytes[LOG_LINE_BYTES];
};

/* As it is, or nothing of it when there is no room. */
void log_line_add(struct log_line *line, const char *text);
void log_line_add_number(struct log_line *line, uint64_t number);

/* Local time with its offset as the Collector writes it: 2026-11-21T09:30:00.123Z */
void log_line_add_time(struct log_line *line);

/*
 * @text is valid UTF-8 and is escaped. What goes beyond position @end of the line is cut, and
 * "... (cut)" says so.
 */
void log_line_add_text(struct log_line *line, const char *text, enum log_line_escape escape,
		       size_t end);

/* "@text" as a JSON string; what does not fit is cut. @text may have broken UTF-8. */
void log_line_add_string(struct log_line *line, const char *text);

/* The line break, and out in one call. 0 or a negative errno. */
int log_line_write(struct log_line *line, int fd);
