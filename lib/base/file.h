/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files, under a limit, and writing. For files of the system, not of profiled programs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum { FILE_READ_SECONDS = 10 }; /* that what is no regular file may take to its end */

/*
 * Read @path to its end into memory the caller frees, with a NUL after the last
 * byte. @directory_fd as in openat(2). Returns 0 or a negative errno; -EFBIG
 * when there are more than @max_bytes, -ETIMEDOUT for a pipe or terminal that does not end.
 * @length_ret may be NULL.
 */
int file_read(int directory_fd, const char *path, size_t max_bytes, char **ret, size_t *length_ret);

/* As file_read, with another limit than FILE_READ_SECONDS: a time of CLOCK_MONOTONIC. */
int file_read_until(int directory_fd, const char *path, size_t max_bytes, uint64_t deadline_ns,
		    char **ret, size_t *length_ret);

/*
 * Write all of @parts to @fd, which may wait. They are used up. Returns 0 or a negative errno: then
 * *@written_ret bytes of them are written all the same.
 */
int file_write_all(int fd, struct iovec *parts, size_t count, size_t *written_ret);

/*
 * A descriptor for reading of the file that @path_fd (O_PATH) stands for, or a negative errno. The
 * caller closes both. A caller that looks at @path_fd before opens nothing else by this.
 */
int file_reopen(int path_fd);

/* Does @fd, which may be O_PATH, lie on a file system of the kernel's own (proc, sysfs, debugfs,
 * tracefs)? To open or read what is there may do things. False also when that cannot be told. Any
 * thread. */
bool file_is_of_kernel(int fd);
