/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer of HTTP, by the settings of the Collector's clients: whom to trust, which proxy is on the
 * way, which headers go along. Private to lib/net. Connections wait for the next request; the files
 * of TLS are looked at again between two of them, and changed ones mean new connections.
 */
#pragma once

#include "net.h"
#include "proxy.h"
#include "tls.h"

#include "http_client/http_client.h"

#include <pthread.h>

/* A talker uses the TLS files as they were; its last user destroys it. */
struct talker {
	struct http_client *client;
	unsigned int users; /* under the peer's lock; the peer itself is one */
};

struct http_peer {
	const struct net_http_config *config; /* borrowed */
	const struct profcol_logger *logger;  /* borrowed */
	char *url, *user_agent;
	char *shown; /* the URL, as messages have it */
	struct proxy proxy;
	bool has_proxy, is_tls;
	int cancel_fd; /* eventfd: readable once cancelled */

	pthread_mutex_t lock; /* guards what follows */
	struct talker *talker;
	struct tls_stamp stamp;         /* of the files that it is made from */
	struct tls_complaint complaint; /* of changed files */
	bool renewing;                  /* somebody makes one of changed files */
	uint64_t reload_after_ns;       /* CLOCK_MONOTONIC */
};

/* All but @url (copied) and @version are borrowed until deinit, which has to follow errors, too.
 * Reads the TLS files: CONFIG when one is missing or unusable. */
PROFCOL_MUST_CHECK struct profcol_error *http_peer_init(struct http_peer *peer,
							const struct net_http_config *config,
							const char *url, const char *version,
							const struct profcol_logger *logger);

/* No call may be in progress. */
void http_peer_deinit(struct http_peer *peer);

/*
 * As http_client_call(), of @request to the peer's URL: fills in URL, proxy and cancel_fd, and
 * adds the configured headers and the user agent to those of @request. Any thread.
 */
PROFCOL_MUST_CHECK struct profcol_error *http_peer_call(struct http_peer *peer,
							const struct http_client_request *request,
							struct http_client_response *response);

/* Ends all calls in progress with SHUTDOWN, and those that follow at once. Any thread. */
void http_peer_cancel(struct http_peer *peer);
