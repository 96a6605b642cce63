/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the ids of a pprof file, arbitrary numbers, stand for in the batch being
 * built. Hashed with a secret seed, since whoever wrote the file chose the ids.
 */
#pragma once

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

struct id_entry {
	uint64_t id;
	uint32_t row; /* in the batch */
};

struct id_map {
	VECTOR(struct id_entry) entries;
	struct intern index;
	uint64_t seed;
};

void id_map_init(struct id_map *map);
void id_map_deinit(struct id_map *map);

/* 0, or -EINVAL for id 0, -EEXIST for one that is there, -ENOMEM. */
int id_map_add(struct id_map *map, uint64_t id, uint32_t row);

bool id_map_find(const struct id_map *map, uint64_t id, uint32_t *row_ret);
