// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "base/base.h"

int command_validate(const struct command_line *line, const struct program *program)
{
	CLEANUP(loaded_deinit) struct loaded loaded = { 0 };
	struct profcol_error *error = loaded_init(&loaded, &line->sources, program->builtin);

	if (!error)
		error = loaded_try_to_build(&loaded, program->version);
	return error ? command_fail(error) : EXIT_SUCCESS;
}
