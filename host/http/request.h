/* SPDX-License-Identifier: Apache-2.0 */
/* A request for a page, out of its head. Pure. Private to host/http. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	REQUEST_TARGET_MAX = 4 << 10,     /* bytes of path and query, as sent */
	REQUEST_HOST_MAX = 300,           /* bytes of the header: a name has at most 253 */
	REQUEST_AUTHORIZATION_MAX = 2048, /* bytes of the header */
};

struct http_request {
	bool head;                         /* HEAD: the reply has no body */
	bool keep_alive;                   /* another request may follow */
	char path[REQUEST_TARGET_MAX + 2]; /* decoded, begins with '/', without NUL inside */
	char query[REQUEST_TARGET_MAX + 1];
	char host[REQUEST_HOST_MAX + 1]; /* the headers of these names; "" without */
	char authorization[REQUEST_AUTHORIZATION_MAX + 1];
};

/*
 * Take a whole head apart, whose lines may end in LF alone: http_head_find_end() has found its end.
 * Returns 0, or the HTTP status to refuse it with; the connection then has to end, since where the
 * next request begins is not known. `head` is always set.
 */
int http_request_parse(const char *head, size_t length, struct http_request *ret);
