/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The look-up of a name, or of an address, that may be given up: the C library's own blocks for as
 * long as the name servers please, so it runs on a thread that nobody has to wait for.
 */
#pragma once

#include <stdbool.h>

struct addrinfo;
struct lookup;
struct sockaddr;

/* Is @host an IPv4 or IPv6 address, without brackets and zone, so that there is nothing to look up?
 * Any thread. */
bool lookup_is_address(const char *host);

/*
 * Begin to look up @host and the numeric @port (both copied), for a stream. The first address found
 * has the name that the host is really called by. When IPv4 addresses are there, and nobody knows
 * for a moment whether there are IPv6 ones, those of IPv4 are all. NULL without memory or threads.
 * lookup_drop.
 */
struct lookup *lookup_start(const char *host, const char *port);

/* Begin to look up what the host at @address (an IPv4 or IPv6 one, copied) is called. */
struct lookup *lookup_start_name(const struct sockaddr *address);

/* Readable once the result is there; borrowed. */
int lookup_fd(const struct lookup *lookup);

/* getaddrinfo's result and, with 0, the addresses; borrowed. Only once lookup_fd is readable. */
int lookup_result(const struct lookup *lookup, const struct addrinfo **ret);

/* The same of lookup_start_name: getnameinfo's result and, with 0, the name. */
int lookup_name_result(const struct lookup *lookup, const char **ret);

/* Done with it, whether it has ended or not. Accepts NULL. */
void lookup_drop(struct lookup *lookup);
