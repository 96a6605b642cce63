/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trees on top of each other, as the Collector merges its sources: maps deeply, with
 * the later value winning; lists and everything else replace, also null a map.
 */
#pragma once

#include "yaml.h"

/*
 * @count trees, at least one, each on top of those before it. They stay as they are, aliases may
 * share them; the result has their nodes in it. A map's keys keep the place where they were
 * given first, and their order. NULL without memory, which is reported.
 */
struct yaml_node *merge_nodes(struct yaml_source *source, struct yaml_node **nodes, size_t count);

/* @root, a map, with keys such as `a::b` taken apart to `a: {b: ...}`. NULL as above, and
 * when a key has too many parts. */
struct yaml_node *merge_split_keys(struct yaml_source *source, struct yaml_node *root);
