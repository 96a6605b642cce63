// SPDX-License-Identifier: Apache-2.0
#include "stand_in.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

enum { HEAD_MAX = 8192, CONNECTIONS_MAX = 512, PATIENCE_MS = 120000 };

struct stand_in {
	_Atomic(const struct stand_in_route *) routes;
	SSL_CTX *tls;
	int listen_fd, stop_fd;
	char address[32];
	pthread_t thread;
	pthread_mutex_t lock; /* protects the rest */
	pthread_t connections[CONNECTIONS_MAX];
	char *heads[CONNECTIONS_MAX];
	size_t connection_count, head_count;
	unsigned int accepted; /* with a request */
};

struct talk {
	struct stand_in *server;
	int fd;
	SSL *session;
};

/* False when the server is to stop. */
static bool wait_for(const struct stand_in *server, int fd, short events, int milliseconds)
{
	struct pollfd ready[] = { { .fd = server->stop_fd, .events = POLLIN },
				  { .fd = fd, .events = events } };

	poll(ready, fd < 0 ? 1 : 2, milliseconds);
	return !ready[0].revents;
}

static ssize_t talk_read(struct talk *talk, char *bytes, size_t size)
{
	if (talk->session && SSL_pending(talk->session))
		return SSL_read(talk->session, bytes, (int)size);
	if (!wait_for(talk->server, talk->fd, POLLIN, PATIENCE_MS))
		return -1;
	return talk->session ? SSL_read(talk->session, bytes, (int)size)
			     : read(talk->fd, bytes, size);
}

static bool talk_write(struct talk *talk, const char *bytes, size_t length)
{
	while (length) {
		ssize_t sent = talk->session ? SSL_write(talk->session, bytes, (int)length)
					     : send(talk->fd, bytes, length, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		bytes += sent;
		length -= (size_t)sent;
	}
	return true;
}

static bool talk_read_head(struct talk *talk, char *head)
{
	size_t length = 0;

	do {
		ssize_t got = talk_read(talk, head + length, HEAD_MAX - length);

		if (got <= 0)
			return false;
		length += (size_t)got;
		head[length] = '\0';
	} while (!strstr(head, "\r\n\r\n") && length < HEAD_MAX);
	return true;
}

static const struct stand_in_route *find_route(struct stand_in *server, const char *head)
{
	static const struct stand_in_route missing = { .status = 404, .body = "not here\n" };
	const struct stand_in_route *route = atomic_load(&server->routes);

	for (; route->request; route++)
		if (!strncmp(head, route->request, strlen(route->request)) &&
		    (!route->needs || strstr(head, route->needs)))
			return route;
	return &missing;
}

static char *print_answer(const struct stand_in_route *route, size_t *length_ret)
{
	const char *body = route->body ? route->body : "";
	size_t length = route->raw_length;
	char *text, *whole;

	if (route->raw) {
		length = length ? length : strlen(route->raw);
		text = malloc(length);
		assert_non_null(text);
		memcpy(text, route->raw, length);
	} else {
		assert_true(asprintf(&text, "HTTP/1.1 %d Status\r\nContent-Length: %zu\r\n%s\r\n%s",
				     route->status, strlen(body) + route->padding,
				     route->headers ? route->headers : "", body) > 0);
		length = strlen(text);
	}
	whole = realloc(text, length + route->padding + 1);
	assert_non_null(whole);
	memset(whole + length, ' ', route->padding);
	*length_ret = length + route->padding;
	return whole;
}

static void talk_send(struct talk *talk, const struct stand_in_route *route)
{
	CLEANUP_FREE char *answer = NULL;
	size_t length;

	if (route->delay_ms && !wait_for(talk->server, -1, 0, (int)route->delay_ms))
		return;
	if (!route->status && !route->raw)
		return;
	answer = print_answer(route, &length);
	if (!route->byte_ms) {
		talk_write(talk, answer, length);
		return;
	}
	for (size_t i = 0; i < length; i++)
		if (!talk_write(talk, answer + i, 1) ||
		    !wait_for(talk->server, -1, 0, (int)route->byte_ms))
			return;
}

static void talk_answer(struct talk *talk, const struct stand_in_route *route)
{
	talk_send(talk, route);
	if (route->hold_ms)
		wait_for(talk->server, -1, 0, (int)route->hold_ms);
}

static void note_head(struct stand_in *server, const char *head, bool first)
{
	pthread_mutex_lock(&server->lock);
	server->accepted += first;
	if (server->head_count < CONNECTIONS_MAX)
		server->heads[server->head_count++] = strdup(head);
	pthread_mutex_unlock(&server->lock);
}

/* Every request of a connection; false when there was none. */
static bool talk_serve(struct talk *talk, char *head)
{
	const struct stand_in_route *route = NULL;

	while (talk_read_head(talk, head)) {
		bool first = !route;

		note_head(talk->server, head, first);
		route = find_route(talk->server, head);
		if (route->once_only && !first)
			break;
		talk_answer(talk, route);
		if (!route->goes_on)
			break;
	}
	return route;
}

static void *talk_run(void *argument)
{
	struct talk *talk = argument;
	struct timeval patience = { .tv_sec = PATIENCE_MS / 1000 };
	char head[HEAD_MAX + 1];
	int on = 1;

	// Bytes that are sent one by one come one by one.
	setsockopt(talk->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(talk->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(talk->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	if (talk->server->tls) {
		talk->session = SSL_new(talk->server->tls);
		SSL_set_fd(talk->session, talk->fd);
	}
	if ((!talk->session || SSL_accept(talk->session) == 1) && talk_serve(talk, head) &&
	    talk->session)
		SSL_shutdown(talk->session);
	SSL_free(talk->session);
	shutdown(talk->fd, SHUT_WR);
	close(talk->fd);
	free(talk);
	return NULL;
}

static void *server_run(void *argument)
{
	struct stand_in *server = argument;

	while (wait_for(server, server->listen_fd, POLLIN, -1)) {
		struct talk *talk = calloc(1, sizeof(*talk));
		size_t at = server->connection_count;

		*talk = (struct talk){ .server = server };
		talk->fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (talk->fd < 0 || at == CONNECTIONS_MAX) {
			cleanup_fd(&talk->fd);
			free(talk);
			continue;
		}
		if (!pthread_create(&server->connections[at], NULL, talk_run, talk))
			server->connection_count++;
	}
	return NULL;
}

struct stand_in *stand_in_start(const struct stand_in_route *routes, SSL_CTX *tls)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct stand_in *server = calloc(1, sizeof(*server));
	socklen_t length = sizeof(address);

	assert_non_null(server);
	signal(SIGPIPE, SIG_IGN);
	server->tls = tls;
	atomic_store(&server->routes, routes);
	pthread_mutex_init(&server->lock, NULL);
	server->stop_fd = eventfd(0, EFD_CLOEXEC);
	server->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server->listen_fd, (struct sockaddr *)&address, length), 0);
	assert_int_equal(listen(server->listen_fd, 64), 0);
	getsockname(server->listen_fd, (struct sockaddr *)&address, &length);
	snprintf(server->address, sizeof(server->address), "127.0.0.1:%u",
		 (unsigned int)ntohs(address.sin_port));
	assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
	return server;
}

void stand_in_change(struct stand_in *server, const struct stand_in_route *routes)
{
	atomic_store(&server->routes, routes);
}

const char *stand_in_address(const struct stand_in *server)
{
	return server->address;
}

const char *stand_in_port(const struct stand_in *server)
{
	return strchr(server->address, ':') + 1;
}

unsigned int stand_in_count(struct stand_in *server, const char *request)
{
	unsigned int count = 0;

	pthread_mutex_lock(&server->lock);
	for (size_t i = 0; i < server->head_count; i++)
		count += !strncmp(server->heads[i], request, strlen(request));
	pthread_mutex_unlock(&server->lock);
	return count;
}

unsigned int stand_in_connections(struct stand_in *server)
{
	unsigned int count;

	pthread_mutex_lock(&server->lock);
	count = server->accepted;
	pthread_mutex_unlock(&server->lock);
	return count;
}

void stand_in_stop(struct stand_in *server)
{
	eventfd_write(server->stop_fd, 1);
	pthread_join(server->thread, NULL);
	for (size_t i = 0; i < server->connection_count; i++)
		pthread_join(server->connections[i], NULL);
	for (size_t i = 0; i < server->head_count; i++)
		free(server->heads[i]);
	close(server->listen_fd);
	close(server->stop_fd);
	pthread_mutex_destroy(&server->lock);
	free(server);
}
