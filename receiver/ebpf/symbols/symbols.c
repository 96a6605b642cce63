// SPDX-License-Identifier: Apache-2.0
#include "symbols.h"

#include "index_maker.h"
#include "kernel.h"
#include "known_files.h"
#include "query.h"
#include "symbol_misses.h"

#include "../worker/worker.h"
#include "runtimes/runtime_number.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/resource.h>

enum {
	/* Functions seen on a busy host are some 20,000, at 100 bytes each; the rest is for bursts
	 * of short programs. */
	NAMES_SHARE = 4, /* of the memory; the rest is for indexes */
	/* While a batch is built nothing can be dropped, since it borrows the text. */
	IN_BATCH = 2,
	INDEXES_MOST = 1024, /* each holds a descriptor, */
	OPEN_SHARE = 16,     /* and so much of all descriptors they may take */
	LINES_PAUSE = 12,    /* batches for which a file is not asked for lines, when that failed */
};

static const uint64_t unopened_retry_ns = 60000000000ull;
static const uint64_t missing_retry_ns = 1000000000ull;
static const uint64_t remake_ns = 30000000000ull;
static const uint64_t PAUSE_LEAST_NS = 5000000, PAUSE_MOST_NS = 160000000;

struct symbols {
	const struct profcol_host *host; /* borrowed */
	struct processes *processes;     /* borrowed */
	struct kernel *kernel;           /* owned */
	struct worker_pool *pool;        /* owned */
	struct known_files known;
	struct index_maker maker;
	uint64_t names_bytes, indexes_bytes; /* what there is room for, */
	size_t indexes_most;                 /* and how many of the latter */
	uint32_t without_lines;              /* as in symbols_settings */
	atomic_uint_fast64_t index_memory;   /* what indexes take, for other threads */
	struct worker_vdso vdso;
	bool has_vdso;

	// Scratch of one lookup, kept for its memory.
	struct symbol_misses misses; // also of the last lookup, if:
	bool unfinished;             // it had no time for all of them
	bool answered;               // something has come since all were asked for
	uint64_t pause_ns;           // between two looks, while nothing comes
	uint64_t offsets[WORKER_MAX_OFFSETS];

	struct profcol_metric *given_up[WORKER_MISSING];
	struct profcol_metric *unopened, *cache_bytes, *kernel_bytes, *dropped, *cache_full;
	struct profcol_metric *index_bytes, *indexes, *index_evictions, *lines_given_up;
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
	symbols->index_bytes = host->metric(host, PROFCOL_GAUGE, "symbol_index_bytes", "",
					    "memory for indexes of files' functions");
	symbols->indexes = host->metric(host, PROFCOL_GAUGE, "symbol_indexes", "",
					"files whose functions have an index in memory");
	symbols->index_evictions = host->metric(host, PROFCOL_COUNTER, "symbol_index_evictions", "",
						"indexes dropped to stay within symbol_memory");
	symbols->lines_given_up =
		host->metric(host, PROFCOL_COUNTER, "symbol_lines_given_up", "",
			     "files whose functions stay without lines, since a worker failed");
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
	symbol_misses_deinit(&symbols->misses);
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

/* A worker failed on @file: never again while it stays the same. */
static void symbols_give_up(struct symbols *symbols, struct known_file *file,
			    enum worker_outcome outcome)
{
	const struct known_index none = { .fd = -1 };

	known_file_set_index(&symbols->known, file, &none);
	file->state = KNOWN_HOPELESS;
	file->lines_by = RUNTIME_NONE;
	profcol_metric_add(symbols->given_up[outcome], 1);
}

/* What the functions at some offsets of @file are. */
static void symbols_take_functions(struct symbols *symbols, struct known_file *file,
				   const struct worker_answer *answer)
{
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
		symbols_give_up(symbols, file, answer->outcome);
		break;
	}
}

static void symbols_take_index(struct symbols *symbols, struct known_file *file,
			       const struct worker_answer *answer)
{
	switch (index_maker_take(&symbols->maker, file, answer)) {
	case INDEX_TAKEN:
		if (symbols->without_lines >> file->lines_by & 1)
			file->lines_by = RUNTIME_NONE;
		break;
	case INDEX_LATER:
		file->made_ns = 0;
		file->retry_ns = clock_monotonic_ns() + missing_retry_ns;
		break;
	case INDEX_HOPELESS:
		symbols_give_up(symbols, file,
				answer->outcome == WORKER_ANSWERED ? WORKER_UNREADABLE
								   : answer->outcome);
		break;
	}
}

/* Which functions run at some addresses of @file. Without an answer it has names at least. */
static void symbols_take_lines(struct symbols *symbols, struct known_file *file,
			       const struct worker_answer *answer)
{
	switch (answer->outcome) {
	case WORKER_ANSWERED:
		if (!known_file_learn_lines(&symbols->known, file, answer))
			file->lines_paused = symbols->known.round + LINES_PAUSE;
		break;
	case WORKER_MISSING:
		file->lines_paused = symbols->known.round + 1;
		break;
	case WORKER_UNREADABLE:
	case WORKER_CRASHED:
	case WORKER_TIMED_OUT:
	case WORKER_MISBEHAVED:
		file->lines_by = RUNTIME_NONE;
		profcol_metric_add(symbols->lines_given_up, 1);
		break;
	}
}

static void symbols_bound_indexes(struct symbols *symbols)
{
	struct known_files *known = &symbols->known;

	profcol_metric_add(symbols->index_evictions,
			   (int64_t)known_files_drop_indexes(known, symbols->indexes_bytes,
							     symbols->indexes_most));
	profcol_metric_set(symbols->index_bytes, (int64_t)known->index_bytes);
	profcol_metric_set(symbols->indexes, (int64_t)known->index_count);
	atomic_store(&symbols->index_memory, known->index_bytes);
}

/* worker_answered_function */
static void symbols_take_answer(void *context, const struct worker_answer *answer)
{
	struct symbols *symbols = context;
	struct known_file *file = known_files_find(&symbols->known, answer->file);

	if (!file) // it is never dropped while asked for
		return;
	file->asked = false;
	symbols->answered = true;
	if (file->outdated)
		index_maker_forget(file);
	else if (file->making)
		symbols_take_index(symbols, file, answer);
	else if (file->asked_lines)
		symbols_take_lines(symbols, file, answer);
	else
		symbols_take_functions(symbols, file, answer);
	file->outdated = file->asked_lines = false;
	symbols_bound_indexes(symbols);
}

static size_t most_indexes(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / OPEN_SHARE >= INDEXES_MOST)
		return INDEXES_MOST;
	return limit.rlim_cur / OPEN_SHARE;
}

static void share_memory(struct symbols *symbols, uint64_t memory_bytes)
{
	symbols->names_bytes = memory_bytes / NAMES_SHARE;
	symbols->indexes_bytes = memory_bytes - symbols->names_bytes;
}

struct symbols *symbols_create(const struct profcol_host *host, struct processes *processes,
			       const struct symbols_settings *settings)
{
	struct symbols *symbols = calloc(1, sizeof(*symbols));

	if (!symbols)
		return NULL;
	symbols->host = host;
	symbols->processes = processes;
	symbols->kernel = kernel_create("");
	symbols->pool = worker_pool_create(host, "purpose=symbols", settings->worker_uid,
					   symbols_take_answer, symbols);
	symbols->has_vdso = worker_read_vdso(&symbols->vdso);
	share_memory(symbols, settings->memory_bytes);
	symbols->indexes_most = most_indexes();
	symbols->without_lines = settings->without_lines;
	index_maker_init(&symbols->maker, host, processes, &symbols->known, symbols->pool,
			 &settings->debug_directories, symbols->indexes_bytes);
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
	// No process has it mapped for long.
	use->memory_bytes += symbols_index_memory(symbols);
}

uint64_t symbols_index_memory(const struct symbols *symbols)
{
	return atomic_load(&symbols->index_memory);
}

void symbols_limit(struct symbols *symbols, uint64_t memory_bytes)
{
	share_memory(symbols, memory_bytes);
	symbols_bound_indexes(symbols);
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

/* Answer what is known; collect the rest in symbols->misses, as far as memory goes. */
static void symbols_answer_known(struct symbols *symbols, struct symbol_query *queries,
				 size_t count)
{
	struct known_file *file = NULL;

	symbols->misses.all.count = 0;
	for (size_t i = 0; i < count; i++) {
		struct symbol_query *query = &queries[i];

		query_reset(query);
		if (query->file == PROCESS_NO_FILE)
			continue;
		if (!file || file->id != query->file)
			file = known_files_get(&symbols->known, query->file);
		if (file && query_answer(query, file, symbols->known.round) != QUERY_ANSWERED &&
		    i <= UINT32_MAX)
			(void)VECTOR_PUSH(&symbols->misses.all,
					  ((struct miss){ file, query->file_offset, (uint32_t)i }));
	}
}

/* The offsets of @group of which @state is so, as many as fit in a request. */
static size_t symbols_collect_offsets(struct symbols *symbols, const struct miss_group *group,
				      enum query_state state)
{
	size_t count = 0;

	for (size_t i = 0; i < group->count && count < WORKER_MAX_OFFSETS; i++) {
		const struct miss *miss = &symbols->misses.all.items[group->first + i];
		struct symbol_query query = { .file_offset = miss->offset };

		if (count && symbols->offsets[count - 1] == miss->offset)
			continue;
		if (query_answer(&query, group->file, symbols->known.round) == state)
			symbols->offsets[count++] = miss->offset;
	}
	return count;
}

/* Of @file's index. */
static struct origin symbols_index_origin(const struct symbols *symbols,
					  const struct known_file *file)
{
	return index_maker_origin(&symbols->maker, file, file->index.in_own_root);
}

/* Ask a worker for the functions at the first @count offsets, by the file's index. */
static bool symbols_ask_functions(struct symbols *symbols, struct known_file *file, size_t count)
{
	int fd = fcntl(file->index.fd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return false;
	file->index.used = symbols->known.round;
	return worker_pool_ask(symbols->pool, file->id, symbols_index_origin(symbols, file), fd,
			       symbols->offsets, count);
}

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Make addresses of the first @count offsets, ascending, each once; returns how many there are. */
static size_t symbols_make_addresses(struct symbols *symbols, const struct known_file *file,
				     size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		struct symbol_query query = { .file_offset = symbols->offsets[i] };

		query_answer(&query, file, symbols->known.round);
		symbols->offsets[i] = query.elf_address;
	}
	qsort(symbols->offsets, count, sizeof(*symbols->offsets), compare_addresses);
	for (size_t i = 0; i < count; i++)
		if (!kept || symbols->offsets[kept - 1] != symbols->offsets[i])
			symbols->offsets[kept++] = symbols->offsets[i];
	return kept < WORKER_MAX_PLACES ? kept : WORKER_MAX_PLACES;
}

/* Ask a worker which functions run at the first @count offsets. */
static bool symbols_ask_lines(struct symbols *symbols, struct known_file *file, size_t count)
{
	uint64_t content = file->content_id;
	int fd = index_maker_open(&symbols->maker, file);

	if (fd < 0) {
		profcol_metric_add(symbols->unopened, 1);
		file->lines_paused = symbols->known.round + LINES_PAUSE;
		return false;
	}
	if (file->content_id != content) { // all anew
		index_maker_close(&symbols->maker, file, fd);
		return false;
	}
	count = symbols_make_addresses(symbols, file, count);
	file->asked_lines = worker_pool_ask_lines(symbols->pool, file->id,
						  index_maker_origin(&symbols->maker, file, false),
						  content, fd, symbols->offsets, count);
	return file->asked_lines;
}

/* Have @file's index made, from what it has itself or from its debug file. */
static bool symbols_ask_index(struct symbols *symbols, struct known_file *file, uint64_t now_ns)
{
	int status;

	// Others had to have its room: not all over again with each batch.
	if (file->made_ns && now_ns < file->made_ns + remake_ns)
		return false;
	status = index_maker_ask(&symbols->maker, file);

	if (status == -EAGAIN || !status)
		return true;
	if (status == -EINVAL) { // it is no file that can be read
		symbols_give_up(symbols, file, WORKER_UNREADABLE);
		return false;
	}
	profcol_metric_add(symbols->unopened, 1);
	file->retry_ns = now_ns + unopened_retry_ns;
	return false;
}

/* For a request of any kind about @file? */
static bool symbols_has_room(const struct symbols *symbols, const struct known_file *file)
{
	struct owner as_it_is = index_maker_origin(&symbols->maker, file, false).owner;
	struct owner own = index_maker_origin(&symbols->maker, file, true).owner;

	return worker_pool_has_room(symbols->pool, as_it_is) &&
	       worker_pool_has_room(symbols->pool, own);
}

enum asking {
	ASKING_NOTHING, /* there is nothing to wait for */
	ASKING_WAITS,   /* an answer can be waited for */
	ASKING_NO_ROOM, /* the same: of others of its owner */
};

/* Ask for what @group misses, unless that is under way. */
static enum asking symbols_ask(struct symbols *symbols, const struct miss_group *group,
			       uint64_t now_ns)
{
	struct known_file *file = group->file;
	size_t count;

	if (file->asked)
		return ASKING_WAITS;
	if (now_ns < file->retry_ns)
		return ASKING_NOTHING;
	count = symbols_collect_offsets(symbols, group, QUERY_NO_LINES);
	if (count && !symbols_has_room(symbols, file))
		return ASKING_NO_ROOM;
	if (count) {
		file->asked = symbols_ask_lines(symbols, file, count);
		if (file->asked)
			return ASKING_WAITS;
	}
	// What has lines is not asked for its name.
	count = symbols_collect_offsets(symbols, group, QUERY_NO_NAME);
	if (!count)
		return ASKING_NOTHING;
	if (!symbols_has_room(symbols, file))
		return ASKING_NO_ROOM;
	if (file->debug_wanted && index_maker_ask_debug(&symbols->maker, file))
		return ASKING_WAITS;
	if (file->index.fd < 0)
		return symbols_ask_index(symbols, file, now_ns) ? ASKING_WAITS : ASKING_NOTHING;
	file->asked = symbols_ask_functions(symbols, file, count);
	return file->asked ? ASKING_WAITS : ASKING_NOTHING;
}

static bool symbols_are_full(const struct symbols *symbols)
{
	return symbols->known.memory > IN_BATCH * symbols->names_bytes;
}

/* Groups for which there is nothing to wait go, also those that may be asked again in a second: the
 * next batch has them. True when answers can be waited for. */
static bool symbols_ask_all(struct symbols *symbols, uint64_t now_ns)
{
	struct miss_group *groups = symbols->misses.groups.items;
	struct owner full = OWNER_NOBODY;
	size_t kept = 0;

	symbols->answered = false;
	for (size_t i = 0; i < symbols->misses.groups.count; i++) {
		// One with many files has room for few: the others are not all gone through.
		enum asking asking = owner_is(groups[i].file->owner, full)
					     ? ASKING_NO_ROOM
					     : symbols_ask(symbols, &groups[i], now_ns);

		if (asking == ASKING_NO_ROOM)
			full = groups[i].file->owner;
		if (asking != ASKING_NOTHING)
			groups[kept++] = groups[i];
	}
	symbols->misses.groups.count = kept;
	return kept;
}

void symbols_lookup(struct symbols *symbols, struct symbol_query *queries, size_t count,
		    uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	worker_pool_run(symbols->pool, 0); // what has come since the last lookup
	symbols->known.lap = processes_files(symbols->processes).lap;
	index_maker_check_roots(&symbols->maker);
	symbols_answer_known(symbols, queries, count);
	symbol_misses_group(&symbols->misses, &symbols->known, symbols->processes);
	symbols->unfinished = false;
	symbols->pause_ns = PAUSE_LEAST_NS;
	while (!symbols_are_full(symbols) && symbols_ask_all(symbols, now_ns)) {
		worker_pool_run(symbols->pool, deadline_ns);
		now_ns = clock_monotonic_ns();
		symbols->unfinished = now_ns >= deadline_ns;
		if (symbols->unfinished)
			break;
	}
	if (deadline_ns && symbols_are_full(symbols))
		profcol_metric_add(symbols->cache_full, 1);
	for (size_t i = 0; i < symbols->misses.all.count; i++) {
		const struct miss *miss = &symbols->misses.all.items[i];

		query_reset(&queries[miss->query]);
		query_answer(&queries[miss->query], miss->file, symbols->known.round);
	}
	profcol_metric_set(symbols->cache_bytes, (int64_t)symbols->known.memory);
}

uint64_t symbols_tend(struct symbols *symbols)
{
	worker_pool_run(symbols->pool, 0);
	// At another lap ids may be of other files.
	if (!symbols->unfinished || symbols_are_full(symbols) ||
	    symbols->known.lap != processes_files(symbols->processes).lap)
		return 0;
	// Whom a worker hangs for is not waited for in short steps.
	symbols->pause_ns = symbols->answered ? PAUSE_LEAST_NS : 2 * symbols->pause_ns;
	if (symbols->pause_ns > PAUSE_MOST_NS)
		symbols->pause_ns = PAUSE_MOST_NS;
	symbol_misses_find(&symbols->misses, &symbols->known);
	symbols->unfinished = symbols_ask_all(symbols, clock_monotonic_ns());
	worker_pool_run(symbols->pool, 0);
	return symbols->unfinished ? symbols->pause_ns : 0;
}

bool symbols_are_behind(const struct symbols *symbols)
{
	return symbols->unfinished;
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

void symbols_follow_kernel(struct symbols *symbols, struct kernel_code *code)
{
	kernel_follow(symbols->kernel, code);
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
			   (int64_t)known_files_forget(&symbols->known, symbols->names_bytes));
	profcol_metric_set(symbols->cache_bytes, (int64_t)symbols->known.memory);
	profcol_metric_set(symbols->kernel_bytes, (int64_t)kernel_memory(symbols->kernel));
}
