/* SPDX-License-Identifier: Apache-2.0 */
/* Statements carried out over one batch. One thread. */
#pragma once

#include "groups.h"

#include <profcol/batch.h>

/* What could not be carried out, of a batch. */
struct failures {
	uint64_t count; /* of those that are to be logged */
	/* The first of them. */
	const char *text; /* the statement or condition; borrowed */
	char message[OTTL_MESSAGE_SIZE];
	/* The one for which the batch is to be refused; NULL without. */
	const char *refused; /* borrowed */
	char reason[OTTL_MESSAGE_SIZE];
};

/*
 * *@ret is @batch after all of @groups; a further reference to @batch itself when no statement was
 * carried out, NULL when the batch is refused. What was removed or replaced leaves no text behind:
 * the result is compact, or marked for those who write it (profile_mark_unused()).
 */
PROFCOL_MUST_CHECK struct profcol_error *apply_groups(const struct groups *groups,
						      struct profcol_batch *batch,
						      struct failures *failures,
						      struct profcol_batch **ret);

/* ---- what the parts of it share ---- */

/* One batch at work. */
struct applying {
	struct profcol_builder *builder; /* owned */
	struct ottl_run *run;            /* owned */
	struct failures *failures;       /* borrowed */
	uint64_t failed;                 /* statements and conditions so far, logged or not */
	bool has_changed;
	bool has_no_memory;
};

/* What the batch is at this time. */
const struct profcol_batch *applying_batch(const struct applying *applying);

/* Carry @group out for the row at @position, unless its conditions are not met. */
void apply_row(struct applying *applying, const struct group *group,
	       struct ottl_position *position);

/* apply_entries.c: for each sample, frame or mapping; once where the same comes out of it. */
void apply_samples(struct applying *applying, const struct group *group);
void apply_frames(struct applying *applying, const struct group *group);
void apply_mappings(struct applying *applying, const struct group *group);
