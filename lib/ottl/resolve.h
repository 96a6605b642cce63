/* SPDX-License-Identifier: Apache-2.0 */
/* Names to paths and functions, types checked, and what is remembered per entry of which table. */
#pragma once

#include "tree.h"

/*
 * Resolve @condition's tree for its context. With @needs_owner every path has to name its context.
 * CONFIG with "LINE:COLUMN: ".
 */
PROFCOL_MUST_CHECK struct profcol_error *resolve_condition(struct ottl_condition *condition,
							   bool needs_owner);

/* Resolve a statement: its editor, and the condition if it has one. */
PROFCOL_MUST_CHECK struct profcol_error *resolve_statement(struct ottl_condition *program,
							   bool needs_owner);

/* The innermost context that a path below @node names; false when none does. */
bool resolve_context(const struct node *node, enum ottl_context *ret);
