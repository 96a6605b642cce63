// SPDX-License-Identifier: Apache-2.0
#include "place.h"

#include "base/base.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	/* How often a port is drawn that has to be free for both families. */
	PORT_DRAWS = 16,
};

/* ---- addresses of our own ---- */

static int add_v4(struct sockets *sockets, in_addr_t host, in_port_t port)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
					     .sin_port = htons(port),
					     .sin_addr.s_addr = htonl(host) };

	return sockets_add(sockets, &(struct sockets_address){
					    .at = (const struct sockaddr *)&address,
					    .length = sizeof(address),
				    });
}

static int add_v6(struct sockets *sockets, struct in6_addr host, in_port_t port, bool both_families)
{
	const struct sockaddr_in6 address = { .sin6_family = AF_INET6,
					      .sin6_port = htons(port),
					      .sin6_addr = host };

	return sockets_add(sockets, &(struct sockets_address){
					    .at = (const struct sockaddr *)&address,
					    .length = sizeof(address),
					    .both_families = both_families,
				    });
}

/* The machine, or this container, does without this family. */
static bool is_absent(int errnum)
{
	return errnum == EAFNOSUPPORT || errnum == EADDRNOTAVAIL || errnum == EPROTONOSUPPORT;
}

/* All addresses of both families. */
static int add_all(struct sockets *sockets, in_port_t port)
{
	int errnum = add_v6(sockets, in6addr_any, port, true);

	return is_absent(errnum) ? add_v4(sockets, INADDR_ANY, port) : errnum;
}

static in_port_t port_of(int fd)
{
	struct sockaddr_in address; // sin6_port is in the same place
	socklen_t length = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &length) ? 0 : ntohs(address.sin_port);
}

static int add_loopbacks_once(struct sockets *sockets, in_port_t port)
{
	int errnum = add_v4(sockets, INADDR_LOOPBACK, port);

	if (errnum && !is_absent(errnum))
		return errnum;
	if (sockets->count && !port)
		port = port_of(sockets->fds[0]);
	errnum = add_v6(sockets, in6addr_loopback, port, false);
	return sockets->count && is_absent(errnum) ? 0 : errnum;
}

static int add_loopbacks(struct sockets *sockets, in_port_t port)
{
	int errnum = add_loopbacks_once(sockets, port);

	// A port that was free for IPv4 need not be so for IPv6.
	for (int draw = 1; draw < PORT_DRAWS && !port && errnum == EADDRINUSE; draw++) {
		sockets_close(sockets);
		errnum = add_loopbacks_once(sockets, port);
	}
	return errnum;
}

/* ---- addresses of others ---- */

static void addresses_cleanup(struct addrinfo **addresses)
{
	if (*addresses)
		freeaddrinfo(*addresses);
}

static struct profcol_error *look_up(const struct sockets_place *place, struct addrinfo **ret)
{
	const struct addrinfo hints = { .ai_family = place->family,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	int status = getaddrinfo(place->host[0] ? place->host : NULL, place->port, &hints, ret);

	if (!status)
		return NULL;
	if (status == EAI_MEMORY)
		return profcol_error_errno(ENOMEM, "endpoint");
	return profcol_error_create(PROFCOL_SYSTEM,
				    "endpoint: cannot listen at '%.300s': '%.300s' has no address: "
				    "%s; use an address of this machine, or 0.0.0.0 for all",
				    place->text, place->host,
				    status == EAI_SYSTEM ? strerrordesc_np(errno)
							 : gai_strerror(status));
}

static const struct addrinfo *choose(const struct addrinfo *addresses)
{
	for (const struct addrinfo *address = addresses; address; address = address->ai_next)
		if (address->ai_family == AF_INET)
			return address;
	return addresses;
}

static bool is_wildcard(const struct addrinfo *address)
{
	const void *at = address->ai_addr;

	if (address->ai_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)at)->sin6_addr);
	return address->ai_family == AF_INET &&
	       ((const struct sockaddr_in *)at)->sin_addr.s_addr == htonl(INADDR_ANY);
}

/* The socket of a name or an address. */
static struct profcol_error *open_name(const struct sockets_place *place, in_port_t port,
				       struct sockets *sockets)
{
	CLEANUP(addresses_cleanup) struct addrinfo *addresses = NULL;
	struct profcol_error *error = look_up(place, &addresses);
	const struct addrinfo *chosen;
	int errnum;

	if (error)
		return error;
	chosen = choose(addresses);
	// As in Go, and so in the Collector: 0.0.0.0 does not shut IPv6 out.
	if (place->family == AF_UNSPEC && is_wildcard(chosen))
		errnum = add_all(sockets, port);
	else
		errnum = sockets_add(sockets, &(struct sockets_address){
						      .at = chosen->ai_addr,
						      .length = chosen->ai_addrlen,
					      });
	return errnum ? sockets_explain(place, errnum) : NULL;
}

/* ---- the place ---- */

static struct profcol_error *print_address(const struct sockets_place *place,
					   struct sockets *sockets)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	char host[INET6_ADDRSTRLEN + 16], port[8];

	if (getsockname(sockets->fds[0], (struct sockaddr *)&address, &length))
		return sockets_explain(place, errno);
	if (getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return sockets_explain(place, ENOMEM);
	snprintf(sockets->address, sizeof(sockets->address),
		 address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return NULL;
}

struct profcol_error *tcp_open(const struct sockets_place *place, struct sockets *sockets)
{
	in_port_t port = (in_port_t)strtoul(place->port, NULL, 10);
	struct profcol_error *error = NULL;
	int errnum = 0;

	if (place->both_loopbacks && !strcasecmp(place->host, "localhost"))
		errnum = add_loopbacks(sockets, port);
	else if (!place->host[0] && place->family == AF_UNSPEC)
		errnum = add_all(sockets, port);
	else
		error = open_name(place, port, sockets);
	if (errnum)
		error = sockets_explain(place, errnum);
	return error ? error : print_address(place, sockets);
}
