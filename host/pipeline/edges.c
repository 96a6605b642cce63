// SPDX-License-Identifier: Apache-2.0
#include "edges.h"

#include "instance.h"

#include "base/base.h"

#include <time.h>

struct edges_targets *edges_targets_create(size_t capacity)
{
	struct edges_targets *targets;

	return calloc(1, sizeof(*targets) + capacity * sizeof(targets->items[0]));
}

void edges_targets_add(struct edges_targets *targets, struct instance *instance)
{
	targets->items[targets->count++] = instance;
	atomic_fetch_add(&instance->references, 1);
}

void edges_targets_destroy(struct edges_targets *targets)
{
	if (!targets)
		return;
	for (size_t i = 0; i < targets->count; i++)
		atomic_fetch_sub(&targets->items[i]->references, 1);
	free(targets);
}

bool edges_init(struct edges *edges)
{
	*edges = (struct edges){
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
		.targets = edges_targets_create(0),
	};
	return edges->targets;
}

void edges_deinit(struct edges *edges)
{
	edges_targets_destroy(edges->targets);
	pthread_cond_destroy(&edges->changed);
	pthread_mutex_destroy(&edges->lock);
}

bool edges_lead_to(struct edges *edges, const struct edges_targets *targets)
{
	bool same;

	pthread_mutex_lock(&edges->lock);
	same = edges->targets->count == targets->count;
	for (size_t i = 0; same && i < targets->count; i++)
		same = edges->targets->items[i] == targets->items[i];
	pthread_mutex_unlock(&edges->lock);
	return same;
}

struct edges_targets *edges_enter(struct edges *edges, uint64_t samples)
{
	struct edges_targets *targets;

	pthread_mutex_lock(&edges->lock);
	while (edges->held)
		pthread_cond_wait(&edges->changed, &edges->lock);
	targets = edges->targets;
	targets->users++;
	edges->passed += samples;
	pthread_mutex_unlock(&edges->lock);
	return targets;
}

struct edges_targets *edges_look(struct edges *edges)
{
	struct edges_targets *targets = NULL;

	pthread_mutex_lock(&edges->lock);
	if (!edges->held) {
		targets = edges->targets;
		targets->users++;
	}
	pthread_mutex_unlock(&edges->lock);
	return targets;
}

void edges_leave(struct edges *edges, struct edges_targets *targets)
{
	bool last;

	pthread_mutex_lock(&edges->lock);
	last = --targets->users == 0;
	if (last && targets == edges->targets)
		pthread_cond_broadcast(&edges->changed);
	last = last && targets != edges->targets;
	pthread_mutex_unlock(&edges->lock);
	if (last)
		edges_targets_destroy(targets);
}

uint64_t edges_passed(struct edges *edges)
{
	uint64_t passed;

	pthread_mutex_lock(&edges->lock);
	passed = edges->passed;
	pthread_mutex_unlock(&edges->lock);
	return passed;
}

bool edges_hold(struct edges *edges, uint64_t deadline_ns)
{
	struct timespec deadline = clock_timespec(deadline_ns);
	int status = 0;
	bool empty;

	pthread_mutex_lock(&edges->lock);
	edges->held = true;
	while (edges->targets->users && status == 0)
		status = pthread_cond_clockwait(&edges->changed, &edges->lock, CLOCK_MONOTONIC,
						&deadline);
	empty = !edges->targets->users;
	pthread_mutex_unlock(&edges->lock);
	return empty;
}

void edges_release(struct edges *edges, struct edges_targets *targets)
{
	struct edges_targets *replaced = NULL;

	pthread_mutex_lock(&edges->lock);
	if (targets) {
		replaced = edges->targets;
		edges->targets = targets;
		// Else the last one inside destroys it.
		if (replaced->users)
			replaced = NULL;
	}
	edges->held = false;
	pthread_cond_broadcast(&edges->changed);
	pthread_mutex_unlock(&edges->lock);
	edges_targets_destroy(replaced);
}
