/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The drain thread: takes samples out of the buffers of the CPUs and appends
 * those that select/ lets pass to the open batch. It opens no file, never calls
 * downstream, and shares one lock with the reporter, who holds it only to swap two
 * pointers, one with the thread of select/, which holds it over no I/O, and where it finishes walks
 * those of tables/ and processes/ (tables.h says how long they may be held).
 *
 * Threads: create, start, stop, destroy from the host's; the rest from the
 * reporter's, also while drain_stop runs.
 */
#pragma once

#include "capture.h"
#include "process_memory/process_memory.h"
#include "sampler.h"
#include "select/select.h"

struct drain;

/* NULL without memory. All are borrowed until destroy. */
struct drain *drain_create(const struct profcol_host *host, const struct profiling_config *config,
			   struct processes *processes, struct process_memory *memory,
			   struct tables *tables, struct select *select);
void drain_destroy(struct drain *drain); /* accepts NULL; stops first */

/* Load the sampler, begin to sample and to drain. */
PROFCOL_MUST_CHECK struct profcol_error *drain_start(struct drain *drain);

/*
 * Stop sampling, take what is left in the buffers, join. Waits for `select` to decide about the
 * last samples, for stacks of threads that sleep, and for walks, a second each at most. None
 * goes on beyond @deadline_ns (CLOCK_MONOTONIC) but for the process that is being read, a tenth of
 * a second; a drain_tell() that runs already is waited for. Idempotent.
 */
void drain_stop(struct drain *drain, uint64_t deadline_ns);

/*
 * Have threads that sleep told of, up to now: for the batch that is about to be closed. Waits for
 * processes whose stacks are to be read, for a second at most, and not beyond @deadline_ns
 * (CLOCK_MONOTONIC; UINT64_MAX: none). Under no lock; also by drain_stop.
 */
void drain_tell(struct drain *drain, uint64_t deadline_ns);

/* Call @visit for each frame that the open batch has so far; samples wait meanwhile. Any thread. */
void drain_visit_frames(struct drain *drain,
			void (*visit)(void *context, const struct capture_frame *frame),
			void *context);

/*
 * Close the open batch and open @empty (taken; cleared by the caller) in its place. The
 * closed one is the caller's until it gives it back here.
 */
struct capture *drain_swap(struct drain *drain, struct capture *empty);

/*
 * The same, and sample with another period from then on: none of the closed batch's samples is of
 * the new one, none of those that follow of the old one. Samples of before that come later, since
 * they have waited for a decision, are kept apart: see drain_take_late.
 */
struct capture *drain_change_period(struct drain *drain, struct capture *empty, uint64_t period_ns);

/*
 * Samples from before the last change of the period that have come after it; NULL: none. @empty as
 * in drain_swap, taken only when it is not NULL. To be called before the next change.
 */
struct capture *drain_take_late(struct drain *drain, struct capture *empty);

uint64_t drain_period_ns(const struct drain *drain); /* from the thread that changes it */

/* Is the open batch so full that it should be closed before its time? */
bool drain_is_nearly_full(struct drain *drain);

/* Have @tell told of that, in every round of the thread while it is so: from that thread, under no
 * lock. Before drain_start. */
void drain_on_nearly_full(struct drain *drain, void (*tell)(void *context), void *context);

/* Samples taken out of the buffers so far, kept or not. */
uint64_t drain_count(struct drain *drain);

struct sampler *drain_sampler(struct drain *drain); /* borrowed */
