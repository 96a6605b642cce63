// SPDX-License-Identifier: Apache-2.0
#include "place.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

enum {
	LINKS_MAX = 40, /* as the kernel's */
	WRITABLE_BY_OTHERS = S_IWGRP | S_IWOTH,
	MODE_BITS = 07777,
};

/* The path that @fd was opened by, for a message. */
static void describe(int fd, char *text, size_t size)
{
	char link[32];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, text, size - 1);
	if (length < 0)
		length = stpncpy(text, "?", size - 1) - text;
	text[length] = '\0';
}

/* @exposed: others may write, which the kernel then keeps from what is root's. */
static struct profcol_error *check_rights(const struct stat *status, bool exposed, const char *what,
					  const char *name)
{
	if (status->st_uid != 0)
		return profcol_error_create(PROFCOL_REJECTED,
					    "%s '%s' belongs to user %u, not to root; chown root "
					    "'%s'",
					    what, name, (unsigned int)status->st_uid, name);
	// The mode of a symbolic link means nothing.
	if (S_ISLNK(status->st_mode) || exposed || !(status->st_mode & WRITABLE_BY_OTHERS))
		return NULL;
	return profcol_error_create(PROFCOL_REJECTED,
				    "%s '%s' is writable by others than root (mode %04o); chmod "
				    "go-w '%s'",
				    what, name, status->st_mode & MODE_BITS, name);
}

/* ---- the way to a directory ---- */

struct walk {
	int here;   /* O_PATH, checked */
	char *rest; /* owned: what is still to be walked from there */
	unsigned int links;
	const char *path; /* as asked for */
};

static void walk_deinit(struct walk *walk)
{
	if (walk->here >= 0)
		close(walk->here);
	free(walk->rest);
}

static struct profcol_error *walk_check(int fd, struct stat *status, bool last)
{
	char name[PATH_MAX];

	describe(fd, name, sizeof(name));
	if (fstat(fd, status) != 0)
		return profcol_error_errno(errno, "cannot look at '%s'", name);
	if (S_ISLNK(status->st_mode))
		return check_rights(status, true, "symbolic link", name);
	if (!S_ISDIR(status->st_mode))
		return profcol_error_create(PROFCOL_REJECTED, "'%s' is not a directory", name);
	return check_rights(status, !last && status->st_mode & S_ISVTX, "directory", name);
}

static struct profcol_error *walk_to(struct walk *walk, int fd)
{
	if (walk->here >= 0)
		close(walk->here);
	walk->here = fd;
	if (fd >= 0)
		return NULL;
	return profcol_error_errno(errno, "cannot open '/'");
}

/* Put what the link @fd says in front of the rest. */
static struct profcol_error *walk_link(struct walk *walk, int fd)
{
	char target[PATH_MAX], *rest;
	ssize_t length = readlinkat(fd, "", target, sizeof(target));

	if (length < 0)
		return profcol_error_errno(errno, "cannot read a symbolic link in '%s'",
					   walk->path);
	if (length == 0 || length == sizeof(target) || ++walk->links > LINKS_MAX)
		return profcol_error_errno(ELOOP, "cannot follow the symbolic links of '%s'",
					   walk->path);
	if (asprintf(&rest, "%.*s/%s", (int)length, target, walk->rest) < 0)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	free(walk->rest);
	walk->rest = rest;
	if (target[0] != '/')
		return NULL;
	return walk_to(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

/* By errno. */
static struct profcol_error *cannot_open(int directory, const char *name)
{
	int errnum = errno;
	char path[PATH_MAX];

	describe(directory, path, sizeof(path));
	return profcol_error_errno(errnum, "cannot open '%s' in '%s'", name, path);
}

/* Take the first name off the rest, which is not empty, and go there. */
static struct profcol_error *walk_step(struct walk *walk)
{
	// What a link says begins with slashes, if it is absolute.
	char *name = walk->rest + strspn(walk->rest, "/"), *end = strchrnul(name, '/');
	const char *rest = end + strspn(end, "/");
	CLEANUP_FD int fd = -1;
	struct profcol_error *error;
	struct stat status;

	if (end == name) {
		walk->rest[0] = '\0';
		return NULL;
	}
	*end = '\0';
	fd = openat(walk->here, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return cannot_open(walk->here, name);
	memmove(walk->rest, rest, strlen(rest) + 1);
	error = walk_check(fd, &status, walk->rest[0] == '\0');
	if (error)
		return error;
	return S_ISLNK(status.st_mode) ? walk_link(walk, fd) : walk_to(walk, TAKE_FD(fd));
}

struct profcol_error *place_open_directory(const char *path, int *ret)
{
	CLEANUP(walk_deinit) struct walk walk = { .here = -1, .path = path };
	struct profcol_error *error;
	struct stat status;
	int fd;

	if (path[0] != '/')
		return profcol_error_create(PROFCOL_CONFIG,
					    "path '%s' is not absolute; begin it with '/'", path);
	walk.rest = strdup(path + strspn(path, "/"));
	if (!walk.rest)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	error = walk_to(&walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (!error)
		error = walk_check(walk.here, &status, walk.rest[0] == '\0');
	while (!error && walk.rest[0])
		error = walk_step(&walk);
	// A path may also end with "..", or with a link to "/.": what it led to is the end.
	if (!error)
		error = walk_check(walk.here, &status, true);
	if (error)
		return error;
	fd = openat(walk.here, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return profcol_error_errno(errno, "cannot open directory '%s'", path);
	*ret = fd;
	return NULL;
}

/* ---- the file ---- */

struct profcol_error *place_check_file(int fd)
{
	char name[PATH_MAX];
	struct stat status;

	describe(fd, name, sizeof(name));
	if (fstat(fd, &status) != 0)
		return profcol_error_errno(errno, "cannot look at '%s'", name);
	if (!S_ISREG(status.st_mode))
		return profcol_error_create(PROFCOL_REJECTED, "'%s' is not a regular file", name);
	return check_rights(&status, false, "file", name);
}

struct profcol_error *place_open_file(int directory, const char *name, int *ret)
{
	// A pipe would make open() wait for its other end.
	CLEANUP_FD int fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct profcol_error *error;

	if (fd < 0 && errno == ELOOP)
		return profcol_error_create(PROFCOL_REJECTED,
					    "'%s' is a symbolic link; put the file itself there",
					    name);
	if (fd < 0)
		return profcol_error_errno(errno, "cannot open '%s'", name);
	error = place_check_file(fd);
	if (!error)
		*ret = TAKE_FD(fd);
	return error;
}
