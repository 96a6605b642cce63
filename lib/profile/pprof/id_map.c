// SPDX-License-Identifier: Apache-2.0
#include "id_map.h"

#include <errno.h>
#include <sys/random.h>

struct lookup {
	const struct id_map *map;
	uint64_t id;
};

static bool lookup_equal(uint32_t entry, const void *context)
{
	const struct lookup *lookup = context;

	return lookup->map->entries.items[entry].id == lookup->id;
}

void id_map_init(struct id_map *map)
{
	*map = (struct id_map){ 0 };
	if (getrandom(&map->seed, sizeof(map->seed), GRND_NONBLOCK) != sizeof(map->seed))
		map->seed = clock_monotonic_ns();
}

void id_map_deinit(struct id_map *map)
{
	VECTOR_DEINIT(&map->entries);
	intern_deinit(&map->index);
}

static uint32_t entry_find(const struct id_map *map, uint64_t id, uint32_t *hash_ret)
{
	struct lookup lookup = { .map = map, .id = id };

	*hash_ret = intern_hash_seeded(&id, sizeof(id), map->seed);
	return intern_find(&map->index, *hash_ret, lookup_equal, &lookup);
}

int id_map_add(struct id_map *map, uint64_t id, uint32_t row)
{
	uint32_t hash;

	if (!id)
		return -EINVAL;
	if (entry_find(map, id, &hash) != INTERN_MISSING)
		return -EEXIST;
	if (!VECTOR_PUSH(&map->entries, ((struct id_entry){ id, row })) ||
	    !intern_insert(&map->index, hash, (uint32_t)map->entries.count - 1))
		return -ENOMEM;
	return 0;
}

bool id_map_find(const struct id_map *map, uint64_t id, uint32_t *row_ret)
{
	uint32_t hash, entry = entry_find(map, id, &hash);

	if (entry == INTERN_MISSING)
		return false;
	*row_ret = map->entries.items[entry].row;
	return true;
}
