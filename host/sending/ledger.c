// SPDX-License-Identifier: Apache-2.0
#include "ledger.h"

#include <stdio.h>

static struct profcol_metric *counter(const struct profcol_host *host, const char *name,
				      const char *doc)
{
	return host->metric(host, PROFCOL_COUNTER, name, "", doc);
}

static struct profcol_metric *gauge(const struct profcol_host *host, const char *name,
				    const char *doc)
{
	return host->metric(host, PROFCOL_GAUGE, name, "", doc);
}

static uint64_t in_units(int sizer, const struct queue_load *load)
{
	if (sizer == SENDING_BYTES)
		return load->bytes;
	return sizer == SENDING_ITEMS ? load->samples : load->requests;
}

void ledger_init(struct ledger *ledger, const struct profcol_host *host,
		 const struct sending_config *config)
{
	*ledger = (struct ledger){
		.host = host,
		.sizer = config->queue.sizer,
		.accepted = counter(host, "exporter_accepted_profile_samples",
				    "samples that came to this exporter, refused ones included"),
		.sent = counter(host, "exporter_sent_profile_samples",
				"samples that the peer has taken"),
		.failed = counter(host, "exporter_send_failed_profile_samples",
				  "samples that were let in and not delivered"),
		.refused = counter(host, "exporter_enqueue_failed_profile_samples",
				   "samples that the queue did not let in"),
		.sent_requests =
			counter(host, "exporter_sent_requests", "requests that the peer has taken"),
		.sent_bytes =
			counter(host, "exporter_sent_bytes", "bytes of these before compression"),
		.retries = counter(host, "exporter_retries", "attempts beyond the first"),
		.in_flight = gauge(host, "exporter_in_flight_requests",
				   "requests that an answer is awaited for"),
	};
	if (!config->queue.enabled)
		return;
	ledger->queue_size = gauge(host, "exporter_queue_size",
				   "what the queue holds, in units of its sizer; requests "
				   "on their way included");
	ledger->queue_samples =
		gauge(host, "exporter_queue_profile_samples", "samples that the queue holds");
	ledger->queue_bytes =
		gauge(host, "exporter_queue_bytes", "encoded bytes that the queue holds");
	ledger->damaged = counter(host, "exporter_queue_damaged_records",
				  "requests in the storage that could not be read");
}

void ledger_show_capacity(struct ledger *ledger, const struct queue_load *capacity)
{
	uint64_t most = in_units(ledger->sizer, capacity);

	if (most != UINT64_MAX)
		profcol_metric_set(gauge(ledger->host, "exporter_queue_capacity",
					 "most that the queue holds, in units of its sizer"),
				   (int64_t)most);
	if (capacity->bytes != UINT64_MAX && ledger->sizer != SENDING_BYTES)
		profcol_metric_set(gauge(ledger->host, "exporter_queue_capacity_bytes",
					 "most that the queue holds, in encoded bytes"),
				   (int64_t)capacity->bytes);
}

void ledger_accept(struct ledger *ledger, uint64_t samples)
{
	profcol_metric_add(ledger->accepted, (int64_t)samples);
}

static void drop(struct ledger *ledger, const char *cause, uint64_t samples)
{
	const struct profcol_host *host = ledger->host;
	char label[64];

	snprintf(label, sizeof(label), "cause=%s", cause);
	profcol_metric_add(host->metric(host, PROFCOL_COUNTER, "exporter_dropped_profile_samples",
					label, "samples that were refused or not delivered"),
			   (int64_t)samples);
	host->account(host, PROFCOL_LOST, cause, samples);
}

void ledger_refuse(struct ledger *ledger, const char *cause, uint64_t samples)
{
	profcol_metric_add(ledger->refused, (int64_t)samples);
	drop(ledger, cause, samples);
}

void ledger_lose(struct ledger *ledger, const char *cause, uint64_t samples)
{
	profcol_metric_add(ledger->failed, (int64_t)samples);
	drop(ledger, cause, samples);
}

void ledger_send(struct ledger *ledger, uint64_t samples, uint64_t bytes)
{
	profcol_metric_add(ledger->sent, (int64_t)samples);
	profcol_metric_add(ledger->sent_requests, 1);
	profcol_metric_add(ledger->sent_bytes, (int64_t)bytes);
	ledger->host->account(ledger->host, PROFCOL_EXPORTED, NULL, samples);
}

struct profcol_error *ledger_lose_at_end(struct ledger *ledger, uint64_t samples)
{
	if (samples)
		ledger_lose(ledger, "shutdown", samples);
	return profcol_error_create(PROFCOL_SHUTDOWN, "not delivered before the shutdown");
}

void ledger_show_queue(struct ledger *ledger, const struct queue_load *load)
{
	profcol_metric_set(ledger->queue_size, (int64_t)in_units(ledger->sizer, load));
	profcol_metric_set(ledger->queue_samples, (int64_t)load->samples);
	profcol_metric_set(ledger->queue_bytes, (int64_t)load->bytes);
}
