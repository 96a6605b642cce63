/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the configuration: what is known of its sources before they are decoded. */
#pragma once

#include "config.h"
#include "problems.h"
#include "retrieve.h"
#include "yaml.h"

/* Lies in its own arena. */
struct config_tree {
	struct arena *memory; /* owned; becomes the config's */
	struct problems problems;
	struct yaml_source source;
	struct retriever retriever;
	struct {
		struct yaml_node **items; /* a map or null of each source that has something */
		size_t count, capacity;
	} parts;                /* owned; merged to @root when all are read */
	struct yaml_node *root; /* a map or null; NULL when nothing could be read */
	bool looks_at_paths;    /* as the sources' */
	bool without_plugins;   /* reported: who knows which types they would have brought? */
	bool incomplete;        /* a source could not be read, or is no YAML */
};

/* Its arena lives on, all else is freed. */
void tree_release(struct config_tree *tree);

/* Read everything that @sources names and merge it to tree->root; problems go to the tree's list,
 * and with some of them the root stays NULL. */
void sources_read(struct config_tree *tree, const struct config_sources *sources);

/* The same from one text. */
void sources_read_text(struct config_tree *tree, const char *name, const char *text, size_t length);
