// SPDX-License-Identifier: Apache-2.0
#include "output.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	SAME_START_MAX = 1000, /* files with the same start, before this counts as a fault */
};

/* True when @name was a temporary that nobody writes to any more; it is then gone. */
static bool output_remove_leftover(int directory_fd, const char *name)
{
	CLEANUP_FD int fd = -1;

	fd = openat(directory_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	return fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !unlinkat(directory_fd, name, 0);
}

int output_remove_leftovers(int directory_fd, const char *prefix)
{
	int removed = 0, fd = openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;
	DIR *directory;

	if (fd < 0)
		return 0;
	directory = fdopendir(fd);
	if (!directory) {
		close(fd);
		return 0;
	}
	while ((entry = readdir(directory)))
		if (naming_is_temporary(entry->d_name, prefix))
			removed += output_remove_leftover(directory_fd, entry->d_name);
	closedir(directory);
	return removed;
}

int output_file_create(int directory_fd, const char *prefix, struct output_file *ret)
{
	struct output_file file = { .fd = -1 };
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return -EIO;
	naming_format_temporary(file.temporary, prefix, random);
	file.fd = openat(directory_fd, file.temporary,
			 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file.fd < 0)
		return -errno;
	// The umask may have taken bits away, the owner's own among them.
	if (flock(file.fd, LOCK_EX | LOCK_NB) || fchmod(file.fd, 0600)) {
		int error = errno;

		output_file_discard(directory_fd, &file);
		return -error;
	}
	*ret = file;
	return 0;
}

int output_file_write(const struct output_file *file, const void *bytes, size_t length)
{
	struct iovec part = { (void *)(uintptr_t)bytes, length };
	size_t written;
	int status = file_write_all(file->fd, &part, 1, &written);

	if (status)
		return status;
	// Without this a power cut after the rename could leave an empty file under the final
	// name, and a full disk with delayed allocation would go unnoticed.
	return fdatasync(file->fd) ? -errno : 0;
}

/* rename(2) that never replaces: not every file system knows the flag, and then links do it. */
static int output_rename(int directory_fd, const char *from, const char *to)
{
	if (!renameat2(directory_fd, from, directory_fd, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (linkat(directory_fd, from, directory_fd, to, 0))
		return -errno;
	unlinkat(directory_fd, from, 0);
	return 0;
}

int output_file_publish(int directory_fd, struct output_file *file, const char *prefix,
			uint64_t start_unix_ms, enum naming_form form, char name_ret[NAMING_MAX])
{
	int error = -EEXIST;

	for (unsigned int ordinal = 0; error == -EEXIST && ordinal < SAME_START_MAX; ordinal++) {
		naming_format(name_ret, prefix, start_unix_ms, ordinal, form);
		error = output_rename(directory_fd, file->temporary, name_ret);
	}
	if (error)
		return error;
	close(TAKE_FD(file->fd));
	return 0;
}

void output_file_discard(int directory_fd, struct output_file *file)
{
	// Unlocked only after it is gone.
	unlinkat(directory_fd, file->temporary, 0);
	close(TAKE_FD(file->fd));
}
