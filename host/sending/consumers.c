// SPDX-License-Identifier: Apache-2.0
#include "consumers.h"

#include "base/base.h"

#include <string.h>

bool consumers_init(struct consumers *consumers, struct delivery_route *route, unsigned int max)
{
	*consumers = (struct consumers){
		.route = route,
		.max = max,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.threads = calloc(max, sizeof(pthread_t)),
	};
	return consumers->threads;
}

void consumers_deinit(struct consumers *consumers)
{
	free(consumers->threads);
	pthread_cond_destroy(&consumers->changed);
	pthread_mutex_destroy(&consumers->lock);
}

/* ---- one group of requests ---- */

/* What joined requests may have at the most. */
static struct parcel_limits joined_limits(struct delivery_route *route)
{
	struct parcel_limits limits = delivery_limits(route);
	uint64_t max_size = (uint64_t)route->config->queue.batch.max_size;

	if (route->queue.gathering.sizer != SENDING_BYTES)
		limits.max_samples = max_size;
	else if (max_size && max_size < limits.max_bytes)
		limits.max_bytes = (size_t)max_size;
	return limits;
}

/* Move the contents of @items to `pending`. False when the shutdown came before memory did. */
static bool unpack(struct delivery *delivery, struct queue_item *items)
{
	struct queue *queue = &delivery->route->queue;
	size_t count = 0;

	for (struct queue_item *item = items; item; item = item->next)
		count++;
	while (!VECTOR_RESERVE(&delivery->pending, count)) {
		if (queue_phase(queue) >= QUEUE_CUT)
			return false;
		queue_sleep(queue, clock_monotonic_ns() + QUEUE_SHORTAGE_NS, QUEUE_CUT);
	}
	for (struct queue_item *item = items; item; item = item->next)
		delivery->pending.items[delivery->pending.count++] = queue_item_unpack(item);
	return true;
}

/* Make one of several requests, or cut a single one, as the options for batches say. */
static void regroup(struct delivery *delivery)
{
	struct parcel_limits limits = joined_limits(delivery->route);
	const struct parcel *first = delivery->pending.items;
	struct parcels joined = { 0 };
	struct profcol_error *error;

	if (delivery->pending.count == 1 && first->length <= limits.max_bytes &&
	    (!limits.max_samples || first->samples <= limits.max_samples))
		return;
	error = parcel_join(first, delivery->pending.count, &limits, &joined);
	if (!error) {
		parcels_deinit(&delivery->pending);
		delivery->pending = joined;
		return;
	}
	// They can go as they are.
	parcels_deinit(&joined);
	profcol_log_debug(delivery->route->target.host->logger, "cannot join requests: %s",
			  profcol_error_message(error));
	profcol_error_destroy(error);
}

/*
 * The shutdown came before all of @items, which have @samples, was settled: @left of these
 * are not. Takes @items.
 */
static void leave(struct delivery *delivery, struct queue_item *items, uint64_t samples,
		  uint64_t left)
{
	struct delivery_route *route = delivery->route;
	uint64_t added = 0;

	if (!route->queue.stored) {
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

		error = ledger_lose_at_end(&route->ledger, left);
		queue_finish(&route->queue, items, error);
		return;
	}
	// The peer does not answer: do not even take what is on disk.
	queue_advance(&route->queue, QUEUE_SEALED);
	if (delivery->settled && queue_replace(&route->queue, items, &delivery->pending, &added))
		return;
	// Better there twice than never.
	if (delivery->settled)
		atomic_fetch_add(&route->stored_twice, samples - left + added);
	queue_put_back(&route->queue, items);
}

static void deliver(struct delivery_route *route, struct queue_item *items)
{
	struct delivery delivery CLEANUP(delivery_deinit);
	uint64_t samples = 0;

	for (const struct queue_item *item = items; item; item = item->next)
		samples += item->parcel.samples;
	delivery_init(&delivery, route, QUEUE_DRAINING);
	if (!unpack(&delivery, items)) {
		leave(&delivery, items, samples, samples);
		return;
	}
	if (route->queue.gathering.enabled)
		regroup(&delivery);
	if (delivery_run(&delivery))
		queue_finish(&route->queue, items, delivery.error);
	else
		leave(&delivery, items, samples, parcels_samples(&delivery.pending));
}

/* ---- threads ---- */

static void *consumer_run(void *argument)
{
	struct consumers *consumers = argument;
	struct delivery_route *route = consumers->route;
	struct queue_item *items;

	while ((items = queue_take(&route->queue))) {
		consumers_call(consumers);
		deliver(route, items);
		delivery_show_queue(route);
	}
	pthread_mutex_lock(&consumers->lock);
	consumers->running--;
	pthread_cond_broadcast(&consumers->changed);
	pthread_mutex_unlock(&consumers->lock);
	return NULL;
}

/* Under the lock. Returns 0 or a positive errno. */
static int start_one(struct consumers *consumers)
{
	int result;

	result = pthread_create(&consumers->threads[consumers->started], NULL, consumer_run,
				consumers);
	if (result)
		return result;
	consumers->started++;
	consumers->running++;
	return 0;
}

void consumers_call(struct consumers *consumers)
{
	const struct profcol_logger *logger = consumers->route->target.host->logger;
	int result;

	if (!queue_wants_consumer(&consumers->route->queue))
		return;
	pthread_mutex_lock(&consumers->lock);
	if (consumers->started < consumers->max) {
		result = start_one(consumers);
		if (result && !consumers->complained)
			profcol_log_warn(logger,
					 "cannot start a thread for sending: %s; going on with %u",
					 strerror(result), consumers->running);
		consumers->complained = result != 0;
	}
	pthread_mutex_unlock(&consumers->lock);
}

void consumers_await(struct consumers *consumers, uint64_t until_ns)
{
	struct timespec until = clock_timespec(until_ns);

	pthread_mutex_lock(&consumers->lock);
	while (consumers->running && pthread_cond_clockwait(&consumers->changed, &consumers->lock,
							    CLOCK_MONOTONIC, &until) == 0)
		;
	pthread_mutex_unlock(&consumers->lock);
}

void consumers_join(struct consumers *consumers)
{
	// One that still runs may start another.
	for (unsigned int i = 0;; i++) {
		pthread_t thread = 0;
		bool more;

		pthread_mutex_lock(&consumers->lock);
		more = i < consumers->started;
		if (more)
			thread = consumers->threads[i];
		pthread_mutex_unlock(&consumers->lock);
		if (!more)
			return;
		pthread_join(thread, NULL);
	}
}
