/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every part of a source shares: the way to its callbacks, one call at a time, what is
 * counted, and the end. And the same for one scope of it. Private to the source.
 */
#pragma once

#include "credentials.h"
#include "pod_parse.h"
#include "source_selection.h"

#include <pthread.h>
#include <stdatomic.h>

struct hub {
	const struct k8s_source_callbacks *callbacks; /* borrowed */
	void *context;
	struct credentials *credentials; /* owned, as the next one */
	struct selection *selection;
	uint64_t pause_min_ns, pause_max_ns, silence_ns, complaint_ns;
	uint64_t interval_ns; /* of polls; 0 = there is a watch */
	int stop_fd;          /* owned; readable once the source is to stop */
	pthread_mutex_t lock; /* held during callbacks */
	_Atomic uint64_t lists, watches, events, bytes, failures, oversized, incomplete;
};

/* Sleep; false when the source is to stop. */
bool hub_wait(const struct hub *hub, uint64_t ns);

/* The pause before the next try after @failures in a row: it doubles, and is never the same for
 * many clients at once. */
uint64_t hub_pause(const struct hub *hub, unsigned int failures);

/* One thread, but for `synced`. */
struct feed {
	struct hub *hub; /* borrowed */
	struct k8s_scope scope;
	_Atomic bool synced;
	int sort;                /* of the last failure, as below */
	unsigned int sort_count; /* in a row */
	int told;                /* what was told last; 0 = nothing */
	uint64_t told_ns;
	bool failing; /* it was told, and since then nothing has worked */
};

void feed_begin(struct feed *feed);
void feed_end(struct feed *feed);

/* Something new has come by itself, without a list. */
void feed_work(struct feed *feed);

/* Pass on an object that is put or removed, count what comes. */
void feed_take(struct feed *feed, const struct pod_event *event);

/*
 * It did not work, for the time @in_a_row (from 1), because of @sort: a status of HTTP, or any
 * other number. What has worked once may fail for a moment, when servers are started again: of the
 * same sort it has to fail three times to be told. And then it is told again only after a while.
 */
void feed_fail(struct feed *feed, unsigned int in_a_row, int sort, const char *reason,
	       const char *remedy);
