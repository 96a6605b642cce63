// SPDX-License-Identifier: Apache-2.0
#include "reply.h"

#include "base/base.h"
#include "http_head/http_head.h"

#include <stdio.h>
#include <stdlib.h>

static bool add_head(const struct profcol_http_reply *reply,
		     const struct http_reply_options *options, struct evbuffer *output)
{
	static const char strict[] = "default-src 'none'; style-src 'unsafe-inline'; "
				     "frame-ancestors 'none'";
	const char *type = reply->content_type;
	char date[HTTP_DATE_SIZE];

	http_date_print(date);
	// Pages name what runs here: no cache keeps them, no browser guesses what they are, runs
	// scripts in them or shows them inside other pages.
	return evbuffer_add_printf(output,
				   "HTTP/1.1 %d %s\r\n"
				   "Date: %s\r\n"
				   "Content-Type: %s\r\n"
				   "Content-Length: %zu\r\n"
				   "Cache-Control: no-store\r\n"
				   "X-Content-Type-Options: nosniff\r\n"
				   "Content-Security-Policy: %s\r\n"
				   "%s%s%s%s\r\n",
				   reply->status, http_status_reason(reply->status), date,
				   type ? type : "text/plain; charset=utf-8", reply->length,
				   options->policy ? options->policy : strict,
				   options->headers ? options->headers : "",
				   reply->status == 405 ? "Allow: GET, HEAD\r\n" : "",
				   options->keep_alive ? "" : "Connection: close\r\n",
				   options->extra ? options->extra : "") >= 0;
}

static void free_body(const void *body, size_t length, void *context)
{
	(void)length;
	(void)context;
	free((void *)(uintptr_t)body);
}

bool http_reply_write(struct profcol_http_reply *reply, const struct http_reply_options *options,
		      struct evbuffer *output)
{
	CLEANUP_FREE char *body = TAKE(reply->body);

	if (!body)
		reply->length = 0;
	if (!add_head(reply, options, output))
		return false;
	if (options->head || !reply->length)
		return true;
	if (evbuffer_add_reference(output, body, reply->length, free_body, NULL))
		return false;
	body = NULL; // the buffer frees it
	return true;
}

bool http_reply_write_status(int status, const struct http_reply_options *options,
			     struct evbuffer *output)
{
	struct profcol_http_reply reply = { .status = status };
	int length = asprintf(&reply.body, "%d %s\n", status, http_status_reason(status));

	if (length < 0)
		return false;
	reply.length = (size_t)length;
	return http_reply_write(&reply, options, output);
}
