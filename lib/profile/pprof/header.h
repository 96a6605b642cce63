/* SPDX-License-Identifier: Apache-2.0 */
/* What a pprof file says as a whole: window, period, preferred column, comments. */
#pragma once

#include "string_numbers.h"
#include "value_columns.h"

struct pprof_header {
	/* string numbers; 0 = unset */
	uint32_t drop_frames, keep_frames, doc_url, default_sample_type;
	uint32_t period_type, period_unit;
	int64_t period;
	int64_t time_ns;            /* earliest start of a window, Unix */
	int64_t duration_ns;        /* until the latest end */
	VECTOR(uint32_t) comments;  /* string numbers */
	VECTOR(bool) seen_comments; /* by string number: of the profiles before */
	bool failed;                /* no memory */
};

/* Of profiles that differ the first one that says something is taken; of periods the longest. */
void header_init(struct pprof_header *header, const struct profcol_batch *batch,
		 const struct value_columns *columns, struct string_numbers *strings);
void header_deinit(struct pprof_header *header);
