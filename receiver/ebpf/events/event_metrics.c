// SPDX-License-Identifier: Apache-2.0
#include "events.h"

#include <stdio.h>

static struct profcol_metric *add(const struct profcol_host *host, enum profcol_metric_kind kind,
				  const char *name, const char *event, const char *doc)
{
	char label[64];

	snprintf(label, sizeof(label), "event=%s", event);
	return host->metric(host, kind, name, label, doc);
}

void event_metrics_init(struct event_metrics *metrics, const struct profcol_host *host,
			const struct profiling_config *config)
{
	uint32_t wanted = 0;

	*metrics = (struct event_metrics){ 0 };
	// Has been refused before.
	profcol_error_destroy(events_wanted(config, &wanted));
	wanted &= ~(1u << SAMPLE_CPU_CLOCK | 1u << SAMPLE_WALL);
	if (wanted)
		metrics->run_time = host->metric(host, PROFCOL_COUNTER_NS, "bpf_run_seconds",
						 "program=sample_events",
						 "Time inside a BPF program, on all CPUs");
	for (uint32_t origin = 0; origin < SAMPLE_ORIGINS; origin++) {
		const struct event_kind *kind = event_kind_of(origin);

		if (!(wanted & 1u << origin) || !kind)
			continue;
		metrics->seen[origin] =
			add(host, PROFCOL_COUNTER, "events_seen", kind->name,
			    "Events that the kernel side has looked at, sampled or not");
		metrics->amount[origin] =
			add(host, PROFCOL_COUNTER, "events_amount", kind->name,
			    "What these stand for, in the unit of the event: the true sum of what "
			    "samples estimate");
		metrics->kept[origin] = add(host, PROFCOL_COUNTER, "events_kept", kind->name,
					    "Events that were to be sampled");
		metrics->busy[origin] =
			add(host, PROFCOL_COUNTER, "events_busy", kind->name,
			    "Of these, not sampled: the CPU was in the walk of another event");
		metrics->unknown[origin] =
			add(host, PROFCOL_COUNTER, "events_unknown", kind->name,
			    "Events that could not be looked at, since what they began with was "
			    "not noted");
		metrics->threshold[origin] =
			add(host, PROFCOL_GAUGE, "events_threshold", kind->name,
			    "Amount below which events are kept by lot, of the CPU where it is "
			    "highest");
	}
}

void event_metrics_show(const struct event_metrics *metrics, const struct events *events,
			const uint64_t counters[SAMPLE_COUNTER_COUNT])
{
	if (metrics->run_time)
		profcol_metric_set(metrics->run_time, (int64_t)counters[SAMPLE_COUNTER_RUN_NS]);
	for (uint32_t origin = 0; origin < SAMPLE_ORIGINS; origin++) {
		struct event_totals totals;

		if (!metrics->seen[origin] || !events_totals(events, origin, &totals))
			continue;
		profcol_metric_set(metrics->seen[origin], (int64_t)totals.of[EVENT_COUNTER_SEEN]);
		profcol_metric_set(metrics->amount[origin],
				   (int64_t)totals.of[EVENT_COUNTER_AMOUNT]);
		profcol_metric_set(metrics->kept[origin], (int64_t)totals.of[EVENT_COUNTER_KEPT]);
		profcol_metric_set(metrics->busy[origin], (int64_t)totals.of[EVENT_COUNTER_BUSY]);
		profcol_metric_set(metrics->unknown[origin],
				   (int64_t)totals.of[EVENT_COUNTER_UNKNOWN]);
		profcol_metric_set(metrics->threshold[origin], (int64_t)totals.threshold);
	}
}
