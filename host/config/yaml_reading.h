/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the YAML reader: libyaml's parser with places, limits and anchors. */
#pragma once

#include "yaml.h"

#include "base/base.h"

#include <yaml.h>

struct anchor {
	const char *name;
	struct yaml_node *node;
	bool open; /* its contents are being read */
};

struct reading {
	yaml_parser_t parser;
	struct yaml_source *source;      /* borrowed */
	const struct yaml_text *options; /* borrowed */
	const char *text;                /* of options, without a byte order mark */
	size_t length;
	struct {
		struct anchor *items;
		size_t count, capacity;
	} anchors;
	struct intern anchor_index; /* name to position */
};

/* @text is borrowed until deinit. False without memory, which is reported. */
bool reading_init(struct reading *reading, struct yaml_source *source,
		  const struct yaml_text *text);
void reading_deinit(struct reading *reading);

struct place reading_place(const struct reading *reading, const yaml_mark_t *mark);

/* Report unless the text is quiet. The caller gives up. */
void reading_problem(struct reading *reading, struct place place, const struct path *path,
		     const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Report what libyaml did not like. */
void reading_syntax_error(struct reading *reading);

/* Count one more node; false past YAML_NODES_MAX, which is reported. */
bool reading_count_node(struct reading *reading, struct place place);

/* A copy in the arena, never NULL for 0 bytes; NULL without memory, which is reported. */
void *reading_keep(struct reading *reading, const void *bytes, size_t length);

/* Name @node, whose contents follow. @name may be NULL. False without memory. */
bool reading_set_anchor(struct reading *reading, const char *name, struct yaml_node *node);

/* The contents of @node are complete: it may be referred to. @name may be NULL. */
void reading_close_anchor(struct reading *reading, const char *name, const struct yaml_node *node);

/* What *@name stands for, @depth levels below the root; NULL and a report when there is nothing
 * or too much. */
struct yaml_node *reading_alias(struct reading *reading, const char *name, struct place place,
				unsigned int depth, const struct path *path);
