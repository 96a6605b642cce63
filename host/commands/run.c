// SPDX-License-Identifier: Apache-2.0
#include "command.h"

#include "privileges.h"
#include "service.h"

#include "base/base.h"

#include <sysexits.h>

static const uint64_t grace_ns = 1 * PROFCOL_SECOND;

/* A configuration that is wrong only here, in front of what runs, is still one. */
static int fail_to_run(struct profcol_error *error)
{
	bool configuration = profcol_error_code(error) == PROFCOL_CONFIG;

	fprintf(stderr, "Error: %s\n", profcol_error_message(error));
	profcol_error_destroy(error);
	return configuration ? EX_CONFIG : EXIT_FAILURE;
}

int command_run(const struct command_line *line, const struct program *program)
{
	CLEANUP(loaded_deinit) struct loaded loaded = { 0 };
	struct service_settings settings = {
		.version = program->version,
		.sources = &line->sources,
		.watch = line->watch,
		.log_fd = STDERR_FILENO,
		.grace_ns = grace_ns,
	};
	// First of all: what plugins bring runs while they are loaded, in threads too.
	struct profcol_error *error = privileges_reduce();

	if (!error)
		error = loaded_init(&loaded, &line->sources, program->builtin);
	if (error)
		return command_fail(error);
	settings.registry = loaded.registry;
	settings.plugins = loaded.plugins;
	error = service_run(&settings, TAKE(loaded.config));
	return error ? fail_to_run(error) : EXIT_SUCCESS;
}
