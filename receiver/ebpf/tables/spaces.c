// SPDX-License-Identifier: Apache-2.0
#include "spaces.h"

#include "range_sets.h"

#include "base/base.h"

#include <string.h>

enum { CHAINS = 1024 };

static const uint64_t LONGEST_BYTES = 1ull << 43; /* of a range; its pages are counted in 32 bits */

struct space_ranges {
	struct space_ranges *next; /* in its chain */
	struct process_key key;
	struct range_set *set;  /* a use; NULL: the kernel side is not told of it */
	bool waits;             /* for a file of it */
	bool refused;           /* there was no room for it */
	uint32_t dropped;       /* mappings that did not fit */
	VECTOR(uint32_t) files; /* used, each once */
};

struct spaces {
	struct processes *processes;
	struct pages *pages;
	struct range_sets *sets; /* owned */
	struct process_index *index;
	struct space_ranges *chains[CHAINS]; /* owned; by pid */
	bool wants_memory;                   /* there was none for a process */
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
	spaces->index = index;
	spaces->sets = range_sets_create(memory);
	if (spaces->sets)
		return spaces;
	free(spaces);
	return NULL;
}

void spaces_destroy(struct spaces *spaces)
{
	if (!spaces)
		return;
	for (size_t i = 0; i < CHAINS; i++)
		while (spaces->chains[i]) {
			struct space_ranges *space = spaces->chains[i];

			spaces->chains[i] = space->next;
			VECTOR_DEINIT(&space->files);
			free(space);
		}
	range_sets_destroy(spaces->sets);
	free(spaces);
}

/* ---- the ranges of one process ---- */

static uint32_t identity_of(const struct process_key *key)
{
	return unwind_identity(key->start_boottime_ns, key->exec_id);
}

static void add_range(struct spaces *spaces, size_t *count, const struct process_code *code,
		      uint64_t start)
{
	uint64_t offset = code->file_offset + (start - code->start);
	struct unwind_range range = {
		.start = start,
		.pages = (uint32_t)((code->limit - start) >> 12),
		.kind = UNWIND_RANGE_BARE,
	};

	// A frame has no room for places beyond: such code is told as addresses.
	bool has_file = code->file != PROCESS_NO_FILE &&
			offset + (code->limit - start) <= 1ull << UNWIND_FRAME_SHIFT;

	if (has_file) {
		range.file = code->file + 1;
		range.file_page = (uint32_t)(offset >> 12);
	}
	// Frames in the vDSO are told as addresses, too: it is no file that could be named.
	if (has_file && start == code->start)
		pages_place(spaces->pages, code->file, offset, &range);
	else if (code->vdso && start == code->start)
		pages_place(spaces->pages, PAGES_VDSO, offset, &range);
	spaces->ranges[(*count)++] = range;
}

/* How many there are. The vsyscall page, in the upper half, is none that walks can search for. */
static size_t make_ranges(struct spaces *spaces, size_t code_count)
{
	size_t count = 0;

	for (size_t i = 0; i < code_count && count < UNWIND_RANGES; i++) {
		const struct process_code *code = &spaces->code[i];
		uint64_t reached;

		if (code->limit > UNWIND_ADDRESS_LIMIT || code->limit - code->start > LONGEST_BYTES)
			continue;
		add_range(spaces, &count, code, code->start);
		reached = code->start + ((uint64_t)spaces->ranges[count - 1].pages << 12);
		// More is mapped than the file has text: what lies beyond has no table.
		if (reached < code->limit && count < UNWIND_RANGES)
			add_range(spaces, &count, code, reached);
	}
	return count;
}

/* The kernel side knows nothing of the process any more. */
static void withdraw(struct spaces *spaces, struct space_ranges *space)
{
	process_index_remove(spaces->index, space->key.pid);
	spaces->counts.processes -= space->set != NULL;
	range_sets_release(spaces->sets, TAKE(space->set));
}

static void refuse(struct spaces *spaces, struct space_ranges *space)
{
	spaces->counts.processes_refused += !space->refused;
	space->refused = true;
}

static struct space_ranges **find_place(struct spaces *spaces, uint32_t pid)
{
	struct space_ranges **place = &spaces->chains[pid % CHAINS];

	while (*place && (*place)->key.pid != pid)
		place = &(*place)->next;
	return place;
}

static bool is_sampled(const struct spaces *spaces, const struct space_ranges *space)
{
	return processes_is_sampled(spaces->processes, &space->key);
}

/* A sampled process takes the place of one that never was, and comes back when it is sampled. */
static bool make_place(struct spaces *spaces, const struct space_ranges *space)
{
	uint32_t pids[UNWIND_BUCKET_SLOTS];
	size_t count = process_index_rivals(spaces->index, space->key.pid, pids);

	if (!is_sampled(spaces, space))
		return false;
	for (size_t i = 0; i < count; i++) {
		struct space_ranges *rival = *find_place(spaces, pids[i]);

		if (!rival || is_sampled(spaces, rival))
			continue;
		withdraw(spaces, rival);
		return true;
	}
	return false;
}

static bool tell(struct spaces *spaces, const struct space_ranges *space,
		 const struct range_set *set)
{
	return process_index_set(spaces->index, space->key.pid, identity_of(&space->key),
				 set->handle, set->count);
}

/* Tell the kernel side. What it had is let go, since it is found no more. */
static void publish(struct spaces *spaces, struct space_ranges *space, size_t count)
{
	struct range_set *set = range_sets_use(spaces->sets, spaces->ranges, count);

	spaces->wants_memory |= !set;
	// What has not changed is told already.
	if (set && set != space->set && !tell(spaces, space, set) &&
	    !(make_place(spaces, space) && tell(spaces, space, set)))
		range_sets_release(spaces->sets, TAKE(set));
	if (!set) {
		// What is there is out of date: better none than a wrong one.
		withdraw(spaces, space);
		refuse(spaces, space);
		return;
	}
	spaces->counts.processes += !space->set;
	range_sets_release(spaces->sets, space->set);
	space->set = set;
	space->refused = false;
}

static bool has_file(const struct space_ranges *space, uint32_t file)
{
	for (size_t i = 0; i < space->files.count; i++)
		if (space->files.items[i] == file)
			return true;
	return false;
}

/*
 * The files of the code are used from now on; those used before are handed over, to be released
 * when nothing leads to them any more.
 */
static void use_files(struct spaces *spaces, struct space_ranges *space, size_t code_count,
		      struct space_ranges *before)
{
	before->files.items = space->files.items;
	before->files.count = space->files.count;
	space->files.items = NULL;
	space->files.count = space->files.capacity = 0;
	for (size_t i = 0; i < code_count; i++) {
		uint32_t file = spaces->code[i].file;

		if (file == PROCESS_NO_FILE || has_file(space, file) ||
		    !VECTOR_PUSH(&space->files, file))
			continue;
		pages_use(spaces->pages, file);
	}
}

static void release_files(struct spaces *spaces, struct space_ranges *space)
{
	for (size_t i = 0; i < space->files.count; i++)
		pages_release(spaces->pages, space->files.items[i]);
	VECTOR_DEINIT(&space->files);
}

static bool is_pending(const struct spaces *spaces, const struct space_ranges *space)
{
	for (size_t i = 0; i < space->files.count; i++)
		if (pages_state(spaces->pages, space->files.items[i]) == PAGES_PENDING)
			return true;
	return false;
}

/* At most what fits; the rest is counted. */
static size_t read_code(struct spaces *spaces, struct space_ranges *space)
{
	size_t count = processes_code(spaces->processes, &space->key, spaces->code, UNWIND_RANGES);
	uint32_t dropped = count > UNWIND_RANGES ? (uint32_t)(count - UNWIND_RANGES) : 0;

	if (dropped > space->dropped)
		spaces->counts.ranges_dropped += dropped - space->dropped;
	space->dropped = dropped;
	return count - dropped;
}

static void refresh(struct spaces *spaces, struct space_ranges *space)
{
	size_t count = read_code(spaces, space);
	struct space_ranges before = { 0 };

	use_files(spaces, space, count, &before);
	space->waits = is_pending(spaces, space);
	// Until then the kernel's own walker does better than one that ends at the first frame.
	if (!space->waits || space->set) {
		count = make_ranges(spaces, count);
		if (count)
			publish(spaces, space, count);
		else
			withdraw(spaces, space);
	}
	release_files(spaces, &before);
}

/* ---- all processes ---- */

static void drop(struct spaces *spaces, struct space_ranges **place)
{
	struct space_ranges *space = *place;

	*place = space->next;
	withdraw(spaces, space);
	release_files(spaces, space);
	free(space);
}

void spaces_update(struct spaces *spaces, const struct process_key *key)
{
	struct space_ranges **place = find_place(spaces, key->pid);

	if (*place && identity_of(&(*place)->key) != identity_of(key))
		drop(spaces, place);
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
	refresh(spaces, *place);
}

void spaces_end(struct spaces *spaces, const struct process_key *key)
{
	struct space_ranges **place = find_place(spaces, key->pid);

	if (*place && identity_of(&(*place)->key) == identity_of(key))
		drop(spaces, place);
}

void spaces_file_known(struct spaces *spaces, uint32_t file)
{
	for (size_t i = 0; i < CHAINS; i++)
		for (struct space_ranges *space = spaces->chains[i]; space; space = space->next)
			if (has_file(space, file))
				refresh(spaces, space);
}

/* Those never sampled make room for those that are. */
static void make_memory(struct spaces *spaces)
{
	for (size_t i = 0; i < CHAINS; i++)
		for (struct space_ranges *space = spaces->chains[i]; space; space = space->next)
			if (space->set && !is_sampled(spaces, space))
				withdraw(spaces, space);
	spaces->wants_memory = false;
}

void spaces_retry(struct spaces *spaces)
{
	for (size_t i = 0; i < CHAINS; i++)
		for (struct space_ranges *space = spaces->chains[i]; space; space = space->next)
			if (space->refused && is_sampled(spaces, space))
				refresh(spaces, space);
	// It is free a moment later: there may be walks under way.
	if (spaces->wants_memory)
		make_memory(spaces);
}

struct spaces_counts spaces_counts(const struct spaces *spaces)
{
	return spaces->counts;
}
