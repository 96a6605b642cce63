// SPDX-License-Identifier: Apache-2.0
/*
 * The `pprof` exporter: batches of an interval become one pprof file, or one of
 * folded stacks, in a directory. See README.md for the options and for what happens when the disk
 * is full.
 */
#include "writer.h"

#include "base/base.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

struct pprof_config {
	const char *directory;
	const char *file_prefix;
	uint64_t interval_ns;
	struct retention_limits retention;
	int format; /* enum pprof_format */
	int64_t compression_level;
	uint64_t max_pending_bytes;
	bool private_subdirectory;
};

enum pprof_format { PPROF_FORMAT_PPROF, PPROF_FORMAT_FOLDED };

static const char *const format_names[] = {
	[PPROF_FORMAT_PPROF] = "pprof",
	[PPROF_FORMAT_FOLDED] = "folded",
	NULL,
};

static const struct profcol_option retention_options[] = {
	PROFCOL_OPTION_INT("max_files", struct retention_limits, max_files, "0", 0, INT32_MAX,
			   "files to keep; 0 = no limit"),
	PROFCOL_OPTION_DURATION("max_age", struct retention_limits, max_age_ns, "0", 0, 0,
				"age of the oldest file to keep, from the start of its window; "
				"0 = no limit"),
	PROFCOL_OPTION_BYTES("max_bytes", struct retention_limits, max_bytes, "0", 0, 0,
			     "size of all files together; 0 = no limit"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option pprof_options[] = {
	PROFCOL_OPTION_REQUIRED_PATH("directory", struct pprof_config, directory,
				     "where files are written; its last part is created"),
	PROFCOL_OPTION_STRING("file_prefix", struct pprof_config, file_prefix, "profcol",
			      "first part of the file names: letters, digits, '.', '_', '-'"),
	PROFCOL_OPTION_ENUM("format", struct pprof_config, format, "pprof", format_names,
			    "pprof, or folded: a line of text for each stack, for flame graphs"),
	PROFCOL_OPTION_DURATION("interval", struct pprof_config, interval_ns, "60s", 0,
				24 * PROFCOL_HOUR,
				"time that one file covers, at least 100ms; 0 = one file of the "
				"whole run, written when it ends"),
	PROFCOL_OPTION_NESTED("retention", struct pprof_config, retention, retention_options,
			      "how many of these files may stay; the oldest go first"),
	PROFCOL_OPTION_INT("compression_level", struct pprof_config, compression_level, "6", 0, 9,
			   "gzip level, 1 (fast) to 9 (small); 0 = not compressed, as "
			   "folded stacks never are"),
	PROFCOL_OPTION_BYTES("max_pending_bytes", struct pprof_config, max_pending_bytes, "64MiB",
			     1 << 20, 0,
			     "memory for batches that are not in a file yet, at least 1MiB"),
	PROFCOL_OPTION_BOOL(
		"private_subdirectory", struct pprof_config, private_subdirectory, "false",
		"write to a directory of its own, profcol, in `directory`, which others "
		"may write to: a container's volume"),
	PROFCOL_OPTION_END,
};

struct pprof_exporter {
	const struct profcol_host *host;   /* borrowed */
	const struct pprof_config *config; /* borrowed */
	struct writer *writer;             /* owned */
};

static struct profcol_error *pprof_validate(const void *options)
{
	const struct pprof_config *config = options;

	if (!config->directory[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "directory: must not be empty; name the directory that "
					    "the files go to");
	if (!naming_prefix_is_valid(config->file_prefix))
		return profcol_error_create(
			PROFCOL_CONFIG,
			"file_prefix: '%s' cannot begin a file name; use 1 to %d "
			"of letters, digits, '.', '_' and '-', not '.' first",
			config->file_prefix, NAMING_PREFIX_MAX);
	if (config->interval_ns && config->interval_ns < 100 * PROFCOL_MILLISECOND)
		return profcol_error_create(PROFCOL_CONFIG,
					    "interval: must be 0 or at least 100ms");
	return NULL;
}

static void pprof_destroy(void *self)
{
	struct pprof_exporter *exporter = self;

	if (!exporter)
		return;
	writer_destroy(exporter->writer);
	free(exporter);
}

static struct profcol_error *pprof_create(const struct profcol_host *host, const void *options,
					  void **ret)
{
	const struct pprof_config *config = options;
	struct pprof_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return profcol_error_errno(ENOMEM, "create the exporter");
	exporter->host = host;
	exporter->config = config;
	exporter->writer =
		writer_create(host, &(struct writer_settings){
					    .directory = config->directory,
					    .prefix = config->file_prefix,
					    .retention = config->retention,
					    .compression_level = (int)config->compression_level,
					    .folded = config->format == PPROF_FORMAT_FOLDED,
					    .interval_ns = config->interval_ns,
					    .max_pending_bytes = config->max_pending_bytes,
					    .is_shared = config->private_subdirectory,
				    });
	if (!exporter->writer) {
		pprof_destroy(exporter);
		return profcol_error_errno(ENOMEM, "create the exporter");
	}
	*ret = exporter;
	return NULL;
}

/* Create a file as an export would, so that a directory that cannot work is an error now. */
static struct profcol_error *pprof_check_directory(struct pprof_exporter *exporter)
{
	const struct pprof_config *config = exporter->config;
	CLEANUP_FD int directory_fd = -1;
	struct profcol_error *error =
		window_directory_open(PROFCOL_SYSTEM, config->directory,
				      config->private_subdirectory, true, &directory_fd);
	struct output_file probe;
	int status;

	if (error)
		return error;
	if (output_remove_leftovers(directory_fd, config->file_prefix))
		profcol_log_info(exporter->host->logger,
				 "removed unfinished files of an earlier run from '%s'",
				 config->directory);
	status = output_file_create(directory_fd, config->file_prefix, &probe);
	if (!status)
		output_file_discard(directory_fd, &probe);
	// A full disk may have room again by the time of the first file.
	if (status && status != -ENOSPC && status != -EDQUOT)
		return window_directory_error(PROFCOL_SYSTEM, config->directory, -status);
	retention_apply(directory_fd, config->file_prefix, &config->retention, clock_realtime_ns(),
			0);
	return NULL;
}

/* The directory that is to be created: could it be? */
static void pprof_diagnose_parent(const char *path, struct profcol_findings *findings)
{
	CLEANUP_FREE char *copy = strdup(path);
	const char *parent = copy ? dirname(copy) : "";

	if (!access(parent, W_OK | X_OK))
		findings_add_fine(findings, "directory", "'%s' will be created", path);
	else
		findings_add_error(findings, "directory", PROFCOL_MISSING, "profcol does not start",
				   window_directory_error(PROFCOL_SYSTEM, path, errno));
}

static void pprof_diagnose(const void *options, struct profcol_findings *findings)
{
	const struct pprof_config *config = options;
	CLEANUP_FD int fd = -1;
	struct profcol_error *error;
	struct output_file probe;
	struct statvfs space;
	int status;

	if (access(config->directory, F_OK) && errno == ENOENT) {
		pprof_diagnose_parent(config->directory, findings);
		return;
	}
	error = window_directory_open(PROFCOL_SYSTEM, config->directory,
				      config->private_subdirectory, false, &fd);
	if (error) {
		findings_add_error(findings, "directory", PROFCOL_MISSING,
				   "no profiles are written", error);
		return;
	}
	status = output_file_create(fd, config->file_prefix, &probe);
	if (status) {
		findings_add_error(
			findings, "directory", PROFCOL_MISSING, "no profiles are written",
			window_directory_error(PROFCOL_SYSTEM, config->directory, -status));
		return;
	}
	output_file_discard(fd, &probe);
	if (fstatvfs(fd, &space))
		space = (struct statvfs){ 0 };
	findings_add_fine(findings, "directory", "'%s' can be written to, %" PRIu64 " MiB free",
			  config->directory, (uint64_t)space.f_bavail * space.f_frsize / (1 << 20));
}

static struct profcol_error *pprof_start(void *self)
{
	struct pprof_exporter *exporter = self;
	struct profcol_error *error = pprof_check_directory(exporter);

	return error ? error : writer_start(exporter->writer);
}

static struct profcol_error *pprof_consume(void *self, struct profcol_batch *batch)
{
	struct pprof_exporter *exporter = self;

	return writer_append(exporter->writer, batch);
}

static struct profcol_error *pprof_shutdown(void *self, uint64_t deadline_ns)
{
	struct pprof_exporter *exporter = self;

	writer_stop(exporter->writer, deadline_ns);
	return NULL;
}

const struct profcol_component profcol_exporter_pprof = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.stability = PROFCOL_ALPHA,
	.type = "pprof",
	.summary = "writes profiles as pprof files into a directory",
	.options = pprof_options,
	.config_size = sizeof(struct pprof_config),
	.validate = pprof_validate,
	.create = pprof_create,
	.start = pprof_start,
	.consume = pprof_consume,
	.shutdown = pprof_shutdown,
	.destroy = pprof_destroy,
	.diagnose = pprof_diagnose,
};
