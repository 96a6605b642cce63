/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run with a configuration that no file holds, but the command itself: what `record` and
 * `shadow` share. Main thread.
 */
#pragma once

#include "command.h"
#include "service.h"

#include <jansson.h>

/* @text as the configuration's language has it, in which '$' begins a variable. NULL without
 * memory. */
json_t *own_config_text(const char *text);

/* A source for --config, "yaml:{...}", of @all, which it takes and which may be NULL. The caller
 * frees; NULL without memory. */
char *own_config_source(json_t *all);

/*
 * Run the service with @source, which may be NULL for want of memory, and whatever --set says on
 * @line. @settings has companion and samples; the rest is set here. @registry is borrowed.
 */
PROFCOL_MUST_CHECK struct profcol_error *own_config_run(const struct command_line *line,
							const struct program *program,
							const struct component_registry *registry,
							const char *source,
							struct service_settings *settings);
