// SPDX-License-Identifier: Apache-2.0
#include "describe.h"

#include "quantity.h"

#include <float.h>
#include <inttypes.h>

/* Names on the way to a nested option. */
struct prefix {
	const struct prefix *parent;
	const char *key;
	bool is_list;
};

static void print_prefix(const struct prefix *prefix, FILE *to)
{
	if (!prefix)
		return;
	print_prefix(prefix->parent, to);
	fprintf(to, "%s%s.", prefix->key, prefix->is_list ? "[]" : "");
}

/* A '|' would end the cell. */
static void print_cell(const char *text, FILE *to)
{
	for (; *text; text++) {
		if (*text == '|')
			putc('\\', to);
		putc(*text, to);
	}
}

static void print_int_bounds(const struct profcol_option *option, FILE *to)
{
	if (option->min == INT64_MIN && option->max == INT64_MAX)
		return;
	if (option->max == INT64_MAX)
		fprintf(to, ", at least %" PRId64, option->min);
	else if (option->min == INT64_MIN)
		fprintf(to, ", at most %" PRId64, option->max);
	else
		fprintf(to, ", %" PRId64 " to %" PRId64, option->min, option->max);
}

static void print_double_bounds(const struct profcol_option *option, FILE *to)
{
	if (option->double_min <= -DBL_MAX && option->double_max >= DBL_MAX)
		return;
	if (option->double_max >= DBL_MAX)
		fprintf(to, ", at least %.15g", option->double_min);
	else if (option->double_min <= -DBL_MAX)
		fprintf(to, ", at most %.15g", option->double_max);
	else
		fprintf(to, ", %.15g to %.15g", option->double_min, option->double_max);
}

static void print_quantity(const struct profcol_option *option, int64_t value, FILE *to)
{
	char text[QUANTITY_TEXT_MAX];

	if (option->type == PROFCOL_OPTION_DURATION)
		quantity_print_duration(value, text);
	else
		quantity_print_bytes((uint64_t)value, text);
	fputs(text, to);
}

static void print_quantity_bounds(const struct profcol_option *option, FILE *to)
{
	if (!option->min && !option->max)
		return;
	fputs(option->max ? ", " : ", at least ", to);
	print_quantity(option, option->min, to);
	if (!option->max)
		return;
	fputs(" to ", to);
	print_quantity(option, option->max, to);
}

static void print_words(const struct profcol_option *option, FILE *to)
{
	const char *const *first = option->names + (option->names[0][0] == '\0');

	for (const char *const *name = first; *name; name++) {
		fputs(name == first ? "" : ", ", to);
		putc('`', to);
		print_cell(*name, to);
		putc('`', to);
	}
}

const char *describe_type(enum profcol_option_type type)
{
	static const char *const names[] = {
		[PROFCOL_OPTION_BOOL] = "bool",      [PROFCOL_OPTION_INT] = "int",
		[PROFCOL_OPTION_DOUBLE] = "float",   [PROFCOL_OPTION_DURATION] = "duration",
		[PROFCOL_OPTION_BYTES] = "bytes",    [PROFCOL_OPTION_STRING] = "string",
		[PROFCOL_OPTION_SECRET] = "secret",  [PROFCOL_OPTION_ENUM] = "enum",
		[PROFCOL_OPTION_LIST] = "list",      [PROFCOL_OPTION_MAP] = "map",
		[PROFCOL_OPTION_NESTED] = "section", [PROFCOL_OPTION_SECTIONS] = "list of sections",
		[PROFCOL_OPTION_ANY] = "any",
	};

	return names[type];
}

static void print_type(const struct profcol_option *option, FILE *to)
{
	if (option->type != PROFCOL_OPTION_ENUM)
		fputs(describe_type(option->type), to);
	if (option->type == PROFCOL_OPTION_INT)
		print_int_bounds(option, to);
	else if (option->type == PROFCOL_OPTION_DOUBLE)
		print_double_bounds(option, to);
	else if (option->type == PROFCOL_OPTION_DURATION || option->type == PROFCOL_OPTION_BYTES)
		print_quantity_bounds(option, to);
	else if (option->type == PROFCOL_OPTION_ENUM)
		print_words(option, to);
	else if (option->type == PROFCOL_OPTION_SECTIONS && option->names)
		fputs(" or texts", to);
}

static void print_default(const struct profcol_option *option, FILE *to)
{
	if (option->required) {
		fputs("required", to);
	} else if (option->fallback) {
		putc('`', to);
		print_cell(option->fallback, to);
		putc('`', to);
	}
}

static void print_rows(const struct profcol_option *table, const struct prefix *prefix, FILE *to)
{
	for (const struct profcol_option *option = table; option && option->key; option++) {
		struct prefix here = { .parent = prefix,
				       .key = option->key,
				       .is_list = option->type == PROFCOL_OPTION_SECTIONS };

		fputs("| `", to);
		print_prefix(prefix, to);
		fprintf(to, "%s` | ", option->key);
		print_type(option, to);
		fputs(" | ", to);
		print_default(option, to);
		fputs(" | ", to);
		print_cell(option->doc, to);
		fputs(" |\n", to);
		if (option->nested)
			print_rows(option->nested, &here, to);
	}
}

void describe_options(const struct profcol_option *table, FILE *to)
{
	if (!table || !table->key)
		return;
	fputs("| key | type | default | |\n|---|---|---|---|\n", to);
	print_rows(table, NULL, to);
}
