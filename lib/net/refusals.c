// SPDX-License-Identifier: Apache-2.0
#include "net.h"

#include "base/base.h"

#include <stdio.h>

#define NOTICE_INTERVAL_NS UINT64_C(60000000000)

const char *net_refusal_text(enum net_refusal refusal)
{
	static const char *const texts[NET_REFUSALS] = {
		[NET_REFUSED_CONNECTION] =
			"there are too many connections; raise the limit of open "
			"files (ulimit -n) or of memory if they are wanted",
		[NET_REFUSED_CALLS] = "there are too many requests at once",
		[NET_REFUSED_HEAD] = "a request has too much metadata",
		[NET_REFUSED_FLOOD] = "a client floods the connection with pings, resets or frames "
				      "of no use",
		[NET_REFUSED_SLOW] = "a client takes too long to say what it wants, or to hear it",
		[NET_REFUSED_PROTOCOL] = "a client does not speak HTTP, or breaks its rules",
		[NET_REFUSED_TLS] = "the TLS handshake with a client failed",
		[NET_REFUSED_MEMORY] = "there is no memory to decompress a request",
	};

	return texts[refusal];
}

void net_refusals_init(struct net_refusals *refusals, const struct profcol_host *host,
		       const char *transport)
{
	char label[64];

	*refusals = (struct net_refusals){ .host = host };
	for (int i = 0; i < NET_REFUSALS; i++) {
		snprintf(label, sizeof(label), "transport=%s,reason=%s", transport,
			 net_refusal_name((enum net_refusal)i));
		refusals->counts[i] =
			host->metric(host, PROFCOL_COUNTER, "receiver_refused_connections", label,
				     "connections ended, and calls refused, before there was a "
				     "request: too many, too slow, broken, or a flood");
	}
}

void net_refusals_count(struct net_refusals *refusals, enum net_refusal refusal, const char *peer)
{
	uint64_t now = clock_monotonic_ns();

	profcol_metric_add(refusals->counts[refusal], 1);
	if (now < refusals->notice_after_ns)
		return;
	refusals->notice_after_ns = now + NOTICE_INTERVAL_NS;
	profcol_log_warn(refusals->host->logger,
			 "refused %s unheard: %s; profcol_receiver_refused_connections counts "
			 "others",
			 peer, net_refusal_text(refusal));
}
