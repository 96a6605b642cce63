// SPDX-License-Identifier: Apache-2.0
#include "drain.h"

#include "deferred/deferred.h"
#include "sample_buffers.h"
#include "unread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/*
 * Ten rounds a second keep the buffers small and the table of processes close behind the samples.
 * After a round without one the thread sleeps until there is one: a round for nothing takes 50 us
 * on a CPU that sleeps otherwise. The last figure is for machines on which a wake-up may be missed
 * (bpf/sample.h).
 */
enum { ROUND_MS = 100, REST_NS = 2000000, IDLE_ROUND_MS = 5000 };

/* While samples wait for what is missing of their stacks: it comes in some milliseconds, and nobody
 * is in a hurry. */
enum { DEFERRED_ROUND_MS = 25 };

/* Stacks of threads that sleep, each time a batch is closed, and at the end processes that are not
 * decided, and walks: all come at once but for those that keep whoever waits. */
static const uint64_t WAIT_NS = 1000000000;

static const uint64_t NOTE_AGAIN_NS = 1000000000;

/* Far above any batch of the default interval; a longer one is closed early when it fills up. */
enum { MAX_BATCH_BYTES = 64 << 20, NEARLY_FULL_BYTES = MAX_BATCH_BYTES / 2 };

struct drain {
	const struct profcol_host *host;
	struct processes *processes;
	struct process_memory *memory;
	struct tables *tables;
	struct select *select;
	struct sampler *sampler;
	struct deferred *deferred; /* owned */
	pthread_t thread;
	bool running;
	atomic_bool stopping;
	int wait_ms;         /* until the next round; of the thread, as the next two */
	uint64_t rested_ns;  /* no round before (CLOCK_MONOTONIC) */
	uint64_t last_count; /* drain->count of the round before */
	void (*nearly_full)(void *context); /* as drain_on_nearly_full says */
	void *nearly_full_context;

	pthread_mutex_t tell_lock;    /* one at a time tells and reads; taken before `lock` */
	struct unread_metrics stacks; /* registered only if there may be any */
	bool cannot_tell;             /* said once */

	pthread_mutex_t lock;      /* over `open`, `unread`: for a round's appends, or a swap */
	struct capture *open;      /* owned */
	struct unread_list unread; /* wanted samples of waits, whose stacks are to be read */
	struct capture *late;      /* owned: of the period before; NULL before the first change */
	uint64_t changed_ns; /* CLOCK_MONOTONIC: samples of before were taken at that period... */
	uint64_t late_ns;    /* ...and those of before this at yet another one */
	uint64_t count;      /* records taken out of the buffers */
};

static uint64_t wait_end_ns(uint64_t deadline_ns)
{
	uint64_t end_ns = clock_monotonic_ns() + WAIT_NS;

	return end_ns < deadline_ns ? end_ns : deadline_ns;
}

static const char *lost_cause(int status)
{
	switch (status) {
	case -ENOSPC:
		return "batch_full";
	case -ENOMEM:
		return "no_memory";
	case -ESTALE:
		return "undecidable";
	default:
		return "malformed_record";
	}
}

/* Where the sample belongs by its time; NULL: nowhere any more. The lock is held. */
static struct capture *capture_for(const struct drain *drain, const void *record, size_t length)
{
	const struct sample_head *head = record;

	// A malformed one is found out by who appends it.
	if (length < sizeof(*head) || head->time_ns >= drain->changed_ns)
		return drain->open;
	return head->time_ns >= drain->late_ns ? drain->late : NULL;
}

/* Once a second or so: who has run lately is kept for longer, and a batch may take an hour. */
static void note_sample(struct drain *drain, struct capture_process *process, uint64_t time_ns)
{
	if (!process->noted_ns)
		processes_note_sample(drain->processes, &process->key, time_ns);
	else if (time_ns > process->noted_ns + NOTE_AGAIN_NS)
		processes_note_again(drain->processes, &process->key, time_ns);
	else
		return;
	process->noted_ns = time_ns;
}

/* Rows of a capture. */
struct rows {
	size_t frames, threads;
};

/* Objects of runtimes, code in memory of no file, threads and programs are asked for their names
 * while they are there: those that @capture has beyond the @known ones. */
static void ask_names(struct drain *drain, const struct capture *capture, struct rows known)
{
	struct frame_question question;

	for (size_t i = known.frames; i < capture->frames.count; i++)
		if (capture_question(capture, i, &question))
			process_memory_ask(drain->memory, &question);
	for (size_t i = known.threads; i < capture->threads.count; i++) {
		const struct capture_thread *row = &capture->threads.items[i];

		question = capture_thread_question(capture, i);
		process_memory_ask(drain->memory, &question);
		if (!row->is_first)
			continue;
		question = capture_program_question(capture, row->process, row->runtime);
		process_memory_ask(drain->memory, &question);
	}
}

static void append(void *context, const void *record, size_t length)
{
	struct drain *drain = context;
	const struct sample_head *head = record;
	struct capture *to = capture_for(drain, record, length);
	struct rows known = { 0 };
	uint32_t process;
	int status = -ESTALE;

	if (to) {
		known = (struct rows){ to->frames.count, to->threads.count };
		status = capture_append(to, record, length, &process);
	}
	if (status) {
		drain->host->account(drain->host, PROFCOL_LOST, lost_cause(status), 1);
		return;
	}
	if (head->pid)
		note_sample(drain, &to->processes.items[process], head->time_ns);
	tables_note_sample(drain->tables, head);
	// Of a process that is not known yet nothing but addresses is.
	if (head->end != UNWIND_END_NO_PROCESS)
		ask_names(drain, to, known);
}

/* A whole sample: appended now, or once its walk is finished. */
static void walk_or_append(void *context, const void *record, size_t length)
{
	struct drain *drain = context;
	const struct sample_head *head = record;
	struct process_key key;

	if (length < sizeof(*head) || !head->deferred_bytes) {
		append(drain, record, length);
		return;
	}
	if (!deferred_take(drain->deferred, record, length, clock_monotonic_ns(), append, drain))
		return;
	// What is missing is asked for now.
	key = (struct process_key){ head->pid, head->exec_id, head->start_boottime_ns };
	processes_note_sample(drain->processes, &key, head->time_ns);
	tables_note_sample(drain->tables, head);
}

/* Without what has no room to wait. The lock is held. */
static void queue_unread(struct drain *drain, const void *record, size_t length)
{
	struct unread_list one = { 0 };

	if (unread_add(&drain->unread, record, length))
		return;
	if (unread_add(&one, record, length))
		unread_read(&one, drain->processes, 0, &drain->stacks, walk_or_append, drain);
	else
		drain->host->account(drain->host, PROFCOL_LOST, lost_cause(-ENOMEM), 1);
	unread_list_deinit(&one);
}

/* A wanted sample. */
static void take_selected(void *context, const void *record, size_t length)
{
	struct drain *drain = context;

	drain->host->account(drain->host, PROFCOL_TAKEN, NULL, 1);
	if (unread_is(record, length))
		queue_unread(drain, record, length);
	else
		walk_or_append(drain, record, length);
}

static void take_record(void *context, const void *record, size_t length)
{
	struct drain *drain = context;

	drain->count++;
	if (select_takes(drain->select, record, length))
		take_selected(drain, record, length);
}

/* Samples that have waited can be taken: before there are many. */
static void wake(void *context)
{
	struct drain *drain = context;

	sampler_wake(drain->sampler);
}

/* Only where waits are sampled. */
static void register_stacks(struct drain *drain, const struct profiling_config *config)
{
	uint32_t wanted = 0;

	// Has been refused before.
	profcol_error_destroy(events_wanted(config, &wanted));
	if (wanted & 1u << SAMPLE_OFF_CPU)
		unread_register(&drain->stacks, drain->host);
}

struct drain *drain_create(const struct profcol_host *host, const struct profiling_config *config,
			   struct processes *processes, struct process_memory *memory,
			   struct tables *tables, struct select *select)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	if (!drain)
		return NULL;
	drain->host = host;
	drain->processes = processes;
	drain->memory = memory;
	drain->tables = tables;
	drain->select = select;
	pthread_mutex_init(&drain->lock, NULL);
	pthread_mutex_init(&drain->tell_lock, NULL);
	register_stacks(drain, config);
	drain->sampler = sampler_create(host, config, take_record, drain);
	if (drain->sampler)
		select_on_decided(select, wake, drain);
	drain->open = calloc(1, sizeof(*drain->open));
	drain->deferred = deferred_create(
		host, tables,
		&(struct deferred_options){ .stack_bytes = config->deferred_stack_bytes,
					    .depth = (uint32_t)config->max_stack_depth,
					    .verify = config->verify_walks });
	if (!drain->sampler || !drain->open || !drain->deferred) {
		drain_destroy(drain);
		return NULL;
	}
	capture_init(drain->open, MAX_BATCH_BYTES);
	return drain;
}

void drain_destroy(struct drain *drain)
{
	if (!drain)
		return;
	drain_stop(drain, 0);
	select_on_decided(drain->select, NULL, NULL);
	sampler_destroy(drain->sampler);
	deferred_destroy(drain->deferred);
	if (drain->open)
		capture_deinit(drain->open);
	free(drain->open);
	if (drain->late)
		capture_deinit(drain->late);
	free(drain->late);
	unread_list_deinit(&drain->unread);
	pthread_mutex_destroy(&drain->tell_lock);
	pthread_mutex_destroy(&drain->lock);
	free(drain);
}

/* The lock is held. */
static void finish_walks(struct drain *drain)
{
	uint64_t known_ns;

	if (!deferred_count(drain->deferred))
		return;
	known_ns = processes_known_ns(drain->processes);
	deferred_release(drain->deferred, clock_monotonic_ns(), known_ns, append, drain);
}

/* How long after this round the next one comes, unless something wakes it. The lock is held. */
static int next_wait_ms(struct drain *drain)
{
	bool is_idle = drain->count == drain->last_count;

	drain->last_count = drain->count;
	if (!is_idle)
		processes_note_sampling(drain->processes);
	if (deferred_count(drain->deferred))
		return DEFERRED_ROUND_MS;
	return is_idle && sampler_await(drain->sampler) ? IDLE_ROUND_MS : ROUND_MS;
}

/* Append all that lies in the buffers to the open batch, after what has waited. */
static int drain_take(struct drain *drain)
{
	int status;

	pthread_mutex_lock(&drain->lock);
	select_release(drain->select, take_selected, drain);
	status = sampler_drain(drain->sampler);
	finish_walks(drain);
	drain->wait_ms = next_wait_ms(drain);
	pthread_mutex_unlock(&drain->lock);
	return status;
}

/* Whose stacks are not known by @deadline_ns goes on without. */
static void drain_finish_walks(struct drain *drain, uint64_t deadline_ns)
{
	pthread_mutex_lock(&drain->lock);
	while (deferred_count(drain->deferred) && clock_monotonic_ns() < deadline_ns) {
		finish_walks(drain);
		pthread_mutex_unlock(&drain->lock);
		nanosleep(&(struct timespec){ .tv_nsec = DEFERRED_ROUND_MS * 1000000 }, NULL);
		pthread_mutex_lock(&drain->lock);
	}
	deferred_flush(drain->deferred, append, drain);
	pthread_mutex_unlock(&drain->lock);
}

/* ---- waits that have not ended ---- */

/* Decide about the samples that were told of. The lock is held. */
static void select_told(struct drain *drain, const struct event_records *told)
{
	const uint8_t *bytes = told->bytes.items;
	size_t left = told->bytes.count;

	for (;;) {
		const struct sample_head *head = (const void *)bytes;
		size_t length = sample_record_length(head, left);

		// Behind one that is not whole nothing can be found.
		if (!length)
			break;
		if (select_takes(drain->select, head, length))
			take_selected(drain, head, length);
		bytes += length;
		left -= length;
	}
}

/* From unread_read(), which no lock is held for. */
static void take_after_read(void *context, const void *record, size_t length)
{
	struct drain *drain = context;

	pthread_mutex_lock(&drain->lock);
	walk_or_append(drain, record, length);
	pthread_mutex_unlock(&drain->lock);
}

/* The stacks of all that is wanted so far. The lock of telling is held. */
static void read_stacks(struct drain *drain, uint64_t deadline_ns)
{
	struct unread_list list;

	pthread_mutex_lock(&drain->lock);
	list = drain->unread;
	drain->unread = (struct unread_list){ 0 };
	pthread_mutex_unlock(&drain->lock);
	unread_read(&list, drain->processes, wait_end_ns(deadline_ns), &drain->stacks,
		    take_after_read, drain);
	unread_list_deinit(&list);
}

void drain_tell(struct drain *drain, uint64_t deadline_ns)
{
	struct event_records told = { 0 };
	int status;

	pthread_mutex_lock(&drain->tell_lock);
	status = sampler_tell(drain->sampler, &told);
	if (status && !drain->cannot_tell)
		profcol_log_warn(drain->host->logger,
				 "look at threads that sleep: %s, waits are told of when they end",
				 strerror(-status));
	drain->cannot_tell |= status;
	pthread_mutex_lock(&drain->lock);
	select_told(drain, &told);
	pthread_mutex_unlock(&drain->lock);
	VECTOR_DEINIT(&told.bytes);
	read_stacks(drain, deadline_ns);
	pthread_mutex_unlock(&drain->tell_lock);
}

/* No further sample comes: decide about those that are waiting. */
static void drain_settle(struct drain *drain, uint64_t deadline_ns)
{
	select_settle(drain->select, wait_end_ns(deadline_ns));
	pthread_mutex_lock(&drain->lock);
	select_release(drain->select, take_selected, drain);
	select_lose(drain->select);
	pthread_mutex_unlock(&drain->lock);
	pthread_mutex_lock(&drain->tell_lock);
	read_stacks(drain, deadline_ns);
	pthread_mutex_unlock(&drain->tell_lock);
	// Those of stacks that have just been read have not begun before.
	drain_finish_walks(drain, wait_end_ns(deadline_ns));
}

/* Wait for the next round. 0 or a negative errno. */
static int wait_round(struct drain *drain)
{
	int status = sampler_wait(drain->sampler, drain->wait_ms);
	uint64_t now = clock_monotonic_ns();

	// Each CPU may wake this thread, and what is missing may stay so.
	if (now < drain->rested_ns)
		nanosleep(&(struct timespec){ .tv_nsec = (long)(drain->rested_ns - now) }, NULL);
	return status;
}

static void *drain_run(void *context)
{
	struct drain *drain = context;
	int status;

	pthread_setname_np(pthread_self(), "drain");
	drain->wait_ms = ROUND_MS;
	while (!atomic_load_explicit(&drain->stopping, memory_order_acquire)) {
		status = wait_round(drain);
		if (!status)
			status = drain_take(drain);
		if (drain_is_nearly_full(drain))
			drain->nearly_full(drain->nearly_full_context);
		drain->rested_ns = clock_monotonic_ns() + REST_NS;
		if (status) {
			sampler_detach(drain->sampler);
			profcol_log_error(
				drain->host->logger,
				"read the buffers of samples: %s, no more samples are taken",
				strerror(-status));
			drain->host->report_status(drain->host, PROFCOL_STATUS_PERMANENT_ERROR,
						   "the buffers of samples cannot be read");
			break;
		}
	}
	return NULL;
}

struct profcol_error *drain_start(struct drain *drain)
{
	struct profcol_error *error;
	int status;

	capture_clear(drain->open, clock_monotonic_ns());
	drain->open->period_ns = sampler_period_ns(drain->sampler);
	error = sampler_start(drain->sampler);
	if (error)
		return error;
	status = pthread_create(&drain->thread, NULL, drain_run, drain);
	if (status)
		return profcol_error_errno(status, "start the drain thread");
	drain->running = true;
	return NULL;
}

void drain_stop(struct drain *drain, uint64_t deadline_ns)
{
	if (!drain->running)
		return;
	drain_tell(drain, deadline_ns);
	sampler_detach(drain->sampler);
	atomic_store_explicit(&drain->stopping, true, memory_order_release);
	sampler_wake(drain->sampler);
	pthread_join(drain->thread, NULL);
	drain->running = false;
	// No program runs any more: this takes the last sample. What cannot be read is booked by
	// its absence (see drain_count).
	(void)drain_take(drain);
	drain_settle(drain, deadline_ns);
}

void drain_visit_frames(struct drain *drain,
			void (*visit)(void *context, const struct capture_frame *frame),
			void *context)
{
	pthread_mutex_lock(&drain->lock);
	for (size_t i = 0; i < drain->open->frames.count; i++)
		visit(context, &drain->open->frames.items[i]);
	pthread_mutex_unlock(&drain->lock);
}

struct capture *drain_swap(struct drain *drain, struct capture *empty)
{
	struct capture *closed;

	empty->max_bytes = MAX_BATCH_BYTES;
	empty->period_ns = sampler_period_ns(drain->sampler);
	pthread_mutex_lock(&drain->lock);
	closed = drain->open;
	drain->open = empty;
	pthread_mutex_unlock(&drain->lock);
	return closed;
}

/* A sampler_change_period function: no CPU is sampled, and the lock is held. */
static void take_rest(void *context)
{
	struct drain *drain = context;

	select_release(drain->select, take_selected, drain);
	// A failure comes again in the thread, which deals with it.
	(void)sampler_drain(drain->sampler);
}

/* Samples that have waited over two changes of the period, and came since the late ones were taken:
 * those few have no batch of their period any more. */
static void lose_late(struct drain *drain)
{
	size_t count = drain->late->samples.count;

	if (count)
		drain->host->account(drain->host, PROFCOL_LOST, lost_cause(-ESTALE), count);
}

struct capture *drain_change_period(struct drain *drain, struct capture *empty, uint64_t period_ns)
{
	struct capture *late = drain->late ? drain->late : calloc(1, sizeof(*late)), *closed;
	uint64_t changed_ns;

	empty->max_bytes = MAX_BATCH_BYTES;
	empty->period_ns = period_ns;
	// Without memory what comes late has no place, and is lost.
	if (late && !drain->late)
		capture_init(late, MAX_BATCH_BYTES);
	pthread_mutex_lock(&drain->lock);
	drain->late = late;
	changed_ns = sampler_change_period(drain->sampler, period_ns, take_rest, drain);
	closed = drain->open;
	drain->open = empty;
	if (late) {
		lose_late(drain);
		capture_clear(late, changed_ns);
		late->period_ns = closed->period_ns;
	}
	drain->late_ns = drain->changed_ns;
	drain->changed_ns = changed_ns;
	pthread_mutex_unlock(&drain->lock);
	// What was drained here was not awaited any more.
	sampler_wake(drain->sampler);
	return closed;
}

struct capture *drain_take_late(struct drain *drain, struct capture *empty)
{
	struct capture *late = NULL;

	empty->max_bytes = MAX_BATCH_BYTES;
	pthread_mutex_lock(&drain->lock);
	if (drain->late && drain->late->samples.count) {
		late = drain->late;
		empty->period_ns = late->period_ns;
		drain->late = empty;
	}
	pthread_mutex_unlock(&drain->lock);
	return late;
}

uint64_t drain_period_ns(const struct drain *drain)
{
	return sampler_period_ns(drain->sampler);
}

bool drain_is_nearly_full(struct drain *drain)
{
	bool nearly;

	pthread_mutex_lock(&drain->lock);
	nearly = capture_used(drain->open) > NEARLY_FULL_BYTES;
	pthread_mutex_unlock(&drain->lock);
	return nearly;
}

void drain_on_nearly_full(struct drain *drain, void (*tell)(void *context), void *context)
{
	drain->nearly_full = tell;
	drain->nearly_full_context = context;
}

uint64_t drain_count(struct drain *drain)
{
	uint64_t count;

	pthread_mutex_lock(&drain->lock);
	count = drain->count;
	pthread_mutex_unlock(&drain->lock);
	return count;
}

struct sampler *drain_sampler(struct drain *drain)
{
	return drain->sampler;
}
