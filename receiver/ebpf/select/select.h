/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which processes are profiled. A thread of its own decides about a program when its first sample
 * comes, and again every SELECT_REFRESH_NS while it is sampled; the samples wait meanwhile. Those
 * of programs that are not wanted are dropped by the kernel side from then on, before it looks at
 * their stack. Without rules everything passes, and nothing is looked at.
 *
 * Threads: select_takes, select_release and select_lose one at a time (under the
 * drain's lock); the rest from the host's.
 */
#pragma once

#include "options.h"
#include "unselected.h"

#include "processes/processes.h"
#include "sample.h"

#include <profcol/component.h>

#include <stdbool.h>
#include <stddef.h>

static const uint64_t SELECT_REFRESH_NS = 5000000000;

struct select;

/* NULL without memory. Both are borrowed until destroy. */
struct select *select_create(const struct profcol_host *host, struct processes *processes);
void select_destroy(struct select *select); /* accepts NULL; stops first */

/* Are the rules in order? As profcol_component.validate. */
PROFCOL_MUST_CHECK struct profcol_error *select_validate(const struct select_config *config);

/*
 * Go by other rules from now on. Whatever has been decided is decided anew; who descends from a
 * process that the old rules name as well is not forgotten. Nothing of @config is
 * kept; an error leaves the rules as they were.
 */
PROFCOL_MUST_CHECK struct profcol_error *select_configure(struct select *select,
							  const struct select_config *config);

/*
 * Have @decided told whenever something has been decided; NULL: no more. It is called from the
 * thread in here, under its lock: it is not to wait, nor to call back.
 */
void select_on_decided(struct select *select, void (*decided)(void *context), void *context);

/* Begin to decide. */
PROFCOL_MUST_CHECK struct profcol_error *select_start(struct select *select,
						      const struct select_maps *maps);
void select_stop(struct select *select); /* idempotent */

/*
 * Is the sample in the @length bytes at @record (bpf/sample.h) wanted? If not it has been booked,
 * or waits.
 */
bool select_takes(struct select *select, const void *record, size_t length);

/* Pass on those that have waited and are wanted. @take may use the bytes during the call. */
void select_release(struct select *select,
		    void (*take)(void *context, const void *record, size_t length), void *context);

/* Wait until all that has been asked is decided, at most until @deadline_ns (CLOCK_MONOTONIC). */
void select_settle(struct select *select, uint64_t deadline_ns);

/* Book as lost what waits still. */
void select_lose(struct select *select);
