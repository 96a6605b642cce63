// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include "http.h"

#include "base/base.h"
#include "confighttp/confighttp.h"

#include <profcol/logging.h>

#include <errno.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The server's choices. */
#define HEADER_TIMEOUT_NS UINT64_C(10000000000)
#define WRITE_TIMEOUT_NS  UINT64_C(30000000000)
#define IDLE_TIMEOUT_NS   UINT64_C(60000000000)
/* Until descriptors or memory are asked for again. */
#define PAUSE_NS UINT64_C(200000000)

/* ---- settings ---- */

/* Own the texts. Those that are NULL stay so. */
static bool copy_texts(struct profcol_http_settings *settings)
{
	const char **texts[] = {
		&settings->endpoint,       &settings->cert_file,   &settings->key_file,
		&settings->client_ca_file, &settings->cert_pem,    &settings->key_pem,
		&settings->min_version,    &settings->max_version,
	};
	bool complete = true;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		if (!*texts[i])
			continue;
		*texts[i] = strdup(*texts[i]);
		complete &= *texts[i] != NULL;
	}
	return complete;
}

static void free_text(const char *text)
{
	free((void *)(uintptr_t)text);
}

static void free_texts(struct profcol_http_settings *settings)
{
	free_text(settings->endpoint);
	free_text(settings->cert_file);
	free_text(settings->key_file);
	free_text(settings->client_ca_file);
	free_text(settings->cert_pem);
	free_text(settings->key_pem);
	free_text(settings->min_version);
	free_text(settings->max_version);
}

/* "Name: value\r\n" of each; "" without. NULL without memory. */
static char *print_headers(const struct profcol_map *headers)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);

	if (!stream)
		return NULL;
	for (size_t i = 0; i < headers->count; i++)
		// What could end the line is refused with the configuration; here it is the last
		// line of defence.
		if (!strpbrk(headers->keys[i], "\r\n") && !strpbrk(headers->values[i], "\r\n"))
			fprintf(stream, "%s: %s\r\n", headers->keys[i], headers->values[i]);
	if (fclose(stream)) {
		free(text);
		return NULL;
	}
	return text;
}

static bool listener_init(struct profcol_http_listener *listener,
			  const struct profcol_http_settings *settings)
{
	struct profcol_http_settings *own = &listener->settings;

	// A component built against an older header has fewer members.
	memcpy(own, settings, settings->size < sizeof(*own) ? settings->size : sizeof(*own));
	http_connection_list_init(&listener->connections);
	listener->connection = (struct http_connection_settings){
		.handle = own->handle,
		.take = own->take,
		.context = own->context,
		.header_timeout_ns = own->header_timeout_ns ?: HEADER_TIMEOUT_NS,
		.write_timeout_ns = own->write_timeout_ns ?: WRITE_TIMEOUT_NS,
		.idle_timeout_ns = own->idle_timeout_ns ?: IDLE_TIMEOUT_NS,
		.close_after_reply = own->close_after_reply,
		.output_max_bytes = own->output_max_bytes,
		.extra = print_headers(&own->headers),
	};
	own->headers = (struct profcol_map){ 0 };
	return copy_texts(own) && listener->connection.extra;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

/* *@ret stays NULL when there is no certificate: plain text is wanted. */
static struct profcol_error *create_tls(const struct profcol_http_settings *settings,
					struct tls_server **ret)
{
	const struct tls_server_settings tls = {
		.pair = { or_empty(settings->cert_file), or_empty(settings->cert_pem),
			  or_empty(settings->key_file), or_empty(settings->key_pem) },
		.client_ca_file = or_empty(settings->client_ca_file),
		.min_version = or_empty(settings->min_version),
		.max_version = or_empty(settings->max_version),
		.reload_interval_ns = settings->reload_interval_ns,
		.client_ca_reload_interval_ns = settings->reload_interval_ns,
		.logger = settings->logger,
	};

	if (!tls.pair.cert_file[0] && !tls.pair.cert_pem[0])
		return NULL;
	return tls_server_create(&tls, ret);
}

/* Of `localhost` both loopback addresses: browsers choose which of them they ask first. */
static struct profcol_error *open_sockets(const char *text, struct sockets *ret)
{
	struct confighttp_endpoint endpoint;
	struct profcol_error *error = confighttp_endpoint_init(&endpoint, text);
	struct sockets_place place;

	if (error)
		return error;
	place = (struct sockets_place){
		.text = text,
		.host = endpoint.host,
		.port = endpoint.port,
		.family = AF_UNSPEC,
		.both_loopbacks = true,
	};
	error = sockets_open(&place, ret);
	confighttp_endpoint_deinit(&endpoint);
	return error;
}

struct profcol_error *http_listener_create(const struct profcol_http_settings *settings,
					   struct profcol_http_listener **ret)
{
	struct profcol_http_listener *listener = calloc(1, sizeof(*listener));
	struct profcol_error *error = NULL;

	if (!listener)
		return profcol_error_errno(ENOMEM, "endpoint");
	if (!listener_init(listener, settings))
		error = profcol_error_errno(ENOMEM, "endpoint");
	if (!error)
		error = create_tls(&listener->settings, &listener->tls);
	if (!error)
		error = open_sockets(listener->settings.endpoint, &listener->sockets);
	if (error) {
		http_listener_destroy(listener);
		return error;
	}
	*ret = listener;
	return NULL;
}

void http_listener_destroy(struct profcol_http_listener *listener)
{
	if (!listener)
		return;
	sockets_deinit(&listener->sockets);
	tls_server_destroy(listener->tls);
	free(listener->connection.extra);
	free_texts(&listener->settings);
	free(listener);
}

const char *http_listener_address(const struct profcol_http_listener *listener)
{
	return listener->sockets.address;
}

/* ---- clients ---- */

/* A client is there and stays there, and the event with it: trying at once would burn a CPU. */
static void pause_accepting(struct profcol_http_listener *listener, uint64_t ns)
{
	const struct timeval pause = { .tv_usec = (suseconds_t)(ns / 1000 + 1) };

	for (size_t i = 0; i < listener->sockets.count; i++)
		event_del(listener->events[i]);
	evtimer_add(listener->resume, &pause);
}

/* There are no more descriptors, or there is no memory. */
static void complain(struct profcol_http_listener *listener, int errnum)
{
	if (listener->settings.logger && !listener->complained)
		profcol_log_warn(listener->settings.logger,
				 "cannot accept a connection at '%s': %s; trying again, said once",
				 listener->settings.endpoint, strerrordesc_np(errnum));
	listener->complained = true;
}

static void on_resume(evutil_socket_t fd, short what, void *context)
{
	struct profcol_http_listener *listener = context;

	(void)fd;
	(void)what;
	for (size_t i = 0; i < listener->sockets.count; i++)
		event_add(listener->events[i], NULL);
}

/* Takes @fd. */
static void welcome(struct profcol_http_listener *listener, int fd)
{
	SSL *tls = NULL;

	if (listener->tls) {
		tls = tls_server_accept(listener->tls);
		if (!tls) {
			close(fd);
			return;
		}
	}
	// Without memory the client is gone, and may come again.
	(void)http_connection_create(listener->base, fd, tls, &listener->connection,
				     &listener->connections);
}

/* Clients of @listener that have not been accepted; none where that cannot be told. */
static size_t count_waiting(const struct profcol_http_listener *listener)
{
	size_t count = 0;

	for (size_t i = 0; i < listener->sockets.count; i++) {
		struct tcp_info info = { 0 };
		socklen_t size = sizeof(info);

		// tcpi_unacked of a listening socket counts its clients that wait (tcp_get_info(),
		// tcp.c).
		if (!getsockopt(listener->sockets.fds[i], IPPROTO_TCP, TCP_INFO, &info, &size))
			count += info.tcpi_unacked;
	}
	return count;
}

static enum http_room make_room(struct profcol_http_listener *listener, uint64_t *wait_ns)
{
	if (listener->connections.count < HTTP_CONNECTIONS_MAX)
		return HTTP_ROOM_MADE;
	return http_connection_displace(&listener->connections, count_waiting(listener), wait_ns);
}

/* A client that there is no room for waits in the kernel's queue, or finds its connection closed.
 */
static void on_client(evutil_socket_t fd, short what, void *context)
{
	struct profcol_http_listener *listener = context;
	uint64_t wait_ns = 0;
	enum http_room room = make_room(listener, &wait_ns);
	int client;

	(void)what;
	if (room == HTTP_ROOM_SOON) {
		pause_accepting(listener, wait_ns);
		return;
	}
	client = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (client >= 0) {
		listener->complained = false;
		if (room == HTTP_ROOM_MADE)
			welcome(listener, client);
		else
			close(client);
	} else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
		complain(listener, errno);
		pause_accepting(listener, PAUSE_NS);
	}
}

/* ---- the server's thread ---- */

bool http_listener_attach(struct profcol_http_listener *listener, struct event_base *base)
{
	listener->base = base;
	listener->resume = evtimer_new(base, on_resume, listener);
	if (!listener->resume)
		return false;
	for (size_t i = 0; i < listener->sockets.count; i++) {
		listener->events[i] = event_new(base, listener->sockets.fds[i],
						EV_READ | EV_PERSIST, on_client, listener);
		if (!listener->events[i] || event_add(listener->events[i], NULL))
			return false;
	}
	return true;
}

void http_listener_detach(struct profcol_http_listener *listener,
			  struct http_connection_list *leaving)
{
	struct http_connection *connection;

	for (size_t i = 0; i < SOCKETS_MOST; i++)
		if (listener->events[i])
			event_free(listener->events[i]);
	if (listener->resume)
		event_free(listener->resume);
	while ((connection = TAILQ_FIRST(&listener->connections.queue)))
		http_connection_leave(connection, leaving);
}
