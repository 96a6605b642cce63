// SPDX-License-Identifier: Apache-2.0
#include "reply.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const struct {
	int status;
	const char *reason;
} reasons[] = {
	{ 200, "OK" },
	{ 301, "Moved Permanently" },
	{ 302, "Found" },
	{ 400, "Bad Request" },
	{ 401, "Unauthorized" },
	{ 403, "Forbidden" },
	{ 404, "Not Found" },
	{ 405, "Method Not Allowed" },
	{ 408, "Request Timeout" },
	{ 413, "Content Too Large" },
	{ 414, "URI Too Long" },
	{ 421, "Misdirected Request" },
	{ 431, "Request Header Fields Too Large" },
	{ 500, "Internal Server Error" },
	{ 503, "Service Unavailable" },
	{ 505, "HTTP Version Not Supported" },
};

/* A reason is for people: none is needed. */
static const char *reply_reason(int status)
{
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (reasons[i].status == status)
			return reasons[i].reason;
	return "";
}

/* As HTTP wants it, whatever the locale: "Sun, 06 Nov 1994 08:49:37 GMT". */
static void print_date(char *to, size_t size)
{
	static const char days[][4] = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" };
	static const char months[][4] = { "Jan", "Feb", "Mar", "Apr", "May", "Jun",
					  "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" };
	time_t now = (time_t)(clock_realtime_ns() / 1000000000u);
	struct tm parts = { 0 };

	gmtime_r(&now, &parts);
	snprintf(to, size, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[parts.tm_wday % 7],
		 parts.tm_mday, months[parts.tm_mon % 12], parts.tm_year + 1900, parts.tm_hour,
		 parts.tm_min, parts.tm_sec);
}

static bool add_head(const struct profcol_http_reply *reply,
		     const struct http_reply_options *options, struct evbuffer *output)
{
	static const char strict[] = "default-src 'none'; style-src 'unsafe-inline'; "
				     "frame-ancestors 'none'";
	const char *type = reply->content_type;
	char date[64];

	print_date(date, sizeof(date));
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
				   reply->status, reply_reason(reply->status), date,
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
	int length = asprintf(&reply.body, "%d %s\n", status, reply_reason(status));

	if (length < 0)
		return false;
	reply.length = (size_t)length;
	return http_reply_write(&reply, options, output);
}
