/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/http_client: HTTP/1.1 requests to services of the platform, such as metadata of a cloud's
 * machine and the API server of a cluster, and to peers that take OTLP. The one header that other
 * folders include.
 *
 * A call runs on the caller's thread, by a loop of its own, and has a connection of its own unless
 * http_client_keep() says otherwise. It follows no redirects, and takes what it is given as it is:
 * compression is the caller's.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* All texts are borrowed during create. For https only. */
struct http_client_settings {
	/* Authorities to trust, in PEM: a file or the text itself. Without both, the system's. */
	const char *ca_file, *ca_pem;
	const char *cert_pem, *key_pem; /* our own certificate and its key, as text; NULL = none */
	const char *server_name;        /* what the certificate has to say; NULL = the URL's host */
	bool insecure_skip_verify;
};

struct http_client;

/*
 * CONFIG when a certificate or key is missing or unusable. Without @settings (NULL) it is for http
 * only, and no authorities are read.
 */
PROFCOL_MUST_CHECK struct profcol_error *
http_client_create(const struct http_client_settings *settings, struct http_client **ret);

/*
 * Let connections wait for later calls to the same server on the same way: @most of them at once,
 * each for @idle_ns (0 = as long as the server likes); they are looked at with the next call. When
 * a server hangs up on a request on such a connection before it has said anything, the request is
 * sent once more, on a new one. NO_MEMORY. Once, and before the first call.
 */
PROFCOL_MUST_CHECK struct profcol_error *http_client_keep(struct http_client *client,
							  unsigned int most, uint64_t idle_ns);

/* No call may be in progress. Accepts NULL. */
void http_client_destroy(struct http_client *client);

/* Is it http(s)://HOST[:PORT][/PATH][?QUERY], with no user or password? Pure. */
bool http_client_is_url(const char *text);

/*
 * @text, a URL or what was meant for one, as messages show it: "..." in the place of a user and a
 * password and of a query, in which servers are given tokens; a fragment is left out. Pure. free();
 * NULL without memory.
 */
char *http_client_show_url(const char *text);

struct http_client_header {
	const char *name, *value;
};

/* A proxy that passes requests on, in plain text; its texts are borrowed during the call. */
struct http_client_proxy {
	const char *host, *port;
	const char *authorization; /* "Basic ..."; NULL = none; secret */
};

struct http_client_request {
	const char *method;                       /* NULL = GET */
	const char *url;                          /* http://HOST[:PORT]/PATH or https:// */
	const struct http_client_header *headers; /* besides Host and Connection */
	size_t header_count;
	const void *body; /* sent unless the method is GET */
	size_t body_length;
	const struct http_client_proxy *proxy; /* asked to CONNECT for https; NULL = none */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC, for all of it; UINT64_MAX = none */
	uint64_t idle_ns;     /* the server may be silent for so long; 0 = until the deadline */
	int cancel_fd;        /* the call ends once this is readable, e.g. an eventfd; 0 = none */

	/* Most bytes of body that are kept. A longer one is an error if the status is 200; else it
	 * is cut, and the rest is not waited for. */
	size_t max_bytes;

	/*
	 * Where the body goes piece by piece, as it comes, if the status is 200: nothing of it is
	 * kept then, and it may be endless. False ends the call, which is a success. NULL: keep it.
	 */
	bool (*take)(void *context, const char *bytes, size_t length);
	void *context;
};

struct http_client_response {
	int status;    /* 200 to 599 */
	char *head;    /* owned; status line and headers */
	char *body;    /* owned; never NULL, has a NUL at its end */
	size_t length; /* of @body, without the NUL */

	/* Both ends of the connection, if it is kept for a later call and leads to the server
	 * itself: AF_UNSPEC otherwise. */
	struct sockaddr_storage own_end, server_end;
};

void http_client_response_deinit(struct http_client_response *response);

/*
 * Value of the first header @name, without blanks at its ends, in *@value_ret (borrowed from
 * @response, not terminated). Returns its length; 0 when it is missing or empty.
 */
size_t http_client_response_header(const struct http_client_response *response, const char *name,
				   const char **value_ret);

/*
 * Send @request and wait for the whole answer. Whatever status it has is a success, and @response
 * is then the caller's to deinit. UNAVAILABLE when the server cannot be reached, goes silent or
 * hangs up; BAD_DATA when it answers with something else than HTTP or with too much; CONFIG when
 * the request itself is wrong; SHUTDOWN when it was cancelled. Any thread, any number at once.
 */
PROFCOL_MUST_CHECK struct profcol_error *http_client_call(const struct http_client *client,
							  const struct http_client_request *request,
							  struct http_client_response *response);
