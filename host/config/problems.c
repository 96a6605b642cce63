// SPDX-License-Identifier: Apache-2.0
#include "problems.h"

#include "loading.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	KEPT_MAX = 100,  /* nobody reads on; the rest is counted */
	TEXT_MAX = 2048, /* bytes of one problem: names may have 1024 characters */
};

void problems_init(struct problems *problems, struct arena *memory)
{
	*problems = (struct problems){ .memory = memory };
}

void problems_deinit(struct problems *problems)
{
	VECTOR_DEINIT(&problems->errors);
	VECTOR_DEINIT(&problems->warnings);
	VECTOR_DEINIT(&problems->sources);
}

unsigned int problems_add_source(struct problems *problems, const char *name)
{
	// Few: what --config and --set name, and files that these name.
	for (size_t i = 0; i < problems->sources.count; i++)
		if (!strcmp(problems->sources.items[i], name))
			return (unsigned int)i;
	if (VECTOR_PUSH(&problems->sources, name))
		return (unsigned int)problems->sources.count - 1;
	problems->no_memory = true;
	return 0;
}

static const char *source_name(const struct problems *problems, unsigned int source)
{
	return source < problems->sources.count ? problems->sources.items[source] : "configuration";
}

void problems_print_place(const struct problems *problems, struct place place,
			  char to[PROBLEMS_PLACE_MAX])
{
	const char *name = source_name(problems, place.source);
	int shown = PROBLEMS_PLACE_MAX - 32;

	if (place.line)
		snprintf(to, PROBLEMS_PLACE_MAX, "%.*s:%u:%u", shown, name, place.line,
			 place.column);
	else
		snprintf(to, PROBLEMS_PLACE_MAX, "%.*s", shown, name);
}

void problems_print_line(const struct problems *problems, struct place place, struct place here,
			 char to[PROBLEMS_PLACE_MAX])
{
	if (place.source == here.source)
		snprintf(to, PROBLEMS_PLACE_MAX, "line %u", place.line);
	else
		problems_print_place(problems, place, to);
}

/* Print at the end of @to, which never overflows. */
__attribute__((format(printf, 2, 0))) static void append_list(char *to, const char *format,
							      va_list arguments)
{
	size_t used = strlen(to);

	vsnprintf(to + used, TEXT_MAX - used, format, arguments);
}

__attribute__((format(printf, 2, 3))) static void append(char *to, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	append_list(to, format, arguments);
	va_end(arguments);
}

static void append_path(char *to, const struct path *path)
{
	if (!path)
		return;
	append_path(to, path->parent);
	if (path->parent)
		append(to, "::");
	if (path->key)
		append(to, "%s", path->key);
	else
		append(to, "%zu", path->index);
}

/* One problem is one line, whatever the file puts into its keys and values. */
static void make_printable(char *text)
{
	strings_sanitize_utf8(text, text, strlen(text));
	for (char *c = text; *c; c++)
		if ((unsigned char)*c < 0x20 || *c == 0x7f)
			*c = '?';
}

static void problem_list_add(struct problems *problems, struct problem_list *list,
			     struct place place, char *text)
{
	struct problem problem = { .place = place, .order = list->count };

	make_printable(text);
	// A value that names one variable twice makes one warning.
	if (list->count && !strcmp(list->items[list->count - 1].text, text))
		return;
	if (list->count >= KEPT_MAX) {
		list->refused++;
		return;
	}
	problem.text = arena_strdup(problems->memory, text);
	if (!problem.text || !VECTOR_PUSH(list, problem))
		problems->no_memory = true;
}

static void add_problem(struct problems *problems, struct problem_list *list, struct place place,
			const struct path *path, const char *format, va_list arguments)
{
	char text[TEXT_MAX] = "", where[PROBLEMS_PLACE_MAX];

	problems_print_place(problems, place, where);
	append(text, "%s: ", where);
	append_path(text, path);
	if (path)
		append(text, ": ");
	append_list(text, format, arguments);
	problem_list_add(problems, list, place, text);
}

void problems_add(struct problems *problems, struct place place, const struct path *path,
		  const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_problem(problems, &problems->errors, place, path, format, arguments);
	va_end(arguments);
}

void problems_warn(struct problems *problems, struct place place, const struct path *path,
		   const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	add_problem(problems, &problems->warnings, place, path, format, arguments);
	va_end(arguments);
}

bool problems_is_full(const struct problems *problems)
{
	return problems->errors.count >= KEPT_MAX;
}

size_t problems_count(const struct problems *problems)
{
	return problems->errors.count + problems->errors.refused;
}

static int compare_problems(const void *left, const void *right)
{
	const struct problem *a = left, *b = right;

	if (a->place.source != b->place.source)
		return a->place.source < b->place.source ? -1 : 1;
	if (a->place.line != b->place.line)
		return a->place.line < b->place.line ? -1 : 1;
	if (a->place.column != b->place.column)
		return a->place.column < b->place.column ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static void problem_list_sort(struct problem_list *list)
{
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), compare_problems);
}

/* What the configuration's own budget refused is its fault, not the machine's. */
static struct profcol_error *without_memory(const struct problems *problems)
{
	if (arena_is_exhausted(problems->memory))
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s: the configuration needs more than %d MiB of "
					    "memory; shorten it",
					    source_name(problems, 0), LOADING_MEMORY_MAX >> 20);
	return profcol_error_create(PROFCOL_NO_MEMORY, "%s: out of memory",
				    source_name(problems, 0));
}

struct profcol_error *problems_error(struct problems *problems)
{
	struct problem_list *list = &problems->errors;
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FILE FILE *stream = NULL;
	size_t length;

	if (problems->no_memory)
		return without_memory(problems);
	if (!list->count)
		return NULL;
	problem_list_sort(list);
	stream = open_memstream(&text, &length);
	if (!stream)
		return without_memory(problems);
	for (size_t i = 0; i < list->count; i++)
		fprintf(stream, "%s%s", i ? "\n" : "", list->items[i].text);
	if (list->refused)
		fprintf(stream, "\n%s: %zu more problems", source_name(problems, 0), list->refused);
	if (fflush(stream))
		return without_memory(problems);
	return profcol_error_create(PROFCOL_CONFIG, "%s", text);
}

bool problems_take_warnings(struct problems *problems, const char *const **ret, size_t *count_ret)
{
	struct problem_list *list = &problems->warnings;
	const char **texts = arena_alloc(problems->memory, (list->count + 1) * sizeof(*texts));

	if (!texts)
		return false;
	problem_list_sort(list);
	for (size_t i = 0; i < list->count; i++)
		texts[i] = list->items[i].text;
	*ret = texts;
	*count_ret = list->count;
	return true;
}
