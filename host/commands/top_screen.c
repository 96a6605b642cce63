// SPDX-License-Identifier: Apache-2.0
/* Sequences are those of ECMA-48, which all terminals in use know: home, erase to the end. */
#include "top_screen.h"

#include "profile_file.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

enum {
	USUAL_COLUMNS = 80,
	USUAL_ROWS = 24,
	OTHER_LINES = 3, /* the head, the table's head, and where the cursor stays */
};

struct top_size top_size_of(int fd)
{
	struct winsize size = { 0 };

	if (ioctl(fd, TIOCGWINSZ, &size) || !size.ws_col || !size.ws_row)
		return (struct top_size){ USUAL_COLUMNS, USUAL_ROWS };
	return (struct top_size){ size.ws_col, size.ws_row };
}

/* How many of the @length bytes at @line fit into @columns: a character of UTF-8 has one byte that
 * does not continue another. */
static size_t fitting(const char *line, size_t length, unsigned int columns)
{
	unsigned int used = 0;

	for (size_t i = 0; i < length; i++) {
		bool continues = ((unsigned char)line[i] & 0xc0) == 0x80;

		if (!continues && used++ == columns)
			return i;
	}
	return length;
}

static void draw_line(const char *line, size_t length, unsigned int columns, FILE *stream)
{
	fwrite(line, 1, fitting(line, length, columns), stream);
	fputs("\033[K\n", stream);
}

struct profcol_error *top_screen_draw(struct flame *flame, const char *head, struct top_size size,
				      FILE *stream)
{
	CLEANUP_FREE char *table = NULL;
	size_t functions = size.rows > OTHER_LINES ? size.rows - OTHER_LINES : 1, length;
	FILE *lines = open_memstream(&table, &length);
	struct profcol_error *error;

	if (!lines)
		return profcol_error_errno(ENOMEM, "draw the screen");
	error = profile_print_hottest(flame, functions, lines);
	if (fclose(lines) && !error)
		error = profcol_error_errno(ENOMEM, "draw the screen");
	if (error)
		return error;
	fputs("\033[H", stream);
	draw_line(head, strlen(head), size.columns, stream);
	for (const char *line = table, *end; (end = strchr(line, '\n')); line = end + 1)
		draw_line(line, (size_t)(end - line), size.columns, stream);
	fputs("\033[J", stream);
	fflush(stream);
	return NULL;
}
