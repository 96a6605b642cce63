// SPDX-License-Identifier: Apache-2.0
#include "processes.h"

#include "code.h"
#include "debug_files.h"
#include "memory_open.h"
#include "perf_map_open.h"
#include "prompt.h"
#include "resolve.h"
#include "watch.h"

#include "base/base.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

enum {
	NOTES_MAX = 4096,
	/*
	 * Records are looked at so often while anything is sampled, and at once when a program
	 * starts. Then its libraries follow, of which nothing wakes us: the next look comes soon,
	 * those after it in times that double. What is told of processes that are not sampled can
	 * wait.
	 */
	PASS_NS = 100000000,
	PASS_SOON_NS = 20000000,
	/*
	 * After each look: a ninth of a CPU, as long as one takes no more than 2.5 ms. And so long
	 * that the programs of a storm are taken in together: each look costs some 50 us for
	 * itself, while a sample that comes before it is finished later anyway.
	 */
	REST_FACTOR = 8,
	REST_LEAST_NS = 10000000,
	REST_MOST_NS = 20000000,
	/* Of reading another process's memory, which takes some us. */
	READ_LIMIT_NS = 100000000,
};

static const uint64_t PASS_IDLE_NS = 5000000000;

struct processes {
	struct watch watch; /* the table in it is shared under its lock */
	pthread_t thread;
	bool running;

	pthread_mutex_t queue_lock; /* over the notes; never held over anything slow */
	struct note *notes;         /* owned, NOTES_MAX of them */
	struct note *taken;         /* owned, what the thread works on */
	size_t note_count;
	bool woken;  /* for those that wait */
	bool sleeps; /* the thread, for longer than while there are samples */
	struct profcol_metric *notes_dropped;

	pthread_mutex_t progress_lock; /* over what follows */
	pthread_cond_t progress;
	uint64_t known_ns; /* everything noted or told before is taken in */
	bool stopping;
};

struct processes *processes_create(const struct profcol_host *host,
				   const struct profcol_list *variables, size_t max_bytes)
{
	struct processes *processes = calloc(1, sizeof(*processes));

	if (!processes)
		return NULL;
	pthread_mutex_init(&processes->queue_lock, NULL);
	pthread_mutex_init(&processes->progress_lock, NULL);
	pthread_cond_init(&processes->progress, NULL);
	processes->notes_dropped = host->metric(host, PROFCOL_COUNTER, "processes_notes_dropped",
						"", "Samples whose process was not looked at");
	processes->notes = calloc(NOTES_MAX, sizeof(*processes->notes));
	processes->taken = calloc(NOTES_MAX, sizeof(*processes->taken));
	if (!watch_init(&processes->watch, host, variables, max_bytes) || !processes->notes ||
	    !processes->taken) {
		processes_destroy(processes);
		return NULL;
	}
	return processes;
}

void processes_on_change(struct processes *processes,
			 void (*changed)(void *context, const struct process_key *key, bool alive),
			 void *context)
{
	processes->watch.changed = changed;
	processes->watch.changed_context = context;
}

void processes_destroy(struct processes *processes)
{
	if (!processes)
		return;
	processes_stop(processes);
	watch_deinit(&processes->watch);
	pthread_cond_destroy(&processes->progress);
	pthread_mutex_destroy(&processes->progress_lock);
	pthread_mutex_destroy(&processes->queue_lock);
	free(processes->notes);
	free(processes->taken);
	free(processes);
}

static size_t take_notes(struct processes *processes)
{
	struct note *full = processes->notes;
	size_t count;

	pthread_mutex_lock(&processes->queue_lock);
	count = processes->note_count;
	processes->notes = processes->taken;
	processes->note_count = 0;
	processes->woken = false;
	pthread_mutex_unlock(&processes->queue_lock);
	processes->taken = full;
	return count;
}

/* True when it is time to stop. */
static bool show_progress(struct processes *processes, uint64_t known_ns)
{
	bool stopping;

	pthread_mutex_lock(&processes->progress_lock);
	processes->known_ns = known_ns;
	stopping = processes->stopping;
	pthread_cond_broadcast(&processes->progress);
	pthread_mutex_unlock(&processes->progress_lock);
	return stopping;
}

/* When the next look may come that nobody calls for: in proportion to what was worked since
 * @used_ns, so that execs are taken in together. */
static uint64_t rested_ns(uint64_t used_ns)
{
	uint64_t rest_ns = REST_FACTOR * (clock_thread_ns() - used_ns);

	if (rest_ns < REST_LEAST_NS)
		rest_ns = REST_LEAST_NS;
	return clock_monotonic_ns() + (rest_ns < REST_MOST_NS ? rest_ns : REST_MOST_NS);
}

/* After a wait of @wait_ns. */
static uint64_t next_wait(const struct watch *watch, uint64_t wait_ns)
{
	uint64_t most_ns = watch->unfinished ? PASS_NS : PASS_IDLE_NS;

	wait_ns = watch->news ? PASS_SOON_NS : 2 * wait_ns;
	return wait_ns < most_ns ? wait_ns : most_ns;
}

/* Wait until the next look is due, which is @wait_ns away at most. Who calls is not left to wait,
 * the rest is until @rested_ns. */
static void wait_look(struct processes *processes, uint64_t wait_ns, uint64_t rested_ns)
{
	struct side_band *side_band = processes->watch.side_band;
	bool called;
	uint64_t now;

	pthread_mutex_lock(&processes->queue_lock);
	processes->sleeps = wait_ns > PASS_NS;
	pthread_mutex_unlock(&processes->queue_lock);
	called = side_band_wait(side_band, wait_ns);
	now = clock_monotonic_ns();
	if (!called && now < rested_ns)
		side_band_rest(side_band, rested_ns - now);
}

static void *processes_run(void *context)
{
	struct processes *processes = context;
	uint64_t housekeeping = clock_monotonic_ns() + HOUSEKEEPING_NS, began;
	uint64_t wait_ns = PASS_NS, rest_ns = 0, used_ns;
	size_t count;

	pthread_setname_np(pthread_self(), "processes");
	prompt_thread();
	do {
		wait_look(processes, wait_ns, rest_ns);
		used_ns = clock_thread_ns();
		began = clock_monotonic_ns();
		// Notes first: what the kernel told before a sample is in the rings by then.
		count = take_notes(processes);
		watch_pass(&processes->watch, processes->taken, count);
		if (began >= housekeeping) {
			watch_keep_house(&processes->watch);
			housekeeping = began + HOUSEKEEPING_NS;
		}
		wait_ns = next_wait(&processes->watch, wait_ns);
		rest_ns = rested_ns(used_ns);
	} while (!show_progress(processes, began));
	return NULL;
}

struct profcol_error *processes_start(struct processes *processes)
{
	struct profcol_error *error = watch_start(&processes->watch);
	int status;

	if (error)
		return error;
	status = pthread_create(&processes->thread, NULL, processes_run, processes);
	if (status)
		return profcol_error_errno(status, "start the thread that follows processes");
	processes->running = true;
	return NULL;
}

struct profcol_error *processes_follow_execs(struct processes *processes)
{
	int status = watch_follow_execs(&processes->watch);

	return status ? profcol_error_errno(-status, "listen to execs") : NULL;
}

uint64_t processes_map_bytes(struct processes *processes)
{
	struct execs *execs = atomic_load_explicit(&processes->watch.execs, memory_order_acquire);
	struct code_ends *ends =
		atomic_load_explicit(&processes->watch.code_ends, memory_order_acquire);

	return (execs ? execs_map_bytes(execs) : 0) + (ends ? code_ends_map_bytes(ends) : 0);
}

void processes_stop(struct processes *processes)
{
	if (!processes->running)
		return;
	pthread_mutex_lock(&processes->progress_lock);
	processes->stopping = true;
	atomic_store(&processes->watch.ending, true);
	pthread_mutex_unlock(&processes->progress_lock);
	side_band_wake(processes->watch.side_band);
	pthread_join(processes->thread, NULL);
	processes->running = false;
}

/* True when the thread is to be woken for it, since that is @urgent and it has not been yet. */
static bool add_note(struct processes *processes, const struct process_key *key, uint64_t time_ns,
		     bool urgent)
{
	bool wake, full;

	pthread_mutex_lock(&processes->queue_lock);
	full = processes->note_count >= NOTES_MAX;
	if (!full)
		processes->notes[processes->note_count++] =
			(struct note){ .key = *key, .time_ns = time_ns };
	wake = urgent && !full && !processes->woken;
	processes->woken |= wake;
	pthread_mutex_unlock(&processes->queue_lock);
	if (full)
		profcol_metric_add(processes->notes_dropped, 1);
	return wake;
}

void processes_note_sample(struct processes *processes, const struct process_key *key,
			   uint64_t time_ns)
{
	if (!key->pid)
		return; // the idle task of a CPU
	// At once: the process may end at any time, and be gone from /proc.
	if (add_note(processes, key, time_ns, true) && processes->watch.side_band)
		side_band_wake(processes->watch.side_band);
}

void processes_note_again(struct processes *processes, const struct process_key *key,
			  uint64_t time_ns)
{
	add_note(processes, key, time_ns, false);
}

void processes_note_sampling(struct processes *processes)
{
	bool wake;

	// Else it looks in time.
	pthread_mutex_lock(&processes->queue_lock);
	wake = processes->sleeps && !processes->woken;
	processes->woken |= wake;
	pthread_mutex_unlock(&processes->queue_lock);
	if (wake && processes->watch.side_band)
		side_band_wake(processes->watch.side_band);
}

bool processes_catch_up(struct processes *processes, uint64_t deadline_ns)
{
	bool known;
	uint64_t wanted = clock_monotonic_ns();
	struct timespec deadline = clock_timespec(deadline_ns);

	if (!processes->running)
		return false;
	side_band_wake(processes->watch.side_band);
	pthread_mutex_lock(&processes->progress_lock);
	while (processes->known_ns < wanted &&
	       !pthread_cond_clockwait(&processes->progress, &processes->progress_lock,
				       CLOCK_MONOTONIC, &deadline))
		;
	known = processes->known_ns >= wanted;
	pthread_mutex_unlock(&processes->progress_lock);
	return known;
}

bool processes_describe(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_description *ret)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	struct space *space;

	*ret = (struct process_description){ .executable = "", .container_id = "" };
	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	if (process) {
		ret->start_boottime_ns =
			process->start_ns ? process->start_ns : key->start_boottime_ns;
		space = table_space_at(process, time_ns);
		if (space) {
			memcpy(ret->comm, space->comm, sizeof(ret->comm));
			ret->executable = space_executable(space);
			if (space->attributes)
				ret->attributes =
					(struct process_attributes){ text_lend(space->attributes),
								     space->attributes->length };
		}
		if (process->container)
			ret->container_id = text_lend(process->container);
		if (process->pod && process->pod->length < sizeof(ret->pod_uid))
			memcpy(ret->pod_uid, process->pod->bytes, process->pod->length);
	}
	pthread_mutex_unlock(&watch->table_lock);
	return process != NULL;
}

/* What the process had at @time_ns, unless that is known to be another program's; NULL. */
static const struct space *space_of_program(const struct process *process,
					    const struct process_key *key, uint64_t time_ns)
{
	const struct space *space = table_space_at(process, time_ns);

	if (!space || !space->exec_id_known || space->exec_id == key->exec_id)
		return space;
	// An exec is told before the exec id changes: the sample is of the one before.
	space = space->older;
	return space && space->exec_id_known && space->exec_id == key->exec_id ? space : NULL;
}

bool processes_name(struct processes *processes, const struct process_key *key, uint64_t time_ns,
		    struct process_names *ret)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;

	*ret = (struct process_names){ 0 };
	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	if (process) {
		ret->parent = process->parent;
		space = space_of_program(process, key, time_ns);
		if (space) {
			ret->of_program = space->exec_id_known;
			memcpy(ret->comm, space->comm, sizeof(ret->comm));
			snprintf(ret->executable, sizeof(ret->executable), "%s",
				 space_executable(space));
		}
	}
	pthread_mutex_unlock(&watch->table_lock);
	return process != NULL;
}

bool processes_still_runs(struct processes *processes, const struct process_key *key,
			  uint64_t time_ns)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;
	bool same = true;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, UINT64_MAX);
	space = process ? process->space : NULL;
	// Ids ascend; one that is later than any we know of is of an exec that went untold.
	if (space && space->exec_id_known)
		same = (int32_t)(space->exec_id - key->exec_id) <= 0;
	else if (space)
		same = space->begin_ns <= time_ns;
	pthread_mutex_unlock(&watch->table_lock);
	return same;
}

bool processes_ran(struct processes *processes, const struct process_key *key, uint64_t time_ns)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;
	bool ran;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	space = process ? table_space_at(process, time_ns) : NULL;
	ran = space && (!space->exec_id_known || space->exec_id == key->exec_id);
	pthread_mutex_unlock(&watch->table_lock);
	return ran;
}

bool processes_origin(struct processes *processes, uint32_t pid, uint64_t by_ns,
		      struct process_origin *ret)
{
	struct watch *watch = &processes->watch;
	bool found;

	pthread_mutex_lock(&watch->table_lock);
	found = table_find_origin(&watch->table, pid, by_ns, ret);
	pthread_mutex_unlock(&watch->table_lock);
	return found;
}

uint64_t processes_known_ns(struct processes *processes)
{
	uint64_t known_ns;

	pthread_mutex_lock(&processes->progress_lock);
	known_ns = processes->known_ns;
	pthread_mutex_unlock(&processes->progress_lock);
	return known_ns;
}

static enum process_code_state code_at(const struct space *space, uint64_t time_ns,
				       uint64_t address, struct process_code *ret)
{
	const struct mapping *mapping = space ? space_find(space, time_ns, address) : NULL;

	if (!mapping)
		return space && space->complete ? PROCESS_CODE_NONE : PROCESS_CODE_UNKNOWN;
	if (mapping->file == MAPPING_FILE_UNRESOLVED)
		return PROCESS_CODE_PENDING;
	*ret = (struct process_code){
		.start = mapping->start,
		.limit = mapping->limit,
		.file_offset = mapping->file_offset,
		.file = mapping_file(mapping),
		.vdso = !mapping->inode && !strcmp(mapping->path->bytes, "[vdso]"),
	};
	return PROCESS_CODE_FOUND;
}

enum process_code_state processes_find_code(struct processes *processes,
					    const struct process_key *key, uint64_t time_ns,
					    uint64_t address, struct process_code *ret)
{
	enum process_code_state state = PROCESS_CODE_UNKNOWN;
	struct watch *watch = &processes->watch;
	const struct process *process;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	if (process)
		state = code_at(space_of_program(process, key, time_ns), time_ns, address, ret);
	pthread_mutex_unlock(&watch->table_lock);
	return state;
}

bool processes_find_mapping(struct processes *processes, const struct process_key *key,
			    uint64_t time_ns, uint64_t address, struct process_mapping *ret)
{
	struct watch *watch = &processes->watch;
	const struct mapping *mapping = NULL;
	const struct process *process;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	if (process)
		mapping = space_find(table_space_at(process, time_ns), time_ns, address);
	if (mapping)
		*ret = (struct process_mapping){
			.start = mapping->start,
			.limit = mapping->limit,
			.file_offset = mapping->file_offset,
			.begin_ns = mapping->begin_ns,
			.file = mapping_file(mapping),
			.path = text_lend(mapping->path),
		};
	pthread_mutex_unlock(&watch->table_lock);
	return mapping != NULL;
}

bool processes_code_ended(struct processes *processes, const struct process_key *key,
			  uint64_t since_ns)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	bool ended = false;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, UINT64_MAX);
	for (const struct space *space = process ? process->space : NULL; space && !ended;
	     space = space->older)
		ended = space_ended_ns(space) > since_ns;
	pthread_mutex_unlock(&watch->table_lock);
	return ended;
}

bool processes_has_lost(struct processes *processes, const struct process_key *key,
			uint64_t time_ns, struct process_place *place)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	const struct space *space;
	bool lost = false;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, time_ns);
	space = process ? space_of_program(process, key, time_ns) : NULL;
	if (space)
		lost = space_has_lost(space, time_ns, place);
	pthread_mutex_unlock(&watch->table_lock);
	return lost;
}

size_t processes_code(struct processes *processes, const struct process_key *key,
		      struct process_code *ret, size_t count)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	size_t found = 0;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, UINT64_MAX);
	if (process && process_runs(process) && process->space->exec_id == key->exec_id)
		found = code_list(process->space, watch->table.pool.most_mappings, ret, count);
	pthread_mutex_unlock(&watch->table_lock);
	return found;
}

uint64_t processes_last_sample(struct processes *processes, const struct process_key *key)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	uint64_t sampled_ns;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, key, UINT64_MAX);
	sampled_ns = process ? process->sampled_ns : 0;
	pthread_mutex_unlock(&watch->table_lock);
	return sampled_ns;
}

void processes_account(struct processes *processes, int64_t bytes)
{
	atomic_fetch_add_explicit(&processes->watch.other_memory, bytes, memory_order_relaxed);
}

static void mark_told(void *context, struct process *process)
{
	if (process->told)
		table_mark_changed(context, process);
}

void processes_tell_again(struct processes *processes)
{
	struct watch *watch = &processes->watch;

	pthread_mutex_lock(&watch->table_lock);
	table_each(&watch->table, mark_told, &watch->table);
	pthread_mutex_unlock(&watch->table_lock);
	if (watch->side_band)
		side_band_wake(watch->side_band);
}

int processes_open_file(struct processes *processes, uint32_t file)
{
	struct watch *watch = &processes->watch;
	int fd = files_open(watch->files, file), status;

	if (fd != -ENOENT)
		return fd;
	status = resolve_again(&watch->table, &watch->table_lock, watch->files, file);
	return status ? status : files_open(watch->files, file);
}

/* Of the newest program of process @pid. */
static struct owner owner_of(struct processes *processes, uint32_t pid)
{
	struct watch *watch = &processes->watch;
	const struct process *process;
	struct owner owner = OWNER_UNKNOWN;

	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, pid);
	if (process)
		owner = process->owner;
	pthread_mutex_unlock(&watch->table_lock);
	return owner;
}

struct owner processes_owner(struct processes *processes, const struct process_key *key)
{
	return owner_of(processes, key->pid);
}

struct owner processes_file_owner(struct processes *processes, uint32_t file)
{
	struct owner owner = OWNER_UNKNOWN;

	(void)files_has(processes->watch.files, file, &owner);
	return owner;
}

/* The root that @file alone belongs to, if that is not the machine's; false when there is none. */
static bool find_own_root(struct processes *processes, uint32_t file, struct root_files_search *ret)
{
	struct process_root host;

	if (!files_root(processes->watch.files, file, &ret->root, &ret->pid) || !ret->pid ||
	    !process_root_of_host(&host) || process_root_equal(&host, &ret->root))
		return false;
	ret->owner = owner_of(processes, ret->pid);
	return true;
}

int processes_open_debug(struct processes *processes, uint32_t file,
			 const struct process_debug_query *query, size_t *candidate,
			 struct process_debug_file *ret)
{
	CLEANUP_FREE char *path = processes_file_path(processes, file);
	const struct debug_names names = { path ? path : "", query->build_id, query->link };
	CLEANUP(debug_paths_deinit) struct debug_paths paths = { 0 };
	struct root_files_search search = { .owner = OWNER_SHARED };
	size_t next = *candidate;

	if (!debug_paths_init(&paths, &names, query->directories, query->directory_count))
		return -ENOMEM;
	*ret = (struct process_debug_file){ .fd = -ENOENT };
	search.paths = (const char *const *)paths.paths;
	search.count = paths.count;
	if (next < paths.count)
		ret->fd = files_open_in_root(processes->watch.files, &search, &next);
	*candidate = next;
	if (ret->fd < 0 && find_own_root(processes, file, &search)) {
		next = *candidate > paths.count ? *candidate - paths.count : 0;
		ret->fd = files_open_in_root(processes->watch.files, &search, &next);
		*candidate = paths.count + next;
		ret->in_own_root = true;
		ret->root = search.root;
	}
	ret->by_link = next > paths.by_build_id;
	return ret->fd < 0 ? ret->fd : 0;
}

int processes_find_package(struct processes *processes, uint32_t file, struct process_package *ret)
{
	CLEANUP_FREE char *path = processes_file_path(processes, file);
	const char *const paths[] = { path };
	struct root_files_search search = { .owner = OWNER_SHARED, .paths = paths, .count = 1 };
	struct packages_found found;
	int status;

	*ret = (struct process_package){ 0 };
	if (!path || path[0] != '/')
		return -ENOENT;
	if (!find_own_root(processes, file, &search))
		search.pid = 0;
	status = files_find_packages(processes->watch.files, &search, &found);
	if (status)
		return status;
	ret->manager = found.manager;
	memcpy(ret->name, found.names[0], sizeof(ret->name));
	return 0;
}

bool processes_is_of_root(struct processes *processes, uint32_t file,
			  const struct process_root *root)
{
	struct process_root found;
	uint32_t pid;

	return files_root(processes->watch.files, file, &found, &pid) &&
	       process_root_equal(&found, root);
}

struct origin processes_file_origin(struct processes *processes, uint32_t file, bool own)
{
	return files_origin(processes->watch.files, file, own);
}

struct origin processes_memory_origin(struct processes *processes, uint32_t pid)
{
	struct watch *watch = &processes->watch;
	// One whose owner is not known need not be another one's.
	struct origin origin = { .owner = { OWNER_UNKNOWN.uid, pid } };
	const struct process *process;
	uint32_t uid;

	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, pid);
	if (process && process->owner_read && !owner_is(process->owner, OWNER_UNKNOWN))
		origin.owner = process->owner;
	pthread_mutex_unlock(&watch->table_lock);
	// It may have become another user since, without an exec.
	if (origin.owner.uid != OWNER_UNKNOWN.uid && !proc_read_uid(pid, &uid))
		origin.owner.uid = uid;
	return origin;
}

int processes_open_memory(struct processes *processes, uint32_t pid, uint32_t *uid_ret)
{
	return memory_open(files_calls(processes->watch.files), pid, owner_of(processes, pid),
			   READ_LIMIT_NS, uid_ret);
}

ssize_t processes_read_stack(struct processes *processes, const struct stack_query *query, void *to)
{
	return stack_read(files_calls(processes->watch.files), query,
			  owner_of(processes, query->pid), READ_LIMIT_NS, to);
}

enum { CODE_MOST = 1024 }; /* mappings of a process among which a jitdump is looked for */

/* A jitdump is told by its name, jit-PID.dump, and that it is mapped as if it were code. */
static bool is_jitdump(const char *path)
{
	const char *name = path ? strrchr(path, '/') : NULL;
	unsigned int number;
	int end = 0;

	return name && sscanf(name, "/jit-%u.dump%n", &number, &end) == 1 && end && !name[end];
}

static int open_jitdump(struct processes *processes, const struct process_key *key,
			struct code_map_state *ret)
{
	CLEANUP_FREE struct process_code *code = calloc(CODE_MOST, sizeof(*code));
	size_t count = code ? processes_code(processes, key, code, CODE_MOST) : 0;
	int fd = -ENOENT;

	if (count > CODE_MOST)
		count = CODE_MOST;
	for (size_t i = 0; i < count && fd == -ENOENT; i++) {
		CLEANUP_FREE char *path = NULL;
		struct stat stat;

		if (code[i].file == PROCESS_NO_FILE)
			continue;
		path = processes_file_path(processes, code[i].file);
		if (!is_jitdump(path))
			continue;
		// It is written to as long as there is new code.
		fd = files_open_grown(processes->watch.files, code[i].file);
		if (fd == -ENOENT)
			fd = processes_open_file(processes, code[i].file);
		// It is written to at its end.
		ret->bytes =
			fd >= 0 && !processes_recall_file(fd, &stat) ? (uint64_t)stat.st_size : 0;
	}
	return fd;
}

int processes_open_code_map(struct processes *processes, const struct process_key *key,
			    struct code_map_state *ret)
{
	const struct perf_map_search search = {
		.pid = key->pid,
		.owner = owner_of(processes, key->pid),
		.start_boottime_ns = key->start_boottime_ns,
	};
	int fd = perf_map_open(files_calls(processes->watch.files), &search, READ_LIMIT_NS, ret);

	return fd == -ENOENT ? open_jitdump(processes, key, ret) : fd;
}

int processes_look(struct processes *processes, uint32_t pid, bool executable,
		   struct proc_look *ret)
{
	return proc_look(files_calls(processes->watch.files), pid, owner_of(processes, pid),
			 executable, ret);
}

int processes_read_cgroups(struct processes *processes, int directory, char **text_ret,
			   size_t *length_ret)
{
	return proc_read_cgroups(files_calls(processes->watch.files), directory, text_ret,
				 length_ret);
}

struct kernel_code *processes_kernel_code(struct processes *processes)
{
	return processes->watch.kernel_code;
}

bool processes_file_htlhash(struct processes *processes, uint32_t file, char ret[33])
{
	return files_htlhash(processes->watch.files, file, ret);
}

bool processes_file_is_stale(struct processes *processes, uint32_t file)
{
	return files_is_stale(processes->watch.files, file);
}

bool processes_look_at_file(struct processes *processes, uint32_t file,
			    struct process_file_look *ret)
{
	struct file_look look;

	if (!files_look(processes->watch.files, file, &look))
		return false;
	*ret = (struct process_file_look){
		.place = file_look_lasting_place(&look),
		.inode = look.inode,
		.modified_ns = look.modified_ns,
		.changed_ns = look.changed_ns,
		.born_ns = look.born_ns,
		.fresh = look.fresh,
	};
	return true;
}

char *processes_file_path(struct processes *processes, uint32_t file)
{
	struct mapped_file mapped;
	char *path;

	return files_lookup(processes->watch.files, file, &mapped, &path) ? path : NULL;
}

bool processes_has_file(struct processes *processes, uint32_t file)
{
	return files_has(processes->watch.files, file, NULL);
}

struct processes_files processes_files(struct processes *processes)
{
	struct files_state state = files_state(processes->watch.files);

	return (struct processes_files){ .evicted = state.evicted, .lap = state.turns };
}

void processes_forget(struct processes *processes, uint64_t time_ns)
{
	struct watch *watch = &processes->watch;

	pthread_mutex_lock(&watch->table_lock);
	table_forget(&watch->table, time_ns);
	pthread_mutex_unlock(&watch->table_lock);
}
