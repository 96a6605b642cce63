/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client: read a request, answer it, perhaps again. Private to host/http; on the server's
 * thread only.
 *
 * A connection is in a list and destroys itself: when the client goes away, breaks the rules, or
 * does not come to the point in time. It holds at most 32 KiB of what the client says, and one
 * reply.
 */
#pragma once

#include <profcol/http.h>

#include <event2/event.h>
#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct http_connection;
struct http_later;

TAILQ_HEAD(http_connection_queue, http_connection);

/* In the order in which they came, or last got a reply. */
struct http_connection_list {
	struct http_connection_queue queue;
	size_t count;
};

/* What the connections of a listener share. */
struct http_connection_settings {
	void (*handle)(void *context, const struct profcol_http_request *request,
		       struct profcol_http_reply *reply);
	void (*take)(void *context, struct profcol_http_call *call); /* instead, if not NULL */
	void *context;
	uint64_t header_timeout_ns, write_timeout_ns, idle_timeout_ns;
	bool close_after_reply;
	uint64_t output_max_bytes; /* of all replies under way; 0 = no bound */
	char *extra;               /* lines for each reply; NULL = none */
	struct http_later *later;  /* borrowed: where answers come from, with `take` */
};

/*
 * Serve @fd, and through @tls unless that is NULL; takes both, whatever the result. @settings and
 * @list are borrowed until the connection has left. False without memory.
 */
bool http_connection_create(struct event_base *base, int fd, SSL *tls,
			    const struct http_connection_settings *settings,
			    struct http_connection_list *list);
void http_connection_destroy(struct http_connection *connection);

/* The answer to a request that `take` got. Takes its body. */
void http_connection_answer(struct http_connection *connection, struct profcol_http_answer *answer);

/*
 * The settings are about to go: a connection in the middle of a reply moves to @to and ends after
 * it, any other one ends now.
 */
void http_connection_leave(struct http_connection *connection, struct http_connection_list *to);

enum {
	/*
	 * Clients of a listener at once. The next one displaces the one that has waited longest for
	 * a request, once that has had a moment for it: who opens connections and says nothing
	 * keeps nobody out, nor do those in haste throw out who is slow. Of up to 64 that wait 640
	 * a second are taken, of more all that wait within 0.1 s (with TLS 3,200 a second at most);
	 * the others wait with the kernel. When all are busy taking their replies, it displaces the
	 * slowest, and is refused while none has taken over a second.
	 */
	HTTP_CONNECTIONS_MAX = 64,
};

/* Is there room for one more, in a list that is full? */
enum http_room {
	HTTP_ROOM_MADE,
	HTTP_ROOM_SOON, /* who could go has come just now, and may be about to ask */
	HTTP_ROOM_NONE, /* all are busy */
};

/*
 * Destroy the client of @list that has waited longest for a request, unless that is less than a
 * moment: 0.1 s, times 64 / @waiting where more than 64 clients wait to be accepted, but for a
 * client with TLS 20 ms at least. Then there will be room in *@wait_ns nanoseconds. When all are
 * busy, destroy the client that has been at its reply for longest, if over a second.
 */
enum http_room http_connection_displace(struct http_connection_list *list, size_t waiting,
					uint64_t *wait_ns);

void http_connection_list_init(struct http_connection_list *list);
