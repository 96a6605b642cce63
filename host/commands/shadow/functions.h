/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function a place is in. Another profiler may send addresses without names: ours name them,
 * where they are addresses that ours have seen as well, lie between two of one function, or
 * close to one. What stays without a name is a function of its own, one for each file.
 */
#pragma once

#include "tally.h"

struct function {
	uint32_t file;
	uint32_t name; /* text id; 0 = whatever has no name */
};

struct functions {
	const struct places *places; /* borrowed */
	VECTOR(struct function) items;
	struct intern index;
	uint32_t *of_place; /* owned; by place id */
	uint32_t *of_name;  /* owned; by text id: a function of ours with that name, + 1 */
	uint32_t *points;   /* owned: places of ours with names, by file and address */
	size_t point_count;
	uint64_t *root_places;    /* owned; by place id: stacks of ours that end there, unmarked */
	uint64_t *root_functions; /* owned; by function: the same */
};

/* Of all places of @tally, which is closed and borrowed. False without memory. */
bool functions_init(struct functions *functions, const struct tally *tally);
void functions_deinit(struct functions *functions);

/* Is the stack of @row complete, whoever has told it? It is when it ends where several of ours do
 * without a mark that they were cut: one alone may be one that ours has taken for complete. */
bool functions_is_whole(const struct functions *functions, const struct tally_row *row);
