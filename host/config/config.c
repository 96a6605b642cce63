// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include "decode_text.h"
#include "expand.h"
#include "loading.h"
#include "yaml.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

static const char *const root_keys[] = { "receivers",  "processors", "exporters", "connectors",
					 "extensions", "service",    NULL };

static void loading_deinit(struct loading *loading)
{
	problems_deinit(&loading->problems);
	VECTOR_DEINIT(&loading->components);
	VECTOR_DEINIT(&loading->pipelines);
}

void loading_unknown_key(struct loading *loading, const struct yaml_node *key,
			 const char *const *keys, const struct path *path)
{
	const char *nearest = NULL;
	char valid[256];
	size_t count = 0;

	while (keys[count])
		count++;
	if (!problems_is_full(&loading->problems))
		nearest = strings_nearest(key->text, keys, count);
	decode_join_words(valid, sizeof(valid), keys, ", ");
	if (nearest)
		problems_add(&loading->problems, key->place, path,
			     "has invalid keys: %s; did you mean '%s'?", key->text, nearest);
	else
		problems_add(&loading->problems, key->place, path,
			     "has invalid keys: %s; valid keys: %s", key->text, valid);
}

bool loading_expect_map(struct loading *loading, const struct yaml_node *node,
			const struct path *path)
{
	if (yaml_is_null(node) || node->broken)
		return false;
	if (node->kind == YAML_MAP)
		return true;
	problems_add(&loading->problems, node->place, path,
		     "expected a map, got '%s'; write 'key: value' lines below it",
		     yaml_type_name(node));
	return false;
}

/* True for a section of components, of which kind. */
static bool find_kind(const char *section, enum profcol_kind *ret)
{
	static const enum profcol_kind kinds[] = { PROFCOL_RECEIVER, PROFCOL_PROCESSOR,
						   PROFCOL_EXPORTER, PROFCOL_EXTENSION };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(components_section(kinds[i]), section))
			continue;
		*ret = kinds[i];
		return true;
	}
	return false;
}

static void read_connectors(struct loading *loading, const struct yaml_entry *entry)
{
	struct path path = { .key = "connectors" };

	if (yaml_is_null(entry->value) || (entry->value->kind == YAML_MAP && !entry->value->count))
		return;
	problems_add(&loading->problems, entry->key->place, &path,
		     "not supported by profcol; remove the section and name all components in one "
		     "pipeline");
}

static void read_root(struct loading *loading, const struct yaml_node *root)
{
	const struct yaml_node *service = NULL;
	struct place place = { .line = 1, .column = 1 };
	enum profcol_kind kind;

	if (root->kind != YAML_MAP) {
		problems_add(&loading->problems, root->place, NULL,
			     "retrieved value (type=%s) cannot be used as a Conf; a configuration "
			     "has the keys receivers, exporters and service",
			     yaml_type_name(root));
		return;
	}
	for (size_t i = 0; i < root->count; i++) {
		const struct yaml_entry *entry = &root->entries[i];

		if (find_kind(entry->key->text, &kind)) {
			components_read(loading, kind, entry->value);
		} else if (!strcmp(entry->key->text, "service")) {
			service = entry->value;
			place = entry->key->place;
		} else if (!strcmp(entry->key->text, "connectors")) {
			read_connectors(loading, entry);
		} else {
			loading_unknown_key(loading, entry->key, root_keys, NULL);
		}
	}
	service_read(loading, service, place);
	storages_check(loading);
	components_warn_unused(loading);
}

static char *place_text(const struct loading *loading, struct place place)
{
	return arena_printf(loading->memory, "%s:%u:%u", loading->problems.name, place.line,
			    place.column);
}

static bool keep_components(struct loading *loading, struct config *config)
{
	struct config_component *components;

	components =
		arena_alloc(loading->memory, (loading->components.count + 1) * sizeof(*components));
	if (!components)
		return false;
	for (size_t i = 0; i < loading->components.count; i++) {
		components[i] = loading->components.items[i].component;
		components[i].place = place_text(loading, loading->components.items[i].place);
		if (!components[i].place)
			return false;
	}
	config->components = components;
	config->component_count = loading->components.count;
	return true;
}

static bool keep_pipelines(struct loading *loading, struct config *config)
{
	struct config_pipeline *pipelines;

	pipelines =
		arena_alloc(loading->memory, (loading->pipelines.count + 1) * sizeof(*pipelines));
	if (!pipelines)
		return false;
	for (size_t i = 0; i < loading->pipelines.count; i++) {
		pipelines[i] = loading->pipelines.items[i].pipeline;
		pipelines[i].place = place_text(loading, loading->pipelines.items[i].place);
		if (!pipelines[i].place)
			return false;
	}
	config->pipelines = pipelines;
	config->pipeline_count = loading->pipelines.count;
	return true;
}

/* The configuration itself lies in the arena that it owns. */
static struct config *finish(struct loading *loading)
{
	struct config *config = arena_alloc(loading->memory, sizeof(*config));

	if (!config || !keep_components(loading, config) || !keep_pipelines(loading, config) ||
	    !problems_take_warnings(&loading->problems, &config->warnings, &config->warning_count))
		return NULL;
	config->extensions = loading->extensions;
	config->extension_count = loading->extension_count;
	config->memory = loading->memory;
	return config;
}

static struct profcol_error *load_text(struct loading *loading, const char *text, size_t length,
				       struct config **ret)
{
	struct yaml_source source = { .memory = loading->memory, .problems = &loading->problems };
	struct profcol_error *error;
	struct yaml_node *root;
	struct config *config;

	root = yaml_parse_file(&source, text, length);
	if (root) {
		expand_tree(&source, root);
		read_root(loading, root);
	}
	error = problems_error(&loading->problems);
	if (error)
		return error;
	config = finish(loading);
	if (!config)
		return profcol_error_create(PROFCOL_NO_MEMORY, "%s: out of memory",
					    loading->problems.name);
	*ret = config;
	return NULL;
}

struct profcol_error *config_parse(const char *name, const char *text, size_t length,
				   const struct component_registry *registry, struct config **ret)
{
	struct loading loading = { .registry = registry };
	struct profcol_error *error;

	loading.memory = arena_create(LOADING_MEMORY_MAX);
	if (!loading.memory)
		return profcol_error_create(PROFCOL_NO_MEMORY, "%s: out of memory", name);
	problems_init(&loading.problems, name, loading.memory);
	error = load_text(&loading, text, length, ret);
	loading_deinit(&loading);
	if (error)
		arena_destroy(loading.memory);
	return error;
}

struct profcol_error *config_load(const char *path, const struct component_registry *registry,
				  struct config **ret)
{
	CLEANUP_FREE char *text = NULL;
	size_t length = 0;
	int result;

	result = file_read(AT_FDCWD, path, YAML_FILE_MAX, &text, &length);
	if (result == -EFBIG)
		return profcol_error_create(PROFCOL_CONFIG,
					    "%s:1:1: the file is larger than %d bytes; shorten it",
					    path, YAML_FILE_MAX);
	if (result == -ENOMEM)
		return profcol_error_create(PROFCOL_NO_MEMORY, "%s: out of memory", path);
	if (result < 0)
		return profcol_error_create(PROFCOL_CONFIG,
					    "cannot read the configuration '%s': %s; name a "
					    "readable file with --config",
					    path, strerror(-result));
	return config_parse(path, text, length, registry, ret);
}

void config_destroy(struct config *config)
{
	if (config)
		arena_destroy(config->memory);
}
