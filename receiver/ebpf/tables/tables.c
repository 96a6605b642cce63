// SPDX-License-Identifier: Apache-2.0
#include "tables.h"

#include "memory.h"
#include "pages.h"
#include "process_index.h"
#include "rule_table.h"
#include "slabs.h"
#include "spaces.h"

#include "worker/worker.h"

#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	/* A sample brings one at most, and they are taken many times a second. */
	NOTES_MAX = 8192,
	MISSES_MAX = NOTES_MAX / 2, /* of these: a miss comes again, a change does not */
	/* While a worker is asked, how long something new may have to wait. */
	PASS_NS = 10000000,
	HOUSEKEEPING_NS = 1000000000,
};

struct table_note {
	enum { NOTE_CHANGED, NOTE_ENDED, NOTE_MISS } kind;
	struct process_key key; /* CHANGED, ENDED */
	uint32_t file;          /* MISS */
	uint64_t file_offset;   /* MISS */
};

struct tables_metrics {
	struct profcol_metric *memory, *used, *files, *pages, *processes; /* gauges */
	/* Counters: */
	struct profcol_metric *built, *evicted, *refused, *failed, *notes_dropped;
	struct profcol_metric *ranges_dropped, *processes_refused, *files_given_up, *rules_refused;
	struct profcol_metric *unsupported[UNWIND_UNSUPPORTED_COUNT];
};

struct tables {
	const struct profcol_host *host;
	struct processes *processes;
	uint64_t limit_bytes;
	struct tables_metrics metrics;

	pthread_mutex_t queue_lock; /* over what follows */
	pthread_cond_t queued;
	VECTOR(struct table_note) notes;
	size_t misses;  /* among the notes */
	bool lost_news; /* of processes */
	bool stopping;

	pthread_mutex_t lock; /* over what follows but the pool; not held over I/O */
	struct slabs *slabs;
	struct memory *memory;
	struct process_index index;
	struct rule_table rules;
	struct pages *pages;
	struct spaces *spaces;
	size_t index_bytes, rules_bytes; /* of the mappings */

	/* Of the thread: */
	struct worker_pool *pool;
	VECTOR(struct table_note) taken;
	pthread_t thread;
	bool running;
};

static const char *const unsupported_labels[UNWIND_UNSUPPORTED_COUNT] = {
	[UNWIND_BAD_PROGRAM] = "kind=bad_program",
	[UNWIND_CFA_EXPRESSION] = "kind=cfa_expression",
	[UNWIND_RA_EXPRESSION] = "kind=ra_expression",
	[UNWIND_FP_EXPRESSION] = "kind=fp_expression",
	[UNWIND_RANGE] = "kind=offset_range",
	[UNWIND_OTHER_STACK] = "kind=other_stack",
};

static void register_metrics(struct tables *tables)
{
	const struct profcol_host *host = tables->host;

	tables->metrics = (struct tables_metrics){
		.memory = host->metric(host, PROFCOL_GAUGE, "unwind_memory_bytes", "",
				       "Memory of the kernel that was made for unwind tables"),
		.used = host->metric(host, PROFCOL_GAUGE, "unwind_memory_used_bytes", "",
				     "Part of unwind_memory_bytes that holds tables"),
		.files = host->metric(host, PROFCOL_GAUGE, "unwind_files", "",
				      "Files of sampled programs that are known to the unwinder"),
		.pages = host->metric(host, PROFCOL_GAUGE, "unwind_pages", "",
				      "Pages of 64 KiB of code whose unwind rules are held"),
		.processes = host->metric(host, PROFCOL_GAUGE, "unwind_processes", "",
					  "Processes whose memory the unwinder knows"),
		.built = host->metric(host, PROFCOL_COUNTER, "unwind_pages_built", "",
				      "Pages of unwind rules that were brought in"),
		.evicted = host->metric(host, PROFCOL_COUNTER, "unwind_pages_evicted", "",
					"Pages dropped to stay within unwind_memory"),
		.refused = host->metric(host, PROFCOL_COUNTER, "unwind_pages_refused", "",
					"Pages there was no room for in unwind_memory"),
		.failed = host->metric(host, PROFCOL_COUNTER, "unwind_pages_failed", "",
				       "Pages whose unwind rules cannot be read"),
		.notes_dropped = host->metric(host, PROFCOL_COUNTER, "unwind_notes_dropped", "",
					      "Changes and misses that came faster than they could "
					      "be dealt with"),
		.ranges_dropped = host->metric(host, PROFCOL_COUNTER, "unwind_ranges_dropped", "",
					       "Mappings beyond what the unwinder holds of one "
					       "process"),
		.processes_refused =
			host->metric(host, PROFCOL_COUNTER, "unwind_processes_refused", "",
				     "Processes there was no room for in the unwinder's tables"),
		.files_given_up = host->metric(host, PROFCOL_COUNTER, "unwind_files_given_up", "",
					       "Files that could not be read for their rules"),
		.rules_refused = host->metric(host, PROFCOL_COUNTER, "unwind_rules_refused", "",
					      "Unwind rules there was no room for"),
	};
	for (size_t kind = UNWIND_SUPPORTED + 1; kind < UNWIND_UNSUPPORTED_COUNT; kind++)
		tables->metrics.unsupported[kind] = host->metric(
			host, PROFCOL_COUNTER, "unwind_rows_unsupported", unsupported_labels[kind],
			"Places in code whose unwind rule cannot be expressed");
}

static void take_answer(void *context, const struct worker_answer *answer);

struct tables *tables_create(const struct profcol_host *host, struct processes *processes,
			     uint64_t limit_bytes)
{
	struct tables *tables = calloc(1, sizeof(*tables));
	pthread_condattr_t attributes;

	if (!tables)
		return NULL;
	tables->host = host;
	tables->processes = processes;
	tables->limit_bytes = limit_bytes;
	pthread_mutex_init(&tables->queue_lock, NULL);
	pthread_mutex_init(&tables->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&tables->queued, &attributes);
	pthread_condattr_destroy(&attributes);
	register_metrics(tables);
	tables->pool = worker_pool_create(host, "purpose=unwind", take_answer, tables);
	if (!tables->pool || !VECTOR_RESERVE(&tables->notes, NOTES_MAX) ||
	    !VECTOR_RESERVE(&tables->taken, NOTES_MAX)) {
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
	worker_pool_destroy(tables->pool);
	spaces_destroy(tables->spaces);
	pages_destroy(tables->pages);
	memory_destroy(tables->memory);
	slabs_destroy(tables->slabs);
	rule_table_deinit(&tables->rules);
	if (tables->index.buckets)
		munmap(tables->index.buckets, tables->index_bytes);
	if (tables->rules.rules)
		munmap(tables->rules.rules, tables->rules_bytes);
	VECTOR_DEINIT(&tables->notes);
	VECTOR_DEINIT(&tables->taken);
	pthread_cond_destroy(&tables->queued);
	pthread_mutex_destroy(&tables->lock);
	pthread_mutex_destroy(&tables->queue_lock);
	free(tables);
}

/* ---- what others tell ---- */

static void queue_note(struct tables *tables, const struct table_note *note)
{
	bool full, first, is_miss = note->kind == NOTE_MISS;

	pthread_mutex_lock(&tables->queue_lock);
	full = tables->notes.count >= NOTES_MAX || (is_miss && tables->misses >= MISSES_MAX);
	first = !tables->notes.count;
	if (!full)
		tables->notes.items[tables->notes.count++] = *note;
	tables->misses += is_miss && !full;
	tables->lost_news |= full && !is_miss;
	if (first)
		pthread_cond_signal(&tables->queued);
	pthread_mutex_unlock(&tables->queue_lock);
	if (full)
		profcol_metric_add(tables->metrics.notes_dropped, 1);
}

void tables_note_process(void *context, const struct process_key *key, bool alive)
{
	queue_note(context,
		   &(struct table_note){ .kind = alive ? NOTE_CHANGED : NOTE_ENDED, .key = *key });
}

void tables_note_miss(struct tables *tables, uint32_t file, uint64_t file_offset)
{
	queue_note(tables, &(struct table_note){
				   .kind = NOTE_MISS, .file = file, .file_offset = file_offset });
}

void tables_touch(struct tables *tables, const struct tables_place *places, size_t count)
{
	pthread_mutex_lock(&tables->lock);
	if (tables->pages) {
		pages_next_epoch(tables->pages);
		for (size_t i = 0; i < count; i++)
			pages_touch(tables->pages, places[i].file, places[i].file_offset);
	}
	pthread_mutex_unlock(&tables->lock);
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

static void take_answer(void *context, const struct worker_answer *answer)
{
	struct tables *tables = context;
	uint64_t now = clock_monotonic_ns();

	pthread_mutex_lock(&tables->lock);
	if (pages_learn(tables->pages, answer, now))
		spaces_file_known(tables->spaces, answer->file);
	pthread_mutex_unlock(&tables->lock);
}

static void handle_note(struct tables *tables, const struct table_note *note)
{
	pthread_mutex_lock(&tables->lock);
	switch (note->kind) {
	case NOTE_CHANGED:
		spaces_update(tables->spaces, &note->key);
		break;
	case NOTE_ENDED:
		spaces_end(tables->spaces, &note->key);
		break;
	case NOTE_MISS:
		pages_miss(tables->pages, note->file, note->file_offset, clock_monotonic_ns());
		break;
	}
	pthread_mutex_unlock(&tables->lock);
}

/* A file that cannot be opened has no tables, like one that a worker could not read. */
static void give_up_file(struct tables *tables, uint32_t file)
{
	take_answer(tables, &(struct worker_answer){ .file = file, .outcome = WORKER_UNREADABLE });
}

/* One request of those that wait. False: there is none, or no room for it. */
static bool ask_next(struct tables *tables)
{
	struct pages_request request;
	bool more;
	int fd;

	if (!worker_pool_has_room(tables->pool))
		return false;
	pthread_mutex_lock(&tables->lock);
	more = pages_next_request(tables->pages, &request);
	pthread_mutex_unlock(&tables->lock);
	if (!more)
		return false;
	fd = processes_open_file(tables->processes, request.file);
	if (fd < 0) {
		give_up_file(tables, request.file);
		return true;
	}
	// A file that changes gets another id: the id is the content's.
	if (!worker_pool_ask_pages(tables->pool, request.file, request.file + 1ull, fd,
				   request.numbers, request.count)) {
		pthread_mutex_lock(&tables->lock);
		pages_forget_request(tables->pages, request.file, clock_monotonic_ns());
		pthread_mutex_unlock(&tables->lock);
	}
	return true;
}

static void show_metrics(struct tables *tables)
{
	const struct tables_metrics *metrics = &tables->metrics;
	struct pages_counts pages;
	struct spaces_counts spaces;

	pthread_mutex_lock(&tables->lock);
	pages = pages_counts(tables->pages);
	spaces = spaces_counts(tables->spaces);
	profcol_metric_set(metrics->memory, (int64_t)slabs_bytes(tables->slabs));
	profcol_metric_set(metrics->used, (int64_t)memory_used(tables->memory));
	pthread_mutex_unlock(&tables->lock);
	profcol_metric_set(metrics->files, (int64_t)pages.files);
	profcol_metric_set(metrics->pages, (int64_t)pages.pages);
	profcol_metric_set(metrics->built, (int64_t)pages.built);
	profcol_metric_set(metrics->evicted, (int64_t)pages.evicted);
	profcol_metric_set(metrics->refused, (int64_t)pages.refused);
	profcol_metric_set(metrics->failed, (int64_t)pages.failed);
	profcol_metric_set(metrics->processes, (int64_t)spaces.processes);
	profcol_metric_set(metrics->ranges_dropped, (int64_t)spaces.ranges_dropped);
	profcol_metric_set(metrics->processes_refused, (int64_t)spaces.processes_refused);
	profcol_metric_set(metrics->files_given_up, (int64_t)pages.files_given_up);
	profcol_metric_set(metrics->rules_refused, (int64_t)pages.rules_refused);
	for (size_t kind = UNWIND_SUPPORTED + 1; kind < UNWIND_UNSUPPORTED_COUNT; kind++)
		profcol_metric_set(metrics->unsupported[kind], (int64_t)pages.unsupported[kind]);
}

static void keep_house(struct tables *tables)
{
	pthread_mutex_lock(&tables->lock);
	pages_evict(tables->pages, tables->limit_bytes);
	pages_retry(tables->pages, clock_monotonic_ns());
	spaces_retry(tables->spaces);
	pthread_mutex_unlock(&tables->lock);
	show_metrics(tables);
}

/* Take what was noted into `taken`, waiting for it until @deadline_ns. False: it is time to stop.
 */
static bool take_notes(struct tables *tables, uint64_t deadline_ns, bool *lost_news_ret)
{
	struct timespec deadline = clock_timespec(deadline_ns);
	struct table_note *empty = tables->taken.items;
	bool stopping;

	pthread_mutex_lock(&tables->queue_lock);
	while (!tables->notes.count && !tables->stopping &&
	       !pthread_cond_timedwait(&tables->queued, &tables->queue_lock, &deadline))
		;
	tables->taken.items = tables->notes.items;
	tables->taken.count = tables->notes.count;
	tables->notes.items = empty;
	tables->notes.count = 0;
	tables->misses = 0;
	*lost_news_ret = tables->lost_news;
	tables->lost_news = false;
	stopping = tables->stopping;
	pthread_mutex_unlock(&tables->queue_lock);
	return !stopping;
}

static void look_at_all(struct tables *tables)
{
	pthread_mutex_lock(&tables->lock);
	spaces_refresh_all(tables->spaces);
	pthread_mutex_unlock(&tables->lock);
}

static void *tables_run(void *context)
{
	struct tables *tables = context;
	uint64_t housekeeping = 0, now;
	bool lost_news;

	pthread_setname_np(pthread_self(), "unwind");
	for (;;) {
		now = clock_monotonic_ns();
		// With answers due the pool is waited for, else the queue is.
		if (!take_notes(tables, worker_pool_is_busy(tables->pool) ? now : housekeeping,
				&lost_news))
			return NULL;
		for (size_t i = 0; i < tables->taken.count; i++)
			handle_note(tables, &tables->taken.items[i]);
		if (lost_news)
			look_at_all(tables);
		while (ask_next(tables))
			;
		if (worker_pool_is_busy(tables->pool))
			worker_pool_run(tables->pool, clock_monotonic_ns() + PASS_NS);
		now = clock_monotonic_ns();
		if (now >= housekeeping) {
			keep_house(tables);
			housekeeping = now + HOUSEKEEPING_NS;
		}
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

	tables->index_bytes = whole_pages(UNWIND_BUCKETS * sizeof(struct unwind_bucket));
	tables->rules_bytes = whole_pages(UNWIND_RULES * sizeof(struct unwind_rule));
	error = map_array(maps->processes, tables->index_bytes, "processes", &buckets);
	tables->index.buckets = buckets;
	if (!error)
		error = map_array(maps->rules, tables->rules_bytes, "rules", &rules);
	rule_table_init(&tables->rules, rules);
	return error;
}

static bool create_parts(struct tables *tables, const struct tables_maps *maps)
{
	struct memory_slabs operations;

	tables->slabs =
		slabs_create(maps->slabs, (uint32_t)(tables->limit_bytes / UNWIND_SLAB_BYTES));
	if (!tables->slabs)
		return false;
	tables->limit_bytes = (uint64_t)slabs_limit(tables->slabs) * UNWIND_SLAB_BYTES;
	operations = slabs_operations(tables->slabs);
	tables->memory = memory_create(&operations, tables->limit_bytes, clock_monotonic_ns);
	if (tables->memory)
		tables->pages = pages_create(tables->memory, &tables->rules);
	if (tables->pages)
		tables->spaces = spaces_create(tables->processes, tables->pages, tables->memory,
					       &tables->index);
	return tables->spaces != NULL;
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
	pthread_mutex_unlock(&tables->lock);
	if (!created)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory for the unwinder");
	error = worker_pool_start(tables->pool);
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
	pthread_mutex_lock(&tables->queue_lock);
	tables->stopping = true;
	pthread_cond_signal(&tables->queued);
	pthread_mutex_unlock(&tables->queue_lock);
	pthread_join(tables->thread, NULL);
	tables->running = false;
}
