// SPDX-License-Identifier: Apache-2.0
#include "http_client.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>

enum { CLIENT_PATIENCE_S = 20 };

/* ---- pages ---- */

static void set_body(struct profcol_http_reply *reply, char *body)
{
	reply->body = body;
	reply->length = strlen(body);
}

static void handle(void *context, const struct profcol_http_request *request,
		   struct profcol_http_reply *reply)
{
	struct http_fixture *fixture = context;

	atomic_fetch_add(&fixture->handled, 1);
	if (!strcmp(request->path, "/empty"))
		return;
	if (!strcmp(request->path, "/odd")) {
		reply->status = 42;
		return;
	}
	if (!strcmp(request->path, "/big") || !strcmp(request->path, "/large")) {
		reply->length = request->path[1] == 'b' ? BIG_PAGE_BYTES : LARGE_PAGE_BYTES;
		reply->body = malloc(reply->length);
		assert_non_null(reply->body);
		memset(reply->body, 'x', reply->length);
		return;
	}
	if (!strcmp(request->path, "/slow")) {
		sem_post(&fixture->entered);
		sem_wait(&fixture->go);
		atomic_store(&fixture->leaving, true);
	}
	if (strncmp(request->path, "/echo", 5) != 0) {
		set_body(reply, strdup("page\n"));
		return;
	}
	assert_true(asprintf(&reply->body, "[%s][%s]", request->path, request->query) > 0);
	reply->length = strlen(reply->body);
	reply->content_type = "text/html; charset=utf-8";
}

/* ---- the server ---- */

void http_fixture_init(struct http_fixture *fixture)
{
	*fixture = (struct http_fixture){
		.settings = {
			.size = sizeof(fixture->settings),
			.endpoint = "localhost:0",
			.handle = handle,
		},
	};
	fixture->settings.context = fixture;
	sem_init(&fixture->entered, 0, 0);
	sem_init(&fixture->go, 0, 0);
	assert_null(http_server_create(&fixture->server));
}

void http_fixture_deinit(struct http_fixture *fixture)
{
	http_fixture_close(fixture);
	http_server_destroy(fixture->server);
	sem_destroy(&fixture->entered);
	sem_destroy(&fixture->go);
}

void http_fixture_open(struct http_fixture *fixture)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		http_server_open(fixture->server, &fixture->settings, &fixture->listener);

	if (error)
		fail_msg("%s", profcol_error_message(error));
}

void http_fixture_close(struct http_fixture *fixture)
{
	http_listener_close(TAKE(fixture->listener));
}

/* ---- the client ---- */

static int connect_with(const char *address, int receive_bytes)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	const struct timeval patience = { .tv_sec = CLIENT_PATIENCE_S };
	CLEANUP_FREE char *host = strdup(address);
	char *port = strrchr(host, ':'), *name = host;
	struct addrinfo *found;
	int fd, status = 0;

	assert_non_null(port);
	*port++ = '\0';
	if (name[0] == '[') {
		name[strlen(name) - 1] = '\0';
		name++;
	}
	assert_int_equal(getaddrinfo(name, port, &hints, &found), 0);
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && receive_bytes)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen))
		status = -errno;
	freeaddrinfo(found);
	if (status) {
		if (fd >= 0)
			close(fd);
		return status;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	return fd;
}

int http_client_connect_to(const char *address)
{
	return connect_with(address, 0);
}

int http_client_connect_narrow(const struct http_fixture *fixture)
{
	int fd = connect_with(http_listener_address(fixture->listener), 4096);

	assert_true(fd >= 0);
	return fd;
}

int http_client_connect(const struct http_fixture *fixture)
{
	int fd = http_client_connect_to(http_listener_address(fixture->listener));

	assert_true(fd >= 0);
	return fd;
}

int http_client_send(int fd, const char *bytes, size_t length)
{
	while (length) {
		ssize_t sent = send(fd, bytes, length, MSG_NOSIGNAL);

		if (sent < 0)
			return -errno;
		bytes += sent;
		length -= (size_t)sent;
	}
	return 0;
}

char *http_client_read_all(int fd, size_t *length_ret)
{
	size_t length = 0, capacity = 1 << 16;
	char *text = malloc(capacity);

	for (;;) {
		ssize_t got;

		assert_non_null(text);
		got = recv(fd, text + length, capacity - length - 1, 0);
		if (got < 0 && errno == EAGAIN)
			fail_msg("the server neither answers nor closes the connection");
		if (got <= 0)
			break;
		length += (size_t)got;
		if (capacity - length < 2)
			text = realloc(text, capacity *= 2);
	}
	text[length] = '\0';
	if (length_ret)
		*length_ret = length;
	return text;
}

char *http_client_read_reply(int fd)
{
	size_t length = 0, wanted = SIZE_MAX, capacity = 1 << 16;
	char *text = calloc(1, capacity);

	assert_non_null(text);
	while (length < wanted) {
		const char *end, *size;
		// By single bytes: what follows belongs to the next reply.
		ssize_t got = recv(fd, text + length, 1, 0);

		if (got <= 0)
			fail_msg("the reply ends early: %s", text);
		length++;
		assert_true(length < capacity - 1);
		if (wanted != SIZE_MAX)
			continue;
		end = strstr(text, "\r\n\r\n");
		size = strcasestr(text, "\r\nContent-Length: ");
		if (end && size)
			wanted = (size_t)(end + 4 - text) + strtoul(size + 18, NULL, 10);
	}
	return text;
}

char *http_client_ask(const struct http_fixture *fixture, const char *request)
{
	CLEANUP_FD int fd = http_client_connect(fixture);

	assert_int_equal(http_client_send(fd, request, strlen(request)), 0);
	return http_client_read_all(fd, NULL);
}

int http_reply_status(const char *reply)
{
	int status = 0;

	return sscanf(reply, "HTTP/1.1 %d ", &status) == 1 ? status : 0;
}

int http_client_status(const struct http_fixture *fixture, const char *request)
{
	CLEANUP_FREE char *reply = http_client_ask(fixture, request);

	return http_reply_status(reply);
}
