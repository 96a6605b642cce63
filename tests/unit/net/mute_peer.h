/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A peer that is frozen as soon as a client is connected: it says what a server of HTTP/2 begins
 * with, and then nothing, whatever it is asked. At a port of 127.0.0.1; one connection; one thread.
 */
#pragma once

#include "frames.h"

#include <pthread.h>

struct mute_peer {
	int fd, port;
	pthread_t thread;
	bool ended;           /* the client has closed the connection by itself */
	struct frames frames; /* that it had sent */
};

void mute_peer_start(struct mute_peer *peer);
/* Waits for the end of the connection, at most ten seconds; `ended` and `frames` are there then. */
void mute_peer_await_end(struct mute_peer *peer);
