// SPDX-License-Identifier: Apache-2.0
/* Which processes go when there is no room for all. */
#include "table.h"

#include "base/base.h"

/* What goes sooner has the lesser rank and, within it, the lesser time. */
struct candidate {
	struct process *process; /* NULL: it has gone */
	struct owner owner;
	uint64_t bytes;
	uint64_t time_ns;
	int rank;
};

struct candidates {
	struct candidate *items; /* owned; by owner, and of each what goes first first */
	size_t count;
	struct shares shares; /* bytes */
};

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_candidates(const void *left, const void *right)
{
	const struct candidate *a = left, *b = right;

	if (a->owner.uid != b->owner.uid)
		return compare(a->owner.uid, b->owner.uid);
	if (a->owner.container != b->owner.container)
		return compare(a->owner.container, b->owner.container);
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return compare(a->time_ns, b->time_ns);
}

static struct candidate candidate_of(struct process *process)
{
	struct candidate candidate = { .process = process, .owner = process->owner };

	if (process->end_ns != PROCESS_ALIVE) {
		candidate.time_ns = process->end_ns;
	} else if (!process->sampled_ns) {
		candidate.time_ns = process->begin_ns;
		candidate.rank = 1;
	} else {
		candidate.time_ns = process->sampled_ns;
		candidate.rank = 2;
	}
	return candidate;
}

static uint64_t bytes_of_space(const struct space *space, bool texts)
{
	return texts ? space->path_bytes : sizeof(*space) + mappings_memory(&space->mappings);
}

/* Of what @process has, or its texts alone. What it shares with its parent is its parent's, and its
 * part of it too, lest what a parent that has gone leaves behind be nobody's. */
static uint64_t bytes_of(const struct process *process, bool texts)
{
	uint64_t bytes = texts ? 0 : sizeof(*process);

	for (const struct space *space = process->space; space; space = space->older) {
		bytes += bytes_of_space(space, texts);
		for (const struct space *parent = space->parent; parent; parent = parent->parent)
			bytes += bytes_of_space(parent, texts) / (parent->references + 1);
	}
	return bytes;
}

/* Do processes, and the texts they refer to, take more than so many eighths of what there is for
 * them? */
static bool takes_more_memory(const struct table *table, size_t eighths)
{
	return table_memory(table) > table->max_bytes / 8 * eighths;
}

static bool takes_more_texts(const struct table *table, size_t eighths)
{
	const struct texts *texts = &table->pool.texts;

	return texts_used(texts) > texts->max_bytes / 8 * eighths;
}

static bool list_candidates(const struct table *table, bool texts, struct candidates *ret)
{
	*ret = (struct candidates){ .items = calloc(table->count + 1, sizeof(*ret->items)) };
	if (!ret->items)
		return false;
	for (size_t i = 0; i < table->bucket_count; i++)
		for (struct process *process = table->buckets[i]; process;
		     process = process->next) {
			struct candidate *candidate = &ret->items[ret->count++];

			*candidate = candidate_of(process);
			candidate->bytes = bytes_of(process, texts);
			shares_add(&ret->shares, candidate->owner, candidate->bytes);
		}
	qsort(ret->items, ret->count, sizeof(*ret->items), compare_candidates);
	return true;
}

/* The first of @owner's. */
static size_t first_of(const struct candidates *candidates, struct owner owner)
{
	const struct candidate wanted = { .owner = owner };
	size_t low = 0, high = candidates->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (compare_candidates(&candidates->items[middle], &wanted) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Drop an eighth of what @owner has. False: there was nothing. */
static bool drop_some(struct table *table, struct candidates *candidates, struct owner owner)
{
	uint64_t wanted = shares_of(&candidates->shares, owner) / 8 + 1, dropped = 0;

	for (size_t i = first_of(candidates, owner); dropped < wanted; i++) {
		struct candidate *candidate = &candidates->items[i];

		if (i >= candidates->count || !owner_is(candidate->owner, owner))
			break;
		if (!candidate->process || !candidate->bytes)
			continue;
		table_drop(table, TAKE(candidate->process));
		dropped += candidate->bytes;
		table->evicted++;
	}
	shares_take(&candidates->shares, owner, dropped);
	return dropped;
}

/* An eighth more than needed, so that this is rare. */
static void evict(struct table *table, bool texts)
{
	struct candidates candidates;
	struct owner largest;

	if (!list_candidates(table, texts, &candidates))
		return;
	while ((texts ? takes_more_texts(table, 6) : takes_more_memory(table, 7)) &&
	       shares_largest(&candidates.shares, 0, &largest) &&
	       drop_some(table, &candidates, largest))
		;
	shares_deinit(&candidates.shares);
	free(candidates.items);
}

void table_evict(struct table *table)
{
	struct texts *texts = &table->pool.texts;

	if (texts->memory > texts->max_bytes / 8 * 7)
		texts_reclaim(texts);
	if (takes_more_memory(table, 8))
		evict(table, false);
	if (takes_more_texts(table, 7))
		evict(table, true);
	if (texts->memory > texts->max_bytes / 8 * 7)
		texts_reclaim(texts);
}
