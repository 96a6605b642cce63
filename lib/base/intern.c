// SPDX-License-Identifier: Apache-2.0
#include "intern.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum { FIRST_SLOTS = 64 };

uint32_t intern_find(const struct intern *index, uint32_t hash, intern_equal_function equal,
		     const void *context)
{
	if (!index->slots)
		return INTERN_MISSING;
	for (uint32_t at = hash & index->mask;; at = (at + 1) & index->mask) {
		const struct intern_slot *slot = &index->slots[at];

		if (!slot->id_plus_one)
			return INTERN_MISSING;
		if (slot->hash == hash && equal(slot->id_plus_one - 1, context))
			return slot->id_plus_one - 1;
	}
}

static void intern_place(struct intern *index, uint32_t hash, uint32_t id_plus_one)
{
	uint32_t at = hash & index->mask;

	while (index->slots[at].id_plus_one)
		at = (at + 1) & index->mask;
	index->slots[at] = (struct intern_slot){ hash, id_plus_one };
}

static uint64_t slot_count(const struct intern *index)
{
	return index->slots ? (uint64_t)index->mask + 1 : 0;
}

static bool intern_grow(struct intern *index, uint64_t new_count)
{
	uint64_t old_count = slot_count(index);
	struct intern_slot *old = index->slots;

	if (new_count > UINT32_MAX)
		return false;
	index->slots = calloc(new_count, sizeof(*index->slots));
	if (!index->slots) {
		index->slots = old;
		return false;
	}
	index->mask = (uint32_t)new_count - 1;
	for (uint64_t i = 0; i < old_count; i++)
		if (old[i].id_plus_one)
			intern_place(index, old[i].hash, old[i].id_plus_one);
	free(old);
	return true;
}

bool intern_reserve(struct intern *index, uint32_t count)
{
	uint64_t slots = slot_count(index) ? slot_count(index) : FIRST_SLOTS;

	while (slots * 3 / 4 < count)
		slots *= 2;
	return slots == slot_count(index) || intern_grow(index, slots);
}

bool intern_insert(struct intern *index, uint32_t hash, uint32_t id)
{
	if (id >= INTERN_MISSING - 1)
		return false;
	if (index->count >= slot_count(index) * 3 / 4 && !intern_reserve(index, index->count + 1))
		return false;
	intern_place(index, hash, id + 1);
	index->count++;
	return true;
}

void intern_clear(struct intern *index)
{
	if (index->slots && index->count)
		memset(index->slots, 0, ((size_t)index->mask + 1) * sizeof(*index->slots));
	index->count = 0;
}

void intern_deinit(struct intern *index)
{
	free(index->slots);
	*index = (struct intern){ 0 };
}

size_t intern_memory(const struct intern *index)
{
	return index->slots ? ((size_t)index->mask + 1) * sizeof(*index->slots) : 0;
}

uint32_t intern_hash_seeded(const void *bytes, size_t length, uint64_t seed)
{
	uint64_t hash = XXH3_64bits_withSeed(bytes, length, seed);

	return (uint32_t)(hash ^ hash >> 32);
}

uint32_t intern_hash(const void *bytes, size_t length)
{
	return intern_hash_seeded(bytes, length, 0);
}
