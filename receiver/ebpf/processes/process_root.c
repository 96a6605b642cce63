// SPDX-License-Identifier: Apache-2.0
#include "process_root.h"

#include "opener.h"
#include "proc_thread.h"

#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { FIRST_PROCESS = 1 };

/*
 * What is read of @pid's directory in /proc. The directory stays that of one process: when that has
 * ended, and its number is another's, nothing can be read there any more.
 */
static int open_root(uint32_t pid, struct process_root *ret)
{
	CLEANUP_FD int process = -1, root = -1, space = -1;
	struct stat root_stat, space_stat;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0)
		return -errno;
	root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0) {
		int thread = proc_open_thread(pid);

		if (thread < 0)
			return thread;
		close(process);
		process = thread;
		root = openat(process, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	space = openat(process, "ns/mnt", O_RDONLY | O_CLOEXEC);
	if (root < 0 || space < 0)
		return -errno;
	if (opener_recall(root, &root_stat) || opener_recall(space, &space_stat))
		return -EIO;
	*ret = (struct process_root){
		.space = space_stat.st_ino,
		.device = root_stat.st_dev,
		.inode = root_stat.st_ino,
	};
	return TAKE_FD(root);
}

/* What the kernel remembers of the file at @path; false when there is none. */
static bool recall(const char *path, struct statx *ret)
{
	return !statx(AT_FDCWD, path, AT_STATX_DONT_SYNC, STATX_INO, ret);
}

/* By two calls, since this is asked of every program that starts: to open costs three times as
 * much. */
bool process_root_read(uint32_t pid, struct process_root *ret)
{
	struct statx root, space;
	char path[32];

	*ret = (struct process_root){ 0 };
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	if (!recall(path, &root)) {
		CLEANUP_FD int fd = open_root(pid, ret);

		return fd >= 0;
	}
	snprintf(path, sizeof(path), "/proc/%u/ns/mnt", pid);
	if (!recall(path, &space))
		return false;
	*ret = (struct process_root){
		.space = space.stx_ino,
		.device = makedev(root.stx_dev_major, root.stx_dev_minor),
		.inode = root.stx_ino,
	};
	return true;
}

int process_root_open(uint32_t pid, const struct process_root *expected)
{
	struct process_root found;
	CLEANUP_FD int fd = open_root(pid ? pid : FIRST_PROCESS, &found);
	int own;

	if (pid && fd >= 0 && !process_root_equal(&found, expected))
		return -ESTALE;
	if (pid || fd >= 0)
		return TAKE_FD(fd);
	own = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return own < 0 ? -errno : own;
}

bool process_root_of_host(struct process_root *ret)
{
	return process_root_read(FIRST_PROCESS, ret) || process_root_read((uint32_t)getpid(), ret);
}
