// SPDX-License-Identifier: Apache-2.0
#include "name_server.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* RFC 1035, 4.1: the head of a message, and of a question behind its name. */
enum { HEAD_BYTES = 12, QUESTION_TAIL_BYTES = 4, TYPE_A = 1 };

/* Where the one question of @message ends; 0 for what is none. */
static size_t question_end(const uint8_t *message, size_t length)
{
	size_t at = HEAD_BYTES;

	while (at < length && message[at])
		at += 1u + message[at];
	at += 1 + QUESTION_TAIL_BYTES;
	return at <= length ? at : 0;
}

/* Make the answer of a question of @length bytes at @message, where there is room; its length. */
static size_t answer_make(const struct name_server *server, uint8_t *message, size_t length)
{
	static const uint8_t record[] = {
		0xc0, HEAD_BYTES,        /* the name of the question */
		0,    TYPE_A,     0, 1,  /* class IN */
		0,    0,          0, 60, /* seconds to live */
		0,    4,
	};
	size_t end = question_end(message, length);
	uint8_t type = end ? message[end - 3] : 0;

	message[2] = 0x84; // an answer, with authority
	message[3] = 0;
	message[5] = end != 0;
	message[7] = type == TYPE_A ? (uint8_t)server->count : 0;
	memset(message + 8, 0, 4);
	if (!end)
		return HEAD_BYTES;
	for (size_t i = 0; i < message[7]; i++) {
		memcpy(message + end, record, sizeof(record));
		memcpy(message + end + sizeof(record), &server->addresses[i], 4);
		end += sizeof(record) + 4;
	}
	return end;
}

static void *server_run(void *argument)
{
	const struct name_server *server = argument;
	struct sockaddr_in client;
	uint8_t message[1024];

	for (;;) {
		socklen_t size = sizeof(client);
		ssize_t length = recvfrom(server->fd, message, sizeof(message) / 2, 0,
					  (struct sockaddr *)&client, &size);

		// Nothing comes any more once the socket is shut down.
		if (length <= 0)
			return NULL;
		if (length < HEAD_BYTES)
			continue;
		length = (ssize_t)answer_make(server, message, (size_t)length);
		sendto(server->fd, message, (size_t)length, 0, (struct sockaddr *)&client, size);
	}
}

void name_server_start(struct name_server *server, const char *const *addresses, size_t count)
{
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(own);

	assert_true(count <= NAME_SERVER_ADDRESSES_MAX);
	*server = (struct name_server){ .count = count };
	for (size_t i = 0; i < count; i++)
		assert_int_equal(inet_pton(AF_INET, addresses[i], &server->addresses[i]), 1);
	server->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_true(server->fd >= 0);
	assert_int_equal(bind(server->fd, (struct sockaddr *)&own, size), 0);
	assert_int_equal(getsockname(server->fd, (struct sockaddr *)&own, &size), 0);
	snprintf(server->address, sizeof(server->address), "127.0.0.1:%d", ntohs(own.sin_port));
	assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
}

void name_server_stop(struct name_server *server)
{
	shutdown(server->fd, SHUT_RDWR);
	pthread_join(server->thread, NULL);
	close(server->fd);
}
