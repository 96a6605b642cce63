// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include "base/base.h"
#include "http_head/http_head.h"

#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LINGER_BYTES = 256 << 10 };

struct bufferevent *stream_accept(struct event_base *base, int fd, SSL *tls)
{
	struct bufferevent *stream;

	if (tls)
		stream = bufferevent_openssl_socket_new(base, fd, tls, BUFFEREVENT_SSL_ACCEPTING,
							BEV_OPT_CLOSE_ON_FREE);
	else
		stream = bufferevent_socket_new(base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!stream) {
		SSL_free(tls);
		close(fd);
	} else if (tls) {
		bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
	}
	return stream;
}

void stream_destroy(struct bufferevent *stream)
{
	SSL *tls = bufferevent_openssl_get_ssl(stream);

	if (tls) {
		SSL_set_shutdown(tls, SSL_RECEIVED_SHUTDOWN);
		SSL_shutdown(tls);
		ERR_clear_error();
	}
	bufferevent_free(stream);
}

/* ---- requests ---- */

/* RFC 9112, 2.2 */
static void skip_empty_lines(struct evbuffer *input)
{
	char c;

	while (evbuffer_copyout(input, &c, 1) == 1 && (c == '\r' || c == '\n'))
		evbuffer_drain(input, 1);
}

enum stream_head stream_find_head(struct evbuffer *input, size_t *known, const char **bytes,
				  size_t *length)
{
	size_t room;

	if (!*known)
		skip_empty_lines(input);
	room = evbuffer_get_length(input);
	if (!room)
		return STREAM_NOTHING;
	if (room > HTTP_HEAD_MOST)
		room = HTTP_HEAD_MOST;
	*bytes = (const char *)evbuffer_pullup(input, (ssize_t)room);
	if (!*bytes)
		return STREAM_NO_MEMORY;
	*length = http_head_find_end(*bytes, room, *known);
	*known = *length || room == HTTP_HEAD_MOST ? 0 : room;
	if (*length)
		return STREAM_WHOLE;
	if (room < HTTP_HEAD_MOST)
		return STREAM_BEGUN;
	*length = evbuffer_get_length(input);
	return STREAM_TOO_LARGE;
}

/* ---- last words ---- */

void stream_end_output(struct bufferevent *stream)
{
	if (!bufferevent_openssl_get_ssl(stream))
		shutdown(bufferevent_getfd(stream), SHUT_WR);
}

bool stream_discard(struct bufferevent *stream, size_t *discarded)
{
	struct evbuffer *input = bufferevent_get_input(stream);
	size_t length = evbuffer_get_length(input);

	*discarded += length;
	evbuffer_drain(input, length);
	return *discarded <= LINGER_BYTES;
}
