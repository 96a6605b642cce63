/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From one configuration to the next while batches flow. What is configured as before goes on
 * untouched: its thread, its queue, its kernel side. The host owns the edges: it holds
 * those that are to change, shuts down what is not wanted any more, upstream first, starts
 * what is new, downstream first, and lets the batches that wait go on to it.
 *
 * First all that is new is created, which touches nothing outside; if that fails, nothing
 * has happened. If something new does not start, the old configuration is put back.
 */
#pragma once

#include "pipeline/graph.h"
#include "supervision.h"

struct transition_settings {
	const struct lifecycle_patience *patience; /* for what is shut down on the way */
	const struct profcol_logger *logger;
};

enum transition_result {
	TRANSITION_DONE,            /* also when lifecycle_is_ending has cut it short */
	TRANSITION_REFUSED,         /* nothing has been stopped */
	TRANSITION_PUT_BACK,        /* all runs again as it was before */
	TRANSITION_PUT_BACK_PARTLY, /* the same, but for what did not start: the log names it */
	TRANSITION_FATAL, /* neither the new configuration runs nor the old one: shut down */
};

/*
 * Go over to @config, which it takes whatever the result. Says in the log what it restarts. *@ret
 * is set unless the result is DONE. Once the process is asked to end, receivers are started no
 * more, and there is no way back. Main thread.
 */
enum transition_result transition_apply(struct graph *graph, struct config *config,
					const struct transition_settings *settings,
					struct profcol_error **ret);
