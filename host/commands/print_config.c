// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "base/base.h"

int command_print_config(const struct command_line *line, const struct program *program)
{
	CLEANUP(loaded_deinit) struct loaded loaded = { 0 };
	struct profcol_error *error = loaded_init(&loaded, &line->sources, program->builtin);

	if (error)
		return command_fail(error);
	config_print(loaded.config, line->format, !line->unredacted, stdout);
	return command_finish(EXIT_SUCCESS);
}
