/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the YAML reader: the entries of one map, with duplicates and merge keys. */
#pragma once

#include "yaml_reading.h"

/* Zero but for @reading. */
struct map_builder {
	struct reading *reading; /* borrowed */
	struct {
		struct yaml_entry *items;
		size_t count, capacity;
	} entries;
	struct intern index; /* key to position */
	const struct yaml_node *merge_key;
	struct yaml_node *merge; /* value of '<<': what to take missing keys from */
};

void map_builder_deinit(struct map_builder *builder);

/* Add one entry as read; @path is the map's. False when the reading has to stop. */
bool map_builder_add(struct map_builder *builder, struct yaml_node *key, struct yaml_node *value,
		     const struct path *path);

/* Merge, and move the entries and their weight to @node. False as above. */
bool map_builder_finish(struct map_builder *builder, struct yaml_node *node,
			const struct path *path);
