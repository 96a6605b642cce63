// SPDX-License-Identifier: Apache-2.0
#include "lifecycle.h"

#include "base/base.h"

#include <time.h>

struct profcol_error *lifecycle_start(struct graph *graph)
{
	for (size_t i = 0; i < graph->instances.count; i++) {
		struct instance *instance = graph->instances.items[i];
		struct profcol_error *error = instance_start(instance);

		if (error)
			return profcol_error_prefix(error, "%s '%s'", instance_kind(instance),
						    instance->host.id);
	}
	return NULL;
}

/* ---- the watch over a shutdown ---- */

struct watch {
	const struct lifecycle_patience *patience;
	uint64_t end_ns; /* CLOCK_MONOTONIC */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	const struct instance *current; /* being shut down; NULL once all are */
	bool over;
};

static void *watch_thread(void *argument)
{
	struct watch *watch = argument;
	struct timespec end = clock_timespec(watch->end_ns);
	int status = 0;

	pthread_mutex_lock(&watch->lock);
	while (!watch->over && status == 0)
		status = pthread_cond_clockwait(&watch->changed, &watch->lock, CLOCK_MONOTONIC,
						&end);
	if (!watch->over && watch->current)
		watch->patience->give_up(watch->current, watch->patience->context);
	pthread_mutex_unlock(&watch->lock);
	return NULL;
}

static void watch_init(struct watch *watch, const struct lifecycle_patience *patience,
		       uint64_t deadline_ns)
{
	*watch = (struct watch){
		.patience = patience,
		.end_ns = deadline_ns + patience->grace_ns,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
	// Without a thread a component that hangs holds the process until the second signal.
	watch->running = pthread_create(&watch->thread, NULL, watch_thread, watch) == 0;
}

static void watch_set_current(struct watch *watch, const struct instance *instance)
{
	pthread_mutex_lock(&watch->lock);
	watch->current = instance;
	pthread_mutex_unlock(&watch->lock);
}

static void watch_deinit(struct watch *watch)
{
	pthread_mutex_lock(&watch->lock);
	watch->over = true;
	pthread_cond_signal(&watch->changed);
	pthread_mutex_unlock(&watch->lock);
	if (watch->running)
		pthread_join(watch->thread, NULL);
	pthread_cond_destroy(&watch->changed);
	pthread_mutex_destroy(&watch->lock);
}

static bool is_exporter(const struct instance *instance)
{
	return instance->configuration->type->kind == PROFCOL_EXPORTER;
}

/* Nothing comes to the exporters any more: they empty their queues side by side. */
static void drain_exporters(struct graph *graph, uint64_t deadline_ns)
{
	for (size_t i = 0; i < graph->instances.count; i++)
		if (is_exporter(graph->instances.items[i]))
			instance_drain(graph->instances.items[i], deadline_ns);
}

struct profcol_error *lifecycle_shutdown(struct graph *graph,
					 const struct lifecycle_patience *patience)
{
	uint64_t deadline_ns = clock_monotonic_ns() + patience->drain_ns;
	struct profcol_error *errors = NULL;
	bool drained = false;
	struct watch watch;

	watch_init(&watch, patience, deadline_ns);
	// A receiver that waits for room in a queue could not be shut down.
	for (size_t i = 0; i < graph->instances.count; i++)
		instance_expect_shutdown(graph->instances.items[i], deadline_ns);
	for (size_t i = graph->instances.count; i > 0; i--) {
		struct instance *instance = graph->instances.items[i - 1];
		struct profcol_error *error;

		if (is_exporter(instance) && !drained)
			drain_exporters(graph, deadline_ns);
		drained |= is_exporter(instance);
		watch_set_current(&watch, instance);
		error = profcol_error_prefix(instance_shutdown(instance, deadline_ns), "%s '%s'",
					     instance_kind(instance), instance->host.id);
		errors = profcol_error_join(errors, error);
	}
	watch_set_current(&watch, NULL);
	watch_deinit(&watch);
	return errors;
}
