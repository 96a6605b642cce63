/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The look-up of a name that may be given up: the C library's own blocks for as long as the name
 * servers please, so it runs on a thread that nobody has to wait for. Private to lib/net.
 */
#pragma once

#include <netdb.h>

struct lookup;

/* Begin to look up @host and the numeric @port (both copied), for a stream. NULL without memory or
 * threads. lookup_drop. */
struct lookup *lookup_start(const char *host, const char *port);

/* Readable once the result is there; borrowed. */
int lookup_fd(const struct lookup *lookup);

/* getaddrinfo's result and, with 0, the addresses; borrowed. Only once lookup_fd is readable. */
int lookup_result(const struct lookup *lookup, const struct addrinfo **ret);

/* Done with it, whether it has ended or not. Accepts NULL. */
void lookup_drop(struct lookup *lookup);
