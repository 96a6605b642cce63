/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread `web`: takes batches in, and answers requests one after the other. Neither the
 * pipeline nor the HTTP server ever waits for it.
 *
 * A batch goes into an inbox, which takes an eighth of `memory`; what does not fit is lost, and
 * booked. Requests wait in a queue; a profile that is yet to be taken has a history of its own.
 */
#pragma once

#include "access.h"
#include "config.h"

#include <profcol/component.h>
#include <profcol/http.h>

enum {
	KEEPER_CALLS_MAX = 32, /* requests that wait; further ones get a 503 */
	KEEPER_TAPS_MAX = 4,   /* profiles that are being taken; likewise */
};

struct keeper;

/* All are borrowed. NULL without memory. */
struct keeper *keeper_create(const struct profcol_host *host, const struct web_config *config,
			     struct access *access);
void keeper_destroy(struct keeper *keeper); /* accepts NULL; after keeper_stop() */

PROFCOL_MUST_CHECK struct profcol_error *keeper_start(struct keeper *keeper);

/* Takes @batch. Any thread; does not wait. */
void keeper_append(struct keeper *keeper, struct profcol_batch *batch);

/* Takes @call: answers it now, or puts it into the queue. The HTTP server's thread. */
void keeper_take(struct keeper *keeper, struct profcol_http_call *call);

/* Take in what is in the inbox, answer those who wait that it is over, and end the thread. After
 * the last call and the last batch. */
void keeper_stop(struct keeper *keeper);
