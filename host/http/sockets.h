/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that listen at an endpoint, and why one cannot be had. Private to host/http. */
#pragma once

#include <profcol/errors.h>

#include <stddef.h>

enum { HTTP_SOCKETS_MAX = 2, HTTP_ADDRESS_MAX = 80 };

struct http_sockets {
	int fds[HTTP_SOCKETS_MAX]; /* owned; listening, not blocking */
	size_t count;
	char address[HTTP_ADDRESS_MAX]; /* of the first: "127.0.0.1:13133", "[::]:8888" */
};

/*
 * Listen at @endpoint, "HOST:PORT". `localhost` is the loopback address of both families, as far
 * as the machine has them, on the same port; no host, 0.0.0.0 and [::] are all addresses of both;
 * another name is its first IPv4 address, or else its first one. Looks the name up, which may
 * take time. CONFIG or SYSTEM, starting with "endpoint: ". On success, the caller's to deinit.
 */
PROFCOL_MUST_CHECK struct profcol_error *http_sockets_open(const char *endpoint,
							   struct http_sockets *ret);
void http_sockets_deinit(struct http_sockets *sockets);
