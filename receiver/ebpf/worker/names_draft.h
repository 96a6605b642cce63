/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An answer of lines on its way into memory: what became of each place that was asked for, and the
 * functions that run there (protocol.h: NAMES, MAP, LINES). One thread at a time.
 */
#pragma once

#include "protocol.h"

#include "base/base.h"

/* All zero is an empty one. */
struct names_draft {
	VECTOR(struct worker_named) named;
	VECTOR(struct worker_line) lines;
	VECTOR(char) text;
	uint32_t lines_before; /* of the place at hand, */
	uint32_t text_before;  /* and its text */
	bool no_memory;
};

void names_draft_deinit(struct names_draft *draft);

/* Make room for @count places. Returns 0 or -ENOMEM. */
int names_draft_begin(struct names_draft *draft, size_t count);

/* The next place: its lines come now. */
void names_draft_open(struct names_draft *draft);

/* As runtime_lines.add, to the place at hand; @context is the draft. */
bool names_draft_line(void *context, const struct runtime_line *line);

/* What became of it. Unless that is RUNTIME_NAMED its lines are dropped; without lines it is not
 * RUNTIME_NAMED but RUNTIME_MALFORMED. @trace: enum runtime_trace. */
void names_draft_close(struct names_draft *draft, enum runtime_outcome outcome, uint32_t trace);

/* The answer, into memory the caller frees. Returns 0 or -ENOMEM. */
int names_draft_finish(const struct names_draft *draft, void **ret, size_t *bytes_ret);
