// SPDX-License-Identifier: Apache-2.0
#include "condition.h"
#include "parser.h"
#include "resolve.h"

#include <string.h>

/* A node takes some 200 bytes, and a condition has at most as many as bytes. */
enum { ARENA_MAX_BYTES = 16 << 20 };

struct profcol_error *condition_open(struct ottl_condition *condition, const char *text)
{
	const char *what = condition->is_editing ? "statement" : "condition";

	condition->arena = arena_create(ARENA_MAX_BYTES);
	if (condition->arena && strlen(text) > OTTL_MAX_TEXT)
		return profcol_error_create(PROFCOL_CONFIG,
					    "1:1: a %s of %zu bytes is longer than %d; split it",
					    what, strlen(text), OTTL_MAX_TEXT);
	condition->text = condition->arena ? arena_strdup(condition->arena, text) : NULL;
	if (!condition->text)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a %s", what);
	return NULL;
}

void condition_close(struct ottl_condition *condition)
{
	for (size_t i = 0; i < condition->patterns.count; i++)
		ottl_pattern_destroy(condition->patterns.items[i]);
	VECTOR_DEINIT(&condition->patterns);
	arena_destroy(condition->arena);
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

/* Parsed, and no more. */
static struct profcol_error *condition_parse(const char *text, struct ottl_condition **ret)
{
	struct ottl_condition *condition = calloc(1, sizeof(*condition));
	struct profcol_error *error;

	if (!condition)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a condition");
	error = condition_open(condition, text);
	if (!error)
		error = parser_read(condition->arena, condition->text, &condition->root);
	if (error)
		ottl_condition_destroy(condition);
	else
		*ret = condition;
	return error;
}

/* @context: NULL to infer it. */
static struct profcol_error *condition_create(const enum ottl_context *context, bool needs_owner,
					      bool is_editing, const char *text,
					      struct ottl_condition **ret)
{
	struct ottl_condition *condition = NULL;
	struct profcol_error *error = condition_parse(text, &condition);

	if (error)
		return error;
	condition->is_editing = is_editing;
	if (context)
		condition->context = *context;
	else
		error = condition_infer(condition);
	if (!error)
		error = resolve_condition(condition, needs_owner);
	if (error)
		ottl_condition_destroy(condition);
	else
		*ret = condition;
	return error;
}

struct profcol_error *ottl_compile(enum ottl_context context, const char *text,
				   struct ottl_condition **ret)
{
	return condition_create(&context, false, false, text, ret);
}

struct profcol_error *ottl_compile_inferred(const char *text, struct ottl_condition **ret)
{
	return condition_create(NULL, true, false, text, ret);
}

struct profcol_error *ottl_compile_editing(enum ottl_context context, bool needs_owner,
					   const char *text, struct ottl_condition **ret)
{
	return condition_create(&context, needs_owner, true, text, ret);
}

struct profcol_error *ottl_condition_infer(const char *text, enum ottl_context *ret)
{
	struct ottl_condition *condition = NULL;
	struct profcol_error *error = condition_parse(text, &condition);

	if (error)
		return error;
	error = condition_infer(condition);
	if (!error)
		*ret = condition->context;
	ottl_condition_destroy(condition);
	return error;
}

void ottl_condition_destroy(struct ottl_condition *condition)
{
	if (!condition)
		return;
	condition_close(condition);
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
