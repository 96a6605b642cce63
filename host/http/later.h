/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests that are answered from another thread. Private to host/http.
 *
 * A call belongs to the component that took it until the answer. The connection only points to
 * the call, and says when it leaves. Answers come to the server's thread through a list.
 */
#pragma once

#include <profcol/http.h>

struct http_connection;
struct http_later;
struct http_request;

/* @wake is an eventfd, borrowed: written to when an answer is there. NULL without memory. */
struct http_later *http_later_create(int wake);
void http_later_destroy(struct http_later *later); /* frees answers that are left; accepts NULL */

/* ---- on the server's thread ---- */

/* For @request of @connection, whose texts are copied; http_answer() frees it. NULL without
 * memory. */
struct profcol_http_call *http_later_call(struct http_later *later,
					  struct http_connection *connection,
					  const struct http_request *request);

/* The connection is gone; the component still has the call. */
void http_later_leave(struct profcol_http_call *call);

/* Give all answers that are there to their connections. */
void http_later_deliver(struct http_later *later);
