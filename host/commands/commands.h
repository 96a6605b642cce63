/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the words of the command line make the program do. Main thread, before any other
 * thread exists.
 */
#pragma once

#include "command_line.h"

struct program {
	const char *version; /* "0.1.0" */
	const struct component_registry *builtin;
};

enum { EXIT_USAGE = 2 };

/* Do what @line says and return the exit code; all messages have been printed. */
int commands_execute(const struct command_line *line, const struct program *program);

/* Print @error, which it takes, as one of the command line; returns the exit code. */
int commands_refuse(struct profcol_error *error);
