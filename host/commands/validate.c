// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "base/base.h"

#include <stdio.h>

int command_validate(const struct command_line *line, const struct program *program)
{
	CLEANUP(loaded_deinit) struct loaded loaded = { 0 };
	struct config_sources sources = line->sources;
	struct profcol_error *error;

	sources.looks_at_paths = true;
	error = loaded_init(&loaded, &sources, program->builtin);
	if (!error)
		error = loaded_try_to_build(&loaded, program->version);
	// What is valid may still hurt when it runs.
	for (size_t i = 0; !error && i < loaded.config->warning_count; i++)
		fprintf(stderr, "warning: %s\n", loaded.config->warnings[i]);
	return error ? command_fail(error) : EXIT_SUCCESS;
}
