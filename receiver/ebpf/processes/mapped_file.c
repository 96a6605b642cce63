// SPDX-License-Identifier: Apache-2.0
#include "mapped_file.h"

#include "proc_text.h"
#include "proc_thread.h"

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

enum { LINK_BYTES = 96 }; /* of a path in map_files */

/*
 * The inode must be the one that is mapped, and the device too, except on file
 * systems which show maps another device than stat(2).
 */
static bool is_same(int fd, const struct mapped_file *file, const struct file_look *look)
{
	struct statfs system;

	if (look->inode != file->inode)
		return false;
	if (look->device == file->device)
		return true;
	return !fstatfs(fd, &system) &&
	       (system.f_type == BTRFS_SUPER_MAGIC || system.f_type == OVERLAYFS_SUPER_MAGIC);
}

/* To open a device or a pipe can have effects, or wait for ever. */
static bool is_regular(const struct file_look *look)
{
	return S_ISREG(look->mode);
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

static void print_link(const struct mapped_file *file, char *to, size_t size)
{
	snprintf(to, size, "/proc/%u/map_files/%llx-%llx", file->pid,
		 (unsigned long long)file->start, (unsigned long long)file->limit);
}

/* Of a process whose main thread has ended. */
static int open_by_thread(const struct mapped_file *file)
{
	CLEANUP_FD int thread = proc_open_thread(file->pid);
	char link[LINK_BYTES];
	int fd;

	if (thread < 0)
		return -ENOENT;
	snprintf(link, sizeof(link), "map_files/%llx-%llx", (unsigned long long)file->start,
		 (unsigned long long)file->limit);
	fd = openat(thread, link, O_PATH | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int mapped_file_open(const struct mapped_file *file)
{
	char link[LINK_BYTES];
	int fd;

	if (!file->pid)
		return -ESRCH;
	if (!file->limit)
		return -ENOENT;
	print_link(file, link, sizeof(link));
	fd = open(link, O_PATH | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ESRCH))
		return open_by_thread(file);
	return fd < 0 ? -errno : fd;
}

int mapped_file_check(const struct mapped_file *file, int fd, struct file_look *look_ret)
{
	int status = file_look(fd, look_ret);
	char link[LINK_BYTES];

	print_link(file, link, sizeof(link));
	if (status)
		return status;
	// By now another file may be mapped there.
	if (!is_same(fd, file, look_ret) && !is_overlaid(link, fd, file))
		return -ESTALE;
	return is_regular(look_ret) ? 0 : -EINVAL;
}

/* As open(2). */
static int open_root_by_thread(uint32_t pid)
{
	CLEANUP_FD int thread = proc_open_thread(pid);

	if (thread < 0)
		errno = -thread;
	return thread < 0 ? -1 : openat(thread, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int mapped_file_open_path(const struct mapped_file *file, uint32_t root_pid,
			  struct file_look *look_ret)
{
	struct open_how how = {
		.flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FD int root = -1, found = -1;
	char root_path[32] = "/";
	int status;

	if (file->path[0] != '/')
		return -ENOENT;
	path = strndup(file->path, proc_path_length(file->path, strlen(file->path)));
	if (!path)
		return -ENOMEM;
	if (root_pid)
		snprintf(root_path, sizeof(root_path), "/proc/%u/root", root_pid);
	root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0 && root_pid)
		root = open_root_by_thread(root_pid);
	if (root < 0)
		return -errno;
	found = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
	if (found < 0)
		return -errno;
	status = file_look(found, look_ret);
	if (status)
		return status;
	if (!is_same(found, file, look_ret) || file_look_may_be_younger(look_ret, file->begin_ns))
		return -ESTALE;
	return is_regular(look_ret) ? TAKE_FD(found) : -EINVAL;
}
