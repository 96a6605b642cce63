/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A start that waits for something sleeps here: until that has happened, until it has waited long
 * enough, or until the process is asked to end (profcol_host.end_fd).
 */
#pragma once

#include <stdint.h>

enum wake {
	WAKE_EVENT, /* or for no reason: look whether it has happened */
	WAKE_TIMEOUT,
	WAKE_END,
};

/*
 * Sleep until somebody writes to the eventfd @event_fd, which is then 0 again, or until
 * @deadline_ns (CLOCK_MONOTONIC). @end_fd: a profcol_host's; 0 = there is none. The end counts
 * before an event, an event before the time.
 */
enum wake wake_wait(int event_fd, int end_fd, uint64_t deadline_ns);
