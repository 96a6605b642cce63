/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One running copy of a component: its state, the services it gets from the host, and
 * the edges that lead to and from it.
 *
 * An edge is a call of instance_consume(). It hands a batch over, or refuses it and
 * books its samples as lost at the instance that it was meant for.
 */
#pragma once

#include "accounting.h"
#include "edges.h"
#include "logging.h"
#include "metrics.h"
#include "status.h"

#include "config/config.h"
#include "telemetry/batch_sizes.h"

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

struct generation;
struct graph;
struct http_server;
struct sending;
struct spawner;

enum instance_state {
	INSTANCE_CREATED,
	INSTANCE_RUNNING, /* start has succeeded: batches may come */
	INSTANCE_STOPPED, /* start has failed, shutdown has begun, or is over */
};

struct instance_settings {
	const char *version;      /* of the program */
	enum profcol_level level; /* of log lines */
	int log_fd;               /* borrowed; without @log */
	struct log_output *log;   /* borrowed; where log lines go, or NULL */
	struct spawner *spawner;  /* borrowed; NULL when helpers cannot be had */
	struct http_server *http; /* borrowed; NULL when there are no pages */
	struct graph *graph;      /* borrowed: what `view` shows; set by graph_create */
	int end_fd;               /* borrowed: as the host's; 0 = none */

	/* A component has reported FATAL_ERROR. Takes @error, which names it. Any thread. NULL: it
	 * is logged and nothing more. */
	void (*fatal)(struct profcol_error *error, void *context);
	void *context;

	const char *pipeline; /* of a processor; else NULL; copied */

	/* Made before this instance, started before it and shut down after it; borrowed. */
	struct instance *const *extensions;
	size_t extension_count;
};

/* What an instance has done up to one moment. */
struct instance_figures {
	struct balance booked;
	uint64_t passed; /* samples handed on */
};

struct instance {
	struct profcol_host host; /* first: what the component is given is this instance */
	char *id;                 /* owned; the configuration's, which a reload may replace */
	char *pipeline;           /* owned; of a processor; else NULL */
	/* Borrowed until destroy, or until instance_reconfigure. Threads that are not main:
	 * under graph_lock. */
	const struct config_component *configuration;
	const struct profcol_component *type; /* borrowed; of any configuration that it may have */
	struct generation *generation; /* borrowed: where the configuration is from; NULL = none */
	struct spawner *spawner;       /* borrowed, as the next two */
	struct http_server *http;
	struct graph *graph;
	void (*fatal)(struct profcol_error *error, void *context);
	void *context;
	void *self;               /* the component's; NULL before create */
	struct sending *sending;  /* owned; NULL unless the type has `send` */
	struct instance *storage; /* borrowed: the extension that keeps its queue; NULL = none */
	struct logger logger;
	struct metrics metrics;
	struct account account;
	struct status status;

	struct edges next;        /* to those behind it */
	atomic_size_t references; /* lists of edges and instances that lead here: not to be
				   * destroyed before it is 0 */

	/* Samples: that came in by its edge; of those it handed on, which were taken, and whose
	 * hand-over failed. */
	_Atomic uint64_t arrived, accepted, refused;
	struct batch_sizes sizes; /* of what came in; of a receiver: of what it made */

	/* Held for reading while a batch is inside, for writing to let no further one in. */
	pthread_rwlock_t gate;
	_Atomic enum instance_state state;
	bool shut_down;         /* has been, or is just being; main thread */
	pthread_mutex_t serial; /* held around consume of a PROFCOL_SERIAL component */

	/* For the books: what had been booked when the last period was closed, and when this one is
	 * being closed. Main thread. */
	struct instance_figures closed, closing;
};

/* Makes the component's instance too. @configuration and @settings' pointers are borrowed until
 * destroy. */
PROFCOL_MUST_CHECK struct profcol_error *
instance_create(const struct config_component *configuration,
		const struct instance_settings *settings, struct instance **ret);
void instance_destroy(struct instance *instance); /* accepts NULL */

/*
 * The extension that the configuration calls @id, e.g. "file_storage/disk"; NULL when
 * service.extensions does not name it. During create its `self` is made, but not started.
 */
struct instance *instance_find_extension(const struct instance_settings *settings, const char *id);

/* Refused unless the extension that keeps its queue runs. An error is its status, too, and it is
 * stopped: it has still to be shut down and destroyed. */
PROFCOL_MUST_CHECK struct profcol_error *instance_start(struct instance *instance);

/* It runs, and has not given up. Main thread. */
bool instance_is_well(struct instance *instance);

/*
 * Offer @options to a component that can take others over while it runs; no batch is inside
 * meanwhile. False when it cannot, or does not: then it has to be restarted. The caller
 * sets @instance's configuration. Main thread.
 */
bool instance_reconfigure(struct instance *instance, const void *options, uint64_t deadline_ns);

/*
 * Let no further batch in, wait until @deadline_ns (CLOCK_MONOTONIC) for those inside to
 * leave, and shut the component down. Only the first call does anything.
 */
PROFCOL_MUST_CHECK struct profcol_error *instance_shutdown(struct instance *instance,
							   uint64_t deadline_ns);

/* The graph is about to shut down: do not make those upstream wait. Any thread. */
void instance_expect_shutdown(struct instance *instance, uint64_t deadline_ns);

/* Upstream is down, and the shutdown of this one is to follow: begin with what takes time. */
void instance_drain(struct instance *instance, uint64_t deadline_ns);

/* As the component's report_status; the host's own statuses go this way, too. Any thread. */
void instance_report_status(struct instance *instance, enum profcol_status status,
			    const char *message);

/*
 * Hand @batch to @instance, which takes it whatever the result. Refused with SHUTDOWN
 * unless the instance is running. The samples of a refused batch are booked here, once:
 * an error that comes back is marked as counted and names the instance that refused.
 * Any thread.
 */
PROFCOL_MUST_CHECK struct profcol_error *instance_consume(struct instance *instance,
							  struct profcol_batch *batch);

/* Hand @batch to each of those behind @instance; it takes it. Any thread. */
PROFCOL_MUST_CHECK struct profcol_error *instance_consume_next(struct instance *instance,
							       struct profcol_batch *batch);

/* As the host's `known`: do all that come after @instance know that resource? Any thread. */
bool instance_known_next(struct instance *instance, const char *key, const char *value);

/* As the host's `has_room`: does nobody after @instance say no? Any thread. */
bool instance_has_room_next(struct instance *instance, size_t bytes);

enum profcol_kind instance_type_kind(const struct instance *instance);
/* For messages: "receiver", "exporter", ... */
const char *instance_kind(const struct instance *instance);
