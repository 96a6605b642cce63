// SPDX-License-Identifier: Apache-2.0
#include "watch.h"

#include "learn.h"
#include "resolve.h"
#include "sample.h"
#include "watch_ends.h"
#include "watch_owners.h"

#include "base/base.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

/* Names of a program that has ended are asked for within some seconds. */
static const uint64_t let_go_pause_ns = 8000000000;

/*
 * A process takes about 1 kB, one that maps a hundred libraries 9 kB, a path 60 bytes, and a file
 * 430. 32 MiB are room for thousands of processes of the larger kind and, for some seconds, ten
 * thousands that have ended.
 */
enum {
	TABLE_SHARE = 2,
	TEXT_SHARE = 4,
	FILES_SHARE = 4,
	FILES_OPEN_MAX = 512,
	FILES_OPEN_LEAST = 16,
	/* A process sampled within this time is read again at once when records were lost. */
	REPAIR_SECONDS = 60,
	ATTEMPTS = 3,
	/* A frame has room for so many, and none. */
	FILE_IDS = UNWIND_FRAME_FILES - 2,
	/* Processes whose mappings are read again in one pass because there are so many. */
	CROWDED_AT_ONCE = 16,
	/* So long at most, but for what a single one takes, others wait to be told of. */
	SLICE_NS = 50000000,
	/* What is to be done then is for the next pass: new notes are waiting. */
	PASS_MOST_NS = 1000000000,
};

static size_t files_open_max(void)
{
	struct rlimit limit;

	// The receiver, its exporters and the worker need descriptors too.
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur / 8 >= FILES_OPEN_MAX)
		return FILES_OPEN_MAX;
	return limit.rlim_cur / 8 < FILES_OPEN_LEAST ? FILES_OPEN_LEAST : limit.rlim_cur / 8;
}

static void register_metrics(struct watch *watch)
{
	const struct profcol_host *host = watch->host;

	watch->metrics = (struct watch_metrics){
		.processes = host->metric(host, PROFCOL_GAUGE, "processes_known", "",
					  "Processes in the table, ended ones included"),
		.memory = host->metric(host, PROFCOL_GAUGE, "processes_memory_bytes", "",
				       "Memory of the table of processes, mappings and files"),
		.files = host->metric(host, PROFCOL_GAUGE, "processes_files", "",
				      "Files of profiled programs that are known"),
		.files_open = host->metric(host, PROFCOL_GAUGE, "processes_files_open", "",
					   "Files of profiled programs held open"),
		.records_lost = host->metric(host, PROFCOL_COUNTER, "processes_records_lost", "",
					     "Records about processes that the kernel dropped"),
		.evicted = host->metric(host, PROFCOL_COUNTER, "processes_evicted", "",
					"Processes dropped to stay within the memory budget"),
		.refused = host->metric(host, PROFCOL_COUNTER, "processes_refused", "",
					"Processes and mappings there was no memory for"),
		.paths_refused = host->metric(host, PROFCOL_COUNTER, "processes_paths_refused", "",
					      "Mappings there was no memory for the path of"),
		.roots_refused = host->metric(host, PROFCOL_COUNTER, "processes_roots_refused", "",
					      "Roots of mount namespaces there was no room for"),
		.files_refused = host->metric(host, PROFCOL_COUNTER, "processes_files_refused", "",
					      "Files there was no memory for"),
		.put_off = host->metric(host, PROFCOL_COUNTER, "processes_reads_put_off", "",
					"Processes not read in time, since others of the same user "
					"took too long"),
		.files_evicted = host->metric(host, PROFCOL_COUNTER, "processes_files_evicted", "",
					      "Files forgotten to stay within the memory budget"),
		.malformed_environments =
			host->metric(host, PROFCOL_COUNTER, "processes_malformed_environments", "",
				     "Programs whose OTEL_RESOURCE_ATTRIBUTES cannot be read"),
		.claims_refused =
			host->metric(host, PROFCOL_COUNTER, "processes_claims_refused", "",
				     "Attributes of the platform that programs claimed in "
				     "OTEL_RESOURCE_ATTRIBUTES"),
	};
}

bool watch_init(struct watch *watch, const struct profcol_host *host,
		const struct profcol_list *variables, size_t max_bytes)
{
	*watch = (struct watch){ .host = host, .variables = variables };
	pthread_mutex_init(&watch->table_lock, NULL);
	register_metrics(watch);
	watch_hangs_register(&watch->hangs, host);
	read_time_init(&watch->read_time, &read_time_of_proc);
	watch->files = files_create(files_open_max(), max_bytes / FILES_SHARE, FILE_IDS);
	watch->kernel_code = kernel_code_create();
	return table_init(&watch->table, max_bytes / TABLE_SHARE, max_bytes / TEXT_SHARE) &&
	       watch->files && watch->kernel_code;
}

void watch_deinit(struct watch *watch)
{
	execs_destroy(atomic_load(&watch->execs));
	code_ends_destroy(atomic_load(&watch->code_ends));
	side_band_destroy(watch->side_band);
	files_destroy(watch->files);
	kernel_code_destroy(watch->kernel_code);
	read_time_deinit(&watch->read_time);
	VECTOR_DEINIT(&watch->told);
	VECTOR_DEINIT(&watch->ended);
	table_deinit(&watch->table);
	pthread_mutex_destroy(&watch->table_lock);
}

/* What has ended by @time_ns, so that it ends before something else comes there. */
static void take_ends(struct watch *watch, uint64_t time_ns)
{
	while (watch->ended_taken < watch->ended.count &&
	       watch->ended.items[watch->ended_taken].time_ns <= time_ns)
		learn_code_end(&watch->table, &watch->ended.items[watch->ended_taken++]);
}

static void take_record(void *context, const struct record *record)
{
	struct watch *watch = context;

	if (record->kind == RECORD_KERNEL_CODE) {
		kernel_code_note(watch->kernel_code, record);
		return;
	}
	if (record->kind == RECORD_LOST)
		kernel_code_lose(watch->kernel_code, record->time_ns);
	take_ends(watch, record->time_ns);
	// Those outside of our PID namespace have no number.
	if (record->pid || record->kind == RECORD_LOST)
		learn_record(&watch->table, record);
}

int watch_follow_execs(struct watch *watch)
{
	struct execs *execs;
	int status = execs_create(&execs);

	if (!status)
		status = side_band_add(watch->side_band, execs_fd(execs));
	if (status)
		execs_destroy(execs);
	else
		atomic_store_explicit(&watch->execs, execs, memory_order_release);
	return status;
}

static void take_exec(void *context, const struct exec_record *record)
{
	struct watch *watch = context;

	// Without memory it is known when it is sampled.
	(void)VECTOR_PUSH(&watch->told, *record);
}

static void announce(struct watch *watch)
{
	for (size_t i = 0; i < watch->told.count; i++) {
		const struct exec_record *record = &watch->told.items[i];
		struct process_key key = { .pid = record->pid,
					   .exec_id = record->exec_id,
					   .start_boottime_ns = record->start_boottime_ns };

		table_announce(&watch->table, &key, record->time_ns);
	}
	watch->news |= watch->told.count > 0;
	watch->told.count = 0;
}

/* Take in the records there are. */
static void sync_records(struct watch *watch)
{
	struct execs *execs = atomic_load_explicit(&watch->execs, memory_order_acquire);
	uint64_t until, boot_offset;

	// Before the time is taken: by then the records of each of these are in the rings.
	if (execs)
		execs_take(execs, take_exec, watch);
	until = clock_monotonic_ns();
	boot_offset = clock_boottime_ns() - until;
	pthread_mutex_lock(&watch->table_lock);
	watch->table.boot_offset_ns = boot_offset;
	watch_collect_ends(watch);
	side_band_take(watch->side_band, until, take_record, watch);
	take_ends(watch, UINT64_MAX);
	if (watch->table.has_lost) {
		// The rings were empty then, so what is missing is newer.
		table_suspect(&watch->table, watch->known_ns);
		watch->table.has_lost = false;
		watch->repair_due = true;
	}
	announce(watch);
	table_evict(&watch->table);
	pthread_mutex_unlock(&watch->table_lock);
	watch->known_ns = until;
}

/* The owner of @pid, as far as that is known without reading more than that. *@reread_ns_ret: its
 * mappings have been read so lately, for how long they are, that it is too early before. */
static struct owner find_owner(struct watch *watch, uint32_t pid, uint64_t *reread_ns_ret)
{
	struct owner owner = OWNER_UNKNOWN;
	const struct process *process;
	bool known;

	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, pid);
	known = process && process->owner_read;
	*reread_ns_ret = process && process->space ? process->space->reread_ns : 0;
	if (process)
		owner = process->owner;
	pthread_mutex_unlock(&watch->table_lock);
	if (!known)
		(void)proc_presume_uid(pid, &owner.uid);
	return owner;
}

static int scan_admitted(struct watch *watch, uint32_t pid, unsigned int parts)
{
	int status = -EAGAIN;

	for (int attempt = 0; attempt < ATTEMPTS && status == -EAGAIN; attempt++) {
		struct proc_facts facts;

		status = proc_read(files_calls(watch->files), pid, parts, watch->variables, &facts);
		if (status)
			break;
		// What was told before the reading must not be taken for news after it.
		sync_records(watch);
		pthread_mutex_lock(&watch->table_lock);
		status = learn_facts(&watch->table, &facts);
		pthread_mutex_unlock(&watch->table_lock);
		proc_facts_deinit(&facts);
	}
	return status;
}

/* Read @pid, @parts too (enum proc_part), and take that in. 0 or a negative errno, -ESRCH when it
 * is gone, -EBUSY when its owner has had its time or lets us wait, or it was read too lately for
 * its length. */
static int scan(struct watch *watch, uint32_t pid, unsigned int parts)
{
	uint64_t reread_ns, began_ns;
	struct owner owner = find_owner(watch, pid, &reread_ns);
	int status;

	began_ns = clock_monotonic_ns();
	if ((parts & PROC_MAPS) && began_ns < reread_ns)
		return -EBUSY;
	if (!read_time_admit(&watch->read_time, owner, began_ns))
		return -EBUSY;
	status = scan_admitted(watch, pid, parts);
	read_time_spend(&watch->read_time, owner, clock_monotonic_ns() - began_ns);
	return status;
}

enum need { NEED_NOTHING, NEED_PROGRAM, NEED_MAPS, NEED_CONTAINER, NEED_CGROUP };

/* What /proc has to be asked about the process that @note is of. */
static enum need note_need(struct watch *watch, const struct note *note)
{
	struct process *process = table_note(&watch->table, &note->key, note->time_ns);

	if (!process)
		return NEED_MAPS;
	if (process->end_ns != PROCESS_ALIVE)
		return process->container_read ? NEED_NOTHING : NEED_CONTAINER;
	if (!process->space)
		return NEED_MAPS;
	// It takes long, there was no room, or it did not let itself be looked at.
	if (note->time_ns < process->space->reread_ns)
		return NEED_NOTHING;
	if (!process->space->complete)
		return NEED_MAPS;
	if (!process->space->executable_read || !process->space->environment_read ||
	    !process->container_read)
		return NEED_PROGRAM;
	return note->time_ns >= process->container_again_ns ? NEED_CGROUP : NEED_NOTHING;
}

/*
 * The process has ended before its container was read: it was in the one of the nearest ancestor
 * that is known or can still be read.
 */
static void inherit_container(struct watch *watch, const struct note *note)
{
	const struct process *ancestors[RESOLVE_ANCESTORS];
	uint32_t pids[RESOLVE_ANCESTORS];
	char id[CONTAINER_ID_SIZE] = "", pod_uid[POD_UID_SIZE] = "";
	struct process *process, *from;
	size_t count = 0;
	int status = -ESRCH;

	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, &note->key, note->time_ns);
	from = process ? table_newest(&watch->table, process->parent) : NULL;
	if (process && from && from->container_read) {
		table_set_container(&watch->table, process,
				    from->container ? from->container->bytes : "",
				    from->pod ? from->pod->bytes : "");
	} else if (process) {
		count = resolve_ancestors(&watch->table, process, ancestors);
	}
	for (size_t i = 0; i < count; i++)
		pids[i] = ancestors[i]->pid;
	pthread_mutex_unlock(&watch->table_lock);
	for (size_t i = 0; i < count && status; i++)
		status = proc_read_container(files_calls(watch->files), pids[i], id, pod_uid);
	if (status)
		return;
	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, &note->key, note->time_ns);
	if (process)
		table_set_container(&watch->table, process, id, pod_uid);
	pthread_mutex_unlock(&watch->table_lock);
}

/* Nothing tells of a process that is moved into a container and goes on with the same program. */
static void look_for_move(struct watch *watch, const struct note *note)
{
	char id[CONTAINER_ID_SIZE], pod_uid[POD_UID_SIZE];
	struct process *process;

	if (proc_read_container(files_calls(watch->files), note->key.pid, id, pod_uid))
		return; // at its next sample
	// The number may be another process's by now.
	sync_records(watch);
	pthread_mutex_lock(&watch->table_lock);
	process = table_find(&watch->table, &note->key, note->time_ns);
	if (process && process->end_ns == PROCESS_ALIVE)
		table_set_container(&watch->table, process, id, pod_uid);
	pthread_mutex_unlock(&watch->table_lock);
}

static void handle_note(struct watch *watch, const struct note *note)
{
	enum need need;
	int status = 0;

	pthread_mutex_lock(&watch->table_lock);
	need = note_need(watch, note);
	pthread_mutex_unlock(&watch->table_lock);
	if (need == NEED_PROGRAM || need == NEED_MAPS) {
		watch->news = true;
		status = scan(watch, note->key.pid,
			      PROC_ENVIRONMENT | (need == NEED_MAPS ? PROC_MAPS : 0));
		pthread_mutex_lock(&watch->table_lock);
		table_note(&watch->table, &note->key, note->time_ns);
		pthread_mutex_unlock(&watch->table_lock);
	}
	if (need == NEED_CGROUP)
		look_for_move(watch, note);
	if (need == NEED_CONTAINER || status == -ESRCH)
		inherit_container(watch, note);
}

/* Look whether processes still have what they were told to map; if not, they are followed. */
static void look_at_crowded(struct watch *watch)
{
	for (int i = 0; i < CROWDED_AT_ONCE; i++) {
		struct process *process;
		bool gives_up;
		uint32_t pid = 0;

		pthread_mutex_lock(&watch->table_lock);
		process = table_take_crowded(&watch->table);
		if (process)
			pid = process->pid;
		pthread_mutex_unlock(&watch->table_lock);
		if (!process)
			break;
		if (scan(watch, pid, PROC_MAPS))
			continue;
		pthread_mutex_lock(&watch->table_lock);
		process = table_newest(&watch->table, pid);
		gives_up = process && process->gives_up && process->end_ns == PROCESS_ALIVE;
		pthread_mutex_unlock(&watch->table_lock);
		if (gives_up)
			watch_follow_ends(watch, pid);
	}
}

/* Forks with CLONE_VM see what their parents map, and the other way around. */
static void look_at_kin(struct watch *watch)
{
	for (;;) {
		struct process *process, *parent;
		uint32_t pid = 0, parent_pid = 0;
		struct owner owner = OWNER_UNKNOWN;

		pthread_mutex_lock(&watch->table_lock);
		process = table_take_kin(&watch->table);
		if (process) {
			pid = process->pid;
			parent_pid = process->parent;
			owner = process->owner;
		}
		pthread_mutex_unlock(&watch->table_lock);
		if (!process)
			break;
		if (!proc_is_one_memory(files_calls(watch->files), pid, parent_pid, owner))
			continue;
		pthread_mutex_lock(&watch->table_lock);
		process = table_newest(&watch->table, pid);
		parent = table_newest(&watch->table, parent_pid);
		if (process && process->kin && process->parent == parent_pid && parent)
			table_share(&watch->table, process, parent);
		pthread_mutex_unlock(&watch->table_lock);
	}
}

static void tell_changes(struct watch *watch)
{
	uint64_t now = clock_monotonic_ns();
	struct process_change change;
	bool more = watch->changed != NULL;

	while (more) {
		pthread_mutex_lock(&watch->table_lock);
		more = table_take_change(&watch->table, now, &change);
		pthread_mutex_unlock(&watch->table_lock);
		if (more)
			watch->changed(watch->changed_context, &change.key, change.alive);
		watch->news |= more && change.first;
	}
	pthread_mutex_lock(&watch->table_lock);
	watch->unfinished = watch->repair_due || table_has_work(&watch->table);
	pthread_mutex_unlock(&watch->table_lock);
}

/* Take in what notes say until @until_ns; how many that were. One is, at least. */
static size_t handle_notes(struct watch *watch, const struct note *notes, size_t count,
			   uint64_t until_ns)
{
	size_t done = 0;

	while (done < count && !atomic_load(&watch->ending)) {
		handle_note(watch, &notes[done++]);
		if (clock_monotonic_ns() >= until_ns)
			break;
	}
	return done;
}

/* Tell what has been found out by about @until_ns. True: there is more. */
static bool settle(struct watch *watch, uint64_t until_ns)
{
	bool more;

	look_at_kin(watch);
	look_at_crowded(watch);
	watch_leave_ends(watch);
	resolve_repeated(&watch->table, &watch->table_lock, watch->files);
	more = resolve_files(&watch->table, &watch->table_lock, watch->files, &watch->read_time,
			     until_ns);
	tell_changes(watch);
	return more;
}

void watch_pass(struct watch *watch, const struct note *notes, size_t count)
{
	uint64_t now = clock_monotonic_ns(), end_ns = now + PASS_MOST_NS;
	size_t done = 0;
	bool more;

	watch->news = false;
	sync_records(watch);
	watch_read_owners(watch);
	// Who can be read quickly does not wait for who comes after him and cannot.
	do {
		done += handle_notes(watch, notes + done, count - done, now + SLICE_NS);
		more = settle(watch, clock_monotonic_ns() + SLICE_NS);
		now = clock_monotonic_ns();
	} while ((done < count || (more && now < end_ns)) && !atomic_load(&watch->ending));
}

static int scan_visited(void *context, uint32_t pid)
{
	// What is gone by now, or hidden from us, has been told of or will be found when sampled.
	scan(context, pid, PROC_MAPS);
	return 0;
}

struct profcol_error *watch_start(struct watch *watch)
{
	struct profcol_error *error;
	int status;

	watch->side_band = side_band_create();
	if (!watch->side_band)
		return profcol_error_create(PROFCOL_NO_MEMORY,
					    "no memory or file descriptors to follow processes");
	watch->followed_ns = clock_monotonic_ns();
	error = side_band_follow_cpus(watch->side_band, NULL);
	if (error && !side_band_cpus(watch->side_band))
		return profcol_error_prefix(error, "follow processes");
	if (error)
		profcol_log_warn(watch->host->logger,
				 "%s, programs that start there are known only once sampled",
				 profcol_error_message(error));
	watch->cpus_failed = error != NULL;
	profcol_error_destroy(error);
	// Listening already: what changes while /proc is read is told.
	status = proc_walk(scan_visited, watch);
	if (status)
		return profcol_error_errno(-status, "read the processes in '/proc'");
	return NULL;
}

static void follow_cpus(struct watch *watch)
{
	uint64_t since = watch->followed_ns;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	bool changed;

	watch->followed_ns = clock_monotonic_ns();
	error = side_band_follow_cpus(watch->side_band, &changed);
	if (error && !watch->cpus_failed)
		profcol_log_warn(watch->host->logger,
				 "%s, programs that start there are known only once sampled",
				 profcol_error_message(error));
	watch->cpus_failed = error != NULL;
	if (!changed)
		return;
	pthread_mutex_lock(&watch->table_lock);
	table_suspect(&watch->table, since);
	pthread_mutex_unlock(&watch->table_lock);
	watch->repair_due = true;
}

struct patient {
	uint32_t pid;
	uint64_t begin_ns;
	bool read; /* its mappings are needed */
};

struct patients {
	VECTOR(struct patient) list;
	bool all; /* or only those whose leader has ended */
	uint64_t sampled_since_ns;
};

static void choose_patient(void *context, struct process *process)
{
	struct patients *patients = context;
	struct patient patient = {
		.pid = process->pid,
		.begin_ns = process->begin_ns,
		.read = patients->all && process->sampled_ns > patients->sampled_since_ns,
	};

	// Without memory it is the turn of the rest next time.
	if (process->end_ns == PROCESS_ALIVE && (patients->all || process->leader_exited))
		(void)VECTOR_PUSH(&patients->list, patient);
}

static void bury(struct watch *watch, const struct patient *patient)
{
	struct process *process;

	pthread_mutex_lock(&watch->table_lock);
	process = table_newest(&watch->table, patient->pid);
	if (process && process->begin_ns == patient->begin_ns)
		table_end(&watch->table, process,
			  process->last_exit_ns ? process->last_exit_ns : clock_monotonic_ns());
	pthread_mutex_unlock(&watch->table_lock);
}

/*
 * Find out about ends nobody told of, as of a leader whose threads were miscounted; and when
 * records have been missed, look at all processes, and read those sampled lately.
 */
static void repair(struct watch *watch)
{
	uint64_t now = clock_monotonic_ns(), recent = REPAIR_SECONDS * 1000000000ull;
	struct patients patients = {
		.all = watch->repair_due,
		.sampled_since_ns = now > recent ? now - recent : 0,
	};

	if (patients.all)
		watch->repaired_ns = now;
	watch->repair_due = false;
	pthread_mutex_lock(&watch->table_lock);
	table_each(&watch->table, choose_patient, &patients);
	pthread_mutex_unlock(&watch->table_lock);
	for (size_t i = 0; i < patients.list.count; i++) {
		const struct patient *patient = &patients.list.items[i];

		if (!proc_is_alive(patient->pid))
			bury(watch, patient);
		else if (patient->read)
			scan(watch, patient->pid, PROC_MAPS);
	}
	VECTOR_DEINIT(&patients.list);
}

static void show_metrics(struct watch *watch)
{
	struct watch_metrics *metrics = &watch->metrics;
	struct files_state files = files_state(watch->files);
	size_t memory;

	pthread_mutex_lock(&watch->table_lock);
	memory = table_memory(&watch->table) + watch->table.pool.texts.memory + files.memory;
	profcol_metric_set(metrics->processes, (int64_t)watch->table.count);
	profcol_metric_set(metrics->records_lost, (int64_t)watch->table.lost);
	profcol_metric_set(metrics->evicted, (int64_t)watch->table.evicted);
	profcol_metric_set(metrics->refused, (int64_t)watch->table.refused);
	profcol_metric_set(metrics->put_off, (int64_t)watch->read_time.put_off);
	profcol_metric_set(metrics->paths_refused,
			   (int64_t)(watch->table.paths_refused + files.paths_refused));
	profcol_metric_set(metrics->malformed_environments,
			   (int64_t)watch->table.malformed_environments);
	profcol_metric_set(metrics->claims_refused, (int64_t)watch->table.claims_refused);
	pthread_mutex_unlock(&watch->table_lock);
	profcol_metric_set(
		metrics->memory,
		(int64_t)memory + atomic_load_explicit(&watch->other_memory, memory_order_relaxed));
	profcol_metric_set(metrics->files, (int64_t)files.files);
	profcol_metric_set(metrics->files_open, (int64_t)files.open);
	profcol_metric_set(metrics->files_refused, (int64_t)files.refused);
	profcol_metric_set(metrics->roots_refused, (int64_t)files.roots_refused);
	profcol_metric_set(metrics->files_evicted, (int64_t)files.evicted);
	watch_hangs_show(&watch->hangs, watch->host, watch->files);
}

bool watch_wants_repair(const struct watch *watch, uint64_t now_ns)
{
	return watch->repair_due && now_ns >= watch->repaired_ns + HOUSEKEEPING_NS;
}

void watch_keep_house(struct watch *watch)
{
	watch_follow_again(watch);
	follow_cpus(watch);
	repair(watch);
	resolve_changed(&watch->table, &watch->table_lock, watch->files);
	if (clock_monotonic_ns() >= watch->let_go_ns) {
		resolve_let_go(&watch->table, &watch->table_lock, watch->files, &watch->read_time);
		watch->let_go_ns = clock_monotonic_ns() + let_go_pause_ns;
	}
	show_metrics(watch);
}
