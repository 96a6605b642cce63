/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that a component serves over HTTP. There is one HTTP server, the host's, on a thread of
 * its own; a component opens listeners on it (profcol_host.http_open). It takes GET and HEAD only,
 * and bounds headers, connections and time.
 */
#pragma once

#include <stddef.h>

struct profcol_http_listener; /* the host's */

struct profcol_http_request {
	const char *path;  /* decoded, begins with '/', without the query */
	const char *query; /* as sent, without '?'; "" without */
};

/* Zeroed before the call but for status 200. */
struct profcol_http_reply {
	int status;
	const char *content_type; /* literal; NULL = "text/plain; charset=utf-8" */
	char *body;               /* free() by the host; NULL = empty */
	size_t length;
};

struct profcol_http_settings {
	size_t size; /* sizeof(struct profcol_http_settings) */

	/* "localhost:13133", "0.0.0.0:8888", "[::1]:0", ":8888" for every address. */
	const char *endpoint;

	/* PEM files of a TLS server; NULL for plain text. With @client_ca_file a client has to show
	 * a certificate of it. */
	const char *cert_file, *key_file, *client_ca_file;

	/*
	 * Answer one request. On the server's thread: all others wait meanwhile, so it neither
	 * blocks nor takes longer than milliseconds.
	 */
	void (*handle)(void *context, const struct profcol_http_request *request,
		       struct profcol_http_reply *reply);
	void *context;
};
