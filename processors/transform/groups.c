// SPDX-License-Identifier: Apache-2.0
#include "groups.h"

#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 256 /* bytes of a statement in a message */ };

/* A group as it is written. */
struct source {
	const struct transform_group_config *config;
	size_t index;
	enum error_mode error_mode;
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

static void group_deinit(struct group *group)
{
	for (size_t i = 0; i < group->conditions.count; i++)
		ottl_condition_destroy(group->conditions.items[i]);
	for (size_t i = 0; i < group->statements.count; i++)
		ottl_statement_destroy(group->statements.items[i]);
	VECTOR_DEINIT(&group->conditions);
	VECTOR_DEINIT(&group->statements);
}

void groups_deinit(struct groups *groups)
{
	for (size_t i = 0; i < groups->items.count; i++)
		group_deinit(&groups->items.items[i]);
	VECTOR_DEINIT(&groups->items);
}

/* ---- messages ---- */

/* @error with the place in the configuration, and the text as one line. */
static struct profcol_error *name_place(struct profcol_error *error, const struct source *source,
					const char *list, size_t index, const char *what,
					const char *text)
{
	char shown[SHOWN_MAX];
	int length = snprintf(shown, sizeof(shown), "%s", text);

	if (length >= SHOWN_MAX)
		memcpy(shown + SHOWN_MAX - sizeof("..."), "...", sizeof("..."));
	for (char *c = shown; *c; c++)
		if (*c == '\n')
			*c = ' ';
	return profcol_error_prefix(error,
				    "profile_statements::%zu::%s::%zu: unable to parse OTTL %s "
				    "\"%s\"",
				    source->index, list, index, what, shown);
}

/* ---- contexts ---- */

static bool is_of_dictionary(enum ottl_context context)
{
	return context == OTTL_FRAME || context == OTTL_MAPPING;
}

/* What the paths of each statement and condition name. */
struct inference {
	enum ottl_context *statements; /* owned */
	enum ottl_context innermost;   /* of those that are not of the dictionary, and conditions */
	bool uses_cache;
	bool changes_outer; /* a statement changes what is outside of its context */
};

static struct profcol_error *infer_conditions(const struct source *source,
					      struct inference *inference)
{
	const struct profcol_list *list = &source->config->conditions;
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < list->count; i++) {
		enum ottl_context context = OTTL_RESOURCE;

		error = profcol_error_join(
			error, name_place(ottl_condition_infer(list->items[i], &context), source,
					  "conditions", i, "condition", list->items[i]));
		if (context > inference->innermost)
			inference->innermost = context;
	}
	return error;
}

static struct profcol_error *infer(const struct source *source, struct inference *inference)
{
	const struct profcol_list *list = &source->config->statements;
	struct profcol_error *error = infer_conditions(source, inference);

	inference->statements = calloc(list->count + 1, sizeof(*inference->statements));
	if (!inference->statements)
		return profcol_error_join(error, no_memory());
	for (size_t i = 0; i < list->count; i++) {
		enum ottl_context *context = &inference->statements[i], target = OTTL_RESOURCE;

		error = profcol_error_join(
			error, name_place(ottl_statement_infer(list->items[i], context, &target),
					  source, "statements", i, "statement", list->items[i]));
		inference->changes_outer |= target != *context;
		if (!is_of_dictionary(*context) && *context > inference->innermost)
			inference->innermost = *context;
		inference->uses_cache |= strstr(list->items[i], "cache") != NULL;
	}
	return error;
}

/* ---- making groups ---- */

static struct profcol_error *add_statement(struct group *group, bool needs_owner,
					   const struct source *source, size_t index)
{
	const char *text = source->config->statements.items[index];
	struct ottl_statement *statement = NULL;
	struct profcol_error *error;

	if (!VECTOR_RESERVE(&group->statements, group->statements.count + 1))
		return no_memory();
	error = ottl_statement_compile(group->context, needs_owner, text, &statement);
	if (error)
		return name_place(error, source, "statements", index, "statement", text);
	group->statements.items[group->statements.count++] = statement;
	group->reads |= ottl_statement_reads(statement);
	group->writes |= ottl_statement_writes(statement);
	return NULL;
}

static struct profcol_error *add_conditions(struct group *group, bool needs_owner,
					    const struct source *source)
{
	const struct profcol_list *list = &source->config->conditions;
	struct profcol_error *error = NULL;

	if (!VECTOR_RESERVE(&group->conditions, list->count))
		return no_memory();
	for (size_t i = 0; i < list->count; i++) {
		struct ottl_condition *condition = NULL;
		struct profcol_error *fault = ottl_compile_editing(group->context, needs_owner,
								   list->items[i], &condition);

		error = profcol_error_join(error, name_place(fault, source, "conditions", i,
							     "condition", list->items[i]));
		if (!condition)
			continue;
		group->conditions.items[group->conditions.count++] = condition;
		group->reads |= ottl_condition_reads(condition);
	}
	return error;
}

/* An empty group of @context, with the conditions; NULL without memory. */
static struct group *open_group(struct groups *groups, enum ottl_context context, bool needs_owner,
				const struct source *source, struct profcol_error **error)
{
	struct group *group;

	if (!VECTOR_PUSH(&groups->items, ((struct group){ .context = context,
							  .error_mode = source->error_mode }))) {
		*error = profcol_error_join(*error, no_memory());
		return NULL;
	}
	group = &groups->items.items[groups->items.count - 1];
	*error = profcol_error_join(*error, add_conditions(group, needs_owner, source));
	return group;
}

/*
 * Statements of one group are carried out row by row, which for those of an outer context is once
 * for each row inside. Where it makes no difference they are carried out by themselves: when
 * nothing is kept in the cache, and none changes what is outside of its own context.
 */
static bool may_be_apart(const struct source *source, const struct inference *inference)
{
	return !inference->uses_cache && !inference->changes_outer &&
	       !source->config->conditions.count;
}

static struct profcol_error *take_inferred(struct groups *groups, const struct source *source)
{
	const struct profcol_list *list = &source->config->statements;
	struct inference inference = { 0 };
	struct profcol_error *error = infer(source, &inference);
	bool are_apart = !error && may_be_apart(source, &inference);
	struct group *group = NULL;

	for (size_t i = 0; !error && i < list->count; i++) {
		enum ottl_context own = inference.statements[i];
		enum ottl_context context =
			are_apart || is_of_dictionary(own) ? own : inference.innermost;

		if (!group || group->context != context)
			group = open_group(groups, context, true, source, &error);
		if (group)
			error = profcol_error_join(error, add_statement(group, true, source, i));
	}
	free(inference.statements);
	return error;
}

static enum ottl_context context_of(int option)
{
	if (option == CONTEXT_PROFILESAMPLE)
		return OTTL_SAMPLE;
	if (option == CONTEXT_INSTRUMENTATION_SCOPE)
		return OTTL_SCOPE;
	return (enum ottl_context)(option - 1);
}

static struct profcol_error *take_group(struct groups *groups, const struct source *source)
{
	const struct transform_group_config *config = source->config;
	struct profcol_error *error = NULL;
	struct group *group;

	if (config->context == CONTEXT_NOT_GIVEN)
		return take_inferred(groups, source);
	group = open_group(groups, context_of(config->context), false, source, &error);
	for (size_t i = 0; group && i < config->statements.count; i++)
		error = profcol_error_join(error, add_statement(group, false, source, i));
	return error;
}

struct profcol_error *groups_init(struct groups *groups, const struct transform_config *config)
{
	const struct transform_group_config *configs = config->profile_statements.items;
	struct profcol_error *error = NULL;

	if (config->flatten_data)
		error = profcol_error_create(
			PROFCOL_CONFIG, "flatten_data: is of logs, which no pipeline here has; "
					"take it away");
	for (size_t i = 0; i < config->profile_statements.count; i++) {
		const struct source source = {
			.config = &configs[i],
			.index = i,
			.error_mode =
				(enum error_mode)(configs[i].error_mode == ERROR_MODE_NOT_GIVEN
							  ? config->error_mode
							  : configs[i].error_mode - 1),
		};

		error = profcol_error_join(error, take_group(groups, &source));
	}
	return error;
}
