/* SPDX-License-Identifier: Apache-2.0 */
/*
 * This keeps samples of waits that have not ended, whose stacks are still to be read from their
 * process's memory (struct sample_unread). They lie here until the batch is closed; what is wanted
 * of them is read then, and that the thread still sleeps is made sure of.
 *
 * Threads: one at a time adds and takes all out, by one lock; the rest needs none.
 */
#pragma once

#include "processes/processes.h"
#include "sample.h"

#include <profcol/component.h>

#include "base/base.h"

#include <stdbool.h>
#include <stddef.h>

/* Records, one after the other, each with its length before it. */
struct unread_list {
	VECTOR(uint64_t) words;
};
void unread_list_deinit(struct unread_list *list); /* also of a zeroed one */

enum unread_result {
	UNREAD_READ,
	UNREAD_ENDED,   /* the wait is over: of its stack nothing is known */
	UNREAD_REFUSED, /* the stack cannot be read, or is not to be */
	UNREAD_NO_TIME, /* or there was no time, or room, for it */
	UNREAD_RESULTS,
};

/* By what became of stacks; registered by unread_register(). */
struct unread_metrics {
	struct profcol_metric *of[UNREAD_RESULTS];
};
void unread_register(struct unread_metrics *metrics, const struct profcol_host *host);

/* Is the stack of the record of @length bytes still to be read? Whatever it is. */
bool unread_is(const void *record, size_t length);

/* Keep a copy. False: there is no room. */
bool unread_add(struct unread_list *list, const void *record, size_t length);

/*
 * Read the stacks of all in @list, and hand the records to @take, complete, each with a deferred
 * walk if there is anything to walk. What is not read by @deadline_ns (CLOCK_MONOTONIC; 0: nothing
 * is read) goes without any stack, as does what is not known to sleep still. An owner whose threads
 * have taken 50 ms goes on after all others. The list is empty then. Waits for a process, for a
 * tenth of a second at most beyond the deadline.
 */
void unread_read(struct unread_list *list, struct processes *processes, uint64_t deadline_ns,
		 const struct unread_metrics *metrics,
		 void (*take)(void *context, const void *record, size_t length), void *context);
