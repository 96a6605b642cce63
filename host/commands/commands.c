// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include <stdlib.h>
#include <sysexits.h>

int commands_refuse(struct profcol_error *error)
{
	fprintf(stderr, "Error: %s\n", profcol_error_message(error));
	profcol_error_destroy(error);
	return EXIT_USAGE;
}

int command_fail(struct profcol_error *error)
{
	bool configuration = profcol_error_code(error) == PROFCOL_CONFIG;

	fprintf(stderr, "%s%s\n", configuration ? "" : "Error: ", profcol_error_message(error));
	profcol_error_destroy(error);
	return configuration ? EX_CONFIG : EXIT_FAILURE;
}

int command_finish(int code)
{
	if (!fflush(stdout) && !ferror(stdout))
		return code;
	fputs("Error: cannot write to the standard output\n", stderr);
	return EXIT_FAILURE;
}

static int command_version(const struct command_line *line, const struct program *program)
{
	(void)line;
	printf("profcol version %s\n", program->version);
	return command_finish(EXIT_SUCCESS);
}

static int command_help(const struct command_line *line, const struct program *program)
{
	(void)line;
	(void)program;
	fputs(command_line_help, stdout);
	return command_finish(EXIT_SUCCESS);
}

int commands_execute(const struct command_line *line, const struct program *program)
{
	static int (*const commands[])(const struct command_line *, const struct program *) = {
		[COMMAND_RUN] = command_run,
		[COMMAND_VALIDATE] = command_validate,
		[COMMAND_COMPONENTS] = command_components,
		[COMMAND_PRINT_CONFIG] = command_print_config,
		[COMMAND_SCHEMA] = command_schema,
		[COMMAND_FEATUREGATE] = command_featuregate,
		[COMMAND_DOCTOR] = command_doctor,
		[COMMAND_RECORD] = command_record,
		[COMMAND_SHADOW] = command_shadow,
		[COMMAND_VIEW] = command_view,
		[COMMAND_TOP] = command_top,
		[COMMAND_VERSION] = command_version,
		[COMMAND_HELP] = command_help,
	};

	return commands[line->command](line, program);
}
