// SPDX-License-Identifier: Apache-2.0
/*
 * Messages about syntax are libyaml's own: Go's yaml.v3, and with it the Collector,
 * descends from it and says the same.
 */
#include "yaml.h"

#include "yaml_map.h"
#include "yaml_reading.h"

#include "base/base.h"

#include <string.h>

#define TAG "tag:yaml.org,2002:"

static bool read_event(struct reading *reading, yaml_event_t *event)
{
	if (yaml_parser_parse(&reading->parser, event))
		return true;
	reading_syntax_error(reading);
	return false;
}

static struct place event_place(const struct reading *reading, const yaml_event_t *event)
{
	return reading_place(reading, &event->start_mark);
}

static struct yaml_node *node_create(struct reading *reading, const yaml_event_t *event,
				     enum yaml_kind kind)
{
	struct place place = event_place(reading, event);
	struct yaml_node *node;

	if (!reading_count_node(reading, place))
		return NULL;
	node = arena_alloc(reading->source->memory, sizeof(*node));
	if (!node) {
		reading->source->problems->no_memory = true;
		return NULL;
	}
	node->kind = kind;
	node->place = place;
	node->concealed = reading->options->concealed;
	return node;
}

/* The type that an explicit tag demands, or false for a tag that means nothing here. */
static bool resolve_tagged(const char *tag, const char *text, struct scalar *ret)
{
	static const struct {
		const char *name;
		enum scalar_type type;
	} tags[] = {
		{ TAG "null", SCALAR_NULL },
		{ TAG "bool", SCALAR_BOOL },
		{ TAG "int", SCALAR_INT },
		{ TAG "float", SCALAR_FLOAT },
	};

	*ret = (struct scalar){ .type = SCALAR_STRING };
	if (!strcmp(tag, "!") || !strcmp(tag, TAG "str"))
		return true;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		if (strcmp(tag, tags[i].name))
			continue;
		*ret = scalar_resolve(text);
		if (tags[i].type == SCALAR_FLOAT && ret->type == SCALAR_INT)
			ret->type = SCALAR_FLOAT;
		return ret->type == tags[i].type;
	}
	return false;
}

static struct yaml_node *read_scalar(struct reading *reading, const yaml_event_t *event,
				     const struct path *path)
{
	const char *text = (const char *)event->data.scalar.value;
	const char *tag = (const char *)event->data.scalar.tag;
	size_t length = event->data.scalar.length;
	struct yaml_node *node = node_create(reading, event, YAML_SCALAR);

	if (!node)
		return NULL;
	if (memchr(text, '\0', length)) {
		reading_problem(reading, node->place, path,
				"text with a NUL character is not supported; remove \\0 from it");
		return NULL;
	}
	node->text = arena_strndup(reading->source->memory, text, length);
	if (!node->text) {
		reading->source->problems->no_memory = true;
		return NULL;
	}
	if (!tag) {
		if (event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE)
			node->scalar = scalar_resolve(node->text);
		return node;
	}
	if (resolve_tagged(tag, node->text, &node->scalar))
		return node;
	reading_problem(reading, node->place, path,
			"the tag '%s' is unknown or does not fit the value; remove it", tag);
	return NULL;
}

/* A list's or a map's tag says nothing new, or nothing that is understood. */
static bool check_tag(struct reading *reading, const yaml_event_t *event, const char *tag,
		      const char *expected, const struct path *path)
{
	if (!tag || !strcmp(tag, "!") || !strcmp(tag, expected))
		return true;
	reading_problem(reading, event_place(reading, event), path,
			"the tag '%s' is not supported; remove it", tag);
	return false;
}

static struct yaml_node *read_node(struct reading *reading, yaml_event_t *event, unsigned int depth,
				   const struct path *path);

/* The next event and what it begins; NULL also at @end, which is told by *@ended_ret. */
static struct yaml_node *read_next(struct reading *reading, yaml_event_type_t end, bool *ended_ret,
				   unsigned int depth, const struct path *path)
{
	struct yaml_node *node = NULL;
	yaml_event_t event;

	if (!read_event(reading, &event))
		return NULL;
	*ended_ret = event.type == end;
	if (!*ended_ret)
		node = read_node(reading, &event, depth, path);
	yaml_event_delete(&event);
	return node;
}

static struct yaml_node *read_list(struct reading *reading, struct yaml_node *node,
				   unsigned int depth, const struct path *path)
{
	VECTOR(struct yaml_node *) items = {};
	struct yaml_node *result = NULL;
	bool ended = false;

	node->weight = 0;
	for (;;) {
		struct path here = { .parent = path, .index = items.count };
		struct yaml_node *item =
			read_next(reading, YAML_SEQUENCE_END_EVENT, &ended, depth + 1, &here);

		if (!item)
			break;
		node->weight += item->weight;
		if (item->height > node->height)
			node->height = item->height;
		if (!VECTOR_PUSH(&items, item)) {
			reading->source->problems->no_memory = true;
			break;
		}
	}
	if (ended) {
		node->items =
			reading_keep(reading, items.items, items.count * sizeof(*items.items));
		node->count = items.count;
		result = node->items ? node : NULL;
	}
	VECTOR_DEINIT(&items);
	return result;
}

/* Key and value of the map that @builder collects. False at its end and on failure. */
static bool read_entry(struct reading *reading, struct map_builder *builder, bool *ended_ret,
		       unsigned int depth, const struct path *path)
{
	struct path here = { .parent = path };
	struct yaml_node *key, *value;
	bool value_ended = false;

	key = read_next(reading, YAML_MAPPING_END_EVENT, ended_ret, depth + 1, path);
	if (!key)
		return false;
	if (key->kind != YAML_SCALAR) {
		reading_problem(reading, key->place, path,
				"keys that are lists or maps are not supported; use text");
		return false;
	}
	here.key = key->text;
	value = read_next(reading, YAML_MAPPING_END_EVENT, &value_ended, depth + 1, &here);
	if (!value)
		return false;
	return map_builder_add(builder, key, value, path);
}

static struct yaml_node *read_map(struct reading *reading, struct yaml_node *node,
				  unsigned int depth, const struct path *path)
{
	struct map_builder builder = { .reading = reading };
	struct yaml_node *result = NULL;
	bool ended = false;

	while (read_entry(reading, &builder, &ended, depth, path))
		;
	if (ended && map_builder_finish(&builder, node, path))
		result = node;
	map_builder_deinit(&builder);
	return result;
}

static struct yaml_node *read_collection(struct reading *reading, const yaml_event_t *event,
					 unsigned int depth, const struct path *path)
{
	bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
	const char *anchor = (const char *)(is_list ? event->data.sequence_start.anchor
						    : event->data.mapping_start.anchor);
	const char *tag = (const char *)(is_list ? event->data.sequence_start.tag
						 : event->data.mapping_start.tag);
	struct yaml_node *node;

	if (depth >= YAML_DEPTH_MAX) {
		reading_problem(reading, event_place(reading, event), NULL,
				"exceeded the maximum depth of %d levels; flatten it",
				YAML_DEPTH_MAX);
		return NULL;
	}
	if (!check_tag(reading, event, tag, is_list ? TAG "seq" : TAG "map", path))
		return NULL;
	node = node_create(reading, event, is_list ? YAML_LIST : YAML_MAP);
	// Before its contents, so that an alias inside is seen to be one to itself.
	if (!node || !reading_set_anchor(reading, anchor, node))
		return NULL;
	node = is_list ? read_list(reading, node, depth, path)
		       : read_map(reading, node, depth, path);
	if (node) {
		node->weight++;
		node->height++;
		reading_close_anchor(reading, anchor, node);
	}
	return node;
}

static struct yaml_node *read_node(struct reading *reading, yaml_event_t *event, unsigned int depth,
				   const struct path *path)
{
	struct yaml_node *node;
	const char *anchor;

	switch (event->type) {
	case YAML_ALIAS_EVENT:
		return reading_alias(reading, (const char *)event->data.alias.anchor,
				     event_place(reading, event), depth, path);
	case YAML_SCALAR_EVENT:
		anchor = (const char *)event->data.scalar.anchor;
		node = read_scalar(reading, event, path);
		if (!node || !reading_set_anchor(reading, anchor, node))
			return NULL;
		node->weight = 1;
		reading_close_anchor(reading, anchor, node);
		return node;
	default:
		return read_collection(reading, event, depth, path);
	}
}

/*
 * The one document of the stream; NULL with *@empty_ret for a stream without any,
 * NULL without it when something is wrong.
 */
static struct yaml_node *read_document(struct reading *reading, bool *empty_ret)
{
	struct yaml_node *root;
	yaml_event_t event;
	bool ended;

	if (!read_event(reading, &event))
		return NULL;
	yaml_event_delete(&event); // stream start
	if (!read_event(reading, &event))
		return NULL;
	*empty_ret = event.type == YAML_STREAM_END_EVENT;
	yaml_event_delete(&event);
	if (*empty_ret)
		return NULL;
	root = read_next(reading, YAML_NO_EVENT, &ended, 0, NULL);
	if (!root || !read_event(reading, &event))
		return NULL;
	yaml_event_delete(&event); // document end
	if (!read_event(reading, &event))
		return NULL;
	if (event.type == YAML_STREAM_END_EVENT)
		return root;
	reading_problem(reading, event_place(reading, &event), NULL,
			"found a second YAML document; a configuration is one");
	yaml_event_delete(&event);
	return NULL;
}

struct yaml_node *yaml_create_null(struct yaml_source *source, struct place place)
{
	struct yaml_node *node = arena_alloc(source->memory, sizeof(*node));

	if (!node) {
		source->problems->no_memory = true;
		return NULL;
	}
	node->place = place;
	node->text = "";
	node->scalar.type = SCALAR_NULL;
	node->weight = 1;
	return node;
}

struct yaml_node *yaml_create_map(struct yaml_source *source, struct place place,
				  struct yaml_entry *entries, size_t count)
{
	struct yaml_node *node = arena_alloc(source->memory, sizeof(*node));

	if (!node) {
		source->problems->no_memory = true;
		return NULL;
	}
	node->kind = YAML_MAP;
	node->place = place;
	node->entries = entries;
	node->count = count;
	node->weight = 1;
	for (size_t i = 0; i < count; i++)
		node->weight += 1 + entries[i].value->weight;
	return node;
}

struct yaml_node *yaml_parse(struct yaml_source *source, const struct yaml_text *text)
{
	struct place start = { .line = 1, .column = 1, .source = text->source };
	struct yaml_node *root = NULL;
	struct reading reading;
	bool empty = false;

	if (text->length > YAML_FILE_MAX) {
		if (!text->quiet)
			problems_add(source->problems, start, NULL,
				     "the file is larger than %d bytes; shorten it", YAML_FILE_MAX);
		return NULL;
	}
	if (!reading_init(&reading, source, text))
		return NULL;
	root = read_document(&reading, &empty);
	reading_deinit(&reading);
	return empty ? yaml_create_null(source, text->place ? *text->place : start) : root;
}

struct yaml_node *yaml_parse_value(struct yaml_source *source, const char *text, size_t length,
				   struct place place)
{
	struct yaml_text value = {
		.bytes = text, .length = length, .place = &place, .quiet = true
	};

	return yaml_parse(source, &value);
}

struct yaml_node *yaml_map_find(const struct yaml_node *map, const char *key)
{
	for (size_t i = 0; i < map->count; i++)
		if (!strcmp(map->entries[i].key->text, key))
			return map->entries[i].value;
	return NULL;
}

bool yaml_is_null(const struct yaml_node *node)
{
	return !node || (node->kind == YAML_SCALAR && node->scalar.type == SCALAR_NULL);
}

const char *yaml_hint(const struct yaml_node *node)
{
	return node->hint ? node->hint : "";
}

const char *yaml_shown(const struct yaml_node *node)
{
	return node->concealed ? "..." : node->text;
}

const char *yaml_type_name(const struct yaml_node *node)
{
	if (node->kind == YAML_SCALAR)
		return scalar_type_name(node->scalar.type);
	return node->kind == YAML_LIST ? "slice" : "map";
}
