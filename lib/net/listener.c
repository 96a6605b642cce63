// SPDX-License-Identifier: Apache-2.0
#include "listener.h"

#include "base/base.h"

#include <grpc/grpc_security.h>

#include <errno.h>
#include <libgen.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
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
	*listener = (struct listener){ .text = text, .transport = transport };
	return endpoint_init_listening(&listener->endpoint, text, transport == NET_UNIX);
}

void listener_deinit(struct listener *listener)
{
	const char *path = listener->endpoint.path;
	struct stat file;

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

/* The errno of listening at @address; 0 = it works, and *@ret is the socket that does. */
static int listener_try(const struct sockaddr *address, socklen_t length, int *ret)
{
	CLEANUP_FD int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		return errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address, length) || listen(fd, 1))
		return errno;
	*ret = TAKE_FD(fd);
	return 0;
}

/* gRPC has failed to. */
static struct profcol_error *listener_diagnose(const struct listener *listener,
					       const struct sockaddr *address, socklen_t length)
{
	CLEANUP_FD int fd = -1;
	int errnum = listener_try(address, length, &fd);

	if (address->sa_family == AF_UNIX && !errnum)
		unlink(listener->endpoint.path);
	if (errnum)
		return listener_explain(listener, errnum);
	return profcol_error_create(PROFCOL_SYSTEM,
				    "endpoint: gRPC could not listen at '%s', and gave no reason; "
				    "GRPC_VERBOSITY=info in the environment makes it tell",
				    listener->text);
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

/*
 * Have gRPC bind the socket file closed to others from its first moment on: by the umask, since
 * only gRPC has the socket. What other threads create meanwhile may get too few rights, not too
 * many.
 */
static bool listener_bind_unix(const struct listener *listener, grpc_server *server,
			       grpc_server_credentials *credentials)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	mode_t before;
	bool bound;

	// Two at once would each restore what the other has set.
	pthread_mutex_lock(&lock);
	before = umask(S_IRWXO);
	umask(before | S_IRWXO);
	bound = grpc_server_add_http2_port(server, listener->endpoint.target, credentials);
	umask(before);
	pthread_mutex_unlock(&lock);
	return bound;
}

static struct profcol_error *listener_open_unix(struct listener *listener, grpc_server *server,
						grpc_server_credentials *credentials)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = listener->endpoint.path;
	struct profcol_error *error;

	// endpoint_init_listening() has seen to its length.
	memcpy(address.sun_path, path, strlen(path));
	error = listener_clear_path(listener, &address);
	if (error)
		return error;
	if (!listener_bind_unix(listener, server, credentials))
		return listener_diagnose(listener, (const struct sockaddr *)&address,
					 sizeof(address));
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

/* Into @to "127.0.0.1" or "[::1]", and its port. */
static bool listener_print_host(const struct addrinfo *address, char to[static ADDRESS_TEXT_MAX],
				char port[static 8])
{
	char host[ADDRESS_TEXT_MAX - 2];

	if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof(host), port, 8,
			NI_NUMERICHOST | NI_NUMERICSERV))
		return false;
	snprintf(to, ADDRESS_TEXT_MAX, address->ai_family == AF_INET6 ? "[%s]" : "%s", host);
	return true;
}

static struct profcol_error *listener_open_tcp(struct listener *listener, grpc_server *server,
					       grpc_server_credentials *credentials)
{
	CLEANUP(addresses_cleanup) struct addrinfo *addresses = NULL;
	char host[ADDRESS_TEXT_MAX], port[8], target[ADDRESS_TEXT_MAX + 8];
	struct profcol_error *error = listener_resolve(listener, &addresses);
	const struct addrinfo *address;
	int bound;

	if (error)
		return error;
	address = listener_choose(listener, addresses);
	if (!listener_print_host(address, host, port))
		return listener_explain(listener, EADDRNOTAVAIL);
	snprintf(target, sizeof(target), "%s:%s", host, port);
	bound = grpc_server_add_http2_port(server, target, credentials);
	if (!bound)
		return listener_diagnose(listener, address->ai_addr, address->ai_addrlen);
	if (asprintf(&listener->address, "%s:%d", host, bound) < 0) {
		listener->address = NULL;
		return profcol_error_errno(ENOMEM, "endpoint");
	}
	return NULL;
}

struct profcol_error *listener_open(struct listener *listener, grpc_server *server,
				    grpc_server_credentials *credentials)
{
	return listener->endpoint.path ? listener_open_unix(listener, server, credentials)
				       : listener_open_tcp(listener, server, credentials);
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
	errnum = listener_try(address->ai_addr, address->ai_addrlen, ret);
	return errnum ? listener_explain(listener, errnum) : NULL;
}
