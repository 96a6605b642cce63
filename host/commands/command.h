/* SPDX-License-Identifier: Apache-2.0 */
/* Private to host/commands: one function for each command, and what they share. */
#pragma once

#include "commands.h"

#include <profcol/errors.h>

#include <stdio.h>

struct plugins;

/* Each does its command and returns the exit code. */
int command_run(const struct command_line *line, const struct program *program);
int command_validate(const struct command_line *line, const struct program *program);
int command_components(const struct command_line *line, const struct program *program);
int command_print_config(const struct command_line *line, const struct program *program);
int command_schema(const struct command_line *line, const struct program *program);
int command_featuregate(const struct command_line *line, const struct program *program);
int command_record(const struct command_line *line, const struct program *program);
int command_view(const struct command_line *line, const struct program *program);
int command_top(const struct command_line *line, const struct program *program);
int command_shadow(const struct command_line *line, const struct program *program);
int command_doctor(const struct command_line *line, const struct program *program);

/* ---- commands.c ---- */

/*
 * Print @error, which it takes, and return its exit code. Problems of the configuration are
 * bare: each line starts with its place, so that an editor can jump there.
 */
int command_fail(struct profcol_error *error);

/* The exit code after all has been printed to stdout: a full disk must not go unnoticed. */
int command_finish(int code);

/* ---- loading.c ---- */

/* A configuration with the plugins that it names, which have to outlive it. */
struct loaded {
	struct plugins *plugins;                   /* owned */
	struct profcol_error *plugins_refused;     /* owned: what the error says of them, or NULL */
	const struct component_registry *registry; /* borrowed: built in and loaded components */
	struct config *config;                     /* owned; may be taken by setting it to NULL */
};

PROFCOL_MUST_CHECK struct profcol_error *loaded_init(struct loaded *loaded,
						     const struct config_sources *sources,
						     const struct component_registry *builtin);

/* As loaded_init, without decoding: config stays NULL. Without a URI the sets stand alone. */
PROFCOL_MUST_CHECK struct profcol_error *
loaded_init_registry(struct loaded *loaded, const struct config_sources *sources,
		     const struct component_registry *builtin);

void loaded_deinit(struct loaded *loaded);

/* Create all components of @config and destroy them again: nothing is started, nothing logged. */
PROFCOL_MUST_CHECK struct profcol_error *loaded_try_to_build(const struct loaded *loaded,
							     const char *version);

/* ---- components.c ---- */

/* All components of @registry with their options, laid out as the Collector's command does. */
void components_print(const struct component_registry *registry, const char *version, FILE *to);
