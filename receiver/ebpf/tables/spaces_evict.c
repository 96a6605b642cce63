// SPDX-License-Identifier: Apache-2.0
/* Which processes make room for others: where they stand in the index, and in the memory. */
#include "spaces_parts.h"

#include <stdlib.h>

enum { EVICTED_SHARE = 8 }; /* of the processes, when their ranges take too much memory */

/* A process is as good as running that was sampled so short a time before another one. */
static const uint64_t RECENT_NS = 10000000000;

uint64_t spaces_last_sample(const struct spaces *spaces, const struct space_ranges *space)
{
	uint64_t noted_ns = processes_last_sample(spaces->processes, &space->key);

	return noted_ns > space->missed_ns ? noted_ns : space->missed_ns;
}

bool spaces_can_go(uint64_t sampled_ns, uint64_t now_ns)
{
	return !sampled_ns || sampled_ns + RECENT_NS <= now_ns;
}

static struct space_ranges *find_by_pid(const struct spaces *spaces, uint32_t pid)
{
	struct space_ranges *space = spaces->chains[pid % SPACES_CHAINS];

	while (space && space->key.pid != pid)
		space = space->next;
	return space;
}

/* Of @rivals the one sampled longest ago, those of @owner if that is not NULL; or NULL. */
static struct space_ranges *find_oldest(const struct spaces *spaces,
					struct space_ranges *const *rivals, size_t count,
					const struct owner *owner)
{
	struct space_ranges *oldest = NULL;
	uint64_t oldest_ns = UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		uint64_t sampled_ns = spaces_last_sample(spaces, rivals[i]);

		if ((owner && !owner_is(rivals[i]->owner, *owner)) || sampled_ns >= oldest_ns)
			continue;
		oldest_ns = sampled_ns;
		oldest = rivals[i];
	}
	return oldest;
}

/* Whose of @rivals goes for one of @owner's though it runs; false: nobody's. */
static bool find_yielding(struct space_ranges *const *rivals, size_t count, struct owner owner,
			  struct owner *ret)
{
	struct shares shares = { 0 };
	bool found;

	for (size_t i = 0; i < count; i++)
		shares_add(&shares, rivals[i]->owner, 1);
	found = shares_yields(&shares, owner, 1, ret);
	shares_deinit(&shares);
	return found;
}

struct space_ranges *spaces_find_rival(struct spaces *spaces, const struct space_ranges *space)
{
	uint32_t pids[UNWIND_BUCKET_SLOTS];
	size_t there = process_index_rivals(spaces->index, space->key.pid, pids), count = 0;
	struct space_ranges *rivals[UNWIND_BUCKET_SLOTS], *oldest;
	uint64_t own_ns = spaces_last_sample(spaces, space);
	struct owner yielding;

	for (size_t i = 0; own_ns && i < there; i++) {
		struct space_ranges *rival = find_by_pid(spaces, pids[i]);

		if (rival)
			rivals[count++] = rival;
	}
	oldest = find_oldest(spaces, rivals, count, NULL);
	if (!oldest || spaces_can_go(spaces_last_sample(spaces, oldest), own_ns))
		return oldest;
	if (!find_yielding(rivals, count, space->owner, &yielding))
		return NULL;
	return find_oldest(spaces, rivals, count, &yielding);
}

struct candidate {
	struct space_ranges *space;
	uint64_t sampled_ns;
};

static int compare_candidates(const void *left, const void *right)
{
	uint64_t a = ((const struct candidate *)left)->sampled_ns;
	uint64_t b = ((const struct candidate *)right)->sampled_ns;

	return a < b ? -1 : a > b;
}

/* What of the largest owner's goes although it runs, so that there is room for others. */
static void make_others_yield(struct spaces *spaces, const struct candidate *candidates,
			      size_t count)
{
	struct owner largest;

	for (size_t i = 0; i < count; i++) {
		if (!memory_largest(spaces->memory, MEMORY_FIXED, &largest))
			return;
		if (candidates[i].space->set && owner_is(candidates[i].space->set->owner, largest))
			spaces_evict(spaces, candidates[i].space);
	}
}

/*
 * Those never sampled make room for those that are, or else those sampled longest ago: an eighth,
 * so that this is rare. Their memory is free a moment later: there may be walks under way.
 */
static void make_idle_yield(struct spaces *spaces, const struct candidate *candidates, size_t count,
			    uint64_t now_ns)
{
	size_t wanted = spaces->counts.processes / EVICTED_SHARE + 1;

	for (size_t i = 0; i < count; i++) {
		uint64_t sampled_ns = candidates[i].sampled_ns;

		if ((sampled_ns && i >= wanted) || !spaces_can_go(sampled_ns, now_ns))
			return;
		spaces_evict(spaces, candidates[i].space);
	}
}

void spaces_make_memory(struct spaces *spaces, uint64_t now_ns)
{
	VECTOR(struct candidate) candidates = { 0 };
	struct owner largest;

	if (!spaces->wants_memory && !memory_largest(spaces->memory, MEMORY_FIXED, &largest))
		return;
	for (size_t i = 0; i < SPACES_CHAINS; i++)
		for (struct space_ranges *space = spaces->chains[i]; space; space = space->next)
			if (space->set)
				// Without memory, another time.
				(void)VECTOR_PUSH(
					&candidates,
					((struct candidate){ space,
							     spaces_last_sample(spaces, space) }));
	if (candidates.count)
		qsort(candidates.items, candidates.count, sizeof(*candidates.items),
		      compare_candidates);
	if (spaces->wants_memory)
		make_idle_yield(spaces, candidates.items, candidates.count, now_ns);
	make_others_yield(spaces, candidates.items, candidates.count);
	VECTOR_DEINIT(&candidates);
	spaces->wants_memory = false;
}
