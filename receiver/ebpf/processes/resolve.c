// SPDX-License-Identifier: Apache-2.0
#include "resolve.h"

#include "base/base.h"
#include "file_numbers.h"
#include "resolve_roots.h"

#include <errno.h>

enum {
	/* More are taken in further rounds: the table is locked for one round at most. */
	FILES_AT_ONCE = 256,
	/* The rest has its turn a second later. */
	CHANGED_AT_ONCE = 64,
	YIELD_AT_ONCE = 4096, /* files: more than are kept for those that have less */
	UNHELD_NS = 50000000, /* nobody follows processes meanwhile */
	GENERATIONS = 8,
	MAPPERS = 4,
};

struct wanted_file {
	uint64_t start, limit, device, inode;
	uint64_t begin_ns;
	struct text *path; /* a reference */
	uint32_t file;     /* the answer */
};

struct round {
	struct table *table;
	uint32_t pid;
	uint64_t begin_ns; /* tells users of the pid apart */
	struct owner owner;
	bool inherited; /* that is its parent's still */
	bool alive;
	bool sampled; /* or else announced only: files that are new are left for its first sample */
	bool cut;     /* there are more files than fit */
	size_t most;  /* files at once: as many as there is room for before it is looked again */
	struct process_root_question root; /* and through whose roots files are looked for */
	size_t count;
	struct wanted_file files[FILES_AT_ONCE];
};

size_t resolve_ancestors(const struct table *table, const struct process *process,
			 const struct process *ret[RESOLVE_ANCESTORS])
{
	size_t count = 0;

	for (int i = 0; i < GENERATIONS && count < RESOLVE_ANCESTORS && process->parent; i++) {
		process = table_newest(table, process->parent);
		if (!process)
			break;
		if (process->end_ns == PROCESS_ALIVE)
			ret[count++] = process;
	}
	return count;
}

typedef void (*mapping_function)(void *context, struct mapping *mapping);

static void visit_space(struct space *space, mapping_function visit, void *context)
{
	struct mappings *mappings = &space->mappings;

	for (size_t i = 0; i < mappings->now.count; i++)
		visit(context, &mappings->now.items[i]);
	for (size_t i = 0; i < mappings->past.count; i++)
		visit(context, &mappings->past.items[i].mapping);
}

/*
 * Every mapping @process has, with those of the parents whose spaces it shares; and what it had
 * before an exec, if it was sampled: else nobody asks for that.
 */
static void visit_mappings(struct process *process, mapping_function visit, void *context)
{
	for (struct space *own = process->space; own; own = process->sampled_ns ? own->older : NULL)
		for (struct space *space = own; space; space = space->parent)
			visit_space(space, visit, context);
}

static struct wanted_file *find_wanted(struct round *round, const struct mapping *mapping)
{
	for (size_t i = 0; i < round->count; i++)
		if (round->files[i].inode == mapping->inode &&
		    round->files[i].device == mapping->device)
			return &round->files[i];
	return NULL;
}

static void want(void *context, struct mapping *mapping)
{
	struct round *round = context;

	if (mapping->file != MAPPING_FILE_UNRESOLVED || find_wanted(round, mapping))
		return;
	round->cut |= round->count >= round->most;
	if (round->cut)
		return;
	round->files[round->count++] = (struct wanted_file){
		.start = mapping->start,
		.limit = mapping->limit,
		.device = mapping->device,
		.inode = mapping->inode,
		.begin_ns = mapping->begin_ns,
		.path = texts_share(&round->table->pool.texts, mapping->path),
	};
}

static bool begin_round(struct round *round)
{
	struct process *process = table_take_unresolved(round->table);

	if (!process)
		return false;
	round->pid = process->pid;
	round->begin_ns = process->begin_ns;
	round->owner = process->owner;
	round->inherited = !process->owner_read;
	round->alive = process->end_ns == PROCESS_ALIVE;
	round->sampled = process->sampled_ns;
	round->cut = false;
	round->count = 0;
	visit_mappings(process, want, round);
	resolve_root_pids(round->table, process, &round->root);
	return true;
}

static void answer(void *context, struct mapping *mapping)
{
	struct wanted_file *wanted;

	if (mapping->file != MAPPING_FILE_UNRESOLVED)
		return;
	wanted = find_wanted(context, mapping);
	if (wanted)
		mapping->file = wanted->file;
}

static bool has_answer(const struct round *round, uint32_t answer)
{
	for (size_t i = 0; i < round->count; i++)
		if (round->files[i].file == answer)
			return true;
	return false;
}

static void let_go_of_round(struct round *round)
{
	for (size_t i = 0; i < round->count; i++)
		texts_release(&round->table->pool.texts, round->files[i].path);
}

/* The process may have been dropped since: then nobody needs the answer. */
static void end_round(struct round *round)
{
	struct process *process = table_newest(round->table, round->pid);

	for (; process; process = process->next)
		if (process->pid == round->pid && process->begin_ns == round->begin_ns)
			break;
	if (process)
		visit_mappings(process, answer, round);
	if (process && round->count)
		table_mark_changed(round->table, process);
	round->table->has_refused |= has_answer(round, MAPPING_FILE_REFUSED);
	if (process && has_answer(round, MAPPING_FILE_UNRESOLVED))
		table_unannounce(round->table, process);
	else if (process && round->cut)
		table_mark_unresolved(round->table, process);
	let_go_of_round(round);
}

/* Find the root that the process of @round sees files through; of one that has ended its nearest
 * living ancestor's, where files are looked for, too. */
static void find_root(struct round *round, struct files *files, const struct resolve_roots *roots)
{
	if (round->root.count &&
	    !resolve_roots_find(roots, round->pid, round->begin_ns, &round->root))
		process_roots_find(files_calls(files), &round->root, 1, round->owner);
}

static void identify(struct round *round, struct files *files, const struct resolve_roots *roots)
{
	if (round->count)
		find_root(round, files, roots);
	for (size_t i = 0; i < round->count; i++) {
		struct wanted_file *wanted = &round->files[i];
		struct file_search search = {
			.mapped = {
				.pid = round->alive ? round->pid : 0,
				.start = wanted->start,
				.limit = wanted->limit,
				.path = wanted->path->bytes,
				.device = wanted->device,
				.inode = wanted->inode,
				.owner = round->owner,
				.inherited = round->inherited,
				.begin_ns = wanted->begin_ns,
			},
			.roots = round->root.pids + round->alive,
			.root_count = round->root.count - round->alive,
			.root = round->root.root,
			.root_pid = round->root.found,
		};

		if (round->sampled) {
			wanted->file = files_identify(files, &search);
			continue;
		}
		wanted->file = files_recognize(files, &search);
		if (wanted->file == PROCESS_NO_FILE)
			wanted->file = MAPPING_FILE_UNRESOLVED;
	}
}

/* Files that are mapped, or were at a time that may be asked for. */
struct needed {
	VECTOR(uint32_t) files;
	uint64_t round;
	bool failed; /* no memory */
};

static void need(void *context, struct mapping *mapping)
{
	struct needed *needed = context;
	size_t count = needed->files.count;
	uint32_t file = mapping_file(mapping);

	// Most processes have the files of the one before.
	if (file == PROCESS_NO_FILE || (count && needed->files.items[count - 1] == file))
		return;
	needed->failed |= !VECTOR_PUSH(&needed->files, file);
}

/* Many refer to one space, and to all before it: each is looked at once. */
static void collect_of_space(struct needed *needed, struct space *space)
{
	for (; space && space->visited != needed->round; space = space->parent) {
		space->visited = needed->round;
		visit_space(space, need, needed);
	}
}

static void collect_needed(void *context, struct process *process)
{
	for (struct space *own = process->space; own; own = own->older)
		collect_of_space(context, own);
}

/* Collects files that living processes map now. */
static void collect_living(void *context, struct process *process)
{
	if (process->end_ns == PROCESS_ALIVE)
		collect_of_space(context, process->space);
}

/* What @collect finds of all processes, ascending: the caller's to VECTOR_DEINIT. */
static struct needed collect_files(struct table *table, pthread_mutex_t *table_lock,
				   void (*collect)(void *context, struct process *process))
{
	struct needed needed = { 0 };

	pthread_mutex_lock(table_lock);
	needed.round = ++table->visits;
	table_each(table, collect, &needed);
	pthread_mutex_unlock(table_lock);
	if (needed.files.count)
		qsort(needed.files.items, needed.files.count, sizeof(uint32_t),
		      file_numbers_compare);
	return needed;
}

static void look_for_refused(void *context, struct mapping *mapping)
{
	bool *found = context;

	*found |= mapping->file == MAPPING_FILE_REFUSED;
}

static void mark_refused(void *context, struct process *process)
{
	bool found = false;

	if (!process_is_followed(process))
		return;
	visit_mappings(process, look_for_refused, &found);
	if (!found)
		return;
	table_mark_unresolved(context, process);
	table_mark_changed(context, process);
}

static void want_again(void *context, struct mapping *mapping)
{
	(void)context;
	if (mapping->file == MAPPING_FILE_REFUSED)
		mapping->file = MAPPING_FILE_UNRESOLVED;
}

static void want_refused_again(void *context, struct process *process)
{
	visit_mappings(process, want_again, context);
}

/* There is room again for files that were refused. */
static void retry_refused(struct table *table)
{
	if (!table->has_refused)
		return;
	table->has_refused = false;
	// Several may see one mapping: all are to be told.
	table_each(table, mark_refused, table);
	table_each(table, want_refused_again, NULL);
}

/* Files that have gone although they are mapped. */
struct gone {
	struct table *table;
	uint32_t files[YIELD_AT_ONCE]; /* ascending */
	size_t count;
	uint64_t round; /* as space.visited */
	bool found;     /* in the process that is looked at */
};

static void refuse_gone(void *context, struct mapping *mapping)
{
	struct gone *gone = context;

	if (!bsearch(&mapping->file, gone->files, gone->count, sizeof(uint32_t),
		     file_numbers_compare))
		return;
	mapping->file = MAPPING_FILE_REFUSED;
	gone->found = true;
}

/* Whoever shares a mapping with one that was looked at before is told of its next change. */
static void refuse_gone_of(void *context, struct process *process)
{
	struct gone *gone = context;

	gone->found = false;
	for (struct space *own = process->space; own; own = own->older)
		// A parent's lives on after it has gone.
		for (struct space *space = own; space && space->visited != gone->round;
		     space = space->parent) {
			space->visited = gone->round;
			visit_space(space, refuse_gone, gone);
		}
	if (gone->found)
		table_mark_changed(gone->table, process);
}

/* Files of who has most go for those of others. */
static void yield_files(struct table *table, pthread_mutex_t *table_lock, struct files *files)
{
	struct gone gone = { .table = table };

	gone.count = files_yield(files, gone.files, YIELD_AT_ONCE);
	if (!gone.count)
		return;
	pthread_mutex_lock(table_lock);
	table->has_refused = true;
	gone.round = ++table->visits;
	table_each(table, refuse_gone_of, &gone);
	// Others may have been refused what they are sure of.
	retry_refused(table);
	pthread_mutex_unlock(table_lock);
}

/* Make room among the files. Nobody else gives files to mappings meanwhile. */
static void evict_files(struct table *table, pthread_mutex_t *table_lock, struct files *files)
{
	struct needed needed = collect_files(table, table_lock, collect_needed);
	size_t evicted = 0;

	if (!needed.failed)
		evicted = files_evict(files, needed.files.items, needed.files.count);
	VECTOR_DEINIT(&needed.files);
	if (evicted) {
		pthread_mutex_lock(table_lock);
		retry_refused(table);
		pthread_mutex_unlock(table_lock);
	}
	yield_files(table, table_lock, files);
}

/* Processes that have to wait. */
struct put_off {
	VECTOR(uint32_t) pids;
};

/* Has the owner of @round, which is not begun then, had its time? */
static bool has_to_wait(const struct round *round, struct read_time *time, struct put_off *put_off)
{
	if (!time || !round->count || read_time_is_left(time, round->owner, clock_monotonic_ns()))
		return false;
	// Without memory it is looked at again when it is sampled.
	(void)VECTOR_PUSH(&put_off->pids, round->pid);
	return true;
}

static void look_for_wanted(void *context, struct mapping *mapping)
{
	bool *found = context;

	*found |= mapping->file == MAPPING_FILE_UNRESOLVED;
}

/* Collect the processes whose roots will be needed next. */
static void collect_roots(struct table *table, struct resolve_roots *ret)
{
	struct process *next[2 * PROCESS_ROOTS_AT_ONCE];
	size_t count = table_next_unresolved(table, next, 2 * PROCESS_ROOTS_AT_ONCE);

	*ret = (struct resolve_roots){ 0 };
	for (; ret->looked_at < count; ret->looked_at++) {
		bool found = false;

		visit_mappings(next[ret->looked_at], look_for_wanted, &found);
		if (found && !resolve_roots_add(ret, table, next[ret->looked_at]))
			break;
	}
}

/* Ask for the roots that will be needed next, unless their owner has had its time. */
static void ask_roots(struct table *table, pthread_mutex_t *table_lock, struct files *files,
		      struct read_time *time, struct resolve_roots *ret)
{
	uint64_t began_ns = clock_monotonic_ns();

	pthread_mutex_lock(table_lock);
	collect_roots(table, ret);
	pthread_mutex_unlock(table_lock);
	if (time && !read_time_is_left(time, ret->owner, began_ns))
		ret->count = 0;
	if (!ret->count)
		return;
	resolve_roots_ask(ret, files);
	if (time)
		read_time_spend(time, ret->owner, clock_monotonic_ns() - began_ns);
}

static void identify_in_time(struct round *round, struct files *files,
			     const struct resolve_roots *roots, struct read_time *time)
{
	uint64_t began_ns = clock_monotonic_ns();

	identify(round, files, roots);
	if (time)
		read_time_spend(time, round->owner, clock_monotonic_ns() - began_ns);
}

static void mark_put_off(struct table *table, pthread_mutex_t *table_lock, struct put_off *put_off)
{
	pthread_mutex_lock(table_lock);
	for (size_t i = 0; i < put_off->pids.count; i++) {
		struct process *process = table_newest(table, put_off->pids.items[i]);

		if (process)
			table_mark_unresolved(table, process);
	}
	pthread_mutex_unlock(table_lock);
	VECTOR_DEINIT(&put_off->pids);
}

bool resolve_files(struct table *table, pthread_mutex_t *table_lock, struct files *files,
		   struct read_time *time, uint64_t until_ns)
{
	struct round round = { .table = table, .most = files_margin(files) };
	struct resolve_roots roots = { 0 };
	struct put_off put_off = { 0 };
	bool more, waits;

	if (round.most > FILES_AT_ONCE)
		round.most = FILES_AT_ONCE;
	do {
		if (files_want_room(files))
			evict_files(table, table_lock, files);
		// Each process is looked at for that once, whatever comes of it.
		if (!roots.looked_at)
			ask_roots(table, table_lock, files, time, &roots);
		roots.looked_at -= roots.looked_at > 0;
		pthread_mutex_lock(table_lock);
		more = begin_round(&round);
		pthread_mutex_unlock(table_lock);
		if (!more)
			break;
		waits = has_to_wait(&round, time, &put_off);
		if (!waits)
			identify_in_time(&round, files, &roots, time);
		pthread_mutex_lock(table_lock);
		if (waits)
			let_go_of_round(&round);
		else
			end_round(&round);
		pthread_mutex_unlock(table_lock);
	} while (clock_monotonic_ns() < until_ns);
	mark_put_off(table, table_lock, &put_off);
	return more;
}

/* A file that was written to. */
struct renewal {
	struct table *table;
	uint32_t file;
	uint64_t time_ns;
};

static void renew(void *context, struct process *process)
{
	const struct renewal *renewal = context;

	if (process->end_ns != PROCESS_ALIVE || !process->space || !process_is_followed(process))
		return;
	if (!space_renew(&renewal->table->pool, process->space, renewal->file, renewal->time_ns))
		return;
	table_mark_unresolved(renewal->table, process);
	table_mark_changed(renewal->table, process);
}

static void renew_file(struct table *table, pthread_mutex_t *table_lock, uint32_t file)
{
	struct renewal renewal = {
		.table = table,
		.file = file,
		.time_ns = clock_monotonic_ns(),
	};

	pthread_mutex_lock(table_lock);
	table_each(table, renew, &renewal);
	pthread_mutex_unlock(table_lock);
}

void resolve_changed(struct table *table, pthread_mutex_t *table_lock, struct files *files)
{
	uint32_t changed[CHANGED_AT_ONCE];
	size_t count = files_changed(files, changed, CHANGED_AT_ONCE);

	for (size_t i = 0; i < count; i++)
		renew_file(table, table_lock, changed[i]);
}

void resolve_repeated(struct table *table, pthread_mutex_t *table_lock, struct files *files)
{
	for (;;) {
		uint32_t file;
		bool more;

		pthread_mutex_lock(table_lock);
		more = table_take_repeated(table, &file);
		pthread_mutex_unlock(table_lock);
		if (!more)
			break;
		if (files_has_changed(files, file))
			renew_file(table, table_lock, file);
	}
}

/* Living processes that have a file mapped. */
struct mappers {
	struct table *table;
	uint32_t file;
	uint32_t pid; /* of the process being looked at */
	struct owner owner;
	size_t count;
	struct mapped_file found[MAPPERS];
	struct text *paths[MAPPERS]; /* references */
};

static void take_mapper(void *context, struct mapping *mapping)
{
	struct mappers *mappers = context;
	size_t count = mappers->count;

	if (mapping->file != mappers->file || count >= MAPPERS)
		return;
	// One of each owner: those of one that hang keep nobody from asking another.
	for (size_t i = 0; i < count; i++)
		if (owner_is(mappers->found[i].owner, mappers->owner))
			return;
	mappers->paths[count] = texts_share(&mappers->table->pool.texts, mapping->path);
	mappers->found[count] = (struct mapped_file){
		.pid = mappers->pid,
		.start = mapping->start,
		.limit = mapping->limit,
		.path = mapping->path->bytes,
		.device = mapping->device,
		.inode = mapping->inode,
		.owner = mappers->owner,
	};
	mappers->count++;
}

static void look_for_mappers(void *context, struct process *process)
{
	struct mappers *mappers = context;

	if (process->end_ns != PROCESS_ALIVE || mappers->count >= MAPPERS)
		return;
	mappers->pid = process->pid;
	mappers->owner = process->owner;
	visit_mappings(process, take_mapper, mappers);
}

int resolve_again(struct table *table, pthread_mutex_t *table_lock, struct files *files,
		  uint32_t file, uint64_t limit_ns)
{
	struct mappers mappers = { .table = table, .file = file };
	struct file_search search = { 0 };
	CLEANUP_FREE char *path = NULL;
	int status = -ENOENT;

	if (!files_lookup(files, file, &search.mapped, &path))
		return -ENOENT;
	pthread_mutex_lock(table_lock);
	table_each(table, look_for_mappers, &mappers);
	pthread_mutex_unlock(table_lock);
	for (size_t i = 0; i < mappers.count && status; i++) {
		struct file_search through = { .mapped = mappers.found[i] };

		status = files_reopen(files, file, &through, limit_ns);
	}
	if (status)
		status = files_reopen(files, file, &search, limit_ns);
	pthread_mutex_lock(table_lock);
	for (size_t i = 0; i < mappers.count; i++)
		texts_release(&table->pool.texts, mappers.paths[i]);
	pthread_mutex_unlock(table_lock);
	return status;
}

/* Files of living processes that no descriptor is held of are opened again in turns, in the time
 * that their owners have: so it shows which have been written to. */
static void look_at_unheld(struct table *table, pthread_mutex_t *table_lock, struct files *files,
			   const struct needed *living, struct read_time *time)
{
	uint64_t began_ns = clock_monotonic_ns(), end_ns = began_ns + UNHELD_NS;

	while (began_ns < end_ns) {
		uint32_t file = files_unheld(files, living->files.items, living->files.count);
		struct owner owner;
		int status;

		if (file == PROCESS_NO_FILE)
			break;
		if (!files_has(files, file, &owner) || !read_time_is_left(time, owner, began_ns))
			continue;
		status = resolve_again(table, table_lock, files, file, FILES_FIND_NS);
		if (status == -ESTALE)
			renew_file(table, table_lock, file);
		read_time_spend(time, owner, clock_monotonic_ns() - began_ns);
		began_ns = clock_monotonic_ns();
	}
}

void resolve_let_go(struct table *table, pthread_mutex_t *table_lock, struct files *files,
		    struct read_time *time)
{
	struct needed living;

	if (!files_may_let_go(files))
		return;
	living = collect_files(table, table_lock, collect_living);
	if (!living.failed) {
		files_let_go(files, living.files.items, living.files.count);
		look_at_unheld(table, table_lock, files, &living, time);
	}
	VECTOR_DEINIT(&living.files);
}
