/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the components are, as the host sees it. The states and the ways between them
 * are those of the OpenTelemetry Collector's component status: a component reports
 * OK and the errors, the host the rest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum profcol_status {
	PROFCOL_STATUS_NONE, /* created, not started */
	PROFCOL_STATUS_STARTING,
	PROFCOL_STATUS_OK,
	PROFCOL_STATUS_RECOVERABLE_ERROR, /* in trouble, trying on */
	PROFCOL_STATUS_PERMANENT_ERROR,   /* this component has given up; the others go on */
	PROFCOL_STATUS_FATAL_ERROR,       /* the whole process has to end */
	PROFCOL_STATUS_STOPPING,
	PROFCOL_STATUS_STOPPED,
};

struct profcol_component_view {
	const char *kind; /* "receiver", "processor", "exporter", "extension" */
	const char *id;   /* "pprof/node" */
	bool mutates;     /* PROFCOL_MUTATES */
	enum profcol_status status;
	uint64_t since_unix_ns; /* of that status */
	const char *message;    /* what was reported with it; "" without */
};

struct profcol_pipeline_view {
	const char *id; /* "profiles/raw" */
	bool mutates;   /* one of its components does */
	/* Receivers, processors in the order of the data, exporters. */
	const struct profcol_component_view *components;
	size_t receiver_count, processor_count, exporter_count;
};

/* One moment. A component in two pipelines is in both. */
struct profcol_service_view {
	const char *version;
	uint64_t start_unix_ns; /* of the process */
	/* All pipelines run: start is over and shutdown has not begun. A reload leaves it true;
	 * whom it is just starting or shutting down is not in the view. */
	bool ready;
	uint64_t ready_unix_ns;                        /* when that became what it is */
	const struct profcol_pipeline_view *pipelines; /* in the order of the file */
	size_t pipeline_count;
	const struct profcol_component_view *extensions; /* those enabled, in order */
	size_t extension_count;
};
