/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of the pipelines, from the first instance to the exit line: start, wait for
 * SIGINT or SIGTERM, reload on SIGHUP, drain, say where the samples went.
 */
#pragma once

#include "config/config.h"

struct plugins;

struct service_settings {
	const char *version;
	/* Borrowed: where @config is from, and what a reload reads again. */
	const struct config_sources *sources;
	const struct component_registry *registry; /* borrowed: of all types that there are */
	const struct plugins *plugins;             /* borrowed: where some are from; may be NULL */
	bool watch;                                /* reload when a file changes, too */
	int log_fd;                                /* what "stderr" is for log lines */
	uint64_t grace_ns; /* after which the process ends without the one that hangs */
};

/*
 * Takes @config. Main thread, before any other thread exists; once in a process: its signals
 * stay blocked. NULL after a drain without fault. A failed start has been undone when its
 * error comes back. Ends the process with code 1 on a second signal, and when a
 * component does not shut down.
 */
PROFCOL_MUST_CHECK struct profcol_error *service_run(const struct service_settings *settings,
						     struct config *config);
