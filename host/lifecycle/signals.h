/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's signals, as events for the main thread. SIGINT and SIGTERM ask for an end; a
 * second one ends the process at once with code 1, whatever the main thread hangs in.
 * SIGHUP asks for a reload. SIGPIPE is ignored.
 *
 * Owns one thread, which does nothing but wait for signals.
 */
#pragma once

#include "events.h"

struct signals;

/*
 * Blocks the signals for the calling thread, and so for every thread that is created
 * later: call it before any of them. They stay blocked after destroy, so that a late signal cannot
 * kill a process that is on its last steps. @events is borrowed until destroy.
 */
PROFCOL_MUST_CHECK struct profcol_error *signals_create(struct events *events,
							struct signals **ret);

/* The number of the first signal that has asked for an end until now, even where another event
 * came before it; 0 when none has. Accepts NULL. */
int signals_destroy(struct signals *signals);
