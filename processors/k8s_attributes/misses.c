// SPDX-License-Identifier: Apache-2.0
#include "misses.h"

#include "base/base.h"

#include <inttypes.h>
#include <string.h>

#define MINUTE_NS UINT64_C(60000000000)

void misses_init(struct misses *misses, const struct profcol_host *host)
{
	static const char *const labels[ATTRIBUTIONS] = {
		[ATTRIBUTED] = "result=attributed",
		[MISS_NO_ATTRIBUTE] = "result=no_attribute",
		[MISS_CONTAINER] = "result=unknown_container",
		[MISS_POD] = "result=unknown_pod",
		[MISS_NOT_SYNCED] = "result=not_synced",
		[MISS_EXCLUDED] = "result=excluded",
	};

	*misses = (struct misses){ .host = host, .since_ns = clock_monotonic_ns() };
	pthread_mutex_init(&misses->lock, NULL);
	for (size_t i = 0; i < ATTRIBUTIONS; i++)
		misses->metrics[i] = host->metric(host, PROFCOL_COUNTER, "k8s_resources", labels[i],
						  "resources by whether their pod was found");
}

void misses_deinit(struct misses *misses)
{
	pthread_mutex_destroy(&misses->lock);
}

static const char *reason_of(enum attribution miss)
{
	static const char *const reasons[ATTRIBUTIONS] = {
		[MISS_NO_ATTRIBUTE] = "they have no attribute to find it by",
		[MISS_CONTAINER] = "no pod has such a container",
		[MISS_POD] = "there is no such pod",
		[MISS_NOT_SYNCED] = "pods have not been listed yet",
	};

	return reasons[miss];
}

static const char *remedy_of(enum attribution miss)
{
	static const char *const remedies[ATTRIBUTIONS] = {
		[MISS_NO_ATTRIBUTE] = "see pod_association, and resource_by of the receiver",
		[MISS_CONTAINER] = "it runs without Kubernetes, or 'filter' leaves its pod out",
		[MISS_POD] = "it is of another cluster, or 'filter' leaves it out",
		[MISS_NOT_SYNCED] = "an earlier line says why, if something is wrong",
	};

	return remedies[miss];
}

/* The one to tell of; ATTRIBUTED when there is none. Processes outside of containers are no news
 * as long as anything has a pod. */
static enum attribution commonest(const struct misses *misses)
{
	static const enum attribution told[] = { MISS_CONTAINER, MISS_POD, MISS_NOT_SYNCED };
	enum attribution most = ATTRIBUTED;
	uint64_t count = 0;

	for (size_t i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
		if (misses->counts[told[i]] > count) {
			most = told[i];
			count = misses->counts[most];
		}
	}
	if (!count && !misses->counts[ATTRIBUTED] && !misses->counts[MISS_EXCLUDED] &&
	    misses->counts[MISS_NO_ATTRIBUTE])
		return MISS_NO_ATTRIBUTE;
	return most;
}

static void tell(const struct misses *misses, enum attribution miss, uint64_t elapsed_ns)
{
	const char *example = misses->examples[miss];
	uint64_t all = 0;

	for (size_t i = 0; i < ATTRIBUTIONS; i++)
		all += misses->counts[i];
	profcol_log_warn(misses->host->logger,
			 "%" PRIu64 " of %" PRIu64 " resources of the last %" PRIu64
			 " s stay without a pod because %s%s%s%s; %s",
			 misses->counts[miss], all, elapsed_ns / 1000000000, reason_of(miss),
			 example[0] ? " (" : "", example, example[0] ? ")" : "", remedy_of(miss));
}

void misses_add(struct misses *misses, const struct misses_batch *batch)
{
	uint64_t now_ns = clock_monotonic_ns();
	enum attribution miss;

	for (size_t i = 0; i < ATTRIBUTIONS; i++)
		if (batch->counts[i])
			profcol_metric_add(misses->metrics[i], (int64_t)batch->counts[i]);
	pthread_mutex_lock(&misses->lock);
	for (size_t i = 0; i < ATTRIBUTIONS; i++) {
		if (!misses->counts[i])
			memcpy(misses->examples[i], batch->examples[i], MISS_EXAMPLE_MAX);
		misses->counts[i] += batch->counts[i];
	}
	if (now_ns - misses->since_ns >= MINUTE_NS) {
		miss = commonest(misses);
		if (miss != ATTRIBUTED)
			tell(misses, miss, now_ns - misses->since_ns);
		memset(misses->counts, 0, sizeof(misses->counts));
		misses->since_ns = now_ns;
	}
	pthread_mutex_unlock(&misses->lock);
}
