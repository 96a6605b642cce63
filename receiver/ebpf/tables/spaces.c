// SPDX-License-Identifier: Apache-2.0
#include "spaces.h"

#include "base/base.h"

#include <string.h>

enum { CHAINS = 1024 };

struct space_ranges {
	struct space_ranges *next; /* in its chain */
	struct process_key key;
	uint32_t handle, count; /* of its ranges; 0: not told yet */
	uint64_t hash;          /* of them: what has not changed is not written again */
	bool waits;             /* for a file of it */
	VECTOR(uint32_t) files; /* used, each once */
};

struct spaces {
	struct processes *processes;
	struct pages *pages;
	struct memory *memory;
	struct process_index *index;
	struct space_ranges *chains[CHAINS]; /* owned; by pid */
	struct spaces_counts counts;
	struct process_code code[UNWIND_RANGES];
	struct unwind_range ranges[UNWIND_RANGES]; /* those being written */
};

struct spaces *spaces_create(struct processes *processes, struct pages *pages,
			     struct memory *memory, struct process_index *index)
{
	struct spaces *spaces = calloc(1, sizeof(*spaces));

	if (!spaces)
		return NULL;
	spaces->processes = processes;
	spaces->pages = pages;
	spaces->memory = memory;
	spaces->index = index;
	return spaces;
}

static void space_destroy(struct space_ranges *space)
{
	VECTOR_DEINIT(&space->files);
	free(space);
}

void spaces_destroy(struct spaces *spaces)
{
	if (!spaces)
		return;
	for (size_t i = 0; i < CHAINS; i++)
		while (spaces->chains[i]) {
			struct space_ranges *space = spaces->chains[i];

			spaces->chains[i] = space->next;
			space_destroy(space);
		}
	free(spaces);
}

/* ---- the ranges of one process ---- */

static uint32_t identity_of(const struct process_key *key)
{
	return unwind_identity(key->start_boottime_ns, key->exec_id);
}

static struct unwind_range range_of(const struct spaces *spaces, const struct process_code *code)
{
	struct unwind_range range = {
		.start = code->start,
		.pages = (uint32_t)((code->limit - code->start) >> 12),
		.kind = UNWIND_RANGE_BARE,
	};

	if (code->vdso) {
		// Frames in it are told as addresses: it is no file that could be named.
		pages_place(spaces->pages, PAGES_VDSO, code->file_offset, &range);
	} else if (code->file != PROCESS_NO_FILE) {
		range.file = code->file + 1;
		range.file_page = (uint32_t)(code->file_offset >> 12);
		pages_place(spaces->pages, code->file, code->file_offset, &range);
	}
	return range;
}

/* How many there are. The vsyscall page, in the upper half, is none that walks can search for. */
static size_t make_ranges(struct spaces *spaces, size_t code_count)
{
	size_t count = 0;

	for (size_t i = 0; i < code_count; i++)
		if (spaces->code[i].limit <= UNWIND_ADDRESS_LIMIT)
			spaces->ranges[count++] = range_of(spaces, &spaces->code[i]);
	return count;
}

/* Tell the kernel side. What it had is freed, since it is found no more. */
static void publish(struct spaces *spaces, struct space_ranges *space, size_t count,
		    uint64_t now_ns)
{
	size_t bytes = count * sizeof(*spaces->ranges);
	uint32_t low = intern_hash_seeded(spaces->ranges, bytes, 1);
	uint64_t hash = low | (uint64_t)intern_hash_seeded(spaces->ranges, bytes, 2) << 32;
	uint32_t handle;

	if (space->handle && space->count == count && space->hash == hash)
		return;
	handle = memory_put(spaces->memory, spaces->ranges, bytes, now_ns);
	if (!handle || !process_index_set(spaces->index, space->key.pid, identity_of(&space->key),
					  handle, (uint32_t)count)) {
		// What is there is out of date: better none than a wrong one.
		memory_free(spaces->memory, handle, bytes, now_ns);
		process_index_remove(spaces->index, space->key.pid);
		spaces->counts.processes_refused++;
		handle = 0;
	}
	spaces->counts.processes += (handle != 0) - (space->handle != 0);
	memory_free(spaces->memory, space->handle, space->count * sizeof(*spaces->ranges), now_ns);
	space->handle = handle;
	space->count = handle ? (uint32_t)count : 0;
	space->hash = hash;
}

static bool has_file(const struct space_ranges *space, uint32_t file)
{
	for (size_t i = 0; i < space->files.count; i++)
		if (space->files.items[i] == file)
			return true;
	return false;
}

/* The files of the code are used from now on, and those used before no more. */
static void use_files(struct spaces *spaces, struct space_ranges *space, size_t code_count,
		      uint64_t now_ns)
{
	struct space_ranges before = { .files = { space->files.items, space->files.count,
						  space->files.capacity } };

	space->files.items = NULL;
	space->files.count = space->files.capacity = 0;
	for (size_t i = 0; i < code_count; i++) {
		uint32_t file = spaces->code[i].file;

		if (file == PROCESS_NO_FILE || has_file(space, file) ||
		    !VECTOR_PUSH(&space->files, file))
			continue;
		pages_use(spaces->pages, file);
	}
	for (size_t i = 0; i < before.files.count; i++)
		pages_release(spaces->pages, before.files.items[i], now_ns);
	VECTOR_DEINIT(&before.files);
}

static bool is_pending(const struct spaces *spaces, const struct space_ranges *space)
{
	for (size_t i = 0; i < space->files.count; i++)
		if (pages_state(spaces->pages, space->files.items[i]) == PAGES_PENDING)
			return true;
	return false;
}

static void refresh(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns)
{
	size_t count = processes_code(spaces->processes, &space->key, spaces->code, UNWIND_RANGES);

	if (count > UNWIND_RANGES) {
		spaces->counts.ranges_dropped += count - UNWIND_RANGES;
		count = UNWIND_RANGES;
	}
	use_files(spaces, space, count, now_ns);
	space->waits = is_pending(spaces, space);
	// Until then the kernel's own walker does better than one that ends at the first frame.
	if (space->waits && !space->handle)
		return;
	count = make_ranges(spaces, count);
	if (count)
		publish(spaces, space, count, now_ns);
}

/* ---- all processes ---- */

static struct space_ranges **find_place(struct spaces *spaces, uint32_t pid)
{
	struct space_ranges **place = &spaces->chains[pid % CHAINS];

	while (*place && (*place)->key.pid != pid)
		place = &(*place)->next;
	return place;
}

static void drop(struct spaces *spaces, struct space_ranges **place, uint64_t now_ns)
{
	struct space_ranges *space = *place;

	*place = space->next;
	process_index_remove(spaces->index, space->key.pid);
	memory_free(spaces->memory, space->handle, space->count * sizeof(*spaces->ranges), now_ns);
	spaces->counts.processes -= space->handle != 0;
	for (size_t i = 0; i < space->files.count; i++)
		pages_release(spaces->pages, space->files.items[i], now_ns);
	space_destroy(space);
}

void spaces_update(struct spaces *spaces, const struct process_key *key, uint64_t now_ns)
{
	struct space_ranges **place = find_place(spaces, key->pid);

	if (*place && identity_of(&(*place)->key) != identity_of(key))
		drop(spaces, place, now_ns);
	place = find_place(spaces, key->pid);
	if (!*place) {
		struct space_ranges *space = calloc(1, sizeof(*space));

		if (!space) {
			spaces->counts.processes_refused++;
			return;
		}
		space->key = *key;
		*place = space;
	}
	refresh(spaces, *place, now_ns);
}

void spaces_end(struct spaces *spaces, const struct process_key *key, uint64_t now_ns)
{
	struct space_ranges **place = find_place(spaces, key->pid);

	if (*place && identity_of(&(*place)->key) == identity_of(key))
		drop(spaces, place, now_ns);
}

void spaces_file_known(struct spaces *spaces, uint32_t file, uint64_t now_ns)
{
	for (size_t i = 0; i < CHAINS; i++)
		for (struct space_ranges *space = spaces->chains[i]; space; space = space->next)
			if (space->waits && has_file(space, file))
				refresh(spaces, space, now_ns);
}

struct spaces_counts spaces_counts(const struct spaces *spaces)
{
	return spaces->counts;
}
