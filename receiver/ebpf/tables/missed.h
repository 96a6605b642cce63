/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What samples had no rules for, on its way from those who take them to the thread of tables.h.
 * Bounded; nothing is allocated after the start. missed_take and `taken` are the thread's, the rest
 * is for any.
 */
#pragma once

#include "met.h"
#include "tables.h"

#include "base/base.h"

#include <pthread.h>

struct missed_lists {
	VECTOR(struct tables_place) places;
	VECTOR(struct met_address) addresses;
};

struct missed {
	pthread_mutex_t lock; /* over what follows */
	pthread_cond_t changed;
	struct missed_lists told;
	bool wanted; /* a file, by a process that is new */
	bool stopping;

	struct missed_lists taken;
};

/* False without memory; to be deinitialized all the same. */
bool missed_init(struct missed *missed);
void missed_deinit(struct missed *missed);

/* False: there is no room. */
bool missed_add_place(struct missed *missed, struct tables_place place);
bool missed_add_address(struct missed *missed, struct met_address address);

void missed_wake(struct missed *missed); /* there is something to ask a worker */
void missed_stop(struct missed *missed);

/* What was told becomes `taken`; waits until @deadline_ns (CLOCK_MONOTONIC) for something to do.
 * False: it is time to stop. */
bool missed_take(struct missed *missed, uint64_t deadline_ns);
