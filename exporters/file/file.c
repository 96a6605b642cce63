// SPDX-License-Identifier: Apache-2.0
/*
 * The `file` exporter: each request becomes a record of one file, as the Collector's exporter of
 * this name writes it. The host queues, retries and books (docs/sending.md).
 */
#include "config.h"
#include "record_file.h"

#include "base/base.h"
#include "profile/profile.h"

#include <profcol/component.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <zstd.h>

struct file_exporter {
	const struct profcol_host *host;      /* borrowed */
	const struct file_config *config;     /* borrowed */
	char *path;                           /* owned: of @file */
	struct record_file_settings settings; /* of @file */
	struct profcol_metric *records, *bytes, *rotations;
	pthread_mutex_t lock; /* guards the rest */
	struct record_file file;
	bool running; /* between start and shutdown */
};

static void file_destroy(void *self)
{
	struct file_exporter *exporter = self;

	if (!exporter)
		return;
	profcol_error_destroy(record_file_close(&exporter->file));
	pthread_mutex_destroy(&exporter->lock);
	free(exporter->path);
	free(exporter);
}

static struct profcol_error *file_create(const struct profcol_host *host, const void *options,
					 void **ret)
{
	struct file_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return profcol_error_errno(ENOMEM, "create the exporter");
	exporter->host = host;
	exporter->config = options;
	exporter->path = file_path(options);
	if (!exporter->path) {
		free(exporter);
		return profcol_error_errno(ENOMEM, "create the exporter");
	}
	exporter->settings = file_record_settings(options, exporter->path);
	exporter->records = host->metric(host, PROFCOL_COUNTER, "file_records_written", "",
					 "Requests that were written to the file");
	exporter->bytes = host->metric(host, PROFCOL_COUNTER, "file_bytes_written", "",
				       "Bytes that were written to the file");
	exporter->rotations = host->metric(host, PROFCOL_COUNTER, "file_rotations", "",
					   "Files that were full and gave way to a new one");
	pthread_mutex_init(&exporter->lock, NULL);
	record_file_init(&exporter->file, &exporter->settings, host->logger);
	*ret = exporter;
	return NULL;
}

static struct profcol_error *file_start(void *self)
{
	struct file_exporter *exporter = self;
	struct profcol_error *error;

	pthread_mutex_lock(&exporter->lock);
	error = record_file_open(&exporter->file);
	exporter->running = !error;
	pthread_mutex_unlock(&exporter->lock);
	return error;
}

/* ---- a record ---- */

/* What is written of a request: borrowed from it, or owned. */
struct record {
	const void *bytes;
	size_t length;
	void *owned;
};

static void record_deinit(struct record *record)
{
	free(record->owned);
}

static void record_replace(struct record *record, void *bytes, size_t length)
{
	free(record->owned);
	*record = (struct record){ bytes, length, bytes };
}

static struct profcol_error *record_compress(struct record *record, int level)
{
	size_t bound = ZSTD_compressBound(record->length), length;
	void *bytes = malloc(bound);

	if (!bytes)
		return profcol_error_errno(ENOMEM, "compress a request");
	length = ZSTD_compress(bytes, bound, record->bytes, record->length,
			       level ? level : ZSTD_CLEVEL_DEFAULT);
	if (ZSTD_isError(length)) {
		free(bytes);
		return profcol_error_create(PROFCOL_NO_MEMORY, "cannot compress a request: %s",
					    ZSTD_getErrorName(length));
	}
	record_replace(record, bytes, length);
	return NULL;
}

static struct profcol_error *record_make(const struct file_config *config,
					 const struct profcol_request *request,
					 struct record *record)
{
	struct profcol_error *error;
	char *text;
	size_t length;

	*record = (struct record){ request->bytes, request->length, NULL };
	if (config->format == FILE_FORMAT_JSON) {
		error = otlp_to_json(request->bytes, request->length, &text, &length);
		if (error)
			return error;
		record_replace(record, text, length);
	}
	if (config->compression == FILE_COMPRESSION_ZSTD)
		return record_compress(record, (int)config->compression_params.level);
	return NULL;
}

/* Under the lock. */
static struct profcol_error *file_write(struct file_exporter *exporter, const struct record *record,
					const char **cause_ret)
{
	uint64_t rotations = exporter->file.rotations;
	struct profcol_error *error;

	if (!exporter->running)
		return profcol_error_create(PROFCOL_SHUTDOWN, "'%s' is closed",
					    exporter->config->path);
	error = record_file_write(&exporter->file, record->bytes, record->length, cause_ret);
	profcol_metric_add(exporter->rotations, (int64_t)(exporter->file.rotations - rotations));
	if (error)
		return error;
	profcol_metric_add(exporter->records, 1);
	profcol_metric_add(exporter->bytes, (int64_t)record->length);
	return NULL;
}

/* The host logs the error that comes back. */
static struct profcol_error *file_send(void *self, const struct profcol_request *request,
				       struct profcol_reply *reply)
{
	struct file_exporter *exporter = self;
	CLEANUP(record_deinit) struct record record = { 0 };
	struct profcol_error *error;

	// Outside of the lock: this takes time.
	error = record_make(exporter->config, request, &record);
	if (error) {
		reply->cause = "encode_failed";
		return error;
	}
	pthread_mutex_lock(&exporter->lock);
	error = file_write(exporter, &record, &reply->cause);
	pthread_mutex_unlock(&exporter->lock);
	return error;
}

static struct profcol_error *file_shutdown(void *self, uint64_t deadline_ns)
{
	struct file_exporter *exporter = self;
	struct profcol_error *error;

	(void)deadline_ns;
	pthread_mutex_lock(&exporter->lock);
	exporter->running = false;
	// Here, not at the end: another exporter may be waiting for the lock on the file.
	error = record_file_close(&exporter->file);
	pthread_mutex_unlock(&exporter->lock);
	return error;
}

/* ---- the doctor ---- */

static void file_diagnose(const void *options, struct profcol_findings *findings)
{
	const struct file_config *config = options;
	const struct record_file_settings settings = file_record_settings(config, config->path);
	CLEANUP_FREE char *copy = strdup(config->path);
	const char *directory = copy ? dirname(copy) : "";
	struct statvfs space;
	bool exists = !access(config->path, F_OK);

	if (exists ? !access(config->path, W_OK) : !access(directory, W_OK | X_OK)) {
		if (statvfs(directory, &space))
			space = (struct statvfs){ 0 };
		findings_add_fine(findings, "file", "'%s' can be written to, %" PRIu64 " MiB free",
				  config->path,
				  (uint64_t)space.f_bavail * space.f_frsize / (1 << 20));
	} else if (errno == ENOENT && settings.create_directory) {
		findings_add_fine(findings, "file", "'%s' will be created, with its directories",
				  config->path);
	} else {
		findings_add_error(findings, "file", PROFCOL_MISSING, "profcol does not start",
				   record_file_error(PROFCOL_SYSTEM, config->path, errno));
	}
}

const struct profcol_component profcol_exporter_file = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.stability = PROFCOL_ALPHA,
	.type = "file",
	.summary = "writes profiles as OTLP to a file, in JSON or protobuf",
	.options = file_options,
	.config_size = sizeof(struct file_config),
	.validate = file_validate,
	.create = file_create,
	.start = file_start,
	.shutdown = file_shutdown,
	.destroy = file_destroy,
	.send = file_send,
	.diagnose = file_diagnose,
};
