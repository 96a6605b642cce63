// SPDX-License-Identifier: Apache-2.0
#include "source_feed.h"

#include "base/base.h"

#include <errno.h>
#include <poll.h>
#include <sys/random.h>

#define MILLISECOND UINT64_C(1000000)

enum { TOLD_FROM = 3 }; /* failures of a sort in a row */

bool hub_wait(const struct hub *hub, uint64_t ns)
{
	struct pollfd stop = { .fd = hub->stop_fd, .events = POLLIN };
	uint64_t end = clock_monotonic_ns() + ns, now;

	while ((now = clock_monotonic_ns()) < end) {
		uint64_t left = (end - now) / MILLISECOND + 1;
		int status = poll(&stop, 1, left < INT32_MAX ? (int)left : INT32_MAX);

		if (status > 0)
			return false;
		if (status < 0 && errno != EINTR)
			break;
	}
	return poll(&stop, 1, 0) <= 0;
}

uint64_t hub_pause(const struct hub *hub, unsigned int failures)
{
	uint64_t pause = hub->pause_min_ns, chance = 0;

	while (failures-- > 1 && pause < hub->pause_max_ns)
		pause *= 2;
	if (pause > hub->pause_max_ns)
		pause = hub->pause_max_ns;
	if (getrandom(&chance, sizeof(chance), GRND_NONBLOCK) < 0)
		chance = clock_monotonic_ns();
	return pause / 2 + chance % (pause / 2 + 1);
}

/* ---- callbacks ---- */

void feed_begin(struct feed *feed)
{
	struct hub *hub = feed->hub;

	pthread_mutex_lock(&hub->lock);
	hub->callbacks->begin(hub->context, &feed->scope);
	pthread_mutex_unlock(&hub->lock);
}

void feed_end(struct feed *feed)
{
	struct hub *hub = feed->hub;

	hub->lists++;
	feed->synced = true;
	feed->failing = false;
	pthread_mutex_lock(&hub->lock);
	hub->callbacks->end(hub->context, &feed->scope);
	pthread_mutex_unlock(&hub->lock);
}

void feed_work(struct feed *feed)
{
	struct hub *hub = feed->hub;

	if (!feed->failing)
		return;
	feed->failing = false;
	pthread_mutex_lock(&hub->lock);
	hub->callbacks->works(hub->context, &feed->scope);
	pthread_mutex_unlock(&hub->lock);
}

static void feed_put(struct feed *feed, const struct pod_event *event)
{
	struct hub *hub = feed->hub;
	struct k8s_object object = { .kind = feed->scope.kind, .metadata = *event->metadata };

	hub->incomplete += event->incomplete;
	pthread_mutex_lock(&hub->lock);
	if (event->pod)
		hub->callbacks->put_pod(hub->context, event->pod);
	else
		hub->callbacks->put_object(hub->context, &object);
	pthread_mutex_unlock(&hub->lock);
}

void feed_take(struct feed *feed, const struct pod_event *event)
{
	struct hub *hub = feed->hub;

	switch (event->type) {
	case POD_EVENT_PUT:
		feed_put(feed, event);
		break;
	case POD_EVENT_REMOVED:
		pthread_mutex_lock(&hub->lock);
		hub->callbacks->remove(hub->context, feed->scope.kind, event->metadata);
		pthread_mutex_unlock(&hub->lock);
		break;
	case POD_EVENT_OVERSIZED:
		hub->oversized++;
		break;
	default:
		break;
	}
}

void feed_fail(struct feed *feed, unsigned int in_a_row, int sort, const char *reason,
	       const char *remedy)
{
	uint64_t now = clock_monotonic_ns();
	struct hub *hub = feed->hub;

	hub->failures++;
	if (sort != feed->sort || in_a_row == 1)
		feed->sort_count = 0;
	feed->sort = sort;
	if (++feed->sort_count < TOLD_FROM && feed->synced)
		return;
	if (sort == feed->told && now - feed->told_ns < hub->complaint_ns)
		return;
	feed->told = sort;
	feed->told_ns = now;
	feed->failing = true;
	pthread_mutex_lock(&hub->lock);
	hub->callbacks->failed(hub->context, &feed->scope, reason, remedy);
	pthread_mutex_unlock(&hub->lock);
}
