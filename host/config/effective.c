// SPDX-License-Identifier: Apache-2.0
#include "effective.h"

#include "emit.h"
#include "quantity.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

struct printing {
	struct emitter *emitter;
	bool redacted;
	bool no_memory;
};

static void print_table(struct printing *printing, const struct profcol_option *table,
			const void *base);

static void print_text(const struct printing *printing, const char *text, bool is_secret)
{
	emit_text(printing->emitter, is_secret && printing->redacted && *text ? REDACTED : text);
}

static void print_list(const struct printing *printing, const struct profcol_list *list)
{
	emit_begin_list(printing->emitter);
	for (size_t i = 0; i < list->count; i++)
		emit_text(printing->emitter, list->items[i]);
	emit_end_list(printing->emitter);
}

/* As deep as a file may nest. */
static void print_any(const struct printing *printing, const struct profcol_any *value)
{
	struct emitter *emitter = printing->emitter;

	switch (value->type) {
	case PROFCOL_ANY_NONE:
		emit_null(emitter);
		break;
	case PROFCOL_ANY_TEXT:
		emit_text(emitter, value->text);
		break;
	case PROFCOL_ANY_BOOL:
		emit_bool(emitter, value->boolean);
		break;
	case PROFCOL_ANY_INT:
		emit_int(emitter, value->integer);
		break;
	case PROFCOL_ANY_DOUBLE:
		emit_double(emitter, value->real);
		break;
	case PROFCOL_ANY_LIST:
		emit_begin_list(emitter);
		for (size_t i = 0; i < value->count; i++)
			print_any(printing, &value->items[i]);
		emit_end_list(emitter);
		break;
	case PROFCOL_ANY_MAP:
		emit_begin_map(emitter);
		for (size_t i = 0; i < value->count; i++) {
			emit_key(emitter, value->keys[i]);
			print_any(printing, &value->items[i]);
		}
		emit_end_map(emitter);
		break;
	}
}

/* Headers, all of them: they may be tokens. */
static void print_map(const struct printing *printing, const struct profcol_map *map)
{
	emit_begin_map(printing->emitter);
	for (size_t i = 0; i < map->count; i++) {
		emit_key(printing->emitter, map->keys[i]);
		print_text(printing, map->values[i], true);
	}
	emit_end_map(printing->emitter);
}

static void print_sections(struct printing *printing, const struct profcol_option *option,
			   const struct profcol_sections *sections)
{
	const char *items = sections->items;

	emit_begin_list(printing->emitter);
	for (size_t i = 0; i < sections->count; i++)
		print_table(printing, option->nested, items + i * option->item_size);
	emit_end_list(printing->emitter);
}

/* Zero is outside of the bounds where it means that nothing was given. */
static void print_int(const struct printing *printing, const struct profcol_option *option,
		      int64_t value)
{
	if (value || option->min <= 0)
		emit_int(printing->emitter, value);
	else
		emit_null(printing->emitter);
}

static void print_duration(const struct printing *printing, uint64_t ns)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print_duration((int64_t)ns, text);
	emit_text(printing->emitter, text);
}

static void print_bytes(const struct printing *printing, uint64_t bytes)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print_bytes(bytes, text);
	// A bare number is one, not text.
	if (bytes % 1024 || !bytes)
		emit_int(printing->emitter, (int64_t)bytes);
	else
		emit_text(printing->emitter, text);
}

static void print_enum(const struct printing *printing, const struct profcol_option *option,
		       int value)
{
	// Where the empty word is not what null stands for, it has to be said.
	if (option->names[value][0] || option->fallback)
		emit_text(printing->emitter, option->names[value]);
	else
		emit_null(printing->emitter);
}

static void print_value(struct printing *printing, const struct profcol_option *option,
			const void *field)
{
	switch (option->type) {
	case PROFCOL_OPTION_BOOL:
		emit_bool(printing->emitter, *(const bool *)field);
		break;
	case PROFCOL_OPTION_INT:
		print_int(printing, option, *(const int64_t *)field);
		break;
	case PROFCOL_OPTION_DOUBLE:
		emit_double(printing->emitter, *(const double *)field);
		break;
	case PROFCOL_OPTION_DURATION:
		print_duration(printing, *(const uint64_t *)field);
		break;
	case PROFCOL_OPTION_BYTES:
		print_bytes(printing, *(const uint64_t *)field);
		break;
	case PROFCOL_OPTION_STRING:
	case PROFCOL_OPTION_SECRET:
		print_text(printing, *(const char *const *)field,
			   option->type == PROFCOL_OPTION_SECRET);
		break;
	case PROFCOL_OPTION_ENUM:
		print_enum(printing, option, *(const int *)field);
		break;
	case PROFCOL_OPTION_LIST:
		print_list(printing, field);
		break;
	case PROFCOL_OPTION_MAP:
		print_map(printing, field);
		break;
	case PROFCOL_OPTION_NESTED:
		print_table(printing, option->nested, field);
		break;
	case PROFCOL_OPTION_SECTIONS:
		print_sections(printing, option, field);
		break;
	case PROFCOL_OPTION_ANY:
		print_any(printing, field);
		break;
	}
}

static int compare_keys(const void *left, const void *right)
{
	const struct profcol_option *const *a = left, *const *b = right;

	return strcmp((*a)->key, (*b)->key);
}

/* The options of @table by key, to be freed by the caller; NULL without memory. */
static const struct profcol_option **sort_table(const struct profcol_option *table,
						size_t *count_ret)
{
	const struct profcol_option **sorted;
	size_t count = 0;

	while (table && table[count].key)
		count++;
	sorted = calloc(count + 1, sizeof(*sorted));
	for (size_t i = 0; sorted && i < count; i++)
		sorted[i] = &table[i];
	if (sorted)
		qsort(sorted, count, sizeof(*sorted), compare_keys);
	*count_ret = count;
	return sorted;
}

/* An empty table says that nothing of the section was read. */
static bool is_unread(const struct profcol_option *option)
{
	return option->type == PROFCOL_OPTION_NESTED && !option->nested->key && !option->named;
}

static bool is_absent(const struct profcol_option *option, const void *base)
{
	return option->named && !*((const bool *)((const char *)base + option->named - 1));
}

static void print_table(struct printing *printing, const struct profcol_option *table,
			const void *base)
{
	CLEANUP_FREE const struct profcol_option **sorted = NULL;
	size_t count;

	sorted = sort_table(table, &count);
	printing->no_memory |= !sorted;
	emit_begin_map(printing->emitter);
	for (size_t i = 0; sorted && i < count; i++) {
		const struct profcol_option *option = sorted[i];

		// Where null would name an absent section, only silence says that it is absent.
		if (is_unread(option) || (is_absent(option, base) && !option->null_is_absent))
			continue;
		emit_key(printing->emitter, option->key);
		if (is_absent(option, base))
			emit_null(printing->emitter);
		else
			print_value(printing, option, (const char *)base + option->offset);
	}
	emit_end_map(printing->emitter);
}

bool effective_emit(struct emitter *emitter, const struct profcol_option *table, const void *base,
		    bool redacted)
{
	struct printing printing = { .emitter = emitter, .redacted = redacted };

	print_table(&printing, table, base);
	return !printing.no_memory;
}

const char *effective_text(struct arena *memory, const struct profcol_option *table,
			   const void *base)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FILE FILE *stream = NULL;
	struct emitter emitter;
	size_t length;

	stream = open_memstream(&text, &length);
	if (!stream)
		return NULL;
	// JSON is YAML.
	emitter_init(&emitter, EMIT_JSON_LINE, stream);
	if (!effective_emit(&emitter, table, base, false) || fflush(stream))
		return NULL;
	return arena_strndup(memory, text, length);
}
