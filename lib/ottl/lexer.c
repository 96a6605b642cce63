// SPDX-License-Identifier: Apache-2.0
#include "lexer.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SHOWN_MAX = 40 }; /* bytes of the text that an error quotes */

struct lexer {
	const char *at;
	struct place place;
};

struct profcol_error *place_error(struct place place, const char *format, ...)
{
	char text[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return profcol_error_create(PROFCOL_CONFIG, "%u:%u: %s", place.line, place.column, text);
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool begins_name(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static void lexer_advance(struct lexer *lexer, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++, lexer->at++) {
		if (*lexer->at == '\n') {
			lexer->place.line++;
			lexer->place.column = 1;
		} else if (((unsigned char)*lexer->at & 0xc0) != 0x80) {
			lexer->place.column++;
		}
	}
}

/* ---- how long the token at @at is ---- */

static size_t digits_length(const char *at)
{
	size_t length = 0;

	while (is_digit(at[length]))
		length++;
	return length;
}

static size_t exponent_length(const char *at)
{
	size_t sign, digits;

	if (*at != 'e' && *at != 'E')
		return 0;
	sign = at[1] == '+' || at[1] == '-';
	digits = digits_length(at + 1 + sign);
	return digits ? 1 + sign + digits : 0;
}

/* Of a number; 0 when there is none. */
static size_t number_length(const char *at, enum token_kind *kind)
{
	size_t length = digits_length(at);

	if (at[0] == '0' && at[1] == 'x' && strings_hex_digit(at[2]) >= 0) {
		*kind = TOKEN_BYTES;
		for (length = 2; strings_hex_digit(at[length]) >= 0;)
			length++;
		return length;
	}
	if (at[length] == '.' && (length || is_digit(at[1]))) {
		*kind = TOKEN_FLOAT;
		length += 1 + digits_length(at + length + 1);
		return length + exponent_length(at + length);
	}
	*kind = TOKEN_INT;
	return length;
}

/* Of a string with both quotes; 0 when it does not end. */
static size_t string_length(const char *at)
{
	for (size_t length = 1; at[length]; length++) {
		if (at[length] == '"')
			return length + 1;
		if (at[length] == '\\' && !at[++length])
			break;
	}
	return 0;
}

static size_t name_length(const char *at, enum token_kind *kind)
{
	static const struct {
		const char *word;
		enum token_kind kind;
	} keywords[] = {
		{ "nil", TOKEN_NIL }, { "not", TOKEN_NOT },   { "or", TOKEN_OR },
		{ "and", TOKEN_AND }, { "true", TOKEN_TRUE }, { "false", TOKEN_FALSE },
	};
	size_t length = 0;

	while (begins_name(at[length]) || is_digit(at[length]))
		length++;
	*kind = TOKEN_NAME;
	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++)
		if (strlen(keywords[i].word) == length && !memcmp(keywords[i].word, at, length))
			*kind = keywords[i].kind;
	return length;
}

static size_t sign_length(const char *at, enum token_kind *kind)
{
	static const struct {
		const char *sign;
		enum token_kind kind;
	} signs[] = {
		// Longer ones first.
		{ "==", TOKEN_EQUAL },
		{ "!=", TOKEN_NOT_EQUAL },
		{ ">=", TOKEN_GREATER_EQUAL },
		{ "<=", TOKEN_LESS_EQUAL },
		{ "=>", TOKEN_ARROW },
		{ ">", TOKEN_GREATER },
		{ "<", TOKEN_LESS },
		{ "+", TOKEN_PLUS },
		{ "-", TOKEN_MINUS },
		{ "/", TOKEN_SLASH },
		{ "*", TOKEN_STAR },
		{ "=", TOKEN_ASSIGN },
		{ "(", TOKEN_LEFT_PAREN },
		{ ")", TOKEN_RIGHT_PAREN },
		{ "{", TOKEN_LEFT_BRACE },
		{ "}", TOKEN_RIGHT_BRACE },
		{ ":", TOKEN_COLON },
		{ ",", TOKEN_COMMA },
		{ ".", TOKEN_DOT },
		{ "[", TOKEN_LEFT_BRACKET },
		{ "]", TOKEN_RIGHT_BRACKET },
	};

	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		size_t length = strlen(signs[i].sign);

		if (!strncmp(signs[i].sign, at, length)) {
			*kind = signs[i].kind;
			return length;
		}
	}
	return 0;
}

/* What is no token: a whole character of it. */
static struct profcol_error *lexer_refuse(const struct lexer *lexer)
{
	char c = *lexer->at;
	int length = 1;

	if (c == '"')
		return place_error(lexer->place, "the string does not end; close it with \"");
	if (c == '\'')
		return place_error(lexer->place, "invalid input text \"'\"; strings are written "
						 "in double quotes");
	while (((unsigned char)lexer->at[length] & 0xc0) == 0x80 && length < 4)
		length++;
	return place_error(lexer->place, "invalid input text \"%.*s\"", length, lexer->at);
}

static struct profcol_error *lexer_next(struct lexer *lexer, struct token *token)
{
	char c;

	while (is_space(*lexer->at))
		lexer_advance(lexer, 1);
	c = *lexer->at;
	*token = (struct token){ .place = lexer->place, .begin = lexer->at };
	if (!c)
		return NULL;
	if (is_digit(c) || (c == '.' && is_digit(lexer->at[1]))) {
		token->length = number_length(lexer->at, &token->kind);
	} else if (c == '"') {
		token->kind = TOKEN_STRING;
		token->length = string_length(lexer->at);
	} else if (begins_name(c)) {
		token->length = name_length(lexer->at, &token->kind);
	} else {
		token->length = sign_length(lexer->at, &token->kind);
	}
	if (!token->length)
		return lexer_refuse(lexer);
	lexer_advance(lexer, token->length);
	return NULL;
}

struct profcol_error *lexer_read(struct arena *arena, const char *text, struct token **ret)
{
	struct lexer lexer = { .at = text, .place = { 1, 1 } };
	struct token *tokens = arena_alloc(arena, (strlen(text) + 1) * sizeof(*tokens));
	size_t count = 0;

	if (!tokens)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a condition");
	do {
		struct profcol_error *error = lexer_next(&lexer, &tokens[count]);

		if (error)
			return error;
	} while (tokens[count++].kind != TOKEN_END);
	*ret = tokens;
	return NULL;
}

/* ---- escapes ---- */

/* The number of @digits digits of @base at @at; false when one of them is something else. */
static bool read_code(const char *at, unsigned int digits, int base, uint32_t *ret)
{
	*ret = 0;
	for (unsigned int i = 0; i < digits; i++) {
		int value = strings_hex_digit(at[i]);

		if (value < 0 || value >= base)
			return false;
		*ret = *ret * (uint32_t)base + (uint32_t)value;
	}
	return true;
}

/* The character whose number stands behind a backslash at @at. */
static size_t unescape_code(const char *at, size_t left, char *to, size_t *length)
{
	bool is_octal = is_digit(at[0]);
	unsigned int skip = is_octal ? 0 : 1;
	unsigned int digits = is_octal ? 3 : at[0] == 'x' ? 2 : at[0] == 'u' ? 4 : 8;
	uint32_t code;

	if (skip + digits > left || !read_code(at + skip, digits, is_octal ? 8 : 16, &code))
		return 0;
	if (is_octal && code > 0xff)
		return 0;
	// \xff is the character U+00FF, not a byte, in the Collector.
	*length = strings_encode_utf8(code, to);
	return *length ? skip + digits : 0;
}

/* What stands behind a backslash, of @left bytes. Returns how many of them it takes, 0 if wrong. */
static size_t unescape(const char *at, size_t left, char *to, size_t *length)
{
	static const char names[] = "abfnrtv\\\"", values[] = "\a\b\f\n\r\t\v\\\"";
	const char *name = strchr(names, at[0]);

	if (name && *name) {
		to[0] = values[name - names];
		*length = 1;
		return 1;
	}
	if (at[0] == 'x' || at[0] == 'u' || at[0] == 'U' || is_digit(at[0]))
		return unescape_code(at, left, to, length);
	return 0;
}

static struct place place_in(const struct token *token, const char *at)
{
	struct lexer lexer = { .at = token->begin, .place = token->place };

	lexer_advance(&lexer, (size_t)(at - token->begin));
	return lexer.place;
}

struct profcol_error *lexer_unquote(struct arena *arena, const struct token *token,
				    const char **bytes_ret, size_t *length_ret)
{
	const char *at = token->begin + 1, *end = token->begin + token->length - 1;
	char *to = arena_alloc(arena, token->length);
	size_t written = 0;

	if (!to)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a condition");
	while (at < end) {
		size_t length, taken;

		if (*at != '\\') {
			to[written++] = *at++;
			continue;
		}
		// No escape says more bytes than it takes.
		taken = unescape(at + 1, (size_t)(end - at - 1), to + written, &length);
		if (!taken)
			return place_error(place_in(token, at),
					   "invalid escape in the string \"%.*s\": a backslash "
					   "is written \\\\",
					   token->length - 2 > SHOWN_MAX ? SHOWN_MAX
									 : (int)token->length - 2,
					   token->begin + 1);
		written += length;
		at += 1 + taken;
	}
	*bytes_ret = to;
	*length_ret = written;
	return NULL;
}
