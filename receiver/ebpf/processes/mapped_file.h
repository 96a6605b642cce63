/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the file behind a mapping, whatever mount namespace it lies in.
 *
 * Paths are chosen by the profiled process, so what they lead to is believed only
 * if its inode is the mapping's, and only regular files are taken. Resolution
 * stays inside the process's root: a symbolic link cannot lead out of a container.
 *
 * May wait for file systems, for ever if need be (timed_calls.h). Any thread.
 */
#pragma once

#include <stdint.h>
#include <sys/stat.h>

struct mapped_file {
	uint32_t pid;           /* a process that maps it; 0 = none any more */
	uint64_t start, limit;  /* the mapping; both 0 when not known */
	const char *path;       /* as the kernel printed it */
	uint64_t device, inode; /* as maps prints them */
};

/*
 * A descriptor of @file, to be opened by (O_PATH), and what it is, by the mapping itself
 * (/proc/PID/map_files: needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE and works for
 * unlinked files). Negative errno: -EINVAL when it is no regular file, -ESTALE when another file
 * is mapped there.
 */
int mapped_file_open(const struct mapped_file *file, struct stat *stat_ret);

/* The same by its path, under the root of process @root_pid or, for 0, our own. Whatever file
 * system the path leads through is asked. */
int mapped_file_open_path(const struct mapped_file *file, uint32_t root_pid, struct stat *stat_ret);

/* A descriptor for reading what @path_fd, of these functions, is of; negative errno. */
int mapped_file_reopen(int path_fd);
