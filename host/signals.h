/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's signals, as events for the main thread. SIGINT and SIGTERM ask for an end; a
 * second one ends the process at once with code 1, whatever the main thread hangs in.
 * SIGHUP is reported. SIGPIPE is ignored.
 *
 * Owns one thread, which does nothing but wait for signals.
 */
#pragma once

#include <profcol/errors.h>

struct signals;

/*
 * Blocks the signals for the calling thread, and so for every thread that is created
 * later: call it before any of them. They stay blocked after destroy, so that a late signal cannot
 * kill a process that is on its last steps.
 */
PROFCOL_MUST_CHECK struct profcol_error *signals_create(struct signals **ret);
void signals_destroy(struct signals *signals); /* accepts NULL */

/* Wait for the next signal and return its number. One thread. */
int signals_wait(struct signals *signals);
