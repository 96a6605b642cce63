/* SPDX-License-Identifier: Apache-2.0 */
/* Each path has its answer; docs/web.md describes them. One thread at a time. */
#pragma once

#include "history.h"
#include "parameters.h"

#include <profcol/http.h>

struct profcol_host;

/* All borrowed. */
struct answer_context {
	const struct profcol_host *host;
	const struct history *history;
	const char *version;
	uint64_t retention_ns, memory_bytes;
	uint64_t refused_samples; /* that the inbox had no room for, or memory */
	uint64_t now_unix_ns;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
};

enum answer_route {
	ROUTE_NONE,
	ROUTE_PAGE,
	ROUTE_SCRIPT,
	ROUTE_STYLE,
	ROUTE_STATUS,
	ROUTE_LOAD,
	ROUTE_FLAME,
	ROUTE_TOP,
	ROUTE_PPROF,
	ROUTE_FOLDED,
	ROUTE_OTLP,
	ROUTE_SVG,
	ROUTE_HTML,
	ROUTE_PPROF_INDEX,
	ROUTE_PPROF_PROFILE, /* with a range, or when the time to wait for is over */
	ROUTE_PPROF_OFF_CPU, /* the same, narrowed by who serves it */
	ROUTE_PPROF_OTHER,   /* what other programs have there */
};

enum answer_route answer_find_route(const char *path);

/* Of what is in the history. @answer is zeroed before but for its size; its body is the caller's.
 */
void answer_make(const struct answer_context *context, enum answer_route route,
		 const struct parameters *parameters, struct profcol_http_answer *answer);

/* A status with a line of text. */
void answer_refuse(struct profcol_http_answer *answer, int status, const char *text);

/* The same for @error, which it takes. */
void answer_fail(struct profcol_http_answer *answer, struct profcol_error *error);
