/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages that a component serves over HTTP. There is one HTTP server, the host's, on a thread of
 * its own; a component opens listeners on it (profcol_host.http_open). It takes GET and HEAD only,
 * and bounds headers, connections and time. A component answers at once, or later from a thread of
 * its own (profcol_host.http_answer).
 */
#pragma once

#include <profcol/options.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct profcol_logger;

struct profcol_http_listener; /* the host's */

/* As the client wrote it: hostile text of up to 4 KiB. */
struct profcol_http_request {
	const char *path;  /* decoded, begins with '/', without the query; any bytes */
	const char *query; /* as sent, printable ASCII, without '?'; "" without */
};

/* Zeroed before the call but for status 200. */
struct profcol_http_reply {
	int status;
	const char *content_type; /* literal; NULL = "text/plain; charset=utf-8" */
	char *body;               /* free() by the host; NULL = empty */
	size_t length;
};

/* A request that is answered by profcol_host.http_answer; the host's. */
struct profcol_http_call {
	size_t size; /* sizeof(struct profcol_http_call) on the host's side */
	struct profcol_http_request request;
	const char *host;          /* the header Host, without control characters; "" without */
	const char *authorization; /* the header of that name, likewise */
};

struct profcol_http_answer {
	size_t size; /* sizeof(struct profcol_http_answer) */
	struct profcol_http_reply reply;
	/* Content-Security-Policy; literal; NULL = no scripts, and the page's own styles alone. */
	const char *policy;
	const char *headers; /* further lines "Name: value\r\n"; literal; NULL = none */
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

	/* What follows may be zero. */

	const char *cert_pem, *key_pem;        /* text instead of the files */
	const char *min_version, *max_version; /* of TLS: "1.2" (the least there is), "1.3" */
	/* How often changed TLS files are looked for, with new connections; 0 = never. */
	uint64_t reload_interval_ns;

	uint64_t header_timeout_ns; /* from the connection, or its first byte, to a whole request;
				     * 0 = 10 s */
	uint64_t write_timeout_ns;  /* for taking a whole reply; 0 = 30 s */
	uint64_t idle_timeout_ns;   /* between two requests; 0 = 60 s */
	bool close_after_reply;     /* no further request on the same connection */

	struct profcol_map headers; /* added to each reply: names and values are checked */

	/* For what happens later and nobody else would notice; borrowed until http_close. */
	const struct profcol_logger *logger;

	/*
	 * Instead of @handle: answer @call by profcol_host.http_answer, at once or later, from any
	 * thread, once, before the component's destroy. Until then the call is the component's to
	 * read. On the server's thread: does not block.
	 */
	void (*take)(void *context, struct profcol_http_call *call);

	/* Of replies that clients have not taken yet, of all together; one at least is sent, of any
	 * size. Further ones become a 503. 0 = no bound but that of connections. */
	uint64_t output_max_bytes;
};
