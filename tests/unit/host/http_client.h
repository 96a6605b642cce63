/* SPDX-License-Identifier: Apache-2.0 */
/* A client that does what a test wants it to, and a server with pages to ask for. */
#pragma once

#include "http/http.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stddef.h>

enum { BIG_PAGE_BYTES = 16 << 20, LARGE_PAGE_BYTES = 1 << 20 };

/*
 * A server with one listener at localhost:0. Its pages: /echo says the path and the query,
 * /big is BIG_PAGE_BYTES long, /large LARGE_PAGE_BYTES, /slow waits for `go`, /odd has the status
 * 42, /empty has no body; all others are "page\n".
 */
struct http_fixture {
	struct http_server *server;
	struct profcol_http_listener *listener; /* NULL while closed */
	struct profcol_http_settings settings;
	atomic_int handled;  /* requests that reached a page */
	atomic_bool leaving; /* set when /slow is about to return */
	sem_t entered, go;   /* of /slow */
};

void http_fixture_init(struct http_fixture *fixture);
void http_fixture_deinit(struct http_fixture *fixture);
/* Open the listener with fixture->settings; must succeed. */
void http_fixture_open(struct http_fixture *fixture);
void http_fixture_close(struct http_fixture *fixture);

/* Connect to the fixture's listener. The descriptor is the caller's; reads fail after 20 s. */
int http_client_connect(const struct http_fixture *fixture);
/* The same, with room for a few KiB: the server still has most of /large when nothing is read. */
int http_client_connect_narrow(const struct http_fixture *fixture);
/* Connect to "127.0.0.1:80" or "[::1]:80"; negative errno. */
int http_client_connect_to(const char *address);
/* Fails only when the server has closed. */
int http_client_send(int fd, const char *bytes, size_t length);
/* All that comes until the end, with a NUL: the caller's. *@length_ret (may be NULL) bytes. */
char *http_client_read_all(int fd, size_t *length_ret);
/* One reply, by its Content-Length. */
char *http_client_read_reply(int fd);

/* Connect, send @request, read all. The caller's. */
char *http_client_ask(const struct http_fixture *fixture, const char *request);
/* The status of the reply to that; 0 when there is none. */
int http_client_status(const struct http_fixture *fixture, const char *request);
/* Of a reply; 0 when it is none. */
int http_reply_status(const char *reply);
