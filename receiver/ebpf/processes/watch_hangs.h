/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says which processes and file systems do not answer: by metrics, by the component's state, and by
 * a line in the log, which nobody can have written more often than every ten minutes. From the one
 * thread of watch.h, but for registering.
 */
#pragma once

#include "files.h"

#include <profcol/component.h>

#include <stdbool.h>
#include <stdint.h>

enum { HANG_CLOSE = TIMED_CALL_KINDS, HANG_KINDS };

struct watch_hangs {
	struct profcol_metric *unanswered[TIMED_CALL_KINDS]; /* counters */
	struct profcol_metric *unasked[HANG_KINDS];          /* counters */
	struct profcol_metric *hanging[HANG_KINDS];          /* gauges */
	uint64_t said_ns[HANG_KINDS];                        /* CLOCK_MONOTONIC; 0 = not yet */
	bool reported;                                       /* the component's state has it */
};

void watch_hangs_register(struct watch_hangs *hangs, const struct profcol_host *host);

/* Once a second. */
void watch_hangs_show(struct watch_hangs *hangs, const struct profcol_host *host,
		      struct files *files);
