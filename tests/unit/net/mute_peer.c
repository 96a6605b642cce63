// SPDX-License-Identifier: Apache-2.0
#include "mute_peer.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* "PRI * HTTP/2.0" and so on, before the first frame. */
enum { PREFACE_BYTES = 24, PATIENCE_MS = 120000 };

static void *peer_run(void *argument)
{
	static const uint8_t settings[] = { 0, 0, 0, FRAME_SETTINGS, 0, 0, 0, 0, 0 };
	struct mute_peer *peer = argument;
	CLEANUP_FD int fd = accept4(peer->fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0 || send(fd, settings, sizeof(settings), MSG_NOSIGNAL) != sizeof(settings))
		return NULL;
	peer->ended = frames_read_to_end(fd, PREFACE_BYTES, PATIENCE_MS, &peer->frames);
	return NULL;
}

void mute_peer_start(struct mute_peer *peer)
{
	struct sockaddr_in own = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(own);

	*peer = (struct mute_peer){ .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) };
	assert_true(peer->fd >= 0);
	assert_int_equal(bind(peer->fd, (struct sockaddr *)&own, size), 0);
	assert_int_equal(getsockname(peer->fd, (struct sockaddr *)&own, &size), 0);
	assert_int_equal(listen(peer->fd, 8), 0);
	peer->port = ntohs(own.sin_port);
	assert_int_equal(pthread_create(&peer->thread, NULL, peer_run, peer), 0);
}

void mute_peer_await_end(struct mute_peer *peer)
{
	pthread_join(peer->thread, NULL);
	close(peer->fd);
}
