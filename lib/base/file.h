/* SPDX-License-Identifier: Apache-2.0 */
/* Whole small files, under a limit. For files of the system, not of profiled programs. */
#pragma once

#include <stddef.h>

/*
 * Read @path to its end into memory the caller frees, with a NUL after the last
 * byte. @directory_fd as in openat(2). Returns 0 or a negative errno; -EFBIG
 * when there are more than @max_bytes.
 */
int file_read(int directory_fd, const char *path, size_t max_bytes, char **ret, size_t *length_ret);
