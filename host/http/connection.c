// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

#include "later.h"
#include "reply.h"
#include "request.h"

#include "base/base.h"
#include "http_head/http_head.h"
#include "stream/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

enum {
	/* A client that has been at its reply for this long goes when there is no room left. */
	PATIENCE_NS = 1000000000,
	/* A client has this long to ask before one that comes later takes its place. Where more
	 * clients wait than have places it is shorter, so that the last of them comes in within a
	 * moment... */
	MOMENT_NS = 100000000,
	/* ...but no shorter than this with TLS: there a client says and hears much before it can
	 * ask. */
	MOMENT_TLS_NS = 20000000,
};

enum connection_state {
	CONNECTION_READING, /* or waiting for the first byte of a request */
	CONNECTION_WAITING, /* for whoever took the request */
	CONNECTION_WRITING,
	CONNECTION_LINGERING,
};

struct http_connection {
	TAILQ_ENTRY(http_connection) entry;
	struct http_connection_list *list;               /* borrowed: where it is in */
	const struct http_connection_settings *settings; /* borrowed; NULL once it has left */
	struct bufferevent *stream;                      /* owned, with the socket and TLS */
	struct event *timer;                             /* owned: the end of this state */
	enum connection_state state;
	uint64_t since_ns;  /* CLOCK_MONOTONIC: when READING or WRITING began */
	bool begun;         /* READING: some of a request is there, or it is the first one */
	bool tls;           /* the client speaks TLS */
	bool last, refused; /* no request follows this reply; the request was not understood */
	bool head;          /* the request's reply has no body */
	struct profcol_http_call *call; /* WAITING: borrowed from who took it */
	size_t known;                   /* bytes of the input in which the end of the head is not */
	size_t discarded;               /* LINGERING */
};

/* ---- lists ---- */

void http_connection_list_init(struct http_connection_list *list)
{
	TAILQ_INIT(&list->queue);
	list->count = 0;
}

static void list_add(struct http_connection_list *list, struct http_connection *connection)
{
	TAILQ_INSERT_TAIL(&list->queue, connection, entry);
	list->count++;
	connection->list = list;
}

static void list_remove(struct http_connection *connection)
{
	TAILQ_REMOVE(&connection->list->queue, connection, entry);
	connection->list->count--;
}

/* Has @connection had the time to ask? If not, @wait_ns tells how much of it is left. */
static bool had_its_moment(const struct http_connection *connection, size_t waiting,
			   uint64_t *wait_ns)
{
	uint64_t passed_ns = clock_monotonic_ns() - connection->since_ns;
	uint64_t moment_ns = MOMENT_NS;

	if (waiting > HTTP_CONNECTIONS_MAX)
		moment_ns = moment_ns * HTTP_CONNECTIONS_MAX / waiting;
	if (connection->tls && moment_ns < MOMENT_TLS_NS)
		moment_ns = MOMENT_TLS_NS;
	if (connection->state != CONNECTION_READING || passed_ns >= moment_ns)
		return true;
	*wait_ns = moment_ns - passed_ns;
	return false;
}

enum http_room http_connection_displace(struct http_connection_list *list, size_t waiting,
					uint64_t *wait_ns)
{
	struct http_connection *connection, *slowest = NULL;

	TAILQ_FOREACH(connection, &list->queue, entry)
	{
		// Who waits for an answer is not the one to be slow.
		if (connection->state == CONNECTION_WAITING)
			continue;
		if (connection->state != CONNECTION_WRITING) {
			// Those of the list who read are in the order of their coming.
			if (!had_its_moment(connection, waiting, wait_ns))
				return HTTP_ROOM_SOON;
			http_connection_destroy(connection);
			return HTTP_ROOM_MADE;
		}
		if (!slowest || connection->since_ns < slowest->since_ns)
			slowest = connection;
	}
	// Who asks and does not read the answers would keep a probe out for the write timeout.
	if (!slowest || clock_monotonic_ns() - slowest->since_ns < PATIENCE_NS)
		return HTTP_ROOM_NONE;
	http_connection_destroy(slowest);
	return HTTP_ROOM_MADE;
}

/* ---- states ---- */

/* Once it has succeeded it needs no further memory, and does so again. */
static bool arm(struct http_connection *connection, uint64_t ns)
{
	struct timeval after = { .tv_sec = (time_t)(ns / 1000000000u),
				 .tv_usec = (suseconds_t)(ns % 1000000000u / 1000) };

	return evtimer_add(connection->timer, &after) == 0;
}

static void begin_writing(struct http_connection *connection)
{
	connection->state = CONNECTION_WRITING;
	connection->since_ns = clock_monotonic_ns();
	bufferevent_disable(connection->stream, EV_READ);
	arm(connection, connection->settings->write_timeout_ns);
}

/* Answer with a status in words; nothing follows. */
static void refuse(struct http_connection *connection, int status, bool head)
{
	const struct http_reply_options options = {
		.head = head,
		.extra = connection->settings->extra,
	};

	connection->last = connection->refused = true;
	begin_writing(connection);
	if (!http_reply_write_status(status, &options, bufferevent_get_output(connection->stream)))
		http_connection_destroy(connection);
}

/* Is there room for a reply of @length bytes, beside those that others have not taken yet? */
static bool has_room(const struct http_connection *connection, size_t length)
{
	uint64_t limit = connection->settings->output_max_bytes, under_way = 0;
	const struct http_connection *other;

	if (!limit)
		return true;
	TAILQ_FOREACH(other, &connection->list->queue, entry)
	under_way += evbuffer_get_length(bufferevent_get_output(other->stream));
	return !under_way || under_way + length <= limit;
}

void http_connection_answer(struct http_connection *connection, struct profcol_http_answer *answer)
{
	const struct http_reply_options options = {
		.head = connection->head,
		.keep_alive = !connection->last,
		.extra = connection->settings->extra,
		.headers = answer->headers,
		.policy = answer->policy,
	};
	struct profcol_http_reply *reply = &answer->reply;

	connection->call = NULL;
	if (reply->body && !has_room(connection, reply->length)) {
		free(reply->body);
		*reply = (struct profcol_http_reply){ .status = 503 };
	}
	if (reply->status < 200 || reply->status > 599)
		reply->status = 500;
	begin_writing(connection);
	if (!http_reply_write(reply, &options, bufferevent_get_output(connection->stream)))
		http_connection_destroy(connection);
}

/* Whoever takes the call answers it. Reading goes on, for it tells when the client leaves. */
static void begin_waiting(struct http_connection *connection, const struct http_request *request)
{
	const struct http_connection_settings *settings = connection->settings;

	connection->call = http_later_call(settings->later, connection, request);
	if (!connection->call) {
		http_connection_destroy(connection);
		return;
	}
	connection->state = CONNECTION_WAITING;
	evtimer_del(connection->timer);
	settings->take(settings->context, connection->call);
}

static void answer(struct http_connection *connection, const struct http_request *request)
{
	const struct http_connection_settings *settings = connection->settings;
	const struct profcol_http_request asked = { .path = request->path,
						    .query = request->query };
	struct profcol_http_answer answer = { .reply.status = 200 };

	connection->head = request->head;
	connection->last = !request->keep_alive || settings->close_after_reply;
	if (settings->take) {
		begin_waiting(connection, request);
		return;
	}
	settings->handle(settings->context, &asked, &answer.reply);
	http_connection_answer(connection, &answer);
}

/* Take one request out of what has come, if it is there. */
static void advance(struct http_connection *connection)
{
	struct evbuffer *input = bufferevent_get_input(connection->stream);
	struct http_request request;
	const char *bytes;
	size_t length;
	enum stream_head found = stream_find_head(input, &connection->known, &bytes, &length);
	int status = 431;

	if (found == STREAM_NOTHING)
		return;
	if (found == STREAM_NO_MEMORY) {
		http_connection_destroy(connection);
		return;
	}
	if (!connection->begun) {
		connection->begun = true;
		arm(connection, connection->settings->header_timeout_ns);
	}
	if (found == STREAM_BEGUN)
		return;
	request.head = length > 5 && !memcmp(bytes, "HEAD ", 5);
	if (found == STREAM_WHOLE)
		status = http_request_parse(bytes, length, &request);
	connection->begun = false;
	evbuffer_drain(input, length);
	if (status)
		refuse(connection, status, request.head);
	else
		answer(connection, &request);
}

/* The reply is with the kernel. */
static void finish(struct http_connection *connection)
{
	if (connection->last && connection->refused) {
		connection->state = CONNECTION_LINGERING;
		stream_end_output(connection->stream);
		arm(connection, STREAM_LINGER_NS);
		bufferevent_enable(connection->stream, EV_READ);
		return;
	}
	if (connection->last) {
		http_connection_destroy(connection);
		return;
	}
	connection->state = CONNECTION_READING;
	connection->since_ns = clock_monotonic_ns();
	list_remove(connection);
	list_add(connection->list, connection);
	arm(connection, connection->settings->idle_timeout_ns);
	bufferevent_enable(connection->stream, EV_READ);
	// The next request may be here already, and then no event tells of it.
	advance(connection);
}

/* ---- events ---- */

static void on_read(struct bufferevent *stream, void *context)
{
	struct http_connection *connection = context;
	struct evbuffer *input = bufferevent_get_input(stream);

	if (connection->state == CONNECTION_READING) {
		advance(connection);
	} else if (connection->state == CONNECTION_LINGERING) {
		if (!stream_discard(stream, &connection->discarded))
			http_connection_destroy(connection);
	} else if (connection->state == CONNECTION_WAITING &&
		   evbuffer_get_length(input) >= HTTP_HEAD_MOST) {
		// What comes after the request waits in the kernel from here on.
		bufferevent_disable(stream, EV_READ);
	}
}

static void on_written(struct bufferevent *stream, void *context)
{
	struct http_connection *connection = context;

	// TLS reports its handshake in the same way.
	if (connection->state == CONNECTION_WRITING &&
	    !evbuffer_get_length(bufferevent_get_output(stream)))
		finish(connection);
}

static void on_event(struct bufferevent *stream, short what, void *context)
{
	(void)stream;
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR))
		http_connection_destroy(context);
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
	struct http_connection *connection = context;

	(void)fd;
	(void)what;
	if (connection->state == CONNECTION_READING && connection->known)
		refuse(connection, 408, false);
	else
		http_connection_destroy(connection);
}

/* ---- life ---- */

bool http_connection_create(struct event_base *base, int fd, SSL *tls,
			    const struct http_connection_settings *settings,
			    struct http_connection_list *list)
{
	struct http_connection *connection = calloc(1, sizeof(*connection));
	struct bufferevent *stream = stream_accept(base, fd, tls);

	if (!connection || !stream) {
		free(connection);
		if (stream)
			bufferevent_free(stream);
		return false;
	}
	connection->stream = stream;
	connection->settings = settings;
	connection->tls = tls;
	connection->begun = true;
	connection->since_ns = clock_monotonic_ns();
	list_add(list, connection);
	connection->timer = evtimer_new(base, on_timer, connection);
	if (!connection->timer || !arm(connection, settings->header_timeout_ns)) {
		http_connection_destroy(connection);
		return false;
	}
	bufferevent_setcb(stream, on_read, on_written, on_event, connection);
	// At most 16 KiB are read at once, and nothing while a reply is under way.
	bufferevent_enable(stream, EV_READ | EV_WRITE);
	return true;
}

void http_connection_destroy(struct http_connection *connection)
{
	list_remove(connection);
	if (connection->call)
		http_later_leave(connection->call);
	if (connection->timer)
		event_free(connection->timer);
	stream_destroy(connection->stream);
	free(connection);
}

void http_connection_leave(struct http_connection *connection, struct http_connection_list *to)
{
	if (connection->state == CONNECTION_READING || connection->state == CONNECTION_WAITING) {
		http_connection_destroy(connection);
		return;
	}
	list_remove(connection);
	list_add(to, connection);
	connection->settings = NULL;
	connection->last = true;
}
