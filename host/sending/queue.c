// SPDX-License-Identifier: Apache-2.0
#include "queue.h"

#include "base/base.h"

#include <profcol/storage.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- life ---- */

static struct queue_load choose_capacity(const struct sending_queue_config *config, bool on_disk)
{
	struct queue_load capacity = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
	uint64_t given = (uint64_t)config->queue_size;

	switch (config->sizer) {
	case SENDING_BYTES:
		capacity.bytes = given ? given : SENDING_UNSIZED_BYTES;
		break;
	case SENDING_ITEMS:
		capacity.samples = given ? given : 1000000;
		break;
	case SENDING_REQUESTS:
		capacity.requests = given ? given : 1000;
		break;
	default:
		// The storage has a bound of its own; memory needs ours.
		if (given || !on_disk)
			capacity.requests = given ? given : 1000;
		if (!on_disk)
			capacity.bytes = SENDING_UNSIZED_BYTES;
		break;
	}
	return capacity;
}

static struct queue_gathering choose_gathering(const struct sending_config *config)
{
	const struct sending_batch_config *batch = &config->queue.batch;
	struct queue_gathering gathering = {
		.enabled = config->queue.batch_named && batch->enabled,
		.sizer = batch->sizer ? batch->sizer : config->queue.sizer,
		.enough = (uint64_t)batch->min_size,
		.max_bytes = config->max_request_bytes,
		.timeout_ns = batch->flush_timeout_ns,
	};

	if (gathering.sizer != SENDING_BYTES)
		gathering.sizer = SENDING_ITEMS;
	return gathering;
}

void queue_init(struct queue *queue, const struct sending_config *config,
		const struct profcol_storage_operations *storage)
{
	*queue = (struct queue){
		.storage = storage,
		.capacity = choose_capacity(&config->queue, storage != NULL),
		.blocks = config->queue.block_on_overflow,
		.gathering = choose_gathering(config),
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.work = PTHREAD_COND_INITIALIZER,
		.more = PTHREAD_COND_INITIALIZER,
		.space = PTHREAD_COND_INITIALIZER,
		.phased = PTHREAD_COND_INITIALIZER,
	};
	queue->max_request_bytes =
		queue->capacity.bytes < SIZE_MAX ? (size_t)queue->capacity.bytes : SIZE_MAX;
	queue->last = &queue->first;
}

static void item_destroy(struct queue_item *item)
{
	parcel_deinit(&item->parcel);
	free(item);
}

void queue_deinit(struct queue *queue)
{
	while (queue->first) {
		struct queue_item *item = queue->first;

		queue->first = item->next;
		item_destroy(item);
	}
	pthread_cond_destroy(&queue->phased);
	pthread_cond_destroy(&queue->space);
	pthread_cond_destroy(&queue->more);
	pthread_cond_destroy(&queue->work);
	pthread_mutex_destroy(&queue->lock);
}

void queue_refresh(struct queue *queue)
{
	struct profcol_storage_figures figures = { 0 };

	if (!queue->stored)
		return;
	queue->storage->figures(queue->stored, &figures);
	queue->held = (struct queue_load){
		.requests = figures.records,
		.samples = figures.samples,
		.bytes = figures.bytes,
	};
}

struct profcol_error *queue_open(struct queue *queue, void *self, const char *name)
{
	struct profcol_storage_figures figures = { 0 };
	struct profcol_error *error;

	if (!queue->storage)
		return NULL;
	error = queue->storage->open(self, name, &queue->stored);
	if (error)
		return error;
	queue->storage->figures(queue->stored, &figures);
	if (figures.max_record_bytes && figures.max_record_bytes < queue->max_request_bytes)
		queue->max_request_bytes = (size_t)figures.max_record_bytes;
	pthread_mutex_lock(&queue->lock);
	queue_refresh(queue);
	queue->ready = queue->held.requests;
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

void queue_close(struct queue *queue)
{
	if (queue->stored)
		queue->storage->close(queue->stored);
	queue->stored = NULL;
}

struct queue_load queue_load(struct queue *queue)
{
	struct queue_load held;

	pthread_mutex_lock(&queue->lock);
	held = queue->held;
	pthread_mutex_unlock(&queue->lock);
	return held;
}

struct queue_load queue_capacity(struct queue *queue)
{
	struct profcol_storage_figures figures = { .capacity_bytes = UINT64_MAX };
	struct queue_load capacity = queue->capacity;

	if (queue->stored)
		queue->storage->figures(queue->stored, &figures);
	if (figures.capacity_bytes < capacity.bytes)
		capacity.bytes = figures.capacity_bytes;
	return capacity;
}

struct queue_load queue_take_damage(struct queue *queue)
{
	struct profcol_storage_figures figures = { 0 };
	struct queue_load damage;

	if (!queue->stored)
		return (struct queue_load){ 0 };
	pthread_mutex_lock(&queue->lock);
	queue->storage->figures(queue->stored, &figures);
	damage = (struct queue_load){
		.requests = figures.damaged_records - queue->damaged_records,
		.samples = figures.damaged_samples - queue->damaged_samples,
	};
	queue->damaged_records = figures.damaged_records;
	queue->damaged_samples = figures.damaged_samples;
	pthread_mutex_unlock(&queue->lock);
	return damage;
}

bool queue_wait_until(struct queue *queue, pthread_cond_t *condition, uint64_t until_ns)
{
	struct timespec until = clock_timespec(until_ns);

	return pthread_cond_clockwait(condition, &queue->lock, CLOCK_MONOTONIC, &until) == 0;
}

/* ---- putting ---- */

static bool is_within(const struct queue_load *load, const struct queue_load *most)
{
	return load->requests <= most->requests && load->samples <= most->samples &&
	       load->bytes <= most->bytes;
}

static bool has_room(const struct queue *queue, const struct queue_load *added)
{
	const struct queue_load both = {
		.requests = queue->held.requests + added->requests,
		.samples = queue->held.samples + added->samples,
		.bytes = queue->held.bytes + added->bytes,
	};

	return is_within(&both, &queue->capacity);
}

static struct queue_load sum_parcels(const struct parcel *parcels, size_t count)
{
	struct queue_load sum = { .requests = count };

	for (size_t i = 0; i < count; i++) {
		sum.samples += parcels[i].samples;
		sum.bytes += parcels[i].length;
	}
	return sum;
}

static struct profcol_error *too_large(const struct queue *queue, const struct queue_load *added)
{
	const struct queue_load *most = &queue->capacity;

	if (added->bytes > most->bytes)
		return profcol_error_create(PROFCOL_REJECTED,
					    "element size too large: %" PRIu64
					    " bytes, the sending queue holds %" PRIu64
					    "; raise sending_queue::queue_size",
					    added->bytes, most->bytes);
	if (added->samples > most->samples)
		return profcol_error_create(PROFCOL_REJECTED,
					    "element size too large: %" PRIu64
					    " samples, the sending queue holds %" PRIu64
					    "; raise sending_queue::queue_size",
					    added->samples, most->samples);
	return NULL;
}

/* Under the lock: wait for room for @added and take it. */
static struct profcol_error *reserve(struct queue *queue, const struct queue_load *added)
{
	struct profcol_error *error = too_large(queue, added);

	if (error)
		return error;
	while (!has_room(queue, added)) {
		if (!queue->blocks || queue->phase >= QUEUE_HURRIED)
			return profcol_error_create(PROFCOL_UNAVAILABLE, "sending queue is full");
		pthread_cond_wait(&queue->space, &queue->lock);
	}
	if (queue->phase >= QUEUE_DRAINING)
		return profcol_error_create(PROFCOL_SHUTDOWN, "sending queue is stopped");
	queue->held.requests += added->requests;
	queue->held.samples += added->samples;
	queue->held.bytes += added->bytes;
	return NULL;
}

/* Under the lock. */
static void release(struct queue *queue, const struct queue_load *removed)
{
	queue->held.requests -= removed->requests;
	queue->held.samples -= removed->samples;
	queue->held.bytes -= removed->bytes;
	pthread_cond_broadcast(&queue->space);
}

/* Under the lock: there is one more to take. */
static void announce(struct queue *queue)
{
	queue->ready++;
	if (queue->is_gathering)
		pthread_cond_signal(&queue->more);
	else
		pthread_cond_signal(&queue->work);
}

/* Under the lock. The items are linked from @first on. */
static void append_items(struct queue *queue, struct queue_item *first)
{
	while (first) {
		struct queue_item *item = first;

		first = item->next;
		item->next = NULL;
		*queue->last = item;
		queue->last = &item->next;
		announce(queue);
	}
}

static void list_destroy(struct queue_item *first)
{
	while (first) {
		struct queue_item *item = first;

		first = item->next;
		item_destroy(item);
	}
}

static struct profcol_error *put_in_memory(struct queue *queue, struct parcel *parcels,
					   size_t count, struct queue_result *result)
{
	struct queue_load added = sum_parcels(parcels, count);
	struct queue_item *first = NULL;
	struct profcol_error *error;

	for (size_t i = 0; i < count; i++) {
		struct queue_item *item = calloc(1, sizeof(*item));

		if (!item) {
			list_destroy(first);
			return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
		}
		item->next = first;
		item->result = result;
		first = item;
	}
	pthread_mutex_lock(&queue->lock);
	error = reserve(queue, &added);
	if (!error) {
		struct queue_item *item = first;

		for (size_t i = 0; i < count; i++, item = item->next)
			item->parcel = parcel_take(&parcels[i]);
		if (result)
			result->pending += count;
		append_items(queue, first);
	}
	pthread_mutex_unlock(&queue->lock);
	if (error)
		list_destroy(first);
	return error;
}

/* The storage was full: wait until it may not be. False when that is not wanted. */
static bool await_storage(struct queue *queue, const struct profcol_error *error)
{
	bool wanted;

	if (profcol_error_code(error) != PROFCOL_UNAVAILABLE || !queue->blocks)
		return false;
	pthread_mutex_lock(&queue->lock);
	// A disk has room again without telling anybody.
	if (queue->phase < QUEUE_HURRIED)
		queue_wait_until(queue, &queue->space, clock_monotonic_ns() + PROFCOL_SECOND);
	wanted = queue->phase < QUEUE_HURRIED;
	pthread_mutex_unlock(&queue->lock);
	return wanted;
}

static struct profcol_error *append_once(struct queue *queue, struct parcel *parcel)
{
	struct queue_load added = sum_parcels(parcel, 1);
	struct profcol_error *error;

	pthread_mutex_lock(&queue->lock);
	error = reserve(queue, &added);
	pthread_mutex_unlock(&queue->lock);
	if (error)
		return error;
	// Outside of the lock: this writes.
	error = queue->storage->append(queue->stored, parcel->bytes, parcel->length,
				       parcel->samples);
	pthread_mutex_lock(&queue->lock);
	queue_refresh(queue);
	if (!error)
		announce(queue);
	pthread_mutex_unlock(&queue->lock);
	if (!error)
		parcel_deinit(parcel);
	return error;
}

static struct profcol_error *put_in_storage(struct queue *queue, struct parcel *parcel)
{
	for (;;) {
		struct profcol_error *error = append_once(queue, parcel);

		if (!error || !await_storage(queue, error))
			return error;
		profcol_error_destroy(error);
	}
}

/* Could all of @parcels be in the queue at once? */
static bool fits_empty(const struct queue *queue, const struct parcels *parcels)
{
	const struct queue_load all = sum_parcels(parcels->items, parcels->count);

	return is_within(&all, &queue->capacity);
}

struct profcol_error *queue_put(struct queue *queue, struct parcels *parcels,
				struct queue_result *result)
{
	bool apart = queue->stored || queue->blocks || !fits_empty(queue, parcels);
	size_t step = apart ? 1 : parcels->count;
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < parcels->count && !error; i += step)
		error = queue->stored ? put_in_storage(queue, &parcels->items[i])
				      : put_in_memory(queue, &parcels->items[i], step, result);
	return error;
}

/* ---- settling ---- */

struct parcel queue_item_unpack(struct queue_item *item)
{
	struct parcel parcel = item->parcel;

	item->parcel.bytes = NULL;
	return parcel;
}

/* Under the lock. */
static void settle(struct queue *queue, struct queue_result *result,
		   const struct profcol_error *error)
{
	if (!result)
		return;
	if (error && !result->error)
		result->error = profcol_error_create(profcol_error_code(error), "%s",
						     profcol_error_message(error));
	if (--result->pending)
		return;
	if (result->abandoned) {
		profcol_error_destroy(result->error);
		free(result);
	} else {
		pthread_cond_broadcast(&queue->phased);
	}
}

void queue_finish(struct queue *queue, struct queue_item *items, const struct profcol_error *error)
{
	for (struct queue_item *item = items; item && queue->stored; item = item->next)
		queue->storage->finish(queue->stored, item->record);
	pthread_mutex_lock(&queue->lock);
	for (struct queue_item *item = items; item; item = item->next) {
		struct queue_load load = sum_parcels(&item->parcel, 1);

		settle(queue, item->result, error);
		if (!queue->stored)
			release(queue, &load);
	}
	if (queue->stored) {
		queue_refresh(queue);
		pthread_cond_broadcast(&queue->space);
	}
	pthread_mutex_unlock(&queue->lock);
	list_destroy(items);
}

void queue_put_back(struct queue *queue, struct queue_item *items)
{
	for (struct queue_item *item = items; item; item = item->next)
		queue->storage->put_back(queue->stored, item->record);
	list_destroy(items);
}

bool queue_replace(struct queue *queue, struct queue_item *items, const struct parcels *rest,
		   uint64_t *added_ret)
{
	size_t added = 0;

	*added_ret = 0;
	for (size_t i = 0; i < rest->count; i++) {
		const struct parcel *parcel = &rest->items[i];
		PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;

		error = queue->storage->append(queue->stored, parcel->bytes, parcel->length,
					       parcel->samples);
		if (error)
			break;
		*added_ret += parcel->samples;
		added++;
	}
	if (added == rest->count) {
		queue_finish(queue, items, NULL);
		return true;
	}
	pthread_mutex_lock(&queue->lock);
	queue_refresh(queue);
	pthread_mutex_unlock(&queue->lock);
	return false;
}

struct profcol_error *queue_await(struct queue *queue, struct queue_result *result,
				  bool *settled_ret)
{
	struct profcol_error *error = NULL;

	pthread_mutex_lock(&queue->lock);
	while (result->pending && queue->phase < QUEUE_HURRIED)
		pthread_cond_wait(&queue->phased, &queue->lock);
	*settled_ret = !result->pending;
	if (*settled_ret) {
		error = result->error;
		free(result);
	} else {
		result->abandoned = true;
	}
	pthread_mutex_unlock(&queue->lock);
	return error;
}

/* ---- phases ---- */

enum queue_phase queue_phase(struct queue *queue)
{
	enum queue_phase phase;

	pthread_mutex_lock(&queue->lock);
	phase = queue->phase;
	pthread_mutex_unlock(&queue->lock);
	return phase;
}

void queue_advance(struct queue *queue, enum queue_phase phase)
{
	pthread_mutex_lock(&queue->lock);
	if (phase > queue->phase)
		queue->phase = phase;
	if (phase >= QUEUE_CUT)
		atomic_store(&queue->is_cut, true);
	pthread_cond_broadcast(&queue->work);
	pthread_cond_broadcast(&queue->more);
	pthread_cond_broadcast(&queue->space);
	pthread_cond_broadcast(&queue->phased);
	pthread_mutex_unlock(&queue->lock);
}

void queue_sleep(struct queue *queue, uint64_t until_ns, enum queue_phase phase)
{
	pthread_mutex_lock(&queue->lock);
	while (queue->phase < phase && clock_monotonic_ns() < until_ns)
		queue_wait_until(queue, &queue->phased, until_ns);
	pthread_mutex_unlock(&queue->lock);
}
