/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the configuration again and goes over to it (transition.h), or says why not and
 * leaves everything as it is. docs/reload.md tells a user what to expect.
 */
#pragma once

#include "pipeline/graph.h"
#include "supervision.h"

struct log_output;
struct telemetry;
struct watch;

struct reload {
	const struct config_sources *sources;      /* all borrowed */
	const struct component_registry *registry; /* plugins included */
	const struct profcol_list *plugins;        /* directories that they were loaded from */
	struct graph *graph;
	struct log_output *log;
	struct telemetry *telemetry;
	struct watch *watch; /* NULL without --watch-config */
	struct logger *logger;
	struct lifecycle_patience *patience; /* drain_ns becomes that of the new configuration */
};

/*
 * Faults of the configuration are logged, a line for each. An error comes back only when
 * nothing runs as it should any more: then the service has to end. Main thread.
 */
PROFCOL_MUST_CHECK struct profcol_error *reload_run(const struct reload *reload);
