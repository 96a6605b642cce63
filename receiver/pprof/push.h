/* SPDX-License-Identifier: Apache-2.0 */
/* The server takes what clients POST to /v1/pprof. A request is acknowledged once the pipelines
 * have taken it. */
#pragma once

#include "config.h"
#include "intake.h"

struct push;

/* Listens. Both are borrowed until destroy. CONFIG and SYSTEM as net_http_server_create(). */
PROFCOL_MUST_CHECK struct profcol_error *push_create(const struct pprof_server_config *config,
						     struct intake *intake, struct push **ret);

/* Takes nothing any more, without waiting. */
void push_stop(struct push *push);

/* The same; waits until @deadline_ns (CLOCK_MONOTONIC) for what is being taken. */
void push_shutdown(struct push *push, uint64_t deadline_ns);

void push_destroy(struct push *push); /* accepts NULL */
