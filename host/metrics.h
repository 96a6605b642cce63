/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of one component instance. Registration takes a lock, the values are
 * atomics that the component changes by itself (<profcol/metrics.h>).
 */
#pragma once

#include <profcol/metrics.h>

#include <pthread.h>
#include <stdbool.h>

enum { METRICS_MAX = 1024 }; /* of an instance: a label made of foreign data must not eat memory */

struct metrics_entry {
	struct profcol_metric metric;
	enum profcol_metric_kind kind;
	const char *name, *label, *doc; /* in the entry's own memory */
	struct metrics_entry *next;     /* owned */
};

struct metrics {
	pthread_mutex_t lock;        /* guards the list, not the values */
	struct metrics_entry *first; /* owned; in the order of registration */
	struct metrics_entry **last;
	size_t count;
	uint64_t left_out;           /* registrations that got the next one */
	struct profcol_metric spare; /* stands in when there is no memory or no room for another */
};

void metrics_init(struct metrics *metrics);
void metrics_deinit(struct metrics *metrics);

/*
 * The metric of that name and label, registered by the first call; strings are copied.
 * Valid until deinit. Never NULL: what cannot be kept shares one metric that is not shown.
 */
struct profcol_metric *metrics_register(struct metrics *metrics, enum profcol_metric_kind kind,
					const char *name, const char *label, const char *doc);

/* How many registrations got the metric that is not shown. Any thread. */
uint64_t metrics_left_out(struct metrics *metrics);

/* Is there one of that name, whatever its label? Any thread. */
bool metrics_have(struct metrics *metrics, const char *name);

/* Call @visit on each entry, under the lock. Any thread. */
void metrics_visit(struct metrics *metrics,
		   void (*visit)(const struct metrics_entry *entry, void *context), void *context);
