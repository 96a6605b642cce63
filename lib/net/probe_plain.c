// SPDX-License-Identifier: Apache-2.0
#include "probe.h"

#include "base/base.h"

#include <poll.h>
#include <string.h>
#include <sys/socket.h>

enum { WAIT_MAX_MS = 1000 };

const char probe_hello[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
			   "\0\0\0\4\0\0\0\0\0";
const size_t probe_hello_length = sizeof(probe_hello) - 1;

bool probe_wait(const struct probe *probe, int fd, short events)
{
	struct pollfd waiting[] = {
		{ .fd = fd, .events = events },
		{ .fd = probe->cancelled_fd, .events = POLLIN },
	};
	uint64_t now = clock_monotonic_ns();
	uint64_t left_ms = probe->deadline_ns > now ? (probe->deadline_ns - now) / 1000000 : 0;
	int timeout = left_ms < WAIT_MAX_MS ? (int)left_ms : WAIT_MAX_MS;

	return poll(waiting, 2, timeout) > 0 && !waiting[1].revents && waiting[0].revents;
}

enum probe_talk probe_recognize(const uint8_t *bytes, size_t length)
{
	// A frame's length is 24 bits; its type, 4 for settings, comes first on a connection.
	if (length >= 4 && bytes[3] == 4)
		return PROBE_SPEAKS_HTTP2;
	// An alert of TLS: type 21, version 3.x.
	if (length >= 2 && bytes[0] == 21 && bytes[1] == 3)
		return PROBE_SPEAKS_TLS;
	return PROBE_SPEAKS_OTHER;
}

enum probe_talk probe_talk_plain(const struct probe *probe, int fd)
{
	uint8_t bytes[16];
	ssize_t length;

	if (send(fd, probe_hello, probe_hello_length, MSG_NOSIGNAL) < 0)
		return PROBE_CLOSES;
	if (!probe_wait(probe, fd, POLLIN))
		return PROBE_SILENT;
	length = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	return length <= 0 ? PROBE_CLOSES : probe_recognize(bytes, (size_t)length);
}
