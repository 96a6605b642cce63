// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "config/gates.h"
#include "config/problems.h"
#include "plugins/plugins.h"

#include "base/base.h"

static void tree_cleanup(struct config_tree **tree)
{
	config_tree_destroy(*tree);
}

/*
 * What a configuration is decoded with: the components built in, and those of its plugins. When
 * these are refused decoding tells it, together with all other problems.
 */
static void load_plugins(struct loaded *loaded, struct config_tree *tree,
			 const struct component_registry *builtin)
{
	struct profcol_list directories = { 0 };

	config_tree_plugins(tree, &directories);
	loaded->plugins_refused = plugins_load(&directories, builtin, &loaded->plugins);
	if (loaded->plugins_refused)
		config_tree_refuse_plugins(tree, loaded->plugins_refused);
	else
		loaded->registry = plugins_registry(loaded->plugins);
}

/* Decoding would say the same, but what is listed needs none. */
static struct profcol_error *check_gates(const struct config_sources *sources)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	CLEANUP(problems_deinit) struct problems problems;

	problems_init(&problems, memory);
	if (!memory)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	gates_check(&problems, sources->gates, sources->gate_count);
	return problems_error(&problems);
}

struct profcol_error *loaded_init_registry(struct loaded *loaded,
					   const struct config_sources *sources,
					   const struct component_registry *builtin)
{
	CLEANUP(tree_cleanup) struct config_tree *tree = NULL;
	static const char *const nothing[] = { "yaml:{}" };
	struct config_sources alone = *sources;
	struct profcol_error *error;

	alone.uris = nothing;
	alone.uri_count = 1;
	*loaded = (struct loaded){ .registry = builtin };
	error = check_gates(sources);
	if (!error)
		error = config_tree_load(sources->uri_count ? sources : &alone, &tree);
	if (error)
		return error;
	load_plugins(loaded, tree, builtin);
	if (!loaded->plugins_refused)
		return NULL;
	return config_tree_decode(TAKE(tree), builtin, &loaded->config);
}

struct profcol_error *loaded_init(struct loaded *loaded, const struct config_sources *sources,
				  const struct component_registry *builtin)
{
	CLEANUP(tree_cleanup) struct config_tree *tree = NULL;
	struct profcol_error *error;

	*loaded = (struct loaded){ .registry = builtin };
	error = config_tree_load(sources, &tree);
	if (error)
		return error;
	load_plugins(loaded, tree, builtin);
	return config_tree_decode(TAKE(tree), loaded->registry, &loaded->config);
}

void loaded_deinit(struct loaded *loaded)
{
	config_destroy(loaded->config);
	plugins_destroy(loaded->plugins);
	profcol_error_destroy(loaded->plugins_refused);
}
