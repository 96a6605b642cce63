// SPDX-License-Identifier: Apache-2.0
#include "plugins.h"

#include "object.h"
#include "place.h"

#include "config/check.h"
#include "config/id.h"
#include "registry.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>

enum {
	FILES_MAX = 256,      /* of a directory */
	COMPONENTS_MAX = 256, /* of a plugin */
};

struct loaded {
	/* The plugin's, with zeros for what its headers did not know yet. */
	struct profcol_component component;
	const char *path;
	int fd; /* as object_load left it: never closed */
};

struct plugins {
	struct arena *memory;
	VECTOR(const struct profcol_component *) components;
	VECTOR(const struct loaded *) loaded;
	struct component_registry registry;
};

static struct profcol_error *out_of_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

/* ---- one component ---- */

/* Copy the descriptor @component of a plugin that was built for @abi. */
static struct profcol_error *adopt(const struct profcol_component *component,
				   const struct profcol_plugin_abi *abi,
				   struct profcol_component *ret)
{
	struct profcol_component copy = { 0 };

	if (!component)
		return profcol_error_create(PROFCOL_UNSUPPORTED, "one of its components is NULL");
	if (component->abi != abi->abi || component->size != abi->component_size)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "a component says ABI version %u and size %u, its "
					    "plugin %u and %u; set .abi = PROFCOL_ABI, .size = "
					    "sizeof(struct profcol_component)",
					    component->abi, component->size, abi->abi,
					    abi->component_size);
	memcpy(&copy, component, abi->component_size); // note_check: not more than copy has
	copy.size = sizeof(copy);
	if (!copy.type || !id_is_type(copy.type))
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "the type of a component is against the grammar of "
					    "ids");
	if ((unsigned int)copy.kind > PROFCOL_EXTENSION)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "'%s' is of a kind that this program does not know",
					    copy.type);
	*ret = copy;
	return NULL;
}

static struct profcol_error *check_options(const struct profcol_component *component)
{
	const struct component_registry alone = { .components = &component, .count = 1 };

	return config_check_options(&alone);
}

static bool answers_to(const struct profcol_component *component, const char *name)
{
	if (strcmp(component->type, name) == 0)
		return true;
	for (const char *const *alias = component->aliases; alias && *alias; alias++)
		if (strcmp(*alias, name) == 0)
			return true;
	return false;
}

/* A name, type or alias, that both would answer to; NULL without. */
static const char *shared_name(const struct profcol_component *left,
			       const struct profcol_component *right)
{
	if (left->kind != right->kind)
		return NULL;
	if (answers_to(right, left->type))
		return left->type;
	for (const char *const *alias = left->aliases; alias && *alias; alias++)
		if (answers_to(right, *alias))
			return *alias;
	return NULL;
}

static const struct loaded *find_loaded(const struct plugins *plugins, enum profcol_kind kind,
					const char *type)
{
	for (size_t i = 0; i < plugins->loaded.count; i++) {
		const struct loaded *loaded = plugins->loaded.items[i];

		if (loaded->component.kind == kind && strcmp(loaded->component.type, type) == 0)
			return loaded;
	}
	return NULL;
}

static struct profcol_error *check_names(const struct plugins *plugins,
					 const struct profcol_component *component)
{
	for (size_t i = 0; i < plugins->components.count; i++) {
		const struct profcol_component *other = plugins->components.items[i];
		const char *name = shared_name(component, other);
		const struct loaded *loaded;

		if (!name)
			continue;
		loaded = find_loaded(plugins, other->kind, other->type);
		return profcol_error_create(
			PROFCOL_REJECTED, "%s '%s' is there already, %s%s; remove one of them",
			registry_kind_name(component->kind), name, loaded ? "from " : "built in",
			loaded ? loaded->path : "");
	}
	return NULL;
}

static struct profcol_error *add_component(struct plugins *plugins,
					   const struct profcol_component *component,
					   const struct profcol_plugin_abi *abi, const char *path,
					   int fd)
{
	struct loaded *loaded = arena_alloc(plugins->memory, sizeof(*loaded));
	struct profcol_error *error;

	if (!loaded)
		return out_of_memory();
	loaded->path = path;
	loaded->fd = fd;
	error = adopt(component, abi, &loaded->component);
	if (!error)
		error = check_options(&loaded->component);
	if (!error)
		error = check_names(plugins, &loaded->component);
	if (error)
		return error;
	if (!VECTOR_PUSH(&plugins->loaded, loaded) ||
	    !VECTOR_PUSH(&plugins->components, &loaded->component))
		return out_of_memory();
	return NULL;
}

/* ---- files and directories ---- */

static struct profcol_error *load_file(struct plugins *plugins, int directory, const char *name,
				       const char *path)
{
	const struct profcol_plugin *plugin;
	struct profcol_error *error;
	int fd;

	error = place_open_file(directory, name, &fd);
	if (!error)
		error = object_load(fd, &plugin);
	if (error)
		return error;
	if (plugin->count == 0 || plugin->count > COMPONENTS_MAX)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "it has %u components; 1 to %d are possible",
					    plugin->count, COMPONENTS_MAX);
	for (uint32_t i = 0; !error && i < plugin->count; i++)
		error = add_component(plugins, plugin->components[i], &plugin->abi, path, fd);
	return error;
}

static int is_plugin_name(const struct dirent *entry)
{
	static const char suffix[] = ".so";
	size_t length = strlen(entry->d_name), suffix_length = sizeof(suffix) - 1;

	return entry->d_name[0] != '.' && length > suffix_length &&
	       strcmp(entry->d_name + length - suffix_length, suffix) == 0;
}

static int compare_names(const struct dirent **left, const struct dirent **right)
{
	return strcmp((*left)->d_name, (*right)->d_name);
}

static struct profcol_error *load_files(struct plugins *plugins, int directory, const char *path,
					struct dirent **entries, size_t count)
{
	struct profcol_error *error = NULL;

	if (count > FILES_MAX)
		return profcol_error_create(PROFCOL_UNSUPPORTED,
					    "cannot load plugins from '%s': %zu files are there; "
					    "%d are the most",
					    path, count, FILES_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *name = entries[i]->d_name;
		const char *file = arena_printf(plugins->memory, "%s/%s", path, name);
		struct profcol_error *fault;

		if (!file)
			return profcol_error_join(error, out_of_memory());
		fault = load_file(plugins, directory, name, file);
		fault = profcol_error_prefix(fault, "cannot load plugin '%s'", file);
		error = profcol_error_join(error, fault);
	}
	return error;
}

static struct profcol_error *load_directory(struct plugins *plugins, const char *path)
{
	CLEANUP_FD int directory = -1;
	struct dirent **entries;
	struct profcol_error *error;
	int count;

	error = place_open_directory(path, &directory);
	if (error)
		return profcol_error_prefix(error, "cannot load plugins from '%s'", path);
	count = scandirat(directory, ".", &entries, is_plugin_name, compare_names);
	if (count < 0)
		return profcol_error_errno(errno, "cannot load plugins from '%s'", path);
	error = load_files(plugins, directory, path, entries, count);
	for (int i = 0; i < count; i++)
		free(entries[i]);
	free(entries);
	return error;
}

/*
 * With file capabilities, the program has more rights than who starts it. He may have mounted a
 * file system of his own that says that all files are root's, so that no owner and no mode proves
 * anything.
 */
static struct profcol_error *refuse_if_privileged(void)
{
	if (!getauxval(AT_SECURE))
		return NULL;
	return profcol_error_create(PROFCOL_REJECTED,
				    "cannot load plugins into a program that has more rights than "
				    "who starts it; take its file capabilities away (setcap -r) "
				    "and give them to the process (systemd: AmbientCapabilities), "
				    "or start it as root");
}

/* ---- the registry ---- */

static int compare_components(const void *left, const void *right)
{
	const struct profcol_component *a = *(const struct profcol_component *const *)left;
	const struct profcol_component *b = *(const struct profcol_component *const *)right;

	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return strcmp(a->type, b->type);
}

static struct profcol_error *fill(struct plugins *plugins, const struct profcol_list *directories,
				  const struct component_registry *builtin)
{
	struct profcol_error *error = NULL;

	plugins->memory = arena_create(0);
	if (!plugins->memory)
		return out_of_memory();
	for (size_t i = 0; i < builtin->count; i++)
		if (!VECTOR_PUSH(&plugins->components, builtin->components[i]))
			return out_of_memory();
	for (size_t i = 0; i < directories->count; i++)
		error = profcol_error_join(error, load_directory(plugins, directories->items[i]));
	if (plugins->components.count > 0)
		qsort(plugins->components.items, plugins->components.count,
		      sizeof(plugins->components.items[0]), compare_components);
	plugins->registry.components = plugins->components.items;
	plugins->registry.count = plugins->components.count;
	return error;
}

struct profcol_error *plugins_load(const struct profcol_list *directories,
				   const struct component_registry *builtin, struct plugins **ret)
{
	struct plugins *plugins = calloc(1, sizeof(*plugins));
	struct profcol_error *error;

	if (!plugins)
		return out_of_memory();
	error = directories->count ? refuse_if_privileged() : NULL;
	if (!error)
		error = fill(plugins, directories, builtin);
	if (error)
		plugins_destroy(plugins);
	else
		*ret = plugins;
	return error;
}

const struct component_registry *plugins_registry(const struct plugins *plugins)
{
	return &plugins->registry;
}

void plugins_destroy(struct plugins *plugins)
{
	if (!plugins)
		return;
	VECTOR_DEINIT(&plugins->loaded);
	VECTOR_DEINIT(&plugins->components);
	arena_destroy(plugins->memory);
	free(plugins);
}

int plugins_descriptor(const struct plugins *plugins, enum profcol_kind kind, const char *type)
{
	const struct loaded *loaded = plugins ? find_loaded(plugins, kind, type) : NULL;

	return loaded ? loaded->fd : -1;
}

/* ---- in a helper process ---- */

struct profcol_error *plugins_inherit(int fd, enum profcol_kind kind, const char *type,
				      struct profcol_component *ret)
{
	struct profcol_component component;
	CLEANUP_FD int file = fd;
	const struct profcol_plugin *plugin;
	struct profcol_error *error;

	error = refuse_if_privileged();
	if (!error)
		error = place_check_file(file);
	if (!error)
		error = object_load(TAKE_FD(file), &plugin);
	for (uint32_t i = 0; !error && i < plugin->count && i < COMPONENTS_MAX; i++) {
		error = adopt(plugin->components[i], &plugin->abi, &component);
		if (!error && component.kind == kind && strcmp(component.type, type) == 0) {
			*ret = component;
			return NULL;
		}
	}
	return error ? error
		     : profcol_error_create(PROFCOL_UNSUPPORTED, "the plugin has no %s '%s'",
					    registry_kind_name(kind), type);
}
