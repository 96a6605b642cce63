// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include "kernel.h"
#include "known_files.h"

#include "../worker/worker.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

enum {
	/* Functions seen on a busy host are some 20,000, at 100 bytes each; the rest is for bursts
	 * of short programs. */
	CACHE_BYTES = 16 << 20,
	/* While a batch is built nothing can be dropped, since it borrows the text. */
	CACHE_BYTES_IN_BATCH = 2 * CACHE_BYTES,
};

static const uint64_t unopened_retry_ns = 60000000000ull;
static const uint64_t missing_retry_ns = 1000000000ull;

/* A query that could not be answered from what is known. */
struct miss {
	struct known_file *file;
	uint64_t offset;
	uint32_t query;
};

/* All misses of one file: [first, first + count). */
struct miss_group {
	struct known_file *file;
	size_t first, count;
};

struct symbols {
	const struct profcol_host *host; /* borrowed */
	struct processes *processes;     /* borrowed */
	struct kernel *kernel;           /* owned */
	struct worker_pool *pool;        /* owned */
	struct known_files known;
	struct worker_vdso vdso;
	bool has_vdso;

	// Scratch of one lookup, kept for its memory.
	VECTOR(struct miss) misses;
	VECTOR(struct miss_group) groups;
	uint64_t offsets[WORKER_MAX_OFFSETS];

	struct profcol_metric *given_up[WORKER_MISSING];
	struct profcol_metric *unopened, *cache_bytes, *kernel_bytes, *dropped, *cache_full;
};

static void symbols_register_metrics(struct symbols *symbols)
{
	static const char *const causes[WORKER_MISSING] = {
		[WORKER_UNREADABLE] = "cause=unreadable",
		[WORKER_CRASHED] = "cause=crash",
		[WORKER_TIMED_OUT] = "cause=timeout",
		[WORKER_MISBEHAVED] = "cause=bad_answer",
	};
	const struct profcol_host *host = symbols->host;

	for (size_t i = 0; i < WORKER_MISSING; i++)
		if (causes[i])
			symbols->given_up[i] =
				host->metric(host, PROFCOL_COUNTER, "symbol_files_given_up",
					     causes[i], "files whose functions stay without names");
	symbols->unopened = host->metric(host, PROFCOL_COUNTER, "symbol_files_unopened", "",
					 "times a file could not be opened to read its symbols");
	symbols->cache_bytes = host->metric(host, PROFCOL_GAUGE, "symbol_cache_bytes", "",
					    "memory for functions of files");
	symbols->kernel_bytes = host->metric(host, PROFCOL_GAUGE, "kernel_symbol_bytes", "",
					     "memory for functions of the kernel");
	symbols->dropped = host->metric(host, PROFCOL_COUNTER, "symbol_cache_evictions", "",
					"files dropped from the symbol cache");
	symbols->cache_full = host->metric(host, PROFCOL_COUNTER, "symbol_cache_full", "",
					   "batches with names missing because the cache was full");
}

void symbols_destroy(struct symbols *symbols)
{
	if (!symbols)
		return;
	worker_pool_destroy(symbols->pool);
	kernel_destroy(symbols->kernel);
	known_files_deinit(&symbols->known);
	VECTOR_DEINIT(&symbols->misses);
	VECTOR_DEINIT(&symbols->groups);
	free(symbols);
}

/* Are the offsets of @answer known now, as far as it said they would be? */
static bool answer_has_helped(const struct known_file *file, const struct worker_answer *answer)
{
	size_t missing = 0, asked = 0;

	for (size_t i = 0; i < answer->offset_count; i++) {
		const struct worker_segment *segment = worker_find_segment(
			file->segments, file->segment_count, answer->offsets[i]);

		if (!segment)
			continue;
		asked++;
		missing += !known_file_find(
			file, segment->address + (answer->offsets[i] - segment->file_offset));
	}
	return answer->partial ? missing < asked : !missing;
}

/* worker_answered_function */
static void symbols_take_answer(void *context, const struct worker_answer *answer)
{
	struct symbols *symbols = context;
	struct known_file *file = known_files_find(&symbols->known, answer->file);

	if (!file) // it is never dropped while asked for
		return;
	file->asked = false;
	switch (answer->outcome) {
	case WORKER_ANSWERED:
		// An answer that contradicts an earlier one, or no memory: not in a loop.
		if (!known_file_learn(&symbols->known, file, answer) ||
		    !answer_has_helped(file, answer))
			file->retry_ns = clock_monotonic_ns() + unopened_retry_ns;
		break;
	case WORKER_MISSING:
		file->retry_ns = clock_monotonic_ns() + missing_retry_ns;
		break;
	case WORKER_UNREADABLE:
	case WORKER_CRASHED:
	case WORKER_TIMED_OUT:
	case WORKER_MISBEHAVED:
		file->state = KNOWN_HOPELESS;
		profcol_metric_add(symbols->given_up[answer->outcome], 1);
		break;
	}
}

struct symbols *symbols_create(const struct profcol_host *host, struct processes *processes)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->host = host;
	symbols->processes = processes;
	symbols->kernel = kernel_create("");
	symbols->pool = worker_pool_create(host, "purpose=symbols", symbols_take_answer, symbols);
	symbols->has_vdso = worker_read_vdso(&symbols->vdso);
	if (!symbols->kernel || !symbols->pool) {
		symbols_destroy(symbols);
		return NULL;
	}
	symbols_register_metrics(symbols);
	return symbols;
}

void symbols_workers(const struct symbols *symbols, struct worker_use *use)
{
	worker_pool_use(symbols->pool, use);
}

struct profcol_error *symbols_start(struct symbols *symbols)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		kernel_load(symbols->kernel, clock_monotonic_ns());

	if (error)
		profcol_log_warn(symbols->host->logger, "%s; kernel frames stay addresses",
				 profcol_error_message(error));
	return worker_pool_start(symbols->pool);
}

/* Answer @query from what is known of @file. False when a worker may know more. */
static bool query_answer(struct symbol_query *query, const struct known_file *file)
{
	const struct worker_segment *segment;
	const struct known_range *range;

	if (file->state == KNOWN_NOTHING)
		return false;
	segment = worker_find_segment(file->segments, file->segment_count, query->file_offset);
	if (!segment)
		return true;
	query->elf_address = segment->address + (query->file_offset - segment->file_offset);
	range = known_file_find(file, query->elf_address);
	if (!range)
		return file->state == KNOWN_HOPELESS;
	query->name = range->name;
	query->system_name = range->system_name;
	return true;
}

/* Answer what is known; collect the rest in symbols->misses, as far as memory goes. */
static void symbols_answer_known(struct symbols *symbols, struct symbol_query *queries,
				 size_t count)
{
	struct known_file *file = NULL;

	symbols->misses.count = 0;
	for (size_t i = 0; i < count; i++) {
		struct symbol_query *query = &queries[i];

		query->name = NULL;
		query->system_name = NULL;
		query->elf_address = query->file_offset;
		if (query->file == PROCESS_NO_FILE)
			continue;
		if (!file || file->id != query->file)
			file = known_files_get(&symbols->known, query->file);
		if (file && !query_answer(query, file) && i <= UINT32_MAX)
			(void)VECTOR_PUSH(&symbols->misses,
					  ((struct miss){ file, query->file_offset, (uint32_t)i }));
	}
}

static int compare_misses(const void *left, const void *right)
{
	const struct miss *a = left, *b = right;

	if (a->file->id != b->file->id)
		return a->file->id < b->file->id ? -1 : 1;
	if (a->offset != b->offset)
		return a->offset < b->offset ? -1 : 1;
	return 0;
}

static void symbols_group_misses(struct symbols *symbols)
{
	if (symbols->misses.count)
		qsort(symbols->misses.items, symbols->misses.count, sizeof(*symbols->misses.items),
		      compare_misses);
	symbols->groups.count = 0;
	for (size_t i = 0; i < symbols->misses.count; i++) {
		const struct miss *miss = &symbols->misses.items[i];
		struct miss_group *last =
			symbols->groups.count ? &symbols->groups.items[symbols->groups.count - 1]
					      : NULL;

		if (last && last->file == miss->file)
			last->count++;
		else if (!VECTOR_PUSH(&symbols->groups, ((struct miss_group){ miss->file, i, 1 })))
			return;
	}
}

/* The offsets of @group that are still unknown, as many as fit in a request. */
static size_t symbols_collect_offsets(struct symbols *symbols, const struct miss_group *group)
{
	size_t count = 0;

	for (size_t i = 0; i < group->count && count < WORKER_MAX_OFFSETS; i++) {
		const struct miss *miss = &symbols->misses.items[group->first + i];
		struct symbol_query query = { .file_offset = miss->offset };

		if (count && symbols->offsets[count - 1] == miss->offset)
			continue;
		if (!query_answer(&query, group->file))
			symbols->offsets[count++] = miss->offset;
	}
	return count;
}

/* Open @file. Negative when there is nothing to be read. */
static int symbols_open(struct symbols *symbols, struct known_file *file, uint64_t now_ns)
{
	CLEANUP(cleanup_close_later) int fd = processes_open_file(symbols->processes, file->id);
	struct stat stat;

	if (fd < 0 || processes_recall_file(fd, &stat)) {
		profcol_metric_add(symbols->unopened, 1);
		file->retry_ns = now_ns + unopened_retry_ns;
		return -1;
	}
	if (!S_ISREG(stat.st_mode)) {
		file->state = KNOWN_HOPELESS;
		profcol_metric_add(symbols->given_up[WORKER_UNREADABLE], 1);
		return -1;
	}
	known_file_meet(&symbols->known, file, &stat);
	return TAKE_FD(fd);
}

/* Ask for what @group misses, unless that is under way. True when an answer can be waited for. */
static bool symbols_ask(struct symbols *symbols, const struct miss_group *group, uint64_t now_ns)
{
	struct known_file *file = group->file;
	size_t count;
	int fd;

	if (file->asked)
		return true;
	if (now_ns < file->retry_ns || !symbols_collect_offsets(symbols, group))
		return false;
	if (!worker_pool_has_room(symbols->pool))
		return true;
	fd = symbols_open(symbols, file, now_ns);
	if (fd < 0)
		return false;
	// Again: if the file has changed, what was known of it has gone.
	count = symbols_collect_offsets(symbols, group);
	file->asked = worker_pool_ask(symbols->pool, file->id, file->content_id, fd,
				      symbols->offsets, count);
	return file->asked;
}

static bool symbols_ask_all(struct symbols *symbols, uint64_t now_ns)
{
	bool waiting = false;

	if (symbols->known.memory > CACHE_BYTES_IN_BATCH) {
		profcol_metric_add(symbols->cache_full, 1);
		return false;
	}
	for (size_t i = 0; i < symbols->groups.count; i++)
		waiting |= symbols_ask(symbols, &symbols->groups.items[i], now_ns);
	return waiting;
}

void symbols_lookup(struct symbols *symbols, struct symbol_query *queries, size_t count,
		    uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	worker_pool_run(symbols->pool, 0); // what has come since the last lookup
	symbols->known.lap = processes_files(symbols->processes).lap;
	symbols_answer_known(symbols, queries, count);
	symbols_group_misses(symbols);
	while (symbols_ask_all(symbols, now_ns)) {
		worker_pool_run(symbols->pool, deadline_ns);
		now_ns = clock_monotonic_ns();
		if (now_ns >= deadline_ns)
			break;
	}
	for (size_t i = 0; i < symbols->misses.count; i++) {
		const struct miss *miss = &symbols->misses.items[i];

		query_answer(&queries[miss->query], miss->file);
	}
	profcol_metric_set(symbols->cache_bytes, (int64_t)symbols->known.memory);
}

void symbols_tend(struct symbols *symbols)
{
	worker_pool_run(symbols->pool, 0);
}

bool symbols_file(struct symbols *symbols, uint32_t file, struct symbol_file *ret)
{
	const struct known_file *known = known_files_find(&symbols->known, file);

	if (!known || !known->htlhash[0])
		return false;
	*ret = (struct symbol_file){
		.build_id_gnu = known->build_id_gnu,
		.build_id_go = known->build_id_go,
		.htlhash = known->htlhash,
	};
	return true;
}

bool symbols_file_segment(struct symbols *symbols, uint32_t file, uint64_t file_offset,
			  uint64_t *elf_start_ret, uint64_t *elf_limit_ret,
			  uint64_t *segment_offset_ret)
{
	const struct known_file *known = known_files_find(&symbols->known, file);
	const struct worker_segment *segment;

	if (!known)
		return false;
	segment = worker_find_segment(known->segments, known->segment_count, file_offset);
	if (!segment)
		return false;
	*elf_start_ret = segment->address;
	*elf_limit_ret = segment->address + segment->memory_bytes;
	*segment_offset_ret = segment->file_offset;
	return true;
}

bool symbols_kernel(struct symbols *symbols, uint64_t address, struct kernel_symbol *ret)
{
	return kernel_find(symbols->kernel, address, clock_monotonic_ns(), ret);
}

bool symbols_vdso(struct symbols *symbols, struct symbol_file *ret)
{
	if (!symbols->has_vdso)
		return false;
	*ret = (struct symbol_file){
		.build_id_gnu = symbols->vdso.build_id_gnu,
		.build_id_go = "",
		.htlhash = symbols->vdso.htlhash,
	};
	return true;
}

void symbols_forget(struct symbols *symbols)
{
	kernel_forget(symbols->kernel);
	profcol_metric_add(symbols->dropped,
			   (int64_t)known_files_forget(&symbols->known, CACHE_BYTES));
	profcol_metric_set(symbols->cache_bytes, (int64_t)symbols->known.memory);
	profcol_metric_set(symbols->kernel_bytes, (int64_t)kernel_memory(symbols->kernel));
}
