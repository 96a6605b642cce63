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
	YAML_WHY_MAX = 256,
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
	unsigned int height;  /* levels of lists and maps below and with it, aliases included */
	struct scalar scalar; /* SCALAR; quoted text is of type STRING */
	/*
	 * SCALAR: its characters, without NUL inside. LIST and MAP that a variable held:
	 * the variable's text.
	 */
	const char *text;
	bool expanded;      /* expand_tree() has seen it */
	bool broken;        /* a problem with it is reported: nothing more to say */
	bool from_variable; /* where text is wanted, @text is it, whatever the type */
	bool concealed;     /* @text is, or has in it, what a variable or file holds that may be
			     * secret: messages do not show it */
	const char *hint;   /* why it is only text (see yaml_hint), or NULL */
	struct yaml_node **items;   /* LIST */
	struct yaml_entry *entries; /* MAP, in the order of the file, merged ones last */
	size_t count;               /* of items or entries */
};

/* What all texts of one configuration share: files, variables, arguments. */
struct yaml_source {
	struct arena *memory;
	struct problems *problems;
	size_t nodes; /* made so far, counted as YAML_NODES_MAX says */
};

/* A text to be read, borrowed for the call. */
struct yaml_text {
	const char *bytes;
	size_t length;
	unsigned int source;       /* where its places are (problems_add_source) */
	unsigned int prefix;       /* characters of its first line that the user did not write */
	const struct place *place; /* of all nodes instead of their own; or NULL */
	bool concealed;            /* of all nodes */
	bool quiet; /* report nothing: NULL means that it is not YAML or breaks a limit */
	char *why;  /* receives what syntax error there is, YAML_WHY_MAX bytes; or NULL */
};

/*
 * The one document of @text; empty text is null. NULL when there is no tree, and then,
 * unless quiet, at least one problem is reported; duplicate keys are reported and the
 * first one kept.
 */
struct yaml_node *yaml_parse(struct yaml_source *source, const struct yaml_text *text);

/* A value that stands elsewhere, a variable's or a default's: quiet, with all nodes at @place. */
struct yaml_node *yaml_parse_value(struct yaml_source *source, const char *text, size_t length,
				   struct place place);

/* A null without text, a map of @count entries that the caller owns no more (they lie in the
 * arena). NULL without memory or past the limit, which is reported. */
struct yaml_node *yaml_create_null(struct yaml_source *source, struct place place);
struct yaml_node *yaml_create_map(struct yaml_source *source, struct place place,
				  struct yaml_entry *entries, size_t count);

/* The value of @key in @map, or NULL. */
struct yaml_node *yaml_map_find(const struct yaml_node *map, const char *key);

/* NULL and a null scalar: nothing is said, the default holds. */
bool yaml_is_null(const struct yaml_node *node);

/* For a message that @node has the wrong type: what it was taken for and why, with "; " in
 * front; "" mostly. */
const char *yaml_hint(const struct yaml_node *node);

/* The text of @node for a message, "..." where it is concealed. */
const char *yaml_shown(const struct yaml_node *node);

/* What the Collector's messages call the node's type: "map", "slice", "int", ... */
const char *yaml_type_name(const struct yaml_node *node);
