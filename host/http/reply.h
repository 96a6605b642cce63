/* SPDX-License-Identifier: Apache-2.0 */
/* A reply as bytes for the wire. Private to host/http. */
#pragma once

#include <profcol/http.h>

#include <event2/buffer.h>
#include <stdbool.h>

struct http_reply_options {
	bool head;           /* no body */
	bool keep_alive;     /* else the client is told that this was the last one */
	const char *extra;   /* lines "Name: value\r\n"; NULL = none */
	const char *headers; /* the same of this reply alone */
	const char *policy;  /* Content-Security-Policy; NULL = the strict one */
};

/* Append @reply to @output. Takes its body, whatever the result. False without memory. */
bool http_reply_write(struct profcol_http_reply *reply, const struct http_reply_options *options,
		      struct evbuffer *output);

/* A reply of our own: the status in words. 405 names what is allowed. */
bool http_reply_write_status(int status, const struct http_reply_options *options,
			     struct evbuffer *output);
