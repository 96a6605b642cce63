// SPDX-License-Identifier: Apache-2.0
#include "place.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

/* Make room for our socket file, unless somebody uses the one that is there. */
static struct profcol_error *clear_path(const struct sockets_place *place,
					const struct sockets_address *address)
{
	CLEANUP_FD int fd = -1;
	struct stat file;

	if (lstat(place->path, &file))
		return errno == ENOENT ? NULL : sockets_explain(place, errno);
	if (!S_ISSOCK(file.st_mode))
		return profcol_error_create(PROFCOL_SYSTEM,
					    "endpoint: cannot listen at '%.300s': a file is there "
					    "that is no socket; remove it, or choose another path",
					    place->text);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return sockets_explain(place, errno);
	// Refused means stale. Anything else, a full queue for instance, means that it lives.
	if (!connect(fd, address->at, address->length) || errno != ECONNREFUSED)
		return sockets_explain(place, EADDRINUSE);
	return unlink(place->path) && errno != ENOENT ? sockets_explain(place, errno) : NULL;
}

/* The umask may have taken the group's rights from the socket at @path. Whoever may write to its
 * directory can have put another file there since: that keeps its own. 0 or an errno. */
static int give_rights(const char *path, struct stat *ret)
{
	CLEANUP_FD int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	char link[32];

	if (fd < 0 || fstat(fd, ret))
		return errno;
	if (!S_ISSOCK(ret->st_mode) || ret->st_uid != geteuid())
		return EADDRINUSE;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, SOCKET_FILE_MODE) || fstat(fd, ret) ? errno : 0;
}

struct profcol_error *unix_open(const struct sockets_place *place, struct sockets *sockets)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	const struct sockets_address address = { .at = (const struct sockaddr *)&name,
						 .length = sizeof(name) };
	struct profcol_error *error;
	int errnum;

	if (strlen(place->path) >= sizeof(name.sun_path))
		return sockets_explain(place, ENAMETOOLONG);
	strcpy(name.sun_path, place->path);
	error = clear_path(place, &address);
	if (error)
		return error;
	errnum = sockets_add(sockets, &address);
	if (errnum)
		return sockets_explain(place, errnum);
	errnum = give_rights(place->path, &sockets->file);
	if (errnum) {
		error = sockets_explain(place, errnum);
		unlink(place->path);
		return error;
	}
	sockets->has_file = true;
	strcpy(sockets->address, place->path);
	return NULL;
}

/* A socket file that nobody listens at any more would be replaced. */
struct profcol_error *unix_probe(const struct sockets_place *place)
{
	CLEANUP_FREE char *copy = strdup(place->path);

	if (!copy)
		return profcol_error_errno(ENOMEM, "endpoint");
	return access(dirname(copy), W_OK | X_OK) ? sockets_explain(place, errno) : NULL;
}
