// SPDX-License-Identifier: Apache-2.0
#include "trusted_path.h"

#include "base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

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

static bool is_trusted(uid_t user, enum trusted_owners owners)
{
	return user == 0 || (owners == TRUSTED_SELF && user == geteuid());
}

/* @exposed: others may write, which the kernel then keeps from what is not theirs. */
static struct profcol_error *check_rights(const struct stat *status, enum trusted_owners owners,
					  bool exposed, const char *what, const char *name)
{
	bool self = owners == TRUSTED_SELF && geteuid();

	if (!is_trusted(status->st_uid, owners))
		return profcol_error_create(PROFCOL_REJECTED,
					    "%s '%s' belongs to user %u, not to root%s; chown root "
					    "'%s'",
					    what, name, (unsigned int)status->st_uid,
					    self ? " or the user that profcol runs as" : "", name);
	// The mode of a symbolic link means nothing.
	if (S_ISLNK(status->st_mode) || exposed || !(status->st_mode & WRITABLE_BY_OTHERS))
		return NULL;
	return profcol_error_create(PROFCOL_REJECTED,
				    "%s '%s' is writable by others than %s (mode %04o); chmod "
				    "go-w '%s'",
				    what, name,
				    self ? "root and the user that profcol runs as" : "root",
				    status->st_mode & MODE_BITS, name);
}

struct profcol_error *trusted_check(const struct stat *status, enum trusted_owners owners,
				    const char *what, const char *name)
{
	return check_rights(status, owners, false, what, name);
}

/* ---- the way to a directory ---- */

struct walk {
	enum trusted_owners owners;
	bool shared; /* its end may be writable by others */
	bool create; /* what is missing is made, */
	mode_t mode; /* with this one */
	int here;    /* O_PATH, checked */
	char *rest;  /* owned: what is still to be walked from there */
	unsigned int links;
	const char *path; /* as asked for */
	int errnum;       /* of the system call that failed; or 0 */
};

static void walk_deinit(struct walk *walk)
{
	if (walk->here >= 0)
		close(walk->here);
	free(walk->rest);
}

static struct profcol_error *walk_check(struct walk *walk, int fd, struct stat *status, bool last)
{
	bool exposed = false;
	char name[PATH_MAX];

	describe(fd, name, sizeof(name));
	if (fstat(fd, status) != 0)
		return profcol_error_errno(errno, "cannot look at '%s'", name);
	if (S_ISLNK(status->st_mode))
		return check_rights(status, walk->owners, true, "symbolic link", name);
	if (!S_ISDIR(status->st_mode)) {
		walk->errnum = ENOTDIR;
		return profcol_error_create(PROFCOL_REJECTED, "'%s' is not a directory", name);
	}
	if (last)
		exposed = walk->shared;
	else
		exposed = status->st_mode & S_ISVTX;
	return check_rights(status, walk->owners, exposed, "directory", name);
}

static struct profcol_error *walk_to(struct walk *walk, int fd)
{
	int errnum = errno;

	if (walk->here >= 0)
		close(walk->here);
	walk->here = fd;
	if (fd >= 0)
		return NULL;
	return profcol_error_errno(errnum, "cannot open '/'");
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
static struct profcol_error *cannot_open(struct walk *walk, const char *name)
{
	char path[PATH_MAX];

	walk->errnum = errno;
	describe(walk->here, path, sizeof(path));
	return profcol_error_errno(walk->errnum, "cannot open '%s' in '%s'", name, path);
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
	if (fd < 0 && errno == ENOENT && walk->create &&
	    (!mkdirat(walk->here, name, walk->mode) || errno == EEXIST))
		fd = openat(walk->here, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return cannot_open(walk, name);
	memmove(walk->rest, rest, strlen(rest) + 1);
	error = walk_check(walk, fd, &status, walk->rest[0] == '\0');
	if (error)
		return error;
	return S_ISLNK(status.st_mode) ? walk_link(walk, fd) : walk_to(walk, TAKE_FD(fd));
}

/* What is to be walked from /. NULL without memory, or in a directory that has no path. */
static char *absolute(const char *path)
{
	CLEANUP_FREE char *here = NULL;
	char *whole;

	if (path[0] == '/')
		return strdup(path + strspn(path, "/"));
	here = get_current_dir_name();
	// Of one that is out of reach the kernel says so instead.
	if (!here || here[0] != '/' || asprintf(&whole, "%s/%s", here + 1, path) < 0)
		return NULL;
	return whole;
}

static struct profcol_error *walk_open(struct walk *walk, int *ret)
{
	struct profcol_error *error;
	struct stat status;
	int fd;

	if (walk->path[0] != '/' && walk->owners == TRUSTED_ROOT)
		return profcol_error_create(
			PROFCOL_CONFIG, "path '%s' is not absolute; begin it with '/'", walk->path);
	walk->rest = absolute(walk->path);
	if (!walk->rest)
		return profcol_error_create(PROFCOL_NO_MEMORY,
					    "no memory for the path of '%s', or the current "
					    "directory has none",
					    walk->path);
	error = walk_to(walk, open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
	if (!error)
		error = walk_check(walk, walk->here, &status, walk->rest[0] == '\0');
	while (!error && walk->rest[0])
		error = walk_step(walk);
	// A path may also end with "..", or with a link to "/.": what it led to is the end.
	if (!error)
		error = walk_check(walk, walk->here, &status, true);
	if (error)
		return error;
	fd = openat(walk->here, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return cannot_open(walk, ".");
	*ret = fd;
	return NULL;
}

/* As trusted_directory_open(), by the settings in @walk, which it deinitializes. */
static struct profcol_error *walk_all(struct walk *walk, int *errnum_ret, int *ret)
{
	struct profcol_error *error;

	walk->here = -1;
	error = walk_open(walk, ret);
	if (errnum_ret)
		*errnum_ret = walk->errnum;
	walk_deinit(walk);
	return error;
}

static struct profcol_error *open_directory(const char *path, enum trusted_owners owners,
					    bool shared, int *errnum_ret, int *ret)
{
	struct walk walk = { .owners = owners, .shared = shared, .path = path };

	return walk_all(&walk, errnum_ret, ret);
}

struct profcol_error *trusted_directory_open(const char *path, enum trusted_owners owners,
					     int *errnum_ret, int *ret)
{
	return open_directory(path, owners, false, errnum_ret, ret);
}

/* ---- where files are written ---- */

struct profcol_error *trusted_directory_make(const char *path, mode_t mode, int *errnum_ret)
{
	struct walk walk = {
		.owners = TRUSTED_SELF, .shared = true, .create = true, .mode = mode, .path = path
	};
	CLEANUP_FD int fd = -1;

	return walk_all(&walk, errnum_ret, &fd);
}

/* @path up to its last name, and that. False without memory. */
static bool split(const char *path, char **directory_ret, const char **name_ret)
{
	size_t length = strlen(path);
	const char *slash;

	while (length > 1 && path[length - 1] == '/')
		length--;
	slash = memrchr(path, '/', length);
	*name_ret = slash ? slash + 1 : path;
	*directory_ret = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup(".");
	return *directory_ret;
}

static struct profcol_error *fail(int errnum, const char *what, const char *name, int *errnum_ret)
{
	*errnum_ret = errnum;
	return profcol_error_errno(errnum, "cannot %s '%s'", what, name);
}

static struct profcol_error *make_last(const struct trusted_output *output, int *errnum_ret)
{
	CLEANUP_FREE char *parent = NULL, *own = NULL;
	struct profcol_error *error;
	CLEANUP_FD int fd = -1;
	const char *name;

	if (!split(output->path, &parent, &name))
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	own = strndup(name, strcspn(name, "/"));
	if (!own)
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	// Its own directory may be one for all: what is made there is ours.
	error = open_directory(parent, TRUSTED_SELF, true, errnum_ret, &fd);
	if (!error && mkdirat(fd, own, output->mode) && errno != EEXIST)
		error = fail(errno, "make directory", output->path, errnum_ret);
	return error;
}

static struct profcol_error *open_private(int directory, const char *name, int *errnum_ret,
					  int *ret)
{
	CLEANUP_FD int fd = -1;
	struct profcol_error *error;
	struct stat status;

	if (mkdirat(directory, name, 0700) && errno != EEXIST)
		return fail(errno, "make directory", name, errnum_ret);
	fd = openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status))
		return fail(errno, "open directory", name, errnum_ret);
	// A volume's permissions may have been widened from outside since.
	if (status.st_uid == geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) &&
	    !fchmod(fd, 0700))
		status.st_mode &= ~(mode_t)(S_IRWXG | S_IRWXO);
	error = trusted_check(&status, TRUSTED_SELF, "directory", name);
	if (!error)
		*ret = TAKE_FD(fd);
	return error;
}

struct profcol_error *trusted_output_open(const struct trusted_output *output, int *errnum_ret,
					  int *ret)
{
	bool shared = output->private_part || output->others_may_write;
	CLEANUP_FD int fd = -1;
	struct profcol_error *error;

	error = open_directory(output->path, TRUSTED_SELF, shared, errnum_ret, &fd);
	if (error && *errnum_ret == ENOENT && output->create) {
		profcol_error_destroy(error);
		error = make_last(output, errnum_ret);
		if (!error)
			error = open_directory(output->path, TRUSTED_SELF, shared, errnum_ret, &fd);
	}
	if (error)
		return error;
	if (output->private_part)
		return open_private(fd, output->private_part, errnum_ret, ret);
	*ret = TAKE_FD(fd);
	return NULL;
}

/* A name that the kernel has for something that is open already. */
static bool is_descriptor(const char *path)
{
	return !strcmp(path, "/dev/stdout") || !strcmp(path, "/dev/stderr") ||
	       !strncmp(path, "/dev/fd/", strlen("/dev/fd/")) ||
	       !strncmp(path, "/proc/self/fd/", strlen("/proc/self/fd/"));
}

/* The descriptor of a file that was opened without waiting; from now on it waits. */
static bool let_wait(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags >= 0 && !fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

static struct profcol_error *open_in(int directory, const char *name, int flags, mode_t mode,
				     int *errnum_ret, int *ret)
{
	CLEANUP_FD int fd = openat(directory, name, flags | O_NOFOLLOW | O_CLOEXEC, mode);
	struct profcol_error *error = NULL;
	struct stat status;

	if (fd < 0 && errno == ELOOP)
		return profcol_error_create(PROFCOL_REJECTED,
					    "'%s' is a symbolic link; name the file itself", name);
	if (fd < 0 || fstat(fd, &status) || !let_wait(fd))
		return fail(errno, "open", name, errnum_ret);
	// Of pipes and devices their directory has to do.
	if (S_ISREG(status.st_mode) && !is_trusted(status.st_uid, TRUSTED_SELF))
		error = check_rights(&status, TRUSTED_SELF, false, "file", name);
	if (!error)
		*ret = TAKE_FD(fd);
	return error;
}

struct profcol_error *trusted_file_open(const char *path, int flags, mode_t mode,
					const char *private_part, int *errnum_ret, int *ret)
{
	CLEANUP_FREE char *directory = NULL;
	struct profcol_error *error;
	CLEANUP_FD int fd = -1;
	const char *name;

	*errnum_ret = 0;
	flags |= O_NONBLOCK;
	if (is_descriptor(path)) {
		fd = open(path, flags | O_CLOEXEC, mode);
		if (fd < 0 || !let_wait(fd))
			return fail(errno, "open", path, errnum_ret);
		*ret = TAKE_FD(fd);
		return NULL;
	}
	if (!split(path, &directory, &name))
		return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
	error = trusted_output_open(
		&(struct trusted_output){ .path = directory, .private_part = private_part },
		errnum_ret, &fd);
	return error ? error : open_in(fd, name, flags, mode, errnum_ret, ret);
}
