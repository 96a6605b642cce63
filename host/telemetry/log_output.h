/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the service's log lines go and what they look like: service::telemetry::logs, in the
 * Collector's two shapes (docs/telemetry.md). One for all loggers of the service.
 *
 * Threads: configure, reopen and destroy from one at a time; the rest from any.
 */
#pragma once

#include "config/config.h"

#include <stdarg.h>

struct log_output;

/*
 * Opens the files. @stderr_fd is what "stderr" stands for, borrowed until destroy; an empty list
 * of paths is stderr too. @version is of the program. The error names the key and the path.
 */
PROFCOL_MUST_CHECK struct profcol_error *log_output_create(const struct config_service *service,
							   const char *version, int stderr_fd,
							   struct log_output **ret);

/* Says what was held back and not told yet. Accepts NULL. */
void log_output_destroy(struct log_output *output);

/*
 * From now on as @service has it; files are opened anew. On error everything stays as it was.
 * Loggers keep their own level (logging_set_level).
 */
PROFCOL_MUST_CHECK struct profcol_error *log_output_configure(struct log_output *output,
							      const struct config_service *service);

/* Open the files anew, for who has renamed them. One that cannot be opened stays as it is. */
void log_output_reopen(struct log_output *output);

/* The level of the configuration: what loggers start with. */
enum profcol_level log_output_level(const struct log_output *output);

/* What a line says beside its message. */
struct log_field {
	const char *key;
	const char *text; /* NULL: it is the number */
	uint64_t number;
};

/* A line, before it is laid out. All borrowed during the call. */
struct log_record {
	enum profcol_level level;
	const char *id;       /* who speaks */
	const char *kind;     /* "exporter"; NULL: the service itself */
	const char *pipeline; /* may be NULL */
	const char *file;     /* NULL: the place is not known */
	unsigned int line;
	const char *format;  /* what tells messages apart; see log_sampling.h */
	const char *message; /* formatted; valid UTF-8 */
	bool text;           /* line breaks of the message stand, in console lines */
	const struct log_field *fields;
	size_t field_count;
};

void log_output_write(struct log_output *output, const struct log_record *record);

/* Lines since create: written, by level, and held back. */
struct log_output_figures {
	uint64_t lines[PROFCOL_ERROR + 1];
	uint64_t suppressed;
};
void log_output_figures(const struct log_output *output, struct log_output_figures *ret);
