/* SPDX-License-Identifier: Apache-2.0 */
/* How the two kinds of places are opened. Private to lib/sockets. */
#pragma once

#include "sockets.h"

#include <sys/socket.h>

enum { SOCKET_FILE_MODE = 0660 };

struct sockets_address {
	const struct sockaddr *at; /* borrowed */
	socklen_t length;
	bool both_families; /* of an IPv6 one: IPv4 comes in by it as well */
};

/* Add a socket that listens at @address. Returns 0 or a positive errno. */
int sockets_add(struct sockets *sockets, const struct sockets_address *address);

/* Why there is none at @place. NO_MEMORY or SYSTEM. */
struct profcol_error *sockets_explain(const struct sockets_place *place, int errnum);

/* Open @place (tcp.c, unix.c). The caller deinits @sockets on error, too. */
PROFCOL_MUST_CHECK struct profcol_error *tcp_open(const struct sockets_place *place,
						  struct sockets *sockets);
PROFCOL_MUST_CHECK struct profcol_error *unix_open(const struct sockets_place *place,
						   struct sockets *sockets);
PROFCOL_MUST_CHECK struct profcol_error *unix_probe(const struct sockets_place *place);
