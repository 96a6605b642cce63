/* SPDX-License-Identifier: Apache-2.0 */
/* Whether pages can be served. Private to the doctor. */
#pragma once

#include <profcol/errors.h>
#include <profcol/http.h>

#include "base/base.h"

/* Listeners that have been tried, and are open until deinit: what one part of a configuration
 * takes is taken for the others. Zeroed: none. One thread. */
struct doctor_http {
	struct http_server *server;                       /* owned */
	VECTOR(struct profcol_http_listener *) listeners; /* owned */
};

/* NULL when the address of @settings, which need no handler, could be had; it is ours now. */
PROFCOL_MUST_CHECK struct profcol_error *
doctor_http_try(struct doctor_http *http, const struct profcol_http_settings *settings);

void doctor_http_deinit(struct doctor_http *http);
