/* SPDX-License-Identifier: Apache-2.0 */
/* What a client asks for, of what is kept: as a batch or as a call tree. One thread at a time. */
#pragma once

#include "history.h"
#include "parameters.h"

#include <profcol/batch.h>
#include <profcol/errors.h>

struct flame;

/* What was found, beside the samples. */
struct query_result {
	struct history_range covered; /* {0, 0}: nothing is kept of that time */
	uint64_t failures; /* samples that a condition has no answer for: they are left out */
	char message[OTTL_MESSAGE_SIZE]; /* why, of the first one; "" without */
};

/*
 * The samples of @selection, compact. UNAVAILABLE past @deadline_ns (CLOCK_MONOTONIC).
 */
PROFCOL_MUST_CHECK struct profcol_error *
query_batch(const struct history *history, const struct selection *selection, uint64_t deadline_ns,
	    struct profcol_batch **ret, struct query_result *result);

/* As a call tree of the kind that @parameters name. @base_result is written with a base only.
 * *@ret is the caller's. */
PROFCOL_MUST_CHECK struct profcol_error *query_flame(const struct history *history,
						     const struct parameters *parameters,
						     uint64_t deadline_ns, struct flame **ret,
						     struct query_result *result,
						     struct query_result *base_result);
