/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the parser share: where it stands, how it fails, how nodes are made. */
#pragma once

#include "tree.h"

struct parser {
	struct arena *arena;
	const struct token *at;
	unsigned int depth;
	struct profcol_error *error; /* the first one; all functions give NULL from then on */
};

struct node_list {
	struct node **items;
	size_t count, capacity;
};

/* Fail with @error (taken), unless something failed before. All of them give NULL. */
void *parse_fail(struct parser *parser, struct profcol_error *error);
void *parse_fail_memory(struct parser *parser);
void *parse_fail_token(struct parser *parser, const struct token *token, const char *expected);

/* Pass a token of @kind; fail when another one is there. */
bool parse_expect(struct parser *parser, enum token_kind kind, const char *expected);

/* Pass a token of @kind if it is there. */
bool parse_accept(struct parser *parser, enum token_kind kind);

/* One more pair of brackets, which parse_leave() closes. Fails when they are too many. */
bool parse_enter(struct parser *parser);
void parse_leave(struct parser *parser);

struct node *parse_node(struct parser *parser, enum node_kind kind, unsigned int roles,
			const struct token *token);

/* A node with @operand alone. */
struct node *parse_node_over(struct parser *parser, enum node_kind kind, unsigned int roles,
			     const struct token *token, struct node *operand);

/* Add @node to @list; false when there is none, or no memory. */
bool parse_list_add(struct parser *parser, struct node_list *list, struct node *node);

/* The items of @list, which is empty then, as an array of the arena. */
struct node **parse_list_take(struct parser *parser, struct node_list *list, uint32_t *count_ret);

/* @token's bytes with a NUL. */
const char *parse_text(struct parser *parser, const struct token *token);

/* ---- parser.c ---- */

/* A condition or a value: what a pair of parentheses may hold. */
struct node *parse_any(struct parser *parser);

/* A value, or what is no condition yet: arithmetic, or one operand. */
struct node *parse_sum(struct parser *parser);

/* ---- parse_value.c ---- */

/* A literal, path, call, enum, list or map at the token there is; NULL with an error. */
struct node *parse_value(struct parser *parser);

/* The call of an editor at the token there is; NULL with an error. */
struct node *parse_editor(struct parser *parser);
