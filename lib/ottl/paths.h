/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What paths there are, and how they are read. Those of resource, scope, profile and sample are the
 * Collector's (pkg/ottl/contexts of opentelemetry-collector-contrib 0.159); frame, mapping and
 * stack are ours.
 */
#pragma once

#include "evaluate.h"

struct path {
	const char *owner; /* "resource", "frame", ...; NULL for the cache that every context has */
	const char *name;  /* with its dots, without the owner */
	unsigned int reads;
	/* Either reads the value, false with a message when it has none; ... */
	bool (*read)(struct evaluation *evaluation, struct value *ret);
	/* ... or gives the id of a list of attributes, which may be indexed. */
	uint32_t (*attributes)(const struct evaluation *evaluation);
};

/* All of them (path_table.c). */
const struct path *path_table(size_t *count_ret);

/*
 * Resolve the path @node of a condition for @context: set its path, keys and reads. CONFIG with
 * "LINE:COLUMN: " and the nearest name. With @needs_owner, every path has to say whose it is.
 */
PROFCOL_MUST_CHECK struct profcol_error *path_resolve(enum ottl_context context, bool needs_owner,
						      struct node *node);

/* The context that @node's first name asks for; false when it says none. */
bool path_context(const struct node *node, enum ottl_context *ret);

/* Is @node a path that names @context, or something in it? */
bool path_is_of(const struct node *node, enum ottl_context context);

/* The value of @path itself, without keys. */
bool path_read(const struct path *path, struct evaluation *evaluation, struct value *ret);

/* The value of attribute @key of the list that @path gives, nil when there is none. */
bool path_read_attribute(const struct path *path, struct evaluation *evaluation,
			 struct profcol_text key, struct value *ret);
