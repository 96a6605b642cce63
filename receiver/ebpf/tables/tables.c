// SPDX-License-Identifier: Apache-2.0
#include "tables_parts.h"

#include "base/base.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	/* While a worker is asked, how long something new may have to wait. */
	PASS_NS = 10000000,
	/* While something is to be tried again. */
	WAITING_NS = 200000000,
	FORK_GENERATIONS = 3, /* as bpf/fork.bpf.h has it */
};

static void take_answer(void *context, const struct worker_answer *answer);

struct tables *tables_create(const struct profcol_host *host, struct processes *processes,
			     struct process_memory *memory, uint32_t worker_uid,
			     uint64_t limit_bytes, size_t found_bytes)
{
	struct tables *tables = calloc(1, sizeof(*tables));

	if (!tables)
		return NULL;
	tables->host = host;
	tables->processes = processes;
	tables->process_memory = memory;
	tables->limit_bytes = limit_bytes;
	tables->found_bytes = found_bytes;
	pthread_mutex_init(&tables->lock, NULL);
	tables_metrics_init(&tables->metrics, host);
	tables->pool = worker_pool_create(host, "purpose=unwind", worker_uid, take_answer, tables);
	if (!missed_init(&tables->missed) || !tables->pool) {
		tables_destroy(tables);
		return NULL;
	}
	return tables;
}

void tables_destroy(struct tables *tables)
{
	if (!tables)
		return;
	tables_stop(tables);
	kept_pages_deinit(&tables->kept);
	worker_pool_destroy(tables->pool);
	spaces_destroy(tables->spaces);
	met_destroy(tables->met);
	pages_destroy(tables->pages);
	memory_destroy(tables->memory);
	slabs_destroy(tables->slabs);
	rule_table_deinit(&tables->rules);
	if (tables->index.buckets)
		munmap(tables->index.buckets, tables->index_bytes);
	if (tables->rules.rules)
		munmap(tables->rules.rules, tables->rules_bytes);
	missed_deinit(&tables->missed);
	pthread_mutex_destroy(&tables->lock);
	free(tables);
}

/* ---- what others tell ---- */

static void wake_for_kept(void *context)
{
	struct tables *tables = context;

	missed_wake(&tables->missed);
}

bool tables_keep(struct tables *tables, const char *directory, uint64_t limit_bytes)
{
	const struct page_cache_asker asker = {
		.ready = wake_for_kept,
		.context = tables,
	};

	tables->kept.cache = page_cache_create(tables->host, directory, limit_bytes, &asker);
	return tables->kept.cache;
}

void tables_disable_runtimes(struct tables *tables, uint32_t disabled, uint32_t unlabelled)
{
	tables->disabled_runtimes = disabled;
	tables->unlabelled_runtimes = unlabelled;
}

void tables_note_process(void *context, const struct process_key *key, bool alive)
{
	struct tables *tables = context;
	uint64_t now = clock_monotonic_ns();
	bool wants = false;

	// At once, in the thread that tells: every change of threads is time in which the program
	// runs unknown.
	pthread_mutex_lock(&tables->lock);
	// Whoever is there at the start is told of again then.
	if (tables->spaces) {
		if (alive)
			spaces_update(tables->spaces, key, now);
		else
			spaces_end(tables->spaces, key);
		wants = pages_wants(tables->pages) || spaces_look_due_ns(tables->spaces) <= now;
	}
	pthread_mutex_unlock(&tables->lock);
	if (wants)
		missed_wake(&tables->missed);
}

void tables_note_sample(struct tables *tables, const struct sample_head *head)
{
	notes_take(&tables->notes, tables, head);
}

static bool count_noted(struct tables *tables, bool noted)
{
	if (!noted)
		profcol_metric_add(tables->metrics.notes_dropped, 1);
	return noted;
}

bool tables_note_miss(struct tables *tables, uint32_t file, uint64_t file_offset)
{
	const struct tables_place place = { .file = file, .file_offset = file_offset };

	return count_noted(tables, missed_add_place(&tables->missed, place));
}

bool tables_note_address(struct tables *tables, const struct process_key *key, uint64_t address)
{
	const struct met_address met = { .key = *key, .address = address };

	return count_noted(tables, missed_add_address(&tables->missed, met));
}

void tables_touch(struct tables *tables, const struct tables_place *places, size_t count)
{
	uint64_t now = clock_monotonic_ns();

	pthread_mutex_lock(&tables->lock);
	if (tables->pages) {
		pages_next_epoch(tables->pages);
		for (size_t i = 0; i < count; i++)
			pages_touch(tables->pages, places[i].file, places[i].file_offset, now);
	}
	pthread_mutex_unlock(&tables->lock);
}

void tables_limit(struct tables *tables, uint64_t limit_bytes)
{
	pthread_mutex_lock(&tables->lock);
	if (tables->memory && limit_bytes <= tables->most_bytes) {
		tables->limit_bytes = limit_bytes;
		memory_set_limit(tables->memory, limit_bytes);
	}
	pthread_mutex_unlock(&tables->lock);
	missed_wake(&tables->missed);
}

void tables_workers(const struct tables *tables, struct worker_use *use)
{
	worker_pool_use(tables->pool, use);
}

uint64_t tables_map_bytes(struct tables *tables)
{
	uint64_t bytes;

	pthread_mutex_lock(&tables->lock);
	bytes = tables->slabs ? slabs_bytes(tables->slabs) : 0;
	pthread_mutex_unlock(&tables->lock);
	return bytes;
}

/* ---- the thread ---- */

static void learn(struct tables *tables, const struct worker_answer *answer)
{
	uint64_t now = clock_monotonic_ns();

	pthread_mutex_lock(&tables->lock);
	if (pages_learn(tables->pages, answer, now))
		spaces_file_known(tables->spaces, answer->file, now);
	pthread_mutex_unlock(&tables->lock);
}

/* A worker_answered_function. */
static void take_answer(void *context, const struct worker_answer *answer)
{
	struct tables *tables = context;

	learn(tables, answer);
	kept_pages_keep(&tables->kept, tables->processes, answer);
}

static void handle_misses(struct tables *tables)
{
	const struct missed_lists *taken = &tables->missed.taken;
	uint64_t now = clock_monotonic_ns();
	size_t dropped;

	pthread_mutex_lock(&tables->lock);
	for (size_t i = 0; i < taken->places.count; i++)
		(void)pages_miss(tables->pages, taken->places.items[i].file,
				 taken->places.items[i].file_offset, now);
	for (size_t i = 0; i < taken->addresses.count; i++)
		spaces_miss(tables->spaces, &taken->addresses.items[i].key, now);
	dropped = met_take(tables->met, taken->addresses.items, taken->addresses.count, now);
	pthread_mutex_unlock(&tables->lock);
	if (dropped)
		profcol_metric_add(tables->metrics.notes_dropped, (int64_t)dropped);
}

/* A file that cannot be opened has no tables, like one that a worker could not read. */
static void give_up_file(struct tables *tables, uint32_t file)
{
	learn(tables, &(struct worker_answer){ .file = file, .outcome = WORKER_UNREADABLE });
}

/* It is not the file's fault that it cannot be asked for now. */
static void put_off(struct tables *tables, uint32_t file)
{
	pthread_mutex_lock(&tables->lock);
	pages_forget_request(tables->pages, file, clock_monotonic_ns());
	pthread_mutex_unlock(&tables->lock);
}

/* Takes @fd. */
static void ask_worker(struct tables *tables, uint32_t file, const uint32_t *numbers, size_t count,
		       int fd)
{
	// A file that changes gets another id: the id is the content's, as long as it is nobody
	// else's.
	uint64_t content = tables->known.lap << 32 | (file + 1ull);

	if (worker_pool_ask_pages(tables->pool, file,
				  processes_file_origin(tables->processes, file, false), content,
				  fd, numbers, count))
		return;
	kept_pages_keep(&tables->kept, tables->processes,
			&(struct worker_answer){ .file = file, .outcome = WORKER_MISSING });
	put_off(tables, file);
}

/* What the cache has found is learned; a worker is asked for the rest. */
static void take_kept(struct tables *tables)
{
	struct page_cache_reply *reply;

	// Most are files of the machine's.
	while (worker_pool_has_room(tables->pool, OWNER_MACHINE) &&
	       (reply = kept_pages_next(&tables->kept))) {
		if (reply->found)
			learn(tables, &reply->answer);
		else
			ask_worker(tables, reply->request.file, reply->request.numbers,
				   reply->request.count, TAKE_FD(reply->fd));
		page_cache_reply_destroy(reply);
	}
}

/* Is there room for a request about @file, and can its owner's files be closed? */
static bool may_ask(void *context, uint32_t file)
{
	const struct tables *tables = context;
	struct origin origin = processes_file_origin(tables->processes, file, false);

	return worker_pool_has_room(tables->pool, origin.owner) && !close_later_hangs(origin.payer);
}

/* One request of those that wait. False: there is none, or no room for it. */
static bool ask_next(struct tables *tables)
{
	struct pages_request request;
	bool more;
	int fd;

	if (!kept_pages_has_room(&tables->kept))
		return false;
	pthread_mutex_lock(&tables->lock);
	more = pages_next_request(tables->pages, may_ask, tables, &request);
	pthread_mutex_unlock(&tables->lock);
	if (!more)
		return false;
	fd = processes_open_file(tables->processes, request.file);
	if (fd == -EAGAIN) {
		put_off(tables, request.file);
		return false;
	}
	if (fd < 0) {
		give_up_file(tables, request.file);
		return true;
	}
	if (!kept_pages_ask(&tables->kept, tables->processes, &request, fd))
		ask_worker(tables, request.file, request.numbers, request.count, fd);
	return true;
}

static void learn_look(void *context, const struct process_look *look,
		       const struct process_looked *looked)
{
	struct tables *tables = context;

	pthread_mutex_lock(&tables->lock);
	spaces_learn_look(tables->spaces, look, looked, clock_monotonic_ns());
	pthread_mutex_unlock(&tables->lock);
	// There may be a program to load, or another look to be taken.
	missed_wake(&tables->missed);
}

/* Have one process with a runtime looked at, if one is due. */
static void look_at_next(struct tables *tables)
{
	uint64_t now = clock_monotonic_ns();
	struct process_looked crowded = process_looked_crowded(now);
	struct process_look look;
	bool more;

	pthread_mutex_lock(&tables->lock);
	more = spaces_next_look(tables->spaces, now, &look);
	pthread_mutex_unlock(&tables->lock);
	if (more && !process_memory_look(tables->process_memory, &look))
		learn_look(tables, &look, &crowded);
}

/*
 * The same of the program that the one of @key was forked from: until the fork is met, its stacks
 * are walked by what is known of that (bpf/fork.bpf.h).
 */
static bool find_forked_runtime(struct tables *tables, const struct process_key *key,
				uint32_t runtime, struct runtime_process *ret)
{
	uint32_t pid = key->pid;
	uint64_t by_ns = key->start_boottime_ns;
	bool found = false;

	for (int i = 0; i < FORK_GENERATIONS && !found; i++) {
		struct process_origin origin;
		struct process_key parent;

		if (!processes_origin(tables->processes, pid, by_ns, &origin) || !origin.parent)
			return false;
		pthread_mutex_lock(&tables->lock);
		found = spaces_find_parent(tables->spaces, key, origin.parent, &parent) &&
			spaces_find_runtime(tables->spaces, &parent, runtime, ret);
		pthread_mutex_unlock(&tables->lock);
		pid = origin.parent;
		by_ns = origin.earliest_ns;
	}
	return found;
}

static bool find_runtime(void *context, const struct process_key *key, uint32_t runtime,
			 struct runtime_process *ret)
{
	struct tables *tables = context;
	bool found;

	pthread_mutex_lock(&tables->lock);
	found = spaces_find_runtime(tables->spaces, key, runtime, ret);
	pthread_mutex_unlock(&tables->lock);
	return found || find_forked_runtime(tables, key, runtime, ret);
}

struct process_memory_tables tables_for_memory(struct tables *tables)
{
	return (struct process_memory_tables){ find_runtime, learn_look, tables };
}

/* When something is to be done that nobody tells of. */
static uint64_t next_deadline(struct tables *tables, uint64_t housekeeping)
{
	uint64_t deadline = kept_pages_deadline(&tables->kept, housekeeping), look;

	pthread_mutex_lock(&tables->lock);
	look = spaces_look_due_ns(tables->spaces);
	pthread_mutex_unlock(&tables->lock);
	return look < deadline ? look : deadline;
}

/* What pages and ranges take in user space is accounted with what is known of processes. */
static void account_tables(struct tables *tables, uint64_t bytes)
{
	processes_account(tables->processes, (int64_t)(bytes - tables->accounted_bytes));
	tables->accounted_bytes = bytes;
}

static void show_metrics(struct tables *tables)
{
	struct pages_counts pages;
	struct spaces_counts spaces;
	uint64_t made_bytes, used_bytes;

	pthread_mutex_lock(&tables->lock);
	pages = pages_counts(tables->pages);
	spaces = spaces_counts(tables->spaces);
	made_bytes = slabs_bytes(tables->slabs);
	used_bytes = memory_used(tables->memory);
	pthread_mutex_unlock(&tables->lock);
	account_tables(tables, pages.memory + spaces.memory);
	tables_metrics_show(&tables->metrics, &pages, &spaces, made_bytes, used_bytes);
}

static bool is_known(void *context, uint32_t file)
{
	struct tables *tables = context;

	return processes_has_file(tables->processes, file);
}

static struct owner owner_of(void *context, uint32_t file)
{
	struct tables *tables = context;

	return processes_file_owner(tables->processes, file);
}

/* Forget the files that `processes` has forgotten. The lock is held. */
static void forget_files(struct tables *tables)
{
	struct processes_files known = processes_files(tables->processes);

	// Those that are left are looked for again the next time.
	if (known.evicted != tables->known.evicted && pages_forget(tables->pages, is_known, tables))
		known.evicted = tables->known.evicted;
	if (known.lap != tables->known.lap)
		pages_renumber(tables->pages);
	tables->known = known;
}

static void keep_house(struct tables *tables)
{
	uint64_t now = clock_monotonic_ns();

	pthread_mutex_lock(&tables->lock);
	forget_files(tables);
	pages_evict(tables->pages, tables->limit_bytes);
	if (tables->limit_bytes < tables->most_bytes)
		memory_trim(tables->memory);
	pages_retry(tables->pages, now);
	met_retry(tables->met, now);
	spaces_retry(tables->spaces, now);
	pthread_mutex_unlock(&tables->lock);
	worker_pool_run(tables->pool, 0); // ends what has been idle for long
	show_metrics(tables);
}

static bool has_waiting(struct tables *tables)
{
	bool waits;

	pthread_mutex_lock(&tables->lock);
	waits = pages_waits(tables->pages) || met_waits(tables->met) ||
		spaces_waits(tables->spaces);
	pthread_mutex_unlock(&tables->lock);
	return waits;
}

static void *tables_run(void *context)
{
	struct tables *tables = context;
	struct housekeeping housekeeping = { 0 };
	uint64_t now;

	pthread_setname_np(pthread_self(), "unwind");
	for (;;) {
		now = clock_monotonic_ns();
		// With answers due the pool is waited for, else the queue is.
		if (!missed_take(&tables->missed,
				 worker_pool_is_busy(tables->pool)
					 ? now
					 : next_deadline(tables, housekeeping.due_ns)))
			return NULL;
		now = clock_monotonic_ns();
		// Else nobody has called.
		if (now < housekeeping.due_ns)
			housekeeping_note_work(&housekeeping, now);
		handle_misses(tables);
		take_kept(tables);
		while (ask_next(tables))
			;
		if (worker_pool_is_busy(tables->pool))
			worker_pool_run(tables->pool, clock_monotonic_ns() + PASS_NS);
		look_at_next(tables);
		tables_load_next_walk(tables);
		now = clock_monotonic_ns();
		if (housekeeping_is_due(&housekeeping, now))
			keep_house(tables);
		if (housekeeping.due_ns > now + WAITING_NS && has_waiting(tables))
			housekeeping.due_ns = now + WAITING_NS;
	}
}

/* ---- start and stop ---- */

static struct profcol_error *map_array(int fd, size_t bytes, const char *what, void **ret)
{
	*ret = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (*ret != MAP_FAILED)
		return NULL;
	*ret = NULL;
	return profcol_error_errno(errno, "map the %s of the unwinder", what);
}

static size_t whole_pages(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

static struct profcol_error *map_kernel_side(struct tables *tables, const struct tables_maps *maps)
{
	struct profcol_error *error;
	void *rules = NULL, *buckets = NULL;

	tables->index_bytes = whole_pages(maps->buckets * sizeof(struct unwind_bucket));
	tables->rules_bytes = whole_pages(UNWIND_RULES * sizeof(struct unwind_rule));
	error = map_array(maps->processes, tables->index_bytes, "processes", &buckets);
	tables->index = (struct process_index){ .buckets = buckets, .count = maps->buckets };
	if (!error)
		error = map_array(maps->rules, tables->rules_bytes, "rules", &rules);
	rule_table_init(&tables->rules, rules);
	return error;
}

static bool create_parts(struct tables *tables, const struct tables_maps *maps)
{
	struct memory_slabs operations;

	tables->slabs = slabs_create(maps->slabs, maps->slab_lead,
				     (uint32_t)(tables->limit_bytes / UNWIND_SLAB_BYTES));
	if (!tables->slabs)
		return false;
	tables->limit_bytes = (uint64_t)slabs_limit(tables->slabs) * UNWIND_SLAB_BYTES;
	operations = slabs_operations(tables->slabs);
	tables->most_bytes = tables->limit_bytes;
	tables->memory = memory_create(&operations, tables->limit_bytes, clock_monotonic_ns);
	if (tables->memory)
		tables->pages = pages_create(tables->memory, &tables->rules, tables->found_bytes);
	if (tables->pages)
		pages_ask_owners(tables->pages, owner_of, tables);
	if (tables->pages)
		tables->spaces = spaces_create(tables->processes, tables->pages, tables->memory,
					       &tables->index);
	if (tables->spaces)
		spaces_disable_runtimes(tables->spaces, tables->disabled_runtimes,
					tables->unlabelled_runtimes);
	tables->loader.load_walk = maps->load_walk;
	tables->loader.context = maps->context;
	if (tables->spaces && maps->load_walk)
		spaces_walk_apart(tables->spaces);
	if (tables->spaces)
		tables->met =
			met_create(tables->processes, tables->pages, spaces_most(tables->spaces));
	return tables->met != NULL;
}

uint32_t tables_process_buckets(uint64_t limit_bytes)
{
	return process_index_size(limit_bytes);
}

struct profcol_error *tables_start(struct tables *tables, const struct tables_maps *maps)
{
	struct profcol_error *error = map_kernel_side(tables, maps);
	bool created;
	int status;

	if (error)
		return error;
	pthread_mutex_lock(&tables->lock);
	created = create_parts(tables, maps);
	if (created)
		pages_learn_vdso(tables->pages);
	if (created && tables->kept.cache)
		pages_ask_by_group(tables->pages);
	pthread_mutex_unlock(&tables->lock);
	if (!created)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the unwinder");
	processes_tell_again(tables->processes);
	error = worker_pool_start(tables->pool);
	if (!error && tables->kept.cache)
		error = page_cache_start(tables->kept.cache);
	if (error)
		return error;
	status = pthread_create(&tables->thread, NULL, tables_run, tables);
	if (status)
		return profcol_error_errno(status, "start the unwinder's thread");
	tables->running = true;
	return NULL;
}

void tables_stop(struct tables *tables)
{
	if (!tables->running)
		return;
	missed_stop(&tables->missed);
	pthread_join(tables->thread, NULL);
	tables_end_loading(tables);
	tables->running = false;
	if (tables->kept.cache)
		page_cache_stop(tables->kept.cache);
}
