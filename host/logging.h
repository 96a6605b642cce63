/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log lines: `2026-11-21T09:30:00.123Z<TAB>info<TAB>pprof/node<TAB>message`, local time with its
 * offset as the Collector writes it. A line is one write(2) and always one line: line breaks
 * and control characters in the message are escaped, bytes that are no UTF-8 become '?', what
 * is longer than LOGGING_MESSAGE_BYTES is cut. Logging allocates nothing and cannot fail; a line
 * that the descriptor does not take is lost.
 */
#pragma once

#include <profcol/logging.h>

#include <stdbool.h>

enum { LOGGING_MESSAGE_BYTES = 8192 };

struct logger {
	struct profcol_logger base; /* first: all that a component sees */
	const char *id;             /* borrowed; who speaks */
	int fd;                     /* borrowed */
};

void logging_init(struct logger *logger, const char *id, enum profcol_level level, int fd);

/* The accepted words are logging_levels, in the order of enum profcol_level. */
bool logging_parse_level(const char *word, enum profcol_level *ret);

enum { LOGGING_LEVELS = 4 };
extern const char *const logging_levels[LOGGING_LEVELS];
