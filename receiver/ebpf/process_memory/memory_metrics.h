/* SPDX-License-Identifier: Apache-2.0 */
/* What became of names of runtimes' frames, as metrics. One thread at a time. */
#pragma once

#include "frame_names.h"

#include <profcol/component.h>

struct memory_metrics {
	struct profcol_metric *results[RUNTIMES][FRAME_STATES]; /* NULL: does not happen */
	struct profcol_metric *threads[RUNTIMES][FRAME_STATES]; /* the same, of names of threads */
	struct profcol_metric *bytes, *evicted, *dropped, *denied;
	uint64_t evicted_shown, dropped_shown;
	bool told; /* that memory cannot be opened */
};

void memory_metrics_init(struct memory_metrics *metrics, const struct profcol_host *host);

/* @frame of @runtime, or a thread, came to @state. What a process runs is not counted. */
void memory_metrics_count(struct memory_metrics *metrics, uint32_t runtime,
			  const struct runtime_frame *frame, enum frame_state state);

/* The kernel has denied a process's memory: counted, and told once. */
void memory_metrics_denied(struct memory_metrics *metrics, const struct profcol_host *host);

/* What @names have, and have lost since the start. */
void memory_metrics_show(struct memory_metrics *metrics, const struct frame_names *names);
