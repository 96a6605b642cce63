/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run has a configuration that no file holds, but the command itself: what `record`, `shadow` and
 * `top` share. Main thread.
 */
#pragma once

#include "command.h"
#include "service.h"

#include <jansson.h>

enum { OWN_CONFIG_FREQUENCY = 99 }; /* samples a second on each CPU, where none is given */

/* @text as the configuration's language has it, in which '$' begins a variable. NULL without
 * memory. */
json_t *own_config_text(const char *text);

/*
 * @receiver, taken and given back, with a selection: process @pid and what descends from it, else
 * processes called @comm, else those in the control group @cgroup. Without any (0, NULL) it selects
 * the whole machine. NULL without memory, or for NULL.
 */
json_t *own_config_select(json_t *receiver, int32_t pid, const char *comm, const char *cgroup);

/* Do @options name a part of the machine, by --pid, --comm or --cgroup? */
bool own_config_is_part(const struct record_options *options);

/* Milliseconds until @end_ns (CLOCK_MONOTONIC), rounded up, at most @most. */
int own_config_time_left_ms(uint64_t end_ns, int most);

/* A descriptor of process @pid, readable once it has ended, to *@fd_ret, the caller's to close.
 * SYSTEM when there is none; the message says that @verb, what was to be done with it, cannot be.
 */
PROFCOL_MUST_CHECK struct profcol_error *own_config_open_process(int32_t pid, const char *verb,
								 int *fd_ret);

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
