// SPDX-License-Identifier: Apache-2.0
#include "sockets.h"

#include "base/base.h"
#include "confighttp/confighttp.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
	/* How often a port is drawn that has to be free for both families. */
	PORT_DRAWS = 16,
};

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
		struct sockaddr_storage storage;
	};
	socklen_t length;
	bool both_families; /* of an IPv6 one: IPv4 comes in by it as well */
};

static struct profcol_error *explain(const char *endpoint, int errnum)
{
	const char *remedy = "choose another endpoint";

	if (errnum == ENOMEM)
		return profcol_error_errno(ENOMEM, "endpoint");
	if (errnum == EADDRINUSE)
		remedy = "something listens there already: stop it, or choose another port";
	else if (errnum == EACCES)
		remedy = "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one";
	else if (errnum == EADDRNOTAVAIL)
		remedy = "this machine does not have the address: use one of its own, or 0.0.0.0 "
			 "for all";
	else if (errnum == EMFILE || errnum == ENFILE)
		remedy = "raise the limit of open files";
	return profcol_error_create(PROFCOL_SYSTEM, "endpoint: cannot listen at '%.300s': %s; %s",
				    endpoint, strerrordesc_np(errnum), remedy);
}

/* ---- addresses ---- */

static struct address address_v4(in_addr_t host, in_port_t port)
{
	return (struct address){
		.v4 = { .sin_family = AF_INET,
			.sin_port = htons(port),
			.sin_addr.s_addr = htonl(host) },
		.length = sizeof(struct sockaddr_in),
	};
}

static struct address address_v6(const struct in6_addr *host, in_port_t port)
{
	return (struct address){
		.v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = *host },
		.length = sizeof(struct sockaddr_in6),
	};
}

static void addresses_cleanup(struct addrinfo **addresses)
{
	if (*addresses)
		freeaddrinfo(*addresses);
}

static struct profcol_error *look_up(const char *endpoint, const char *host, const char *port,
				     struct address *ret)
{
	const struct addrinfo hints = { .ai_family = AF_UNSPEC,
					.ai_socktype = SOCK_STREAM,
					.ai_flags = AI_PASSIVE | AI_NUMERICSERV };
	CLEANUP(addresses_cleanup) struct addrinfo *addresses = NULL;
	const struct addrinfo *chosen;
	int status = getaddrinfo(host, port, &hints, &addresses);

	if (status)
		return profcol_error_create(PROFCOL_SYSTEM,
					    "endpoint: cannot listen at '%.300s': '%.300s' has no "
					    "address: %s; use an address of this machine, or "
					    "0.0.0.0 for all",
					    endpoint, host,
					    status == EAI_SYSTEM ? strerrordesc_np(errno)
								 : gai_strerror(status));
	for (chosen = addresses; chosen && chosen->ai_family != AF_INET;)
		chosen = chosen->ai_next;
	if (!chosen)
		chosen = addresses;
	if (chosen->ai_addrlen > sizeof(ret->storage))
		return explain(endpoint, EADDRNOTAVAIL);
	*ret = (struct address){ .length = chosen->ai_addrlen };
	memcpy(&ret->storage, chosen->ai_addr, chosen->ai_addrlen);
	return NULL;
}

static bool is_wildcard(const struct address *address)
{
	if (address->any.sa_family == AF_INET)
		return address->v4.sin_addr.s_addr == htonl(INADDR_ANY);
	return address->any.sa_family == AF_INET6 &&
	       IN6_IS_ADDR_UNSPECIFIED(&address->v6.sin6_addr);
}

/* ---- sockets ---- */

static int set_option(int fd, int level, int name, int value)
{
	return setsockopt(fd, level, name, &value, sizeof(value)) ? -errno : 0;
}

/* A socket that listens at @address, in *@ret; else a negative errno. */
static int listen_at(const struct address *address, int *ret)
{
	CLEANUP_FD int fd =
		socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int status;

	if (fd < 0)
		return -errno;
	// A restart is not refused for the connections of the run before.
	status = set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (!status && address->any.sa_family == AF_INET6)
		status = set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !address->both_families);
	if (status)
		return status;
	if (bind(fd, &address->any, address->length) || listen(fd, SOMAXCONN))
		return -errno;
	*ret = TAKE_FD(fd);
	return 0;
}

static int sockets_add(struct http_sockets *sockets, const struct address *address)
{
	int status = listen_at(address, &sockets->fds[sockets->count]);

	if (!status)
		sockets->count++;
	return status;
}

/* The machine, or this container, does without this family. */
static bool is_absent(int status)
{
	return status == -EAFNOSUPPORT || status == -EADDRNOTAVAIL || status == -EPROTONOSUPPORT;
}

static in_port_t port_of(int fd)
{
	struct address address = { .length = sizeof(address.storage) };

	if (getsockname(fd, &address.any, &address.length))
		return 0;
	return ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port
						       : address.v4.sin_port);
}

static int open_loopback_once(struct http_sockets *sockets, in_port_t port)
{
	struct address v4 = address_v4(INADDR_LOOPBACK, port), v6;
	int status = sockets_add(sockets, &v4);

	if (status && !is_absent(status))
		return status;
	if (sockets->count && !port)
		port = port_of(sockets->fds[0]);
	v6 = address_v6(&in6addr_loopback, port);
	status = sockets_add(sockets, &v6);
	return sockets->count && is_absent(status) ? 0 : status;
}

static int open_loopback(struct http_sockets *sockets, in_port_t port)
{
	int status = open_loopback_once(sockets, port);

	// A port that was free for IPv4 need not be so for IPv6.
	for (int draw = 1; draw < PORT_DRAWS && !port && status == -EADDRINUSE; draw++) {
		http_sockets_deinit(sockets);
		status = open_loopback_once(sockets, port);
	}
	return status;
}

static int open_all(struct http_sockets *sockets, in_port_t port)
{
	struct address any = address_v6(&in6addr_any, port);
	int status;

	any.both_families = true;
	status = sockets_add(sockets, &any);
	if (!is_absent(status))
		return status;
	any = address_v4(INADDR_ANY, port);
	return sockets_add(sockets, &any);
}

/* ---- endpoints ---- */

static void print_address(struct http_sockets *sockets)
{
	struct address address = { .length = sizeof(address.storage) };
	char host[INET6_ADDRSTRLEN + 16], port[8];

	if (getsockname(sockets->fds[0], &address.any, &address.length) ||
	    getnameinfo(&address.any, address.length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV))
		return;
	snprintf(sockets->address, sizeof(sockets->address),
		 address.any.sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static struct profcol_error *open_endpoint(const char *text,
					   const struct confighttp_endpoint *endpoint,
					   struct http_sockets *ret)
{
	in_port_t port = (in_port_t)strtoul(endpoint->port, NULL, 10);
	struct profcol_error *error;
	struct address address;
	int status;

	if (!strcasecmp(endpoint->host, "localhost")) {
		status = open_loopback(ret, port);
	} else if (!endpoint->host[0]) {
		status = open_all(ret, port);
	} else {
		error = look_up(text, endpoint->host, endpoint->port, &address);
		if (error)
			return error;
		// As in Go, and so in the Collector: 0.0.0.0 does not shut IPv6 out.
		status = is_wildcard(&address) ? open_all(ret, port) : sockets_add(ret, &address);
	}
	return status ? explain(text, -status) : NULL;
}

struct profcol_error *http_sockets_open(const char *text, struct http_sockets *ret)
{
	struct confighttp_endpoint endpoint;
	struct profcol_error *error = confighttp_endpoint_init(&endpoint, text);

	*ret = (struct http_sockets){ 0 };
	if (error)
		return error;
	error = open_endpoint(text, &endpoint, ret);
	confighttp_endpoint_deinit(&endpoint);
	if (error)
		http_sockets_deinit(ret);
	else
		print_address(ret);
	return error;
}

void http_sockets_deinit(struct http_sockets *sockets)
{
	for (size_t i = 0; i < sockets->count; i++) {
		// A process that is being forked has it too, for a moment: nobody listens there
		// any more, and the port is free at once.
		shutdown(sockets->fds[i], SHUT_RDWR);
		close(sockets->fds[i]);
	}
	sockets->count = 0;
}
