/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of a component. The host owns the logger, adds time, level, the place in the
 * source and the component's id, drops what is below the level and most of what repeats
 * itself, and writes a line in one piece to where service::telemetry::logs says.
 *
 * Only the function that decides logs (see errors.h). A warning ends with what
 * profcol does instead ("..., names of this file stay addresses"). Whatever can
 * happen per sample is a metric, not a line. Secrets are never logged.
 *
 * Threads: any.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>

enum profcol_level {
	PROFCOL_DEBUG,
	PROFCOL_INFO,  /* life cycle; silent in steady state */
	PROFCOL_WARN,  /* degraded, going on */
	PROFCOL_ERROR, /* somebody has to act */
};

struct profcol_logger {
	size_t size; /* sizeof on the host's side */
	/* Lines below are not formatted. May change at any time. */
	_Atomic enum profcol_level level;
	void (*write)(const struct profcol_logger *logger, enum profcol_level level,
		      const char *format, va_list arguments);

	/* As write, for a call at @line of @file; both literals. NULL: there is only write. */
	void (*write_from)(const struct profcol_logger *logger, enum profcol_level level,
			   const char *file, unsigned int line, const char *format,
			   va_list arguments);

	/* See profcol_log_text. NULL: there is none. */
	void (*write_text)(const struct profcol_logger *logger, enum profcol_level level,
			   const char *file, unsigned int line, const char *text, size_t length);
};

__attribute__((format(printf, 5, 6))) static inline void
profcol_log_from(const struct profcol_logger *logger, enum profcol_level level, const char *file,
		 unsigned int line, const char *format, ...)
{
	va_list arguments;

	if (level < logger->level)
		return;
	va_start(arguments, format);
	if (logger->size >= offsetof(struct profcol_logger, write_text) && logger->write_from)
		logger->write_from(logger, level, file, line, format, arguments);
	else
		logger->write(logger, level, format, arguments);
	va_end(arguments);
}

/* profcol_log(logger, level, format, ...) */
#define profcol_log(logger, level, ...)                                                            \
	profcol_log_from((logger), (level), __FILE__, __LINE__, __VA_ARGS__)

#define profcol_log_debug(logger, ...) profcol_log(logger, PROFCOL_DEBUG, __VA_ARGS__)
#define profcol_log_info(logger, ...)  profcol_log(logger, PROFCOL_INFO, __VA_ARGS__)
#define profcol_log_warn(logger, ...)  profcol_log(logger, PROFCOL_WARN, __VA_ARGS__)
#define profcol_log_error(logger, ...) profcol_log(logger, PROFCOL_ERROR, __VA_ARGS__)

/* Of one record of profcol_log_text. */
enum { PROFCOL_LOG_TEXT_BYTES = 8000 };

static inline void profcol_log_text_from(const struct profcol_logger *logger,
					 enum profcol_level level, const char *file,
					 unsigned int line, const char *text, size_t length)
{
	if (level < logger->level || !length)
		return;
	if (logger->size >= sizeof(*logger) && logger->write_text)
		logger->write_text(logger, level, file, line, text, length);
	else
		profcol_log_from(logger, level, file, line, "%.*s", (int)length, text);
}

/*
 * profcol_log_text(logger, level, text, length): lines to be read by eye, such as a table, as one
 * record. Its line breaks stand where the log is for eyes (encoding: console), so no foreign text
 * may bring its own. The log cuts text that is longer than PROFCOL_LOG_TEXT_BYTES.
 */
#define profcol_log_text(logger, level, text, length)                                              \
	profcol_log_text_from((logger), (level), __FILE__, __LINE__, (text), (length))
