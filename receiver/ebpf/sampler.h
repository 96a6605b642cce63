/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel side, loaded and running: one BPF program on the timer of every online CPU, those of
 * other events (events/), their buffers, their counters.
 *
 * Threads: create, start and destroy from the host's, while no other thread uses it;
 * wait and drain from one at a time, counters from one at a time; wake, follow_cpus
 * and detach from any.
 */
#pragma once

#include "config.h"
#include "events/events.h"
#include "sample_buffers.h"
#include "select/select.h"
#include "tables/tables.h"

#include <profcol/component.h>

#include <stddef.h>

struct sampler;

/* NULL without memory. @host is borrowed until destroy. */
struct sampler *sampler_create(const struct profcol_host *host,
			       const struct profiling_config *config,
			       sample_buffers_function take_record, void *context);
void sampler_destroy(struct sampler *sampler); /* accepts NULL; detaches first */

/* Load the programs, attach them, and begin to sample. Of several events those that cannot be had
 * are logged; it is an error when none can. */
PROFCOL_MUST_CHECK struct profcol_error *sampler_start(struct sampler *sampler);

/* Wait until many records are there, at most @timeout_ms. 0 or a negative errno. */
int sampler_wait(struct sampler *sampler, int timeout_ms);

/* The next sampler_wait returns for the next sample already; until the next drain. False: there is
 * one. From who drains. */
bool sampler_await(struct sampler *sampler);

/* Make a sampler_wait under way return. Any thread. */
void sampler_wake(struct sampler *sampler);

/* Take all records there are, without waiting. 0 or a negative errno. */
int sampler_drain(struct sampler *sampler);

/* As events_tell(). Does nothing once detached. Any thread. */
int sampler_tell(struct sampler *sampler, struct event_records *records);

/* CPUs that came online are sampled too; see perf/perf.h. Does nothing once detached. */
PROFCOL_MUST_CHECK struct profcol_error *sampler_follow_cpus(struct sampler *sampler);

/* Walks forget what they remember by numbers of files. From the same thread. */
PROFCOL_MUST_CHECK struct profcol_error *sampler_forget_rules(struct sampler *sampler);

/*
 * Sample with another period from now on. @between runs while no CPU is sampled: what it drains is
 * all there is of the old one. The moment of the change is returned, CLOCK_MONOTONIC: every sample
 * before it was taken at the old period, every one after it at the new one.
 */
uint64_t sampler_change_period(struct sampler *sampler, uint64_t period_ns,
			       void (*between)(void *context), void *context);
uint64_t sampler_period_ns(const struct sampler *sampler); /* now; from who changes it */

/* Stop sampling for good. What is in the buffers stays there for sampler_drain. */
void sampler_detach(struct sampler *sampler);

/* Totals over all CPUs since start, by enum sample_counter: of the timer and all other events. */
void sampler_counters(const struct sampler *sampler, uint64_t totals[SAMPLE_COUNTER_COUNT]);

/* The same of those other events alone. */
void sampler_event_counters(const struct sampler *sampler, uint64_t totals[SAMPLE_COUNTER_COUNT]);

/* Which events other than the timer run, and what they have seen; borrowed. */
const struct events *sampler_events(const struct sampler *sampler);

/* Where the program looks for unwind tables; valid once started, borrowed. */
struct tables_maps sampler_unwind_maps(struct sampler *sampler);

/* A program that walks stacks of processes with @runtimes, 1 << enum runtime_number each, stands at
 * @number of `runtime_walks` from now on. Once started; one thread at a time. As
 * tables_maps.load_walk; @context is the sampler. */
PROFCOL_MUST_CHECK struct profcol_error *sampler_load_walk(void *context, uint32_t runtimes,
							   uint32_t number);

/* Where it looks for processes that are not to be sampled; valid once started, borrowed. */
struct select_maps sampler_select_maps(const struct sampler *sampler);

/* Of these maps, what this process has mapped, tables/ included: its own memory counts it too. */
uint64_t sampler_mapped_bytes(const struct sampler *sampler);

/* Memory of the kernel side's maps, but for what tables/ makes. The caller of follow_cpus. */
uint64_t sampler_map_bytes(const struct sampler *sampler);
