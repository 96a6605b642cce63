// SPDX-License-Identifier: Apache-2.0
#include "stuck_threads.h"

#include "base/base.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { STAT_MAX_BYTES = 4096, THREADS_MOST = 1024 };

/* The name of the thread @id if it is stuck, else NULL; in @text. */
static char *stuck_name(int directory, const char *id, char **text)
{
	char path[300], *name, *end;

	snprintf(path, sizeof(path), "%s/stat", id);
	if (file_read(directory, path, STAT_MAX_BYTES, text, NULL))
		return NULL;
	name = strchr(*text, '(');
	end = strrchr(*text, ')');
	if (!name || !end || strncmp(end, ") D", 3) != 0)
		return NULL;
	*end = '\0';
	return name + 1;
}

void stuck_threads_list(char *to, size_t size)
{
	CLEANUP_DIRECTORY DIR *listing = opendir("/proc/self/task");
	size_t length = 0;

	*to = '\0';
	for (int i = 0; listing && i < THREADS_MOST && length < size; i++) {
		const struct dirent *entry = readdir(listing);
		CLEANUP_FREE char *text = NULL;
		const char *name;

		if (!entry)
			break;
		name = *entry->d_name == '.' ? NULL
					     : stuck_name(dirfd(listing), entry->d_name, &text);
		if (name)
			length += (size_t)snprintf(to + length, size - length, "%s'%s'",
						   length ? ", " : "", name);
	}
}
