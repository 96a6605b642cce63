// SPDX-License-Identifier: Apache-2.0
#include "spaces_parts.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum {
	USUAL_FILES = 256,
	/*
	 * Files of a program become known one after the other, and each changes all of its ranges:
	 * that takes 0.2 us for each of them, so so much later, at the earliest, it is done again.
	 */
	RANGE_PAUSE_NS = 10000,
	REFUSED_PAUSE_NS = 500000000,
	/*
	 * Whoever notes samples waits for the lock that is held meanwhile: not more than so many
	 * ranges are read in one go, each process counting as some.
	 */
	RANGES_AT_ONCE = 32768,
	PROCESS_RANGES = 64,
};

/* @bytes more are taken, or fewer. */
static void account(const struct spaces *spaces, int64_t bytes)
{
	processes_account(spaces->processes, bytes);
}

static int64_t bytes_of_uses(size_t count)
{
	return (int64_t)((count + 1) * sizeof(struct pages_use));
}

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
	TAILQ_INIT(&spaces->refused);
	TAILQ_INIT(&spaces->stale);
	attachments_init(&spaces->attachments);
	walk_programs_init(&spaces->programs);
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
	for (size_t i = 0; i < SPACES_CHAINS; i++)
		while (spaces->chains[i]) {
			struct space_ranges *space = spaces->chains[i];

			spaces->chains[i] = space->next;
			account(spaces,
				-(int64_t)sizeof(*space) -
					(space->uses ? bytes_of_uses(space->use_count) : 0));
			spaces_forget_runtimes(spaces, space);
			free(space->uses);
			free(space);
		}
	attachments_deinit(&spaces->attachments);
	range_sets_destroy(spaces->sets);
	code_copy_deinit(&spaces->code);
	range_list_deinit(&spaces->list);
	VECTOR_DEINIT(&spaces->files);
	free(spaces);
}

/* ---- the ranges of one process ---- */

static uint32_t identity_of(const struct process_key *key)
{
	return unwind_identity(key->start_boottime_ns, key->exec_id);
}

/* ---- whom the kernel side knows ---- */

/* The kernel side knows nothing of the process any more. */
static void withdraw(struct spaces *spaces, struct space_ranges *space)
{
	process_index_remove(spaces->index, space->key.pid);
	spaces->counts.processes -= space->set != NULL;
	range_sets_release(spaces->sets, TAKE(space->set));
}

static void set_refused(struct spaces *spaces, struct space_ranges *space, bool refused)
{
	if (refused && !space->refused)
		TAILQ_INSERT_TAIL(&spaces->refused, space, others_refused);
	else if (!refused && space->refused)
		TAILQ_REMOVE(&spaces->refused, space, others_refused);
	space->refused = refused;
}

static void set_stale(struct spaces *spaces, struct space_ranges *space, bool stale)
{
	if (stale && !space->stale)
		TAILQ_INSERT_TAIL(&spaces->stale, space, others_stale);
	else if (!stale && space->stale)
		TAILQ_REMOVE(&spaces->stale, space, others_stale);
	space->stale = stale;
}

static void release_uses(struct spaces *spaces, struct pages_use *uses, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pages_release(spaces->pages, &uses[i]);
	if (uses)
		account(spaces, -bytes_of_uses(count));
	free(uses);
}

/* While the kernel side is not told of it, none of its files is needed. */
static void let_go_of_files(struct spaces *spaces, struct space_ranges *space)
{
	set_stale(spaces, space, false);
	space->waits = false;
	release_uses(spaces, TAKE(space->uses), space->use_count);
	space->use_count = 0;
}

void spaces_evict(struct spaces *spaces, struct space_ranges *space)
{
	withdraw(spaces, space);
	let_go_of_files(spaces, space);
	spaces->counts.processes_evicted++;
}

static struct space_ranges **find_place(struct spaces *spaces, uint32_t pid)
{
	struct space_ranges **place = &spaces->chains[pid % SPACES_CHAINS];

	while (*place && (*place)->key.pid != pid)
		place = &(*place)->next;
	return place;
}

struct space_ranges *spaces_find(const struct spaces *spaces, const struct process_key *key)
{
	struct space_ranges *space = spaces->chains[key->pid % SPACES_CHAINS];

	while (space && space->key.pid != key->pid)
		space = space->next;
	return space && identity_of(&space->key) == identity_of(key) ? space : NULL;
}

/* There is no room for it. It is tried again while it runs; else its next sample tells of it. */
static void refuse(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns)
{
	// What is there is out of date: better none than a wrong one.
	withdraw(spaces, space);
	let_go_of_files(spaces, space);
	spaces->counts.processes_refused += !space->counted;
	space->counted = true;
	space->ready_ns = now_ns + REFUSED_PAUSE_NS;
	set_refused(spaces, space, !spaces_can_go(spaces_last_sample(spaces, space), now_ns));
}

/* Does it run code that a compiler wrote to memory? How such a one is left depends on the very
 * instruction (unwind_made_frame()), which no copy has. */
static bool has_made_code(const struct range_set *set)
{
	for (uint32_t i = 0; i < set->count; i++)
		if (set->ranges[i].kind == UNWIND_RANGE_BARE && !set->ranges[i].file)
			return true;
	return false;
}

/* Which stacks of it hold all of what runs on them, as far as is known? */
static uint32_t find_copies(const struct spaces *spaces, const struct space_ranges *space,
			    const struct range_set *set)
{
	uint32_t copies = UNWIND_MAY_COPY, of_runtimes = ~0u;
	const struct attached *attached;

	if (!set->ranges || space->is_intricate)
		return 0;
	SLIST_FOREACH(attached, &space->attached, of_process)
	{
		if (attached->runtime->copies)
			of_runtimes &= attached->runtime->copies(space->use_count);
		else if (attached->runtime->attach)
			return 0;
	}
	if (~of_runtimes)
		return of_runtimes;
	if (has_made_code(set))
		return 0;
	for (size_t i = 0; i < space->use_count; i++)
		if (pages_switches_stacks(spaces->pages, space->uses[i].file))
			copies = 0;
	return copies;
}

static bool tell(struct spaces *spaces, struct space_ranges *space, const struct range_set *set)
{
	uint32_t copies = find_copies(spaces, space, set);
	uint32_t program = spaces_find_program(spaces, space);
	uint32_t labels = spaces_find_labels(space);

	// What has not changed is told already.
	if (set == space->set && copies == space->copies && program == space->program &&
	    labels == space->labels)
		return true;
	space->copies = copies;
	space->program = program;
	space->labels = labels;
	if (!process_index_set(spaces->index, space->key.pid, identity_of(&space->key), set->handle,
			       set->count | copies | program << UNWIND_PROGRAM_SHIFT, labels))
		return false;
	if (set != space->set)
		space->told_ns = clock_monotonic_ns();
	return true;
}

/* Tell the kernel side. What it had is let go, since it is found no more. */
static void publish(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns)
{
	struct space_ranges *rival = NULL;
	struct range_set *set = NULL;

	if (!process_index_has_room(spaces->index, space->key.pid)) {
		rival = spaces_find_rival(spaces, space);
		if (!rival) {
			refuse(spaces, space, now_ns);
			return;
		}
	}
	set = range_sets_use(spaces->sets, space->owner, spaces->list.ranges.items,
			     spaces->list.ranges.count);
	spaces->wants_memory |= !set && spaces_last_sample(spaces, space);
	if (set && rival)
		spaces_evict(spaces, rival);
	if (set && !tell(spaces, space, set))
		range_sets_release(spaces->sets, TAKE(set));
	if (!set) {
		refuse(spaces, space, now_ns);
		return;
	}
	spaces->counts.processes += !space->set;
	range_sets_release(spaces->sets, space->set);
	space->set = set;
	set_refused(spaces, space, false);
}

/* ---- files ---- */

static int compare_files(const void *left, const void *right)
{
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;

	return a < b ? -1 : a > b;
}

/* The files of the code, each once, to `files`. False without memory. */
static bool list_files(struct spaces *spaces)
{
	size_t count = 0;

	spaces->files.count = 0;
	if (!VECTOR_RESERVE(&spaces->files, spaces->code.count))
		return false;
	for (size_t i = 0; i < spaces->code.count; i++)
		if (spaces->code.items[i].file != PROCESS_NO_FILE)
			spaces->files.items[spaces->files.count++] = spaces->code.items[i].file;
	if (spaces->files.count)
		qsort(spaces->files.items, spaces->files.count, sizeof(uint32_t), compare_files);
	for (size_t i = 0; i < spaces->files.count; i++)
		if (!i || spaces->files.items[i] != spaces->files.items[i - 1])
			spaces->files.items[count++] = spaces->files.items[i];
	spaces->files.count = count;
	return true;
}

/*
 * The files of the code are used from now on; those used before are the caller's, to be released
 * when nothing leads to them any more. False without memory: none is used then.
 */
static bool use_files(struct spaces *spaces, struct space_ranges *space)
{
	bool listed = list_files(spaces);

	space->uses = listed ? calloc(spaces->files.count + 1, sizeof(*space->uses)) : NULL;
	space->use_count = space->uses ? spaces->files.count : 0;
	if (space->uses)
		account(spaces, bytes_of_uses(space->use_count));
	space->waits = false;
	for (size_t i = 0; i < space->use_count; i++) {
		space->uses[i].file = spaces->files.items[i];
		space->uses[i].owner = space;
		space->waits |= pages_use(spaces->pages, &space->uses[i]) == PAGES_PENDING;
	}
	return space->uses != NULL;
}

static void note_dropped(struct spaces *spaces, struct space_ranges *space, size_t dropped)
{
	if (dropped > space->dropped)
		spaces->counts.ranges_dropped += dropped - space->dropped;
	space->dropped = (uint32_t)dropped;
}

/* What was needed for one of usual size is kept for the next. */
static void clear_scratch(struct spaces *spaces)
{
	code_copy_clear(&spaces->code);
	range_list_clear(&spaces->list);
	if (spaces->files.capacity > USUAL_FILES)
		VECTOR_DEINIT(&spaces->files);
}

static void refresh(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns)
{
	struct pages_use *uses = TAKE(space->uses);
	size_t use_count = space->use_count;

	code_copy_read(&spaces->code, spaces->processes, &space->key,
		       range_sets_most(spaces->sets));
	set_stale(spaces, space, false);
	space->owner = processes_owner(spaces->processes, &space->key);
	space->ready_ns = now_ns + spaces->code.count * RANGE_PAUSE_NS;
	spaces->read += PROCESS_RANGES + spaces->code.count;
	if (!use_files(spaces, space)) {
		refuse(spaces, space, now_ns);
	} else if (!space->waits || space->set) {
		// Until then the kernel's own walker does better than one that ends at the first
		// frame.
		spaces_meet_runtimes(spaces, space, now_ns);
		note_dropped(spaces, space,
			     spaces->code.left_out +
				     range_list_make(&spaces->list, &spaces->code, spaces->pages,
						     &space->attached,
						     range_sets_most(spaces->sets)));
		if (spaces->list.ranges.count)
			publish(spaces, space, now_ns);
		else
			withdraw(spaces, space);
	}
	release_uses(spaces, uses, use_count);
	clear_scratch(spaces);
}

/* ---- all processes ---- */

static void drop(struct spaces *spaces, struct space_ranges **place)
{
	struct space_ranges *space = *place;

	*place = space->next;
	withdraw(spaces, space);
	set_refused(spaces, space, false);
	set_stale(spaces, space, false);
	release_uses(spaces, space->uses, space->use_count);
	spaces_forget_runtimes(spaces, space);
	account(spaces, -(int64_t)sizeof(*space));
	free(space);
}

void spaces_update(struct spaces *spaces, const struct process_key *key, uint64_t now_ns)
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
		account(spaces, sizeof(*space));
		*place = space;
	}
	refresh(spaces, *place, now_ns);
}

void spaces_end(struct spaces *spaces, const struct process_key *key)
{
	struct space_ranges **place = find_place(spaces, key->pid);

	if (*place && identity_of(&(*place)->key) == identity_of(key))
		drop(spaces, place);
}

static void refresh_stale(struct spaces *spaces, uint64_t now_ns)
{
	struct space_ranges *space = TAILQ_FIRST(&spaces->stale);

	while (space) {
		if (now_ns < space->ready_ns) {
			space = TAILQ_NEXT(space, others_stale);
			continue;
		}
		if (spaces->read >= RANGES_AT_ONCE)
			break;
		refresh(spaces, space, now_ns);
		// It may have made others go, and stand in other places.
		space = TAILQ_FIRST(&spaces->stale);
	}
}

/* Those that were refused longest ago first. */
static void refresh_refused(struct spaces *spaces, uint64_t now_ns)
{
	struct space_ranges *space;

	while ((space = TAILQ_FIRST(&spaces->refused)) && now_ns >= space->ready_ns) {
		spaces->cut_short = spaces->read >= RANGES_AT_ONCE;
		if (spaces->cut_short)
			break;
		set_refused(spaces, space, false);
		spaces->read++;
		// One that does not run any more comes back with its next sample.
		if (spaces_can_go(spaces_last_sample(spaces, space), now_ns))
			continue;
		refresh(spaces, space, now_ns);
	}
}

void spaces_file_known(struct spaces *spaces, uint32_t file, uint64_t now_ns)
{
	struct pages_use *use = pages_users(spaces->pages, file);

	for (; use; use = LIST_NEXT(use, others))
		set_stale(spaces, use->owner, true);
	spaces->read = 0;
	refresh_stale(spaces, now_ns);
}

void spaces_tell_again(struct spaces *spaces, struct space_ranges *space, uint64_t now_ns)
{
	set_stale(spaces, space, true);
	spaces->read = 0;
	refresh_stale(spaces, now_ns);
}

void spaces_miss(struct spaces *spaces, const struct process_key *key, uint64_t now_ns)
{
	struct space_ranges *space = spaces_find(spaces, key);

	if (!space || space->set || space->waits)
		return;
	space->missed_ns = now_ns;
	if (now_ns < space->ready_ns)
		return;
	if (spaces->read < RANGES_AT_ONCE)
		refresh(spaces, space, now_ns);
	else
		set_stale(spaces, space, true);
}

void spaces_retry(struct spaces *spaces, uint64_t now_ns)
{
	spaces->read = 0;
	spaces->cut_short = false;
	refresh_stale(spaces, now_ns);
	refresh_refused(spaces, now_ns);
	spaces_make_memory(spaces, now_ns);
}

bool spaces_waits(const struct spaces *spaces)
{
	return !TAILQ_EMPTY(&spaces->stale) || spaces->cut_short;
}

const struct unwind_range *spaces_ranges(const struct spaces *spaces, const struct process_key *key,
					 uint64_t time_ns, size_t *count_ret)
{
	const struct space_ranges *space = spaces_find(spaces, key);

	if (!space || !space->set || space->told_ns > time_ns)
		return NULL;
	*count_ret = space->set->count;
	return space->set->ranges;
}

void spaces_copy_no_more(struct spaces *spaces, const struct process_key *key)
{
	struct space_ranges *space = spaces_find(spaces, key);

	if (!space)
		return;
	space->is_intricate = true;
	spaces_tell_walk(spaces, space);
}

void spaces_tell_walk(struct spaces *spaces, struct space_ranges *space)
{
	// It has its place already.
	if (space->set)
		(void)tell(spaces, space, space->set);
}

size_t spaces_most(const struct spaces *spaces)
{
	return range_sets_most(spaces->sets);
}

struct spaces_counts spaces_counts(const struct spaces *spaces)
{
	struct spaces_counts counts = spaces->counts;

	counts.memory = range_sets_memory(spaces->sets);
	memcpy(counts.runtimes, spaces->attachments.of, sizeof(counts.runtimes));
	return counts;
}
