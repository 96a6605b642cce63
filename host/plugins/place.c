// SPDX-License-Identifier: Apache-2.0
#include "place.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

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

struct profcol_error *place_open_directory(const char *path, int *ret)
{
	return trusted_directory_open(path, TRUSTED_ROOT, NULL, ret);
}

struct profcol_error *place_check_file(int fd)
{
	char name[PATH_MAX];
	struct stat status;

	describe(fd, name, sizeof(name));
	if (fstat(fd, &status) != 0)
		return profcol_error_errno(errno, "cannot look at '%s'", name);
	if (!S_ISREG(status.st_mode))
		return profcol_error_create(PROFCOL_REJECTED, "'%s' is not a regular file", name);
	return trusted_check(&status, TRUSTED_ROOT, "file", name);
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
