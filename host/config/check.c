// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "decode.h"
#include "id.h"
#include "loading.h"
#include "problems.h"

#include "base/base.h"
#include "sending/sending.h"

#include <string.h>

enum { NESTING_MAX = 16 };

struct checking {
	struct problems *problems;
	size_t config_size;
};

static const struct place nowhere = { .line = 1, .column = 1 };

/* In lower_snake_case; names of attributes have dots between such words. */
static bool is_key(const char *key)
{
	size_t length = strlen(key);

	return *key >= 'a' && *key <= 'z' && key[length - 1] != '.' && !strstr(key, "..") &&
	       !key[strspn(key, "abcdefghijklmnopqrstuvwxyz0123456789_.")];
}

static bool has_list(const struct profcol_option *table, const char *key)
{
	for (; key && table->key; table++)
		if (table->type == PROFCOL_OPTION_LIST && !strcmp(table->key, key))
			return true;
	return false;
}

static const char *find_fault(const struct profcol_option *option)
{
	if (!is_key(option->key))
		return "the key is not lower_snake_case";
	if ((unsigned int)option->type > PROFCOL_OPTION_ANY)
		return "is of a type that this program does not know";
	if (!option->doc || !*option->doc)
		return "the option has no doc line";
	if (option->required && option->fallback)
		return "a required option has a default";
	if (option->type == PROFCOL_OPTION_ENUM && (!option->names || !option->names[0]))
		return "an enum has no words";
	if (option->type == PROFCOL_OPTION_NESTED && (!option->nested || option->fallback))
		return "a nested option has no table, or a default of its own";
	if (option->type == PROFCOL_OPTION_SECTIONS &&
	    (!option->nested || !option->item_size || option->fallback))
		return "a list of sections has no table or no size, or a default of its own";
	if (option->type == PROFCOL_OPTION_SECTIONS && option->names &&
	    !has_list(option->nested, option->names[0]))
		return "a text in place of a section has no list to be in";
	if (option->type == PROFCOL_OPTION_ANY && option->fallback)
		return "a value of any type has a default";
	if (option->type == PROFCOL_OPTION_INT && option->min > option->max)
		return "the lower bound is above the upper one";
	if (option->type == PROFCOL_OPTION_DOUBLE && option->double_min > option->double_max)
		return "the lower bound is above the upper one";
	if ((option->type == PROFCOL_OPTION_DURATION || option->type == PROFCOL_OPTION_BYTES) &&
	    (option->min < 0 || option->max < 0 || (option->max && option->min > option->max)))
		return "bounds are negative or crossed";
	return NULL;
}

static bool check_table(const struct checking *checking, const struct profcol_option *table,
			size_t offset, unsigned int depth, const struct path *path);

/* The table inside @option, if it has one. */
static bool check_nested(const struct checking *checking, const struct profcol_option *option,
			 size_t offset, unsigned int depth, const struct path *path)
{
	struct checking item = { checking->problems, option->item_size };

	if (option->type == PROFCOL_OPTION_NESTED)
		return check_table(checking, option->nested, offset + option->offset, depth, path);
	if (option->type == PROFCOL_OPTION_SECTIONS)
		return check_table(&item, option->nested, 0, depth, path);
	return true;
}

static bool check_table(const struct checking *checking, const struct profcol_option *table,
			size_t offset, unsigned int depth, const struct path *path)
{
	bool fine = true;

	for (const struct profcol_option *option = table; option && option->key; option++) {
		struct path here = { .parent = path, .key = option->key };
		const char *fault = find_fault(option);

		if (!fault && depth >= NESTING_MAX)
			fault = "tables are nested too deeply";
		if (!fault && offset + option->offset + decode_field_size(option->type) >
				      checking->config_size)
			fault = "the field lies outside of the struct";
		for (const struct profcol_option *other = table; other < option && !fault; other++)
			if (!strcmp(other->key, option->key))
				fault = "the key is there twice";
		if (fault)
			problems_add(checking->problems, nowhere, &here, "%s", fault);
		fine = fine && !fault;
		if (!fault)
			fine = check_nested(checking, option, offset, depth + 1, &here) && fine;
	}
	return fine;
}

static void decode_defaults(const struct checking *checking, const struct profcol_option *table,
			    const struct path *path)
{
	struct decoding decoding = { .memory = checking->problems->memory,
				     .problems = checking->problems,
				     .defaults_only = true };
	void *options = arena_alloc(decoding.memory, checking->config_size);

	if (!options) {
		checking->problems->no_memory = true;
		return;
	}
	decode_options(&decoding, table, NULL, nowhere, path, options);
}

static void check_component(struct problems *problems, const struct profcol_component *component)
{
	struct checking checking = { .problems = problems };
	const struct profcol_option *table;
	struct path section = { .key = components_section(component->kind) };
	struct path path = { .parent = &section, .key = component->type };

	if (component->abi != PROFCOL_ABI || component->size != sizeof(*component))
		problems_add(problems, nowhere, &path, "abi or size is not this program's");
	if (!id_is_type(component->type))
		problems_add(problems, nowhere, &path, "the type is against the grammar of ids");
	for (const char *const *alias = component->aliases; alias && *alias; alias++)
		if (!id_is_type(*alias))
			problems_add(problems, nowhere, &path,
				     "the alias '%s' is against the grammar of ids", *alias);
	if (!component->summary || !*component->summary)
		problems_add(problems, nowhere, &path, "the component has no summary");
	if (!sending_compose(component, problems->memory, &table, &checking.config_size))
		problems->no_memory = true;
	else if (check_table(&checking, table, 0, 0, &path))
		decode_defaults(&checking, table, &path);
}

static void check_all(struct problems *problems, const struct component_registry *registry)
{
	for (size_t i = 0; i < registry->count; i++) {
		const struct profcol_component *component = registry->components[i];

		check_component(problems, component);
		for (size_t j = 0; j < i; j++)
			if (registry->components[j]->kind == component->kind &&
			    !strcmp(registry->components[j]->type, component->type))
				problems_add(problems, nowhere, NULL, "type '%s' is there twice",
					     component->type);
	}
}

struct profcol_error *config_check_options(const struct component_registry *registry)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	struct problems problems;
	struct profcol_error *error;

	if (!memory)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	problems_init(&problems, memory);
	problems_add_source(&problems, "options");
	check_all(&problems, registry);
	error = problems_error(&problems);
	problems_deinit(&problems);
	return error;
}
