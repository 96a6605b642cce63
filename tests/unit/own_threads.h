/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* How many threads this process has that are called @name; NULL: all of them. */
static inline size_t own_threads(const char *name)
{
	DIR *tasks = opendir("/proc/self/task");
	size_t count = 0, length = name ? strlen(name) : 0;
	const struct dirent *task;

	assert_non_null(tasks);
	while ((task = readdir(tasks))) {
		CLEANUP_FREE char *comm = NULL;
		char path[300];

		if (task->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", task->d_name);
		if (!name)
			count++;
		else if (!file_read(AT_FDCWD, path, 64, &comm, NULL)) // it has not ended meanwhile
			count += !strncmp(comm, name, length) && comm[length] == '\n';
	}
	closedir(tasks);
	return count;
}

/* All of them, once those are gone that have been joined: they are listed for a moment longer. */
static inline size_t settled_threads(void)
{
	size_t count = own_threads(NULL);

	for (int unchanged = 0; unchanged < 50; unchanged++) {
		size_t now;

		usleep(1000);
		now = own_threads(NULL);
		if (now != count)
			unchanged = 0;
		count = now;
	}
	return count;
}
