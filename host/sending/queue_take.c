// SPDX-License-Identifier: Apache-2.0
/* The queue's way out: who takes what, and how requests that are to be joined are gathered. */
#include "queue.h"

#include "base/base.h"

#include <profcol/storage.h>

bool queue_wants_consumer(struct queue *queue)
{
	bool wants;

	pthread_mutex_lock(&queue->lock);
	wants = queue->ready > queue->idle && !queue->is_gathering;
	pthread_mutex_unlock(&queue->lock);
	return wants;
}

/* Under the lock: wait until there is something to take; false when nothing will come. */
static bool await_work(struct queue *queue)
{
	for (;;) {
		if (queue->phase >= QUEUE_SEALED)
			return false;
		if (queue->ready && !queue->is_gathering)
			return true;
		if (!queue->ready && queue->phase >= QUEUE_DRAINING)
			return false;
		queue->idle++;
		pthread_cond_wait(&queue->work, &queue->lock);
		queue->idle--;
	}
}

/* Under the lock: descriptors or memory are short, and nobody says when they no longer are. */
static void await_plenty(struct queue *queue)
{
	queue_wait_until(queue, &queue->phased, clock_monotonic_ns() + QUEUE_SHORTAGE_NS);
}

/*
 * Under the lock, which is let go meanwhile. NULL: what is ready was less than it seemed, or
 * cannot be had now; then some time has passed.
 */
static struct queue_item *take_stored(struct queue *queue)
{
	struct queue_item *item = calloc(1, sizeof(*item));
	struct profcol_record record;
	enum profcol_take take;

	if (!item) {
		await_plenty(queue);
		return NULL;
	}
	queue->ready--;
	pthread_mutex_unlock(&queue->lock);
	take = queue->storage->take(queue->stored, &record);
	pthread_mutex_lock(&queue->lock);
	queue_refresh(queue);
	if (take != PROFCOL_TAKE_RECORD) {
		free(item);
		// At the end there is no later: it stays where it is.
		if (take == PROFCOL_TAKE_LATER && queue->phase < QUEUE_DRAINING) {
			queue->ready++;
			await_plenty(queue);
		}
		return NULL;
	}
	item->record = record.id;
	item->parcel = (struct parcel){ record.bytes, record.length, record.samples };
	return item;
}

/* Under the lock, with something ready. */
static struct queue_item *take_one(struct queue *queue)
{
	struct queue_item *item = queue->first;

	if (queue->stored)
		return take_stored(queue);
	queue->ready--;
	queue->first = item->next;
	if (!queue->first)
		queue->last = &queue->first;
	item->next = NULL;
	return item;
}

/* Under the lock: hang what belongs together with @first behind it. */
static void gather(struct queue *queue, struct queue_item *first)
{
	const struct queue_gathering *gathering = &queue->gathering;
	uint64_t until_ns = clock_monotonic_ns() + gathering->timeout_ns;
	uint64_t bytes = 0, size = 0;

	for (struct queue_item *item = first; item;) {
		bytes += item->parcel.length;
		size += gathering->sizer == SENDING_BYTES ? item->parcel.length
							  : item->parcel.samples;
		if (size >= gathering->enough || bytes >= gathering->max_bytes)
			return;
		while (queue->phase < QUEUE_SEALED && !item->next) {
			if (queue->ready) {
				item->next = take_one(queue);
				// Not to be had now, while others have waited long enough.
				if (!item->next && clock_monotonic_ns() >= until_ns)
					return;
			} else if (queue->phase >= QUEUE_DRAINING ||
				   !queue_wait_until(queue, &queue->more, until_ns)) {
				return;
			}
		}
		item = item->next;
	}
}

struct queue_item *queue_take(struct queue *queue)
{
	struct queue_item *first = NULL;

	pthread_mutex_lock(&queue->lock);
	while (!first && await_work(queue)) {
		queue->is_gathering = queue->gathering.enabled;
		first = take_one(queue);
		if (!queue->is_gathering)
			continue;
		if (first)
			gather(queue, first);
		queue->is_gathering = false;
		// Those who left the rest to this one.
		if (queue->ready || queue->phase >= QUEUE_DRAINING)
			pthread_cond_broadcast(&queue->work);
	}
	pthread_mutex_unlock(&queue->lock);
	return first;
}

struct queue_item *queue_take_rest(struct queue *queue)
{
	struct queue_item *first;

	pthread_mutex_lock(&queue->lock);
	first = queue->first;
	queue->first = NULL;
	queue->last = &queue->first;
	if (!queue->stored)
		queue->ready = 0;
	pthread_mutex_unlock(&queue->lock);
	return first;
}
