// SPDX-License-Identifier: Apache-2.0
#include "range_sets.h"

#include "base/base.h"

#include <sys/random.h>

enum { CHAINS = 1024 };

struct range_sets {
	struct memory *memory;
	uint32_t seeds[2]; /* nobody can choose addresses such that two processes are taken for one
			    */
	struct range_set *chains[CHAINS]; /* owned; by hash */
};

struct range_sets *range_sets_create(struct memory *memory)
{
	struct range_sets *sets = calloc(1, sizeof(*sets));

	if (!sets)
		return NULL;
	sets->memory = memory;
	// Early in boot there may be no randomness yet; an address will do then.
	if (getrandom(sets->seeds, sizeof(sets->seeds), GRND_NONBLOCK) < 0) {
		sets->seeds[0] = (uint32_t)(uintptr_t)sets;
		sets->seeds[1] = ~sets->seeds[0];
	}
	return sets;
}

void range_sets_destroy(struct range_sets *sets)
{
	if (!sets)
		return;
	for (size_t i = 0; i < CHAINS; i++)
		while (sets->chains[i]) {
			struct range_set *set = sets->chains[i];

			sets->chains[i] = set->next;
			free(set);
		}
	free(sets);
}

static struct range_set *add(struct range_sets *sets, const struct unwind_range *ranges,
			     size_t count)
{
	struct range_set *set = calloc(1, sizeof(*set));

	if (!set)
		return NULL;
	set->handle = memory_put(sets->memory, MEMORY_FIXED, ranges, count * sizeof(*ranges));
	set->count = (uint32_t)count;
	if (set->handle)
		return set;
	free(set);
	return NULL;
}

struct range_set *range_sets_use(struct range_sets *sets, const struct unwind_range *ranges,
				 size_t count)
{
	size_t bytes = count * sizeof(*ranges);
	uint32_t low = intern_hash_seeded(ranges, bytes, sets->seeds[0]);
	uint64_t hash = low | (uint64_t)intern_hash_seeded(ranges, bytes, sets->seeds[1]) << 32;
	struct range_set **chain = &sets->chains[low % CHAINS], *set = *chain;

	while (set && (set->hash != hash || set->count != count))
		set = set->next;
	if (!set) {
		set = add(sets, ranges, count);
		if (!set)
			return NULL;
		set->hash = hash;
		set->next = *chain;
		*chain = set;
	}
	set->users++;
	return set;
}

void range_sets_release(struct range_sets *sets, struct range_set *set)
{
	struct range_set **link;

	if (!set || --set->users)
		return;
	link = &sets->chains[(uint32_t)set->hash % CHAINS];
	while (*link != set)
		link = &(*link)->next;
	*link = set->next;
	memory_free(sets->memory, MEMORY_FIXED, set->handle,
		    set->count * sizeof(struct unwind_range));
	free(set);
}
