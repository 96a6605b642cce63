/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the samples of one exporter went: the account of its instance, and the
 * Collector's metrics. accepted = sent + dropped{cause} + queued, but for what an earlier
 * process left, which is accepted here too. Private to the folder. Any thread.
 */
#pragma once

#include "queue.h"

struct ledger {
	const struct profcol_host *host; /* borrowed */
	struct profcol_metric *accepted, *sent, *failed, *refused;
	struct profcol_metric *queue_size, *queue_samples, *queue_bytes;
	struct profcol_metric *sent_requests, *sent_bytes, *retries, *in_flight, *damaged;
	int sizer; /* enum sending_sizer: of queue_size */
};

/* Registers the metrics. */
void ledger_init(struct ledger *ledger, const struct profcol_host *host,
		 const struct sending_config *config);

/* The most that the queue holds: UINT64_MAX is no bound, and has no metric. */
void ledger_show_capacity(struct ledger *ledger, const struct queue_load *capacity);

/* Samples that come in, those that are refused included. */
void ledger_accept(struct ledger *ledger, uint64_t samples);
/* Not let into the queue. @cause is a literal, also below. */
void ledger_refuse(struct ledger *ledger, const char *cause, uint64_t samples);
/* The peer has them. */
void ledger_send(struct ledger *ledger, uint64_t samples, uint64_t bytes);
/* Let in, and not delivered. */
void ledger_lose(struct ledger *ledger, const char *cause, uint64_t samples);
/* As above, for what the shutdown came before. The error is for who waits for the result. */
PROFCOL_MUST_CHECK struct profcol_error *ledger_lose_at_end(struct ledger *ledger,
							    uint64_t samples);
/* What the queue holds now. */
void ledger_show_queue(struct ledger *ledger, const struct queue_load *load);
