/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The words of a condition, as the Collector's grammar cuts them: pkg/ottl/grammar.go of
 * opentelemetry-collector-contrib 0.159.
 */
#pragma once

#include "base/base.h"

#include <profcol/errors.h>

#include <stddef.h>
#include <stdint.h>

/* Both from 1; the column in characters. */
struct place {
	uint32_t line, column;
};

enum token_kind {
	TOKEN_END,
	TOKEN_BYTES, /* 0x1f */
	TOKEN_FLOAT,
	TOKEN_INT,
	TOKEN_STRING, /* with its quotes */
	TOKEN_NAME,   /* of a path, a function or an enum */
	TOKEN_NIL,
	TOKEN_NOT,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_TRUE,
	TOKEN_FALSE,
	TOKEN_EQUAL, /* == */
	TOKEN_NOT_EQUAL,
	TOKEN_LESS,
	TOKEN_LESS_EQUAL,
	TOKEN_GREATER,
	TOKEN_GREATER_EQUAL,
	TOKEN_ARROW, /* of a lambda expression, which no condition here can use */
	TOKEN_ASSIGN,
	TOKEN_PLUS,
	TOKEN_MINUS,
	TOKEN_STAR,
	TOKEN_SLASH,
	TOKEN_LEFT_PAREN,
	TOKEN_RIGHT_PAREN,
	TOKEN_LEFT_BRACKET,
	TOKEN_RIGHT_BRACKET,
	TOKEN_LEFT_BRACE,
	TOKEN_RIGHT_BRACE,
	TOKEN_COLON,
	TOKEN_COMMA,
	TOKEN_DOT,
};

struct token {
	enum token_kind kind;
	struct place place;
	const char *begin; /* in the text */
	size_t length;
};

/* CONFIG with "LINE:COLUMN: " and the formatted text. */
struct profcol_error *place_error(struct place place, const char *format, ...)
	__attribute__((format(printf, 2, 3), returns_nonnull, warn_unused_result));

/*
 * All tokens of @text, NUL-terminated, of which the last is TOKEN_END. They are @arena's and
 * borrow @text.
 */
PROFCOL_MUST_CHECK struct profcol_error *lexer_read(struct arena *arena, const char *text,
						    struct token **ret);

/*
 * What the string literal @token says, without quotes and escapes (those of Go). *@bytes_ret is
 * @arena's, followed by a NUL.
 */
PROFCOL_MUST_CHECK struct profcol_error *lexer_unquote(struct arena *arena,
						       const struct token *token,
						       const char **bytes_ret, size_t *length_ret);
