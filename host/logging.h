/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines. A logger is one speaker's: the service, or an instance of a component. Where
 * its lines go and what they look like is one log_output's (telemetry/log_output.h), which all
 * loggers of the service share.
 *
 * A line is one write(2) and always one line, but for profcol_log_text: line breaks and control
 * characters in the message are escaped, bytes that are no UTF-8 become '?', what is longer than
 * LOGGING_MESSAGE_BYTES is cut. Logging allocates nothing and cannot fail; a line that the
 * descriptor does not take is lost.
 */
#pragma once

#include <profcol/logging.h>

#include <stdbool.h>

struct log_field;
struct log_output;

enum { LOGGING_MESSAGE_BYTES = 8192 };

struct logger {
	struct profcol_logger base; /* first: all that a component sees */
	const char *id;             /* borrowed; who speaks */
	const char *kind;           /* borrowed; "exporter"; NULL: the service itself */
	const char *pipeline;       /* borrowed; of a processor; else NULL */
	int fd;                     /* borrowed; without @output */
	struct log_output *output;  /* borrowed; may be NULL */
};

/*
 * Lines below @level are dropped. With @output they go there, in its shape; @output has a
 * level of its own (see logging_set_level). Without, they go to @fd, bare:
 * `2026-11-21T09:30:00.123Z<TAB>info<TAB>pprof/node<TAB>message`.
 */
void logging_init(struct logger *logger, const char *id, enum profcol_level level, int fd,
		  struct log_output *output);

/* Say which component speaks: the lines of an output have fields for it. @pipeline may be NULL. */
void logging_set_component(struct logger *logger, const char *kind, const char *pipeline);

/*
 * A line with fields of its own (telemetry/log_output.h), where it has an output; else the
 * message alone. @message is valid UTF-8, @file as __FILE__ gives it.
 */
void logging_write_fields(const struct logger *logger, enum profcol_level level, const char *file,
			  unsigned int place, const char *message, const struct log_field *fields,
			  size_t count);

/* Any thread; lines of other threads may still go by the old level. */
void logging_set_level(struct logger *logger, enum profcol_level level);

/* The accepted words are logging_levels, in the order of enum profcol_level. */
bool logging_parse_level(const char *word, enum profcol_level *ret);

enum { LOGGING_LEVELS = 4 };
extern const char *const logging_levels[LOGGING_LEVELS];
