/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one HTTP server of the program: pages that are only read (include/profcol/http.h), on any
 * number of listeners, served by one thread.
 *
 * GET and HEAD of HTTP/1.0 and 1.1, also inside TLS. Whatever a client does, it costs a bounded
 * amount of memory for a bounded time, and another client is served meanwhile: see the limits
 * in connection.h and listener.h.
 */
#pragma once

#include <profcol/errors.h>
#include <profcol/http.h>

#include <stddef.h>

struct http_server;

/* Opens nothing and starts nothing: the thread comes with the first listener. */
PROFCOL_MUST_CHECK struct profcol_error *http_server_create(struct http_server **ret);

/* Ends the thread. Listeners that are still open are closed, and replies cut off. Accepts NULL. */
void http_server_destroy(struct http_server *server);

/*
 * Listen as @settings say, which are copied (see http.h for what is not). When it returns, the
 * address is bound. CONFIG or SYSTEM, starting with the key that is at fault. Any thread but the
 * server's own.
 */
PROFCOL_MUST_CHECK struct profcol_error *
http_server_open(struct http_server *server, const struct profcol_http_settings *settings,
		 struct profcol_http_listener **ret);

/* "127.0.0.1:13133": the first address that @listener has, with its port. Borrowed. */
const char *http_listener_address(const struct profcol_http_listener *listener);

/*
 * Stop listening. Connections end at once, but for those in the middle of a reply, which get the
 * rest of it. When it returns, no handler of the listener runs or will run. Any thread but the
 * server's own; before http_server_destroy. Accepts NULL.
 */
void http_listener_close(struct profcol_http_listener *listener);

/* As profcol_host has them. Before http_server_destroy. */
void http_answer(struct profcol_http_call *call, const struct profcol_http_answer *answer);
bool http_is_gone(const struct profcol_http_call *call);
