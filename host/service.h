/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of the pipelines, from the first instance to the exit line: start, wait for
 * SIGINT or SIGTERM, drain, say where the samples went.
 */
#pragma once

#include "config/config.h"

#include <profcol/logging.h>

struct service_settings {
	const char *version;
	enum profcol_level level; /* lines below are not logged */
	int log_fd;
	uint64_t drain_ns; /* for the shutdown of all components together */
	uint64_t grace_ns; /* after which the process ends without the one that hangs */
};

/*
 * Main thread, before any other thread exists; once in a process: its signals stay
 * blocked. NULL after a drain without fault. A failed start has been undone when its
 * error comes back. Ends the process with code 1 on a second signal, and when a
 * component does not shut down.
 */
PROFCOL_MUST_CHECK struct profcol_error *service_run(const struct service_settings *settings,
						     const struct config *config);
