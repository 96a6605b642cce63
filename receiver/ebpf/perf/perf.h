/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One perf event on every online CPU, kept so while CPUs come and go.
 *
 * A CPU that goes offline takes its events with it, and they stay dead when it
 * comes back: follow() notices both, also a quick bounce, by the event's own clock
 * (PERF_FORMAT_TOTAL_TIME_ENABLED), and opens anew.
 *
 * Threads: one at a time.
 */
#pragma once

#include <profcol/errors.h>

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * The numbers of the CPUs that are online, or else of all that may ever be, ascending, at
 * least one. *@ret is the caller's to free.
 */
PROFCOL_MUST_CHECK struct profcol_error *perf_cpus(bool online, uint32_t **ret, size_t *count_ret);

/*
 * What tells the profiler's PID namespace from others, for bpf/pid_namespace.bpf.h: by its numbers
 * /proc and perf's records name processes. 0: it is the machine's own, or nothing can be said. Any
 * thread.
 */
uint32_t perf_pid_namespace(void);

struct perf_events;

struct perf_events_hooks {
	/* A new event @fd (owned by perf_events) counts on @cpu: attach to it, map it, enable it.
	 * On error the event is closed; `gone` is not called. */
	struct profcol_error *(*opened)(void *context, unsigned int cpu, int fd);
	/* The event of @cpu is about to be closed. */
	void (*gone)(void *context, unsigned int cpu, int fd);
	void *context;
};

/* @attr is copied; it is opened for all tasks of a CPU. NULL without memory. */
struct perf_events *perf_events_create(const struct perf_event_attr *attr,
				       const struct perf_events_hooks *hooks);
void perf_events_destroy(struct perf_events *events); /* calls `gone`; accepts NULL */

/*
 * Open events on CPUs that have none, close those of CPUs that are gone, replace dead ones.
 * @changed_ret (may be NULL) tells whether anything was done. An error concerns the CPUs that
 * could not be opened; the others go on. It is REJECTED when the kernel did not permit it.
 */
PROFCOL_MUST_CHECK struct profcol_error *perf_events_follow(struct perf_events *events,
							    bool *changed_ret);

/* Stop the events on all CPUs, until perf_events_resume() has them count anew, one in @period from
 * now on, those of CPUs that come later too. One that cannot be changed is opened anew by the next
 * follow. */
void perf_events_pause(struct perf_events *events);
void perf_events_resume(struct perf_events *events, uint64_t period);

unsigned int perf_events_count(const struct perf_events *events); /* CPUs counted on now */
