// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include "base/base.h"

#include <errno.h>
#include <libgen.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

enum {
	SOCKET_FILE_MODE = 0660,
	ADDRESS_TEXT_MAX = 128,
};

struct profcol_error *listener_init(struct listener *listener, const char *text, int transport)
{
	*listener = (struct listener){ .text = text, .transport = transport, .fd = -1 };
	return endpoint_init_listening(&listener->endpoint, text, transport == NET_UNIX);
}

void listener_close(struct listener *listener)
{
	if (listener->fd >= 0) {
		// A process that is being forked has it too, for a moment: nobody listens there
		// any more, and the port is free at once.
		shutdown(listener->fd, SHUT_RDWR);
		close(listener->fd);
	}
	listener->fd = -1;
}

void listener_deinit(struct listener *listener)
{
	const char *path = listener->endpoint.path;
	struct stat file;

	listener_close(listener);
	if (listener->address && path && !lstat(path, &file) &&
	    file.st_ino == listener->file.st_ino && file.st_dev == listener->file.st_dev)
		unlink(path);
	free(listener->address);
	endpoint_deinit(&listener->endpoint);
}

/* ---- why not ---- */

static struct profcol_error *listener_explain(const struct listener *listener, int errnum)
{
	const char *remedy = "choose another endpoint";

	if (errnum == EADDRINUSE)
		remedy = "something listens there already: stop it, or choose another port";
	else if (errnum == EACCES && !listener->endpoint.path)
		remedy = "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher one";
	else if (errnum == EACCES)
		remedy = "let profcol write to the directory, or choose another path";
	else if (errnum == EADDRNOTAVAIL)
		remedy = "this machine does not have the address: use one of its own, or 0.0.0.0 "
			 "for all";
	else if (errnum == ENOENT)
		remedy = "create the directory first";
	return profcol_error_create(PROFCOL_SYSTEM, "endpoint: cannot listen at '%s': %s; %s",
				    listener->text, strerrordesc_np(errnum), remedy);
}

/*
 * The errno of listening at @address; 0 = it works, and *@ret is the socket that does. With
 * @is_dual an IPv6 address that stands for all stands for those of IPv4, too.
 */
static int listener_try(const struct sockaddr *address, socklen_t length, bool is_dual, int *ret)
{
	CLEANUP_FD int fd =
		socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, only = !is_dual;

	if (fd < 0)
		return errno;
	if (address->sa_family == AF_UNIX) {
		// Closed to others from the first moment on: the file gets the socket's rights.
		if (fchmod(fd, SOCKET_FILE_MODE))
			return errno;
	} else {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	}
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &only, sizeof(only));
	if (bind(fd, address, length) || listen(fd, SOMAXCONN))
		return errno;
	*ret = TAKE_FD(fd);
	return 0;
}

/* ---- unix sockets ---- */

/* Make room for our socket file, unless somebody uses the one that is there. */
static struct profcol_error *listener_clear_path(const struct listener *listener,
						 const struct sockaddr_un *address)
{
	const char *path = listener->endpoint.path;
	CLEANUP_FD int fd = -1;
	struct stat file;

	if (lstat(path, &file))
		return errno == ENOENT ? NULL : listener_explain(listener, errno);
	if (!S_ISSOCK(file.st_mode))
		return profcol_error_create(PROFCOL_SYSTEM,
					    "endpoint: cannot listen at '%s': a file is there that "
					    "is no socket; remove it, or choose another path",
					    listener->text);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return listener_explain(listener, errno);
	// Refused means stale. Anything else, a full queue for instance, means that it lives.
	if (!connect(fd, (const struct sockaddr *)address, sizeof(*address)) ||
	    errno != ECONNREFUSED)
		return listener_explain(listener, EADDRINUSE);
	return unlink(path) && errno != ENOENT ? listener_explain(listener, errno) : NULL;
}

static struct profcol_error *listener_open_unix(struct listener *listener)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = listener->endpoint.path;
	struct profcol_error *error;
	int errnum;

	// endpoint_init_listening() has seen to its length.
	memcpy(address.sun_path, path, strlen(path));
	error = listener_clear_path(listener, &address);
	if (error)
		return error;
	errnum = listener_try((const struct sockaddr *)&address, sizeof(address), false,
			      &listener->fd);
	if (errnum)
		return listener_explain(listener, errnum);
	// The umask may have taken the group's rights.
	if (chmod(path, SOCKET_FILE_MODE) || lstat(path, &listener->file)) {
		error = listener_explain(listener, errno);
		unlink(path);
		return error;
	}
	listener->address = strdup(path);
	if (!listener->address)
		unlink(path);
	return listener->address ? NULL : profcol_error_errno(ENOMEM, "endpoint");
}

/* ---- TCP ---- */

static void addresses_cleanup(struct addrinfo **addresses)
{
	if (*addresses)
		freeaddrinfo(*addresses);
}

static struct profcol_error *listener_resolve(const struct listener *listener,
					      struct addrinfo **ret)
{
	static const int families[] = {
		[NET_TCP] = AF_UNSPEC,
		[NET_TCP4] = AF_INET,
		[NET_TCP6] = AF_INET6,
	};
	const struct addrinfo hints = {
		.ai_family = families[listener->transport],
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
	};
	const char *host = listener->endpoint.host;
	int status = getaddrinfo(host[0] ? host : NULL, listener->endpoint.port, &hints, ret);

	if (!status)
		return NULL;
	return profcol_error_create(PROFCOL_SYSTEM,
				    "endpoint: cannot listen at '%s': '%s' has no address: %s; use "
				    "an address of this machine, or 0.0.0.0 for all",
				    listener->text, host,
				    status == EAI_SYSTEM ? strerrordesc_np(errno)
							 : gai_strerror(status));
}

/* One address, as Go's programs choose it: IPv4 where there is a choice, but for "all". */
static const struct addrinfo *listener_choose(const struct listener *listener,
					      const struct addrinfo *addresses)
{
	int wanted = listener->endpoint.host[0] ? AF_INET : AF_INET6;

	for (const struct addrinfo *address = addresses; address; address = address->ai_next)
		if (address->ai_family == wanted)
			return address;
	return addresses;
}

/* As Go's programs have it: 0.0.0.0 and no host at all do not shut IPv6 out, if there is any. */
static bool listener_is_for_all(const struct listener *listener, const struct addrinfo *address)
{
	if (listener->transport != NET_TCP)
		return false;
	if (address->ai_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(
			&((const struct sockaddr_in6 *)(const void *)address->ai_addr)->sin6_addr);
	return ((const struct sockaddr_in *)(const void *)address->ai_addr)->sin_addr.s_addr ==
	       htonl(INADDR_ANY);
}

/* The errno of listening at @address, or at all addresses of both families; 0 = *@ret does. */
static int listener_try_address(const struct listener *listener, const struct addrinfo *address,
				int *ret)
{
	struct sockaddr_in6 all = {
		.sin6_family = AF_INET6,
		.sin6_port = htons((uint16_t)strtoul(listener->endpoint.port, NULL, 10)),
	};
	int errnum;

	if (listener_is_for_all(listener, address)) {
		errnum = listener_try((const struct sockaddr *)&all, sizeof(all), true, ret);
		// EAFNOSUPPORT and EADDRNOTAVAIL: no IPv6 here.
		if (errnum != EAFNOSUPPORT && errnum != EADDRNOTAVAIL)
			return errnum;
	}
	return listener_try(address->ai_addr, address->ai_addrlen, false, ret);
}

/* Owned: "127.0.0.1:4317" or "[::1]:4317", as @address has it, with the port that @fd has got. */
static char *listener_print(const struct addrinfo *address, int fd)
{
	struct sockaddr_storage bound;
	socklen_t length = sizeof(bound);
	char host[ADDRESS_TEXT_MAX], port[8], *text;

	if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof(host), NULL, 0,
			NI_NUMERICHOST) ||
	    getsockname(fd, (struct sockaddr *)&bound, &length) ||
	    getnameinfo((struct sockaddr *)&bound, length, NULL, 0, port, sizeof(port),
			NI_NUMERICSERV))
		return NULL;
	if (asprintf(&text, address->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port) < 0)
		return NULL;
	return text;
}

static struct profcol_error *listener_open_tcp(struct listener *listener)
{
	CLEANUP(addresses_cleanup) struct addrinfo *addresses = NULL;
	struct profcol_error *error = listener_resolve(listener, &addresses);
	const struct addrinfo *address;
	int errnum;

	if (error)
		return error;
	address = listener_choose(listener, addresses);
	errnum = listener_try_address(listener, address, &listener->fd);
	if (errnum)
		return listener_explain(listener, errnum);
	listener->address = listener_print(address, listener->fd);
	return listener->address ? NULL : profcol_error_errno(ENOMEM, "endpoint");
}

struct profcol_error *listener_open(struct listener *listener)
{
	return listener->endpoint.path ? listener_open_unix(listener) : listener_open_tcp(listener);
}

/* ---- only a look ---- */

/* A socket file that nobody listens at any more would be replaced. */
static struct profcol_error *listener_probe_unix(const struct listener *listener)
{
	CLEANUP_FREE char *copy = strdup(listener->endpoint.path);

	if (!copy)
		return profcol_error_errno(ENOMEM, "endpoint");
	return access(dirname(copy), W_OK | X_OK) ? listener_explain(listener, errno) : NULL;
}

struct profcol_error *listener_probe(const struct listener *listener, int *ret)
{
	CLEANUP(addresses_cleanup) struct addrinfo *addresses = NULL;
	struct profcol_error *error;
	const struct addrinfo *address;
	int errnum;

	*ret = -1;
	if (listener->endpoint.path)
		return listener_probe_unix(listener);
	error = listener_resolve(listener, &addresses);
	if (error)
		return error;
	address = listener_choose(listener, addresses);
	errnum = listener_try_address(listener, address, ret);
	return errnum ? listener_explain(listener, errnum) : NULL;
}
