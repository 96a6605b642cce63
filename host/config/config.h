/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From YAML text to decoded component configurations and pipelines. Grammar,
 * expansion and wording follow the OpenTelemetry Collector; every problem of a
 * file is reported at once, each as `file:line:column: path: what; remedy`.
 *
 * Reads files and the environment, touches nothing else; one thread at a time.
 */
#pragma once

#include <profcol/component.h>

#include <stddef.h>

/* The component types there are; borrowed, valid for the program's life. */
struct component_registry {
	const struct profcol_component *const *components; /* sorted by kind, then type */
	size_t count;
};

struct config_component {
	enum profcol_kind kind;
	const char *id; /* "pprof/node", as references spell it */
	const struct profcol_component *type;
	const void *options; /* decoded through type->options */
	const char *place;   /* "pipeline.yaml:12:3" */
};

struct config_pipeline {
	const char *id; /* "profiles", "profiles/raw" */
	const char *place;
	const size_t *receivers; /* positions in config.components */
	size_t receiver_count;
	const size_t *processors; /* in order */
	size_t processor_count;
	const size_t *exporters;
	size_t exporter_count;
};

/* Everything in it lives until config_destroy. */
struct config {
	const struct config_component *components; /* in the order of the file; unused ones too */
	size_t component_count;
	const struct config_pipeline *pipelines;
	size_t pipeline_count;
	const size_t *extensions; /* enabled ones in order: positions in components */
	size_t extension_count;
	const char *const *warnings; /* for the log: unset variables, unused components,
					renamed types; each with its place in front */
	size_t warning_count;
	struct arena *memory;
};

/*
 * Read, expand, decode and check the file at @path. The error is of code CONFIG
 * and has one line per problem, in the order of the file.
 */
PROFCOL_MUST_CHECK struct profcol_error *
config_load(const char *path, const struct component_registry *registry, struct config **ret);

/* As config_load, from @length bytes at @text; @name stands for the file in messages. */
PROFCOL_MUST_CHECK struct profcol_error *config_parse(const char *name, const char *text,
						      size_t length,
						      const struct component_registry *registry,
						      struct config **ret);

void config_destroy(struct config *config); /* accepts NULL */
