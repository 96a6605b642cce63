/* SPDX-License-Identifier: Apache-2.0 */
/* What tables.h tells of itself in numbers. Any thread. */
#pragma once

#include "pages.h"
#include "spaces.h"

#include <profcol/component.h>

struct tables_metrics {
	struct profcol_metric *memory, *used, *files, *pages, *processes; /* gauges */
	struct tables_runtime_metrics {
		struct profcol_metric *known, *unknown; /* gauges; NULL: no such runtime */
		struct profcol_metric *refused[RUNTIME_REFUSALS]; /* by reason */
		struct profcol_metric *walks_refused;             /* a counter */
	} runtimes[RUNTIMES];
	/* Counters: */
	struct profcol_metric *built, *evicted, *refused, *failed, *notes_dropped;
	struct profcol_metric *ranges_dropped, *processes_refused, *processes_evicted;
	struct profcol_metric *files_given_up, *rules_refused, *files_yielded;
	struct profcol_metric *unsupported[UNWIND_UNSUPPORTED_COUNT];
};

void tables_metrics_init(struct tables_metrics *metrics, const struct profcol_host *host);

/* All but notes_dropped and walks_refused, as it is now: @made_bytes are the kernel's, of which
 * @used_bytes hold tables. */
void tables_metrics_show(const struct tables_metrics *metrics, const struct pages_counts *pages,
			 const struct spaces_counts *spaces, uint64_t made_bytes,
			 uint64_t used_bytes);
