// SPDX-License-Identifier: Apache-2.0
#include "process_index.h"

#include "base/base.h"

/* Of all memory. One process needs 32 bytes here, its ranges some hundred. */
enum { SHARE = 64 };

uint32_t process_index_size(uint64_t limit_bytes)
{
	uint64_t most = limit_bytes / SHARE / sizeof(struct unwind_bucket);
	uint32_t count = 1;

	while (2ull * count <= most && count < 1u << 31)
		count *= 2;
	return count;
}

static struct unwind_bucket *bucket_of(const struct process_index *index, uint32_t pid)
{
	return &index->buckets[pid & (index->count - 1)];
}

static struct unwind_process *find_slot(const struct process_index *index, uint32_t pid)
{
	struct unwind_bucket *bucket = bucket_of(index, pid);

	for (size_t i = 0; i < UNWIND_BUCKET_SLOTS; i++)
		if (bucket->slots[i].who && (uint32_t)bucket->slots[i].who == pid)
			return &bucket->slots[i];
	return NULL;
}

static struct unwind_process *free_slot(const struct process_index *index, uint32_t pid)
{
	struct unwind_bucket *bucket = bucket_of(index, pid);

	for (size_t i = 0; i < UNWIND_BUCKET_SLOTS; i++)
		if (!bucket->slots[i].who)
			return &bucket->slots[i];
	return NULL;
}

bool process_index_set(struct process_index *index, uint32_t pid, uint32_t identity,
		       uint32_t ranges, uint32_t count, uint32_t labels)
{
	uint64_t who = pid | (uint64_t)identity << 32, code = ranges | (uint64_t)count << 32;
	// The rest says how it is walked, not what its code is.
	const uint64_t where = (uint64_t)(UNWIND_IN_PIECES | UNWIND_COUNT) << 32 | UINT32_MAX;
	struct unwind_bucket *bucket = bucket_of(index, pid);
	struct unwind_process *slot = find_slot(index, pid);

	if (!slot)
		slot = free_slot(index, pid);
	if (!slot)
		return false;
	// A walk that reads between the two finds nobody, and one that began before looks again.
	if (slot->who != who)
		__atomic_store_n(&slot->who, 0, __ATOMIC_SEQ_CST);
	// First, so that no fork of before takes the new code for its own.
	if (slot->who != who || ((slot->code ^ code) & where))
		__atomic_store_n(&bucket->since_ns[slot - bucket->slots], clock_boottime_ns(),
				 __ATOMIC_SEQ_CST);
	__atomic_store_n(&bucket->labels[slot - bucket->slots], labels, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->code, code, __ATOMIC_SEQ_CST);
	__atomic_store_n(&slot->who, who, __ATOMIC_SEQ_CST);
	return true;
}

bool process_index_has_room(const struct process_index *index, uint32_t pid)
{
	return find_slot(index, pid) || free_slot(index, pid);
}

size_t process_index_rivals(const struct process_index *index, uint32_t pid,
			    uint32_t pids[UNWIND_BUCKET_SLOTS])
{
	const struct unwind_bucket *bucket = bucket_of(index, pid);
	size_t count = 0;

	for (size_t i = 0; i < UNWIND_BUCKET_SLOTS; i++)
		if (bucket->slots[i].who && (uint32_t)bucket->slots[i].who != pid)
			pids[count++] = (uint32_t)bucket->slots[i].who;
	return count;
}

void process_index_remove(struct process_index *index, uint32_t pid)
{
	struct unwind_process *slot = find_slot(index, pid);

	if (slot)
		__atomic_store_n(&slot->who, 0, __ATOMIC_SEQ_CST);
}
