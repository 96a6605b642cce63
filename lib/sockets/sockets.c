// SPDX-License-Identifier: Apache-2.0
#include "sockets.h"

#include "place.h"

#include "base/base.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* ---- why not ---- */

static const char *remedy_of(const struct sockets_place *place, int errnum)
{
	switch (errnum) {
	case EADDRINUSE:
		return "something listens there already: stop it, or choose another port";
	case EACCES:
		return place->path ? "let profcol write to the directory, or choose another path"
				   : "ports below 1024 need CAP_NET_BIND_SERVICE: choose a higher "
				     "one";
	case EADDRNOTAVAIL:
		return "this machine does not have the address: use one of its own, or 0.0.0.0 "
		       "for all";
	case ENOENT:
		return "create the directory first";
	case EMFILE:
	case ENFILE:
		return "raise the limit of open files";
	default:
		return "choose another endpoint";
	}
}

struct profcol_error *sockets_explain(const struct sockets_place *place, int errnum)
{
	if (errnum == ENOMEM)
		return profcol_error_errno(ENOMEM, "endpoint");
	return profcol_error_create(PROFCOL_SYSTEM, "endpoint: cannot listen at '%.300s': %s; %s",
				    place->text, strerrordesc_np(errnum), remedy_of(place, errnum));
}

/* ---- one socket ---- */

static bool set_option(int fd, int level, int name, int value)
{
	return !setsockopt(fd, level, name, &value, sizeof(value));
}

int sockets_add(struct sockets *sockets, const struct sockets_address *address)
{
	CLEANUP_FD int fd =
		socket(address->at->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return errno;
	// A restart is not refused for the connections of the run before.
	if (address->at->sa_family != AF_UNIX && !set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1))
		return errno;
	if (address->at->sa_family == AF_INET6 &&
	    !set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, !address->both_families))
		return errno;
	// Closed to others from the first moment on: the file gets the socket's rights.
	if (address->at->sa_family == AF_UNIX && fchmod(fd, SOCKET_FILE_MODE))
		return errno;
	if (bind(fd, address->at, address->length) || listen(fd, SOMAXCONN))
		return errno;
	sockets->fds[sockets->count++] = TAKE_FD(fd);
	return 0;
}

/* ---- all of them ---- */

struct profcol_error *sockets_open(const struct sockets_place *place, struct sockets *ret)
{
	struct profcol_error *error;

	*ret = (struct sockets){ 0 };
	error = place->path ? unix_open(place, ret) : tcp_open(place, ret);
	if (error)
		sockets_deinit(ret);
	return error;
}

struct profcol_error *sockets_probe(const struct sockets_place *place, struct sockets *ret)
{
	if (!place->path)
		return sockets_open(place, ret);
	*ret = (struct sockets){ 0 };
	return unix_probe(place);
}

void sockets_close(struct sockets *sockets)
{
	for (size_t i = 0; i < sockets->count; i++) {
		// A process that is being forked has it too, for a moment: nobody listens there
		// any more, and the port is free at once.
		shutdown(sockets->fds[i], SHUT_RDWR);
		close(sockets->fds[i]);
	}
	sockets->count = 0;
}

void sockets_deinit(struct sockets *sockets)
{
	struct stat file;

	sockets_close(sockets);
	if (sockets->has_file && !lstat(sockets->address, &file) &&
	    file.st_ino == sockets->file.st_ino && file.st_dev == sockets->file.st_dev)
		unlink(sockets->address);
	*sockets = (struct sockets){ 0 };
}
