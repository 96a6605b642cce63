// SPDX-License-Identifier: Apache-2.0
#include "debug_files.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { LEAST_DIGITS = 4 }; /* of a build id: two name a directory */

__attribute__((format(printf, 2, 3))) static bool add_path(struct debug_paths *paths,
							   const char *format, ...)
{
	va_list arguments;
	int length;

	if (paths->count == ROOT_FILES_PATHS)
		return true;
	va_start(arguments, format);
	length = vasprintf(&paths->paths[paths->count], format, arguments);
	va_end(arguments);
	if (length < 0) {
		paths->paths[paths->count] = NULL;
		return false;
	}
	paths->count++;
	return true;
}

static bool is_build_id(const char *text)
{
	return strlen(text) >= LEAST_DIGITS && strspn(text, "0123456789abcdef") == strlen(text);
}

static bool add_by_build_id(struct debug_paths *paths, const char *build_id,
			    const char *const *directories, size_t count)
{
	for (size_t i = 0; is_build_id(build_id) && i < count; i++)
		if (!add_path(paths, "%s/.build-id/%.2s/%s.debug", directories[i], build_id,
			      build_id + 2))
			return false;
	paths->by_build_id = paths->count;
	return true;
}

/* Beside the file, and where a debug directory has the file's own directory again. */
static bool add_by_link(struct debug_paths *paths, const struct debug_names *names,
			const char *const *directories, size_t count)
{
	const char *slash = strrchr(names->path, '/');
	int length = slash ? (int)(slash - names->path) : 0;

	if (!*names->link || strchr(names->link, '/') || !slash || *names->path != '/')
		return true;
	if (!add_path(paths, "%.*s/%s", length, names->path, names->link) ||
	    !add_path(paths, "%.*s/.debug/%s", length, names->path, names->link))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!add_path(paths, "%s%.*s/%s", directories[i], length, names->path, names->link))
			return false;
	return true;
}

bool debug_paths_init(struct debug_paths *paths, const struct debug_names *names,
		      const char *const *directories, size_t directory_count)
{
	*paths = (struct debug_paths){ 0 };
	if (add_by_build_id(paths, names->build_id, directories, directory_count) &&
	    add_by_link(paths, names, directories, directory_count))
		return true;
	debug_paths_deinit(paths);
	return false;
}

void debug_paths_deinit(struct debug_paths *paths)
{
	for (size_t i = 0; i < paths->count; i++)
		free(paths->paths[i]);
	*paths = (struct debug_paths){ 0 };
}
