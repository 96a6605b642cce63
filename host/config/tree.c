// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include "decode_text.h"
#include "expand.h"
#include "loading.h"

#include "base/base.h"

#include <string.h>

static struct config_tree *tree_create(bool reads_files)
{
	struct arena *memory = arena_create(LOADING_MEMORY_MAX);
	struct config_tree *tree = memory ? arena_alloc(memory, sizeof(*tree)) : NULL;

	if (!tree) {
		arena_destroy(memory);
		return NULL;
	}
	tree->memory = memory;
	problems_init(&tree->problems, memory);
	tree->source = (struct yaml_source){ .memory = memory, .problems = &tree->problems };
	tree->retriever = (struct retriever){ .memory = memory, .reads_files = reads_files };
	return tree;
}

void tree_release(struct config_tree *tree)
{
	VECTOR_DEINIT(&tree->parts);
	problems_deinit(&tree->problems);
	retriever_deinit(&tree->retriever);
}

void config_tree_destroy(struct config_tree *tree)
{
	if (!tree)
		return;
	tree_release(tree);
	arena_destroy(tree->memory);
}

/* Merged is what there is. Problems of the values wait for those of decoding. */
static struct profcol_error *finish(struct config_tree *tree, struct config_tree **ret)
{
	struct profcol_error *error = NULL;

	if (!tree->root || tree->problems.no_memory)
		error = problems_error(&tree->problems);
	if (!tree->root && !error)
		error = profcol_error_create(PROFCOL_CONFIG,
					     "at least one config flag must be provided; name a "
					     "file with --config");
	if (error) {
		config_tree_destroy(tree);
		return error;
	}
	expand_tree(&tree->source, &tree->retriever, tree->root);
	*ret = tree;
	return NULL;
}

static struct profcol_error *without_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "configuration: out of memory");
}

struct profcol_error *config_tree_load(const struct config_sources *sources,
				       struct config_tree **ret)
{
	struct config_tree *tree = tree_create(!sources->without_files);

	if (!tree)
		return without_memory();
	tree->looks_at_paths = sources->looks_at_paths;
	tree->retriever.note_file = sources->note_file;
	tree->retriever.context = sources->context;
	sources_read(tree, sources);
	// What could not be read or is no YAML may hold anything: nothing more can be said.
	if (tree->incomplete) {
		struct profcol_error *error = problems_error(&tree->problems);

		config_tree_destroy(tree);
		return error;
	}
	return finish(tree, ret);
}

struct profcol_error *config_tree_parse(const char *name, const char *text, size_t length,
					struct config_tree **ret)
{
	struct config_tree *tree = tree_create(false);

	if (!tree)
		return without_memory();
	sources_read_text(tree, name, text, length);
	return finish(tree, ret);
}

static bool is_text(const struct yaml_node *node)
{
	return node->kind == YAML_SCALAR && !node->broken &&
	       (node->scalar.type == SCALAR_STRING || node->from_variable);
}

static const struct yaml_node *find_plugins(const struct config_tree *tree)
{
	const struct yaml_node *service = NULL;

	if (tree->root->kind == YAML_MAP)
		service = yaml_map_find(tree->root, "service");
	return service && service->kind == YAML_MAP ? yaml_map_find(service, "plugins") : NULL;
}

void config_tree_refuse_plugins(struct config_tree *tree, const struct profcol_error *error)
{
	const struct yaml_node *list = find_plugins(tree);
	struct path service = { .key = "service" };
	struct path path = { .parent = &service, .key = "plugins" };

	tree->without_plugins = true;
	if (profcol_error_code(error) == PROFCOL_NO_MEMORY) {
		tree->problems.no_memory = true;
		return;
	}
	for (const char *line = profcol_error_message(error); *line;) {
		size_t length = strcspn(line, "\n");

		problems_add(&tree->problems, list ? list->place : tree->root->place, &path, "%.*s",
			     (int)length, line);
		line += length + (line[length] == '\n');
	}
}

void config_tree_plugins(struct config_tree *tree, struct profcol_list *ret)
{
	const struct yaml_node *list = find_plugins(tree);
	const char **items;
	size_t count = 0;

	*ret = (struct profcol_list){};
	if (!list)
		return;
	if (is_text(list)) {
		decode_split_list(tree->memory, list->text, ret);
		return;
	}
	items = list->kind == YAML_LIST
			? arena_alloc(tree->memory, (list->count + 1) * sizeof(*items))
			: NULL;
	for (size_t i = 0; items && i < list->count; i++)
		if (is_text(list->items[i]))
			items[count++] = list->items[i]->text;
	if (items)
		*ret = (struct profcol_list){ .items = items, .count = count };
}
