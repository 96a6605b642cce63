// SPDX-License-Identifier: Apache-2.0
#include "emit.h"

#include "quantity.h"
#include "scalar.h"
#include "yaml.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	YAML_INDENT = 4,
	JSON_INDENT = 2,
	SIMPLE_KEY_MAX = 1000, /* YAML has 1024 characters, quotes and escapes included */
};

void emitter_init(struct emitter *emitter, enum emit_style style, FILE *to)
{
	*emitter = (struct emitter){ .to = to, .style = style };
}

static void indent(const struct emitter *emitter, unsigned int levels)
{
	unsigned int width = emitter->style == EMIT_YAML ? YAML_INDENT : JSON_INDENT;

	for (unsigned int i = 0; i < levels * width; i++)
		putc(' ', emitter->to);
}

static void begin_line(const struct emitter *emitter, unsigned int levels)
{
	if (emitter->style == EMIT_JSON_LINE)
		return;
	putc('\n', emitter->to);
	indent(emitter, levels);
}

/* Is the innermost open collection an item of a list? */
static bool is_item(const struct emitter *emitter)
{
	return emitter->depth > 1 && emitter->levels[emitter->depth - 2].is_list;
}

/* Comma, line, dash: whatever stands before an item of a list or a key of a map. */
static void begin_item(struct emitter *emitter)
{
	size_t count;

	if (!emitter->depth)
		return;
	count = emitter->levels[emitter->depth - 1].count++;
	if (emitter->style != EMIT_YAML) {
		if (count)
			putc(',', emitter->to);
		begin_line(emitter, emitter->depth);
		return;
	}
	// The outermost level begins at the margin on the first line, and what is an item of a
	// list behind its dash.
	if (!count && is_item(emitter))
		fputs("   ", emitter->to);
	else if (count || emitter->depth > 1)
		begin_line(emitter, emitter->depth - 1);
	if (emitter->levels[emitter->depth - 1].is_list)
		fputs("-", emitter->to);
}

/* Before a value that fits on the line. */
static void begin_value(struct emitter *emitter, bool is_scalar)
{
	bool is_nested_yaml = emitter->style == EMIT_YAML && emitter->depth;

	if (!emitter->has_key)
		begin_item(emitter);
	emitter->has_key = false;
	if (is_nested_yaml && is_scalar)
		putc(' ', emitter->to);
}

static void end_value(const struct emitter *emitter)
{
	if (!emitter->depth && emitter->style != EMIT_JSON_LINE)
		putc('\n', emitter->to);
}

static void begin_collection(struct emitter *emitter, bool is_list)
{
	if (emitter->skipped || emitter->depth == EMIT_DEPTH_MAX) {
		if (!emitter->skipped++) {
			begin_value(emitter, true);
			fputs("null", emitter->to);
		}
		return;
	}
	begin_value(emitter, false);
	if (emitter->style != EMIT_YAML)
		putc(is_list ? '[' : '{', emitter->to);
	emitter->levels[emitter->depth].is_list = is_list;
	emitter->levels[emitter->depth++].count = 0;
}

static void end_collection(struct emitter *emitter, bool is_list)
{
	size_t count;

	if (emitter->skipped) {
		emitter->skipped--;
		return;
	}
	count = emitter->levels[--emitter->depth].count;
	if (emitter->style != EMIT_YAML) {
		if (count)
			begin_line(emitter, emitter->depth);
		putc(is_list ? ']' : '}', emitter->to);
	} else if (!count) {
		fputs(emitter->depth ? " " : "", emitter->to);
		fputs(is_list ? "[]" : "{}", emitter->to);
	}
	end_value(emitter);
}

void emit_begin_map(struct emitter *emitter)
{
	begin_collection(emitter, false);
}

void emit_end_map(struct emitter *emitter)
{
	end_collection(emitter, false);
}

void emit_begin_list(struct emitter *emitter)
{
	begin_collection(emitter, true);
}

void emit_end_list(struct emitter *emitter)
{
	end_collection(emitter, true);
}

/* One character of a double-quoted text; YAML reads JSON's escapes. */
static void print_escaped(char c, FILE *to)
{
	switch (c) {
	case '"':
	case '\\':
		fprintf(to, "\\%c", c);
		break;
	case '\n':
		fputs("\\n", to);
		break;
	case '\t':
		fputs("\\t", to);
		break;
	case '\r':
		fputs("\\r", to);
		break;
	default:
		if ((unsigned char)c < 0x20 || c == 0x7f)
			fprintf(to, "\\u%04x", (unsigned int)(unsigned char)c);
		else
			putc(c, to);
	}
}

/*
 * Controls, line ends and non-characters beyond ASCII that YAML takes for something else, or not
 * at all: how many bytes there are of one, or 0. @text is valid UTF-8.
 */
static size_t find_special(const char *text, unsigned int *ret)
{
	const unsigned char *at = (const unsigned char *)text;

	if (at[0] == 0xc2 && at[1] < 0xa0) {
		*ret = at[1];
		return 2;
	}
	if (at[0] < 0xe2 || at[0] > 0xef)
		return 0;
	*ret = (at[0] & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
	return *ret == 0x2028 || *ret == 0x2029 || *ret == 0xfeff || *ret >= 0xfffe ? 3 : 0;
}

/* Doubled where a loader would see a reference or "$$". */
static bool needs_second_dollar(const struct emitter *emitter, const char *at)
{
	return emitter->escapes_dollars && at[0] == '$' && (at[1] == '$' || at[1] == '{');
}

static void print_quoted(const struct emitter *emitter, const char *text)
{
	unsigned int code;
	size_t length;

	putc('"', emitter->to);
	for (; *text; text++) {
		length = find_special(text, &code);
		if (length) {
			fprintf(emitter->to, "\\u%04x", code);
			text += length - 1;
			continue;
		}
		if (needs_second_dollar(emitter, text))
			putc('$', emitter->to);
		print_escaped(*text, emitter->to);
	}
	putc('"', emitter->to);
}

/* Words that YAML 1.1 readers, which others are, take for booleans. */
static bool is_old_boolean(const char *text)
{
	static const char *const words[] = { "y",  "Y",  "n",  "N",  "yes", "Yes", "YES", "no",
					     "No", "NO", "on", "On", "ON",  "off", "Off", "OFF" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i], text))
			return true;
	return false;
}

/*
 * What begins like a number may be a date or a time to some readers, unless it is a duration, a
 * size, or an address with its two dots or more.
 */
static bool is_surely_text(const char *text)
{
	char why[QUANTITY_TEXT_MAX];
	size_t dots = 0;
	uint64_t bytes;
	int64_t ns;

	if (*text == '+')
		return false;
	if (*text < '0' || *text > '9')
		return true;
	for (const char *c = text; *c; c++)
		dots += *c == '.';
	return dots > 1 || quantity_parse_duration(text, &ns, why) ||
	       quantity_parse_bytes(text, &bytes, why);
}

/* May it stand without quotes? A narrow set: what is in doubt is quoted. */
static bool is_plain(const char *text)
{
	static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "0123456789_./-+:@";
	size_t length = strlen(text);

	return length && text[strspn(text, safe)] == '\0' && text[length - 1] != ':' &&
	       *text != '-' && *text != '@' && *text != ':' && strcmp(text, "..") != 0 &&
	       scalar_resolve(text).type == SCALAR_STRING && is_surely_text(text) &&
	       !is_old_boolean(text);
}

static void print_text(const struct emitter *emitter, const char *text)
{
	if (emitter->style == EMIT_YAML && is_plain(text))
		fputs(text, emitter->to);
	else
		print_quoted(emitter, text);
}

void emit_key(struct emitter *emitter, const char *key)
{
	struct emitter plain = *emitter;

	if (emitter->skipped)
		return;
	begin_item(emitter);
	// Keys are not expanded.
	plain.escapes_dollars = false;
	// A longer one needs the mark of a key; counted in bytes it is on the safe side.
	if (emitter->style == EMIT_YAML && strlen(key) > SIMPLE_KEY_MAX) {
		fputs("? ", emitter->to);
		print_quoted(&plain, key);
		begin_line(emitter, emitter->depth - 1);
	} else {
		print_text(&plain, key);
	}
	fputs(emitter->style == EMIT_JSON ? ": " : ":", emitter->to);
	emitter->has_key = true;
}

/* Whether a scalar is to be written, and all that stands before it. */
static bool begin_scalar(struct emitter *emitter)
{
	if (emitter->skipped)
		return false;
	begin_value(emitter, true);
	return true;
}

void emit_null(struct emitter *emitter)
{
	if (!begin_scalar(emitter))
		return;
	fputs("null", emitter->to);
	end_value(emitter);
}

void emit_bool(struct emitter *emitter, bool value)
{
	if (!begin_scalar(emitter))
		return;
	fputs(value ? "true" : "false", emitter->to);
	end_value(emitter);
}

void emit_int(struct emitter *emitter, int64_t value)
{
	if (!begin_scalar(emitter))
		return;
	fprintf(emitter->to, "%" PRId64, value);
	end_value(emitter);
}

/* As short as it can be read back. */
static void print_double(double value, FILE *to)
{
	char text[64];

	for (int digits = 15; digits <= 17; digits++) {
		double read;

		snprintf(text, sizeof(text), "%.*g", digits, value);
		read = strtod(text, NULL);
		if (!(read < value) && !(read > value))
			break;
	}
	fputs(text, to);
}

void emit_double(struct emitter *emitter, double value)
{
	if (!begin_scalar(emitter))
		return;
	if (isfinite(value))
		print_double(value, emitter->to);
	else if (emitter->style != EMIT_YAML)
		fputs("null", emitter->to);
	else
		fputs(isnan(value) ? ".nan" : value < 0 ? "-.inf" : ".inf", emitter->to);
	end_value(emitter);
}

void emit_text(struct emitter *emitter, const char *text)
{
	if (!begin_scalar(emitter))
		return;
	print_text(emitter, text);
	end_value(emitter);
}

static void emit_scalar(struct emitter *emitter, const struct yaml_node *node)
{
	switch (node->scalar.type) {
	case SCALAR_NULL:
		emit_null(emitter);
		break;
	case SCALAR_BOOL:
		emit_bool(emitter, node->scalar.boolean);
		break;
	case SCALAR_INT:
		emit_int(emitter, node->scalar.integer);
		break;
	case SCALAR_FLOAT:
		emit_double(emitter, node->scalar.number);
		break;
	case SCALAR_STRING:
		emit_text(emitter, node->text);
		break;
	}
}

/* As deep as the reader and the expansion allow. */
void emit_node(struct emitter *emitter, const struct yaml_node *node)
{
	if (node->kind == YAML_SCALAR) {
		emit_scalar(emitter, node);
		return;
	}
	if (node->kind == YAML_LIST) {
		emit_begin_list(emitter);
		for (size_t i = 0; i < node->count; i++)
			emit_node(emitter, node->items[i]);
		emit_end_list(emitter);
		return;
	}
	emit_begin_map(emitter);
	for (size_t i = 0; i < node->count; i++) {
		emit_key(emitter, node->entries[i].key->text);
		emit_node(emitter, node->entries[i].value);
	}
	emit_end_map(emitter);
}
