// SPDX-License-Identifier: Apache-2.0
#include "yaml_reading.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_MAX = 1024 };

bool reading_init(struct reading *reading, struct yaml_source *source, const struct yaml_text *text)
{
	*reading = (struct reading){
		.source = source, .options = text, .text = text->bytes, .length = text->length
	};
	// libyaml would count a byte order mark as a column, and the indentation would be off.
	if (text->length >= 3 && !memcmp(text->bytes, "\xef\xbb\xbf", 3)) {
		reading->text += 3;
		reading->length -= 3;
	}
	if (!yaml_parser_initialize(&reading->parser)) {
		source->problems->no_memory = true;
		return false;
	}
	// Without this a file that begins like UTF-16 would be taken for it.
	yaml_parser_set_encoding(&reading->parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&reading->parser, (const unsigned char *)reading->text,
				     reading->length);
	return true;
}

void reading_deinit(struct reading *reading)
{
	yaml_parser_delete(&reading->parser);
	VECTOR_DEINIT(&reading->anchors);
	intern_deinit(&reading->anchor_index);
}

/* As the user knows the text: without the prefix of its first line. */
static struct place make_place(const struct reading *reading, unsigned int line,
			       unsigned int column)
{
	unsigned int prefix = line == 1 ? reading->options->prefix : 0;

	return (struct place){ .line = line,
			       .column = column > prefix ? column - prefix : 1,
			       .source = reading->options->source };
}

struct place reading_place(const struct reading *reading, const yaml_mark_t *mark)
{
	if (reading->options->place)
		return *reading->options->place;
	return make_place(reading, (unsigned int)mark->line + 1, (unsigned int)mark->column + 1);
}

void reading_problem(struct reading *reading, struct place place, const struct path *path,
		     const char *format, ...)
{
	char text[MESSAGE_MAX];
	va_list arguments;

	if (reading->options->quiet)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	problems_add(reading->source->problems, place, path, "%s", text);
}

/* libyaml gives no mark for an octet that is no character, only its offset. */
static struct place place_of_offset(const struct reading *reading, size_t offset)
{
	unsigned int line = 1, column = 1;

	for (size_t i = 0; i < offset && i < reading->length; i++) {
		unsigned char c = (unsigned char)reading->text[i];

		if (c == '\n') {
			line++;
			column = 1;
		} else if ((c & 0xc0) != 0x80) {
			column++;
		}
	}
	return make_place(reading, line, column);
}

/* The text from @mark on; libyaml counts characters, not bytes. */
static const char *text_at(const struct reading *reading, const yaml_mark_t *mark)
{
	size_t at = 0;

	for (size_t left = mark->index; at < reading->length; at++)
		if (((unsigned char)reading->text[at] & 0xc0) != 0x80 && !left--)
			break;
	return reading->text + at;
}

/* What to do about a syntax error; libyaml says only what it met. */
static const char *syntax_remedy(const struct reading *reading)
{
	static const struct {
		const char *problem, *remedy;
	} remedies[] = {
		{ "mapping values are not allowed in this context",
		  "; quote a value that contains ': ', or check the indentation" },
		{ "did not find expected key", "; check the indentation" },
		{ "did not find expected '-' indicator", "; check the indentation" },
		{ "block sequence entries are not allowed in this context",
		  "; begin the list on a line of its own" },
		{ "could not find expected ':'", "; write 'key: value'" },
		{ "found unexpected end of stream", "; close the quote" },
		{ "found character that cannot start any token", "; put the value in quotes" },
	};
	const char *at = text_at(reading, &reading->parser.problem_mark);
	const char *end = reading->text + reading->length;

	if (at < end && *at == '\t')
		return "; indent with spaces, not with tabs";
	if (at < end && *at == '{' && at > reading->text && at[-1] == '$')
		return "; put ${...} in quotes here";
	for (size_t i = 0; i < sizeof(remedies) / sizeof(remedies[0]); i++)
		if (!strcmp(reading->parser.problem, remedies[i].problem))
			return remedies[i].remedy;
	return "";
}

void reading_syntax_error(struct reading *reading)
{
	const yaml_parser_t *parser = &reading->parser;
	char context[MESSAGE_MAX] = "";

	if (parser->error == YAML_MEMORY_ERROR) {
		reading->source->problems->no_memory = true;
		return;
	}
	// Only what is libyaml's: it quotes nothing of a text that may be secret.
	if (reading->options->why)
		snprintf(reading->options->why, YAML_WHY_MAX, "%s at line %zu, column %zu",
			 parser->problem, parser->problem_mark.line + 1,
			 parser->problem_mark.column + 1);
	if (parser->error == YAML_READER_ERROR) {
		reading_problem(reading, place_of_offset(reading, parser->problem_offset), NULL,
				"%s (0x%02X); save the file as UTF-8 text", parser->problem,
				(unsigned int)parser->problem_value & 0xffffff);
		return;
	}
	if (parser->context && parser->context_mark.index != parser->problem_mark.index) {
		struct place begin = reading_place(reading, &parser->context_mark);

		snprintf(context, sizeof(context), " %s at line %u, column %u", parser->context,
			 begin.line, begin.column);
	}
	reading_problem(reading, reading_place(reading, &parser->problem_mark), NULL, "%s%s%s",
			parser->problem, context, syntax_remedy(reading));
}

/* Count @nodes more; false past YAML_NODES_MAX. */
static bool spend(struct reading *reading, size_t nodes)
{
	struct yaml_source *source = reading->source;

	if (nodes > YAML_NODES_MAX - source->nodes) {
		source->nodes = YAML_NODES_MAX;
		return false;
	}
	source->nodes += nodes;
	return true;
}

bool reading_count_node(struct reading *reading, struct place place)
{
	if (spend(reading, 1))
		return true;
	reading_problem(reading, place, NULL, "document contains more than %d values; shorten it",
			YAML_NODES_MAX);
	return false;
}

void *reading_keep(struct reading *reading, const void *bytes, size_t length)
{
	void *copy = arena_alloc(reading->source->memory, length ? length : 1);

	if (!copy)
		reading->source->problems->no_memory = true;
	else if (length)
		memcpy(copy, bytes, length);
	return copy;
}

struct anchor_search {
	const struct reading *reading;
	const char *name;
};

static bool anchor_is_named(uint32_t id, const void *context)
{
	const struct anchor_search *search = context;

	return !strcmp(search->reading->anchors.items[id].name, search->name);
}

static struct anchor *find_anchor(struct reading *reading, const char *name)
{
	struct anchor_search search = { .reading = reading, .name = name };
	uint32_t id = intern_find(&reading->anchor_index, intern_hash(name, strlen(name)),
				  anchor_is_named, &search);

	return id == INTERN_MISSING ? NULL : &reading->anchors.items[id];
}

bool reading_set_anchor(struct reading *reading, const char *name, struct yaml_node *node)
{
	struct anchor anchor = { .node = node, .open = true };
	struct anchor *old;

	if (!name)
		return true;
	old = find_anchor(reading, name);
	if (old) {
		// YAML lets an anchor be set again; aliases that follow mean the new one.
		old->node = node;
		old->open = true;
		return true;
	}
	anchor.name = reading_keep(reading, name, strlen(name) + 1);
	if (!anchor.name)
		return false;
	if (VECTOR_PUSH(&reading->anchors, anchor) &&
	    intern_insert(&reading->anchor_index, intern_hash(name, strlen(name)),
			  (uint32_t)reading->anchors.count - 1))
		return true;
	reading->source->problems->no_memory = true;
	return false;
}

void reading_close_anchor(struct reading *reading, const char *name, const struct yaml_node *node)
{
	struct anchor *anchor = name ? find_anchor(reading, name) : NULL;

	// Set again by something inside: then it is not ours any more.
	if (anchor && anchor->node == node)
		anchor->open = false;
}

struct yaml_node *reading_alias(struct reading *reading, const char *name, struct place place,
				unsigned int depth, const struct path *path)
{
	const struct anchor *anchor = find_anchor(reading, name);

	if (!anchor) {
		reading_problem(reading, place, path,
				"unknown anchor '%s' referenced; define it before with &%s", name,
				name);
		return NULL;
	}
	if (anchor->open) {
		reading_problem(reading, place, path, "anchor '%s' value contains itself", name);
		return NULL;
	}
	if (depth + anchor->node->height > YAML_DEPTH_MAX) {
		reading_problem(reading, place, NULL,
				"exceeded the maximum depth of %d levels with what alias '%s' "
				"stands for; flatten it",
				YAML_DEPTH_MAX, name);
		return NULL;
	}
	if (spend(reading, anchor->node->weight))
		return anchor->node;
	reading_problem(reading, place, NULL,
			"document contains excessive aliasing: more than %d values; write them out",
			YAML_NODES_MAX);
	return NULL;
}
