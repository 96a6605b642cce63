/* SPDX-License-Identifier: Apache-2.0 */
/*
 * YAML text to a tree whose nodes know their place: libyaml's events, bounded.
 *
 * Refused, because no configuration needs it and a hostile or mistaken file must
 * not hurt: more than YAML_FILE_MAX bytes, YAML_DEPTH_MAX levels, YAML_NODES_MAX
 * values with every alias counted as what it stands for, a key given twice, a
 * second document, keys that are not text, text with a NUL, unknown tags.
 *
 * An alias shares the node of its anchor, so the tree is a graph without cycles.
 * Everything lives in the arena. One thread at a time.
 */
#pragma once

#include "problems.h"
#include "scalar.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	YAML_FILE_MAX = 1 << 20, /* bytes */
	YAML_DEPTH_MAX = 64,
	YAML_NODES_MAX = 100000,
};

enum yaml_kind { YAML_SCALAR, YAML_LIST, YAML_MAP };

struct yaml_entry {
	const struct yaml_node *key; /* a scalar; its type means nothing */
	struct yaml_node *value;
};

struct yaml_node {
	enum yaml_kind kind;
	struct place place;
	size_t weight;        /* nodes in it, aliases counted as what they stand for */
	struct scalar scalar; /* SCALAR; quoted text is of type STRING */
	/*
	 * SCALAR: its characters, without NUL inside. LIST and MAP that a variable held:
	 * the variable's text.
	 */
	const char *text;
	bool expanded;              /* expand_tree() has seen it */
	bool broken;                /* a problem with it is reported: nothing more to say */
	bool from_variable;         /* where text is wanted, @text is it, whatever the type */
	struct yaml_node **items;   /* LIST */
	struct yaml_entry *entries; /* MAP, in the order of the file, merged ones last */
	size_t count;               /* of items or entries */
};

/* What all texts of one configuration share: a file and the variables it names. */
struct yaml_source {
	struct arena *memory;
	struct problems *problems;
	size_t nodes; /* made so far, counted as YAML_NODES_MAX says */
};

/*
 * A whole file. NULL when there is no tree, and then at least one problem is
 * reported; duplicate keys are reported and the first one kept.
 */
struct yaml_node *yaml_parse_file(struct yaml_source *source, const char *text, size_t length);

/*
 * A value that stands elsewhere than in the file: a variable's, a default's. All
 * its nodes get @place. Reports no problems: NULL means that @text is not YAML or
 * breaks a limit. Empty text is null.
 */
struct yaml_node *yaml_parse_value(struct yaml_source *source, const char *text, size_t length,
				   struct place place);

/* The value of @key in @map, or NULL. */
struct yaml_node *yaml_map_find(const struct yaml_node *map, const char *key);

/* NULL and a null scalar: nothing is said, the default holds. */
bool yaml_is_null(const struct yaml_node *node);

/* What the Collector's messages call the node's type: "map", "slice", "int", ... */
const char *yaml_type_name(const struct yaml_node *node);
