/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A watch over the main thread while it shuts components down: a component that does not
 * return must not hold up the process for ever.
 */
#pragma once

#include "pipeline/instance.h"

struct lifecycle_patience {
	uint64_t drain_ns; /* all components together have this long to shut down */
	/* A component that has not returned by then has this much longer, and never less than this.
	 * Where the machine stood still meanwhile, it has the same time once more. */
	uint64_t grace_ns;

	/*
	 * Called when that is over, from a thread of its own, with the component that hangs; the
	 * graph is still there. The process cannot go on in order: this has to end it.
	 */
	void (*give_up)(const struct instance *stuck, void *context);
	void *context;
};

/* Owns one thread. */
struct supervision {
	const struct lifecycle_patience *patience; /* borrowed */
	uint64_t deadline_ns;                      /* CLOCK_MONOTONIC: of the shutdown */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	const struct instance *current; /* being shut down; NULL while none is */
	uint64_t since_ns;              /* CLOCK_MONOTONIC: it is */
	bool was_late;                  /* the watch over it, once */
	bool over;
};

void supervision_begin(struct supervision *supervision, const struct lifecycle_patience *patience);
void supervision_end(struct supervision *supervision);

/* Shut @instance down under the watch; its error names it. */
PROFCOL_MUST_CHECK struct profcol_error *supervision_shutdown(struct supervision *supervision,
							      struct instance *instance);
