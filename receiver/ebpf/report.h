/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A closed capture becomes a batch: addresses get files and names, processes
 * become resources, equal samples one sample with several timestamps.
 *
 * A stack that does not reach the program's entry ends with a frame that gives the reason, such
 * as "[max_stack_depth]" (the README has them all). One that the kernel's own walker made is cut
 * where a return address lies in no executable memory.
 *
 * Threads: the reporter's.
 */
#pragma once

#include "capture.h"
#include "config.h"
#include "process_memory/process_memory.h"
#include "symbols/symbols.h"

#include <profcol/batch.h>
#include <profcol/component.h>

struct containers;
struct report;

/* NULL without memory. All are borrowed until destroy. With @containers the containers of pods are
 * met there as samples of them are reported; may be NULL. */
struct report *report_create(const struct profcol_host *host, const struct profiling_config *config,
			     struct processes *processes, struct process_memory *memory,
			     struct symbols *symbols, struct containers *containers);
void report_destroy(struct report *report); /* accepts NULL */

/*
 * The batch of @capture, whose window ends at @end_ns (CLOCK_MONOTONIC). Waits for names
 * until @deadline_ns. *@ret is written only on success.
 */
PROFCOL_MUST_CHECK struct profcol_error *report_build(struct report *report,
						      const struct capture *capture,
						      uint64_t end_ns, uint64_t deadline_ns,
						      struct profcol_batch **ret);

/* Tell the reader of what could not be named, when it is time; with @last at the end of a run. May
 * wait for file systems, some seconds. */
void report_tell(struct report *report, uint64_t now_ns, bool last);
