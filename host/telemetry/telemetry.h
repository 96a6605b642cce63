/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service's own metrics as Prometheus reads them: GET /metrics on each endpoint of
 * service::telemetry::metrics (docs/telemetry.md has every name).
 *
 * Threads: start, prepare, commit, abort and destroy from one at a time; scrapes come on the HTTP
 * server's; the rest from any.
 */
#pragma once

#include "config/config.h"

struct graph;
struct http_server;
struct log_output;
struct profcol_logger;
struct telemetry;

struct telemetry_settings { /* borrowed until destroy, but for the configuration */
	const struct config_service *service; /* during the call */
	struct http_server *http;
	struct graph *graph;
	const struct log_output *log; /* for figures of log lines; may be NULL */
	const char *version;
	const struct profcol_logger *logger; /* for trouble with clients; may be NULL */
};

/* Opens the listeners. The error names the reader and its endpoint. */
PROFCOL_MUST_CHECK struct profcol_error *telemetry_start(const struct telemetry_settings *settings,
							 struct telemetry **ret);

/* Closes the listeners; before the graph and the server go. Accepts NULL. */
void telemetry_destroy(struct telemetry *telemetry);

/*
 * Get ready to be as @service has it, which is borrowed until commit or abort: open the listeners
 * that are new. Those of before stay open, but for one that is to go and has the port that a new
 * one needs. On error everything is as it was, or the error names the listener that is lost.
 */
PROFCOL_MUST_CHECK struct profcol_error *telemetry_prepare(struct telemetry *telemetry,
							   const struct config_service *service);

/* Be as prepared, and close the listeners that are not wanted any more. */
void telemetry_commit(struct telemetry *telemetry);

/* Stay as before instead. The error names a listener that could not be opened again. */
PROFCOL_MUST_CHECK struct profcol_error *telemetry_abort(struct telemetry *telemetry);

/* A reload of the configuration is over, and has been taken (@taken) or refused. Accepts NULL. */
void telemetry_note_reload(struct telemetry *telemetry, bool taken);
