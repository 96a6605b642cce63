/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server listens: the address, and why it cannot be had. Private to lib/net. */
#pragma once

#include "endpoint.h"
#include "net.h"

#include <sys/stat.h>

struct listener {
	struct endpoint endpoint;
	const char *text; /* borrowed: as configured */
	int transport;    /* enum net_transport */
	int fd;           /* owned: the socket, non-blocking; -1 unless open */
	char *address;    /* owned: "127.0.0.1:4317", or the path; once open */
	struct stat file; /* of a unix socket, once open */
};

/* Pure. CONFIG, starting with "endpoint: ". @text is borrowed until deinit. */
PROFCOL_MUST_CHECK struct profcol_error *listener_init(struct listener *listener, const char *text,
						       int transport);

/*
 * Listen there. A socket file that nobody listens at any more is replaced; ours may be used by its
 * owner and group. Of an address that stands for all, both families are taken unless the transport
 * names one. SYSTEM with the reason and a way out.
 */
PROFCOL_MUST_CHECK struct profcol_error *listener_open(struct listener *listener);

/* No further clients. */
void listener_close(struct listener *listener);

/*
 * Could it be opened now? Tries, and leaves nothing behind but *@ret, the caller's: as long as it
 * is open nobody else can listen there. -1 for a unix socket, and on error.
 */
PROFCOL_MUST_CHECK struct profcol_error *listener_probe(const struct listener *listener, int *ret);

/* Closes, and removes the socket file if it still is ours. */
void listener_deinit(struct listener *listener);
