/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts the instances of a graph, extensions and then downstream first, and shuts them
 * down the other way round, so that whoever is called is there for as long as anybody may
 * call it.
 * Main thread only.
 */
#pragma once

#include "pipeline/graph.h"
#include "supervision.h"

/*
 * The error names the component that failed. The graph has to be shut down then, too. Once the
 * process is asked to end, no further component is started, which is no error.
 */
PROFCOL_MUST_CHECK struct profcol_error *lifecycle_start(struct graph *graph);

/* Shuts down all instances, whatever fails; the errors are joined, and name their components. */
PROFCOL_MUST_CHECK struct profcol_error *
lifecycle_shutdown(struct graph *graph, const struct lifecycle_patience *patience);

/* Has the process been asked to end, by a signal or by a FATAL_ERROR? */
bool lifecycle_is_ending(const struct graph *graph);

/* Start one instance; its error names it. */
PROFCOL_MUST_CHECK struct profcol_error *lifecycle_start_instance(struct instance *instance);
