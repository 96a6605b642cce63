// SPDX-License-Identifier: Apache-2.0
#include "parse_state.h"

#include <string.h>

void *parse_fail(struct parser *parser, struct profcol_error *error)
{
	if (parser->error)
		profcol_error_destroy(error);
	else
		parser->error = error;
	return NULL;
}

void *parse_fail_memory(struct parser *parser)
{
	return parse_fail(parser,
			  profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a condition"));
}

void *parse_fail_token(struct parser *parser, const struct token *token, const char *expected)
{
	enum { SHOWN = 60 };
	int length = token->length > SHOWN ? SHOWN : (int)token->length;

	if (token->kind == TOKEN_END)
		return parse_fail(parser, place_error(token->place,
						      "unexpected token \"<EOF>\" (expected %s)",
						      expected));
	return parse_fail(parser,
			  place_error(token->place, "unexpected token \"%.*s\" (expected %s)",
				      length, token->begin, expected));
}

bool parse_expect(struct parser *parser, enum token_kind kind, const char *expected)
{
	if (parser->error)
		return false;
	if (parser->at->kind != kind) {
		parse_fail_token(parser, parser->at, expected);
		return false;
	}
	parser->at++;
	return true;
}

bool parse_accept(struct parser *parser, enum token_kind kind)
{
	if (parser->error || parser->at->kind != kind)
		return false;
	parser->at++;
	return true;
}

/* One more pair of brackets, which parse_leave() closes. */
bool parse_enter(struct parser *parser)
{
	if (parser->depth == OTTL_MAX_DEPTH) {
		parse_fail(parser, place_error(parser->at->place,
					       "nested deeper than %d; split the condition",
					       OTTL_MAX_DEPTH));
		return false;
	}
	parser->depth++;
	return true;
}

void parse_leave(struct parser *parser)
{
	parser->depth--;
}

/* ---- nodes ---- */

struct node *parse_node(struct parser *parser, enum node_kind kind, unsigned int roles,
			const struct token *token)
{
	struct node *node = arena_alloc(parser->arena, sizeof(*node));

	if (!node)
		return parse_fail_memory(parser);
	node->kind = kind;
	node->roles = roles;
	node->place = token->place;
	node->pattern_slot = NO_SLOT;
	node->memo_slot = NO_SLOT;
	node->frame_memo_slot = NO_SLOT;
	return node;
}

bool parse_list_add(struct parser *parser, struct node_list *list, struct node *node)
{
	if (!node)
		return false;
	if (!VECTOR_PUSH(list, node)) {
		parse_fail_memory(parser);
		return false;
	}
	return true;
}

struct node **parse_list_take(struct parser *parser, struct node_list *list, uint32_t *count_ret)
{
	struct node **items = NULL;

	*count_ret = 0;
	if (!parser->error && list->count) {
		items = arena_alloc(parser->arena, list->count * sizeof(*items));
		if (items) {
			memcpy(items, list->items, list->count * sizeof(*items));
			*count_ret = (uint32_t)list->count;
		} else {
			parse_fail_memory(parser);
		}
	}
	VECTOR_DEINIT(list);
	return items;
}

const char *parse_text(struct parser *parser, const struct token *token)
{
	const char *text = arena_strndup(parser->arena, token->begin, token->length);

	return text ? text : parse_fail_memory(parser);
}

struct node *parse_node_over(struct parser *parser, enum node_kind kind, unsigned int roles,
			     const struct token *token, struct node *operand)
{
	struct node *node = parse_node(parser, kind, roles, token);

	if (!node)
		return NULL;
	node->children = arena_alloc(parser->arena, sizeof(struct node *));
	if (!node->children)
		return parse_fail_memory(parser);
	node->children[0] = operand;
	node->child_count = 1;
	return node;
}
