// SPDX-License-Identifier: Apache-2.0
#include "table.h"

#include "base/base.h"

#include <string.h>

enum {
	FIRST_BUCKETS = 1024,
	/* A fork's record is written after the start time is taken; by a preempted parent, late. */
	FORK_TOLERANCE_NS = 2000000000,
	/* An exec is told before the exec id changes: a sample between has the old one. */
	EXEC_TOLERANCE_NS = 1000000,
	/* A process is sampled on its way out after its end has been told, but not for long. */
	EXIT_TOLERANCE_NS = 1000000000,
	TELL_NS = 1000000000 / 6,
	REPEATED_MOST = 64, /* files */
};

/* After what time it is looked whether a process was moved into another container: each time twice
 * as long. One look takes some 50 us. */
static const uint64_t MOVED_LEAST_NS = 2000000000, MOVED_MOST_NS = 64000000000;

/* A program that starts maps libraries, one after the other. */
static const uint64_t TELL_AHEAD_NS = 30ull * TELL_NS;

bool table_init(struct table *table, size_t max_bytes, size_t max_text_bytes)
{
	*table = (struct table){
		.max_bytes = max_bytes,
		.tick_ns = 1000000000u / (uint64_t)sysconf(_SC_CLK_TCK),
		.bucket_count = FIRST_BUCKETS,
	};
	TAILQ_INIT(&table->changed);
	space_pool_init(&table->pool, max_bytes, max_text_bytes);
	table->buckets = calloc(FIRST_BUCKETS, sizeof(struct process *));
	return table->buckets != NULL;
}

static struct process_key told_key(const struct process *process)
{
	return (struct process_key){ .pid = process->pid,
				     .exec_id = process->told_exec_id,
				     .start_boottime_ns = process->start_ns };
}

static void process_destroy(struct table *table, struct process *process)
{
	if (process->changed)
		TAILQ_REMOVE(&table->changed, process, change);
	table_leave_ends(table, process);
	if (process->told) {
		// The room was made when it was told of.
		table->gone.items[table->gone.count++] = told_key(process);
		table->told--;
	}
	// Forked children refer to single spaces: those before an exec go with their process.
	while (process->space) {
		// What came before is still of use to who shares it.
		struct space *older = process->space->sharers ? NULL : TAKE(process->space->older);

		process->space->sharers -= process->space->sharers > 0;

		space_unref(&table->pool, process->space);
		process->space = older;
	}
	texts_release(&table->pool.texts, process->container);
	texts_release(&table->pool.texts, process->pod);
	free(process);
	table->count--;
}

void table_deinit(struct table *table)
{
	for (size_t i = 0; table->buckets && i < table->bucket_count; i++) {
		for (struct process *process = table->buckets[i], *next; process; process = next) {
			next = process->next;
			process_destroy(table, process);
		}
	}
	free(table->buckets);
	VECTOR_DEINIT(&table->unresolved);
	VECTOR_DEINIT(&table->crowded);
	VECTOR_DEINIT(&table->kin);
	VECTOR_DEINIT(&table->unowned);
	VECTOR_DEINIT(&table->gone);
	VECTOR_DEINIT(&table->left);
	VECTOR_DEINIT(&table->repeated);
	space_pool_deinit(&table->pool);
	*table = (struct table){ 0 };
}

size_t table_memory(const struct table *table)
{
	return table->pool.memory + table->count * sizeof(struct process) +
	       table->bucket_count * sizeof(struct process *);
}

void table_each(const struct table *table, void (*visit)(void *context, struct process *process),
		void *context)
{
	for (size_t i = 0; i < table->bucket_count; i++)
		for (struct process *process = table->buckets[i]; process; process = process->next)
			visit(context, process);
}

static struct process **bucket_of(const struct table *table, uint32_t pid)
{
	// Numbers are handed out in sequence: they spread by themselves.
	return &table->buckets[pid & (table->bucket_count - 1)];
}

/* Without memory the chains just get longer. */
static void table_grow(struct table *table)
{
	size_t count = table->bucket_count;
	struct process **grown = calloc(2 * count, sizeof(struct process *));

	if (!grown)
		return;
	for (size_t i = 0; i < count; i++) {
		struct process **ends[2] = { &grown[i], &grown[i + count] };

		// The order within a bucket says which user of a number is the later.
		for (struct process *process = table->buckets[i], *next; process; process = next) {
			size_t half = (process->pid & count) != 0;

			next = TAKE(process->next);
			*ends[half] = process;
			ends[half] = &process->next;
		}
	}
	free(table->buckets);
	table->buckets = grown;
	table->bucket_count = 2 * count;
}

struct process *table_newest(const struct table *table, uint32_t pid)
{
	struct process *process = *bucket_of(table, pid);

	while (process && process->pid != pid)
		process = process->next;
	return process;
}

void table_end(struct table *table, struct process *process, uint64_t time_ns)
{
	if (process->end_ns == PROCESS_ALIVE)
		process->end_ns = time_ns;
	table_leave_ends(table, process);
	table_mark_changed(table, process);
}

void table_revive(struct table *table, struct process *process)
{
	process->end_ns = PROCESS_ALIVE;
	// What it has given up meanwhile went untold.
	if (process->gives_up && process_is_followed(process))
		table_mark_crowded(table, process);
}

struct process *table_add(struct table *table, uint32_t pid, uint64_t begin_ns)
{
	struct process *process = calloc(1, sizeof(*process)), *before, **bucket;

	if (!process)
		return NULL;
	if (table->count >= 2 * table->bucket_count)
		table_grow(table);
	before = table_newest(table, pid);
	if (before)
		table_end(table, before, begin_ns);
	bucket = bucket_of(table, pid);
	*process = (struct process){
		.next = *bucket,
		.pid = pid,
		.begin_ns = begin_ns,
		.end_ns = PROCESS_ALIVE,
		.threads = 1,
		.owner = OWNER_UNKNOWN,
	};
	*bucket = process;
	table->count++;
	return process;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Can @process be the one that started at @start_ns (CLOCK_BOOTTIME)? */
static bool has_start(const struct table *table, const struct process *process, uint64_t start_ns)
{
	if (process->start_ns)
		return process->start_ns == start_ns;
	// One tick more, for a kernel that rounds otherwise.
	if (process->start_tick_ns)
		return distance(process->start_tick_ns, start_ns) <= 2 * table->tick_ns;
	if (process->forked_ns)
		return distance(process->forked_ns, start_ns) <= FORK_TOLERANCE_NS;
	return true;
}

static uint64_t less(uint64_t ns, uint64_t by_ns)
{
	return ns > by_ns ? ns - by_ns : 0;
}

/* The starts that has_start is true of. */
static struct process_origin origin_of(const struct table *table, const struct process *process)
{
	struct process_origin origin = { .parent = process->parent };

	if (process->start_ns) {
		origin.earliest_ns = origin.latest_ns = process->start_ns;
	} else if (process->start_tick_ns) {
		origin.earliest_ns = less(process->start_tick_ns, 2 * table->tick_ns);
		origin.latest_ns = process->start_tick_ns + 2 * table->tick_ns;
	} else if (process->forked_ns) {
		origin.earliest_ns = less(process->forked_ns, FORK_TOLERANCE_NS);
		origin.latest_ns = process->forked_ns + FORK_TOLERANCE_NS;
	} else {
		origin.latest_ns = process->begin_ns + table->boot_offset_ns;
	}
	return origin;
}

bool table_find_origin(const struct table *table, uint32_t pid, uint64_t by_ns,
		       struct process_origin *ret)
{
	const struct process *process = *bucket_of(table, pid);

	for (; process; process = process->next) {
		if (process->pid != pid)
			continue;
		*ret = origin_of(table, process);
		if (ret->earliest_ns <= by_ns)
			return true;
	}
	return false;
}

struct process *table_find(const struct table *table, const struct process_key *key,
			   uint64_t time_ns)
{
	struct process *process = *bucket_of(table, key->pid);

	// The end is not looked at: see EXIT_TOLERANCE_NS.
	for (; process; process = process->next)
		if (process->pid == key->pid && process->begin_ns <= time_ns &&
		    has_start(table, process, key->start_boottime_ns))
			return process;
	return NULL;
}

struct space *table_space_at(const struct process *process, uint64_t time_ns)
{
	struct space *space = process->space;

	while (space && space->begin_ns > time_ns && space->older)
		space = space->older;
	return space;
}

/* The process has exec'd and nobody told us: what it has now, its name too, is read from /proc. */
static void begin_untold(struct table *table, struct process *process, uint32_t exec_id,
			 uint64_t time_ns)
{
	struct space *space = space_create(&table->pool, time_ns);

	if (!space) {
		process->space->complete = false;
		return;
	}
	space->suspect_ns = time_ns;
	space->exec_id_known = true;
	space->exec_id = exec_id;
	space->older = process->space;
	process->space = space;
	process->container_read = false;
	process->container_pause_ns = 0;
}

static void note_exec_id(struct table *table, struct process *process,
			 const struct process_key *key, uint64_t time_ns)
{
	struct space *space = table_space_at(process, time_ns);
	const struct space *older = space ? space->older : NULL;

	if (!space || (older && older->exec_id_known && older->exec_id == key->exec_id))
		return;
	// Ids ascend: the thread was stopped between the exec's record and its new id.
	if (space->exec_id_told && (int32_t)(key->exec_id - space->exec_id) < 0)
		return;
	if (!space->exec_id_known) {
		space->exec_id_known = true;
		space->exec_id = key->exec_id;
	} else if (distance(time_ns, space->begin_ns) <= EXEC_TOLERANCE_NS) {
		// Ids ascend, so of two the lesser was the old one.
		if ((int32_t)(key->exec_id - space->exec_id) > 0)
			space->exec_id = key->exec_id;
	} else if (space == process->space && space->exec_id != key->exec_id) {
		begin_untold(table, process, key->exec_id, time_ns);
	}
}

struct process *table_note(struct table *table, const struct process_key *key, uint64_t time_ns)
{
	struct process *process = table_find(table, key, time_ns);
	bool first;

	if (!process)
		return NULL;
	process->start_ns = key->start_boottime_ns;
	if (process->end_ns < time_ns && time_ns - process->end_ns > EXIT_TOLERANCE_NS)
		table_revive(table, process);
	table_mark_unresolved(table, process);
	first = !process->sampled_ns;
	table_mark_kin(table, process);
	if (process->sampled_ns < time_ns)
		process->sampled_ns = time_ns;
	note_exec_id(table, process, key, time_ns);
	// Of one that was announced the first sample is news, too: it is needed now.
	if (first || !process->told || !process_runs(process) ||
	    process->told_exec_id != process->space->exec_id)
		table_mark_changed(table, process);
	return process;
}

void table_announce(struct table *table, const struct process_key *key, uint64_t time_ns)
{
	struct process *process = table_find(table, key, time_ns);
	struct space *space = process ? table_space_at(process, time_ns) : NULL;

	if (!space || process->end_ns != PROCESS_ALIVE)
		return;
	process->start_ns = key->start_boottime_ns;
	if (!space->executed || (space->exec_id_told && space->exec_id != key->exec_id)) {
		// The record of this exec was lost: the next sample has it read from /proc.
		if (space == process->space) {
			begin_untold(table, process, key->exec_id, time_ns);
			table_unannounce(table, process);
		}
		return;
	}
	space->exec_id_known = space->exec_id_told = true;
	space->exec_id = key->exec_id;
	process->announced = true;
	table_mark_unresolved(table, process);
	table_mark_changed(table, process);
}

void table_unannounce(struct table *table, struct process *process)
{
	table_mark_changed(table, process);
	process->announced = false;
}

void table_mark_repeated(struct table *table, uint32_t file)
{
	for (size_t i = 0; i < table->repeated.count; i++)
		if (table->repeated.items[i] == file)
			return;
	// Others, and without memory, are looked at when all are.
	if (table->repeated.count < REPEATED_MOST)
		(void)VECTOR_PUSH(&table->repeated, file);
}

bool table_take_repeated(struct table *table, uint32_t *file_ret)
{
	if (!table->repeated.count)
		return false;
	*file_ret = table->repeated.items[--table->repeated.count];
	return true;
}

void table_mark_unresolved(struct table *table, struct process *process)
{
	if (!process->unresolved)
		process->unresolved = VECTOR_PUSH(&table->unresolved, process->pid);
}

/* The one at @place of `unresolved`; NULL: it has been evicted. */
static struct process *unresolved_at(const struct table *table, size_t place)
{
	uint32_t pid = table->unresolved.items[place];
	struct process *process = *bucket_of(table, pid);

	while (process && (process->pid != pid || !process->unresolved))
		process = process->next;
	return process;
}

struct process *table_take_unresolved(struct table *table)
{
	struct process *process = NULL;

	table_mark_sharers(table);
	while (table->unresolved.count && !process)
		process = unresolved_at(table, --table->unresolved.count);
	if (process)
		process->unresolved = false;
	return process;
}

size_t table_next_unresolved(const struct table *table, struct process **ret, size_t most)
{
	size_t count = 0;

	for (size_t i = table->unresolved.count; i-- > 0 && count < most;) {
		ret[count] = unresolved_at(table, i);
		count += ret[count] != NULL;
	}
	return count;
}

void table_mark_changed(struct table *table, struct process *process)
{
	if (process->changed || !process_is_followed(process))
		return;
	process->changed = true;
	TAILQ_INSERT_TAIL(&table->changed, process, change);
}

/* Is the program that was told of the one that runs? */
static bool is_told(const struct process *process)
{
	return process->told && process_is_followed(process) && process_runs(process) &&
	       process->told_exec_id == process->space->exec_id;
}

/* The end of the program that was told of, if it has ended. */
static bool take_end(struct table *table, struct process *process, struct process_change *ret)
{
	if (!process->told || is_told(process))
		return false;
	*ret = (struct process_change){ .key = told_key(process), .alive = false };
	process->told = false;
	table->told--;
	return true;
}

/* The first one marked, but for those that have been told of too often lately; NULL. */
static struct process *next_changed(const struct table *table, uint64_t now_ns)
{
	struct process *process = TAILQ_FIRST(&table->changed);

	while (process && is_told(process) && process->told_until_ns > now_ns + TELL_AHEAD_NS)
		process = TAILQ_NEXT(process, change);
	return process;
}

static void tell(struct process *process, uint64_t now_ns)
{
	if (!process->told || process->told_until_ns < now_ns)
		process->told_until_ns = now_ns;
	process->told_until_ns += TELL_NS;
	process->told = true;
	process->told_exec_id = process->space->exec_id;
}

bool table_take_change(struct table *table, uint64_t now_ns, struct process_change *ret)
{
	struct process *process;
	bool first;

	table_mark_sharers(table);
	if (table->gone.count) {
		*ret = (struct process_change){ .key = table->gone.items[--table->gone.count] };
		return true;
	}
	while ((process = next_changed(table, now_ns))) {
		if (take_end(table, process, ret))
			return true; // there may be a next program
		TAILQ_REMOVE(&table->changed, process, change);
		process->changed = false;
		// Without memory it is told of when it changes again.
		if (!process_is_followed(process) || !process_runs(process) ||
		    (!process->told && !VECTOR_RESERVE(&table->gone, table->told + 1)))
			continue;
		first = !process->told;
		table->told += first;
		tell(process, now_ns);
		*ret = (struct process_change){
			.key = told_key(process),
			.alive = true,
			.first = first,
		};
		return true;
	}
	return false;
}

void table_set_container(struct table *table, struct process *process, const char *id,
			 const char *pod_uid)
{
	texts_release(&table->pool.texts, process->container);
	texts_release(&table->pool.texts, process->pod);
	process->pod = pod_uid[0] ? texts_take(&table->pool.texts, pod_uid, strlen(pod_uid)) : NULL;
	process->container = id[0] ? texts_take(&table->pool.texts, id, strlen(id)) : NULL;
	process->container_read = true;
	process->owner.container = owner_container(id);
	// Most are moved soon after they were made, and then never.
	process->container_pause_ns *= 2;
	if (process->container_pause_ns < MOVED_LEAST_NS)
		process->container_pause_ns = MOVED_LEAST_NS;
	if (process->container_pause_ns > MOVED_MOST_NS)
		process->container_pause_ns = MOVED_MOST_NS;
	process->container_again_ns = clock_monotonic_ns() + process->container_pause_ns;
}

void table_suspect(struct table *table, uint64_t since_ns)
{
	for (size_t i = 0; i < table->bucket_count; i++) {
		for (struct process *p = table->buckets[i]; p; p = p->next) {
			if (p->end_ns != PROCESS_ALIVE || !p->space || !p->space->complete)
				continue;
			p->space->complete = false;
			p->space->suspect_ns = since_ns;
		}
	}
}

/* Drop the spaces that @process had left by @time_ns, and in the others what was covered. */
static void forget_spaces(struct table *table, struct process *process, uint64_t time_ns)
{
	for (struct space *space = process->space; space; space = space->older) {
		space_forget(&table->pool, space, time_ns);
		if (space->begin_ns > time_ns || !space->older)
			continue;
		for (struct space *old = TAKE(space->older), *older; old; old = older) {
			older = TAKE(old->older);
			old->sharers -= old->sharers > 0;
			space_unref(&table->pool, old);
		}
	}
}

void table_forget(struct table *table, uint64_t time_ns)
{
	for (size_t i = 0; i < table->bucket_count; i++) {
		for (struct process **link = &table->buckets[i]; *link;) {
			struct process *process = *link;

			if (process->end_ns <= time_ns) {
				*link = process->next;
				process_destroy(table, process);
				continue;
			}
			forget_spaces(table, process, time_ns);
			link = &process->next;
		}
	}
	texts_sweep(&table->pool.texts);
}

void table_drop(struct table *table, struct process *process)
{
	struct process **link = bucket_of(table, process->pid);

	while (*link != process)
		link = &(*link)->next;
	*link = process->next;
	process_destroy(table, process);
}
