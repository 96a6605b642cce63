/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that appear whole or not at all. A file is written under a temporary
 * name, forced to disk and then renamed, never over another one. While it is
 * being written its writer holds a lock on it (flock), which ends with the
 * process: a temporary that is not locked was left by a crash.
 *
 * Functions return 0 (or a descriptor) or a negative errno. One thread at a time
 * per output_file; several processes may use one directory.
 */
#pragma once

#include "naming.h"

#include <stddef.h>

/* Remove what crashed runs left behind; returns how many files. */
int output_remove_leftovers(int directory_fd, const char *prefix);

struct output_file {
	int fd;
	char temporary[NAMING_MAX];
};

/* An empty temporary, mode 0600. */
int output_file_create(int directory_fd, const char *prefix, struct output_file *ret);

/* Write all of @bytes and force them to disk. */
int output_file_write(const struct output_file *file, const void *bytes, size_t length);

/*
 * Give the file its final name, with the first ordinal that is free (see
 * naming.h), and close it. On error the file is still there to be discarded.
 */
int output_file_publish(int directory_fd, struct output_file *file, const char *prefix,
			uint64_t start_unix_ms, enum naming_form form, char name_ret[NAMING_MAX]);

void output_file_discard(int directory_fd, struct output_file *file);
