/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who could have put a plugin where it lies? What is opened here only root can have put there,
 * changed, or exchanged: the file, its directory, and every directory and symbolic link on the
 * way from / belong to root and are writable by nobody else. On the way, but not at its end, a
 * directory may be writable by all if it is sticky, as /tmp: there nobody can rename or remove
 * what is root's.
 *
 * That holds where the file systems tell the truth: who starts the program must not have had fewer
 * rights than it, or he could have mounted one that does not (plugins.c).
 *
 * Every step is taken from the descriptor that was checked, never by a path again. The
 * descriptors that are returned are the caller's, close-on-exec. Pure but for the file system;
 * any thread.
 */
#pragma once

#include <profcol/errors.h>

/* For reading the names in it. @path is absolute. */
PROFCOL_MUST_CHECK struct profcol_error *place_open_directory(const char *path, int *ret);

/* The regular file @name, no path and no symbolic link, in @directory, opened as above. */
PROFCOL_MUST_CHECK struct profcol_error *place_open_file(int directory, const char *name, int *ret);

/* What place_open_file says of the file itself. */
PROFCOL_MUST_CHECK struct profcol_error *place_check_file(int fd);
