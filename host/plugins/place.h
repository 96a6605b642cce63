/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who could have put a plugin where it lies? What is opened here only root can have put there,
 * changed, or exchanged: the file, its directory, and the way to it (base/trusted_path.h).
 *
 * Descriptors that are returned are the caller's, close-on-exec. Pure but for the file system; any
 * thread.
 */
#pragma once

#include <profcol/errors.h>

/* For reading the names in it. @path is absolute. */
PROFCOL_MUST_CHECK struct profcol_error *place_open_directory(const char *path, int *ret);

/* The regular file @name, no path and no symbolic link, in @directory, opened as above. */
PROFCOL_MUST_CHECK struct profcol_error *place_open_file(int directory, const char *name, int *ret);

/* What place_open_file says of the file itself. */
PROFCOL_MUST_CHECK struct profcol_error *place_check_file(int fd);
