/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side-band of perf events: what the kernel tells of forks, execs, exits and
 * executable mappings, from the rings of all CPUs in order of time.
 *
 * Threads: one at a time, except side_band_wake.
 */
#pragma once

#include "record.h"

#include <profcol/errors.h>

struct side_band;

/* @record and its text are valid for the call. */
typedef void (*side_band_function)(void *context, const struct record *record);

struct side_band *side_band_create(void);            /* NULL without memory or descriptors */
void side_band_destroy(struct side_band *side_band); /* accepts NULL */

/*
 * Listen on CPUs that came online, and no more on those that went. *@changed_ret
 * (may be NULL): something came or went, so records may have been missed. An error
 * concerns the CPUs that cannot be listened to; the others go on.
 */
PROFCOL_MUST_CHECK struct profcol_error *side_band_follow_cpus(struct side_band *side_band,
							       bool *changed_ret);

unsigned int side_band_cpus(const struct side_band *side_band); /* listened to */

/*
 * Pass all records written up to @until_ns (CLOCK_MONOTONIC, not later than now) to
 * @take, by time. Those of later stay: a CPU read early may still write an earlier
 * one. A thread interrupted between stamping and writing a record makes it come
 * late all the same, rarely. Unreadable records are passed on as RECORD_LOST.
 */
void side_band_take(struct side_band *side_band, uint64_t until_ns, side_band_function take,
		    void *context);

/* Until a ring is well filled, what was added is readable, side_band_wake is called or @timeout_ns
 * are over. True: it was called. */
bool side_band_wait(struct side_band *side_band, uint64_t timeout_ns);
void side_band_wake(struct side_band *side_band); /* any thread */

/* Until side_band_wake is called, whatever else there is, or @timeout_ns are over. */
void side_band_rest(struct side_band *side_band, uint64_t timeout_ns);

/* Wait for @fd to be readable, too; any thread. 0 or a negative errno. */
int side_band_add(struct side_band *side_band, int fd);
