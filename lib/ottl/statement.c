// SPDX-License-Identifier: Apache-2.0
#include "condition.h"
#include "parser.h"
#include "resolve.h"

#include "path_write.h"

#include <string.h>

/* ---- making ---- */

static struct profcol_error *statement_parse(struct ottl_statement *statement, const char *text)
{
	struct ottl_condition *program = &statement->program;
	struct profcol_error *error = condition_open(program, text);

	return error ? error
		     : parser_read_statement(program->arena, program->text, &program->editor,
					     &program->root);
}

/* Parsed, and no more. */
static struct profcol_error *statement_open(const char *text, struct ottl_statement **ret)
{
	struct ottl_statement *statement = calloc(1, sizeof(*statement));
	struct profcol_error *error;

	if (!statement)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a statement");
	statement->program.is_editing = true;
	error = statement_parse(statement, text);
	if (error)
		ottl_statement_destroy(statement);
	else
		*ret = statement;
	return error;
}

struct profcol_error *ottl_statement_compile(enum ottl_context context, bool needs_owner,
					     const char *text, struct ottl_statement **ret)
{
	struct ottl_statement *statement = NULL;
	struct profcol_error *error = statement_open(text, &statement);

	if (error)
		return error;
	statement->program.context = context;
	error = resolve_statement(&statement->program, needs_owner);
	if (error)
		ottl_statement_destroy(statement);
	else
		*ret = statement;
	return error;
}

void ottl_statement_destroy(struct ottl_statement *statement)
{
	if (!statement)
		return;
	condition_close(&statement->program);
	free(statement);
}

const char *ottl_statement_text(const struct ottl_statement *statement)
{
	return statement->program.text;
}

/* ---- the context ---- */

/* The path that the editor changes decides where it is of the dictionary. */
static bool infer_context(const struct ottl_condition *program, enum ottl_context *ret,
			  enum ottl_context *target_ret)
{
	const struct node *editor = program->editor;
	const struct node *target = editor->child_count ? editor->children[0] : NULL;
	enum ottl_context where;
	bool found = resolve_context(editor, ret);

	if (program->root && resolve_context(program->root, &where)) {
		*ret = found && *ret > where ? *ret : where;
		found = true;
	}
	if (found)
		*target_ret = *ret;
	if (!target || target->kind != NODE_PATH)
		return found;
	if (path_is_of(target, OTTL_FRAME) || path_is_of(target, OTTL_MAPPING))
		*ret = *target_ret = path_is_of(target, OTTL_FRAME) ? OTTL_FRAME : OTTL_MAPPING;
	else
		path_context(target, target_ret);
	return found;
}

struct profcol_error *ottl_statement_infer(const char *text, enum ottl_context *ret,
					   enum ottl_context *target_ret)
{
	struct ottl_statement *statement = NULL;
	struct profcol_error *error = statement_open(text, &statement);

	if (error)
		return error;
	if (!infer_context(&statement->program, ret, target_ret))
		error = profcol_error_create(
			PROFCOL_CONFIG,
			"1:1: unable to infer context from the statement: a path's first segment "
			"must be a valid context name: resource, scope, profile, profilesample (or "
			"sample), frame, mapping");
	ottl_statement_destroy(statement);
	return error;
}

/* ---- what it depends on ---- */

static unsigned int parts_of(unsigned int reads)
{
	unsigned int parts = 0;

	if (reads & (READS_RESOURCE | READS_SCOPE | READS_PROFILE))
		parts |= OTTL_PART_PARENTS;
	if (reads & READS_SAMPLE)
		parts |= OTTL_PART_SAMPLE;
	if (reads & READS_SAMPLE_ATTRIBUTES)
		parts |= OTTL_PART_SAMPLE_ATTRIBUTES;
	if (reads & READS_STACK)
		parts |= OTTL_PART_STACK;
	if (reads & READS_FUNCTION)
		parts |= OTTL_PART_FUNCTION;
	if (reads & READS_LOCATION)
		parts |= OTTL_PART_LOCATION;
	if (reads & READS_MAPPING)
		parts |= OTTL_PART_MAPPING;
	return parts;
}

unsigned int ottl_condition_reads(const struct ottl_condition *condition)
{
	return parts_of(condition->root->reads);
}

unsigned int ottl_statement_reads(const struct ottl_statement *statement)
{
	const struct ottl_condition *program = &statement->program;

	return parts_of(program->editor->reads | (program->root ? program->root->reads : 0));
}

unsigned int ottl_statement_writes(const struct ottl_statement *statement)
{
	return parts_of(statement->program.editor->children[0]->writer->writes);
}
