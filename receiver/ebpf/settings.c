// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <stdlib.h>
#include <string.h>

static bool copy_list(struct arena *memory, struct profcol_list *list)
{
	const char **items = arena_alloc(memory, (list->count + 1) * sizeof(*items));

	for (size_t i = 0; items && i < list->count; i++) {
		items[i] = arena_strdup(memory, list->items[i]);
		if (!items[i])
			return false;
	}
	list->items = items;
	return items;
}

/* The texts that the parts borrow for longer than a configuration lasts. */
static bool copy_texts(struct arena *memory, struct profiling_config *config)
{
	config->cache_directory = arena_strdup(memory, config->cache_directory);
	return config->cache_directory && copy_list(memory, &config->include_env_vars) &&
	       copy_list(memory, &config->debug_directories) && copy_list(memory, &config->events);
}

struct settings *settings_create(const struct profiling_config *config)
{
	struct settings *settings = malloc(sizeof(*settings));

	if (!settings)
		return NULL;
	*settings = (struct settings){ .config = *config, .memory = arena_create(0) };
	settings->config.select = (struct select_config){ 0 };
	settings->config.unheeded = (struct unheeded_config){ 0 };
	if (settings->memory && copy_texts(settings->memory, &settings->config))
		return settings;
	settings_destroy(settings);
	return NULL;
}

void settings_destroy(struct settings *settings)
{
	if (!settings)
		return;
	arena_destroy(settings->memory);
	free(settings);
}

static bool list_equal(const struct profcol_list *a, const struct profcol_list *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->items[i], b->items[i]))
			return false;
	return true;
}

/* An option that has no part in it counts as different: then the receiver is restarted. */
static bool field_equal(const struct profcol_option *option, const void *a, const void *b)
{
	switch (option->type) {
	case PROFCOL_OPTION_BOOL:
		return *(const bool *)a == *(const bool *)b;
	case PROFCOL_OPTION_ENUM:
		return *(const int *)a == *(const int *)b;
	case PROFCOL_OPTION_INT:
		return *(const int64_t *)a == *(const int64_t *)b;
	case PROFCOL_OPTION_DURATION:
	case PROFCOL_OPTION_BYTES:
		return *(const uint64_t *)a == *(const uint64_t *)b;
	case PROFCOL_OPTION_DOUBLE:
		return !memcmp(a, b, sizeof(double));
	case PROFCOL_OPTION_STRING:
	case PROFCOL_OPTION_SECRET:
		return !strcmp(*(const char *const *)a, *(const char *const *)b);
	case PROFCOL_OPTION_LIST:
		return list_equal(a, b);
	default:
		return false;
	}
}

/* Does a field at @offset lie in the part of the configuration that begins at @start? */
static bool lies_in(size_t offset, size_t start, size_t size)
{
	return offset >= start && offset < start + size;
}

static bool can_change(size_t offset)
{
	const struct profiling_config *config = NULL;

	return lies_in(offset, offsetof(struct profiling_config, select), sizeof(config->select)) ||
	       lies_in(offset, offsetof(struct profiling_config, unheeded),
		       sizeof(config->unheeded));
}

/* Are those of @table, whose fields begin at @start, equal but for what can change? */
static bool fixed_equal(const struct profcol_option *table, size_t start,
			const struct profiling_config *a, const struct profiling_config *b)
{
	for (; table->key; table++) {
		size_t at = start + table->offset;
		const char *left = (const char *)a + at, *right = (const char *)b + at;

		if (table->type == PROFCOL_OPTION_NESTED
			    ? !fixed_equal(table->nested, at, a, b)
			    : !can_change(at) && !field_equal(table, left, right))
			return false;
	}
	return true;
}

bool settings_can_change(const struct profiling_config *from, const struct profiling_config *to)
{
	return fixed_equal(profiling_options, 0, from, to);
}
