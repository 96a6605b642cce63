// SPDX-License-Identifier: Apache-2.0
#include "drain.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/*
 * Ten rounds a second keep the buffers small and the table of processes close
 * behind the samples, at about 0.02 % of a CPU.
 */
enum { ROUND_MS = 100, REST_NS = 2000000 };

/* At the end, for the last samples whose processes are not decided. */
static const uint64_t SETTLE_NS = 1000000000;

/* Far above any batch of the default interval; a longer one is closed early when it fills up. */
enum { MAX_BATCH_BYTES = 64 << 20, NEARLY_FULL_BYTES = MAX_BATCH_BYTES / 2 };

struct drain {
	const struct profcol_host *host;
	struct processes *processes;
	struct tables *tables;
	struct select *select;
	struct sampler *sampler;
	pthread_t thread;
	bool running;
	atomic_bool stopping;

	pthread_mutex_t lock; /* over `open`; held for a round's appends or for a swap */
	struct capture *open; /* owned */
	uint64_t count;       /* records taken out of the buffers */
};

static const char *lost_cause(int status)
{
	switch (status) {
	case -ENOSPC:
		return "batch_full";
	case -ENOMEM:
		return "no_memory";
	default:
		return "malformed_record";
	}
}

static void append(void *context, const void *record, size_t length)
{
	struct drain *drain = context;
	const struct sample_head *head = record;
	struct capture *open = drain->open; /* the lock is held: see drain_take */
	size_t known = open->processes.count;
	uint32_t process;
	int status = capture_append(open, record, length, &process);

	if (status) {
		drain->host->account(drain->host, PROFCOL_LOST, lost_cause(status), 1);
		return;
	}
	if (process >= known && head->pid)
		processes_note_sample(drain->processes, &open->processes.items[process].key,
				      head->time_ns);
	tables_note_sample(drain->tables, head);
}

static void take_record(void *context, const void *record, size_t length)
{
	struct drain *drain = context;

	drain->count++;
	if (select_takes(drain->select, record, length))
		append(drain, record, length);
}

/* Samples that have waited can be taken: before there are many. */
static void wake(void *context)
{
	struct drain *drain = context;

	sampler_wake(drain->sampler);
}

struct drain *drain_create(const struct profcol_host *host, const struct profiling_config *config,
			   struct processes *processes, struct tables *tables,
			   struct select *select)
{
	struct drain *drain = calloc(1, sizeof(*drain));

	if (!drain)
		return NULL;
	drain->host = host;
	drain->processes = processes;
	drain->tables = tables;
	drain->select = select;
	pthread_mutex_init(&drain->lock, NULL);
	drain->sampler = sampler_create(host, config, take_record, drain);
	if (drain->sampler)
		select_on_decided(select, wake, drain);
	drain->open = calloc(1, sizeof(*drain->open));
	if (!drain->sampler || !drain->open) {
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
	if (drain->open)
		capture_deinit(drain->open);
	free(drain->open);
	pthread_mutex_destroy(&drain->lock);
	free(drain);
}

/* Append all that lies in the buffers to the open batch, after what has waited. */
static int drain_take(struct drain *drain)
{
	int status;

	pthread_mutex_lock(&drain->lock);
	select_release(drain->select, append, drain);
	status = sampler_drain(drain->sampler);
	pthread_mutex_unlock(&drain->lock);
	return status;
}

/* No further sample comes: decide about those that are waiting. */
static void drain_settle(struct drain *drain, uint64_t deadline_ns)
{
	uint64_t settled_ns = clock_monotonic_ns() + SETTLE_NS;

	select_settle(drain->select, settled_ns < deadline_ns ? settled_ns : deadline_ns);
	pthread_mutex_lock(&drain->lock);
	select_release(drain->select, append, drain);
	select_lose(drain->select);
	pthread_mutex_unlock(&drain->lock);
}

static void *drain_run(void *context)
{
	struct drain *drain = context;
	int status;

	pthread_setname_np(pthread_self(), "drain");
	while (!atomic_load_explicit(&drain->stopping, memory_order_acquire)) {
		status = sampler_wait(drain->sampler, ROUND_MS);
		if (!status)
			status = drain_take(drain);
		// Each CPU may wake this thread, and what is missing may stay so.
		nanosleep(&(struct timespec){ .tv_nsec = REST_NS }, NULL);
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

struct capture *drain_swap(struct drain *drain, struct capture *empty)
{
	struct capture *closed;

	empty->max_bytes = MAX_BATCH_BYTES;
	pthread_mutex_lock(&drain->lock);
	closed = drain->open;
	drain->open = empty;
	pthread_mutex_unlock(&drain->lock);
	return closed;
}

bool drain_is_nearly_full(struct drain *drain)
{
	bool nearly;

	pthread_mutex_lock(&drain->lock);
	nearly = capture_used(drain->open) > NEARLY_FULL_BYTES;
	pthread_mutex_unlock(&drain->lock);
	return nearly;
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
