// SPDX-License-Identifier: Apache-2.0
#include "server.h"

#include "stream/stream.h"

#include <event2/bufferevent_ssl.h>
#include <openssl/err.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

#define SECOND_NS UINT64_C(1000000000)

enum {
	/* For one connection, before others have their turn. */
	READ_AT_ONCE = 64 << 10,
	/* With more than this on its way nothing is read: it would make yet more. */
	OUTPUT_MOST = 128 << 10,
};

/* Until it has acknowledged our settings; until it takes what we say. */
#define SETTLING_NS (60 * SECOND_NS)
#define BLOCKED_NS  (60 * SECOND_NS)
/* From the word that there will be no further calls, to the end of taking them. */
#define GOODBYE_NS SECOND_NS

/* Where the configuration has 0. */
#define IDLE_DEFAULT_NS              (600 * SECOND_NS)
#define KEEPALIVE_DEFAULT_NS         (7200 * SECOND_NS)
#define KEEPALIVE_TIMEOUT_DEFAULT_NS (20 * SECOND_NS)

static uint64_t or_default(uint64_t ns, uint64_t default_ns)
{
	return ns ? ns : default_ns;
}

static const struct net_server_parameters_config *parameters_of(const struct connection *connection)
{
	return &connection->server->config->keepalive.server_parameters;
}

static bool has_output(const struct connection *connection)
{
	return evbuffer_get_length(bufferevent_get_output(connection->stream));
}

/* ---- the end ---- */

static void connection_destroy(struct connection *connection)
{
	struct net_server *server = connection->server;
	struct net_call *call;

	while ((call = TAILQ_FIRST(&connection->calls)))
		call_close(call);
	TAILQ_REMOVE(&server->connections, connection, entry);
	if (connection->is_unsettled)
		TAILQ_REMOVE(&server->unsettled, connection, settle_entry);
	connection->peer->connections--;
	http1_destroy(connection->http1);
	http2_destroy(connection->http2);
	if (connection->timer)
		event_free(connection->timer);
	stream_destroy(connection->stream);
	free(connection);
	server_count_connection(server, -1);
}

void connection_destroy_all(struct net_server *server)
{
	struct connection *connection;

	while ((connection = TAILQ_FIRST(&server->connections)))
		connection_destroy(connection);
}

/* All is said, and what comes yet is thrown away for a moment. */
static void connection_linger(struct connection *connection)
{
	uint64_t until_ns = clock_monotonic_ns() + STREAM_LINGER_NS;

	// At the server's end nobody waits for those who go on talking.
	if ((!connection->http1 && !connection->http2) || server_is_stopping(connection->server))
		connection->doomed = true;
	connection->lingering = true;
	if (connection->cut_ns > until_ns)
		connection->cut_ns = until_ns;
	stream_end_output(connection->stream);
}

/* ---- time ---- */

static uint64_t earlier(uint64_t first, uint64_t second)
{
	return first < second ? first : second;
}

/* When the next of its times is over. */
static uint64_t next_deadline(const struct connection *connection)
{
	const struct net_server_parameters_config *parameters = parameters_of(connection);
	uint64_t head_ns = server_patience(connection->server).head_ns;
	uint64_t next = earlier(connection->age_ns, connection->cut_ns);

	if (!connection->greeted)
		next = earlier(next, connection->begun_ns + head_ns);
	if (!connection->settled)
		next = earlier(next, connection->begun_ns + SETTLING_NS);
	if (connection->head_ns)
		next = earlier(next, connection->head_ns + head_ns);
	if (connection->blocked_ns)
		next = earlier(next, connection->blocked_ns + BLOCKED_NS);
	if (!connection->call_count)
		next = earlier(next,
			       connection->idle_ns + or_default(parameters->max_connection_idle_ns,
								IDLE_DEFAULT_NS));
	return earlier(next,
		       connection->pinged
			       ? connection->pinged_ns + or_default(parameters->timeout_ns,
								    KEEPALIVE_TIMEOUT_DEFAULT_NS)
			       : connection->read_ns +
					 or_default(parameters->time_ns, KEEPALIVE_DEFAULT_NS));
}

static void connection_arm(struct connection *connection)
{
	uint64_t now_ns = clock_monotonic_ns(), next_ns = next_deadline(connection), left_ns;
	struct timeval after;

	// One that goes off too early looks again.
	if (connection->timer_ns && connection->timer_ns <= next_ns)
		return;
	connection->timer_ns = next_ns;
	left_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	after = (struct timeval){ .tv_sec = (time_t)(left_ns / SECOND_NS),
				  .tv_usec = (suseconds_t)(left_ns % SECOND_NS / 1000 + 1) };
	if (evtimer_add(connection->timer, &after))
		connection->doomed = true;
}

/* The grace of a connection that is too old, from now on. */
static void connection_grow_old(struct connection *connection, uint64_t now_ns)
{
	uint64_t grace_ns = parameters_of(connection)->max_connection_age_grace_ns;

	// The second time the client has heard of it: nothing begins any more.
	if (connection->ending) {
		connection->age_ns = UINT64_MAX;
		connection->said_goodbye = true;
		http2_goodbye(connection->http2, true);
		return;
	}
	connection_end(connection);
	connection->age_ns = now_ns + GOODBYE_NS;
	if (grace_ns)
		connection->cut_ns = earlier(connection->cut_ns, now_ns + grace_ns);
}

static void refuse_slow(struct connection *connection)
{
	connection->doomed = true;
	server_refused(connection->server, NET_REFUSED_SLOW, connection->peer_text);
}

static void connection_look_at_times(struct connection *connection, uint64_t now_ns)
{
	const struct net_server_parameters_config *parameters = parameters_of(connection);
	uint64_t idle_ns = or_default(parameters->max_connection_idle_ns, IDLE_DEFAULT_NS);
	uint64_t head_ns = server_patience(connection->server).head_ns;

	if (now_ns >= connection->cut_ns)
		connection->doomed = true;
	else if ((!connection->greeted && now_ns - connection->begun_ns >= head_ns) ||
		 (!connection->settled && now_ns - connection->begun_ns >= SETTLING_NS) ||
		 (connection->head_ns && now_ns - connection->head_ns >= head_ns) ||
		 (connection->blocked_ns && now_ns - connection->blocked_ns >= BLOCKED_NS))
		refuse_slow(connection);
	else if (connection->pinged)
		connection->doomed =
			now_ns - connection->pinged_ns >=
			or_default(parameters->timeout_ns, KEEPALIVE_TIMEOUT_DEFAULT_NS);
	if (connection->doomed)
		return;
	if (now_ns >= connection->age_ns && connection->http2)
		connection_grow_old(connection, now_ns);
	if (!connection->call_count && now_ns - connection->idle_ns >= idle_ns &&
	    !connection->ending)
		connection_end(connection);
	if (connection->http2 && !connection->pinged &&
	    now_ns - connection->read_ns >= or_default(parameters->time_ns, KEEPALIVE_DEFAULT_NS)) {
		connection->pinged = true;
		connection->pinged_ns = now_ns;
		http2_ping(connection->http2);
	}
}

static void on_timer(evutil_socket_t fd, short what, void *context)
{
	struct connection *connection = context;

	(void)fd;
	(void)what;
	connection->timer_ns = 0;
	connection_look_at_times(connection, clock_monotonic_ns());
	connection_settle_later(connection);
	connection_settle_all(connection->server);
}

/* ---- after each event ---- */

void connection_settle_later(struct connection *connection)
{
	if (connection->is_unsettled)
		return;
	connection->is_unsettled = true;
	TAILQ_INSERT_TAIL(&connection->server->unsettled, connection, settle_entry);
}

/* Has all been said that there is to say? */
static bool connection_is_over(const struct connection *connection)
{
	if (!connection->http1 && !connection->http2)
		return connection->ending;
	if (has_output(connection))
		return false;
	if (connection->http1)
		return connection->ending && !connection->call_count;
	return http2_is_over(connection->http2) ||
	       (connection->said_goodbye && (connection->mute || !connection->call_count));
}

static void connection_settle(struct connection *connection)
{
	size_t output;

	if (connection->http1 && !connection->doomed)
		http1_advance(connection->http1);
	if (connection->http2 && !connection->doomed && !http2_flush(connection->http2))
		connection->doomed = true;
	if (!connection->doomed && !connection->lingering && connection_is_over(connection))
		connection_linger(connection);
	if (connection->doomed) {
		connection_destroy(connection);
		return;
	}
	output = evbuffer_get_length(bufferevent_get_output(connection->stream));
	if (!output)
		connection->blocked_ns = 0;
	else if (!connection->blocked_ns)
		connection->blocked_ns = clock_monotonic_ns();
	if (output >= OUTPUT_MOST || (connection->http1 && http1_is_full(connection->http1)))
		bufferevent_disable(connection->stream, EV_READ);
	else
		bufferevent_enable(connection->stream, EV_READ);
	connection_arm(connection);
	if (connection->doomed)
		connection_settle_later(connection);
}

void connection_settle_all(struct net_server *server)
{
	struct connection *connection;

	while ((connection = TAILQ_FIRST(&server->unsettled))) {
		TAILQ_REMOVE(&server->unsettled, connection, settle_entry);
		connection->is_unsettled = false;
		connection_settle(connection);
	}
}

void connection_end(struct connection *connection)
{
	if (connection->ending)
		return;
	connection->ending = true;
	// Who has no calls may begin none: it would have to wait for them.
	connection->said_goodbye =
		!connection->call_count || server_is_stopping(connection->server);
	if (connection->http2)
		http2_goodbye(connection->http2, connection->said_goodbye);
	connection_settle_later(connection);
}

/* ---- events ---- */

/* Who has said something last comes last. */
static void move_to_end(struct connection *connection)
{
	struct connection_list *list = &connection->server->connections;

	TAILQ_REMOVE(list, connection, entry);
	TAILQ_INSERT_TAIL(list, connection, entry);
}

/* HTTP/2 begins with a method that nobody else has. False: that cannot be told yet. */
static bool connection_recognize(struct connection *connection, struct evbuffer *input)
{
	static const char first[] = "PRI ";
	char bytes[sizeof(first) - 1];
	ssize_t length = evbuffer_copyout(input, bytes, sizeof(bytes));

	if (length <= 0)
		return false;
	if (connection->server->http.config && memcmp(bytes, first, (size_t)length) != 0)
		connection->http1 = http1_create(connection);
	else if (connection->server->http.config && (size_t)length < sizeof(bytes))
		return false;
	else
		connection->http2 = http2_create(connection);
	if (!connection->http1 && !connection->http2)
		connection->doomed = true;
	return true;
}

static void connection_feed(struct connection *connection, struct evbuffer *input)
{
	struct evbuffer_iovec part;

	if (!connection->http1 && !connection->http2 && !connection_recognize(connection, input))
		return;
	// HTTP/1.1 takes what it needs when the connection is seen to.
	if (!connection->http2)
		return;
	while (!connection->doomed && !connection->mute &&
	       evbuffer_peek(input, -1, NULL, &part, 1) > 0) {
		bool sound = http2_feed(connection->http2, part.iov_base, part.iov_len);

		evbuffer_drain(input, part.iov_len);
		if (sound)
			continue;
		// What nghttp2 has to say of it goes out first.
		connection->doomed = !connection->greeted;
		return;
	}
}

static void on_read(struct bufferevent *stream, void *context)
{
	struct connection *connection = context;

	connection->read_ns = clock_monotonic_ns();
	move_to_end(connection);
	if (connection->lingering || connection->mute) {
		if (!stream_discard(stream, &connection->discarded))
			connection->doomed = true;
	} else {
		connection_feed(connection, bufferevent_get_input(stream));
	}
	connection_settle_later(connection);
	connection_settle_all(connection->server);
}

static void on_written(struct bufferevent *stream, void *context)
{
	struct connection *connection = context;

	(void)stream;
	connection_settle_later(connection);
	connection_settle_all(connection->server);
}

static void on_event(struct bufferevent *stream, short what, void *context)
{
	struct connection *connection = context;

	if (!(what & (BEV_EVENT_EOF | BEV_EVENT_ERROR)))
		return;
	connection->doomed = true;
	// A client that we did not let in: without TLS, without a certificate that we take.
	if (bufferevent_get_openssl_error(stream) && !connection->greeted)
		server_refused(connection->server, NET_REFUSED_TLS, connection->peer_text);
	ERR_clear_error();
	connection_settle_later(connection);
	connection_settle_all(connection->server);
}

/* ---- life ---- */

static struct bufferevent *create_stream(struct net_server *server, int fd)
{
	SSL *tls = server->tls ? tls_server_accept(server->tls) : NULL;

	if (server->tls && !tls) {
		close(fd);
		return NULL;
	}
	return stream_accept(server->base, fd, tls);
}

/* An age, give or take a tenth: not all clients come again at once. */
static uint64_t choose_end(const struct connection *connection)
{
	uint64_t age_ns = parameters_of(connection)->max_connection_age_ns;
	uint64_t tenth_ns = age_ns / 10;

	if (!age_ns)
		return UINT64_MAX;
	return connection->begun_ns + age_ns - tenth_ns +
	       (tenth_ns ? (uint64_t)random() % (2 * tenth_ns) : 0);
}

/* The kernel ends a connection whose client acknowledges nothing. */
static void set_up_socket(const struct connection *connection, int fd)
{
	uint64_t ns =
		or_default(parameters_of(connection)->timeout_ns, KEEPALIVE_TIMEOUT_DEFAULT_NS);
	unsigned int timeout_ms =
		ns / 1000000 < UINT32_MAX / 2 ? (unsigned int)(ns / 1000000) : UINT32_MAX / 2;
	int on = 1;

	// They fail for unix sockets, which need neither.
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof(timeout_ms));
}

void connection_create(struct net_server *server, int fd, struct peer *peer, const char *peer_text)
{
	struct connection *connection = calloc(1, sizeof(*connection));
	struct bufferevent *stream = create_stream(server, fd);

	if (!connection || !stream) {
		free(connection);
		if (stream)
			bufferevent_free(stream);
		return;
	}
	connection->server = server;
	connection->peer = peer;
	connection->stream = stream;
	connection->begun_ns = connection->idle_ns = connection->read_ns = clock_monotonic_ns();
	connection->cut_ns = UINT64_MAX;
	connection->age_ns = choose_end(connection);
	snprintf(connection->peer_text, sizeof(connection->peer_text), "%s", peer_text);
	TAILQ_INIT(&connection->calls);
	TAILQ_INIT(&connection->waiting);
	TAILQ_INIT(&connection->ready);
	TAILQ_INSERT_TAIL(&server->connections, connection, entry);
	peer->connections++;
	server_count_connection(server, 1);
	set_up_socket(connection, fd);
	connection->timer = evtimer_new(server->base, on_timer, connection);
	bufferevent_setcb(stream, on_read, on_written, on_event, connection);
	bufferevent_set_max_single_read(stream, READ_AT_ONCE);
	if (!connection->timer || bufferevent_enable(stream, EV_READ | EV_WRITE))
		connection->doomed = true;
	else
		connection_arm(connection);
	if (connection->doomed)
		connection_settle_later(connection);
}
