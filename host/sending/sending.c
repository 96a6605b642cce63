// SPDX-License-Identifier: Apache-2.0
#include "sending.h"

#include "consumers.h"

#include "base/base.h"

#include <profcol/batch.h>

#include <inttypes.h>

/* What a component has for its shutdown, so that its calls in progress return in time. */
static const uint64_t component_shutdown_ns = 300 * PROFCOL_MILLISECOND;

/*
 * Without a queue, callers send: upstream cannot be shut down before they return, and the
 * component not before upstream. So at half time this shuts the component down beside it all.
 */
struct closer {
	pthread_mutex_t lock; /* guards what follows; not held while it closes */
	pthread_t thread;
	bool started, running;       /* running: has a thread to be joined */
	uint64_t close_ns;           /* when, at the latest */
	uint64_t deadline_ns;        /* of the component's shutdown */
	struct profcol_error *error; /* owned: what that came to; read after the thread's end */
};

struct sending {
	struct delivery_route route;
	struct consumers consumers;
	struct closer closer;
};

/* ---- life ---- */

struct profcol_error *sending_create(const struct sending_target *target,
				     const struct sending_config *config, struct sending **ret)
{
	const struct sending_queue_config *queue = &config->queue;
	struct sending *sending = calloc(1, sizeof(*sending));
	struct delivery_route *route;

	if (!sending)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	route = &sending->route;
	route->target = *target;
	route->config = config;
	queue_init(&route->queue, config, queue->enabled ? target->storage : NULL);
	ledger_init(&route->ledger, target->host, config);
	notices_init(&route->notices, target->host);
	atomic_store(&route->attempts_end_ns, UINT64_MAX);
	peer_limit_init(&route->limit, config->max_request_bytes);
	pthread_mutex_init(&route->showing, NULL);
	pthread_mutex_init(&sending->closer.lock, NULL);
	if (!consumers_init(&sending->consumers, route, (unsigned int)queue->num_consumers)) {
		sending_destroy(sending);
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	}
	*ret = sending;
	return NULL;
}

void sending_destroy(struct sending *sending)
{
	if (!sending)
		return;
	consumers_deinit(&sending->consumers);
	pthread_mutex_destroy(&sending->closer.lock);
	pthread_mutex_destroy(&sending->route.showing);
	peer_limit_deinit(&sending->route.limit);
	notices_deinit(&sending->route.notices);
	queue_deinit(&sending->route.queue);
	free(sending);
}

static void log_ignored(const struct delivery_route *route)
{
	const struct sending_queue_config *queue = &route->config->queue;

	if (queue->enabled && queue->batch_named && queue->batch.enabled &&
	    queue->batch.partition.metadata_keys.count)
		profcol_log_warn(route->target.host->logger,
				 "sending_queue::batch::partition has no effect: profiles come "
				 "without metadata of clients, all of them are one partition");
}

/* What an earlier process left begins here, as far as this one's account goes. */
static void book_found(struct delivery_route *route)
{
	const struct profcol_host *host = route->target.host;
	struct queue_load damage = queue_take_damage(&route->queue);
	struct queue_load found = queue_load(&route->queue);
	uint64_t samples = found.samples + damage.samples;

	host->account(host, PROFCOL_TAKEN, NULL, samples);
	ledger_accept(&route->ledger, samples);
	delivery_book_damage(route, &damage);
	ledger_show_queue(&route->ledger, &found);
	if (found.requests)
		profcol_log_info(host->logger,
				 "sending %" PRIu64 " requests of %" PRIu64
				 " samples that an earlier run left in the storage",
				 found.requests, found.samples);
}

struct profcol_error *sending_start(struct sending *sending)
{
	struct delivery_route *route = &sending->route;
	const struct sending_target *target = &route->target;
	struct queue_load capacity;
	struct profcol_error *error;

	error = target->type->start ? target->type->start(target->self) : NULL;
	if (error)
		return error;
	error = queue_open(&route->queue, target->storage_self, target->host->id);
	if (error)
		return profcol_error_prefix(error, "sending_queue::storage");
	log_ignored(route);
	capacity = queue_capacity(&route->queue);
	if (route->config->queue.enabled)
		ledger_show_capacity(&route->ledger, &capacity);
	if (!route->queue.stored)
		return NULL;
	book_found(route);
	consumers_call(&sending->consumers);
	return NULL;
}

/* ---- batches ---- */

/* Refuse @samples of a batch: book them, once. Takes @error and returns it marked. */
static struct profcol_error *refuse(struct delivery_route *route, struct profcol_error *error,
				    const char *cause, uint64_t samples)
{
	notices_refuse(&route->notices, error, samples);
	ledger_refuse(&route->ledger, cause, samples);
	error = profcol_error_prefix(error, "%s", route->target.host->id);
	return profcol_error_set_counted(error);
}

/* An error whose samples are booked already. Takes @error. */
static struct profcol_error *report_booked(const struct delivery_route *route,
					   struct profcol_error *error)
{
	error = profcol_error_prefix(error, "%s", route->target.host->id);
	return error ? profcol_error_set_counted(error) : NULL;
}

static const char *refusal_cause(const struct profcol_error *error)
{
	enum profcol_code code = profcol_error_code(error);

	if (code == PROFCOL_UNAVAILABLE)
		return "queue_full";
	return code == PROFCOL_REJECTED ? "too_large" : profcol_code_name(code);
}

static struct profcol_error *enqueue(struct sending *sending, struct parcels *parcels)
{
	struct delivery_route *route = &sending->route;
	struct queue_result *result = NULL;
	struct profcol_error *error, *outcome = NULL;
	bool settled;

	if (route->config->queue.wait_for_result) {
		result = calloc(1, sizeof(*result));
		if (!result)
			return refuse(
				route, profcol_error_create(PROFCOL_NO_MEMORY, "out of memory"),
				profcol_code_name(PROFCOL_NO_MEMORY), parcels_samples(parcels));
	}
	error = queue_put(&route->queue, parcels, result);
	consumers_call(&sending->consumers);
	delivery_show_queue(route);
	if (error)
		error = refuse(route, error, refusal_cause(error), parcels_samples(parcels));
	if (result)
		outcome = queue_await(&route->queue, result, &settled);
	if (result && !settled)
		outcome = profcol_error_create(PROFCOL_SHUTDOWN, "shutting down, the result is not "
								 "waited for");
	return profcol_error_join(error, report_booked(route, outcome));
}

/* Without a queue: on the caller's thread. */
static struct profcol_error *send_now(struct delivery_route *route, struct parcels *parcels)
{
	struct delivery delivery CLEANUP(delivery_deinit);
	struct profcol_error *error;

	delivery_init(&delivery, route, QUEUE_HURRIED);
	// The stack is worked off from its end.
	for (size_t i = 0; i < parcels->count / 2; i++) {
		struct parcel swapped = parcels->items[i];

		parcels->items[i] = parcels->items[parcels->count - 1 - i];
		parcels->items[parcels->count - 1 - i] = swapped;
	}
	delivery.pending = *parcels;
	*parcels = (struct parcels){ 0 };
	if (delivery_run(&delivery))
		return report_booked(route, TAKE(delivery.error));
	error = ledger_lose_at_end(&route->ledger, parcels_samples(&delivery.pending));
	return report_booked(route, profcol_error_join(TAKE(delivery.error), error));
}

struct profcol_error *sending_consume(struct sending *sending, struct profcol_batch *batch)
{
	struct delivery_route *route = &sending->route;
	struct parcel_limits limits = delivery_limits(route);
	struct parcels parcels CLEANUP(parcels_deinit) = { 0 };
	uint64_t samples = profcol_batch_events(batch);
	struct profcol_error *error = NULL;

	if (route->queue.max_request_bytes < limits.max_bytes)
		limits.max_bytes = route->queue.max_request_bytes;
	if (samples)
		error = parcel_encode(batch, &limits, &parcels);
	profcol_batch_unref(batch);
	if (!samples)
		return NULL;
	ledger_accept(&route->ledger, samples);
	if (error)
		return refuse(route, error, profcol_code_name(profcol_error_code(error)), samples);
	return route->config->queue.enabled ? enqueue(sending, &parcels)
					    : send_now(route, &parcels);
}

/* ---- shutdown ---- */

static struct profcol_error *shut_component_down(struct sending *sending, uint64_t deadline_ns)
{
	const struct sending_target *target = &sending->route.target;

	queue_advance(&sending->route.queue, QUEUE_CUT);
	return target->type->shutdown ? target->type->shutdown(target->self, deadline_ns) : NULL;
}

static void *closer_run(void *argument)
{
	struct sending *sending = argument;
	struct closer *closer = &sending->closer;

	queue_sleep(&sending->route.queue, closer->close_ns, QUEUE_CUT);
	closer->error = shut_component_down(sending, closer->deadline_ns);
	return NULL;
}

static void closer_start(struct sending *sending, uint64_t close_ns, uint64_t deadline_ns)
{
	struct closer *closer = &sending->closer;

	pthread_mutex_lock(&closer->lock);
	if (!closer->started) {
		closer->started = true;
		closer->close_ns = close_ns;
		closer->deadline_ns = deadline_ns;
		closer->running = pthread_create(&closer->thread, NULL, closer_run, sending) == 0;
		// Better too early than never.
		if (!closer->running)
			closer->error = shut_component_down(sending, deadline_ns);
	}
	pthread_mutex_unlock(&closer->lock);
}

/* Shut the component down, or wait until the closer has. */
static struct profcol_error *close_component(struct sending *sending, uint64_t deadline_ns)
{
	struct closer *closer = &sending->closer;
	bool started, running;

	queue_advance(&sending->route.queue, QUEUE_CUT);
	pthread_mutex_lock(&closer->lock);
	started = closer->started;
	running = closer->running;
	closer->started = true;
	closer->running = false;
	pthread_mutex_unlock(&closer->lock);
	if (running)
		pthread_join(closer->thread, NULL);
	return started ? TAKE(closer->error) : shut_component_down(sending, deadline_ns);
}

void sending_stop_waiting(struct sending *sending, uint64_t deadline_ns)
{
	struct delivery_route *route = &sending->route;
	uint64_t now_ns = clock_monotonic_ns(), end_ns;

	// Who sends on a caller's thread leaves the others half of the time.
	end_ns = deadline_ns > now_ns ? now_ns + (deadline_ns - now_ns) / 2 : now_ns;
	if (!route->config->queue.enabled) {
		atomic_store(&route->attempts_end_ns, end_ns);
		closer_start(sending, end_ns, deadline_ns);
	}
	queue_advance(&route->queue, QUEUE_HURRIED);
}

/* Book what nobody will deliver any more. */
static void book_rest(struct delivery_route *route)
{
	struct queue_item *rest = queue_take_rest(&route->queue);
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	uint64_t samples = 0;

	delivery_show_queue(route);
	if (route->queue.stored) {
		route->target.host->account(route->target.host, PROFCOL_STORED, NULL,
					    delivery_load(route).samples);
		return;
	}
	for (const struct queue_item *item = rest; item; item = item->next)
		samples += item->parcel.samples;
	error = ledger_lose_at_end(&route->ledger, samples);
	queue_finish(&route->queue, rest, error);
	delivery_show_queue(route);
}

/* When the component has to be shut down. */
static uint64_t last_moment(uint64_t deadline_ns)
{
	return deadline_ns > component_shutdown_ns ? deadline_ns - component_shutdown_ns : 0;
}

void sending_drain(struct sending *sending, uint64_t deadline_ns)
{
	struct delivery_route *route = &sending->route;

	atomic_store(&route->attempts_end_ns, last_moment(deadline_ns));
	queue_advance(&route->queue, QUEUE_DRAINING);
	consumers_call(&sending->consumers);
}

struct profcol_error *sending_shutdown(struct sending *sending, uint64_t deadline_ns)
{
	struct delivery_route *route = &sending->route;
	struct profcol_error *error;

	sending_drain(sending, deadline_ns);
	consumers_await(&sending->consumers, last_moment(deadline_ns));
	error = close_component(sending, deadline_ns);
	consumers_join(&sending->consumers);
	if (route->config->queue.enabled)
		book_rest(route);
	queue_close(&route->queue);
	return error;
}
