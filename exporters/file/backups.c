// SPDX-License-Identifier: Apache-2.0
#include "backups.h"

#include "base/base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum {
	STAMP_LENGTH = 23, /* "2006-01-02T15-04-05.000" */
	SAME_TIME_MAX = 1000,
	BACKUPS_MAX = 100000, /* that are looked at; of more, some stay for the next time */
	SECONDS_A_DAY = 24 * 60 * 60,
};

/* A path in its parts; all point into it. */
struct parts {
	int directory_length; /* with the slash; 0 = the current directory */
	const char *name;
	int stem_length; /* of @name, up to the extension */
	const char *extension;
};

static struct parts split(const char *path)
{
	const char *slash = strrchr(path, '/');
	struct parts parts = { .name = slash ? slash + 1 : path };
	const char *dot = strrchr(parts.name, '.');

	parts.directory_length = (int)(parts.name - path);
	parts.extension = dot ? dot : parts.name + strlen(parts.name);
	parts.stem_length = (int)(parts.extension - parts.name);
	return parts;
}

static void format_stamp(char stamp[STAMP_LENGTH + 1], uint64_t unix_ms, bool local_time)
{
	time_t seconds = (time_t)(unix_ms / 1000);
	char whole[32] = "";
	struct tm when;

	if (local_time ? localtime_r(&seconds, &when) : gmtime_r(&seconds, &when))
		strftime(whole, sizeof(whole), "%Y-%m-%dT%H-%M-%S", &when);
	snprintf(stamp, STAMP_LENGTH + 1, "%.19s.%03u", whole, (unsigned int)(unix_ms % 1000));
}

int backups_add(const char *path, const struct backup_settings *settings)
{
	uint64_t now_ms = clock_realtime_ns() / 1000000;
	struct parts parts = split(path);
	int status = -EEXIST;

	for (unsigned int i = 0; status == -EEXIST && i < SAME_TIME_MAX; i++) {
		char stamp[STAMP_LENGTH + 1], backup[BACKUP_PATH_MAX];
		int length;

		format_stamp(stamp, now_ms + i, settings->local_time);
		length = snprintf(backup, sizeof(backup), "%.*s%.*s-%s-size%s",
				  parts.directory_length, path, parts.stem_length, parts.name,
				  stamp, parts.extension);
		if (length >= (int)sizeof(backup))
			return -ENAMETOOLONG;
		status = renameat2(AT_FDCWD, path, AT_FDCWD, backup, RENAME_NOREPLACE) ? -errno : 0;
		// Not every file system knows the flag.
		if (status == -EINVAL && access(backup, F_OK) && errno == ENOENT)
			status = rename(path, backup) ? -errno : 0;
	}
	return status;
}

/* ---- which stay ---- */

struct backup {
	char stamp[STAMP_LENGTH + 1];
	char *name; /* owned */
};

struct backups {
	VECTOR(struct backup) items;
};

static void backups_deinit(struct backups *backups)
{
	for (size_t i = 0; i < backups->items.count; i++)
		free(backups->items.items[i].name);
	VECTOR_DEINIT(&backups->items);
}

static bool is_stamp(const char *text)
{
	static const char form[] = "0000-00-00T00-00-00.000";

	for (size_t i = 0; i < STAMP_LENGTH; i++)
		if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
			return false;
	return true;
}

/* The stamp in @name when it is one of a backup, with any reason behind it; else NULL. */
static const char *backup_stamp(const struct parts *parts, const char *name)
{
	size_t length = strlen(name), extension = strlen(parts->extension);
	const char *stamp = name + parts->stem_length + 1, *rest;

	if (length < (size_t)parts->stem_length + 1 + STAMP_LENGTH + extension ||
	    strncmp(name, parts->name, (size_t)parts->stem_length) != 0 ||
	    name[parts->stem_length] != '-' || !is_stamp(stamp) ||
	    strcmp(name + length - extension, parts->extension) != 0)
		return NULL;
	rest = stamp + STAMP_LENGTH;
	length -= (size_t)(rest - name) + extension;
	return !length || (length == 5 &&
			   (!strncmp(rest, "-size", 5) || !strncmp(rest, "-time", 5)))
		       ? stamp
		       : NULL;
}

static int list(DIR *directory, const struct parts *parts, struct backups *backups)
{
	struct dirent *entry;

	while (backups->items.count < BACKUPS_MAX && (entry = readdir(directory))) {
		const char *stamp = backup_stamp(parts, entry->d_name);
		struct backup backup;

		if (!stamp)
			continue;
		memcpy(backup.stamp, stamp, STAMP_LENGTH);
		backup.stamp[STAMP_LENGTH] = '\0';
		backup.name = strdup(entry->d_name);
		if (!backup.name || !VECTOR_PUSH(&backups->items, backup)) {
			free(backup.name);
			return -ENOMEM;
		}
	}
	return 0;
}

static int compare_newest_first(const void *left, const void *right)
{
	return strcmp(((const struct backup *)right)->stamp, ((const struct backup *)left)->stamp);
}

/* Stamps compare as text. */
static void oldest_stamp(char stamp[STAMP_LENGTH + 1], const struct backup_settings *settings)
{
	uint64_t now_ms = clock_realtime_ns() / 1000000;
	uint64_t kept_ms = (uint64_t)settings->max_days * SECONDS_A_DAY * 1000;

	format_stamp(stamp, settings->max_days && kept_ms < now_ms ? now_ms - kept_ms : 0,
		     settings->local_time);
}

int backups_expire(const char *path, const struct backup_settings *settings)
{
	CLEANUP(backups_deinit) struct backups backups = { 0 };
	CLEANUP_DIRECTORY DIR *directory = NULL;
	CLEANUP_FREE char *parent = NULL;
	struct parts parts = split(path);
	char oldest[STAMP_LENGTH + 1];
	int removed = 0, status;

	if (!settings->max_count && !settings->max_days)
		return 0;
	parent = parts.directory_length ? strndup(path, (size_t)parts.directory_length)
					: strdup(".");
	if (!parent)
		return -ENOMEM;
	directory = opendir(parent);
	status = directory ? list(directory, &parts, &backups) : -errno;
	if (status)
		return status;
	if (backups.items.count)
		qsort(backups.items.items, backups.items.count, sizeof(*backups.items.items),
		      compare_newest_first);
	oldest_stamp(oldest, settings);
	for (size_t i = 0; i < backups.items.count; i++) {
		const struct backup *backup = &backups.items.items[i];
		bool too_many = settings->max_count && i >= (size_t)settings->max_count;

		if (too_many || strcmp(backup->stamp, oldest) < 0)
			removed += !unlinkat(dirfd(directory), backup->name, 0);
	}
	return removed;
}
