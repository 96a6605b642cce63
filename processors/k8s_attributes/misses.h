/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts of which resources had a pod, and why others had none; once a minute, while there are
 * some, a line of the log says so. Any thread. Private.
 */
#pragma once

#include <profcol/component.h>

#include <pthread.h>

enum attribution {
	ATTRIBUTED,
	MISS_NO_ATTRIBUTE, /* nothing to go by: a process outside of containers */
	MISS_CONTAINER,    /* a container id that no pod has */
	MISS_POD,          /* something else that no pod has */
	MISS_NOT_SYNCED,   /* the same, while pods are still being listed for the first time */
	MISS_EXCLUDED,     /* the pod is there, but told to be left alone */
	ATTRIBUTIONS,
};

enum { MISS_EXAMPLE_MAX = 160 };

struct misses {
	const struct profcol_host *host; /* borrowed */
	struct profcol_metric *metrics[ATTRIBUTIONS];
	pthread_mutex_t lock; /* protects the rest */
	uint64_t counts[ATTRIBUTIONS];
	char examples[ATTRIBUTIONS][MISS_EXAMPLE_MAX];
	uint64_t since_ns; /* of these counts */
};

void misses_init(struct misses *misses, const struct profcol_host *host);
void misses_deinit(struct misses *misses);

/* What came of the resources of a batch. @example says by what the first one of a kind was looked
 * for, "container.id=..."; "" when there is none. */
struct misses_batch {
	uint64_t counts[ATTRIBUTIONS];
	char examples[ATTRIBUTIONS][MISS_EXAMPLE_MAX];
};

/* Adds @batch; logs when it is time to. */
void misses_add(struct misses *misses, const struct misses_batch *batch);
