/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Guards for locals, from the line of acquisition to the end of scope. Hand a
 * guarded pointer over with TAKE(), a descriptor with TAKE_FD().
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}
#define CLEANUP_FREE CLEANUP(cleanup_free)

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
#define CLEANUP_FD CLEANUP(cleanup_fd)

static inline void cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}
#define CLEANUP_FILE CLEANUP(cleanup_file)

static inline void cleanup_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}
#define CLEANUP_DIRECTORY CLEANUP(cleanup_directory)

#define TAKE(pointer)                                                                              \
	({                                                                                         \
		__auto_type taken_ = (pointer);                                                    \
		(pointer) = NULL;                                                                  \
		taken_;                                                                            \
	})

#define TAKE_FD(fd)                                                                                \
	({                                                                                         \
		int taken_ = (fd);                                                                 \
		(fd) = -1;                                                                         \
		taken_;                                                                            \
	})
