/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP proxies by the environment, as Go's programs and so the Collector read it (net/http's
 * ProxyFromEnvironment, of a request over https). Private to lib/net. Any thread, while nobody
 * changes the environment.
 *
 * HTTPS_PROXY, or else https_proxy, is the proxy: a URL, or HOST:PORT. NO_PROXY, or else no_proxy,
 * lists what it is not used for, with commas between: `*` (everything), an address, a network
 * (10.0.0.0/8), a name (it and those below), a name with a dot in front (those below), each of the
 * last four perhaps with `:PORT`. Never for localhost and loopback addresses. http_proxy is for
 * requests over http alone; grpc_proxy has no part in it.
 */
#pragma once

#include <stdbool.h>

struct proxy {
	char *host, *port;   /* owned */
	char *authorization; /* owned: "Basic ..."; NULL without user and password; secret */
};

/*
 * The proxy on the way to @host (a name or an address, without brackets) at @port. False without
 * one, or without memory. On true *@ret is the caller's to deinit.
 */
bool proxy_find(const char *host, const char *port, struct proxy *ret);

/* The same for a request to @url: over http HTTP_PROXY, or else http_proxy, is the proxy. */
bool proxy_find_url(const char *url, struct proxy *ret);

/* The proxy that @text names, a URL or HOST:PORT. False when it is none, or without memory. */
bool proxy_parse(const char *text, struct proxy *ret);
void proxy_deinit(struct proxy *proxy);

/* Is there one? */
bool proxy_is_used(const char *host, const char *port);
