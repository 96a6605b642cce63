// SPDX-License-Identifier: Apache-2.0
#include "unselected.h"

#include "base/base.h"

#include <errno.h>
#include <sys/mman.h>

static const size_t TABLE_BYTES = SELECT_BUCKETS * sizeof(struct select_bucket);

int unselected_init(struct unselected *unselected, int map)
{
	void *memory = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, map, 0);

	if (memory == MAP_FAILED)
		return -errno;
	*unselected = (struct unselected){ .buckets = memory };
	return 0;
}

void unselected_deinit(struct unselected *unselected)
{
	if (unselected->buckets)
		munmap(TAKE(unselected->buckets), TABLE_BYTES);
}

static uint64_t word_of(const struct process_key *key)
{
	return key->pid | (uint64_t)unwind_identity(key->start_boottime_ns, key->exec_id) << 32;
}

static __u64 *slots_of(const struct unselected *unselected, uint32_t pid)
{
	return unselected->buckets[pid & (SELECT_BUCKETS - 1)].slots;
}

static void store(__u64 *slot, uint64_t word)
{
	__atomic_store_n(slot, word, __ATOMIC_RELEASE);
}

/* The slot that holds the process @pid, else a free one, else one that its number chooses. */
static __u64 *choose_slot(struct unselected *unselected, uint32_t pid)
{
	__u64 *slots = slots_of(unselected, pid), *available = NULL;

	for (size_t i = 0; i < SELECT_SLOTS; i++) {
		if ((uint32_t)slots[i] == pid)
			return &slots[i];
		if (!slots[i] && !available)
			available = &slots[i];
	}
	if (available)
		return available;
	unselected->displaced++;
	return &slots[pid / SELECT_BUCKETS % SELECT_SLOTS];
}

void unselected_add(struct unselected *unselected, const struct process_key *key)
{
	if (unselected->buckets)
		store(choose_slot(unselected, key->pid), word_of(key));
}

void unselected_remove(struct unselected *unselected, const struct process_key *key)
{
	__u64 *slots, word = word_of(key);

	if (!unselected->buckets)
		return;
	slots = slots_of(unselected, key->pid);
	for (size_t i = 0; i < SELECT_SLOTS; i++)
		if (slots[i] == word)
			store(&slots[i], 0);
}

void unselected_clear(struct unselected *unselected)
{
	for (size_t b = 0; unselected->buckets && b < SELECT_BUCKETS; b++)
		for (size_t i = 0; i < SELECT_SLOTS; i++)
			store(&unselected->buckets[b].slots[i], 0);
}
