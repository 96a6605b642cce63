/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server listens: the address, and why it cannot be had. Private to lib/net. */
#pragma once

#include "endpoint.h"
#include "net.h"

#include <grpc/grpc.h>

#include <sys/stat.h>

struct listener {
	struct endpoint endpoint;
	const char *text; /* borrowed: as configured */
	int transport;    /* enum net_transport */
	char *address;    /* owned: "127.0.0.1:4317", or the path; once open */
	struct stat file; /* of a unix socket, once open */
};

/* Pure. CONFIG, starting with "endpoint: ". @text is borrowed until deinit. */
PROFCOL_MUST_CHECK struct profcol_error *listener_init(struct listener *listener, const char *text,
						       int transport);

/*
 * Make @server listen there. A socket file that nobody listens at any more is replaced; ours may
 * be used by its owner and group. SYSTEM with the reason and a way out.
 */
PROFCOL_MUST_CHECK struct profcol_error *
listener_open(struct listener *listener, grpc_server *server, grpc_server_credentials *credentials);

/*
 * Could it be opened now? Tries, and leaves nothing behind but *@ret, the caller's: as long as it
 * is open nobody else can listen there. -1 for a unix socket, and on error.
 */
PROFCOL_MUST_CHECK struct profcol_error *listener_probe(const struct listener *listener, int *ret);

/* Removes the socket file, if it still is ours. */
void listener_deinit(struct listener *listener);
