/* SPDX-License-Identifier: Apache-2.0 */
/* The options of the exporter: those of the Collector's `file`. */
#pragma once

#include "record_file.h"

#include <profcol/errors.h>
#include <profcol/options.h>

enum file_format { FILE_FORMAT_JSON, FILE_FORMAT_PROTO };
enum file_compression { FILE_COMPRESSION_NONE, FILE_COMPRESSION_ZSTD };

struct file_rotation_config {
	int64_t max_megabytes, max_days, max_backups;
	bool localtime;
};

struct file_group_config {
	bool enabled;
	const char *resource_attribute;
	int64_t max_open_files;
};

struct file_compression_params {
	int64_t level;
};

struct file_config {
	const char *path;
	int format; /* enum file_format */
	bool append;
	bool rotates;
	struct file_rotation_config rotation;
	int compression; /* enum file_compression */
	struct file_compression_params compression_params;
	uint64_t flush_interval_ns;
	bool create_directory;
	const char *directory_permissions;
	const char *encoding;
	struct file_group_config group_by;
	bool private_subdirectory;
};

extern const struct profcol_option file_options[];

struct profcol_error *file_validate(const void *options);

/* Where the file lies: the caller's to free. NULL without memory. */
char *file_path(const struct file_config *config);

/* How the file is to be written, at @path, of file_path. Both are borrowed. */
struct record_file_settings file_record_settings(const struct file_config *config,
						 const char *path);
