/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers a component shows, and the account of every sample.
 *
 * They are served as Prometheus text (docs/telemetry.md): "symbol_cache_bytes" of the receiver
 * "profiling" is profcol_symbol_cache_bytes{receiver="profiling"}, and a name that the Collector
 * has, as "exporter_sent_profile_samples", goes by its name there.
 *
 * A metric is registered once, in create or start, and then only added to or
 * set: one relaxed atomic, no lock, any thread. The host owns the storage and
 * frees it after the component's destroy.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum profcol_metric_kind {
	PROFCOL_COUNTER, /* only grows */
	PROFCOL_GAUGE,
	PROFCOL_COUNTER_NS, /* a counter of nanoseconds, shown in seconds: end its name so */
	PROFCOL_GAUGE_NS,   /* the same of a gauge */
};

struct profcol_metric {
	_Atomic int64_t value;
};

static inline void profcol_metric_add(struct profcol_metric *metric, int64_t delta)
{
	atomic_fetch_add_explicit(&metric->value, delta, memory_order_relaxed);
}

static inline void profcol_metric_set(struct profcol_metric *metric, int64_t value)
{
	atomic_store_explicit(&metric->value, value, memory_order_relaxed);
}

static inline int64_t profcol_metric_get(const struct profcol_metric *metric)
{
	return atomic_load_explicit(&metric->value, memory_order_relaxed);
}

/*
 * The account. A component books each sample that it saw the beginning or the end of
 * (one event: a timestamp, or a value where there are no timestamps; of a value that
 * counts samples, as many as it says; profcol_batch_events):
 *
 *   receiver   TAKEN, and of these FILTERED{cause} and LOST{cause}
 *   processor  FILTERED{cause}, LOST{cause}
 *   exporter   EXPORTED, LOST{cause}, STORED
 *
 * so that on every way from a receiver to an exporter, once all is drained,
 * taken = exported + filtered{cause} + lost{cause} + stored. What an earlier process
 * stored and this one finds is TAKEN here. A batch that a consumer
 * refuses is booked as LOST by the host at that edge, with the name of the
 * error's code as the cause: the component itself must not book it again.
 *
 * A receiver books TAKEN before it books or hands on what becomes of a sample, so that figures that
 * are read meanwhile never show more of that than were taken.
 */
enum profcol_outcome {
	PROFCOL_TAKEN,
	PROFCOL_EXPORTED,
	PROFCOL_FILTERED,
	PROFCOL_LOST,
	PROFCOL_STORED, /* kept beyond the process, to be sent by the next one */
};
