// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include "decode_text.h"
#include "loading.h"
#include "tree.h"
#include "yaml.h"

#include "base/base.h"

#include <string.h>

static const char *const root_keys[] = { "receivers",  "processors", "exporters", "connectors",
					 "extensions", "service",    NULL };

static void loading_deinit(struct loading *loading)
{
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
	if (!problems_is_full(loading->problems))
		nearest = strings_nearest(key->text, keys, count);
	decode_join_words(valid, sizeof(valid), keys, ", ");
	if (nearest)
		problems_add(loading->problems, key->place, path,
			     "has invalid keys: %s; did you mean '%s'?", key->text, nearest);
	else
		problems_add(loading->problems, key->place, path,
			     "has invalid keys: %s; valid keys: %s", key->text, valid);
}

bool loading_expect_map(struct loading *loading, const struct yaml_node *node,
			const struct path *path)
{
	if (yaml_is_null(node) || node->broken)
		return false;
	if (node->kind == YAML_MAP)
		return true;
	problems_add(loading->problems, node->place, path,
		     "expected a map, got '%s'; write 'key: value' lines below it%s",
		     yaml_type_name(node), yaml_hint(node));
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

/* A pipeline may name nothing of another, so there is nothing that could connect them. */
static void read_connectors(struct loading *loading, const struct yaml_entry *entry)
{
	struct path path = { .key = "connectors" };

	if (yaml_is_null(entry->value) || entry->value->broken)
		return;
	if (entry->value->kind != YAML_MAP) {
		loading_expect_map(loading, entry->value, &path);
		return;
	}
	for (size_t i = 0; i < entry->value->count; i++) {
		const struct yaml_node *key = entry->value->entries[i].key;

		problems_add(loading->problems, key->place, &path,
			     "unknown type: \"%.*s\" for id: \"%.64s\" (valid values: []): profcol "
			     "has no connectors, only receivers, processors, exporters and "
			     "extensions; remove it and name all components in one pipeline",
			     (int)strcspn(key->text, "/ "), key->text, key->text);
	}
}

static void read_root(struct loading *loading, const struct yaml_node *root)
{
	const struct yaml_node *service = NULL;
	struct place place = { .line = 1, .column = 1, .source = root->place.source };
	enum profcol_kind kind;

	if (root->kind != YAML_MAP) {
		problems_add(loading->problems, root->place, NULL,
			     "empty configuration file; a configuration has the keys receivers, "
			     "exporters and service");
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

const char *loading_place(const struct loading *loading, struct place place)
{
	char text[PROBLEMS_PLACE_MAX];

	problems_print_place(loading->problems, place, text);
	return arena_strdup(loading->memory, text);
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
		components[i].place = loading_place(loading, loading->components.items[i].place);
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
		pipelines[i].place = loading_place(loading, loading->pipelines.items[i].place);
		if (!pipelines[i].place)
			return false;
	}
	config->pipelines = pipelines;
	config->pipeline_count = loading->pipelines.count;
	return true;
}

static bool keep_watched(const struct config_tree *tree, struct config *config)
{
	const char **paths;

	paths = arena_alloc(tree->memory, (tree->retriever.files.count + 1) * sizeof(*paths));
	if (!paths)
		return false;
	for (size_t i = 0; i < tree->retriever.files.count; i++)
		paths[i] = tree->retriever.files.items[i];
	config->watched = paths;
	config->watched_count = tree->retriever.files.count;
	return true;
}

/* The configuration itself lies in the arena that it owns. */
static struct config *finish(struct loading *loading, const struct config_tree *tree)
{
	struct config *config = arena_alloc(loading->memory, sizeof(*config));

	if (!config || !keep_components(loading, config) || !keep_pipelines(loading, config) ||
	    !keep_watched(tree, config) ||
	    !problems_take_warnings(loading->problems, &config->warnings, &config->warning_count))
		return NULL;
	config->service = loading->service;
	config->extensions = loading->extensions;
	config->extension_count = loading->extension_count;
	config->memory = loading->memory;
	return config;
}

struct profcol_error *config_tree_decode(struct config_tree *tree,
					 const struct component_registry *registry,
					 struct config **ret)
{
	struct loading loading = {
		.registry = registry,
		.memory = tree->memory,
		.problems = &tree->problems,
		.looks_at_paths = tree->looks_at_paths,
		.without_plugins = tree->without_plugins,
	};
	struct config *config = NULL;
	struct profcol_error *error;

	read_root(&loading, tree->root);
	error = problems_error(&tree->problems);
	if (!error)
		config = finish(&loading, tree);
	if (!error && !config) {
		tree->problems.no_memory = true;
		error = problems_error(&tree->problems);
	}
	loading_deinit(&loading);
	if (error) {
		config_tree_destroy(tree);
		return error;
	}
	tree_release(tree);
	*ret = config;
	return NULL;
}

struct profcol_error *config_parse(const char *name, const char *text, size_t length,
				   const struct component_registry *registry, struct config **ret)
{
	struct config_tree *tree = NULL;
	struct profcol_error *error;

	error = config_tree_parse(name, text, length, &tree);
	return error ? error : config_tree_decode(tree, registry, ret);
}

struct profcol_error *config_load(const struct config_sources *sources,
				  const struct component_registry *registry, struct config **ret)
{
	struct config_tree *tree = NULL;
	struct profcol_error *error;

	error = config_tree_load(sources, &tree);
	return error ? error : config_tree_decode(tree, registry, ret);
}

void config_destroy(struct config *config)
{
	if (config)
		arena_destroy(config->memory);
}
