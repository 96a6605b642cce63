// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "base/base.h"

int command_schema(const struct command_line *line, const struct program *program)
{
	CLEANUP(loaded_deinit) struct loaded loaded = { 0 };
	struct profcol_error *error =
		loaded_init_registry(&loaded, &line->sources, program->builtin);

	if (error)
		return command_fail(error);
	if (!config_print_schema(loaded.registry, stdout))
		return command_fail(profcol_error_create(PROFCOL_NO_MEMORY, "out of memory"));
	return command_finish(EXIT_SUCCESS);
}
