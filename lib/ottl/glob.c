// SPDX-License-Identifier: Apache-2.0
/* A glob is written anew as a regular expression, which then is matched under its limits. */
#include "glob.h"

#include "base/base.h"

#include <string.h>

enum { ALTERNATIVES_DEPTH_MAX = 32 };

struct translation {
	const char *at, *end, *begin;
	VECTOR(char) regex;
	unsigned int depth; /* of braces */
	bool no_memory;
};

static struct profcol_error *fault(const struct translation *translation, const char *what)
{
	return profcol_error_create(PROFCOL_CONFIG, "error parsing glob: %s at offset %td", what,
				    translation->at - translation->begin);
}

static void put_bytes(struct translation *translation, const char *bytes, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!VECTOR_PUSH(&translation->regex, bytes[i]))
			translation->no_memory = true;
}

static void put(struct translation *translation, const char *text)
{
	put_bytes(translation, text, strlen(text));
}

/* One byte of a text, without the meaning it has in a regular expression. */
static void put_literal(struct translation *translation, char c)
{
	if (c && strchr("\\.+*?()|[]{}^$-", c))
		put(translation, "\\");
	put_bytes(translation, &c, 1);
}

/* The character at hand, which a backslash may stand before; passed. */
static bool take_character(struct translation *translation)
{
	if (translation->at < translation->end && *translation->at == '\\')
		translation->at++;
	if (translation->at == translation->end)
		return false;
	do
		put_literal(translation, *translation->at++);
	while (translation->at < translation->end && (*translation->at & 0xc0) == 0x80);
	return true;
}

/* Behind a '['. */
static struct profcol_error *take_class(struct translation *translation)
{
	size_t characters = 0;

	put(translation, "[");
	if (translation->at < translation->end && *translation->at == '!') {
		put(translation, "^");
		translation->at++;
	}
	while (translation->at < translation->end && *translation->at != ']') {
		if (!take_character(translation))
			break;
		if (++characters > 1 || translation->at == translation->end ||
		    *translation->at != '-')
			continue;
		// A range, and nothing else.
		put(translation, "-");
		translation->at++;
		if (!take_character(translation))
			break;
		if (translation->at == translation->end || *translation->at != ']')
			return fault(translation, "\"]\" is missing behind a range");
	}
	if (translation->at == translation->end)
		return fault(translation, "\"]\" is missing");
	if (!characters)
		return fault(translation, "there is nothing between \"[\" and \"]\"");
	translation->at++;
	put(translation, "]");
	return NULL;
}

static struct profcol_error *take_one(struct translation *translation)
{
	char c = *translation->at;

	if (c == '\\' || !strchr("*?[{},", c)) {
		if (!take_character(translation))
			return fault(translation, "nothing follows \"\\\"");
		return NULL;
	}
	translation->at++;
	switch (c) {
	case '*':
		put(translation, ".*");
		break;
	case '?':
		put(translation, ".");
		break;
	case '[':
		return take_class(translation);
	case '{':
		if (++translation->depth > ALTERNATIVES_DEPTH_MAX)
			return fault(translation, "too many braces inside each other");
		put(translation, "(?:");
		break;
	case '}':
		put(translation, translation->depth ? ")" : "\\}");
		translation->depth -= translation->depth > 0;
		break;
	default:
		put(translation, translation->depth ? "|" : ",");
	}
	return NULL;
}

struct profcol_error *glob_create(const char *text, size_t length, struct ottl_pattern **ret)
{
	struct translation translation = { .at = text, .end = text + length, .begin = text };
	struct profcol_error *error = NULL;

	put(&translation, "^(?s:");
	while (!error && translation.at < translation.end)
		error = *translation.at ? take_one(&translation)
					: fault(&translation, "there is a NUL");
	if (!error && translation.depth)
		error = fault(&translation, "\"}\" is missing");
	put(&translation, ")$");
	if (!error && translation.no_memory)
		error = profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a pattern");
	if (!error)
		error = ottl_pattern_create(translation.regex.items, translation.regex.count, ret);
	VECTOR_DEINIT(&translation.regex);
	return error;
}
