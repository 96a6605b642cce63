// SPDX-License-Identifier: Apache-2.0
#include "range_sets.h"

#include "base/base.h"

#include <string.h>
#include <sys/random.h>

enum {
	FIRST_CHAINS = 64,
	/*
	 * Where one piece ends and the next begins is told by the ranges that lie there, not by
	 * their number: so one more range changes one piece and leaves the others alone.
	 */
	PIECE_LEAST = 124,
	PIECE_MOST = 252, /* four fill a slab */
	PIECE_ENDS = 64,  /* one range of so many ends a piece */
	PROCESS_SHARE = 8,
};

struct range_sets {
	struct memory *memory;
	uint32_t seeds[2]; /* nobody can choose addresses such that two processes are taken for one
			    */
	struct range_set **chains; /* owned, by hash */
	size_t chain_count;        /* a power of two */
	size_t count;
	size_t kept_bytes; /* of ranges in user space */
};

struct range_sets *range_sets_create(struct memory *memory)
{
	struct range_sets *sets = calloc(1, sizeof(*sets));

	if (!sets)
		return NULL;
	sets->memory = memory;
	sets->chain_count = FIRST_CHAINS;
	sets->chains = calloc(FIRST_CHAINS, sizeof(*sets->chains));
	// Early in boot there may be no randomness yet; an address will do then.
	if (getrandom(sets->seeds, sizeof(sets->seeds), GRND_NONBLOCK) < 0) {
		sets->seeds[0] = (uint32_t)(uintptr_t)sets;
		sets->seeds[1] = ~sets->seeds[0];
	}
	if (sets->chains)
		return sets;
	free(sets);
	return NULL;
}

static void set_destroy(struct range_set *set)
{
	free(set->pieces);
	free(set->ranges);
	free(set);
}

void range_sets_destroy(struct range_sets *sets)
{
	if (!sets)
		return;
	for (size_t i = 0; i < sets->chain_count; i++)
		while (sets->chains[i]) {
			struct range_set *set = sets->chains[i];

			sets->chains[i] = set->next;
			set_destroy(set);
		}
	free(sets->chains);
	free(sets);
}

size_t range_sets_most(const struct range_sets *sets)
{
	uint64_t held = memory_limit(sets->memory) / PROCESS_SHARE / sizeof(struct unwind_range);
	uint64_t led_to = (UNWIND_PIECES - 1ull) * PIECE_LEAST;

	return held < led_to ? held : led_to;
}

size_t range_sets_memory(const struct range_sets *sets)
{
	return sets->kept_bytes;
}

/* ---- objects of one content ---- */

/* Without memory the chains just get longer. */
static void grow(struct range_sets *sets)
{
	size_t count = 2 * sets->chain_count;
	struct range_set **chains = calloc(count, sizeof(*chains));

	if (!chains)
		return;
	for (size_t i = 0; i < sets->chain_count; i++)
		for (struct range_set *set = sets->chains[i], *next; set; set = next) {
			next = set->next;
			set->next = chains[set->hash & (count - 1)];
			chains[set->hash & (count - 1)] = set;
		}
	free(sets->chains);
	sets->chains = chains;
	sets->chain_count = count;
}

static struct range_set *find(const struct range_sets *sets, uint64_t hash, size_t bytes,
			      bool is_list)
{
	struct range_set *set = sets->chains[hash & (sets->chain_count - 1)];

	while (set &&
	       (set->hash != hash || set->bytes != bytes || (set->pieces != NULL) != is_list))
		set = set->next;
	return set;
}

static struct shares *shares_of_all(const struct range_sets *sets)
{
	return memory_shares(sets->memory, MEMORY_FIXED);
}

/* One more use, by @owner. */
static void set_join(struct range_sets *sets, struct range_set *set, struct owner owner)
{
	struct owner joined = owner_join(set->owner, owner);

	shares_move(shares_of_all(sets), set->owner, joined, memory_charge(set->bytes));
	set->owner = joined;
	set->users++;
}

/* A use by @owner of the object that has these bytes; @pieces become its own when it is new. NULL
 * when there is no room. */
static struct range_set *use(struct range_sets *sets, struct owner owner, const void *content,
			     size_t bytes, uint32_t count, struct range_set **pieces)
{
	uint32_t low = intern_hash_seeded(content, bytes, sets->seeds[0]);
	uint64_t hash = low | (uint64_t)intern_hash_seeded(content, bytes, sets->seeds[1]) << 32;
	struct range_set *set = find(sets, hash, bytes, pieces != NULL), **chain;

	if (set) {
		set_join(sets, set, owner);
		return set;
	}
	set = memory_admits(sets->memory, MEMORY_FIXED, owner, bytes) ? calloc(1, sizeof(*set))
								      : NULL;
	if (!set)
		return NULL;
	set->handle = memory_put(sets->memory, MEMORY_FIXED, content, bytes);
	if (!set->handle) {
		free(set);
		return NULL;
	}
	shares_add(shares_of_all(sets), owner, memory_charge(bytes));
	if (sets->count++ >= 2 * sets->chain_count)
		grow(sets);
	chain = &sets->chains[hash & (sets->chain_count - 1)];
	set->next = *chain;
	set->hash = hash;
	set->bytes = (uint32_t)bytes;
	set->count = count;
	set->users = 1;
	set->owner = owner;
	set->pieces = pieces;
	*chain = set;
	return set;
}

static void release_pieces(struct range_sets *sets, struct range_set **pieces, size_t count)
{
	for (size_t i = 0; i < count; i++)
		range_sets_release(sets, pieces[i]);
	free(pieces);
}

void range_sets_release(struct range_sets *sets, struct range_set *set)
{
	struct range_set **link;

	if (!set || --set->users)
		return;
	link = &sets->chains[set->hash & (sets->chain_count - 1)];
	while (*link != set)
		link = &(*link)->next;
	*link = set->next;
	sets->count--;
	sets->kept_bytes -= set->ranges ? set->bytes : 0;
	memory_free(sets->memory, MEMORY_FIXED, set->handle, set->bytes);
	shares_take(shares_of_all(sets), set->owner, memory_charge(set->bytes));
	// Once deep: pieces have none of their own.
	if (set->pieces)
		release_pieces(sets, TAKE(set->pieces), set->count & ~UNWIND_IN_PIECES);
	set_destroy(set);
}

/* ---- pieces ---- */

/* How many of @count ranges make the first piece. */
static size_t piece_length(const struct unwind_range *ranges, size_t count)
{
	if (count <= PIECE_MOST)
		return count;
	for (size_t i = PIECE_LEAST; i < PIECE_MOST; i++) {
		uint64_t mixed = (ranges[i].start >> 12) * 0x9e3779b97f4a7c15ull;

		if ((mixed >> 32) % PIECE_ENDS == 0)
			return i;
	}
	return PIECE_MOST;
}

static struct range_set *use_in_pieces(struct range_sets *sets, struct owner owner,
				       const struct unwind_range *ranges, size_t count)
{
	size_t most = count / PIECE_LEAST + 1, made = 0;
	CLEANUP_FREE struct unwind_piece *list = calloc(most, sizeof(*list));
	struct range_set **pieces = calloc(most, sizeof(struct range_set *)), *set = NULL;

	for (size_t at = 0; list && pieces && at < count;) {
		size_t length = piece_length(ranges + at, count - at);

		pieces[made] = use(sets, owner, ranges + at, length * sizeof(*ranges),
				   (uint32_t)length, NULL);
		if (!pieces[made])
			break;
		list[made] = (struct unwind_piece){ .start = ranges[at].start,
						    .ranges = pieces[made]->handle,
						    .count = (uint32_t)length };
		made++;
		at += length;
		if (at == count)
			set = use(sets, owner, list, made * sizeof(*list),
				  (uint32_t)made | UNWIND_IN_PIECES, pieces);
	}
	if (set && set->pieces == pieces)
		return set;
	// There was no room, or another process has the same list, and with it uses of its own.
	if (pieces)
		release_pieces(sets, pieces, made);
	return set;
}

/* Without memory walks in user space do without. */
static void keep_ranges(struct range_sets *sets, struct range_set *set,
			const struct unwind_range *ranges)
{
	set->ranges = malloc(set->bytes);
	if (!set->ranges)
		return;
	memcpy(set->ranges, ranges, set->bytes);
	sets->kept_bytes += set->bytes;
}

struct range_set *range_sets_use(struct range_sets *sets, struct owner owner,
				 const struct unwind_range *ranges, size_t count)
{
	struct range_set *set;

	if (count > UNWIND_RANGES)
		return use_in_pieces(sets, owner, ranges, count);
	set = use(sets, owner, ranges, count * sizeof(*ranges), (uint32_t)count, NULL);
	if (set && !set->ranges && count <= RANGE_SETS_KEPT)
		keep_ranges(sets, set, ranges);
	return set;
}
