/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The threads that take from the queue and deliver. They are started as work needs them:
 * one more when there is a request and nobody idle. Private to the folder.
 */
#pragma once

#include "delivery.h"

struct consumers {
	struct delivery_route *route; /* borrowed */
	unsigned int max;

	pthread_mutex_t lock;   /* guards what follows */
	pthread_cond_t changed; /* one has ended */
	pthread_t *threads;     /* owned; those started, ended ones too */
	unsigned int started, running;
	bool complained; /* that no thread could be started */
};

/* False without memory. */
bool consumers_init(struct consumers *consumers, struct delivery_route *route, unsigned int max);
/* After consumers_join. */
void consumers_deinit(struct consumers *consumers);

/* Start one if the queue wants one. Any thread. */
void consumers_call(struct consumers *consumers);

/* Wait until all have ended, or until @until_ns (CLOCK_MONOTONIC). */
void consumers_await(struct consumers *consumers, uint64_t until_ns);

/* Wait until all have ended: soon, when the queue is CUT and the component shut down. */
void consumers_join(struct consumers *consumers);
