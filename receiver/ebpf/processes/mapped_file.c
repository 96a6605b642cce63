// SPDX-License-Identifier: Apache-2.0
#include "mapped_file.h"

#include "proc_text.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

/*
 * The inode must be the one that is mapped, and the device too, except on file
 * systems which show maps another device than stat(2).
 */
static bool is_same(int fd, const struct mapped_file *file, const struct stat *stat)
{
	struct statfs system;

	if (stat->st_ino != file->inode)
		return false;
	if (stat->st_dev == file->device)
		return true;
	return !fstatfs(fd, &system) &&
	       (system.f_type == BTRFS_SUPER_MAGIC || system.f_type == OVERLAYFS_SUPER_MAGIC);
}

int mapped_file_reopen(int path_fd)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	return fd < 0 ? -errno : fd;
}

/* The descriptor *@fd, which is taken, of what @stat is of. */
static int take_regular(int *fd, const struct stat *stat)
{
	// To open a device or a pipe can have effects, or wait for ever.
	return S_ISREG(stat->st_mode) ? TAKE_FD(*fd) : -EINVAL;
}

/* Older kernels print the inode below an overlay: then the mapping's path has to do. */
static bool is_overlaid(const char *link, int fd, const struct mapped_file *file)
{
	struct statfs system;
	char target[PATH_MAX];
	ssize_t length;

	if (fstatfs(fd, &system) || system.f_type != OVERLAYFS_SUPER_MAGIC)
		return false;
	length = readlink(link, target, sizeof(target));
	return length > 0 && (size_t)length < sizeof(target) &&
	       (size_t)length == strlen(file->path) && !memcmp(target, file->path, (size_t)length);
}

static int open_by_mapping(const struct mapped_file *file, struct stat *stat_ret)
{
	CLEANUP_FD int found = -1;
	char path[96];

	snprintf(path, sizeof(path), "/proc/%u/map_files/%llx-%llx", file->pid,
		 (unsigned long long)file->start, (unsigned long long)file->limit);
	found = open(path, O_PATH | O_CLOEXEC);
	if (found < 0)
		return -errno;
	if (fstat(found, stat_ret))
		return -errno;
	// By now another file may be mapped there.
	if (!is_same(found, file, stat_ret) && !is_overlaid(path, found, file))
		return -ESTALE;
	return take_regular(&found, stat_ret);
}

int mapped_file_open_path(const struct mapped_file *file, uint32_t root_pid, struct stat *stat_ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FD int root = -1, found = -1;
	char root_path[32] = "/";

	if (file->path[0] != '/')
		return -ENOENT;
	path = strndup(file->path, proc_path_length(file->path, strlen(file->path)));
	if (!path)
		return -ENOMEM;
	if (root_pid)
		snprintf(root_path, sizeof(root_path), "/proc/%u/root", root_pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return -errno;
	found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (found < 0)
		return -errno;
	if (fstat(found, stat_ret))
		return -errno;
	if (!is_same(found, file, stat_ret))
		return -ESTALE;
	return take_regular(&found, stat_ret);
}

int mapped_file_open(const struct mapped_file *file, struct stat *stat_ret)
{
	if (!file->pid)
		return -ESRCH;
	return file->limit ? open_by_mapping(file, stat_ret) : -ENOENT;
}
