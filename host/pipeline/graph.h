/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipelines that run, for as long as the service does: one layout after the other, and the
 * books over all of them.
 *
 * A batch goes along by calls, on the caller's thread: to one consumer after the
 * other, and the errors are joined.
 *
 * Threads: main changes it (transition.h), and may read it at any time. All others read
 * between graph_lock and graph_unlock.
 */
#pragma once

#include "books.h"
#include "layout.h"

struct graph {
	pthread_rwlock_t lock; /* guards the instances against being destroyed, and: */
	struct layout *layout; /* owned; the one that runs */
	bool ready;            /* all has been started, and shutdown has not begun */
	uint64_t ready_unix_ns;
	bool changing;          /* a transition is under way */
	uint64_t start_unix_ns; /* when the graph was made */

	struct instance_settings settings; /* of instances to come; the pointers are borrowed */
	VECTOR(struct generation *) generations;
	/* Owned: shut down, and to be destroyed once nobody leads to them; upstream first. */
	VECTOR(struct instance *) retired;
	struct books books;
};

/*
 * Create and connect all that the service of @config (borrowed until destroy) names. Each
 * instance is given @settings with the extensions among them (instance_find_extension).
 * Nothing is started.
 */
PROFCOL_MUST_CHECK struct profcol_error *graph_create(const struct config *config,
						      const struct instance_settings *settings,
						      struct graph **ret);
void graph_destroy(struct graph *graph); /* accepts NULL */

/* Keep instances where they are, for moments. Any thread. */
void graph_lock(struct graph *graph);
void graph_unlock(struct graph *graph);

/* Call @visit on each instance, in the order of start. Under graph_lock. */
void graph_visit(struct graph *graph, void (*visit)(struct instance *instance, void *context),
		 void *context);

/* All is started, or shutdown begins. Main thread. */
void graph_set_ready(struct graph *graph, bool ready);

/* While it is, views leave out who is just being started or shut down. Main thread. */
void graph_set_changing(struct graph *graph, bool changing);

/* The balance over all ways to the exporter called @id, of this layout and those before; see
 * accounting.h. */
void graph_balance(const struct graph *graph, const char *id, struct balance *ret);

/*
 * The exporters' balances on one line: "samples: taken=...", with several
 * "samples: pprof: taken=...; debug: taken=...", those that are gone last. What is still under way
 * is unaccounted for, or with @rest lost, by that cause. Writes at most @size bytes including the
 * NUL.
 */
void graph_format_samples(const struct graph *graph, const char *rest, char *to, size_t size);

/* ---- for transitions; main thread ---- */

/*
 * Note @config, which instances are going to borrow from: @owned, or borrowed until destroy. NULL
 * without memory; @config is the caller's then.
 */
struct generation *graph_add_generation(struct graph *graph, const struct config *config,
					struct config *owned);

/* Destroy the retired instances that nobody leads to, and configurations that nobody uses. */
void graph_collect(struct graph *graph);
