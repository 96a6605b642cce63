/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reporter thread: closes the open batch every reporter_interval, turns it into profiles and
 * passes them on, those of new containers when these are known. It also keeps the books of the
 * kernel side and follows CPUs that come and go, once a second, or every ten where next to nothing
 * is sampled.
 *
 * Threads: all calls from the host's; the reporter's own is in reporter.c.
 */
#pragma once

#include "drain.h"
#include "process_memory/process_memory.h"
#include "symbols/symbols.h"

struct reporter;

/* NULL without memory. All are borrowed until destroy. */
struct reporter *reporter_create(const struct profcol_host *host,
				 const struct profiling_config *config, struct drain *drain,
				 struct processes *processes, struct process_memory *memory,
				 struct symbols *symbols, struct tables *tables);
void reporter_destroy(struct reporter *reporter); /* accepts NULL; stopped before */

PROFCOL_MUST_CHECK struct profcol_error *reporter_start(struct reporter *reporter);

/*
 * Report what the drain has (it has been stopped), then end and join the thread.
 * Names are waited for during half of what is left until @deadline_ns
 * (CLOCK_MONOTONIC) at most; a consumer that holds the thread up beyond is the host's to
 * deal with.
 */
void reporter_stop(struct reporter *reporter, uint64_t deadline_ns);
