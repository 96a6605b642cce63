// SPDX-License-Identifier: Apache-2.0
/* Literals, paths, calls, enums, lists and maps. */
#include "parse_state.h"

#include "functions.h"

#include <errno.h>
#include <string.h>

static struct node *literal_create(struct parser *parser, unsigned int roles, struct value value)
{
	struct node *node = parse_node(parser, NODE_LITERAL, roles, parser->at);

	if (node) {
		node->literal = value;
		parser->at++;
	}
	return node;
}

static struct node *parse_string(struct parser *parser)
{
	struct profcol_text text;
	struct profcol_error *error =
		lexer_unquote(parser->arena, parser->at, &text.bytes, &text.length);

	if (error)
		return parse_fail(parser, error);
	return literal_create(parser, ROLE_VALUE, value_string(text));
}

static struct node *parse_bytes(struct parser *parser)
{
	const struct token *token = parser->at;
	size_t length = token->length / 2 - 1;
	uint8_t *bytes = arena_alloc(parser->arena, length + 1);

	if (!bytes)
		return parse_fail_memory(parser);
	if (token->length % 2)
		return parse_fail(parser, place_error(token->place,
						      "bytes have two digits each; there is an odd "
						      "number of them"));
	for (size_t i = 0; i < length; i++) {
		char digits[3] = { token->begin[2 * i + 2], token->begin[2 * i + 3] };

		bytes[i] = (uint8_t)strtoul(digits, NULL, 16);
	}
	return literal_create(
		parser, ROLE_VALUE,
		(struct value){ .type = VALUE_BYTES, .text = { (const char *)bytes, length } });
}

static struct node *parse_number(struct parser *parser)
{
	const char *text = parse_text(parser, parser->at);
	struct value value;

	if (!text)
		return NULL;
	errno = 0;
	// A 0 in front means octal, as in the Collector.
	if (parser->at->kind == TOKEN_INT && *text == '0' && strpbrk(text, "89"))
		return parse_fail(parser,
				  place_error(parser->at->place,
					      "number %s begins with 0, so its digits are octal: 8 "
					      "and 9 are none; write it without 0 in front",
					      text));
	if (parser->at->kind == TOKEN_INT)
		value = value_int(strtoll(text, NULL, *text == '0' ? 8 : 10));
	else
		value = value_double(strtod(text, NULL));
	// Too small a number is 0.
	if (errno && (parser->at->kind == TOKEN_INT || value.real > 1))
		return parse_fail(
			parser, place_error(parser->at->place, "number %s is out of range", text));
	return literal_create(parser, ROLE_VALUE | ROLE_NUMBER, value);
}

static struct node *parse_list(struct parser *parser)
{
	struct node *list = parse_node(parser, NODE_LIST, ROLE_VALUE, parser->at++);
	struct node_list items = { 0 };

	if (!list || !parse_enter(parser))
		return NULL;
	if (parser->at->kind != TOKEN_RIGHT_BRACKET)
		while (parse_list_add(parser, &items, parse_sum(parser)) &&
		       parse_accept(parser, TOKEN_COMMA))
			;
	for (size_t i = 0; i < items.count && !parser->error; i++)
		if (!(items.items[i]->roles & ROLE_VALUE))
			parse_fail(parser, place_error(items.items[i]->place,
						       "a list holds values, not conditions"));
	list->children = parse_list_take(parser, &items, &list->child_count);
	parse_leave(parser);
	return parse_expect(parser, TOKEN_RIGHT_BRACKET, "\",\" or \"]\"") ? list : NULL;
}

static struct node *parse_map(struct parser *parser)
{
	struct node *map = parse_node(parser, NODE_MAP, ROLE_VALUE, parser->at++);
	struct node_list items = { 0 };

	if (!map || !parse_enter(parser))
		return NULL;
	while (parser->at->kind == TOKEN_STRING && !parser->error) {
		if (!parse_list_add(parser, &items, parse_string(parser)) ||
		    !parse_expect(parser, TOKEN_COLON, "\":\" and a value") ||
		    !parse_list_add(parser, &items, parse_sum(parser)))
			break;
		if (!(items.items[items.count - 1]->roles & ROLE_VALUE))
			parse_fail(parser, place_error(items.items[items.count - 1]->place,
						       "a map holds values, not conditions"));
		// Commas are optional, as in the Collector's grammar.
		parse_accept(parser, TOKEN_COMMA);
	}
	map->children = parse_list_take(parser, &items, &map->child_count);
	parse_leave(parser);
	return parse_expect(parser, TOKEN_RIGHT_BRACE, "a key in double quotes or \"}\"") ? map
											  : NULL;
}

/* ---- paths, functions and enums ---- */

static struct node *parse_key(struct parser *parser)
{
	const struct token *token = parser->at;
	struct node *key = token->kind == TOKEN_STRING ? parse_string(parser) : parse_sum(parser);

	if (key && token->kind != TOKEN_STRING && !(key->roles & ROLE_NUMBER))
		return parse_fail_token(parser, token, "a key: a string, a number or a path");
	return key;
}

/* Any number of [key]. */
static struct node **parse_keys(struct parser *parser, uint32_t *count_ret)
{
	struct node_list keys = { 0 };

	if (!parse_enter(parser))
		return NULL;
	while (parse_accept(parser, TOKEN_LEFT_BRACKET))
		if (!parse_list_add(parser, &keys, parse_key(parser)) ||
		    !parse_expect(parser, TOKEN_RIGHT_BRACKET, "\"]\""))
			break;
	parse_leave(parser);
	return parse_list_take(parser, &keys, count_ret);
}

static bool parse_segment(struct parser *parser, struct segment *segment)
{
	if (parser->error)
		return false;
	if (parser->at->kind != TOKEN_NAME) {
		parse_fail_token(parser, parser->at, "the next name of the path");
		return false;
	}
	segment->name = parse_text(parser, parser->at++);
	segment->keys = parse_keys(parser, &segment->key_count);
	return !parser->error;
}

static struct node *parse_path(struct parser *parser)
{
	enum { SEGMENTS_MAX = 8 };
	struct node *path = parse_node(parser, NODE_PATH, ROLE_VALUE | ROLE_NUMBER, parser->at);

	if (!path)
		return NULL;
	path->segments = arena_alloc(parser->arena, SEGMENTS_MAX * sizeof(*path->segments));
	if (!path->segments)
		return parse_fail_memory(parser);
	do {
		if (path->segment_count == SEGMENTS_MAX)
			return parse_fail(parser,
					  place_error(path->place, "a path has at most %d names",
						      SEGMENTS_MAX));
		if (!parse_segment(parser, &path->segments[path->segment_count++]))
			return NULL;
	} while (parse_accept(parser, TOKEN_DOT));
	return path;
}

static struct node *parse_argument(struct parser *parser, const char **name_ret)
{
	struct node *argument;

	*name_ret = NULL;
	if (parser->at->kind == TOKEN_NAME && parser->at[1].kind == TOKEN_ASSIGN) {
		*name_ret = parse_text(parser, parser->at);
		parser->at += 2;
	}
	argument = parse_sum(parser);
	if (argument && !(argument->roles & ROLE_VALUE))
		return parse_fail(parser, place_error(argument->place,
						      "an argument is a value, not a condition"));
	return argument;
}

static bool is_capital(char c)
{
	return c >= 'A' && c <= 'Z';
}

static struct node *parse_arguments(struct parser *parser, struct node *call)
{
	struct node_list arguments = { 0 };
	VECTOR(const char *) names = { 0 };
	const char *name;

	if (!parse_enter(parser))
		return NULL;
	if (parser->at->kind != TOKEN_RIGHT_PAREN)
		do {
			if (!parse_list_add(parser, &arguments, parse_argument(parser, &name)))
				break;
			if (!VECTOR_PUSH(&names, name))
				parse_fail_memory(parser);
		} while (parse_accept(parser, TOKEN_COMMA));
	call->children = parse_list_take(parser, &arguments, &call->child_count);
	if (call->child_count) {
		call->argument_names =
			arena_alloc(parser->arena, call->child_count * sizeof(*names.items));
		if (call->argument_names)
			memcpy(call->argument_names, names.items,
			       call->child_count * sizeof(*names.items));
		else
			parse_fail_memory(parser);
	}
	VECTOR_DEINIT(&names);
	parse_leave(parser);
	return parse_expect(parser, TOKEN_RIGHT_PAREN, "\",\" or \")\"") ? call : NULL;
}

/* The Collector has editors of such names, which change things. */
static struct node *fail_lower_case(struct parser *parser, const struct node *call)
{
	const char *nearest = function_nearest(call->name);

	return parse_fail(parser, place_error(call->place,
					      "converter names must start with an uppercase letter "
					      "but got '%.60s'%s%s%s",
					      call->name, nearest ? "; did you mean \"" : "",
					      nearest ? nearest : "", nearest ? "\"?" : ""));
}

/* A name and the arguments behind it. */
static struct node *parse_named_arguments(struct parser *parser)
{
	struct node *call =
		parse_node(parser, NODE_CALL, ROLE_VALUE | ROLE_NUMBER | ROLE_BOOLEAN, parser->at);

	if (!call)
		return NULL;
	call->name = parse_text(parser, parser->at);
	parser->at += 2;
	return call->name && parse_arguments(parser, call) ? call : NULL;
}

struct node *parse_editor(struct parser *parser)
{
	static const char expected[] = "an editor and its arguments: set(...), delete_key(...)";

	if (parser->at->kind != TOKEN_NAME)
		return parse_fail_token(parser, parser->at, expected);
	if (is_capital(parser->at->begin[0]))
		return parse_fail(
			parser, place_error(parser->at->place,
					    "editor names must start with a lowercase "
					    "letter but got '%.*s'",
					    parser->at->length > 60 ? 60 : (int)parser->at->length,
					    parser->at->begin));
	if (parser->at[1].kind != TOKEN_LEFT_PAREN)
		return parse_fail_token(parser, parser->at + 1, expected);
	return parse_named_arguments(parser);
}

static struct node *parse_call(struct parser *parser)
{
	struct node *call = parse_named_arguments(parser);

	if (!call)
		return NULL;
	if (!is_capital(call->name[0]))
		return fail_lower_case(parser, call);
	call->keys = parse_keys(parser, &call->key_count);
	return parser->error ? NULL : call;
}

static struct node *parse_name(struct parser *parser)
{
	struct node *symbol;

	if (parser->at[1].kind == TOKEN_LEFT_PAREN)
		return parse_call(parser);
	if (!is_capital(parser->at->begin[0]))
		return parse_path(parser);
	symbol = parse_node(parser, NODE_ENUM, ROLE_VALUE, parser->at);
	if (symbol)
		symbol->name = parse_text(parser, parser->at++);
	return parser->error ? NULL : symbol;
}

/* ---- all of them ---- */

struct node *parse_value(struct parser *parser)
{
	switch (parser->at->kind) {
	case TOKEN_NIL:
		return literal_create(parser, ROLE_VALUE, (struct value){ 0 });
	case TOKEN_TRUE:
	case TOKEN_FALSE:
		return literal_create(parser, ROLE_VALUE | ROLE_BOOLEAN,
				      value_bool(parser->at->kind == TOKEN_TRUE));
	case TOKEN_STRING:
		return parse_string(parser);
	case TOKEN_BYTES:
		return parse_bytes(parser);
	case TOKEN_INT:
	case TOKEN_FLOAT:
		return parse_number(parser);
	case TOKEN_NAME:
		return parse_name(parser);
	case TOKEN_LEFT_BRACKET:
		return parse_list(parser);
	case TOKEN_LEFT_BRACE:
		return parse_map(parser);
	default:
		return parse_fail_token(parser, parser->at, "a value or a condition");
	}
}
