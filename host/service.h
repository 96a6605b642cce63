/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run of the pipelines, from the first instance to the exit line: start, wait for
 * SIGINT or SIGTERM, reload on SIGHUP, drain, say where the samples went.
 */
#pragma once

#include "config/config.h"

struct plugins;

/* Samples so far, as the accounts of all components have them (<profcol/metrics.h>). */
struct service_samples {
	/* Of a pipeline with one exporter: taken is never less than the others together. */
	uint64_t taken, exported, filtered, lost;
	uint64_t processes;        /* that receivers know at the moment */
	uint64_t selected;         /* programs that receivers select, of those they sampled */
	uint64_t refused_requests; /* of peers, unread */
};

/* Samples that were lost on all ways to one exporter. */
struct service_losses {
	const char *exporter; /* its id; borrowed */
	uint64_t samples;
	char causes[256]; /* "ring_buffer_full=7 no_memory=1"; cut where it does not fit */
};

struct service;

/* Who follows a run that it has started: a command with an end of its own. Main thread. */
struct service_companion {
	void (*started)(struct service *service, void *context); /* everything runs */
	/* The drain begins: service_end and service_count are not to be called any more. Comes
	 * once, after `started` only. */
	void (*ending)(void *context);
	void *context;
};

struct service_settings {
	const char *version;
	/* Borrowed: where @config is from, and what a reload reads again. */
	const struct config_sources *sources;
	const struct component_registry *registry; /* borrowed: of all types that there are */
	const struct plugins *plugins;             /* borrowed: where some are from; may be NULL */
	bool watch;                                /* reload when a file changes, too */
	int log_fd;                                /* what "stderr" is for log lines */
	const struct service_companion *companion; /* borrowed; NULL = none */
	struct service_samples *samples;           /* set at the end; NULL = not wanted */
	struct service_losses *losses;             /* the same */
	int *signal;       /* the same: that has asked for the end, or came before it; 0 = none */
	bool hangup_ends;  /* SIGHUP asks for the end */
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

/* Ask for the end, as a signal would. Any thread, from `started` to `ending`. */
void service_end(struct service *service);

/* Any thread, from `started` to `ending`. */
struct service_samples service_count(struct service *service);
