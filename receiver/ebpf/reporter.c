// SPDX-License-Identifier: Apache-2.0
#include "reporter.h"

#include "cost.h"
#include "deferred/deferred.h"
#include "events/events.h"
#include "held.h"
#include "outdated.h"
#include "report.h"

#include "base/base.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

/* So many samples since the last look are work for who keeps house: below it there are as many on a
 * machine that does nothing but log. */
enum { WORK_SAMPLES = 10 };

enum { AHEAD_MOST = 1 << 16 }; /* frames whose names are looked up before their batch closes */

/*
 * For the table of processes to reach the batch's end. It is there in a moment but where a machine
 * is so busy that its thread waits for a CPU: then a batch is late rather than wrong, since frames
 * would be taken for those of code that has gone.
 */
static const uint64_t CATCH_UP_NS = 10000000000;

/* How late a sample may come: for its walk (deferred/), or for a decision (select/). */
static const uint64_t WAITING_NS = DEFERRED_WAIT_NS + 1000000000;

/* Names of frames that no sample had for so long are read anew. */
static const uint64_t FORGET_NAMES_NS = 120000000000;

static const uint64_t COST_NS = 5000000000; /* between two looks at the own cost */

struct reporter {
	const struct profcol_host *host;
	const struct profiling_config *config;
	struct drain *drain;
	struct processes *processes;
	struct process_memory *memory;
	struct symbols *symbols;
	struct tables *tables;
	struct report *report;
	struct containers containers; /* that were met; only if some may be held */
	struct held *held;
	struct cost cost;
	uint64_t cost_due_ns;
	VECTOR(struct tables_place) places; /* of the batch; kept for its memory */
	VECTOR(struct symbol_query) ahead;  /* of the open one; the same */
	bool behind;           /* the last batch lacked names that were still to come */
	struct capture *spare; /* owned */
	uint64_t booked[SAMPLE_COUNTER_COUNT]; /* totals of the kernel side already accounted */
	struct profcol_metric *runs, *run_time, *ring_lost, *not_deferred, *map_bytes;
	struct event_metrics events;
	struct housekeeping housekeeping; /* CPUs that came or went, books of the kernel side */
	uint64_t looked_count;            /* drain_count when it was last */
	uint64_t random;                  /* state of the jitter */
	bool cpus_failed;                 /* said once until it is mended */
	bool rules_failed;                /* the same */
	uint64_t file_lap; /* processes_files.lap as far as the kernel side has heard of it */
	uint64_t refused;  /* batches since the last line about them */
	uint64_t refusal_quiet_until_ns;

	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* over those below */
	pthread_cond_t wake;
	bool hurries; /* the open batch is nearly full */
	bool stopping;
	uint64_t deadline_ns; /* of the last report; 0 before stopping */
};

/* Who refuses one batch mostly refuses the next: a line a minute. Takes @error. */
static void log_refusal(struct reporter *reporter, struct profcol_error *error)
{
	uint64_t now = clock_monotonic_ns();

	reporter->refused++;
	if (now >= reporter->refusal_quiet_until_ns) {
		profcol_log_warn(reporter->host->logger,
				 "%s, the batch is lost and counted (%" PRIu64
				 " since the last such line)",
				 profcol_error_message(error), reporter->refused);
		reporter->refusal_quiet_until_ns = now + PROFCOL_MINUTE;
		reporter->refused = 0;
	}
	profcol_error_destroy(error);
}

/* Takes @batch. */
static void pass_on(void *context, struct profcol_batch *batch)
{
	struct reporter *reporter = context;
	struct profcol_error *error = reporter->host->consume_next(reporter->host, batch);

	if (error)
		log_refusal(reporter, error);
}

static void register_metrics(struct reporter *reporter)
{
	const struct profcol_host *host = reporter->host;
	static const char program[] = "program=sample_cpu_clock";

	reporter->runs =
		host->metric(host, PROFCOL_COUNTER, "bpf_runs", program, "Times a BPF program ran");
	reporter->run_time = host->metric(host, PROFCOL_COUNTER_NS, "bpf_run_seconds", program,
					  "Time inside a BPF program, on all CPUs");
	reporter->ring_lost = host->metric(host, PROFCOL_COUNTER, "ring_buffer_lost_samples", "",
					   "Samples the kernel side had no room for");
	reporter->not_deferred = host->metric(
		host, PROFCOL_COUNTER, "unwind_deferred_stacks", "result=not_copied",
		"Stacks whose code was unknown when they were sampled, by what became of them");
	reporter->map_bytes =
		host->metric(host, PROFCOL_GAUGE, "bpf_map_bytes", "",
			     "Memory of the BPF maps, the buffers of the CPUs included");
}

/* The drain thread's. */
static void hurry(void *context)
{
	struct reporter *reporter = context;

	pthread_mutex_lock(&reporter->lock);
	reporter->hurries = true;
	pthread_cond_signal(&reporter->wake);
	pthread_mutex_unlock(&reporter->lock);
}

struct reporter *reporter_create(const struct profcol_host *host,
				 const struct profiling_config *config, struct drain *drain,
				 struct processes *processes, struct process_memory *memory,
				 struct symbols *symbols, struct tables *tables)
{
	// Without a resource for each container there is nothing to be known of.
	uint64_t new_ns =
		config->resource_by == RESOURCE_BY_HOST ? 0 : config->hold_new_containers_ns;
	struct reporter *reporter = calloc(1, sizeof(*reporter));

	if (!reporter)
		return NULL;
	reporter->host = host;
	reporter->config = config;
	reporter->drain = drain;
	reporter->processes = processes;
	reporter->memory = memory;
	reporter->symbols = symbols;
	reporter->tables = tables;
	reporter->random = clock_realtime_ns() | 1;
	reporter->behind = true; // nothing is known yet
	register_metrics(reporter);
	event_metrics_init(&reporter->events, host, config);
	pthread_mutex_init(&reporter->lock, NULL);
	pthread_cond_init(&reporter->wake, NULL);
	containers_init(&reporter->containers);
	reporter->report = report_create(host, config, processes, memory, symbols,
					 new_ns ? &reporter->containers : NULL);
	reporter->held = held_create(host, &reporter->containers, new_ns, pass_on, reporter);
	reporter->spare = calloc(1, sizeof(*reporter->spare));
	if (!reporter->report || !reporter->held || !reporter->spare) {
		reporter_destroy(reporter);
		return NULL;
	}
	capture_init(reporter->spare, 0);
	drain_on_nearly_full(drain, hurry, reporter);
	return reporter;
}

void reporter_destroy(struct reporter *reporter)
{
	if (!reporter)
		return;
	held_destroy(reporter->held);
	report_destroy(reporter->report);
	containers_deinit(&reporter->containers);
	if (reporter->spare)
		capture_deinit(reporter->spare);
	free(reporter->spare);
	VECTOR_DEINIT(&reporter->places);
	VECTOR_DEINIT(&reporter->ahead);
	pthread_cond_destroy(&reporter->wake);
	pthread_mutex_destroy(&reporter->lock);
	free(reporter);
}

static void book(struct reporter *reporter, enum profcol_outcome outcome, const char *cause,
		 uint64_t samples)
{
	if (samples)
		reporter->host->account(reporter->host, outcome, cause, samples);
}

/* Book the samples that the kernel side has taken and not emitted since the last time. An emitted
 * sample is booked as taken when it is read from its buffer and decided about. */
static void book_counters(struct reporter *reporter)
{
	const struct sampler *sampler = drain_sampler(reporter->drain);
	uint64_t totals[SAMPLE_COUNTER_COUNT], events[SAMPLE_COUNTER_COUNT];
	uint64_t new[SAMPLE_COUNTER_COUNT];

	sampler_counters(sampler, totals);
	for (size_t i = 0; i < SAMPLE_COUNTER_COUNT; i++) {
		new[i] = totals[i] - reporter->booked[i];
		reporter->booked[i] = totals[i];
	}
	book(reporter, PROFCOL_TAKEN, NULL,
	     new[SAMPLE_COUNTER_IDLE] + new[SAMPLE_COUNTER_UNSELECTED] +
		     new[SAMPLE_COUNTER_RING_FULL]);
	book(reporter, PROFCOL_FILTERED, "idle", new[SAMPLE_COUNTER_IDLE]);
	book(reporter, PROFCOL_FILTERED, "select", new[SAMPLE_COUNTER_UNSELECTED]);
	book(reporter, PROFCOL_LOST, "ring_buffer_full", new[SAMPLE_COUNTER_RING_FULL]);
	sampler_event_counters(sampler, events);
	profcol_metric_set(reporter->runs,
			   (int64_t)(totals[SAMPLE_COUNTER_TAKEN] - events[SAMPLE_COUNTER_TAKEN]));
	profcol_metric_set(reporter->run_time, (int64_t)(totals[SAMPLE_COUNTER_RUN_NS] -
							 events[SAMPLE_COUNTER_RUN_NS]));
	event_metrics_show(&reporter->events, sampler_events(sampler), events);
	profcol_metric_set(reporter->ring_lost, (int64_t)totals[SAMPLE_COUNTER_RING_FULL]);
	profcol_metric_set(reporter->not_deferred, (int64_t)totals[SAMPLE_COUNTER_NOT_DEFERRED]);
}

/* After the drain has ended: what was emitted and never came out of the buffers is lost. What the
 * kernel side took by its own count, and nobody else knows of, is taken and shows as unaccounted.
 */
static void book_remains(struct reporter *reporter)
{
	uint64_t drained = drain_count(reporter->drain), emitted, known;
	const uint64_t *booked = reporter->booked;

	book_counters(reporter);
	emitted = booked[SAMPLE_COUNTER_EMITTED];
	known = booked[SAMPLE_COUNTER_IDLE] + booked[SAMPLE_COUNTER_UNSELECTED] +
		booked[SAMPLE_COUNTER_RING_FULL] + drained;
	if (booked[SAMPLE_COUNTER_TAKEN] > known)
		book(reporter, PROFCOL_TAKEN, NULL, booked[SAMPLE_COUNTER_TAKEN] - known);
	book(reporter, PROFCOL_LOST, "not_drained", emitted > drained ? emitted - drained : 0);
}

static void follow_cpus(struct reporter *reporter)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		sampler_follow_cpus(drain_sampler(reporter->drain));

	if (error && !reporter->cpus_failed)
		profcol_log_warn(reporter->host->logger, "%s, these CPUs are not sampled",
				 profcol_error_message(error));
	reporter->cpus_failed = error != NULL;
}

/* Ids of files may soon be given to others: what walks remember by them goes. */
static void follow_files(struct reporter *reporter)
{
	uint64_t lap = processes_files(reporter->processes).lap;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

	if (lap == reporter->file_lap)
		return;
	error = sampler_forget_rules(drain_sampler(reporter->drain));
	if (error && !reporter->rules_failed)
		profcol_log_warn(reporter->host->logger, "%s, it is tried again every second",
				 profcol_error_message(error));
	else if (!error)
		reporter->file_lap = lap;
	reporter->rules_failed = error != NULL;
}

/* Build the batch of @closed and pass it on, but for what has to be held; every sample of it is
 * booked, one way or another. */
static void report_capture(struct reporter *reporter, const struct capture *closed, uint64_t end_ns,
			   uint64_t limit_ns)
{
	uint64_t now = clock_monotonic_ns();
	uint64_t wait = reporter->config->symbolization_wait_ns, deadline;
	struct profcol_batch *batch = NULL;
	struct profcol_error *error;

	// Some time has to be left for passing the batch on.
	if (limit_ns) {
		uint64_t left = limit_ns > now ? limit_ns - now : 0;

		if (wait > left / 2)
			wait = left / 2;
	}
	deadline = now + wait;
	error = report_build(reporter->report, closed, end_ns, deadline, &batch);
	if (error) {
		reporter->host->account(reporter->host, PROFCOL_LOST,
					profcol_code_name(profcol_error_code(error)),
					closed->samples.count);
		log_refusal(reporter, error);
		return;
	}
	held_add(reporter->held, batch, clock_monotonic_ns());
}

/* What of unwind tables is in use. Without memory it may be dropped, and built again. */
static void touch_tables(struct reporter *reporter, const struct capture *closed)
{
	reporter->places.count = 0;
	for (size_t i = 0; i < closed->frames.count; i++) {
		const struct capture_frame *frame = &closed->frames.items[i];

		if (frame->process == CAPTURE_FILE &&
		    !VECTOR_PUSH(&reporter->places,
				 ((struct tables_place){ frame->file, frame->address })))
			break;
	}
	tables_touch(reporter->tables, reporter->places.items, reporter->places.count);
}

static void show_map_bytes(struct reporter *reporter)
{
	profcol_metric_set(reporter->map_bytes,
			   (int64_t)(sampler_map_bytes(drain_sampler(reporter->drain)) +
				     tables_map_bytes(reporter->tables) +
				     processes_map_bytes(reporter->processes)));
}

/* @closed is the spare one from now on. */
static void report_closed(struct reporter *reporter, struct capture *closed, uint64_t now,
			  uint64_t limit_ns)
{
	uint64_t catch_up = now + CATCH_UP_NS;

	reporter->spare = closed;
	if (closed->samples.count) {
		touch_tables(reporter, closed);
		processes_catch_up(reporter->processes,
				   limit_ns && limit_ns < catch_up ? limit_ns : catch_up);
		outdated_mend(closed, reporter->processes);
		report_capture(reporter, closed, now, limit_ns);
		reporter->behind |= symbols_are_behind(reporter->symbols);
		symbols_forget(reporter->symbols);
	}
}

static void add_query(void *context, const struct capture_frame *frame)
{
	struct reporter *reporter = context;

	if (frame->process == CAPTURE_FILE && reporter->ahead.count < AHEAD_MOST)
		(void)VECTOR_PUSH(&reporter->ahead,
				  ((struct symbol_query){ .file = frame->file,
							  .file_offset = frame->address }));
}

/* Have the names of the open batch read: when it closes there is no time for all of them, as with
 * many programs at once. Where all are known that would only be work done twice. */
static void look_ahead(struct reporter *reporter)
{
	reporter->ahead.count = 0;
	drain_visit_frames(reporter->drain, add_query, reporter);
	symbols_lookup(reporter->symbols, reporter->ahead.items, reporter->ahead.count, 0);
}

/* What had waited while the period changed: a batch of its own. */
static void report_late(struct reporter *reporter, uint64_t limit_ns)
{
	struct capture *late;
	uint64_t now = clock_monotonic_ns();

	capture_clear(reporter->spare, now);
	late = drain_take_late(reporter->drain, reporter->spare);
	if (late)
		report_closed(reporter, late, late->begin_ns, limit_ns);
}

static void report_once(struct reporter *reporter, uint64_t limit_ns)
{
	uint64_t now, begin_ns;
	struct capture *closed;

	drain_tell(reporter->drain, limit_ns ? limit_ns : UINT64_MAX);
	now = clock_monotonic_ns();
	capture_clear(reporter->spare, now);
	closed = drain_swap(reporter->drain, reporter->spare);
	begin_ns = closed->begin_ns;
	reporter->behind = false;
	show_map_bytes(reporter);
	report_closed(reporter, closed, now, limit_ns);
	report_late(reporter, limit_ns);
	if (!reporter->behind)
		VECTOR_DEINIT(&reporter->ahead);
	report_tell(reporter->report, now, limit_ns);
	// Not up to now: samples of just before may still lie in the buffers, or wait.
	if (begin_ns > now - WAITING_NS)
		begin_ns = now - WAITING_NS;
	processes_forget(reporter->processes, begin_ns - OUTDATED_KEEP_NS);
	if (begin_ns > FORGET_NAMES_NS)
		process_memory_forget(reporter->memory, begin_ns - FORGET_NAMES_NS);
}

/* What was sampled at the old one is a batch of its own. */
static void change_period(struct reporter *reporter, uint64_t period_ns)
{
	uint64_t now;
	struct capture *closed;

	report_late(reporter, 0);
	now = clock_monotonic_ns();
	capture_clear(reporter->spare, now);
	closed = drain_change_period(reporter->drain, reporter->spare, period_ns);
	report_closed(reporter, closed, clock_monotonic_ns(), 0);
}

static struct cost_reading read_cost(struct reporter *reporter)
{
	const struct sampler *sampler = drain_sampler(reporter->drain);
	uint64_t tables_bytes = tables_map_bytes(reporter->tables);
	struct cost_bpf bpf = {
		.run_ns = reporter->booked[SAMPLE_COUNTER_RUN_NS],
		.map_bytes = (uint64_t)profcol_metric_get(reporter->map_bytes),
		.mapped_bytes = sampler_mapped_bytes(sampler),
		.tables_bytes = tables_bytes,
		.index_bytes = symbols_index_memory(reporter->symbols),
	};
	struct worker_use workers = { 0 };

	symbols_workers(reporter->symbols, &workers);
	tables_workers(reporter->tables, &workers);
	process_memory_workers(reporter->memory, &workers);
	return cost_read(&bpf, &workers);
}

static void limit_tables(struct reporter *reporter, uint64_t bytes)
{
	struct cost_tables parts = cost_divide_tables(reporter->config, bytes);

	tables_limit(reporter->tables, parts.unwind_bytes);
	symbols_limit(reporter->symbols, parts.symbol_bytes);
}

/* True when it has reported. */
static bool check_cost(struct reporter *reporter)
{
	uint64_t period_ns, tables_bytes, now = clock_monotonic_ns();
	struct cost_reading reading;

	if (now < reporter->cost_due_ns)
		return false;
	reporter->cost_due_ns = now + COST_NS;
	show_map_bytes(reporter);
	reading = read_cost(reporter);
	if (!cost_check(&reporter->cost, &reading, &period_ns, &tables_bytes))
		return false;
	limit_tables(reporter, tables_bytes);
	if (period_ns == drain_period_ns(reporter->drain))
		return false;
	change_period(reporter, period_ns);
	return true;
}

/* The interval with its jitter, so that many machines do not report in step. */
static uint64_t next_interval(struct reporter *reporter)
{
	double share;

	// xorshift64 (Marsaglia 2003): good enough to spread, and no lock in it.
	reporter->random ^= reporter->random << 13;
	reporter->random ^= reporter->random >> 7;
	reporter->random ^= reporter->random << 17;
	share = (double)(reporter->random >> 11) / (double)(1ull << 53) * 2 - 1;
	return (uint64_t)((double)reporter->config->reporter_interval_ns *
			  (1 + share * reporter->config->reporter_jitter));
}

/* Sleep until @until_ns. True when that is cut short: it is to stop, or the open batch is nearly
 * full. */
static bool sleep_until(struct reporter *reporter, uint64_t until_ns)
{
	struct timespec until = clock_timespec(until_ns);
	bool called;

	pthread_mutex_lock(&reporter->lock);
	while (!reporter->stopping && !reporter->hurries &&
	       !pthread_cond_clockwait(&reporter->wake, &reporter->lock, CLOCK_MONOTONIC, &until))
		;
	called = reporter->stopping || reporter->hurries;
	pthread_mutex_unlock(&reporter->lock);
	return called;
}

/* Sleep until @until_ns, or until the open batch is nearly full, or until told to stop. Meanwhile
 * the names are read that the last batch had no time for. True: it is to stop. */
static bool wait_until(struct reporter *reporter, uint64_t until_ns)
{
	bool stopping, called = false;
	uint64_t pause_ns, next_ns;

	while (!called && (pause_ns = symbols_tend(reporter->symbols))) {
		next_ns = clock_monotonic_ns() + pause_ns;
		if (next_ns >= until_ns)
			break;
		called = sleep_until(reporter, next_ns);
	}
	(void)sleep_until(reporter, until_ns);
	pthread_mutex_lock(&reporter->lock);
	stopping = reporter->stopping;
	reporter->hurries = false;
	pthread_mutex_unlock(&reporter->lock);
	return stopping;
}

static void check_held(struct reporter *reporter)
{
	uint64_t now = clock_monotonic_ns();

	if (held_check(reporter->held, now))
		housekeeping_note_work(&reporter->housekeeping, now);
}

/* What nobody tells of is looked at with every batch, and in between. */
static void keep_house(struct reporter *reporter)
{
	uint64_t count = drain_count(reporter->drain), now;
	bool has_work = count - reporter->looked_count >= WORK_SAMPLES;

	reporter->looked_count = count;
	follow_cpus(reporter);
	follow_files(reporter);
	book_counters(reporter);
	check_held(reporter);
	now = clock_monotonic_ns();
	if (has_work || reporter->cpus_failed || reporter->rules_failed)
		housekeeping_note_work(&reporter->housekeeping, now);
	housekeeping_note_look(&reporter->housekeeping, now);
}

static void *reporter_run(void *context)
{
	struct reporter *reporter = context;
	uint64_t due = clock_monotonic_ns() + next_interval(reporter);

	pthread_setname_np(pthread_self(), "reporter");
	for (;;) {
		uint64_t look = reporter->housekeeping.due_ns;

		if (wait_until(reporter, look < due ? look : due))
			break;
		keep_house(reporter);
		if (check_cost(reporter)) {
			due = clock_monotonic_ns() + next_interval(reporter);
			continue;
		}
		if (clock_monotonic_ns() < due && !drain_is_nearly_full(reporter->drain)) {
			if (reporter->behind)
				look_ahead(reporter);
			continue;
		}
		report_once(reporter, 0);
		check_held(reporter);
		due += next_interval(reporter);
		// After a suspend or a slow consumer, do not catch up with a burst of batches.
		if (due < clock_monotonic_ns())
			due = clock_monotonic_ns() + next_interval(reporter);
	}
	held_flush(reporter->held);
	report_once(reporter, reporter->deadline_ns);
	book_remains(reporter);
	return NULL;
}

struct profcol_error *reporter_start(struct reporter *reporter)
{
	struct cost_reading reading;
	int status;

	show_map_bytes(reporter);
	reading = read_cost(reporter);
	cost_init(&reporter->cost, reporter->host, reporter->config, &reading);
	reporter->cost_due_ns = reading.now_ns + COST_NS;
	housekeeping_note_work(&reporter->housekeeping, reading.now_ns);
	housekeeping_note_look(&reporter->housekeeping, reading.now_ns);
	status = pthread_create(&reporter->thread, NULL, reporter_run, reporter);
	if (status)
		return profcol_error_errno(status, "start the reporter thread");
	reporter->running = true;
	return NULL;
}

void reporter_stop(struct reporter *reporter, uint64_t deadline_ns)
{
	if (!reporter->running)
		return;
	pthread_mutex_lock(&reporter->lock);
	reporter->stopping = true;
	reporter->deadline_ns = deadline_ns;
	pthread_cond_signal(&reporter->wake);
	pthread_mutex_unlock(&reporter->lock);
	pthread_join(reporter->thread, NULL);
	reporter->running = false;
}
