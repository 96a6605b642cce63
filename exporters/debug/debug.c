// SPDX-License-Identifier: Apache-2.0
/*
 * The `debug` exporter: prints each batch, as the Collector's exporter of this
 * name does, and where its time went.
 */
#include "detailed.h"
#include "hottest.h"
#include "normal.h"
#include "text.h"

#include "base/base.h"

#include <profcol/batch.h>
#include <profcol/component.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum verbosity { VERBOSITY_BASIC, VERBOSITY_NORMAL, VERBOSITY_DETAILED };

static const char *const verbosity_names[] = {
	[VERBOSITY_BASIC] = "basic",
	[VERBOSITY_NORMAL] = "normal",
	[VERBOSITY_DETAILED] = "detailed",
	NULL,
};

struct debug_config {
	int verbosity; /* enum verbosity */
	int64_t top;
	int64_t sampling_initial;
	int64_t sampling_thereafter;
	bool use_internal_logger;
	struct profcol_list output_paths;
};

static const struct profcol_option debug_options[] = {
	PROFCOL_OPTION_ENUM("verbosity", struct debug_config, verbosity, "basic", verbosity_names,
			    "a line per batch, a line per profile, or everything"),
	PROFCOL_OPTION_INT("top", struct debug_config, top, "0", 0, 1000,
			   "functions to list after each batch, hottest first; 0 = none"),
	PROFCOL_OPTION_INT("sampling_initial", struct debug_config, sampling_initial, "2", 0,
			   INT32_MAX,
			   "batches that are printed each second before sampling begins"),
	PROFCOL_OPTION_INT("sampling_thereafter", struct debug_config, sampling_thereafter, "1", 0,
			   INT32_MAX, "then every so many-th batch; 1 = all, 0 = none"),
	PROFCOL_OPTION_BOOL("use_internal_logger", struct debug_config, use_internal_logger, "true",
			    "print through the log, a record for each piece of text"),
	PROFCOL_OPTION_LIST("output_paths", struct debug_config, output_paths, NULL,
			    "where to print when use_internal_logger is false: stdout, stderr, "
			    "files (appended to) or pipes that somebody reads; stdout when empty"),
	PROFCOL_OPTION_END,
};

struct debug_exporter {
	const struct profcol_host *host;   /* borrowed */
	const struct debug_config *config; /* borrowed */
	VECTOR(int) outputs;               /* owned descriptors; stdout and stderr are duplicates */
	uint64_t second; /* of the monotonic clock, that `seen_in_second` counts in */
	uint64_t seen_in_second;
	bool output_failed; /* and said so */
};

static struct profcol_error *debug_validate(const void *options)
{
	const struct debug_config *config = options;

	if (config->use_internal_logger && config->output_paths.count)
		return profcol_error_create(PROFCOL_CONFIG,
					    "output_paths is not supported when "
					    "use_internal_logger is true; set use_internal_logger "
					    "to false");
	for (size_t i = 0; i < config->output_paths.count; i++)
		if (!config->output_paths.items[i][0])
			return profcol_error_create(PROFCOL_CONFIG,
						    "output_paths: a path is empty; use stdout, "
						    "stderr or the path of a file");
	return NULL;
}

static void debug_destroy(void *self)
{
	struct debug_exporter *exporter = self;

	if (!exporter)
		return;
	for (size_t i = 0; i < exporter->outputs.count; i++)
		close(exporter->outputs.items[i]);
	VECTOR_DEINIT(&exporter->outputs);
	free(exporter);
}

static struct profcol_error *debug_create(const struct profcol_host *host, const void *options,
					  void **ret)
{
	struct debug_exporter *exporter = calloc(1, sizeof(*exporter));

	if (!exporter)
		return profcol_error_errno(ENOMEM, "create the exporter");
	exporter->host = host;
	exporter->config = options;
	*ret = exporter;
	return NULL;
}

static struct profcol_error *debug_open(struct debug_exporter *exporter, const char *path)
{
	struct profcol_error *error = NULL, *named;
	CLEANUP_FD int fd = -1;
	int errnum = 0;

	if (!strcmp(path, "stdout"))
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else if (!strcmp(path, "stderr"))
		fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		error = trusted_file_open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY, 0600,
					  NULL, &errnum, &fd);
	if (error && !errnum) {
		named = profcol_error_create(PROFCOL_SYSTEM,
					     "cannot open '%s': %s, or set another one in "
					     "'output_paths'",
					     path, profcol_error_message(error));
		profcol_error_destroy(error);
		return named;
	}
	profcol_error_destroy(error);
	if (errnum)
		errno = errnum;
	if (fd < 0)
		return profcol_error_create(PROFCOL_SYSTEM,
					    "cannot open '%s': %s; set a file that can be written "
					    "to as 'output_paths'",
					    path, strerrordesc_np(errno));
	if (!VECTOR_PUSH(&exporter->outputs, fd))
		return profcol_error_errno(ENOMEM, "open '%s'", path);
	fd = -1;
	return NULL;
}

static struct profcol_error *debug_start(void *self)
{
	struct debug_exporter *exporter = self;
	const struct debug_config *config = exporter->config;
	struct profcol_error *error = NULL;

	if (config->use_internal_logger)
		return NULL;
	if (!config->output_paths.count)
		return debug_open(exporter, "stdout");
	for (size_t i = 0; i < config->output_paths.count && !error; i++)
		error = debug_open(exporter, config->output_paths.items[i]);
	return error;
}

/* The first batches of each second, then every so many-th. */
static bool debug_is_due(struct debug_exporter *exporter)
{
	uint64_t second = clock_monotonic_ns() / 1000000000;
	uint64_t initial = (uint64_t)exporter->config->sampling_initial;
	uint64_t thereafter = (uint64_t)exporter->config->sampling_thereafter;

	if (second != exporter->second) {
		exporter->second = second;
		exporter->seen_in_second = 0;
	}
	exporter->seen_in_second++;
	if (exporter->seen_in_second <= initial)
		return true;
	return thereafter && (exporter->seen_in_second - initial) % thereafter == 0;
}

/* One record; of long text several, each as many lines as fit. Lines of @text hold no control
 * characters (text.h). */
static void debug_log(const struct profcol_logger *logger, const struct text *text)
{
	const char *at = text->bytes; // NULL where there is no text
	size_t left = text->length;

	while (left) {
		const char *last = NULL;
		size_t length = left;

		if (length > PROFCOL_LOG_TEXT_BYTES) {
			last = memrchr(at, '\n', PROFCOL_LOG_TEXT_BYTES);
			// A line that is too long for a record is cut by the log.
			last = last ? last : memchr(at, '\n', length);
		}
		if (last)
			length = (size_t)(last + 1 - at);
		// What the log adds stands behind a single line, and below many.
		if (memchr(at, '\n', length) == at + length - 1)
			profcol_log_text(logger, PROFCOL_INFO, at, length - 1);
		else
			profcol_log_text(logger, PROFCOL_INFO, at, length);
		at += length;
		left -= length;
	}
}

static int debug_write(int fd, const struct text *text)
{
	struct iovec part = { text->bytes, text->length };
	size_t written;

	return file_write_all(fd, &part, 1, &written);
}

/* Print @text, which is empty afterwards. True when it had been cut. */
static bool debug_output(struct debug_exporter *exporter, struct text *text)
{
	bool cut = text->cut;
	int error = 0;

	if (exporter->config->use_internal_logger) {
		debug_log(exporter->host->logger, text);
		text_deinit(text);
		return cut;
	}
	for (size_t i = 0; text->length && i < exporter->outputs.count; i++) {
		int status = debug_write(exporter->outputs.items[i], text);

		error = status ? status : error;
	}
	if (error && !exporter->output_failed)
		profcol_log_warn(exporter->host->logger,
				 "cannot print: %s; text is lost until it works",
				 strerrordesc_np(-error));
	exporter->output_failed = text->length ? error != 0 : exporter->output_failed;
	text_deinit(text);
	return cut;
}

static struct profcol_error *debug_print(struct debug_exporter *exporter,
					 const struct profcol_batch *batch)
{
	CLEANUP(text_deinit) struct text text = { 0 };
	struct profcol_error *error = NULL;
	bool cut;

	text_add(&text, "Profiles {\"resource profiles\": %u, \"sample records\": %u}\n",
		 profcol_batch_count(batch, PROFCOL_RESOURCES),
		 profcol_batch_count(batch, PROFCOL_SAMPLES));
	cut = debug_output(exporter, &text);
	if (exporter->config->verbosity == VERBOSITY_NORMAL)
		normal_print(&text, batch);
	if (exporter->config->verbosity == VERBOSITY_DETAILED)
		detailed_print(&text, batch);
	cut |= debug_output(exporter, &text);
	if (exporter->config->top)
		error = hottest_print(&text, batch, (uint32_t)exporter->config->top);
	cut |= debug_output(exporter, &text);
	if (cut)
		profcol_log_warn(exporter->host->logger,
				 "a batch gave more than %d MiB of text; the rest is left out",
				 TEXT_MAX_BYTES >> 20);
	return error;
}

static struct profcol_error *debug_consume(void *self, struct profcol_batch *batch)
{
	struct debug_exporter *exporter = self;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *taken = batch;
	struct profcol_error *error;
	bool silent = exporter->config->use_internal_logger &&
		      exporter->host->logger->level > PROFCOL_INFO;

	if (debug_is_due(exporter) && !silent) {
		error = debug_print(exporter, taken);
		if (error)
			return error;
	}
	exporter->host->account(exporter->host, PROFCOL_EXPORTED, NULL,
				profcol_batch_events(taken));
	return NULL;
}

const struct profcol_component profcol_exporter_debug = {
	.abi = PROFCOL_ABI,
	.size = sizeof(struct profcol_component),
	.kind = PROFCOL_EXPORTER,
	.stability = PROFCOL_ALPHA,
	// Text of two batches must not mix, and sampling counts them.
	.capabilities = PROFCOL_SERIAL,
	.type = "debug",
	.summary = "prints profiles, and the hottest functions, for a look by eye",
	.options = debug_options,
	.config_size = sizeof(struct debug_config),
	.validate = debug_validate,
	.create = debug_create,
	.start = debug_start,
	.consume = debug_consume,
	.destroy = debug_destroy,
};
