/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is answered: to probes as version 1 of the Collector's extension does, and the statuses
 * of pipelines and components as version 2 does. Private to extensions/health_check. Pure.
 */
#pragma once

#include "config.h"

#include <profcol/http.h>
#include <profcol/status.h>

#include <stdint.h>

/* Available: 200, else 503. @view may be NULL: not available. */
void answer_probe(const struct health_check_config *config, const struct profcol_service_view *view,
		  uint64_t now_unix_ns, struct profcol_http_reply *reply);

/*
 * The status of everything, or by `pipeline=` in @query of one; by `verbose` with those of the
 * parts. 404 for an unknown pipeline. @view may be NULL: 503.
 */
void answer_status(const struct health_check_config *config,
		   const struct profcol_service_view *view, const char *query, uint64_t now_unix_ns,
		   struct profcol_http_reply *reply);
