/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The edges that lead from one instance to those behind it. Whoever hands a batch on is
 * inside meanwhile. A reload holds the edges, so that who comes next waits at the
 * entrance, and gives them other targets; who is still inside finishes on the old ones.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct instance;

/* An instance that is in a list must not be destroyed: see instance.references. */
struct edges_targets {
	size_t users; /* inside; under the lock of the edges */
	size_t count;
	struct instance *items[]; /* borrowed */
};

struct edges {
	pthread_mutex_t lock; /* guards the rest */
	pthread_cond_t changed;
	struct edges_targets *targets; /* owned, never NULL; replaced ones by who is inside */
	bool held;
	uint64_t passed; /* samples handed on so far */
};

/* False without memory. Without targets at first. */
bool edges_init(struct edges *edges);
void edges_deinit(struct edges *edges); /* nobody is inside */

/* With room for @capacity instances, and none yet. NULL without memory. */
struct edges_targets *edges_targets_create(size_t capacity);
/* There must be room. */
void edges_targets_add(struct edges_targets *targets, struct instance *instance);
void edges_targets_destroy(struct edges_targets *targets); /* accepts NULL */

/* Are @targets those that the edges have, in the same order? Main thread. */
bool edges_lead_to(struct edges *edges, const struct edges_targets *targets);

/*
 * Enter with @samples; waits while the edges are held. What comes back stays as it is
 * until edges_leave. Any thread.
 */
struct edges_targets *edges_enter(struct edges *edges, uint64_t samples);
void edges_leave(struct edges *edges, struct edges_targets *targets);

/* As edges_enter, to look and not to hand anything on: NULL, without waiting, while held. */
struct edges_targets *edges_look(struct edges *edges);

/* Samples handed on so far; exact once the edges are held and nobody is inside. */
uint64_t edges_passed(struct edges *edges);

/*
 * Let nobody in any more and wait until @deadline_ns (CLOCK_MONOTONIC) for those inside. False
 * when somebody still is.
 */
bool edges_hold(struct edges *edges, uint64_t deadline_ns);

/* Let everybody in again: to @targets (taken), or with NULL to those of before. */
void edges_release(struct edges *edges, struct edges_targets *targets);
