/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events other than the timer that samples are taken of: which there are, which run, what they have
 * seen. Each is a module: a file here (event.h says what it has to offer), and a BPF program in
 * bpf/events/.
 *
 * Threads: one at a time, and the sampler, which owns them, locks.
 */
#pragma once

#include "sample.h"
#include "sampling_settings.h"

#include <profcol/component.h>

#include "base/base.h"

#include <stdbool.h>
#include <stdint.h>

/* What samples of an origin are called, wherever they show. */
struct event_kind {
	const char *name;        /* in the configuration, in metrics: "page_faults" */
	const char *sample_type; /* of its profiles */
	const char *sample_unit;
	const char *detail_key; /* attribute of each sample; NULL: there is none */
	const char *(*detail_text)(uint16_t detail); /* its value, of capture_sample.detail */
};

/* NULL for a number that is none. The timer has one, too. */
const struct event_kind *event_kind_of(uint32_t origin);

/* The events that @config asks for, 1 << enum sample_origin each; none asked for: the timer. An
 * error names the one that does not exist. *@ret is written on success. */
PROFCOL_MUST_CHECK struct profcol_error *events_wanted(const struct profiling_config *config,
						       uint32_t *ret);

struct events;

/* NULL without memory. @config is borrowed until destroy. */
struct events *events_create(const struct profiling_config *config);
void events_destroy(struct events *events); /* accepts NULL; stops first */

/* How many samples a second on each CPU those others than the timer are to give, about; 0: none is
 * asked for. Known before the start. */
uint32_t events_rate(const struct events *events);

/*
 * Load and attach the programs of all that are asked for, on the maps of @sampler, the loaded
 * object of the sampler, and by its @settings. An error is about those that cannot be had, and says
 * so of each; the others run.
 */
PROFCOL_MUST_CHECK struct profcol_error *events_start(struct events *events,
						      const struct sampling_settings *settings,
						      const struct bpf_object *sampler);
uint32_t events_running(const struct events *events); /* 1 << enum sample_origin each */

/* CPUs that have come online are looked after. */
PROFCOL_MUST_CHECK struct profcol_error *events_follow_cpus(struct events *events);

/* Records as those in the buffers (bpf/sample.h), one after the other. */
struct event_records {
	VECTOR(uint8_t) bytes; /* owned */
};

/* Adds what goes on for long to @records, as far as it was not told of yet: waits that have not
 * ended. Their stacks are unread (struct sample_unread). 0 or a negative errno. */
int events_tell(struct events *events, struct event_records *records);

/* From now on only this @share of the samples that are configured, 0 to 1; of each event at least
 * one in a second on each CPU. */
void events_limit(struct events *events, double share);

/* No program runs any more when it returns. Idempotent. What was seen stays known. */
void events_stop(struct events *events);

/* What the programs of an event have seen since the start, on all CPUs. */
struct event_totals {
	uint64_t of[EVENT_COUNTER_COUNT];
	uint64_t threshold; /* the highest of all CPUs, now: lower amounts are kept by lot */
};
/* False: it does not run, and never did. */
bool events_totals(const struct events *events, uint32_t origin, struct event_totals *ret);

/* What shows of that as metrics; by event, those of the events that are asked for. */
struct event_metrics {
	struct profcol_metric *seen[SAMPLE_ORIGINS], *amount[SAMPLE_ORIGINS];
	struct profcol_metric *kept[SAMPLE_ORIGINS], *busy[SAMPLE_ORIGINS];
	struct profcol_metric *unknown[SAMPLE_ORIGINS], *threshold[SAMPLE_ORIGINS];
	struct profcol_metric *run_time;
};
void event_metrics_init(struct event_metrics *metrics, const struct profcol_host *host,
			const struct profiling_config *config);
/* @counters: of the sampler, the events' own. */
void event_metrics_show(const struct event_metrics *metrics, const struct events *events,
			const uint64_t counters[SAMPLE_COUNTER_COUNT]);

uint64_t events_map_bytes(const struct events *events); /* of maps that are theirs alone */
