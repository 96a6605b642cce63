/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the instances of a graph, extensions and then downstream first, and shuts them
 * down the other way round, so that whoever is called is there for as long as anybody may
 * call it.
 * Main thread only.
 */
#pragma once

#include "graph.h"

/* The error names the component that failed. The graph has to be shut down then, too. */
PROFCOL_MUST_CHECK struct profcol_error *lifecycle_start(struct graph *graph);

struct lifecycle_patience {
	uint64_t drain_ns; /* all components together have this long to shut down */
	uint64_t grace_ns; /* a component that still has not returned then has this much more */

	/*
	 * Called when that is over, from a thread of its own, with the component that hangs; the
	 * graph is still there. The process cannot go on in order: this has to end it.
	 */
	void (*give_up)(const struct instance *stuck, void *context);
	void *context;
};

/* Shuts down all instances, whatever fails; the errors are joined, and name their components. */
PROFCOL_MUST_CHECK struct profcol_error *
lifecycle_shutdown(struct graph *graph, const struct lifecycle_patience *patience);
