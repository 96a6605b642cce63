/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server at 127.0.0.1 that stands in for a metadata service or an API server: it answers each
 * request by the first route that fits, on a thread of each connection, and hangs up unless the
 * route says that it goes on.
 */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>

struct stand_in_route {
	const char *request; /* how the request begins: "GET /latest/"; "" = all; NULL ends */
	const char *needs;   /* a piece of its head: "Metadata: True"; NULL = none */
	int status;          /* 0: hang up without a word */
	const char *headers; /* lines, each with its end; NULL = none */
	const char *body;    /* NULL = empty */
	const char *raw;     /* instead of all that */
	size_t raw_length;   /* of @raw; 0 = up to its NUL */
	size_t padding;      /* so many blanks after the body, or after @raw */
	unsigned int delay_ms;
	unsigned int byte_ms; /* a pause after each byte */
	unsigned int hold_ms; /* silence before it hangs up */
	bool goes_on;         /* the next request on the same connection is heard as well */
	bool once_only;       /* hangs up without a word where a request came before */
};

struct stand_in;

/* Routes are borrowed until stop; none that fits: 404. @tls is borrowed; NULL = plain. Fails the
 * test when it cannot start. */
struct stand_in *stand_in_start(const struct stand_in_route *routes, SSL_CTX *tls);

/* Other routes from the next request on. */
void stand_in_change(struct stand_in *server, const struct stand_in_route *routes);

/* "127.0.0.1:4711", and the port of it; borrowed. */
const char *stand_in_address(const struct stand_in *server);
const char *stand_in_port(const struct stand_in *server);

/* Requests so far that began with @request. */
unsigned int stand_in_count(struct stand_in *server, const char *request);

/* Connections on which a request has come so far. */
unsigned int stand_in_connections(struct stand_in *server);

void stand_in_stop(struct stand_in *server);
