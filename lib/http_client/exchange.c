// SPDX-License-Identifier: Apache-2.0
/*
 * One call, as events: the name is looked up, its addresses are tried one after the other, the
 * request is written, the answer read. Whatever happens first of an end, a fault, the deadline and
 * a cancellation leaves the loop. On a connection that has waited, only the last two are left to
 * do.
 */
#include "answer.h"
#include "client.h"

#include "base/base.h"
#include "loop/loop.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <fcntl.h>
#include <netdb.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)

enum {
	PIECE_MAX_BYTES = 64 << 10,
	ADDRESS_SECONDS = 3, /* for one of several addresses */
	TUNNEL_HEAD_MAX = 8192,
};

/* A way through a proxy, for TLS. */
enum tunnel { TUNNEL_NONE, TUNNEL_ASKED, TUNNEL_OPEN };

struct exchange {
	const struct http_client *client; /* borrowed, as the next two */
	const struct http_client_request *request;
	const struct http_url *url;
	struct event_base *base; /* owned, as all events and the stream */
	struct event *deadline, *cancelled, *looked_up;
	struct event *patience;      /* for this address, then between two pieces */
	struct lookup *lookup;       /* owned */
	struct addrinfo *literal;    /* owned; instead of a look-up */
	const struct addrinfo *next; /* address to try next; borrowed from one of these */
	struct bufferevent *stream;
	bool connected;
	bool reused;  /* the connection had waited */
	bool heard;   /* the server has said something */
	bool hung_up; /* the connection has ended before the answer */
	enum tunnel tunnel;
	struct http_answer answer;   /* owned */
	struct profcol_error *error; /* owned: why it has ended */
};

static void event_drop(struct event **event)
{
	if (*event)
		event_free(*event);
	*event = NULL;
}

static void exchange_deinit(struct exchange *exchange)
{
	if (exchange->stream)
		bufferevent_free(exchange->stream);
	event_drop(&exchange->deadline);
	event_drop(&exchange->cancelled);
	event_drop(&exchange->looked_up);
	event_drop(&exchange->patience);
	loop_destroy(exchange->base);
	lookup_drop(exchange->lookup);
	if (exchange->literal)
		freeaddrinfo(exchange->literal);
	http_answer_deinit(&exchange->answer);
	profcol_error_destroy(exchange->error);
}

/* Takes @error (may be NULL: a success). */
static void exchange_finish(struct exchange *exchange, struct profcol_error *error)
{
	profcol_error_destroy(exchange->error);
	exchange->error = error;
	event_base_loopbreak(exchange->base);
}

static struct profcol_error *out_of_memory(void)
{
	return profcol_error_errno(ENOMEM, "send a request");
}

/* ---- time ---- */

static bool arm(struct event *timer, uint64_t ns)
{
	struct timeval after = { .tv_sec = (time_t)(ns / SECOND),
				 .tv_usec = (suseconds_t)(ns % SECOND / 1000) };

	return event_add(timer, &after) == 0;
}

static void on_deadline(evutil_socket_t fd, short what, void *context)
{
	struct exchange *exchange = context;

	(void)fd;
	(void)what;
	exchange_finish(exchange,
			profcol_error_create(PROFCOL_UNAVAILABLE, "no %s in time",
					     !exchange->next && !exchange->stream ? "address found"
					     : exchange->connected                ? "whole answer"
										  : "connection"));
}

static void on_cancelled(evutil_socket_t fd, short what, void *context)
{
	(void)fd;
	(void)what;
	exchange_finish(context, profcol_error_create(PROFCOL_SHUTDOWN, "cancelled"));
}

/* ---- a connection ---- */

static void exchange_connect(struct exchange *exchange);

/* This address has failed; @error (taken) stands when it was the last one. */
static void exchange_try_next(struct exchange *exchange, struct profcol_error *error)
{
	if (!exchange->next || exchange->connected) {
		exchange_finish(exchange, error);
		return;
	}
	profcol_error_destroy(error);
	exchange_connect(exchange);
}

static void on_patience(evutil_socket_t fd, short what, void *context)
{
	struct exchange *exchange = context;

	(void)fd;
	(void)what;
	exchange_try_next(exchange,
			  profcol_error_create(PROFCOL_UNAVAILABLE,
					       exchange->connected
						       ? "the server has been silent for too long"
						       : "no connection in time"));
}

/* Writes the request line and the headers that it needs; a proxy gets the whole URL. */
static bool exchange_send_line(const struct exchange *exchange, struct evbuffer *output)
{
	const struct http_client_proxy *proxy = exchange->request->proxy;
	const char *method = exchange->request->method, *target = exchange->url->target;
	bool passed_on = proxy && !exchange->url->tls;

	if (evbuffer_add_printf(output, "%s %s%s%s%s HTTP/1.1\r\nHost: %s\r\n%s",
				method ? method : "GET", passed_on ? "http://" : "",
				passed_on ? exchange->url->authority : "",
				target[0] == '/' ? "" : "/", target, exchange->url->authority,
				exchange->client->idle ? "" : "Connection: close\r\n") < 0)
		return false;
	return !passed_on || !proxy->authorization ||
	       evbuffer_add_printf(output, "Proxy-Authorization: %s\r\n", proxy->authorization) >=
		       0;
}

static bool exchange_send(struct exchange *exchange)
{
	const struct http_client_request *request = exchange->request;
	struct evbuffer *output = bufferevent_get_output(exchange->stream);
	bool has_body = request->method && strcmp(request->method, "GET");
	bool fine = exchange_send_line(exchange, output);

	for (size_t i = 0; fine && i < request->header_count; i++)
		fine = evbuffer_add_printf(output, "%s: %s\r\n", request->headers[i].name,
					   request->headers[i].value) >= 0;
	// A server may want to know that nothing follows.
	if (fine && has_body)
		fine = evbuffer_add_printf(output, "Content-Length: %zu\r\n",
					   request->body_length) >= 0;
	if (!fine || evbuffer_add_printf(output, "\r\n") < 0)
		return false;
	return !has_body || !request->body_length ||
	       !evbuffer_add_reference(output, request->body, request->body_length, NULL, NULL);
}

/* ---- through a proxy ---- */

static bool exchange_ask_tunnel(struct exchange *exchange)
{
	const struct http_client_proxy *proxy = exchange->request->proxy;
	const struct http_url *url = exchange->url;
	struct evbuffer *output = bufferevent_get_output(exchange->stream);
	bool six = strchr(url->host, ':');

	exchange->tunnel = TUNNEL_ASKED;
	if (evbuffer_add_printf(output, "CONNECT %s%s%s:%s HTTP/1.1\r\nHost: %s%s%s:%s\r\n",
				six ? "[" : "", url->host, six ? "]" : "", url->port,
				six ? "[" : "", url->host, six ? "]" : "", url->port) < 0)
		return false;
	if (proxy->authorization &&
	    evbuffer_add_printf(output, "Proxy-Authorization: %s\r\n", proxy->authorization) < 0)
		return false;
	return evbuffer_add_printf(output, "\r\n") >= 0;
}

static void exchange_talk_tls(struct exchange *exchange);

/* Reads the proxy's answer to CONNECT: a status line and headers, without a body. */
static void exchange_read_tunnel(struct exchange *exchange, struct evbuffer *input)
{
	struct evbuffer_ptr end = evbuffer_search(input, "\r\n\r\n", 4, NULL);
	size_t length = evbuffer_get_length(input);
	char line[128];
	ev_ssize_t got;

	if (end.pos < 0 && length < TUNNEL_HEAD_MAX)
		return;
	got = evbuffer_copyout(input, line, sizeof(line) - 1);
	line[got > 0 ? got : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	for (char *at = line; *at; at++)
		if (*at < ' ' || *at > '~')
			*at = '?';
	if (end.pos < 0 || strncmp(line, "HTTP/1.", 7) || strncmp(line + 8, " 2", 2)) {
		exchange_finish(exchange,
				profcol_error_create(PROFCOL_UNAVAILABLE,
						     "the proxy %s:%s makes no connection: %s",
						     exchange->request->proxy->host,
						     exchange->request->proxy->port, line));
		return;
	}
	// The server behind it says nothing before we do.
	evbuffer_drain(input, length);
	exchange->tunnel = TUNNEL_OPEN;
	exchange_talk_tls(exchange);
}

static void on_readable(struct bufferevent *stream, void *context)
{
	struct evbuffer *input = bufferevent_get_input(stream);
	struct exchange *exchange = context;
	struct profcol_error *error = NULL;
	size_t length;

	if (exchange->request->idle_ns)
		arm(exchange->patience, exchange->request->idle_ns);
	if (exchange->tunnel == TUNNEL_ASKED) {
		exchange_read_tunnel(exchange, input);
		return;
	}
	exchange->heard |= evbuffer_get_length(input) > 0;
	while (!error && exchange->answer.state != HTTP_ANSWER_DONE &&
	       (length = evbuffer_get_length(input))) {
		const unsigned char *bytes;

		if (length > PIECE_MAX_BYTES)
			length = PIECE_MAX_BYTES;
		bytes = evbuffer_pullup(input, (ev_ssize_t)length);
		error = bytes ? http_answer_feed(&exchange->answer, (const char *)bytes, length)
			      : out_of_memory();
		evbuffer_drain(input, length);
	}
	if (error || exchange->answer.state == HTTP_ANSWER_DONE)
		exchange_finish(exchange, error);
}

static void exchange_begin_talk(struct exchange *exchange)
{
	bool asks =
		exchange->request->proxy && exchange->url->tls && exchange->tunnel == TUNNEL_NONE;
	bool fine;

	exchange->connected = true;
	event_del(exchange->patience);
	if (exchange->request->idle_ns)
		arm(exchange->patience, exchange->request->idle_ns);
	fine = asks ? exchange_ask_tunnel(exchange) : exchange_send(exchange);
	if (!fine || bufferevent_enable(exchange->stream, EV_READ | EV_WRITE))
		exchange_finish(exchange, out_of_memory());
}

static struct profcol_error *exchange_explain(const struct exchange *exchange, int error)
{
	SSL *session = bufferevent_openssl_get_ssl(exchange->stream);
	char text[256];

	if (session && (!error || SSL_get_verify_result(session) != X509_V_OK)) {
		http_client_tls_explain(session, bufferevent_get_openssl_error(exchange->stream),
					text, sizeof(text));
		return profcol_error_create(PROFCOL_UNAVAILABLE, "%s", text);
	}
	return profcol_error_create(PROFCOL_UNAVAILABLE, "%s",
				    error ? strerrordesc_np(error) : "the server hung up");
}

static void on_event(struct bufferevent *stream, short what, void *context)
{
	struct exchange *exchange = context;
	int error = EVUTIL_SOCKET_ERROR();

	if (what & BEV_EVENT_CONNECTED) {
		exchange_begin_talk(exchange);
		return;
	}
	if (!exchange->connected) {
		exchange_try_next(exchange,
				  exchange_explain(exchange, what & BEV_EVENT_ERROR ? error : 0));
		return;
	}
	// What has come with the end may be the end of the answer.
	if (exchange->tunnel != TUNNEL_ASKED)
		on_readable(stream, exchange);
	if (exchange->error || exchange->answer.state == HTTP_ANSWER_DONE)
		return;
	// Who refuses a body need not read all of it: its answer is there, or comes.
	if ((what & BEV_EVENT_WRITING) && !bufferevent_openssl_get_ssl(stream)) {
		bufferevent_disable(stream, EV_WRITE);
		return;
	}
	exchange->hung_up = true;
	if (what & BEV_EVENT_EOF)
		exchange_finish(exchange, http_answer_end(&exchange->answer));
	else
		exchange_finish(exchange, exchange_explain(exchange, error));
}

/* A stream that is not connected yet, or @fd with TLS to come; NULL without memory. */
static struct bufferevent *exchange_stream(struct exchange *exchange, evutil_socket_t fd)
{
	const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;
	struct bufferevent *stream;
	SSL *session;

	if (!exchange->url->tls || (exchange->request->proxy && fd < 0))
		return bufferevent_socket_new(exchange->base, fd, options);
	session = http_client_tls_begin(exchange->client, exchange->url);
	if (!session)
		return NULL;
	stream = bufferevent_openssl_socket_new(exchange->base, fd, session,
						BUFFEREVENT_SSL_CONNECTING, options);
	if (!stream) {
		SSL_free(session);
		return NULL;
	}
	// Many servers end without a word; the answer itself says where it ends.
	bufferevent_openssl_set_allow_dirty_shutdown(stream, 1);
	return stream;
}

/* The proxy has made the connection: its socket gets TLS. */
static void exchange_talk_tls(struct exchange *exchange)
{
	evutil_socket_t fd = bufferevent_getfd(exchange->stream);
	struct bufferevent *stream;

	bufferevent_setfd(exchange->stream, -1);
	stream = exchange_stream(exchange, fd);
	if (!stream) {
		close(fd);
		exchange_finish(exchange, out_of_memory());
		return;
	}
	bufferevent_free(exchange->stream);
	exchange->stream = stream;
	bufferevent_setcb(stream, on_readable, NULL, on_event, exchange);
}

static void exchange_connect(struct exchange *exchange)
{
	const struct addrinfo *address = exchange->next;

	if (exchange->stream)
		bufferevent_free(exchange->stream);
	exchange->next = address->ai_next;
	exchange->stream = exchange_stream(exchange, -1);
	if (!exchange->stream) {
		exchange_finish(exchange, out_of_memory());
		return;
	}
	bufferevent_setcb(exchange->stream, on_readable, NULL, on_event, exchange);
	if (exchange->next)
		arm(exchange->patience, ADDRESS_SECONDS * SECOND);
	else
		event_del(exchange->patience);
	if (bufferevent_socket_connect(exchange->stream, address->ai_addr,
				       (int)address->ai_addrlen) < 0)
		exchange_try_next(exchange,
				  profcol_error_create(PROFCOL_UNAVAILABLE, "%s",
						       strerrordesc_np(EVUTIL_SOCKET_ERROR())));
}

/* ---- the name ---- */

static void on_looked_up(evutil_socket_t fd, short what, void *context)
{
	struct exchange *exchange = context;
	const struct http_client_proxy *proxy = exchange->request->proxy;
	int status = lookup_result(exchange->lookup, &exchange->next);

	(void)fd;
	(void)what;
	event_drop(&exchange->looked_up);
	if (!status && exchange->next)
		exchange_connect(exchange);
	else
		exchange_finish(exchange,
				profcol_error_create(PROFCOL_UNAVAILABLE,
						     "name '%s' has no address: %s",
						     proxy ? proxy->host : exchange->url->host,
						     gai_strerror(status)));
}

static struct profcol_error *exchange_look_up(struct exchange *exchange)
{
	const struct addrinfo wanted = { .ai_socktype = SOCK_STREAM,
					 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	const struct http_client_proxy *proxy = exchange->request->proxy;
	const char *host = proxy ? proxy->host : exchange->url->host;
	const char *port = proxy ? proxy->port : exchange->url->port;

	if (lookup_is_address(host)) {
		if (getaddrinfo(host, port, &wanted, &exchange->literal))
			return profcol_error_create(PROFCOL_SYSTEM, "'%s' is no address here",
						    host);
		exchange->next = exchange->literal;
		exchange_connect(exchange);
		return NULL;
	}
	exchange->lookup = lookup_start(host, port);
	if (!exchange->lookup)
		return out_of_memory();
	exchange->looked_up = event_new(exchange->base, lookup_fd(exchange->lookup), EV_READ,
					on_looked_up, exchange);
	if (!exchange->looked_up || event_add(exchange->looked_up, NULL))
		return out_of_memory();
	return NULL;
}

/* ---- connections that wait ---- */

/* Takes @kept. */
static struct profcol_error *exchange_continue(struct exchange *exchange,
					       const struct idle_connection *kept)
{
	const int options = BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS;

	if (kept->session)
		exchange->stream = bufferevent_openssl_socket_new(
			exchange->base, kept->fd, kept->session, BUFFEREVENT_SSL_OPEN, options);
	else
		exchange->stream = bufferevent_socket_new(exchange->base, kept->fd, options);
	if (!exchange->stream) {
		idle_connection_close(kept);
		return out_of_memory();
	}
	if (kept->session)
		bufferevent_openssl_set_allow_dirty_shutdown(exchange->stream, 1);
	exchange->reused = true;
	exchange->tunnel = exchange->request->proxy && kept->session ? TUNNEL_OPEN : TUNNEL_NONE;
	bufferevent_setcb(exchange->stream, on_readable, NULL, on_event, exchange);
	exchange_begin_talk(exchange);
	return NULL;
}

/* After the answer: descriptor and session once more, so that they outlive the stream. */
static bool exchange_keep(struct exchange *exchange, struct idle_connection *kept)
{
	struct bufferevent *stream = exchange->stream;

	// A request of which the server has not taken all, or an answer with more behind it.
	if (!exchange->client->idle || exchange->hung_up ||
	    !http_answer_leaves_connection(&exchange->answer) ||
	    evbuffer_get_length(bufferevent_get_output(stream)) ||
	    evbuffer_get_length(bufferevent_get_input(stream)))
		return false;
	kept->fd = fcntl(bufferevent_getfd(stream), F_DUPFD_CLOEXEC, 0);
	if (kept->fd < 0)
		return false;
	kept->session = bufferevent_openssl_get_ssl(stream);
	if (kept->session)
		SSL_up_ref(kept->session);
	return true;
}

/* Callers can find out by the ends who the server is, as long as the connection is open. */
static void exchange_tell_ends(const struct exchange *exchange, int fd,
			       struct http_client_response *response)
{
	socklen_t own_length = sizeof(response->own_end),
		  server_length = sizeof(response->server_end);

	if (!exchange->request->proxy &&
	    !getsockname(fd, (struct sockaddr *)&response->own_end, &own_length) &&
	    !getpeername(fd, (struct sockaddr *)&response->server_end, &server_length))
		return;
	response->own_end.ss_family = response->server_end.ss_family = AF_UNSPEC;
}

/* ---- all of it ---- */

static struct profcol_error *exchange_init(struct exchange *exchange)
{
	uint64_t now = clock_monotonic_ns(), deadline = exchange->request->deadline_ns;

	// By default, timers may come early, by a tick of the kernel's.
	exchange->base = loop_create(EVENT_BASE_FLAG_PRECISE_TIMER);
	if (!exchange->base || !http_answer_init(&exchange->answer, exchange->request))
		return out_of_memory();
	exchange->deadline = evtimer_new(exchange->base, on_deadline, exchange);
	exchange->patience = evtimer_new(exchange->base, on_patience, exchange);
	if (!exchange->deadline || !exchange->patience)
		return out_of_memory();
	if (exchange->request->cancel_fd) {
		exchange->cancelled = event_new(exchange->base, exchange->request->cancel_fd,
						EV_READ, on_cancelled, exchange);
		if (!exchange->cancelled || event_add(exchange->cancelled, NULL))
			return out_of_memory();
	}
	if (deadline <= now)
		return profcol_error_create(PROFCOL_UNAVAILABLE, "no connection in time");
	if (deadline != UINT64_MAX && !arm(exchange->deadline, deadline - now))
		return out_of_memory();
	return NULL;
}

/* Takes the connection in @kept, if its fd is one; leaves there one that may be kept, or -1. */
static struct profcol_error *exchange_run(struct exchange *exchange, struct idle_connection *kept,
					  struct http_client_response *response)
{
	struct idle_connection given = *kept;
	struct profcol_error *error = exchange_init(exchange);

	kept->fd = -1;
	if (error)
		idle_connection_close(&given);
	if (!error)
		error = given.fd >= 0 ? exchange_continue(exchange, &given)
				      : exchange_look_up(exchange);
	if (error)
		return error;
	// What has ended at once has left no loop to break.
	if (!exchange->error)
		event_base_dispatch(exchange->base);
	error = TAKE(exchange->error);
	// A loop can fail: what has not come to its end is no answer.
	if (!error && exchange->answer.state != HTTP_ANSWER_DONE)
		error = profcol_error_create(PROFCOL_UNAVAILABLE, "the call ended early");
	if (error)
		return error;
	if (!exchange_keep(exchange, kept))
		kept->fd = -1;
	*response = exchange->answer.response;
	if (kept->fd >= 0)
		exchange_tell_ends(exchange, kept->fd, response);
	exchange->answer.response = (struct http_client_response){ 0 };
	return NULL;
}

/* One attempt, on *@kept if its fd is one; true in *@stale_ret: that was closed unheard. */
static struct profcol_error *attempt(const struct http_client *client,
				     const struct http_client_request *request,
				     const struct http_url *url, struct idle_connection *kept,
				     struct http_client_response *response, bool *stale_ret)
{
	CLEANUP(exchange_deinit)
	struct exchange exchange = {
		.client = client,
		.request = request,
		.url = url,
	};
	struct profcol_error *error = exchange_run(&exchange, kept, response);

	*stale_ret = error && exchange.reused && exchange.hung_up && !exchange.heard;
	return error;
}

struct profcol_error *http_client_exchange(const struct http_client *client,
					   const struct http_client_request *request,
					   const struct http_url *url,
					   struct http_client_response *response)
{
	CLEANUP_FREE char *way = client->idle ? http_url_way(url, request->proxy) : NULL;
	struct idle_connection kept = { .fd = -1 };
	struct profcol_error *error;
	bool stale;

	if (client->idle && !way)
		return out_of_memory();
	if (way)
		(void)idle_pool_take(client->idle, way, &kept);
	error = attempt(client, request, url, &kept, response, &stale);
	if (stale) {
		profcol_error_destroy(error);
		kept = (struct idle_connection){ .fd = -1 };
		error = attempt(client, request, url, &kept, response, &stale);
	}
	// Only now, as the loop that held the connection is gone.
	if (kept.fd >= 0)
		idle_pool_put(client->idle, way, &kept);
	return error;
}
