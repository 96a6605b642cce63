/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines of a component. The host owns the logger, puts time, level and the
 * component's id in front, drops what is below the level, and writes a line in
 * one piece to stderr.
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
	size_t size;              /* sizeof on the host's side */
	enum profcol_level level; /* lines below are not formatted */
	void (*write)(const struct profcol_logger *logger, enum profcol_level level,
		      const char *format, va_list arguments);
};

__attribute__((format(printf, 3, 4))) static inline void
profcol_log(const struct profcol_logger *logger, enum profcol_level level, const char *format, ...)
{
	va_list arguments;

	if (level < logger->level)
		return;
	va_start(arguments, format);
	logger->write(logger, level, format, arguments);
	va_end(arguments);
}

#define profcol_log_debug(logger, ...) profcol_log(logger, PROFCOL_DEBUG, __VA_ARGS__)
#define profcol_log_info(logger, ...)  profcol_log(logger, PROFCOL_INFO, __VA_ARGS__)
#define profcol_log_warn(logger, ...)  profcol_log(logger, PROFCOL_WARN, __VA_ARGS__)
#define profcol_log_error(logger, ...) profcol_log(logger, PROFCOL_ERROR, __VA_ARGS__)
