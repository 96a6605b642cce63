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

#include "file_look.h"
#include "owner.h"

#include <stdint.h>

struct mapped_file {
	uint32_t pid;           /* a process that maps it; 0 = none any more */
	uint64_t start, limit;  /* the mapping; both 0 when not known */
	const char *path;       /* as the kernel printed it */
	uint64_t device, inode; /* as maps prints them */
	struct owner owner;     /* of the process */
	bool inherited;         /* that is its parent's: its own has not been read yet */
	uint64_t begin_ns;      /* it was mapped then, or later; CLOCK_MONOTONIC, 0 = not known */
};

/*
 * A descriptor of what @file's mapping is of (O_PATH), by the mapping itself (/proc/PID/map_files:
 * needs CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE and works for unlinked files); negative errno.
 * Waits for the memory of the process, and for no file system.
 */
int mapped_file_open(const struct mapped_file *file);

/*
 * Is @fd, of mapped_file_open, of @file, and what is it? 0, -EINVAL when it is no regular file,
 * -ESTALE when another file is mapped there, or another negative errno.
 */
int mapped_file_check(const struct mapped_file *file, int fd, struct file_look *look_ret);

/* The same by its path, under the root of process @root_pid or, for 0, our own. Whatever file
 * system the path leads through is asked. A file that may have changed since it was
 * mapped counts as another one: a later mount can have the same device and inode. */
int mapped_file_open_path(const struct mapped_file *file, uint32_t root_pid,
			  struct file_look *look_ret);
