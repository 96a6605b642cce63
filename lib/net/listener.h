/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server listens, as the Collector's configurations write it. Private to lib/net. */
#pragma once

#include "endpoint.h"
#include "net.h"

#include "sockets/sockets.h"

struct listener {
	struct endpoint endpoint;
	const char *text; /* borrowed: as configured */
	int transport;    /* enum net_transport */
	struct sockets sockets;
};

/* Pure. CONFIG, starting with "endpoint: ". @text is borrowed until deinit. */
PROFCOL_MUST_CHECK struct profcol_error *listener_init(struct listener *listener, const char *text,
						       int transport);

/*
 * For sockets_open() of listener->sockets, and sockets_probe(): one socket, also of `localhost`, as
 * in the Collector. The texts are the listener's.
 */
struct sockets_place listener_place(const struct listener *listener);

/* Closes, and removes the socket file if it still is ours. */
void listener_deinit(struct listener *listener);
