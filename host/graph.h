/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pipelines as instances and edges. A receiver or an exporter has one instance,
 * shared by the pipelines that name it; a processor has one in each pipeline. An
 * extension has one too, and stands beside the pipelines: it is there before and after
 * everything else.
 *
 *   receiver -> first processor -> ... -> last processor -> each exporter
 *
 * A batch goes along by calls, on the caller's thread: to one consumer after the
 * other, and the errors are joined. Fixed once built: any thread may read.
 */
#pragma once

#include "instance.h"

struct graph_pipeline {
	const char *id;
	struct instance **receivers; /* borrowed from graph.instances, as the next two */
	size_t receiver_count;
	struct instance **processors; /* in the order of the data */
	size_t processor_count;
	struct instance **exporters;
	size_t exporter_count;
};

struct graph {
	/* In the order of start: extensions, exporters, processors from the back, receivers. */
	VECTOR(struct instance *) instances; /* owned */
	struct graph_pipeline *pipelines;
	size_t pipeline_count;
	struct instance **extensions; /* borrowed; in the order of service.extensions */
	size_t extension_count;
	struct arena *memory; /* of the arrays */
};

/*
 * Create and connect all that the service of @config (borrowed until destroy) names. Each
 * instance is given @settings with the extensions among them (instance_find_extension).
 */
PROFCOL_MUST_CHECK struct profcol_error *graph_create(const struct config *config,
						      const struct instance_settings *settings,
						      struct graph **ret);
void graph_destroy(struct graph *graph); /* accepts NULL */

/* The balance over all ways to @exporter; see accounting.h. */
void graph_balance(const struct graph *graph, const struct instance *exporter, struct balance *ret);

/*
 * The exporters' balances on one line: "samples: taken=...", with several
 * "samples: pprof: taken=...; debug: taken=...". Writes at most @size bytes including the NUL.
 */
void graph_format_samples(const struct graph *graph, char *to, size_t size);
