/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lib/sockets: sockets that listen at an address of the configuration, and why one cannot be had,
 * for every server of ours. The one header that other folders include. How an endpoint is written
 * is not known here: lib/confighttp and lib/net parse theirs.
 */
#pragma once

#include <profcol/errors.h>

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

/* Where to listen. The texts are borrowed. */
struct sockets_place {
	const char *text; /* as it is configured, for errors */
	const char *path; /* of a unix socket, which fits in a sockaddr_un; NULL = TCP */
	/* Of TCP: without brackets, "" = all addresses; digits, 0 = any port that is free. */
	const char *host, *port;
	int family;          /* AF_INET or AF_INET6: addresses of this one only; AF_UNSPEC */
	bool both_loopbacks; /* `localhost` is the loopback address of both families */
};

enum { SOCKETS_MOST = 2, SOCKETS_ADDRESS_MAX = 128 };

/* Zeroed = none is open. */
struct sockets {
	int fds[SOCKETS_MOST]; /* owned; listening, not blocking */
	size_t count;
	char address[SOCKETS_ADDRESS_MAX]; /* of the first: "127.0.0.1:4317", "[::]:8888", a path */
	bool has_file;                     /* of a unix socket, which is ours to remove: */
	struct stat file;
};

/*
 * Listen at @place. No host, 0.0.0.0 and [::] are all addresses of both families, unless one is
 * chosen; another name is one address, its first of IPv4 or else its first one: so it is in Go's
 * programs. `localhost` on both loopbacks has one port on both, as far as the machine has them. A
 * socket file that nobody listens at any more is replaced; ours may be used by its owner and group.
 *
 * Looks the name up, which may take time. SYSTEM with the reason and a way out, starting with
 * "endpoint: ". On success, the caller's to deinit.
 */
PROFCOL_MUST_CHECK struct profcol_error *sockets_open(const struct sockets_place *place,
						      struct sockets *ret);

/*
 * Could it be opened now? The sockets in *@ret, the caller's to deinit, keep others from listening
 * there as long as they are open; of a unix socket there is none, and no file is touched.
 */
PROFCOL_MUST_CHECK struct profcol_error *sockets_probe(const struct sockets_place *place,
						       struct sockets *ret);

/* No further clients. The address stays. */
void sockets_close(struct sockets *sockets);

/* Closes, and removes the socket file if it still is ours. */
void sockets_deinit(struct sockets *sockets);
