// SPDX-License-Identifier: Apache-2.0
#include "seen.h"

#include "base/base.h"

#include <sys/random.h>

bool seen_init(struct seen *seen)
{
	*seen = (struct seen){ .entries = calloc(SEEN_CAPACITY, sizeof(*seen->entries)) };
	// Without it the owner of files could choose sizes and times that share a place.
	if (getrandom(&seen->seed, sizeof(seen->seed), GRND_NONBLOCK) != sizeof(seen->seed))
		seen->seed = clock_monotonic_ns();
	return seen->entries;
}

void seen_deinit(struct seen *seen)
{
	free(seen->entries);
}

void seen_begin(struct seen *seen)
{
	// 0 says that a place is empty.
	if (!++seen->round)
		seen->round = 1;
	seen->met = 0;
}

static struct seen_entry entry_of(const struct stat *status)
{
	return (struct seen_entry){
		.device = status->st_dev,
		.inode = status->st_ino,
		.bytes = (uint64_t)status->st_size,
		.modified_ns = (uint64_t)status->st_mtim.tv_sec * 1000000000 +
			       (uint64_t)status->st_mtim.tv_nsec,
	};
}

/* The place of @wanted, whether it is there or not. */
static struct seen_entry *place_of(const struct seen *seen, const struct seen_entry *wanted)
{
	const uint64_t words[] = { wanted->device, wanted->inode, wanted->bytes,
				   wanted->modified_ns };
	uint32_t hash = intern_hash_seeded(words, sizeof(words), seen->seed);
	struct seen_entry *entry;

	for (;; hash++) {
		entry = &seen->entries[hash % SEEN_CAPACITY];
		if (!entry->round ||
		    (entry->inode == wanted->inode && entry->device == wanted->device &&
		     entry->bytes == wanted->bytes && entry->modified_ns == wanted->modified_ns))
			return entry;
	}
}

bool seen_find(struct seen *seen, const struct stat *status)
{
	const struct seen_entry wanted = entry_of(status);
	struct seen_entry *entry = place_of(seen, &wanted);

	if (!entry->round)
		return false;
	seen->met += entry->round != seen->round;
	entry->round = seen->round;
	return true;
}

static void put(struct seen *seen, const struct seen_entry *entry, uint32_t round)
{
	struct seen_entry *place = place_of(seen, entry);

	seen->count += !place->round;
	seen->changes += !place->round;
	seen->met += place->round != round;
	*place = *entry;
	place->round = round;
}

bool seen_add(struct seen *seen, const struct stat *status)
{
	const struct seen_entry entry = entry_of(status);

	if (seen->count >= SEEN_MOST)
		return false;
	put(seen, &entry, seen->round);
	return true;
}

void seen_end(struct seen *seen)
{
	struct seen fresh;

	// Without memory they are remembered a little longer.
	if (seen->met == seen->count || !seen_init(&fresh))
		return;
	fresh.round = seen->round;
	fresh.changes = seen->changes + 1;
	for (size_t i = 0; i < SEEN_CAPACITY; i++)
		if (seen->entries[i].round == seen->round)
			put(&fresh, &seen->entries[i], fresh.round);
	seen_deinit(seen);
	*seen = fresh;
}
