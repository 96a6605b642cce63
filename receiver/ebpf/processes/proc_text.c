// SPDX-License-Identifier: Apache-2.0
#include "proc_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* A number of at least one digit and at most 64 bits, and @separator behind it. */
static bool take_number(const char **at, const char *end, unsigned int base, char separator,
			uint64_t *ret)
{
	const char *from = *at;
	uint64_t number = 0;

	for (; from < end; from++) {
		int digit = digit_value(*from);

		if (digit < 0 || (unsigned int)digit >= base)
			break;
		if (number > (UINT64_MAX - (unsigned int)digit) / base)
			return false;
		number = number * base + (unsigned int)digit;
	}
	if (from == *at || from == end || *from != separator)
		return false;
	*at = from + 1;
	*ret = number;
	return true;
}

/* The kernel escapes newlines in paths, and nothing else. In place; returns the new length. */
static size_t unescape_path(char *path, size_t length)
{
	size_t to = 0;

	for (size_t from = 0; from < length; to++) {
		if (length - from >= 4 && !memcmp(path + from, "\\012", 4)) {
			path[to] = '\n';
			from += 4;
		} else {
			path[to] = path[from++];
		}
	}
	path[to] = '\0';
	return to;
}

/* "55d0c0000000-55d0c0001000 r-xp 00001000 fe:01 1234    /usr/bin/x" */
static bool take_mapping(char *line, char *end, struct proc_mapping *ret)
{
	uint64_t major_number, minor_number;
	const char *at = line;
	char *path;

	if (!take_number(&at, end, 16, '-', &ret->start) ||
	    !take_number(&at, end, 16, ' ', &ret->limit) || end - at < 5 || at[4] != ' ')
		return false;
	ret->executable = at[2] == 'x';
	at += 5;
	// Without a path the inode is followed by a space on some kernels, by nothing on others.
	if (!take_number(&at, end, 16, ' ', &ret->file_offset) ||
	    !take_number(&at, end, 16, ':', &major_number) ||
	    !take_number(&at, end, 16, ' ', &minor_number))
		return false;
	*end = ' ';
	if (!take_number(&at, end + 1, 10, ' ', &ret->inode))
		return false;
	if (ret->start >= ret->limit || major_number > UINT32_MAX || minor_number > UINT32_MAX)
		return false;
	ret->device = makedev((unsigned int)major_number, (unsigned int)minor_number);
	path = line + (at - line);
	while (path < end && *path == ' ')
		path++;
	if (path >= end) {
		ret->path = "//anon";
		ret->path_length = strlen(ret->path);
		return true;
	}
	ret->path = path;
	ret->path_length = unescape_path(path, (size_t)(end - path));
	return true;
}

bool proc_maps_next(char **text, char *end, struct proc_mapping *ret)
{
	while (*text < end) {
		char *line = *text, *newline = memchr(line, '\n', (size_t)(end - line));
		char *line_end = newline ? newline : end;

		*text = newline ? newline + 1 : end;
		if (take_mapping(line, line_end, ret))
			return true;
	}
	return false;
}

/* The name stands in parentheses with \n and \\ escaped, and may hold parentheses itself. */
static void take_comm(const char *from, const char *end, char ret[16])
{
	size_t length = 0;

	for (; from < end && length < 15; from++) {
		char c = *from;

		if (c == '\\' && from + 1 < end && (from[1] == 'n' || from[1] == '\\'))
			c = *++from == 'n' ? '\n' : '\\';
		ret[length++] = c;
	}
	memset(ret + length, 0, 16 - length);
}

bool proc_stat_parse(const char *text, size_t length, struct proc_stat *ret)
{
	enum { PARENT = 4, THREADS = 20, START = 22 }; /* as proc(5) numbers the fields */
	const char *open = memchr(text, '(', length), *close = memrchr(text, ')', length);
	const char *end = text + length, *at;

	if (!open || !close || close < open || end - close < 5 || close[1] != ' ' ||
	    close[3] != ' ')
		return false;
	take_comm(open + 1, close, ret->comm);
	ret->state = close[2];
	at = close + 4;
	for (int field = PARENT; field <= START; field++) {
		uint64_t number;

		if (at < end && *at == '-')
			at++; // tty_nr, tpgid, nice: not ours
		if (!take_number(&at, end, 10, ' ', &number))
			return false;
		if (field == PARENT)
			ret->parent = (uint32_t)number;
		else if (field == THREADS)
			ret->threads = (uint32_t)number;
		else if (field == START)
			ret->start_ticks = number;
	}
	return true;
}

size_t proc_path_length(const char *path, size_t length)
{
	static const char mark[] = " (deleted)";
	size_t mark_length = sizeof(mark) - 1;

	if (length > mark_length && !memcmp(path + length - mark_length, mark, mark_length))
		return length - mark_length;
	return length;
}

bool proc_status_last_number(const char *status, const char *key, uint32_t *ret)
{
	const char *line = strstr(status, key), *end, *at;

	if (!line)
		return false;
	line += strlen(key);
	end = line + strcspn(line, "\n");
	for (at = end; at > line && at[-1] >= '0' && at[-1] <= '9';)
		at--;
	if (at == end)
		return false;
	*ret = (uint32_t)strtoul(at, NULL, 10);
	return true;
}
