// SPDX-License-Identifier: Apache-2.0
#include "kallsyms.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum {
	BUFFER_BYTES = 64 << 10,
	MAX_LINES = 4 << 20, /* distribution kernels have 0.2 M */
	MAX_MODULES = 16384,
	MAX_NAME = 1024, /* KSYM_NAME_LEN is 512 */
};

void kallsyms_deinit(struct kallsyms *symbols)
{
	VECTOR_DEINIT(&symbols->lines);
	VECTOR_DEINIT(&symbols->modules);
	VECTOR_DEINIT(&symbols->text);
}

/* Index of the module, or -1. Lines of a module follow each other: it is the last, or new. */
static int kallsyms_module(struct kallsyms *symbols, const char *name, size_t length)
{
	struct kallsyms_module module = { 0 };
	size_t count = symbols->modules.count;

	if (!length || length >= sizeof(module.name))
		return -1;
	memcpy(module.name, name, length);
	strings_sanitize_utf8(module.name, module.name, length);
	for (size_t i = count; i-- > 0;)
		if (!strcmp(symbols->modules.items[i].name, module.name))
			return (int)i;
	if (count >= MAX_MODULES || !VECTOR_PUSH(&symbols->modules, module))
		return -1;
	return (int)count;
}

static bool is_printable_ascii(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return true;
}

/* Append @name without bytes that are not printable. False without memory. */
static bool kallsyms_add_name(struct kallsyms *symbols, const char *name, size_t length)
{
	char *to;

	if (symbols->text.count > UINT32_MAX - length - 1 ||
	    !VECTOR_RESERVE(&symbols->text, length + 1))
		return false;
	to = symbols->text.items + symbols->text.count;
	symbols->text.count += length + 1;
	if (is_printable_ascii(name, length)) { // all of them, but for a module's mischief
		memcpy(to, name, length);
		to[length] = '\0';
		return true;
	}
	strings_sanitize_utf8(to, name, length);
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)to[i] < ' ' || to[i] == 0x7f)
			to[i] = '?';
	return true;
}

static uint8_t rank_of_type(char type)
{
	return type == 'T' ? 0 : type == 't' ? 1 : 2;
}

/* "ffffffff81000000 T name[\t[module]]", NUL-terminated. False without memory. */
static bool kallsyms_take_line(struct kallsyms *symbols, const char *line)
{
	char *end;
	uint64_t address = strtoull(line, &end, 16);
	struct kallsyms_line row = { .address = address };
	size_t length;
	char type;
	int module = 0;

	if (end == line || end[0] != ' ' || !(type = end[1]) || end[2] != ' ')
		return true;
	if (!strchr("TtWw", type) || symbols->lines.count >= MAX_LINES)
		return true;
	line = end + 3;
	length = strcspn(line, "\t");
	if (!length || length > MAX_NAME)
		return true;
	if (line[length] == '\t' && line[length + 1] == '[')
		module = kallsyms_module(symbols, line + length + 2,
					 strcspn(line + length + 2, "]"));
	if (module < 0)
		return true;
	if (!module && length == 5 && !memcmp(line, "_text", 5))
		symbols->kernel_start = address;
	row.name = (uint32_t)symbols->text.count;
	row.module = (uint16_t)module;
	row.rank = rank_of_type(type);
	return kallsyms_add_name(symbols, line, length) && VECTOR_PUSH(&symbols->lines, row);
}

/* In pieces: the whole text is 10 MB and more. */
static struct profcol_error *kallsyms_parse(int fd, const char *path, struct kallsyms *symbols)
{
	CLEANUP_FREE char *buffer = malloc(BUFFER_BYTES + 1);
	size_t held = 0;

	for (;;) {
		ssize_t got = buffer ? read(fd, buffer + held, BUFFER_BYTES - held) : -1;
		char *line = buffer, *newline;

		if (got < 0 && buffer && errno == EINTR)
			continue;
		if (got < 0)
			return profcol_error_errno(errno, "read '%s'", path);
		if (!got)
			return NULL;
		held += (size_t)got;
		while ((newline = memchr(line, '\n', held - (size_t)(line - buffer)))) {
			*newline = '\0';
			if (!kallsyms_take_line(symbols, line))
				return profcol_error_create(PROFCOL_NO_MEMORY, "read '%s'", path);
			line = newline + 1;
		}
		held -= (size_t)(line - buffer);
		memmove(buffer, line, held);
		if (held == BUFFER_BYTES)
			return profcol_error_create(PROFCOL_BAD_DATA,
						    "read '%s': a line is too long", path);
	}
}

static int compare_lines(const void *left, const void *right, void *context)
{
	const struct kallsyms_line *a = left, *b = right;
	const char *text = context, *a_name = text + a->name, *b_name = text + b->name;
	size_t a_underscores, b_underscores;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	a_underscores = strspn(a_name, "_");
	b_underscores = strspn(b_name, "_");
	if (a_underscores != b_underscores)
		return a_underscores < b_underscores ? -1 : 1;
	if (strlen(a_name) != strlen(b_name))
		return strlen(a_name) < strlen(b_name) ? -1 : 1;
	return strcmp(a_name, b_name);
}

struct profcol_error *kallsyms_read(const char *root, struct kallsyms *ret)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FD int fd = -1;
	char path[4096];

	snprintf(path, sizeof(path), "%s/proc/kallsyms", root);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return profcol_error_create(
			PROFCOL_SYSTEM,
			"open '%s': %m; kernel symbols need CONFIG_KALLSYMS and a "
			"mounted /proc",
			path);
	if (kallsyms_module(ret, "vmlinux", 7) != 0)
		return profcol_error_create(PROFCOL_NO_MEMORY, "read '%s'", path);
	error = kallsyms_parse(fd, path, ret);
	if (error)
		return TAKE(error);
	if (ret->lines.count)
		qsort_r(ret->lines.items, ret->lines.count, sizeof(*ret->lines.items),
			compare_lines, ret->text.items);
	if (!ret->lines.count || !ret->lines.items[ret->lines.count - 1].address)
		return profcol_error_create(
			PROFCOL_UNSUPPORTED,
			"read '%s': the kernel hides its addresses; grant "
			"CAP_SYSLOG and set sysctl kernel.kptr_restrict to 0 or 1",
			path);
	return NULL;
}
