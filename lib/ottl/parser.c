// SPDX-License-Identifier: Apache-2.0
/*
 * The grammar is the Collector's (pkg/ottl/grammar.go). Where that one tries one alternative after
 * the other, this one reads an expression first and asks then what it may be used for: time
 * is linear whatever the parentheses.
 */
#include "parser.h"

#include "parse_state.h"

#include <string.h>

/* What is in parentheses: arithmetic or a condition, but no bare string or the like. */
static struct node *parse_parentheses(struct parser *parser)
{
	struct node *inner;

	parser->at++;
	if (!parse_enter(parser))
		return NULL;
	inner = parse_any(parser);
	parse_leave(parser);
	if (!inner)
		return NULL;
	if (!(inner->roles & (ROLE_NUMBER | ROLE_BOOLEAN)))
		return parse_fail_token(parser, parser->at, "a comparison: ==, !=, <, <=, > or >=");
	if (!(inner->roles & ROLE_NUMBER))
		inner->roles &= ~(unsigned int)ROLE_VALUE;
	return parse_expect(parser, TOKEN_RIGHT_PAREN, "\")\"") ? inner : NULL;
}

static struct node *parse_primary(struct parser *parser)
{
	if (parser->error)
		return NULL;
	return parser->at->kind == TOKEN_LEFT_PAREN ? parse_parentheses(parser)
						    : parse_value(parser);
}

static struct node *negate(struct parser *parser, struct node *operand, const struct token *sign)
{
	if (operand->kind == NODE_LITERAL && operand->literal.type == VALUE_DOUBLE) {
		operand->literal.real = -operand->literal.real;
		return operand;
	}
	if (operand->kind == NODE_LITERAL) {
		operand->literal.integer = -operand->literal.integer;
		return operand;
	}
	return parse_node_over(parser, NODE_NEGATION, ROLE_VALUE | ROLE_NUMBER, sign, operand);
}

static struct node *parse_unary(struct parser *parser)
{
	const struct token *sign = parser->at;
	struct node *operand;

	if (parser->error || (sign->kind != TOKEN_PLUS && sign->kind != TOKEN_MINUS))
		return parse_primary(parser);
	parser->at++;
	operand = parse_primary(parser);
	if (!operand)
		return NULL;
	if (!(operand->roles & ROLE_NUMBER))
		return parse_fail_token(parser, sign + 1, "a number");
	if (sign->kind == TOKEN_MINUS)
		return negate(parser, operand, sign);
	operand->roles &= ~(unsigned int)ROLE_BOOLEAN;
	return operand;
}

/*
 * A chain of operands that @next reads, with @first or @second between them; the first operand
 * itself when it is the only one.
 */
static struct node *parse_chain(struct parser *parser, enum node_kind kind,
				struct node *(*next)(struct parser *), enum token_kind first,
				enum token_kind second)
{
	const struct token *begin = parser->at;
	struct node *chain, *operand = next(parser);
	struct node_list operands = { 0 };
	VECTOR(char) operators = { 0 };
	char *copy;

	if (!operand || (parser->at->kind != first && parser->at->kind != second))
		return operand;
	if (!(operand->roles & ROLE_NUMBER))
		return parse_fail_token(parser, parser->at, "a comparison, or the end");
	chain = parse_node(parser, kind, ROLE_VALUE | ROLE_NUMBER, begin);
	if (!VECTOR_PUSH(&operators, ' '))
		parse_fail_memory(parser);
	while (parse_list_add(parser, &operands, operand) &&
	       (parser->at->kind == first || parser->at->kind == second)) {
		if (!VECTOR_PUSH(&operators, *parser->at->begin))
			parse_fail_memory(parser);
		begin = ++parser->at;
		operand = next(parser);
		if (operand && !(operand->roles & ROLE_NUMBER))
			operand = parse_fail_token(parser, begin, "a number");
	}
	copy = parser->error ? NULL
			     : arena_strndup(parser->arena, operators.items, operators.count);
	VECTOR_DEINIT(&operators);
	if (chain)
		chain->children = parse_list_take(parser, &operands, &chain->child_count);
	VECTOR_DEINIT(&operands);
	if (!copy)
		return parser->error ? NULL : parse_fail_memory(parser);
	chain->operators = copy;
	return chain;
}

static struct node *parse_product(struct parser *parser)
{
	return parse_chain(parser, NODE_PRODUCT, parse_unary, TOKEN_STAR, TOKEN_SLASH);
}

struct node *parse_sum(struct parser *parser)
{
	return parse_chain(parser, NODE_SUM, parse_product, TOKEN_PLUS, TOKEN_MINUS);
}

static bool is_comparison(enum token_kind kind, enum compare_operator *ret)
{
	static const enum compare_operator operators[] = {
		[TOKEN_EQUAL] = COMPARE_EQUAL,     [TOKEN_NOT_EQUAL] = COMPARE_NOT_EQUAL,
		[TOKEN_LESS] = COMPARE_LESS,       [TOKEN_LESS_EQUAL] = COMPARE_LESS_EQUAL,
		[TOKEN_GREATER] = COMPARE_GREATER, [TOKEN_GREATER_EQUAL] = COMPARE_GREATER_EQUAL,
	};

	if (kind < TOKEN_EQUAL || kind > TOKEN_GREATER_EQUAL)
		return false;
	*ret = operators[kind];
	return true;
}

static struct node *parse_comparison(struct parser *parser)
{
	const struct token *begin = parser->at;
	struct node *comparison, *left = parse_sum(parser), *right;
	enum compare_operator compare;

	if (!left || !is_comparison(parser->at->kind, &compare))
		return left;
	if (!(left->roles & ROLE_VALUE))
		return parse_fail_token(parser, parser->at, "\"and\", \"or\" or the end");
	comparison = parse_node(parser, NODE_COMPARISON, ROLE_BOOLEAN, begin);
	begin = ++parser->at;
	right = comparison ? parse_sum(parser) : NULL;
	if (!right)
		return NULL;
	if (!(right->roles & ROLE_VALUE))
		return parse_fail_token(parser, begin, "a value to compare with");
	comparison->compare = compare;
	comparison->children = arena_alloc(parser->arena, 2 * sizeof(struct node *));
	if (!comparison->children)
		return parse_fail_memory(parser);
	comparison->children[0] = left;
	comparison->children[1] = right;
	comparison->child_count = 2;
	return comparison;
}

/* A value where a condition has to be. */
static struct node *require_condition(struct parser *parser, struct node *node)
{
	if (node && !(node->roles & ROLE_BOOLEAN))
		return parse_fail_token(parser, parser->at, "a comparison: ==, !=, <, <=, > or >=");
	return node;
}

static struct node *parse_not(struct parser *parser)
{
	const struct token *begin = parser->at;
	struct node *operand;

	if (!parse_accept(parser, TOKEN_NOT))
		return parse_comparison(parser);
	operand = require_condition(parser, parse_comparison(parser));
	return operand ? parse_node_over(parser, NODE_NOT, ROLE_BOOLEAN, begin, operand) : NULL;
}

/* Conditions that @next reads with @between between them; the first one itself when alone. */
static struct node *parse_conditions(struct parser *parser, enum node_kind kind,
				     struct node *(*next)(struct parser *), enum token_kind between)
{
	const struct token *begin = parser->at;
	struct node *node = next(parser), *all;
	struct node_list operands = { 0 };

	if (!node || parser->at->kind != between)
		return node;
	all = parse_node(parser, kind, ROLE_BOOLEAN, begin);
	while (parse_list_add(parser, &operands, require_condition(parser, node)) &&
	       parse_accept(parser, between))
		node = next(parser);
	if (all)
		all->children = parse_list_take(parser, &operands, &all->child_count);
	VECTOR_DEINIT(&operands);
	return parser->error ? NULL : all;
}

static struct node *parse_and(struct parser *parser)
{
	return parse_conditions(parser, NODE_AND, parse_not, TOKEN_AND);
}

struct node *parse_any(struct parser *parser)
{
	return parse_conditions(parser, NODE_OR, parse_and, TOKEN_OR);
}

struct profcol_error *parser_read(struct arena *arena, const char *text, struct node **ret)
{
	struct parser parser = { .arena = arena };
	struct token *tokens;
	struct profcol_error *error = lexer_read(arena, text, &tokens);
	struct node *root;

	if (error)
		return error;
	parser.at = tokens;
	root = require_condition(&parser, parse_any(&parser));
	if (root)
		parse_expect(&parser, TOKEN_END, "\"and\", \"or\" or the end");
	*ret = root;
	return parser.error;
}

static struct node *parse_where(struct parser *parser)
{
	static const char where[] = "where";

	if (parser->at->kind != TOKEN_NAME || parser->at->length != strlen(where) ||
	    memcmp(parser->at->begin, where, strlen(where)) != 0)
		return parse_fail_token(parser, parser->at, "\"where\" or the end");
	parser->at++;
	return require_condition(parser, parse_any(parser));
}

struct profcol_error *parser_read_statement(struct arena *arena, const char *text,
					    struct node **editor_ret, struct node **where_ret)
{
	struct parser parser = { .arena = arena };
	struct token *tokens;
	struct profcol_error *error = lexer_read(arena, text, &tokens);

	if (error)
		return error;
	parser.at = tokens;
	*editor_ret = parse_editor(&parser);
	*where_ret = NULL;
	if (!parser.error && parser.at->kind != TOKEN_END)
		*where_ret = parse_where(&parser);
	if (!parser.error)
		parse_expect(&parser, TOKEN_END, "\"and\", \"or\" or the end");
	return parser.error;
}
