/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a file's debug information may lie: GDB's manual, "Debugging Information in Separate
 * Files". Any thread.
 */
#pragma once

#include "root_files.h"

#include <stdbool.h>

struct debug_names {
	const char *path;     /* of the file, as a process sees it */
	const char *build_id; /* lower-case hex, or "" */
	const char *link;     /* .gnu_debuglink, or "" */
};

/* Paths in one root, those by build id first. All zero is empty. */
struct debug_paths {
	char *paths[ROOT_FILES_PATHS]; /* owned */
	size_t count, by_build_id;     /* how many, and how many of them by build id */
};

/* False without memory. Beyond what there is room for directories are left out. */
bool debug_paths_init(struct debug_paths *paths, const struct debug_names *names,
		      const char *const *directories, size_t directory_count);
void debug_paths_deinit(struct debug_paths *paths);
