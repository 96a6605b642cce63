/* SPDX-License-Identifier: Apache-2.0 */
/* What a peer's answer means for the request, by the rules of OTLP. Pure. */
#pragma once

#include "net/net.h"

#include <profcol/component.h>

/*
 * NULL when the peer took the request, with the rest of @reply filled in; else an error that
 * says whether to try again, its text made for whoever has to mend it, without the endpoint.
 */
PROFCOL_MUST_CHECK struct profcol_error *outcome_of(const struct profcol_request *request,
						    const struct net_answer *answer,
						    struct profcol_reply *reply);
