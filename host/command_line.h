/* SPDX-License-Identifier: Apache-2.0 */
/* What the user typed. Pure: reads its arguments, touches nothing else. */
#pragma once

#include <profcol/errors.h>
#include <profcol/logging.h>

enum command {
	COMMAND_RUN,
	COMMAND_VALIDATE,
	COMMAND_COMPONENTS,
	COMMAND_VERSION,
	COMMAND_HELP,
};

struct command_line {
	enum command command;
	const char *config; /* path, borrowed from argv; set for RUN and VALIDATE */
	enum profcol_level level;
};

/*
 * The error says what is wrong with the words and what was probably meant; *@ret is
 * then untouched. Flags may stand before and after the command, as `--flag value` or
 * `--flag=value`.
 */
PROFCOL_MUST_CHECK struct profcol_error *command_line_parse(int argc, char *const *argv,
							    struct command_line *ret);

extern const char command_line_help[];
