// SPDX-License-Identifier: Apache-2.0
/*
 * RE2's syntax (https://github.com/google/re2/wiki/Syntax, as Go's regexp/syntax reads it) in
 * PCRE2's. Every escape, class and group is read and written anew: nothing of PCRE2's own
 * syntax gets through.
 */
#include "pattern.h"

#include "lexer.h"
#include "ottl.h"

#include "base/base.h"

#include <stdio.h>
#include <string.h>

enum { GROUPS_MAX = 200, REPEAT_MAX = 1000, NAME_MAX_BYTES = 32 };

/* What a repetition would repeat. */
enum last { LAST_NOTHING, LAST_ATOM, LAST_REPETITION };

struct translation {
	const char *text;
	size_t length, at;
	unsigned int groups; /* open ones */
	enum last last;
	size_t repetition; /* where the last repetition begins */
	VECTOR(char) out;
	struct profcol_error *error;
};

/* ---- the ends ---- */

static bool refuse(struct translation *pattern, size_t begin, size_t end, const char *message)
{
	enum { SHOWN = 40 };
	size_t length = end - begin;

	if (!pattern->error)
		pattern->error = profcol_error_create(
			PROFCOL_CONFIG, "error parsing regexp: %s: `%.*s` at offset %zu", message,
			(int)(length > SHOWN ? SHOWN : length), pattern->text + begin, begin);
	return false;
}

static void put_bytes(struct translation *pattern, const char *bytes, size_t length)
{
	if (pattern->error || !length)
		return;
	if (!VECTOR_RESERVE(&pattern->out, length)) {
		pattern->error = profcol_error_create(PROFCOL_NO_MEMORY, "no memory for a pattern");
		return;
	}
	memcpy(pattern->out.items + pattern->out.count, bytes, length);
	pattern->out.count += length;
}

static void put(struct translation *pattern, const char *text)
{
	put_bytes(pattern, text, strlen(text));
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A character that means itself, in a class or outside of one. */
static void put_character(struct translation *pattern, uint32_t code)
{
	char text[16];

	if (code < 0x80 && (is_letter((char)code) || is_digit((char)code)))
		snprintf(text, sizeof(text), "%c", (int)code);
	else
		snprintf(text, sizeof(text), "\\x{%x}", code);
	put(pattern, text);
}

/* The byte @ahead of where we are, NUL past the end: no byte of a pattern that means anything. */
static char peek(const struct translation *pattern, size_t ahead)
{
	return pattern->at + ahead < pattern->length ? pattern->text[pattern->at + ahead] : '\0';
}

/* Reads a character; the text is known to be UTF-8. */
static uint32_t take_character(struct translation *pattern)
{
	unsigned char first = (unsigned char)pattern->text[pattern->at];
	size_t length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t code = length == 1 ? first : first & (0xffU >> (length + 1));

	for (size_t i = 1; i < length; i++)
		code = code << 6 | ((unsigned char)peek(pattern, i) & 0x3f);
	pattern->at += length;
	return code;
}

/* ---- escapes of one character ---- */

/* Behind "\x". */
static bool take_hex(struct translation *pattern, uint32_t *ret)
{
	bool has_braces = peek(pattern, 0) == '{';
	unsigned int digits = 0;

	*ret = 0;
	pattern->at += has_braces;
	while (strings_hex_digit(peek(pattern, 0)) >= 0 && digits < (has_braces ? 8 : 2)) {
		*ret = *ret << 4 | (uint32_t)strings_hex_digit(peek(pattern, 0));
		pattern->at++;
		digits++;
	}
	if (!has_braces)
		return digits == 2;
	return digits && *ret <= 0x10ffff && peek(pattern, 0) == '}' && pattern->at++;
}

/* Behind a backslash: one to three digits of which the first is no reference to a group. */
static bool take_octal(struct translation *pattern, uint32_t *ret)
{
	char second = peek(pattern, 1);

	if (peek(pattern, 0) != '0' && (second < '0' || second > '7'))
		return false;
	*ret = 0;
	for (unsigned int i = 0; i < 3 && peek(pattern, 0) >= '0' && peek(pattern, 0) <= '7'; i++)
		*ret = *ret * 8 + (uint32_t)(pattern->text[pattern->at++] - '0');
	return true;
}

/* An escape that says one character. */
static bool take_escape(struct translation *pattern, uint32_t *ret)
{
	static const char names[] = "afnrtv", values[] = "\a\f\n\r\t\v";
	size_t begin = pattern->at++;
	char c = peek(pattern, 0);
	const char *name = c ? strchr(names, c) : NULL;
	bool taken = false;

	if (pattern->at >= pattern->length)
		return refuse(pattern, begin, begin + 1, "trailing backslash at end of expression");
	if (name) {
		*ret = (unsigned char)values[name - names];
		pattern->at++;
		return true;
	}
	if (c == 'x') {
		pattern->at++;
		taken = take_hex(pattern, ret);
	} else if (c >= '0' && c <= '7') {
		taken = take_octal(pattern, ret);
	} else if ((unsigned char)c < 0x80 && !is_letter(c) && !is_digit(c)) {
		*ret = (unsigned char)c;
		pattern->at++;
		taken = true;
	}
	if (taken)
		return true;
	if (pattern->at == begin + 1)
		take_character(pattern);
	return refuse(pattern, begin, pattern->at, "invalid escape sequence");
}

/* ---- classes ---- */

/* \p{Greek}, \P{^L}, \pN: at the backslash. */
static bool take_property(struct translation *pattern)
{
	static const char *const categories[] = {
		"C",  "Cc", "Cf", "Cn", "Co", "Cs", "L",  "Ll", "Lm", "Lo", "Lt", "Lu",  "M",
		"Mc", "Me", "Mn", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Pe", "Pf",  "Pi",
		"Po", "Ps", "S",  "Sc", "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs", "Any",
	};
	size_t begin = pattern->at, length = 0;
	bool negated = peek(pattern, 1) == 'P', has_braces = peek(pattern, 2) == '{';
	char name[NAME_MAX_BYTES + 1] = "";
	const char *prefix = "sc:";

	pattern->at += has_braces ? 3 : 2;
	if (has_braces && peek(pattern, 0) == '^') {
		negated = !negated;
		pattern->at++;
	}
	while ((is_letter(peek(pattern, 0)) || peek(pattern, 0) == '_') &&
	       length < (has_braces ? (size_t)NAME_MAX_BYTES : 1))
		name[length++] = pattern->text[pattern->at++];
	if (!length || (has_braces && peek(pattern, 0) != '}'))
		return refuse(pattern, begin, pattern->at, "invalid character class range");
	pattern->at += has_braces;
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++)
		if (!strcmp(categories[i], name))
			prefix = "";
	put(pattern, negated ? "\\P{" : "\\p{");
	// PCRE2 would take a bare script for the wider property Script_Extensions.
	put(pattern, prefix);
	put(pattern, name);
	put(pattern, "}");
	return true;
}

/* \d, \W and the like, in a class or outside of one. */
static void put_perl_class(struct translation *pattern, char c, bool in_class)
{
	// RE2's \s has no vertical tab, PCRE2's has.
	static const char spaces[] = "\\x{9}\\x{a}\\x{c}\\x{d}\\x{20}";

	if (c != 's' && c != 'S') {
		put_bytes(pattern, (const char[]){ '\\', c }, 2);
	} else if (in_class) {
		put(pattern, c == 's' ? spaces : "\\S\\x{b}");
	} else {
		put(pattern, c == 's' ? "[" : "[^");
		put(pattern, spaces);
		put(pattern, "]");
	}
}

/* [:alpha:] inside of a class; false when there is none, or with an error. */
static bool take_posix_class(struct translation *pattern)
{
	static const char *const names[] = {
		"alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph",
		"lower", "print", "punct", "space", "upper", "word",  "xdigit",
	};
	const char *begin = pattern->text + pattern->at;
	const char *end = memmem(begin + 2, pattern->length - pattern->at - 2, ":]", 2);
	size_t length, negated;

	if (!end)
		return false;
	negated = begin[2] == '^';
	length = (size_t)(end - begin) - 2 - negated;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strlen(names[i]) != length ||
		    memcmp(names[i], begin + 2 + negated, length) != 0)
			continue;
		put(pattern, negated ? "[:^" : "[:");
		put(pattern, names[i]);
		put(pattern, ":]");
		pattern->at += (size_t)(end - begin) + 2;
		return true;
	}
	return refuse(pattern, pattern->at, pattern->at + (size_t)(end - begin) + 2,
		      "invalid character class range");
}

static bool take_class_character(struct translation *pattern, uint32_t *ret)
{
	if (peek(pattern, 0) == '\\')
		return take_escape(pattern, ret);
	*ret = take_character(pattern);
	return true;
}

/* A character of a class, or a range of them. */
static bool take_class_range(struct translation *pattern)
{
	size_t begin = pattern->at;
	uint32_t low, high;

	if (!take_class_character(pattern, &low))
		return false;
	put_character(pattern, low);
	if (peek(pattern, 0) != '-' || peek(pattern, 1) == ']' ||
	    pattern->at + 1 >= pattern->length)
		return true;
	pattern->at++;
	if (!take_class_character(pattern, &high))
		return false;
	if (high < low)
		return refuse(pattern, begin, pattern->at, "invalid character class range");
	put(pattern, "-");
	put_character(pattern, high);
	return true;
}

/* One thing in a class. */
static bool take_class_item(struct translation *pattern)
{
	char c = peek(pattern, 0), next = peek(pattern, 1);

	if (c == '[' && next == ':') {
		if (take_posix_class(pattern))
			return true;
		if (pattern->error)
			return false;
	}
	if (c == '\\' && (next == 'p' || next == 'P'))
		return take_property(pattern);
	if (c == '\\' && next && strchr("dDsSwW", next)) {
		put_perl_class(pattern, next, true);
		pattern->at += 2;
		return true;
	}
	return take_class_range(pattern);
}

static bool take_class(struct translation *pattern)
{
	size_t begin = pattern->at++;
	bool negated = peek(pattern, 0) == '^';

	pattern->at += negated;
	put(pattern, negated ? "[^" : "[");
	// A bracket that comes first means itself.
	do {
		if (pattern->at >= pattern->length)
			return refuse(pattern, begin, pattern->length, "missing closing ]");
		if (!take_class_item(pattern))
			return false;
	} while (peek(pattern, 0) != ']');
	pattern->at++;
	put(pattern, "]");
	pattern->last = LAST_ATOM;
	return true;
}

/* ---- repetitions ---- */

/* PCRE2 lets no assertion be repeated, RE2 does: in a group it can be. */
static void put_assertion(struct translation *pattern, const char *assertion)
{
	char next = peek(pattern, 0);
	bool is_repeated = next && strchr("*+?{", next);

	put(pattern, is_repeated ? "(?:" : "");
	put(pattern, assertion);
	put(pattern, is_repeated ? ")" : "");
	pattern->last = LAST_ATOM;
}

/* A repetition from @begin to where we are, not yet with what makes it lazy. */
static bool finish_repetition(struct translation *pattern, size_t begin)
{
	if (pattern->last == LAST_NOTHING)
		return refuse(pattern, begin, pattern->at,
			      "missing argument to repetition operator");
	if (pattern->last == LAST_REPETITION)
		return refuse(pattern, pattern->repetition, pattern->at,
			      "invalid nested repetition operator");
	pattern->at += peek(pattern, 0) == '?';
	put_bytes(pattern, pattern->text + begin, pattern->at - begin);
	pattern->last = LAST_REPETITION;
	pattern->repetition = begin;
	return true;
}

/* A number of a repetition, at most REPEAT_MAX + 1. False when there is none. */
static bool take_count(struct translation *pattern, unsigned int *ret)
{
	size_t begin = pattern->at;

	*ret = 0;
	// Neither 01 nor the like.
	if (peek(pattern, 0) == '0' && is_digit(peek(pattern, 1)))
		return false;
	for (; is_digit(peek(pattern, 0)); pattern->at++)
		if (*ret <= REPEAT_MAX)
			*ret = *ret * 10 + (unsigned int)(peek(pattern, 0) - '0');
	return pattern->at > begin;
}

/* {2}, {2,} or {2,4}; any other brace means itself. */
static bool take_braces(struct translation *pattern)
{
	size_t begin = pattern->at++;
	unsigned int least, most;
	bool is_repetition = take_count(pattern, &least);

	most = least;
	if (is_repetition && peek(pattern, 0) == ',') {
		pattern->at++;
		most = REPEAT_MAX;
		if (peek(pattern, 0) != '}')
			is_repetition = take_count(pattern, &most);
		else
			most = least > most ? least : most;
	}
	if (!is_repetition || peek(pattern, 0) != '}') {
		pattern->at = begin + 1;
		put(pattern, "\\{");
		pattern->last = LAST_ATOM;
		return true;
	}
	pattern->at++;
	if (least > REPEAT_MAX || most > REPEAT_MAX || least > most)
		return refuse(pattern, begin, pattern->at, "invalid repeat count");
	return finish_repetition(pattern, begin);
}

/* ---- groups ---- */

/* (?P<name> or (?<name>, at the parenthesis; @skip bytes stand in front of the name. */
static bool take_named_group(struct translation *pattern, size_t skip)
{
	size_t begin = pattern->at, name, length = 0;

	name = begin + skip;
	pattern->at = name;
	while (is_letter(peek(pattern, 0)) || is_digit(peek(pattern, 0)) ||
	       peek(pattern, 0) == '_') {
		pattern->at++;
		length++;
	}
	if (!length || length >= NAME_MAX_BYTES || peek(pattern, 0) != '>')
		return refuse(pattern, begin, pattern->at, "invalid named capture");
	pattern->at++;
	// PCRE2 wants no digit in front.
	put(pattern, "(?P<_");
	put_bytes(pattern, pattern->text + name, length);
	put(pattern, ">");
	return true;
}

/* (?i) or (?i-s:, at the parenthesis. */
static bool take_flags(struct translation *pattern)
{
	size_t begin = pattern->at;
	bool negated = false, has_flag = true;

	pattern->at += 2;
	for (; pattern->at < pattern->length; pattern->at++) {
		char c = peek(pattern, 0);

		if (c == '-' && !negated) {
			negated = true;
			has_flag = false;
		} else if (c && strchr("imsU", c)) {
			has_flag = true;
		} else {
			break;
		}
	}
	if ((peek(pattern, 0) != ')' && peek(pattern, 0) != ':') || !has_flag) {
		if (pattern->at < pattern->length)
			take_character(pattern);
		return refuse(pattern, begin, pattern->at, "invalid or unsupported Perl syntax");
	}
	if (pattern->text[pattern->at++] == ')')
		pattern->groups--;
	put_bytes(pattern, pattern->text + begin, pattern->at - begin);
	return true;
}

static bool take_group(struct translation *pattern)
{
	pattern->last = LAST_NOTHING;
	if (++pattern->groups > GROUPS_MAX)
		return refuse(pattern, pattern->at, pattern->at + 1, "expression nests too deeply");
	if (peek(pattern, 1) != '?') {
		pattern->at++;
		put(pattern, "(");
		return true;
	}
	if (peek(pattern, 2) == 'P' && peek(pattern, 3) == '<')
		return take_named_group(pattern, 4);
	if (peek(pattern, 2) == '<' && peek(pattern, 3) != '=' && peek(pattern, 3) != '!')
		return take_named_group(pattern, 3);
	return take_flags(pattern);
}

static bool end_group(struct translation *pattern)
{
	if (!pattern->groups)
		return refuse(pattern, pattern->at, pattern->length, "unexpected )");
	pattern->groups--;
	pattern->at++;
	put(pattern, ")");
	pattern->last = LAST_ATOM;
	return true;
}

/* ---- all of it ---- */

/* \Q...\E, of which the end may be missing; at the backslash. */
static bool take_quotation(struct translation *pattern)
{
	pattern->at += 2;
	while (pattern->at < pattern->length) {
		if (peek(pattern, 0) == '\\' && peek(pattern, 1) == 'E') {
			pattern->at += 2;
			break;
		}
		put_character(pattern, take_character(pattern));
		pattern->last = LAST_ATOM;
	}
	return true;
}

static bool take_backslash(struct translation *pattern)
{
	char next = peek(pattern, 1);
	uint32_t code;

	if (next == 'Q')
		return take_quotation(pattern);
	if (next && strchr("bBAz", next)) {
		pattern->at += 2;
		put_assertion(pattern, (const char[]){ '\\', next, '\0' });
		return true;
	}
	pattern->last = LAST_ATOM;
	if (next == 'p' || next == 'P')
		return take_property(pattern);
	if (next && strchr("dDsSwW", next)) {
		put_perl_class(pattern, next, false);
		pattern->at += 2;
		return true;
	}
	if (!take_escape(pattern, &code))
		return false;
	put_character(pattern, code);
	return true;
}

static bool take_item(struct translation *pattern)
{
	switch (peek(pattern, 0)) {
	case '\\':
		return take_backslash(pattern);
	case '[':
		return take_class(pattern);
	case '(':
		return take_group(pattern);
	case ')':
		return end_group(pattern);
	case '{':
		return take_braces(pattern);
	case '*':
	case '+':
	case '?':
		pattern->at++;
		return finish_repetition(pattern, pattern->at - 1);
	case '|':
		pattern->at++;
		put(pattern, "|");
		pattern->last = LAST_NOTHING;
		return true;
	case '^':
	case '$':
		pattern->at++;
		put_assertion(pattern, (const char[]){ pattern->text[pattern->at - 1], '\0' });
		return true;
	case '.':
		pattern->at++;
		put(pattern, ".");
		break;
	default:
		put_character(pattern, take_character(pattern));
		break;
	}
	pattern->last = LAST_ATOM;
	return true;
}

struct profcol_error *pattern_translate(const char *text, size_t length, char **ret,
					size_t *length_ret)
{
	struct translation pattern = { .text = text, .length = length };

	if (length > OTTL_MAX_TEXT)
		return profcol_error_create(PROFCOL_CONFIG,
					    "error parsing regexp: %zu bytes are more than %d",
					    length, OTTL_MAX_TEXT);
	if (!strings_is_utf8(text, length))
		return profcol_error_create(PROFCOL_CONFIG, "error parsing regexp: invalid UTF-8");
	while (pattern.at < length && !pattern.error)
		take_item(&pattern);
	if (pattern.groups)
		refuse(&pattern, 0, length, "missing closing )");
	if (pattern.error) {
		VECTOR_DEINIT(&pattern.out);
		return pattern.error;
	}
	*ret = pattern.out.items;
	*length_ret = pattern.out.count;
	return NULL;
}
