/* SPDX-License-Identifier: Apache-2.0 */
/* What the user typed. Reads its arguments, touches nothing else. */
#pragma once

#include "config/config.h"

enum command {
	COMMAND_RUN,
	COMMAND_VALIDATE,
	COMMAND_COMPONENTS,
	COMMAND_PRINT_CONFIG,
	COMMAND_SCHEMA,
	COMMAND_FEATUREGATE,
	COMMAND_DOCTOR,
	COMMAND_VERSION,
	COMMAND_HELP,
};

struct command_line {
	enum command command;
	/* Arrays are owned, their texts borrowed from argv, or owned too. There is at least one
	 * URI for RUN, VALIDATE and PRINT_CONFIG. */
	struct config_sources sources;
	bool watch;                /* --watch-config */
	enum config_format format; /* of PRINT_CONFIG, as the next */
	bool unredacted;
	bool json;            /* of DOCTOR */
	const char *gate;     /* of FEATUREGATE: the one to show; NULL = all. Borrowed from argv */
	struct arena *memory; /* owned */
};

/*
 * The error says what is wrong with the words and what was probably meant; *@ret is
 * then untouched. Flags may stand before and after the command, with one dash or two, as
 * `--flag value` or `--flag=value`; `--` ends them. The caller deinits.
 */
PROFCOL_MUST_CHECK struct profcol_error *command_line_parse(int argc, char *const *argv,
							    struct command_line *ret);
void command_line_deinit(struct command_line *line);

extern const char command_line_help[];
