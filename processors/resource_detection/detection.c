// SPDX-License-Identifier: Apache-2.0
#include "detection.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

/* Where the configuration sets no end to the tries in the background, nor to one attempt. */
#define BACKGROUND_NS (5 * PROFCOL_MINUTE)
#define ATTEMPT_NS    (30 * PROFCOL_SECOND)
#define WAIT_LEAST_NS UINT64_C(10000000)

enum {
	NAME_BYTES = 32,

	/* No signal and no reload gets through while the start waits: so long for what may come
	 * later, and for what is demanded. */
	START_SECONDS = 5,
	START_REQUIRED_SECONDS = 30,
};

enum run_state {
	RUN_BEGUN,  /* has not said anything yet */
	RUN_TRYING, /* has failed, and goes on */
	RUN_DONE,   /* knows */
	RUN_FAILED, /* has given up; @error says why */
};

/* One detector. */
struct run {
	struct detection *detection; /* borrowed, as the next */
	const struct detector *detector;
	char name[NAME_BYTES];
	bool required; /* the start fails when it does */
	bool warned;   /* that it fails; the thread's */
	pthread_t thread;
	bool has_thread;

	/* Under the detection's lock. */
	enum run_state state;
	struct found found;
	struct profcol_error *error; /* owned; of the last attempt */
};

struct detection {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct resource_detection_config *config;
	struct run *runs; /* owned */
	size_t run_count;
	int cancel_fd; /* owned */
	struct profcol_metric *attributes, *failures;

	pthread_mutex_t lock; /* protects the rest, and the states of runs */
	int changed_fd;       /* owned; written to with each change of these; the start reads */
	bool started;         /* what is found from now on is news */
	struct detected *detected; /* owned reference */
};

void detected_unref(struct detected *detected)
{
	if (!detected || atomic_fetch_sub(&detected->references, 1) != 1)
		return;
	found_deinit(&detected->found);
	free(detected);
}

struct detected *detection_get(struct detection *detection)
{
	struct detected *detected;

	pthread_mutex_lock(&detection->lock);
	detected = detection->detected;
	if (detected)
		atomic_fetch_add(&detected->references, 1);
	pthread_mutex_unlock(&detection->lock);
	return detected;
}

/* ---- what is known ---- */

/* Join what all runs have found; what there was stays without memory. */
static void detection_join(struct detection *detection)
{
	struct detected *detected = calloc(1, sizeof(*detected));

	if (!detected)
		return;
	atomic_store(&detected->references, 1);
	found_init(&detected->found, NULL);
	for (size_t i = 0; i < detection->run_count; i++)
		found_merge(&detected->found, &detection->runs[i].found);
	if (detected->found.no_memory) {
		detected_unref(detected);
		return;
	}
	profcol_metric_set(detection->attributes, (int64_t)detected->found.attributes.count);
	detected_unref(detection->detected);
	detection->detected = detected;
}

static void run_log(const struct run *run, const struct found *found)
{
	CLEANUP_FREE char *text = found_print(found);

	if (found->attributes.count)
		profcol_log_info(run->detection->host->logger, "detector '%s' has found %s",
				 run->name, text ? text : "attributes");
}

/* Takes @found. Nothing does not replace what was found before: a machine does not move away. */
static void run_succeed(struct run *run, struct found *found)
{
	struct detection *detection = run->detection;
	struct found old;

	pthread_mutex_lock(&detection->lock);
	if (detection->started && !run->found.attributes.count)
		run_log(run, found);
	old = *found;
	if (found->attributes.count || !run->found.attributes.count) {
		old = run->found;
		run->found = *found;
	}
	profcol_error_destroy(run->error);
	run->error = NULL;
	run->state = RUN_DONE;
	detection_join(detection);
	eventfd_write(detection->changed_fd, 1);
	pthread_mutex_unlock(&detection->lock);
	found_deinit(&old);
}

/* Takes @error. What was found before stays. */
static void run_fail(struct run *run, enum run_state state, struct profcol_error *error)
{
	struct detection *detection = run->detection;

	profcol_metric_add(detection->failures, 1);
	pthread_mutex_lock(&detection->lock);
	profcol_error_destroy(run->error);
	run->error = error;
	run->state = state;
	eventfd_write(detection->changed_fd, 1);
	pthread_mutex_unlock(&detection->lock);
}

/* ---- one attempt ---- */

static const struct attribute_switches *run_switches(const struct run *run)
{
	const char *config = (const char *)run->detection->config;
	size_t offset = run->detector->switches;

	return offset ? (const struct attribute_switches *)(const void *)(config + offset) : NULL;
}

static struct profcol_error *run_detect(const struct run *run, struct found *found)
{
	const struct detection *detection = run->detection;
	uint64_t timeout = detection->config->timeout_ns;
	const struct detecting detecting = {
		.config = detection->config,
		.name = run->name,
		.logger = detection->host->logger,
		.deadline_ns = clock_monotonic_ns() + (timeout ? timeout : ATTEMPT_NS),
		.cancel_fd = detection->cancel_fd,
	};
	struct profcol_error *error;

	found_init(found, run_switches(run));
	error = found->no_memory ? NULL : run->detector->detect(&detecting, found);
	if (!error && found->no_memory)
		error = profcol_error_create(PROFCOL_NO_MEMORY,
					     "no memory for what was found, or too much of it");
	if (error)
		found_deinit(found);
	return error;
}

static bool is_final(const struct profcol_error *error)
{
	return profcol_error_code(error) == PROFCOL_CONFIG ||
	       profcol_error_code(error) == PROFCOL_SYSTEM;
}

/* One line when trouble begins, one when it is given up. */
static void run_complain(struct run *run, const struct profcol_error *error, bool last)
{
	const struct profcol_logger *logger = run->detection->host->logger;

	if (profcol_error_code(error) == PROFCOL_SHUTDOWN)
		return;
	if (!run->warned || last)
		profcol_log_info(logger, "detector '%s' has no answer: %s; %s", run->name,
				 profcol_error_message(error),
				 last ? "its attributes are missing"
				      : "its attributes are missing until it has, trying on");
	run->warned = true;
}

/* ---- a detector's thread ---- */

/* True when it is time to end. */
static bool run_wait(const struct run *run, uint64_t ns)
{
	struct pollfd cancelled = { .fd = run->detection->cancel_fd, .events = POLLIN };
	struct timespec left = clock_timespec(ns);

	return ppoll(&cancelled, 1, &left, NULL) != 0;
}

/* How long a series of attempts may go on. */
static uint64_t run_budget(const struct run *run)
{
	const struct resource_detection_config *config = run->detection->config;

	if (config->retry.max_elapsed_time_ns)
		return config->retry.max_elapsed_time_ns;
	return run->required ? config->timeout_ns : BACKGROUND_NS;
}

static uint64_t spread(uint64_t ns, double factor)
{
	uint64_t random = 0;

	// Without randomness there is none.
	if (getentropy(&random, sizeof(random)))
		random = UINT64_MAX / 2;
	return (uint64_t)((double)ns *
			  (1 - factor + 2 * factor * ((double)random / (double)UINT64_MAX)));
}

/* Attempts until one succeeds, or there is no time or sense left. True when it is time to end. */
static bool run_series(struct run *run)
{
	const struct retry_config *retry = &run->detection->config->retry;
	uint64_t end_ns = clock_monotonic_ns() + run_budget(run);
	double wait = (double)retry->initial_interval_ns;

	for (;;) {
		uint64_t pause = spread((uint64_t)wait, retry->randomization_factor);
		struct profcol_error *error;
		struct found found;
		bool last;

		if (pause < WAIT_LEAST_NS)
			pause = WAIT_LEAST_NS;
		error = run_detect(run, &found);
		if (!error) {
			run_succeed(run, &found);
			return false;
		}
		last = !retry->enabled || is_final(error) || clock_monotonic_ns() + pause >= end_ns;
		run_complain(run, error, last);
		run_fail(run, last ? RUN_FAILED : RUN_TRYING, error);
		if (last)
			return false;
		if (run_wait(run, pause))
			return true;
		wait *= retry->multiplier;
		if (wait > (double)retry->max_interval_ns)
			wait = (double)retry->max_interval_ns;
	}
}

static void *run_thread(void *argument)
{
	struct run *run = argument;
	uint64_t interval = run->detection->config->refresh_interval_ns;

	while (!run_series(run) && interval && !run_wait(run, interval))
		run->warned = false;
	return NULL;
}

/* ---- life ---- */

void detection_destroy(struct detection *detection)
{
	if (!detection)
		return;
	for (size_t i = 0; i < detection->run_count; i++) {
		found_deinit(&detection->runs[i].found);
		profcol_error_destroy(detection->runs[i].error);
	}
	detected_unref(detection->detected);
	cleanup_fd(&detection->cancel_fd);
	cleanup_fd(&detection->changed_fd);
	pthread_mutex_destroy(&detection->lock);
	free(detection->runs);
	free(detection);
}

static void detection_add(struct detection *detection, const char *text)
{
	const struct resource_detection_config *config = detection->config;
	const struct profcol_logger *logger = detection->host->logger;
	struct run *run = &detection->runs[detection->run_count];

	*run = (struct run){ .detection = detection };
	if (!resource_detection_trim(text, run->name, sizeof(run->name)))
		return;
	run->detector = detectors_find(run->name);
	if (!run->detector) {
		profcol_log_warn(logger,
				 "detector '%s' is not supported here, going on without its "
				 "attributes",
				 run->name);
		return;
	}
	if (!strcmp(run->name, "k8snode"))
		profcol_log_warn(logger,
				 "the k8snode detector name is deprecated, use k8s_api instead");
	run->required = config->fail_on_missing_metadata ||
			(!strcmp(run->name, "ec2") && config->ec2.fail_on_missing_metadata);
	found_init(&run->found, NULL);
	detection->run_count++;
}

struct profcol_error *detection_create(const struct profcol_host *host,
				       const struct resource_detection_config *config,
				       struct detection **ret)
{
	struct detection *detection = calloc(1, sizeof(*detection));

	if (!detection)
		return profcol_error_errno(ENOMEM, "create the processor");
	detection->host = host;
	detection->config = config;
	pthread_mutex_init(&detection->lock, NULL);
	detection->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	detection->changed_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	detection->runs = calloc(config->detectors.count + 1, sizeof(*detection->runs));
	if (detection->cancel_fd < 0 || detection->changed_fd < 0 || !detection->runs) {
		detection_destroy(detection);
		return profcol_error_errno(ENOMEM, "create the processor");
	}
	detection->attributes = host->metric(host, PROFCOL_GAUGE, "resource_detection_attributes",
					     "", "attributes that detectors have found");
	detection->failures = host->metric(host, PROFCOL_COUNTER, "resource_detection_failures", "",
					   "attempts of detectors that failed");
	for (size_t i = 0; i < config->detectors.count; i++)
		detection_add(detection, config->detectors.items[i]);
	*ret = detection;
	return NULL;
}

uint64_t detection_patience(const struct resource_detection_config *config, bool required)
{
	uint64_t most = (required ? START_REQUIRED_SECONDS : START_SECONDS) * PROFCOL_SECOND;
	uint64_t patience = config->timeout_ns ? config->timeout_ns : ATTEMPT_NS;

	if (required && config->retry.max_elapsed_time_ns > patience)
		patience = config->retry.max_elapsed_time_ns;
	return patience < most ? patience : most;
}

static bool is_decided(const struct run *run)
{
	return run->state == RUN_DONE || run->state == RUN_FAILED ||
	       (run->state == RUN_TRYING && !run->required);
}

/* Until @run is decided, or the start, which was at @begin_ns, waits no longer. Under the lock.
 * False when the process is asked to end. */
static bool run_await(struct run *run, uint64_t begin_ns)
{
	struct detection *detection = run->detection;
	uint64_t deadline_ns = begin_ns + detection_patience(detection->config, run->required);
	enum wake wake = WAKE_EVENT;

	while (!is_decided(run) && wake == WAKE_EVENT) {
		pthread_mutex_unlock(&detection->lock);
		wake = wake_wait(detection->changed_fd, detection->host->end_fd, deadline_ns);
		pthread_mutex_lock(&detection->lock);
	}
	return wake != WAKE_END;
}

/* Why the start has to fail because of @run; NULL if it has not. Under the lock. */
static struct profcol_error *run_verdict(struct run *run)
{
	uint64_t patience = detection_patience(run->detection->config, true);
	struct profcol_error *error;

	if (run->state == RUN_DONE)
		return NULL;
	if (!run->required && (!run->error || !is_final(run->error)))
		return NULL;
	error = TAKE(run->error);
	if (!error)
		error = profcol_error_create(PROFCOL_UNAVAILABLE, "no answer");
	if (run->state != RUN_FAILED)
		error = profcol_error_prefix(error,
					     "no metadata in %g s, and the start waits no longer",
					     (double)patience / PROFCOL_SECOND);
	return profcol_error_prefix(error, "detector '%s'", run->name);
}

static struct profcol_error *detection_judge(struct detection *detection)
{
	struct profcol_error *error = NULL;
	CLEANUP_FREE char *text = NULL;

	for (size_t i = 0; i < detection->run_count; i++)
		error = profcol_error_join(error, run_verdict(&detection->runs[i]));
	if (error)
		return profcol_error_prefix(error, "resource detection failed");
	if (detection->detected)
		text = found_print(&detection->detected->found);
	profcol_log_info(detection->host->logger, "detected resource information: %s",
			 text && text[0] ? text : "none yet");
	return NULL;
}

static struct profcol_error *run_begin(struct run *run)
{
	int status = thread_start(&run->thread, run_thread, run);

	if (status)
		return profcol_error_errno(status, "start detector '%s'", run->name);
	run->has_thread = true;
	return NULL;
}

struct profcol_error *detection_start(struct detection *detection)
{
	uint64_t begin_ns = clock_monotonic_ns();
	struct profcol_error *error = NULL;
	bool ended = false;

	profcol_log_debug(detection->host->logger, "began detecting resource information");
	for (size_t i = 0; i < detection->run_count && !error; i++)
		error = run_begin(&detection->runs[i]);
	if (error)
		return error;
	pthread_mutex_lock(&detection->lock);
	for (size_t i = 0; i < detection->run_count && !ended; i++)
		ended = !run_await(&detection->runs[i], begin_ns);
	detection->started = true;
	// At the end of the process nobody asks any more what was found.
	if (!ended)
		error = detection_judge(detection);
	pthread_mutex_unlock(&detection->lock);
	return error;
}

void detection_stop(struct detection *detection)
{
	eventfd_write(detection->cancel_fd, 1);
	for (size_t i = 0; i < detection->run_count; i++) {
		if (detection->runs[i].has_thread)
			pthread_join(detection->runs[i].thread, NULL);
		detection->runs[i].has_thread = false;
	}
}
