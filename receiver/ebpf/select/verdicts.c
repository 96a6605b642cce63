// SPDX-License-Identifier: Apache-2.0
#include "verdicts.h"

#include <sys/random.h>

struct wanted {
	const struct verdicts *verdicts;
	const struct process_key *key;
	uint64_t decided_ns;
	uint64_t earliest_ns, latest_ns;
};

void verdicts_init(struct verdicts *verdicts)
{
	*verdicts = (struct verdicts){ 0 };
	// Early in boot there may be no randomness yet; an address will do then.
	if (getrandom(&verdicts->seed, sizeof(verdicts->seed), GRND_NONBLOCK) < 0)
		verdicts->seed = (uintptr_t)verdicts;
}

void verdicts_deinit(struct verdicts *verdicts)
{
	VECTOR_DEINIT(&verdicts->rows);
	intern_deinit(&verdicts->index);
}

static uint32_t hash_of(const struct verdicts *verdicts, uint32_t pid)
{
	return intern_hash_seeded(&pid, sizeof(pid), verdicts->seed);
}

static bool is_same(uint32_t id, const void *context)
{
	const struct wanted *wanted = context;

	return process_key_equal(&wanted->verdicts->rows.items[id].key, wanted->key);
}

static bool has_lineage(uint32_t id, const void *context)
{
	const struct wanted *wanted = context;
	const struct verdict *verdict = &wanted->verdicts->rows.items[id];

	return verdict->key.pid == wanted->key->pid && verdict->lineage &&
	       verdict->key.start_boottime_ns >= wanted->earliest_ns &&
	       verdict->key.start_boottime_ns <= wanted->latest_ns;
}

static bool is_later(uint32_t id, const void *context)
{
	const struct wanted *wanted = context;
	const struct verdict *verdict = &wanted->verdicts->rows.items[id];

	return verdict->key.pid == wanted->key->pid && verdict->decided_ns > wanted->decided_ns;
}

struct verdict *verdicts_find(struct verdicts *verdicts, const struct process_key *key)
{
	struct wanted wanted = { .verdicts = verdicts, .key = key };
	uint32_t id = intern_find(&verdicts->index, hash_of(verdicts, key->pid), is_same, &wanted);

	return id == INTERN_MISSING ? NULL : &verdicts->rows.items[id];
}

struct verdict *verdicts_find_or_add(struct verdicts *verdicts, const struct process_key *key)
{
	struct verdict *found = verdicts_find(verdicts, key);
	uint32_t id = (uint32_t)verdicts->rows.count;

	if (found)
		return found;
	if (!VECTOR_RESERVE(&verdicts->rows, 1) ||
	    !intern_insert(&verdicts->index, hash_of(verdicts, key->pid), id))
		return NULL;
	verdicts->rows.items[verdicts->rows.count++] = (struct verdict){ .key = *key };
	return &verdicts->rows.items[id];
}

uint64_t verdicts_lineage(const struct verdicts *verdicts, uint32_t pid, uint64_t earliest_ns,
			  uint64_t latest_ns)
{
	struct process_key key = { .pid = pid };
	struct wanted wanted = {
		.verdicts = verdicts,
		.key = &key,
		.earliest_ns = earliest_ns,
		.latest_ns = latest_ns,
	};
	uint32_t id = intern_find(&verdicts->index, hash_of(verdicts, pid), has_lineage, &wanted);

	return id == INTERN_MISSING ? 0 : verdicts->rows.items[id].lineage;
}

bool verdicts_is_superseded(const struct verdicts *verdicts, const struct verdict *verdict)
{
	struct wanted wanted = {
		.verdicts = verdicts,
		.key = &verdict->key,
		.decided_ns = verdict->decided_ns,
	};

	return intern_find(&verdicts->index, hash_of(verdicts, verdict->key.pid), is_later,
			   &wanted) != INTERN_MISSING;
}

void verdicts_sweep(struct verdicts *verdicts,
		    bool (*drop)(void *context, const struct verdict *verdict), void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < verdicts->rows.count; i++)
		if (!drop(context, &verdicts->rows.items[i]))
			verdicts->rows.items[kept++] = verdicts->rows.items[i];
	if (kept == verdicts->rows.count)
		return;
	verdicts->rows.count = kept;
	intern_clear(&verdicts->index);
	// There is room: there were more.
	for (size_t i = 0; i < kept; i++)
		if (!intern_insert(&verdicts->index,
				   hash_of(verdicts, verdicts->rows.items[i].key.pid), (uint32_t)i))
			break;
}
