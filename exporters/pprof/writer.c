// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include "pending.h"

#include "base/base.h"
#include "profile/profile.h"

#include <profcol/batch.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* What has come together before batches of a long run are joined for the first time. */
enum { JOIN_BYTES = 8 << 20 };

struct writer {
	const struct profcol_host *host; /* borrowed; not touched once abandoned */
	struct window_target target;
	uint64_t interval_ns;
	uint64_t max_pending_bytes;
	struct profcol_metric *files_written, *bytes_written, *files_removed, *write_failures;
	struct profcol_metric *pending_bytes;
	atomic_uint references; /* the exporter's and the thread's */
	pthread_t thread;
	bool started; /* there is a thread to join */

	pthread_mutex_t lock; /* protects all below */
	pthread_cond_t changed;
	bool running; /* the thread has not come to its end */
	struct pending pending;
	uint64_t writing_bytes, writing_events; /* taken out of pending, not yet booked */
	uint64_t window;                        /* that batches are appended to */
	bool flush_early;                       /* half of the budget is used */
	uint64_t joined_bytes; /* without interval: of pending, when it became one batch */
	bool stopping;
	bool abandoned; /* the deadline has passed: the host is out of bounds */

	/* Since the first failure after a success. */
	const char *failure_cause; /* NULL while files can be written */
	uint64_t lost_since_failure;
	bool trimmed; /* and said so */
	bool retention_failed;
	uint64_t file_count;
	char last_name[NAMING_MAX];
};

static void writer_unref(struct writer *writer)
{
	if (atomic_fetch_sub(&writer->references, 1) != 1)
		return;
	pending_deinit(&writer->pending);
	pthread_cond_destroy(&writer->changed);
	pthread_mutex_destroy(&writer->lock);
	free(writer->target.directory);
	free(writer->target.prefix);
	free(writer);
}

void writer_destroy(struct writer *writer)
{
	if (writer)
		writer_unref(writer);
}

static void writer_register_metrics(struct writer *writer)
{
	const struct profcol_host *host = writer->host;

	writer->files_written = host->metric(host, PROFCOL_COUNTER, "pprof_files_written", "",
					     "Files that got their final name");
	writer->bytes_written = host->metric(host, PROFCOL_COUNTER, "pprof_bytes_written", "",
					     "Bytes of these files");
	writer->files_removed = host->metric(host, PROFCOL_COUNTER, "pprof_files_removed", "",
					     "Files that retention deleted");
	writer->write_failures = host->metric(host, PROFCOL_COUNTER, "pprof_write_failures", "",
					      "Attempts to write a file that failed");
	writer->pending_bytes = host->metric(host, PROFCOL_GAUGE, "pprof_pending_bytes", "",
					     "Memory of batches that are not in a file yet");
}

struct writer *writer_create(const struct profcol_host *host,
			     const struct writer_settings *settings)
{
	struct writer *writer = calloc(1, sizeof(*writer));
	pthread_condattr_t monotonic;

	if (!writer)
		return NULL;
	writer->host = host;
	writer->interval_ns = settings->interval_ns;
	writer->max_pending_bytes = settings->max_pending_bytes;
	writer->target = (struct window_target){
		.directory = strdup(settings->directory),
		.prefix = strdup(settings->prefix),
		.retention = settings->retention,
		.compression_level = settings->compression_level,
		.folded = settings->folded,
		.is_shared = settings->is_shared,
	};
	writer->joined_bytes = JOIN_BYTES / 2;
	atomic_init(&writer->references, 1);
	pthread_mutex_init(&writer->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&writer->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (!writer->target.directory || !writer->target.prefix) {
		writer_unref(writer);
		return NULL;
	}
	writer_register_metrics(writer);
	return writer;
}

static void writer_book_lost(struct writer *writer, const char *cause, uint64_t events)
{
	if (!events)
		return;
	writer->host->account(writer->host, PROFCOL_LOST, cause, events);
	writer->lost_since_failure += events;
}

static void writer_show_pending(struct writer *writer)
{
	profcol_metric_set(writer->pending_bytes,
			   (int64_t)(writer->pending.bytes + writer->writing_bytes));
}

/* Drop the oldest batches while too much is held; the newest always stays. */
static void writer_trim(struct writer *writer)
{
	const char *cause = writer->failure_cause ? writer->failure_cause : "pending_full";

	while (writer->pending.batches.count > 1 &&
	       writer->pending.bytes + writer->writing_bytes > writer->max_pending_bytes) {
		writer_book_lost(writer, cause, pending_drop_oldest(&writer->pending));
		if (!writer->trimmed)
			profcol_log_warn(writer->host->logger,
					 "more than %llu bytes wait to be written (%s); dropping "
					 "the oldest samples until files can be written",
					 (unsigned long long)writer->max_pending_bytes, cause);
		writer->trimmed = true;
	}
}

static bool writer_is_whole_run(const struct writer *writer)
{
	return !writer->interval_ns;
}

/* Of a whole run the beginning stays, which may be hours. True when @batch is dropped. */
static bool writer_drop_newest(struct writer *writer, const struct profcol_batch *batch)
{
	uint64_t held = writer->pending.bytes + writer->writing_bytes;

	if (!writer_is_whole_run(writer) || !held ||
	    held + profile_memory(batch) <= writer->max_pending_bytes)
		return false;
	writer_book_lost(writer, "pending_full", profcol_batch_events(batch));
	if (!writer->trimmed)
		profcol_log_warn(writer->host->logger,
				 "%llu bytes of samples are held for the file; dropping the newest "
				 "from now on",
				 (unsigned long long)held);
	writer->trimmed = true;
	return true;
}

/* Ask the thread for what @writer needs by now. */
static void writer_wake(struct writer *writer)
{
	bool wanted;

	if (writer_is_whole_run(writer))
		wanted = writer->pending.bytes > 2 * writer->joined_bytes;
	else // A disk that just refused gets its rest until the next interval.
		wanted = !writer->failure_cause &&
			 writer->pending.bytes > writer->max_pending_bytes / 2;
	if (!wanted)
		return;
	writer->flush_early = true;
	pthread_cond_signal(&writer->changed);
}

struct profcol_error *writer_append(struct writer *writer, struct profcol_batch *batch)
{
	struct profcol_error *error = NULL;

	pthread_mutex_lock(&writer->lock);
	if (writer->stopping)
		error = profcol_error_create(PROFCOL_SHUTDOWN, "no batch is taken any more");
	else if (!profcol_batch_events(batch) || writer_drop_newest(writer, batch))
		profcol_batch_unref(batch);
	else if (!pending_push(&writer->pending, batch, writer->window))
		error = profcol_error_errno(ENOMEM, "keep a batch for the next file");
	if (error) {
		profcol_batch_unref(batch);
	} else {
		writer_trim(writer);
		writer_show_pending(writer);
	}
	writer_wake(writer);
	pthread_mutex_unlock(&writer->lock);
	return error;
}

/* ---- the thread; its functions hold the lock unless they say otherwise ---- */

static void writer_note_removed(struct writer *writer, int removed)
{
	if (removed >= 0) {
		profcol_metric_add(writer->files_removed, removed);
		writer->retention_failed = false;
	} else if (!writer->retention_failed) {
		writer->retention_failed = true;
		profcol_log_warn(writer->host->logger,
				 "cannot list directory '%s': %s; old files stay until it works",
				 writer->target.directory, strerrordesc_np(-removed));
	}
}

static void writer_note_written(struct writer *writer, uint64_t file_bytes, uint64_t events)
{
	const struct profcol_logger *logger = writer->host->logger;
	enum profcol_level level = writer->file_count++ ? PROFCOL_DEBUG : PROFCOL_INFO;

	writer->host->account(writer->host, PROFCOL_EXPORTED, NULL, events);
	profcol_metric_add(writer->files_written, 1);
	profcol_metric_add(writer->bytes_written, (int64_t)file_bytes);
	writer->trimmed = false;
	profcol_log(logger, level, "wrote '%s/%s': %llu samples, %llu bytes",
		    writer->target.directory, writer->last_name, (unsigned long long)events,
		    (unsigned long long)file_bytes);
	if (!writer->failure_cause)
		return;
	profcol_log_info(logger, "files can be written to '%s' again; %llu samples were lost",
			 writer->target.directory, (unsigned long long)writer->lost_since_failure);
	writer->failure_cause = NULL;
	writer->lost_since_failure = 0;
	writer->host->report_status(writer->host, PROFCOL_STATUS_OK, NULL);
}

/* Keep @batches for the next attempt, or drop and book them. */
static void writer_note_failed(struct writer *writer, struct pending *batches,
			       const struct profcol_error *error, const char *cause)
{
	bool retry = profcol_error_is_retryable(error) && !writer->stopping;
	bool first = !writer->failure_cause;
	uint64_t events = pending_events(batches);

	if (first)
		writer->lost_since_failure = 0;
	writer->failure_cause = cause;
	profcol_metric_add(writer->write_failures, 1);
	if (retry && pending_put_back(&writer->pending, batches))
		writer_trim(writer);
	else
		writer_book_lost(writer, cause, events);
	if (!first)
		return;
	if (retry)
		profcol_log_warn(writer->host->logger,
				 "%s; keeping up to %llu bytes of samples for another try every "
				 "%.3g s",
				 profcol_error_message(error),
				 (unsigned long long)writer->max_pending_bytes,
				 (double)writer->interval_ns / 1e9);
	else
		profcol_log_error(writer->host->logger, "%s; %llu samples are lost",
				  profcol_error_message(error), (unsigned long long)events);
	writer->host->report_status(writer->host, PROFCOL_STATUS_RECOVERABLE_ERROR,
				    profcol_error_message(error));
}

/*
 * Write and publish one window, without the lock. Once abandoned nothing is
 * published; a deadline that passes during the rename itself leaves a file whose
 * samples are booked as lost.
 */
static struct profcol_error *
writer_write_unlocked(struct writer *writer, const struct pending *batches,
		      struct window_file *file, char name_ret[NAMING_MAX], const char **cause_ret)
{
	struct profcol_error *error = window_write(&writer->target, batches, file, cause_ret);
	bool abandoned;

	if (error)
		return error;
	pthread_mutex_lock(&writer->lock);
	abandoned = writer->abandoned;
	pthread_mutex_unlock(&writer->lock);
	return abandoned ? NULL : window_publish(&writer->target, file, name_ret, cause_ret);
}

/* False when the window could not be written. */
static bool writer_write_window(struct writer *writer, struct pending *batches)
{
	CLEANUP(window_file_deinit)
	struct window_file file = { .directory_fd = -1, .output.fd = -1 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	char name[NAMING_MAX];
	const char *cause = NULL;

	writer->writing_bytes = batches->bytes;
	writer->writing_events = pending_events(batches);
	pthread_mutex_unlock(&writer->lock);
	error = writer_write_unlocked(writer, batches, &file, name, &cause);
	pthread_mutex_lock(&writer->lock);
	if (writer->abandoned)
		return false;
	if (error) {
		writer->writing_bytes = 0;
		writer_note_failed(writer, batches, error, cause);
	} else {
		snprintf(writer->last_name, sizeof(writer->last_name), "%s", name);
		writer_note_written(writer, file.bytes, writer->writing_events);
		writer_note_removed(writer, file.removed);
	}
	writer->writing_bytes = 0;
	writer->writing_events = 0;
	writer_show_pending(writer);
	return !error;
}

/* Write all windows that are closed. The last attempt before the end tries each of them. */
static void writer_flush(struct writer *writer)
{
	bool written = true;

	while (!writer->abandoned && (written || writer->stopping)) {
		CLEANUP(pending_deinit) struct pending batches = { 0 };

		if (!pending_take_window(&writer->pending, writer->window, &batches))
			break;
		written = writer_write_window(writer, &batches);
	}
}

/* One batch of all there are: what they have in common is then held once. */
static void writer_join(struct writer *writer)
{
	CLEANUP(pending_deinit) struct pending batches = { 0 }, joined = { 0 };
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	if (!pending_take_window(&writer->pending, writer->window + 1, &batches))
		return;
	writer->writing_bytes = batches.bytes;
	writer->writing_events = pending_events(&batches);
	pthread_mutex_unlock(&writer->lock);
	error = window_merge(&batches, &batch);
	pthread_mutex_lock(&writer->lock);
	if (writer->abandoned)
		return;
	writer->writing_bytes = 0;
	writer->writing_events = 0;
	// Without memory for it they stay as they are.
	if (!error && pending_push(&joined, batch, writer->window)) {
		batch = NULL;
		pending_drop_all(&batches);
	}
	if (!pending_put_back(&writer->pending, joined.bytes ? &joined : &batches))
		writer_book_lost(writer, "no_memory",
				 pending_events(joined.bytes ? &joined : &batches));
	writer->joined_bytes = writer->pending.bytes;
	if (writer->joined_bytes < JOIN_BYTES / 2)
		writer->joined_bytes = JOIN_BYTES / 2;
	writer_show_pending(writer);
}

/* Without new files nothing else would notice that old ones have come of age. */
static void writer_expire(struct writer *writer)
{
	int removed;

	pthread_mutex_unlock(&writer->lock);
	removed = window_expire(&writer->target);
	pthread_mutex_lock(&writer->lock);
	if (!writer->abandoned && !writer->failure_cause)
		writer_note_removed(writer, removed);
}

static void writer_wait(struct writer *writer, uint64_t due_ns)
{
	struct timespec due = clock_timespec(due_ns);

	while (!writer->stopping && !writer->flush_early && clock_monotonic_ns() < due_ns)
		pthread_cond_timedwait(&writer->changed, &writer->lock, &due);
	writer->flush_early = false;
}

static void *writer_run(void *argument)
{
	struct writer *writer = argument;
	uint64_t due_ns = writer_is_whole_run(writer) ? UINT64_MAX
						      : clock_monotonic_ns() + writer->interval_ns;
	bool stopping = false;

	pthread_setname_np(pthread_self(), "pprof-writer");
	pthread_mutex_lock(&writer->lock);
	while (!stopping) {
		uint64_t now_ns;

		writer_wait(writer, due_ns);
		stopping = writer->stopping;
		if (writer_is_whole_run(writer) && !stopping) {
			writer_join(writer);
			continue;
		}
		writer->window++;
		writer_flush(writer);
		if (stopping || writer->abandoned)
			break;
		writer_expire(writer);
		now_ns = clock_monotonic_ns();
		if (now_ns >= due_ns)
			due_ns += writer->interval_ns;
		if (now_ns >= due_ns)
			due_ns = now_ns + writer->interval_ns;
	}
	writer->running = false;
	pthread_cond_signal(&writer->changed);
	pthread_mutex_unlock(&writer->lock);
	writer_unref(writer);
	return NULL;
}

/* ---- start and stop ---- */

struct profcol_error *writer_start(struct writer *writer)
{
	int error;

	atomic_fetch_add(&writer->references, 1);
	writer->running = true;
	error = thread_start(&writer->thread, writer_run, writer);
	if (error) {
		atomic_fetch_sub(&writer->references, 1);
		writer->running = false;
		return profcol_error_errno(error, "start the thread that writes files");
	}
	writer->started = true;
	return NULL;
}

/* The lock is held; the thread has ended or will not touch the host any more. */
static void writer_close_books(struct writer *writer, const char *cause)
{
	uint64_t lost = writer->writing_events + pending_drop_all(&writer->pending);

	writer_book_lost(writer, cause, lost);
	writer->writing_events = 0;
	profcol_metric_set(writer->pending_bytes, 0);
	if (writer->failure_cause || lost)
		profcol_log_warn(writer->host->logger, "%llu samples could not be written: %s",
				 (unsigned long long)writer->lost_since_failure,
				 lost ? cause : writer->failure_cause);
	if (writer->file_count)
		profcol_log_info(writer->host->logger, "files written: %llu, the last is '%s/%s'",
				 (unsigned long long)writer->file_count, writer->target.directory,
				 writer->last_name);
}

void writer_stop(struct writer *writer, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);
	bool late;

	pthread_mutex_lock(&writer->lock);
	writer->stopping = true;
	pthread_cond_signal(&writer->changed);
	while (writer->running && clock_monotonic_ns() < deadline_ns)
		pthread_cond_timedwait(&writer->changed, &writer->lock, &deadline);
	late = writer->abandoned = writer->running;
	if (writer->started)
		writer_close_books(writer, late ? "shutdown_deadline" : "no_memory");
	pthread_mutex_unlock(&writer->lock);
	if (writer->started && late)
		pthread_detach(writer->thread);
	else if (writer->started)
		pthread_join(writer->thread, NULL);
	writer->started = false;
}
