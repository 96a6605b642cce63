// SPDX-License-Identifier: Apache-2.0
/*
 * A client that sends anything: the connection ends when the client does, every reply is one, and
 * what reaches a page is within its bounds. The first byte says after how many of the others there
 * is a pause.
 */
#include "host/http/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <profcol/http.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS_MAX = 1000, TARGET_MAX = 4096 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void page(void *context, const struct profcol_http_request *request,
		 struct profcol_http_reply *reply)
{
	(void)context;
	if (request->path[0] != '/' || strlen(request->path) > TARGET_MAX ||
	    strlen(request->query) > TARGET_MAX)
		abort();
	for (const char *c = request->query; *c; c++)
		if (*c <= ' ' || *c >= 0x7f)
			abort();
	reply->body = strdup("page");
	reply->length = reply->body ? 4 : 0;
}

/* Read what there is; the first bytes of all have to be those of a reply. */
static void take_replies(int fd, size_t *taken)
{
	static const char start[] = "HTTP/1.1 ";
	char bytes[4096];
	ssize_t got;

	while ((got = read(fd, bytes, sizeof(bytes))) > 0) {
		for (size_t i = 0; i < (size_t)got && *taken + i < sizeof(start) - 1; i++)
			if (bytes[i] != start[*taken + i])
				abort();
		*taken += (size_t)got;
	}
}

static void talk(struct event_base *base, int fd, const uint8_t *bytes, size_t size, size_t *taken)
{
	for (size_t at = 0, rounds = 0; at < size && rounds < ROUNDS_MAX; rounds++) {
		ssize_t sent = send(fd, bytes + at, size - at, MSG_NOSIGNAL);

		if (sent < 0 && errno != EAGAIN)
			return;
		at += sent > 0 ? (size_t)sent : 0;
		event_base_loop(base, EVLOOP_NONBLOCK);
		take_replies(fd, taken);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	static const struct http_connection_settings settings = {
		.handle = page,
		.header_timeout_ns = 60000000000,
		.write_timeout_ns = 60000000000,
		.idle_timeout_ns = 60000000000,
	};
	static struct event_base *base;
	struct http_connection_list list;
	size_t taken = 0, first;
	int pair[2];

	if (!base)
		base = event_base_new();
	if (!base || !size ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
		return 0;
	http_connection_list_init(&list);
	if (!http_connection_create(base, pair[0], NULL, &settings, &list))
		abort();
	first = bytes[0] < size ? bytes[0] : size - 1;
	talk(base, pair[1], bytes + 1, first, &taken);
	talk(base, pair[1], bytes + 1 + first, size - 1 - first, &taken);
	shutdown(pair[1], SHUT_WR);
	for (size_t rounds = 0; list.count && rounds < ROUNDS_MAX; rounds++) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		take_replies(pair[1], &taken);
	}
	if (list.count)
		abort();
	close(pair[1]);
	return 0;
}
