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
#include "logging.h"
#include "metrics.h"

#include "config/config.h"

#include "base/base.h"

#include <pthread.h>
#include <stdatomic.h>

struct sending;
struct spawner;

enum instance_state {
	INSTANCE_CREATED,
	INSTANCE_RUNNING, /* start has succeeded: batches may come */
	INSTANCE_STOPPED, /* shutdown has begun, or is over */
};

struct instance_settings {
	const char *version;      /* of the program */
	enum profcol_level level; /* of log lines */
	int log_fd;               /* borrowed */
	struct spawner *spawner;  /* borrowed; NULL when helpers cannot be had */

	/* Made before this instance, started before it and shut down after it; borrowed. */
	struct instance *const *extensions;
	size_t extension_count;
};

struct instance {
	struct profcol_host host; /* first: what the component is given is this instance */
	const struct config_component *configuration; /* borrowed until destroy */
	struct spawner *spawner;                      /* borrowed */
	void *self;                                   /* the component's; NULL before create */
	struct sending *sending;                      /* owned; NULL unless the type has `send` */
	struct logger logger;
	struct metrics metrics;
	struct account account;
	VECTOR(struct instance *) next; /* borrowed; fixed before the first start */

	/* Held for reading while a batch is inside, for writing to let no further one in. */
	pthread_rwlock_t gate;
	_Atomic enum instance_state state;
	pthread_mutex_t serial; /* held around consume of a PROFCOL_SERIAL component */
	_Atomic int status;     /* enum profcol_status, as reported last */
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

/* False without memory. Before the first start only. */
bool instance_connect(struct instance *from, struct instance *to);

PROFCOL_MUST_CHECK struct profcol_error *instance_start(struct instance *instance);

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

/*
 * Hand @batch to @instance, which takes it whatever the result. Refused with SHUTDOWN
 * unless the instance is running. The samples of a refused batch are booked here, once:
 * an error that comes back is marked as counted and names the instance that refused.
 * Any thread.
 */
PROFCOL_MUST_CHECK struct profcol_error *instance_consume(struct instance *instance,
							  struct profcol_batch *batch);

/* For messages: "receiver", "exporter", ... */
const char *instance_kind(const struct instance *instance);
