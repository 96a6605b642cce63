// SPDX-License-Identifier: Apache-2.0
#include "log_line.h"

#include "base/base.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const char cut_mark[] = "... (cut)";

enum {
	LONGEST_ESCAPE = 6,
	LONGEST_UTF8 = 4,
	CUT_BYTES = sizeof(cut_mark) - 1,
	STRING_BYTES = 1024
};

void log_line_add(struct log_line *line, const char *text)
{
	size_t length = strlen(text);

	// The last byte is the line break's.
	if (length >= LOG_LINE_BYTES - line->length)
		return;
	memcpy(line->bytes + line->length, text, length);
	line->length += length;
}

void log_line_add_number(struct log_line *line, uint64_t number)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	log_line_add(line, text);
}

void log_line_add_time(struct log_line *line)
{
	uint64_t now_ns = clock_realtime_ns();
	time_t seconds = (time_t)(now_ns / 1000000000u);
	struct tm local;
	char offset[8] = "Z", date[40], text[64];

	if (!localtime_r(&seconds, &local) ||
	    !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &local))
		return;
	if (local.tm_gmtoff != 0)
		strftime(offset, sizeof(offset), "%z", &local);
	snprintf(text, sizeof(text), "%s.%03u%s", date, (unsigned int)(now_ns / 1000000u % 1000u),
		 offset);
	log_line_add(line, text);
}

/* The form of a character that cannot stand for itself; false when it can. */
static bool escape_character(unsigned char byte, enum log_line_escape escape, char *to, size_t size)
{
	const char *form = NULL;

	if (byte == '\n' && escape == LOG_LINE_TEXT)
		return false;
	if (byte == '\n')
		form = "\\n";
	else if (byte == '\t')
		form = "\\t";
	else if (byte == '\r')
		form = "\\r";
	else if (escape == LOG_LINE_JSON && byte == '"')
		form = "\\\"";
	else if (escape == LOG_LINE_JSON && byte == '\\')
		form = "\\\\";
	if (form)
		snprintf(to, size, "%s", form);
	else if (byte < 0x20 || byte == 0x7f)
		snprintf(to, size, escape == LOG_LINE_JSON ? "\\u%04x" : "\\x%02x", byte);
	else
		return false;
	return true;
}

/* Write one character of valid UTF-8 so that it is harmless; returns the bytes consumed. */
static size_t add_character(struct log_line *line, const unsigned char *at,
			    enum log_line_escape escape)
{
	char form[LONGEST_ESCAPE + 1];
	size_t bytes = 0;

	// C1 controls matter: U+009B starts a terminal's escape sequence as well as ESC [ does.
	if (at[0] == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f) {
		snprintf(form, sizeof(form), "\\u%04x", at[1]);
		log_line_add(line, form);
		return 2;
	}
	if (escape_character(at[0], escape, form, sizeof(form))) {
		log_line_add(line, form);
		return 1;
	}
	// As a whole, so that a cut never falls inside.
	do
		line->bytes[line->length++] = (char)at[bytes++];
	while ((at[bytes] & 0xc0) == 0x80 && bytes < LONGEST_UTF8);
	return bytes;
}

void log_line_add_text(struct log_line *line, const char *text, enum log_line_escape escape,
		       size_t end)
{
	const unsigned char *at = (const unsigned char *)text;

	if (end > LOG_LINE_BYTES - CUT_BYTES - 1)
		end = LOG_LINE_BYTES - CUT_BYTES - 1;
	while (*at) {
		if (line->length + LONGEST_ESCAPE > end) {
			log_line_add(line, cut_mark);
			return;
		}
		at += add_character(line, at, escape);
	}
}

void log_line_add_string(struct log_line *line, const char *text)
{
	char clean[STRING_BYTES];
	size_t length = strnlen(text, sizeof(clean) - 1);

	// No room for quotes and a cut mark: better no string than half of one.
	if (line->length + (size_t)2 * CUT_BYTES > LOG_LINE_BYTES)
		return;
	strings_sanitize_utf8(clean, text, length);
	log_line_add(line, "\"");
	log_line_add_text(line, clean, LOG_LINE_JSON, LOG_LINE_BYTES - CUT_BYTES - 2);
	log_line_add(line, "\"");
}

int log_line_write(struct log_line *line, int fd)
{
	struct iovec part = { .iov_base = line->bytes };
	size_t written;

	if (!line->length || line->bytes[line->length - 1] != '\n')
		line->bytes[line->length++] = '\n';
	part.iov_len = line->length;
	return file_write_all(fd, &part, 1, &written);
}
