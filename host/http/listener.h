/* SPDX-License-Identifier: Apache-2.0 */
/* An address that is listened at, and the clients that came there. Private to host/http. */
#pragma once

#include "connection.h"

#include "sockets/sockets.h"
#include "tls/tls.h"

#include <profcol/http.h>

#include <event2/event.h>
#include <stdbool.h>

struct http_server;

struct profcol_http_listener {
	TAILQ_ENTRY(profcol_http_listener) entry;
	struct http_server *server;                 /* borrowed */
	struct event_base *base;                    /* borrowed; since http_listener_attach */
	struct profcol_http_settings settings;      /* its texts are owned */
	struct http_connection_settings connection; /* what the connections see of them */
	struct tls_server *tls;                     /* owned; NULL = plain text */
	struct sockets sockets;
	struct event *events[SOCKETS_MOST]; /* owned: a client is there */
	struct event *resume;               /* owned: accept again, after a pause */
	bool complained;                    /* of clients that could not be accepted */
	struct http_connection_list connections;
};

/* Bind and read files; nothing is served yet. As http_server_open. Any thread. */
PROFCOL_MUST_CHECK struct profcol_error *
http_listener_create(const struct profcol_http_settings *settings,
		     struct profcol_http_listener **ret);
void http_listener_destroy(struct profcol_http_listener *listener); /* accepts NULL */

/* On the server's thread: serve by @base. False without memory; detach undoes what is done. */
bool http_listener_attach(struct profcol_http_listener *listener, struct event_base *base);

/* On the server's thread: stop serving. Connections that are busy with a reply go to @leaving. */
void http_listener_detach(struct profcol_http_listener *listener,
			  struct http_connection_list *leaving);
