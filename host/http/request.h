/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP request: all of its syntax is here. Pure. Private to host/http. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
	REQUEST_HEAD_MAX = 16 << 10,  /* bytes of request line and headers */
	REQUEST_TARGET_MAX = 4 << 10, /* bytes of path and query, as sent */
	REQUEST_HEADERS_MAX = 100,
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
 * Bytes up to and with the empty line that ends a head; 0 when it is not among the @length
 * @bytes. The first @known bytes are those of an earlier call, in which it was not.
 */
size_t http_request_find_end(const char *bytes, size_t length, size_t known);

/*
 * Take a whole head apart. Returns 0, or the HTTP status to refuse it with; the connection then
 * has to end, since where the next request begins is not known. `head` is always set.
 */
int http_request_parse(const char *head, size_t length, struct http_request *ret);
