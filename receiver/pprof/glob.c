// SPDX-License-Identifier: Apache-2.0
#include "glob.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { NAMES_MOST = 1000000, DEPTH_MOST = 64 };

struct walk {
	const struct glob_visitor *visitor; /* borrowed */
	char path[PATH_MAX];
	unsigned int names; /* looked at */
	unsigned int depth;
	enum glob_end end;
	bool incomplete;
};

static bool walk(struct walk *walk, size_t length, const char *pattern);

const char *glob_fault(const char *pattern)
{
	if (strlen(pattern) >= PATH_MAX)
		return "the pattern is longer than paths are";
	if (strpbrk(pattern, "{}"))
		return "profcol knows no alternatives in braces; use a receiver for each of them";
	return NULL;
}

/* Append @name, and a slash where more is to follow. 0: there is no such path. */
static size_t append(struct walk *walk, size_t length, const char *name, size_t name_length,
		     bool more)
{
	if (length + name_length + 2 > sizeof(walk->path))
		return 0;
	memcpy(walk->path + length, name, name_length);
	length += name_length;
	if (more)
		walk->path[length++] = '/';
	walk->path[length] = '\0';
	return length;
}

/* By errno: what is there and cannot be reached is missing, what is not there is not. */
static void miss(struct walk *walk)
{
	if (errno != ENOENT && errno != ENOTDIR)
		walk->incomplete = true;
}

static DIR *open_folder(struct walk *walk, size_t length)
{
	DIR *folder;

	walk->path[length] = '\0';
	folder = opendir(length ? walk->path : ".");
	if (!folder)
		miss(walk);
	return folder;
}

static struct dirent *next_name(struct walk *walk, DIR *folder)
{
	struct dirent *entry;

	do {
		if (!walk->visitor->goes_on(walk->visitor->context)) {
			walk->end = GLOB_STOPPED;
			return NULL;
		}
		errno = 0;
		entry = readdir(folder);
		if (!entry && errno)
			walk->incomplete = true;
		if (entry && ++walk->names > NAMES_MOST) {
			walk->end = GLOB_TOO_MANY;
			return NULL;
		}
	} while (entry && (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")));
	return entry;
}

/* Is there something at the path so far? */
static bool is_there(struct walk *walk, struct stat *status)
{
	if (!lstat(walk->path, status))
		return true;
	miss(walk);
	return false;
}

static bool is_folder(struct walk *walk, const struct dirent *entry)
{
	struct stat status;

	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_DIR;
	return is_there(walk, &status) && S_ISDIR(status.st_mode);
}

/* All folders below, and this one: @rest is what follows `**`. */
static bool walk_below(struct walk *state, size_t length, const char *rest)
{
	CLEANUP_DIRECTORY DIR *folder = NULL;
	struct dirent *entry;
	size_t grown;

	if (!walk(state, length, rest))
		return false;
	if (state->depth >= DEPTH_MOST)
		return true;
	folder = open_folder(state, length);
	while (folder && (entry = next_name(state, folder))) {
		bool goes_on = true;

		grown = append(state, length, entry->d_name, strlen(entry->d_name), false);
		if (!grown || !is_folder(state, entry))
			continue;
		grown = append(state, length, entry->d_name, strlen(entry->d_name), true);
		state->depth++;
		if (grown)
			goes_on = walk_below(state, grown, rest);
		state->depth--;
		if (!goes_on)
			return false;
	}
	return state->end == GLOB_DONE;
}

/* The names of a folder that match @part; @rest follows it, or NULL. */
static bool walk_names(struct walk *state, size_t length, const char *part, const char *rest)
{
	CLEANUP_DIRECTORY DIR *folder = open_folder(state, length);
	struct dirent *entry;

	while (folder && (entry = next_name(state, folder))) {
		size_t grown;

		if (fnmatch(part, entry->d_name, 0))
			continue;
		grown = append(state, length, entry->d_name, strlen(entry->d_name), rest);
		if (grown && !walk(state, grown, rest))
			return false;
	}
	return state->end == GLOB_DONE;
}

/* What is left of the pattern, from the folder of @length bytes on; NULL: it is a match. */
static bool walk(struct walk *state, size_t length, const char *pattern)
{
	size_t part_length = pattern ? strcspn(pattern, "/") : 0;
	char part[NAME_MAX + 1];
	struct stat status;
	const char *rest;

	if (!pattern) {
		state->visitor->visit(state->visitor->context, state->path);
		return true;
	}
	if (part_length > NAME_MAX)
		return true;
	memcpy(part, pattern, part_length);
	part[part_length] = '\0';
	rest = pattern[part_length] ? pattern + part_length + 1 : NULL;
	while (rest && *rest == '/')
		rest++;
	if (!strcmp(part, "**"))
		return walk_below(state, length, rest ? rest : "*");
	if (strpbrk(part, "*?[\\"))
		return walk_names(state, length, part, rest);
	length = append(state, length, part, part_length, false);
	if (!length || !is_there(state, &status))
		return true;
	if (rest)
		state->path[length++] = '/';
	return walk(state, length, rest);
}

enum glob_end glob_visit(const char *pattern, const struct glob_visitor *visitor)
{
	struct walk state = { .visitor = visitor };
	size_t length = 0;

	if (pattern[0] == '/') {
		state.path[length++] = '/';
		while (*pattern == '/')
			pattern++;
	}
	walk(&state, length, pattern);
	if (state.end == GLOB_DONE && state.incomplete)
		return GLOB_INCOMPLETE;
	return state.end;
}
