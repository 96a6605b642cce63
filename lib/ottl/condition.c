// SPDX-License-Identifier: Apache-2.0
#include "parser.h"
#include "resolve.h"

#include <string.h>

/* A node takes some 200 bytes, and a condition has at most as many as bytes. */
enum { ARENA_MAX_BYTES = 16 << 20 };

static struct profcol_error *condition_parse(struct ottl_condition *condition, const char *text)
{
	if (strlen(text) > OTTL_MAX_TEXT)
		return profcol_error_create(PROFCOL_CONFIG,
					    "1:1: a condition of %zu bytes is longer than %d; "
					    "split it",
					    strlen(text), OTTL_MAX_TEXT);
	condition->text = arena_strdup(condition->arena, text);
	if (!condition->text)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a condition");
	return parser_read(condition->arena, condition->text, &condition->root);
}

static struct profcol_error *condition_infer(struct ottl_condition *condition)
{
	if (resolve_context(condition->root, &condition->context))
		return NULL;
	return profcol_error_create(PROFCOL_CONFIG,
				    "1:1: unable to infer context from the condition: a path's "
				    "first segment must be a valid context name: resource, scope, "
				    "profile, profilesample (or sample), frame, mapping, stack");
}

/* @context: NULL to infer it. */
static struct profcol_error *condition_create(const enum ottl_context *context, const char *text,
					      struct ottl_condition **ret)
{
	struct ottl_condition *condition = calloc(1, sizeof(*condition));
	struct profcol_error *error = NULL;

	if (condition)
		condition->arena = arena_create(ARENA_MAX_BYTES);
	if (!condition || !condition->arena)
		error = profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a condition");
	if (!error)
		error = condition_parse(condition, text);
	if (!error && context)
		condition->context = *context;
	else if (!error)
		error = condition_infer(condition);
	if (!error)
		error = resolve_condition(condition, !context);
	if (error) {
		ottl_condition_destroy(condition);
		return error;
	}
	*ret = condition;
	return NULL;
}

struct profcol_error *ottl_compile(enum ottl_context context, const char *text,
				   struct ottl_condition **ret)
{
	return condition_create(&context, text, ret);
}

struct profcol_error *ottl_compile_inferred(const char *text, struct ottl_condition **ret)
{
	return condition_create(NULL, text, ret);
}

void ottl_condition_destroy(struct ottl_condition *condition)
{
	if (!condition)
		return;
	for (size_t i = 0; i < condition->patterns.count; i++)
		ottl_pattern_destroy(condition->patterns.items[i]);
	VECTOR_DEINIT(&condition->patterns);
	arena_destroy(condition->arena);
	free(condition);
}

enum ottl_context ottl_condition_context(const struct ottl_condition *condition)
{
	return condition->context;
}

const char *ottl_condition_text(const struct ottl_condition *condition)
{
	return condition->text;
}
