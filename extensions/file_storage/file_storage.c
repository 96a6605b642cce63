// SPDX-License-Identifier: Apache-2.0
/*
 * The `file_storage` extension: keeps exporters' sending queues on disk. What is on disk
 * is described in directory.h and segment.h.
 */
#include "directory.h"
#include "disk_queue.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct compaction_config {
	bool on_start, on_rebound, cleanup_on_start;
	const char *directory;
	int64_t max_transaction_size;
	int64_t rebound_needed_threshold_mib, rebound_trigger_threshold_mib;
	uint64_t check_interval_ns;
};

struct file_storage_config {
	const char *directory;
	uint64_t max_size;
	bool fsync;
	bool create_directory;
	const char *directory_permissions;
	uint64_t timeout_ns;
	bool recreate;
	struct compaction_config compaction;
};

static const struct profcol_option compaction_options[] = {
	PROFCOL_OPTION_BOOL("on_start", struct compaction_config, on_start, "false", "no effect"),
	PROFCOL_OPTION_BOOL("on_rebound", struct compaction_config, on_rebound, "false",
			    "no effect"),
	PROFCOL_OPTION_STRING("directory", struct compaction_config, directory, NULL, "no effect"),
	PROFCOL_OPTION_INT("max_transaction_size", struct compaction_config, max_transaction_size,
			   "65536", 0, INT64_MAX, "no effect"),
	PROFCOL_OPTION_INT("rebound_needed_threshold_mib", struct compaction_config,
			   rebound_needed_threshold_mib, "100", 0, INT64_MAX, "no effect"),
	PROFCOL_OPTION_INT("rebound_trigger_threshold_mib", struct compaction_config,
			   rebound_trigger_threshold_mib, "10", 0, INT64_MAX, "no effect"),
	PROFCOL_OPTION_DURATION("check_interval", struct compaction_config, check_interval_ns, "5s",
				0, 0, "no effect"),
	PROFCOL_OPTION_BOOL("cleanup_on_start", struct compaction_config, cleanup_on_start, "false",
			    "no effect"),
	PROFCOL_OPTION_END,
};

static const struct profcol_option file_storage_options[] = {
	PROFCOL_OPTION_STRING("directory", struct file_storage_config, directory,
			      "/var/lib/otelcol/file_storage",
			      "where the queues are, for one process at a time"),
	PROFCOL_OPTION_BYTES("max_size", struct file_storage_config, max_size, "1GiB", 1 << 20, 0,
			     "bytes on disk for each queue, at least 1MiB; what does not fit is "
			     "refused"),
	PROFCOL_OPTION_BOOL("fsync", struct file_storage_config, fsync, "false",
			    "force each request to the disk, so that a power cut loses none"),
	PROFCOL_OPTION_BOOL("create_directory", struct file_storage_config, create_directory,
			    "true", "create the directory when it is missing"),
	PROFCOL_OPTION_STRING("directory_permissions", struct file_storage_config,
			      directory_permissions, "\"0700\"",
			      "of a directory that is created: octal, in quotes, less the umask"),
	PROFCOL_OPTION_DURATION("timeout", struct file_storage_config, timeout_ns, "1s", 0, 0,
				"how long to wait for another process to release the directory"),
	PROFCOL_OPTION_BOOL("recreate", struct file_storage_config, recreate, "false",
			    "no effect: a damaged queue is read as far as it is sound"),
	PROFCOL_OPTION_NESTED("compaction", struct file_storage_config, compaction,
			      compaction_options,
			      "no effect: files are removed as their content is sent"),
	PROFCOL_OPTION_END,
};

struct file_storage {
	const struct profcol_host *host; /* borrowed, as the next */
	const struct file_storage_config *config;
	pthread_mutex_t lock; /* guards the next: queues come back to it, if it is removed */
	struct directory directory;
};

/* Octal digits as the Collector's; false unless the owner may do everything. */
static bool parse_permissions(const char *text, mode_t *ret)
{
	mode_t mode = 0;
	size_t length = 0;

	for (; text[length] >= '0' && text[length] <= '7' && length < 5; length++)
		mode = mode << 3 | (mode_t)(text[length] - '0');
	*ret = mode;
	return length > 0 && !text[length] && mode <= 0777 && (mode & 0700) == 0700;
}

static struct profcol_error *file_storage_validate(const void *options)
{
	const struct file_storage_config *config = options;
	mode_t mode;

	if (!config->directory[0])
		return profcol_error_create(PROFCOL_CONFIG,
					    "directory: must not be empty; name the directory that "
					    "the queues go to");
	if (!parse_permissions(config->directory_permissions, &mode))
		return profcol_error_create(
			PROFCOL_CONFIG,
			"directory_permissions: invalid value '%s'; write octal "
			"digits in quotes, with all rights for the owner, as in "
			"\"0700\"",
			config->directory_permissions);
	return NULL;
}

static struct profcol_error *file_storage_create(const struct profcol_host *host,
						 const void *options, void **ret)
{
	struct file_storage *storage = calloc(1, sizeof(*storage));

	if (!storage)
		return profcol_error_errno(ENOMEM, "create the extension");
	storage->host = host;
	storage->config = options;
	storage->directory = (struct directory){ .fd = -1, .lock_fd = -1 };
	pthread_mutex_init(&storage->lock, NULL);
	*ret = storage;
	return NULL;
}

static void log_what_has_no_effect(const struct file_storage *storage)
{
	const struct compaction_config *compaction = &storage->config->compaction;

	if (compaction->on_start || compaction->on_rebound || compaction->cleanup_on_start ||
	    compaction->directory[0] || storage->config->recreate)
		profcol_log_info(storage->host->logger,
				 "'compaction' and 'recreate' have no effect: files are removed as "
				 "their content is sent, and damaged ones read as far as they are "
				 "sound");
}

static struct profcol_error *file_storage_start(void *self)
{
	struct file_storage *storage = self;
	const struct file_storage_config *config = storage->config;
	struct directory_settings settings = {
		.path = config->directory,
		.create = config->create_directory,
		.timeout_ns = config->timeout_ns,
	};
	struct profcol_error *error;

	parse_permissions(config->directory_permissions, &settings.mode);
	error = directory_init(&settings, &storage->directory);
	if (error)
		return error;
	log_what_has_no_effect(storage);
	if (storage->directory.others_may_write)
		profcol_log_warn(storage->host->logger,
				 "other users may write to directory '%s' and remove what is "
				 "queued, chmod it to 0700; using it",
				 config->directory);
	return NULL;
}

/* @path without links, also where its end is still to be created. NULL without memory. */
static char *resolve(const char *path)
{
	CLEANUP_FREE char *directory = NULL, *name = NULL, *parent = NULL;
	char *real = realpath(path, NULL), *end;

	if (real || errno != ENOENT)
		return real ? real : strdup(path);
	directory = strdup(path);
	name = strdup(path);
	if (!directory || !name)
		return NULL;
	end = dirname(directory);
	parent = strcmp(end, path) ? resolve(end) : strdup(end);
	if (!parent || asprintf(&real, "%s/%s", parent, basename(name)) < 0)
		return NULL;
	return real;
}

/* Is it another's of the same configuration? Whoever starts second would wait for its lock. */
static struct profcol_error *claim_directory(const char *path, struct profcol_findings *findings)
{
	CLEANUP_FREE char *real = resolve(path), *what = NULL;

	if (!real || asprintf(&what, "directory '%s'", real) < 0) {
		what = NULL;
		return profcol_error_errno(ENOMEM, "directory");
	}
	return findings_claim(findings, what, "set a 'directory' of its own for each");
}

static void file_storage_diagnose(const void *options, struct profcol_findings *findings)
{
	const struct file_storage_config *config = options;
	const struct directory_settings settings = {
		.path = config->directory,
		.create = config->create_directory,
	};
	struct profcol_error *error = claim_directory(config->directory, findings);

	if (!error)
		error = directory_probe(&settings);
	if (error)
		findings_add_error(findings, "directory", PROFCOL_MISSING, "profcol does not start",
				   error);
	else
		findings_add_fine(findings, "directory", "'%s' can keep queues", config->directory);
}

static void file_storage_destroy(void *self)
{
	struct file_storage *storage = self;

	if (!storage)
		return;
	directory_deinit(&storage->directory);
	pthread_mutex_destroy(&storage->lock);
	free(storage);
}

/* Under the lock: the directory anew, if somebody has removed it. */
static struct profcol_error *renew_directory(struct file_storage *storage)
{
	const struct file_storage_config *config = storage->config;
	struct directory_settings settings = { .path = config->directory,
					       .create = config->create_directory };
	struct directory fresh;
	struct profcol_error *error;
	struct stat status;

	if (fstat(storage->directory.fd, &status) || status.st_nlink)
		return NULL;
	parse_permissions(config->directory_permissions, &settings.mode);
	error = directory_init(&settings, &fresh);
	if (error)
		return error;
	directory_deinit(&storage->directory);
	storage->directory = fresh;
	return NULL;
}

static struct profcol_error *reopen_queue(void *context, const char *name, int *fd_ret)
{
	struct file_storage *storage = context;
	CLEANUP_FREE char *path = NULL;
	struct profcol_error *error;

	pthread_mutex_lock(&storage->lock);
	error = renew_directory(storage);
	if (!error)
		error = directory_open_queue(&storage->directory, storage->config->directory, name,
					     fd_ret, &path);
	pthread_mutex_unlock(&storage->lock);
	return error;
}

static struct profcol_error *file_storage_open(void *self, const char *name,
					       struct profcol_storage_queue **ret)
{
	struct file_storage *storage = self;
	const struct disk_queue_settings settings = {
		.name = name,
		.max_bytes = storage->config->max_size,
		.fsync = storage->config->fsync,
		.host = storage->host,
		.reopen = reopen_queue,
		.reopen_context = storage,
	};
	CLEANUP_FREE char *path = NULL;
	CLEANUP_FD int fd = -1;
	struct profcol_error *error;

	pthread_mutex_lock(&storage->lock);
	error = directory_open_queue(&storage->directory, storage->config->directory, name, &fd,
				     &path);
	pthread_mutex_unlock(&storage->lock);
	if (!error)
		error = disk_queue_open(&settings, fd, path, ret);
	if (error)
		return profcol_error_prefix(error, "extension '%s'", storage->host->id);
	fd = -1;
	path = NULL;
	return NULL;
}

static const struct profcol_storage_operations operations = {
	.size = sizeof(operations),
	.open = file_storage_open,
	.append = disk_queue_append,
	.take = disk_queue_take,
	.put_back = disk_queue_put_back,
	.finish = disk_queue_finish,
	.figures = disk_queue_figures,
	.close = disk_queue_close,
};

const struct profcol_component profcol_extension_file_storage = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXTENSION,
	.stability = PROFCOL_ALPHA,
	.type = "file_storage",
	.summary = "keeps sending queues on disk, beyond the end of the process",
	.options = file_storage_options,
	.config_size = sizeof(struct file_storage_config),
	.validate = file_storage_validate,
	.create = file_storage_create,
	.start = file_storage_start,
	.destroy = file_storage_destroy,
	.storage = &operations,
	.diagnose = file_storage_diagnose,
};
