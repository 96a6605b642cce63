// SPDX-License-Identifier: Apache-2.0
#include "expand.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS_MAX = 1000,  /* references in one value, as the Collector has it */
	TEXT_MAX = 1 << 20, /* bytes of one expanded value */
	WORK_MAX = 1 << 26, /* bytes looked at for all values together */
	MESSAGE_MAX = 1024,
	QUOTED_MAX = 200, /* bytes of a reference that a message shows */
};

struct expansion {
	struct yaml_source *source;
	size_t work;
	bool exhausted; /* and reported: what follows is not looked at */
};

/* One value while it is being expanded. */
struct expanding {
	struct expansion *expansion;
	const struct yaml_node *node;
	const struct path *path;
	char *text; /* owned */
	size_t length;
	bool quiet; /* what is wrong is reported where the parts of the value stand */
};

struct reference {
	size_t begin, end; /* of ${...} in the text */
};

/* What a reference stands for. */
struct replacement {
	const char *text; /* borrowed from the environment or the value's text */
	size_t length;
	bool is_null;    /* not set */
	bool is_default; /* the text after ":-" */
};

/*
 * The innermost reference: the first '}' with the last "${" before it, unless an
 * odd number of further '$' stands before that.
 */
static bool find_reference(const char *text, size_t length, struct reference *ret)
{
	size_t from = 0;

	for (;;) {
		const char *close = memchr(text + from, '}', length - from);
		size_t end, begin, dollars = 0;

		if (!close)
			return false;
		end = (size_t)(close - text);
		for (begin = end; begin > from; begin--)
			if (text[begin - 1] == '$' && text[begin] == '{')
				break;
		if (begin > from) {
			begin--;
			while (begin - dollars > from && text[begin - dollars - 1] == '$')
				dollars++;
			if (dollars % 2 == 0) {
				*ret = (struct reference){ .begin = begin, .end = end + 1 };
				return true;
			}
		}
		from = end + 1;
	}
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_name(const char *name, size_t length)
{
	if (!length || is_digit(*name))
		return false;
	for (size_t i = 0; i < length; i++)
		if (!is_letter(name[i]) && !is_digit(name[i]) && name[i] != '_')
			return false;
	return true;
}

/* Go's pattern for the scheme of a location: ^[A-Za-z][A-Za-z0-9+.-]+ */
static bool is_scheme(const char *scheme, size_t length)
{
	if (length < 2 || !is_letter(*scheme))
		return false;
	for (size_t i = 1; i < length; i++)
		if (!is_letter(scheme[i]) && !is_digit(scheme[i]) && !strchr("+.-", scheme[i]))
			return false;
	return true;
}

static int shown(size_t length)
{
	return length < QUOTED_MAX ? (int)length : QUOTED_MAX;
}

/* Report, and return false for the caller to return. */
__attribute__((format(printf, 2, 3))) static bool complain(const struct expanding *value,
							   const char *format, ...)
{
	char text[MESSAGE_MAX];
	va_list arguments;

	if (value->quiet)
		return false;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	problems_add(value->expansion->source->problems, value->node->place, value->path, "%s",
		     text);
	return false;
}

static bool without_memory(const struct expanding *value)
{
	value->expansion->source->problems->no_memory = true;
	return false;
}

static void warn_unset(const struct expanding *value, const char *name)
{
	if (!value->quiet)
		problems_warn(
			value->expansion->source->problems, value->node->place, value->path,
			"environment variable \"%s\" is not set and has no default, its value "
			"is null; write ${env:%s:-default} to give one",
			name, name);
}

/* @uri is what stands between "${" and "}", after "env:" if that was there. */
static bool look_up(const struct expanding *value, const char *uri, size_t length,
		    struct replacement *ret)
{
	const char *fallback = memmem(uri, length, ":-", 2), *text;
	size_t name_length = fallback ? (size_t)(fallback - uri) : length;
	CLEANUP_FREE char *name = NULL;

	if (!is_name(uri, name_length))
		return complain(
			value,
			"environment variable \"%.*s\" has invalid name: must match regex "
			"^[a-zA-Z_][a-zA-Z0-9_]*$; write $$ for a '$' that names no variable",
			shown(name_length), uri);
	name = strndup(uri, name_length);
	if (!name)
		return without_memory(value);
	text = getenv(name);
	*ret = (struct replacement){ .text = text ? text : "" };
	ret->length = strlen(ret->text);
	if (!text && fallback) {
		ret->is_default = true;
		ret->text = fallback + 2;
		ret->length = (size_t)(uri + length - ret->text);
	} else if (!text) {
		ret->is_null = true;
		warn_unset(value, name);
	}
	if (strings_is_utf8(ret->text, ret->length))
		return true;
	return complain(value, "environment variable \"%s\" is not valid UTF-8; correct its value",
			name);
}

static bool refuse_scheme(const struct expanding *value, const char *uri, size_t length,
			  size_t scheme_length)
{
	if (is_name(uri, scheme_length) && uri[scheme_length + 1] == '-')
		return complain(value,
				"scheme \"%.*s\" is not supported for uri \"%.*s\"; write "
				"${env:%.*s} for a variable with a default",
				shown(scheme_length), uri, shown(length), uri, shown(length), uri);
	if (is_scheme(uri, scheme_length))
		return complain(
			value,
			"scheme \"%.*s\" is not supported for uri \"%.*s\"; supported: env, "
			"as in ${env:NAME:-default}",
			shown(scheme_length), uri, shown(length), uri);
	return complain(value,
			"invalid uri: \"%.*s\"; write ${env:NAME}, or $$ for a '$' that names no "
			"variable",
			shown(length), uri);
}

static bool resolve_reference(const struct expanding *value, struct reference reference,
			      struct replacement *ret)
{
	const char *uri = value->text + reference.begin + 2;
	size_t length = reference.end - reference.begin - 3;
	const char *colon = memchr(uri, ':', length);

	if (memchr(uri, '$', length))
		return complain(
			value,
			"the uri \"%.*s\" contains unsupported characters ('$'); keep '$' out "
			"of ${...}",
			shown(length), uri);
	if (!colon)
		return look_up(value, uri, length, ret);
	if (colon - uri == 3 && !memcmp(uri, "env", 3))
		return look_up(value, uri + 4, length - 4, ret);
	return refuse_scheme(value, uri, length, (size_t)(colon - uri));
}

static bool replace(struct expanding *value, struct reference reference,
		    const struct replacement *replacement)
{
	size_t tail = value->length - reference.end;
	size_t length = reference.begin + replacement->length + tail;
	char *text;

	if (length > TEXT_MAX)
		return complain(value,
				"the value expands to more than 1 MiB; does a variable refer "
				"to itself?");
	text = malloc(length + 1);
	if (!text)
		return without_memory(value);
	memcpy(text, value->text, reference.begin);
	memcpy(text + reference.begin, replacement->text, replacement->length);
	memcpy(text + reference.begin + replacement->length, value->text + reference.end, tail);
	text[length] = '\0';
	free(value->text);
	value->text = text;
	value->length = length;
	return true;
}

static bool spend(struct expanding *value, size_t round)
{
	struct expansion *expansion = value->expansion;

	if (expansion->exhausted)
		return false;
	if (round >= ROUNDS_MAX || expansion->work > WORK_MAX) {
		expansion->exhausted = expansion->work > WORK_MAX && !value->quiet;
		return complain(value, "too many recursive expansions; does a variable refer to "
				       "itself?");
	}
	expansion->work += value->length + 64;
	return true;
}

/* "$$" to "$", in place. */
static void unescape(struct expanding *value)
{
	size_t to = 0;

	for (size_t from = 0; from < value->length; from++) {
		if (value->text[from] == '$' && from + 1 < value->length &&
		    value->text[from + 1] == '$')
			from++;
		value->text[to++] = value->text[from];
	}
	value->text[to] = '\0';
	value->length = to;
}

/* What the value turned out to be. */
struct outcome {
	bool changed;
	struct scalar scalar;               /* unless @collection */
	const struct yaml_node *collection; /* list or map that a variable holds, or NULL */
	bool from_variable;                 /* the text is a variable's and nothing else */
};

/* The value was one reference and nothing else: its text decides on the type. */
static bool take_type(struct expanding *value, const struct replacement *replacement,
		      struct outcome *outcome)
{
	struct yaml_source *source = value->expansion->source;
	const struct yaml_node *node;

	*outcome = (struct outcome){ .changed = true, .from_variable = !replacement->is_null };
	// ":-" with nothing after it is the way to write an empty string.
	if (replacement->is_default && !replacement->length)
		return true;
	node = yaml_parse_value(source, value->text, value->length, value->node->place);
	if (!node && source->nodes >= YAML_NODES_MAX)
		return complain(value,
				"the value expands to more than %d values; does a variable "
				"refer to itself?",
				YAML_NODES_MAX);
	if (node && node->kind == YAML_SCALAR)
		outcome->scalar = node->scalar;
	else if (node)
		outcome->collection = node;
	return true;
}

/* Replace references until none is left, then "$$". False when a problem was reported. */
static bool expand_text(struct expanding *value, struct outcome *outcome)
{
	struct replacement replacement = { 0 };
	struct reference reference;

	for (size_t round = 0; find_reference(value->text, value->length, &reference); round++) {
		bool is_whole = reference.begin == 0 && reference.end == value->length;

		if (!spend(value, round) || !resolve_reference(value, reference, &replacement) ||
		    !replace(value, reference, &replacement))
			return outcome->collection;
		if (is_whole && !take_type(value, &replacement, outcome))
			return false;
		if (!is_whole && !outcome->collection)
			*outcome = (struct outcome){ .changed = true };
		value->quiet = outcome->collection;
	}
	unescape(value);
	return true;
}

static void expand_children(struct expansion *expansion, struct yaml_node *node,
			    const struct path *path, unsigned int depth);

/* @node becomes the list or map that a variable holds. */
static void graft(struct yaml_node *node, const struct yaml_node *collection)
{
	node->kind = collection->kind;
	node->items = collection->items;
	node->entries = collection->entries;
	node->count = collection->count;
	node->scalar = (struct scalar){ .type = SCALAR_STRING };
}

static void expand_scalar(struct expansion *expansion, struct yaml_node *node,
			  const struct path *path, unsigned int depth)
{
	struct expanding value = { .expansion = expansion, .node = node, .path = path };
	struct outcome outcome = {};
	CLEANUP_FREE char *text = NULL;

	if (node->scalar.type != SCALAR_STRING || !strchr(node->text, '$'))
		return;
	value.length = strlen(node->text);
	value.text = strdup(node->text);
	node->broken = !value.text || !expand_text(&value, &outcome);
	text = value.text;
	if (node->broken) {
		expansion->source->problems->no_memory |= !value.text;
		return;
	}
	node->text = arena_strndup(expansion->source->memory, value.text, value.length);
	if (!node->text) {
		node->text = "";
		without_memory(&value);
	}
	if (!outcome.changed)
		return;
	node->from_variable = outcome.from_variable;
	node->scalar = outcome.scalar;
	if (outcome.collection) {
		graft(node, outcome.collection);
		expand_children(expansion, node, path, depth);
	}
}

static void expand_node(struct expansion *expansion, struct yaml_node *node,
			const struct path *path, unsigned int depth)
{
	// Aliases share nodes: each is expanded once.
	if (node->expanded)
		return;
	node->expanded = true;
	if (node->kind == YAML_SCALAR)
		expand_scalar(expansion, node, path, depth);
	else
		expand_children(expansion, node, path, depth);
}

static void expand_children(struct expansion *expansion, struct yaml_node *node,
			    const struct path *path, unsigned int depth)
{
	if (depth >= YAML_DEPTH_MAX) {
		problems_add(expansion->source->problems, node->place, NULL,
			     "the value expands to more than %d levels; does a variable refer to "
			     "itself?",
			     YAML_DEPTH_MAX);
		node->broken = true;
		return;
	}
	for (size_t i = 0; i < node->count; i++) {
		struct path here = { .parent = path, .index = i };

		if (node->kind == YAML_LIST) {
			expand_node(expansion, node->items[i], &here, depth + 1);
			continue;
		}
		here.key = node->entries[i].key->text;
		expand_node(expansion, node->entries[i].value, &here, depth + 1);
	}
}

void expand_tree(struct yaml_source *source, struct yaml_node *root)
{
	struct expansion expansion = { .source = source };

	expand_node(&expansion, root, NULL, 0);
}
