/* SPDX-License-Identifier: Apache-2.0 */
/* Text to tree: the grammar of conditions. Names are taken as they are. */
#pragma once

#include "tree.h"

/*
 * The tree of @text, in @arena. CONFIG with "LINE:COLUMN: " for what the grammar does not have.
 * Borrows @text as long as the tree is used.
 */
PROFCOL_MUST_CHECK struct profcol_error *parser_read(struct arena *arena, const char *text,
						     struct node **ret);

/*
 * As parser_read(), of a statement: an editor's call, and the condition behind `where`, NULL
 * without.
 */
PROFCOL_MUST_CHECK struct profcol_error *parser_read_statement(struct arena *arena,
							       const char *text,
							       struct node **editor_ret,
							       struct node **where_ret);
