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
};

struct expansion {
	struct yaml_source *source;
	struct retriever *retriever;
	size_t work;
	bool exhausted; /* and reported: what follows is not looked at */
};

/* One value while it is being expanded. */
struct expanding {
	struct expansion *expansion;
	const struct yaml_node *node;
	const struct path *path;
	char *text;  /* owned */
	char *marks; /* owned; as long: 1 for each byte that the file does not have, else 0 */
	size_t length;
	bool quiet; /* what is wrong is reported where the parts of the value stand */
};

struct reference {
	size_t begin, end; /* of ${...} in the text */
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

/* Has what a variable holds a part in @reference? */
static bool is_foreign(const struct expanding *value, struct reference reference)
{
	return value->node->concealed ||
	       memchr(value->marks + reference.begin, 1, reference.end - reference.begin);
}

/* What messages show instead of @reference where that is not the file's own; else NULL. */
static const char *shown_instead(const struct expanding *value, struct reference reference)
{
	if (value->node->concealed)
		return "...";
	return is_foreign(value, reference) ? value->node->text : NULL;
}

static void warn_unset(const struct expanding *value, const char *name, const char *shown)
{
	if (value->quiet)
		return;
	if (shown)
		problems_warn(value->expansion->source->problems, value->node->place, value->path,
			      "the environment variable that \"%.*s\" becomes is not set and has "
			      "no default, its value is null",
			      RETRIEVE_SHOWN_MAX, shown);
	else
		problems_warn(
			value->expansion->source->problems, value->node->place, value->path,
			"environment variable \"%s\" is not set and has no default, its value "
			"is null; write ${env:%s:-default} to give one",
			name, name);
}

/* What stands between "${" and "}" in the value's text. */
static bool resolve_reference(const struct expanding *value, struct reference reference,
			      struct retrieved *ret)
{
	const char *uri = value->text + reference.begin + 2;
	size_t length = reference.end - reference.begin - 3, rest = 0;
	struct retriever *retriever = value->expansion->retriever;
	enum retrieve_scheme scheme = RETRIEVE_ENV;
	char why[RETRIEVE_WHY_MAX];

	retriever->shown = shown_instead(value, reference);
	if (memchr(uri, '$', length))
		return complain(
			value,
			"the uri \"%.*s\" contains unsupported characters ('$'); keep '$' out "
			"of ${...}",
			retriever->shown || length > RETRIEVE_SHOWN_MAX ? RETRIEVE_SHOWN_MAX
									: (int)length,
			retriever->shown ? retriever->shown : uri);
	if (memchr(uri, ':', length) &&
	    !retrieve_scheme_parse(retriever, uri, length, &scheme, &rest, why))
		return complain(value, "%s", why);
	if (!retrieve(retriever, scheme, uri + rest, length - rest, ret, why) ||
	    !retrieved_make_value(retriever, ret, why))
		return *why ? complain(value, "%s", why) : without_memory(value);
	if (ret->unset)
		warn_unset(value, ret->unset, retriever->shown);
	return true;
}

static bool replace(struct expanding *value, struct reference reference,
		    const struct retrieved *replacement)
{
	size_t tail = value->length - reference.end;
	size_t length = reference.begin + replacement->length + tail;
	char *text, *marks;

	if (length > TEXT_MAX)
		return complain(value,
				"the value expands to more than 1 MiB; does a variable refer "
				"to itself?");
	text = malloc(length + 1);
	marks = malloc(length + 1);
	if (!text || !marks) {
		free(text);
		free(marks);
		return without_memory(value);
	}
	memcpy(text, value->text, reference.begin);
	memcpy(text + reference.begin, replacement->text, replacement->length);
	memcpy(text + reference.begin + replacement->length, value->text + reference.end, tail);
	text[length] = '\0';
	memcpy(marks, value->marks, reference.begin);
	memset(marks + reference.begin, 1, replacement->length);
	memcpy(marks + reference.begin + replacement->length, value->marks + reference.end, tail);
	free(value->text);
	free(value->marks);
	value->text = text;
	value->marks = marks;
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
	const char *hint;                   /* why the scalar is only text, or NULL */
};

/* What @value's text is as YAML. What a file holds keeps its places there. */
static struct yaml_node *parse_whole(struct expanding *value, const struct retrieved *replacement,
				     bool foreign, char why[YAML_WHY_MAX])
{
	struct yaml_source *source = value->expansion->source;
	// A path that a variable has a part in is not to be seen.
	bool is_own_file = replacement->file && !foreign;
	struct yaml_text text = {
		.bytes = value->text,
		.length = value->length,
		.place = is_own_file ? NULL : &value->node->place,
		.concealed = !is_own_file,
		.quiet = true,
		.why = why,
	};

	if (!text.place)
		text.source = problems_add_source(source->problems, replacement->file);
	return yaml_parse(source, &text);
}

/* The value was one reference and nothing else: its text decides on the type. */
static bool take_type(struct expanding *value, const struct retrieved *replacement, bool foreign,
		      struct outcome *outcome)
{
	struct yaml_source *source = value->expansion->source;
	const struct yaml_node *node;
	char why[YAML_WHY_MAX] = "";

	*outcome = (struct outcome){ .changed = true, .from_variable = !replacement->unset };
	// ":-" with nothing after it is the way to write an empty string.
	if (replacement->is_default && !replacement->length)
		return true;
	node = parse_whole(value, replacement, foreign, why);
	if (!node && source->nodes >= YAML_NODES_MAX)
		return complain(value,
				"the value expands to more than %d values; does a variable "
				"refer to itself?",
				YAML_NODES_MAX);
	if (node && node->kind == YAML_SCALAR)
		outcome->scalar = node->scalar;
	else if (node)
		outcome->collection = node;
	else if (*why)
		outcome->hint = arena_printf(source->memory,
					     "; assuming string type since contents are not valid "
					     "YAML: %s",
					     why);
	return true;
}

/* One reference less. False when it ends here; *@failed_ret says that a problem was reported. */
static bool expand_reference(struct expanding *value, struct reference reference, size_t round,
			     struct outcome *outcome, bool *failed_ret)
{
	bool is_whole = reference.begin == 0 && reference.end == value->length;
	bool foreign = is_foreign(value, reference);
	struct retrieved replacement = {};
	bool replaced;

	replaced = spend(value, round) && resolve_reference(value, reference, &replacement) &&
		   replace(value, reference, &replacement);
	// A list or map reports what is wrong where its parts stand.
	*failed_ret = !replaced && !outcome->collection;
	if (replaced && is_whole) {
		*failed_ret = !take_type(value, &replacement, foreign, outcome);
		replaced = !*failed_ret;
	} else if (replaced && !outcome->collection) {
		*outcome = (struct outcome){ .changed = true };
	}
	free(replacement.owned);
	value->quiet = outcome->collection;
	return replaced;
}

/* Replace references until none is left, then "$$". False when a problem was reported. */
static bool expand_text(struct expanding *value, struct outcome *outcome)
{
	struct reference reference;
	bool failed = false;

	for (size_t round = 0; find_reference(value->text, value->length, &reference); round++)
		if (!expand_reference(value, reference, round, outcome, &failed))
			return !failed;
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
	CLEANUP_FREE char *text = NULL, *marks = NULL;

	if (node->scalar.type != SCALAR_STRING || !strchr(node->text, '$'))
		return;
	value.length = strlen(node->text);
	value.text = strdup(node->text);
	value.marks = calloc(value.length + 1, 1);
	node->broken = !value.text || !value.marks || !expand_text(&value, &outcome);
	text = value.text;
	marks = value.marks;
	if (node->broken) {
		expansion->source->problems->no_memory |= !text || !marks;
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
	node->concealed = true;
	node->scalar = outcome.scalar;
	node->hint = outcome.hint;
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

void expand_tree(struct yaml_source *source, struct retriever *retriever, struct yaml_node *root)
{
	struct expansion expansion = { .source = source, .retriever = retriever };

	expand_node(&expansion, root, NULL, 0);
}
