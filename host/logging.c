// SPDX-License-Identifier: Apache-2.0
#include "logging.h"

#include "base/base.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *const logging_levels[LOGGING_LEVELS] = {
	[PROFCOL_DEBUG] = "debug",
	[PROFCOL_INFO] = "info",
	[PROFCOL_WARN] = "warn",
	[PROFCOL_ERROR] = "error",
};

enum {
	LONGEST_ESCAPE = 6, /* of two bytes: a C1 control character, "\u009b" */
	ID_BYTES = 512,     /* up to here an id's escaped form is shown */
	LINE_BYTES = 2 * LOGGING_MESSAGE_BYTES,
};

static const char cut_mark[] = "... (cut)";

struct line {
	size_t length;
	char bytes[LINE_BYTES];
};

static void line_add_time(struct line *line)
{
	uint64_t now_ns = clock_realtime_ns();
	time_t seconds = (time_t)(now_ns / 1000000000u);
	struct tm local;
	char offset[8] = "Z", text[40];

	if (!localtime_r(&seconds, &local) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &local))
		return;
	if (local.tm_gmtoff != 0)
		strftime(offset, sizeof(offset), "%z", &local);
	line->length = (size_t)snprintf(line->bytes, sizeof(line->bytes), "%s.%03u%s", text,
					(unsigned int)(now_ns / 1000000u % 1000u), offset);
}

/* Write one character of valid UTF-8 so that it is harmless; returns the bytes consumed. */
static size_t line_add_character(struct line *line, const unsigned char *at)
{
	char *to = line->bytes + line->length;
	size_t room = LINE_BYTES - line->length;

	// C1 controls matter: U+009B starts a terminal's escape sequence as well as ESC [ does.
	if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f) {
		line->length += (size_t)snprintf(to, room, "\\u%04x", at[1]);
		return 2;
	}
	if (at[0] == '\n')
		line->length += (size_t)snprintf(to, room, "\\n");
	else if (at[0] == '\t')
		line->length += (size_t)snprintf(to, room, "\\t");
	else if (at[0] == '\r')
		line->length += (size_t)snprintf(to, room, "\\r");
	else if (at[0] < 0x20 || at[0] == 0x7f)
		line->length += (size_t)snprintf(to, room, "\\x%02x", at[0]);
	else
		line->bytes[line->length++] = (char)at[0];
	return 1;
}

/* Add @text up to position @limit of the line, which leaves room for a mark and a line break. */
static void line_add_text(struct line *line, const char *text, size_t limit)
{
	const unsigned char *at = (const unsigned char *)text;

	while (*at) {
		if (line->length + LONGEST_ESCAPE > limit) {
			memcpy(line->bytes + line->length, cut_mark, sizeof(cut_mark) - 1);
			line->length += sizeof(cut_mark) - 1;
			return;
		}
		at += line_add_character(line, at);
	}
}

static void line_add_word(struct line *line, const char *word)
{
	line->bytes[line->length++] = '\t';
	line_add_text(line, word, ID_BYTES);
}

static void line_write(const struct line *line, int fd)
{
	size_t written = 0;

	while (written < line->length) {
		ssize_t result = write(fd, line->bytes + written, line->length - written);

		if (result < 0 && errno == EINTR)
			continue;
		if (result <= 0)
			return;
		written += (size_t)result;
	}
}

__attribute__((format(printf, 3, 0))) static void logging_write(const struct profcol_logger *base,
								enum profcol_level level,
								const char *format,
								va_list arguments)
{
	// The base is the logger's first member.
	const struct logger *logger = (const struct logger *)(const void *)base;
	int saved_errno = errno;
	char message[LOGGING_MESSAGE_BYTES];
	struct line line;
	int wanted;

	if (level < base->level)
		return;
	wanted = vsnprintf(message, sizeof(message), format, arguments);
	if (wanted < 0)
		wanted = snprintf(message, sizeof(message), "(a message that cannot be formatted)");
	if ((size_t)wanted >= sizeof(message)) {
		wanted = sizeof(message) - 1;
		memcpy(message + sizeof(message) - sizeof(cut_mark), cut_mark, sizeof(cut_mark));
	}
	strings_sanitize_utf8(message, message, (size_t)wanted);
	line.length = 0;
	line_add_time(&line);
	line_add_word(&line, (unsigned int)level < LOGGING_LEVELS ? logging_levels[level] : "?");
	line_add_word(&line, logger->id);
	line.bytes[line.length++] = '\t';
	line_add_text(&line, message, LINE_BYTES - sizeof(cut_mark));
	line.bytes[line.length++] = '\n';
	line_write(&line, logger->fd);
	errno = saved_errno;
}

void logging_init(struct logger *logger, const char *id, enum profcol_level level, int fd)
{
	*logger = (struct logger){
		.base = { .size = sizeof(logger->base), .level = level, .write = logging_write },
		.id = id,
		.fd = fd,
	};
}

bool logging_parse_level(const char *word, enum profcol_level *ret)
{
	for (unsigned int level = 0; level < LOGGING_LEVELS; level++) {
		if (strcmp(word, logging_levels[level]) == 0) {
			*ret = (enum profcol_level)level;
			return true;
		}
	}
	return false;
}
