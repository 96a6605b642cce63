/* SPDX-License-Identifier: Apache-2.0 */
/* What stays of a batch, row by row, and what goes for which reason. One thread. */
#pragma once

#include "conditions.h"
#include "selection.h"

#include "profile/profile.h"

enum cause { CAUSE_CONDITION, CAUSE_NOT_INCLUDED, CAUSE_EXCLUDED, CAUSE_COUNT };

struct decision {
	uint8_t *profiles, *samples;  /* owned; by row: 1 = it stays */
	uint64_t events[CAUSE_COUNT]; /* that go, as the account counts them */
	bool drops;                   /* something goes, be it a profile without samples */
	struct condition_failures failures;
};

/* Judge all of @batch. Not complete with failures.refused. NULL, or NO_MEMORY. The caller's to
 * deinit, in any case. */
PROFCOL_MUST_CHECK struct profcol_error *decision_make(struct decision *decision,
						       const struct conditions *conditions,
						       const struct selection *selection,
						       const struct profcol_batch *batch);
void decision_deinit(struct decision *decision); /* accepts a zeroed one */
