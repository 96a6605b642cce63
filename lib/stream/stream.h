/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/stream: what a client of a server of ours says and hears, as a stream of libevent's, plain or
 * in TLS: its begin, the head of a request in it, its last words and its end. The one header that
 * other folders include. All of it on the thread that has the loop.
 */
#pragma once

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <openssl/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes @fd and @tls (NULL = plain), whatever the result. NULL without memory. */
struct bufferevent *stream_accept(struct event_base *base, int fd, SSL *tls);

/* Says goodbye in TLS, without waiting for the other side's. The socket is closed. */
void stream_destroy(struct bufferevent *stream);

/* ---- requests of HTTP/1.1 ---- */

enum stream_head {
	STREAM_NOTHING,   /* no byte of one is there */
	STREAM_BEGUN,     /* but it is not whole */
	STREAM_WHOLE,     /* *@length bytes, which are the caller's to drain */
	STREAM_TOO_LARGE, /* over HTTP_HEAD_MOST: the same, of all that is there */
	STREAM_NO_MEMORY,
};

/*
 * Is the head of a request at the begin of @input? Empty lines before it are harmless and drained.
 * *@bytes are in one piece up to HTTP_HEAD_MOST. @known is the caller's to keep for this stream, 0
 * at first: how much has been looked through.
 */
enum stream_head stream_find_head(struct evbuffer *input, size_t *known, const char **bytes,
				  size_t *length);

/* ---- last words ---- */

/*
 * A server that has sent all reads and discards what the client sends, for this long and up to a
 * bound, before it closes: the kernel would drop the words on their way where bytes are left
 * unread.
 */
#define STREAM_LINGER_NS UINT64_C(1000000000)

/* No more comes from us: the client hears so, unless in TLS, which has no half-closed streams. */
void stream_end_output(struct bufferevent *stream);

/* Throw away what has come, which is counted in @discarded. False: it was enough. */
bool stream_discard(struct bufferevent *stream, size_t *discarded);
