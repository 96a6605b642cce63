// SPDX-License-Identifier: Apache-2.0
#include "config.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const format_names[] = {
	[FILE_FORMAT_JSON] = "json",
	[FILE_FORMAT_PROTO] = "proto",
	NULL,
};

/* The empty word is that none is given. */
static const char *const compression_names[] = {
	[FILE_COMPRESSION_NONE] = "",
	[FILE_COMPRESSION_ZSTD] = "zstd",
	NULL,
};

static const struct profcol_option rotation_options[] = {
	PROFCOL_OPTION_INT("max_megabytes", struct file_rotation_config, max_megabytes, "100", 0,
			   INT32_MAX, "size at which a new file is begun, in MiB; 0 = 100"),
	PROFCOL_OPTION_INT("max_days", struct file_rotation_config, max_days, "0", 0, INT32_MAX,
			   "age of the oldest file to keep, by the time in its name; 0 = no limit"),
	PROFCOL_OPTION_INT("max_backups", struct file_rotation_config, max_backups, "100", 0,
			   INT32_MAX, "files to keep besides the one written to; 0 = no limit"),
	PROFCOL_OPTION_BOOL("localtime", struct file_rotation_config, localtime, "false",
			    "the time in names is local, not UTC"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option compression_options[] = {
	PROFCOL_OPTION_INT("level", struct file_compression_params, level, "0", 0, 22,
			   "1 (fast) to 22 (small); 0 = 3"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option group_options[] = {
	PROFCOL_OPTION_BOOL("enabled", struct file_group_config, enabled, "false",
			    "not supported: an exporter writes one file"),
	PROFCOL_OPTION_STRING("resource_attribute", struct file_group_config, resource_attribute,
			      "fileexporter.path_segment", "no effect"),
	PROFCOL_OPTION_INT("max_open_files", struct file_group_config, max_open_files, "100",
			   INT64_MIN, INT64_MAX, "no effect"),
	PROFCOL_OPTION_END,
};

const struct profcol_option file_options[] = {
	PROFCOL_OPTION_REQUIRED_STRING("path", struct file_config, path,
				       "the file, or a pipe or device, to write to"),
	PROFCOL_OPTION_ENUM("format", struct file_config, format, "json", format_names,
			    "OTLP as a line of JSON for each request, or as protobuf, each request "
			    "behind its length in 4 bytes"),
	PROFCOL_OPTION_BOOL("append", struct file_config, append, "false",
			    "go on with a file that is there; else it is emptied at the start"),
	PROFCOL_OPTION_SECTION("rotation", struct file_config, rotation, rotates, rotation_options,
			       "begin new files; off unless named"),
	PROFCOL_OPTION_ENUM("compression", struct file_config, compression, NULL, compression_names,
			    "compress each request, which then stands behind its length, in JSON "
			    "too"),
	PROFCOL_OPTION_NESTED("compression_params", struct file_config, compression_params,
			      compression_options, "how well"),
	PROFCOL_OPTION_DURATION("flush_interval", struct file_config, flush_interval_ns, "1s", 0, 0,
				"no effect: each request is written at once"),
	PROFCOL_OPTION_BOOL("create_directory", struct file_config, create_directory, "false",
			    "create directories of the path that are missing"),
	PROFCOL_OPTION_STRING("directory_permissions", struct file_config, directory_permissions,
			      NULL, "their mode, octal, minus the umask; 0755 when empty"),
	PROFCOL_OPTION_STRING("encoding", struct file_config, encoding, NULL,
			      "not supported: profcol has no encoding extensions"),
	PROFCOL_OPTION_NESTED("group_by", struct file_config, group_by, group_options,
			      "a file for each value of a resource attribute"),
	PROFCOL_OPTION_BOOL("private_subdirectory", struct file_config, private_subdirectory,
			    "false",
			    "write to a directory of its own, profcol, in that of `path`, which "
			    "others may write to: a container's volume"),
	PROFCOL_OPTION_END,
};

static struct profcol_error *refuse(const char *text)
{
	return profcol_error_create(PROFCOL_CONFIG, "%s", text);
}

static struct profcol_error *validate_directory(const struct file_config *config)
{
	const char *text = config->directory_permissions;
	char *end;
	long mode;

	if (!text[0])
		return NULL;
	if (!config->create_directory)
		return refuse("directory_permissions: requires create_directory to be true");
	mode = strtol(text, &end, 8);
	if (*end || mode < 0 || text[0] == ' ')
		return profcol_error_create(PROFCOL_CONFIG,
					    "directory_permissions: '%s' is not an octal number; "
					    "write a mode such as \"0755\"",
					    text);
	if (mode > 0777)
		return profcol_error_create(PROFCOL_CONFIG,
					    "directory_permissions: '%s' has bits beyond those for "
					    "access; write a mode up to \"0777\"",
					    text);
	return NULL;
}

struct profcol_error *file_validate(const void *options)
{
	const struct file_config *config = options;
	size_t length = strlen(config->path);

	if (!length)
		return refuse("path: must not be empty; name the file to write to");
	if (length >= BACKUP_PATH_MAX / 2)
		return refuse("path: is too long; name one of less than 2048 bytes");
	if (config->append && config->rotates)
		return refuse("append: cannot be combined with rotation, which goes on with the "
			      "file by itself; remove one of them");
	if (config->encoding[0])
		return refuse("encoding: profcol has no encoding extensions; remove it, and set "
			      "'format' to json or proto");
	if (config->group_by.enabled)
		return refuse("group_by::enabled: an exporter writes one file; add an exporter "
			      "for each, with the processor filter in front");
	return validate_directory(config);
}

char *file_path(const struct file_config *config)
{
	const char *slash = strrchr(config->path, '/'), *name = slash ? slash + 1 : config->path;
	char *path;

	if (!config->private_subdirectory)
		return strdup(config->path);
	if (asprintf(&path, "%.*s" TRUSTED_PRIVATE_PART "/%s", (int)(name - config->path),
		     config->path, name) < 0)
		return NULL;
	return path;
}

struct record_file_settings file_record_settings(const struct file_config *config, const char *path)
{
	const struct file_rotation_config *rotation = &config->rotation;
	uint64_t megabytes = rotation->max_megabytes ? (uint64_t)rotation->max_megabytes : 100;
	const char *mode = config->directory_permissions;

	return (struct record_file_settings){
		.path = path,
		.asked_path = config->path,
		.private_part = config->private_subdirectory ? TRUSTED_PRIVATE_PART : NULL,
		.framing = config->format == FILE_FORMAT_PROTO || config->compression
				   ? RECORD_FILE_PREFIXED
				   : RECORD_FILE_LINES,
		.append = config->append,
		// The Collector's makes them where it rotates.
		.create_directory = config->create_directory || config->rotates,
		.directory_mode = mode[0] ? (mode_t)strtol(mode, NULL, 8) : 0755,
		.max_bytes = config->rotates ? megabytes << 20 : 0,
		.backup = {
			.max_count = rotation->max_backups,
			.max_days = rotation->max_days,
			.local_time = rotation->localtime,
		},
	};
}
