/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file is called once another takes its place, and which of these stay. Names are those of
 * the Collector's exporter: data.json becomes data-2026-11-21T09-30-00.123-size.json.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { BACKUP_PATH_MAX = 4096 };

struct backup_settings {
	int64_t max_count; /* 0 = no limit */
	int64_t max_days;  /* 0 = no limit */
	bool local_time;   /* else UTC */
};

/*
 * Move the file at @path to its name as a backup, which is never one that there is already.
 * Returns 0 or a negative errno.
 */
int backups_add(const char *path, const struct backup_settings *settings);

/* Remove the backups of @path that are too old or too many. Returns how many, or a negative errno.
 */
int backups_expire(const char *path, const struct backup_settings *settings);
