/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From sources of YAML to decoded component configurations, pipelines and the
 * service's own settings. Grammar, merging, expansion and wording follow the
 * OpenTelemetry Collector (docs/configuration.md); every problem is reported at
 * once, each as `file:line:column: path: what; remedy`.
 *
 * Reads files and the environment, touches nothing else; several threads may load
 * at once, each its own.
 */
#pragma once

#include <profcol/component.h>

#include <stddef.h>
#include <stdio.h>

/* The component types there are; borrowed, valid as long as what was decoded with it. */
struct component_registry {
	const struct profcol_component *const *components; /* sorted by kind, then type */
	size_t count;
};

/* Where a configuration comes from. Borrowed, also what it points to. */
struct config_sources {
	const char *const *uris; /* as given to --config, in order: "a.yaml", "file:a.yaml",
				  * "env:NAME", "yaml:a::b: c" */
	size_t uri_count;
	const char *const *sets; /* as given to --set: "a.b.c=value"; merged after all of @uris */
	size_t set_count;
	const char *const *gates; /* words of --feature-gates, already split at commas */
	size_t gate_count;
	bool without_files;  /* file: is refused, wherever it stands: whoever wrote the text is a
			      * stranger */
	bool looks_at_paths; /* warn of files that an option names and that are not there */
	/* Called with the absolute path of each file before it is read, whether it can be or not;
	 * may be NULL. */
	void (*note_file)(const char *path, void *context);
	void *context;
};

struct config_component {
	enum profcol_kind kind;
	const char *id; /* "pprof/node", as references spell it */
	const struct profcol_component *type;
	const void *options; /* decoded through type->options */
	const char *place;   /* "pipeline.yaml:12:3" */
	/*
	 * The effective options, defaults included, as canonical YAML with its secrets: two
	 * components are configured alike when type and text are equal. Never printed or logged.
	 */
	const char *text;
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

enum config_encoding { CONFIG_CONSOLE, CONFIG_JSON };

enum config_metrics_level {
	CONFIG_METRICS_NONE,
	CONFIG_METRICS_BASIC,
	CONFIG_METRICS_NORMAL,
	CONFIG_METRICS_DETAILED,
};

/* `service.telemetry.logs` */
struct config_logs {
	int level;        /* enum profcol_level; what lies above ERROR in the Collector is ERROR */
	int encoding;     /* enum config_encoding */
	bool development; /* accepted, without effect */
	bool disable_caller;
	bool disable_stacktrace;
	struct profcol_list output_paths;              /* "stderr", "stdout", paths */
	struct profcol_list error_output_paths;        /* where failures of logging itself go */
	struct profcol_map initial_fields;             /* on every line; lists and maps as JSON */
	bool disable_zap_resource;                     /* lines do not carry the resource */
	bool sampling;                                 /* repeated messages are thinned */
	uint64_t sampling_tick_ns;                     /* not 0 with @sampling */
	int64_t sampling_initial, sampling_thereafter; /* thereafter 0: none after the initial */
};

/* A pull reader: one Prometheus listener. */
struct config_metrics_reader {
	const char *endpoint; /* "localhost:8888", "[::1]:8888" */
	const char *place;    /* "pipeline.yaml:12:3"; NULL without one in the file */
	bool without_scope_info, without_type_suffix, without_units;
	/* Resource attributes that become labels of every metric: globs with '*'. */
	struct profcol_list resource_labels, excluded_resource_labels;
};

/* `service.telemetry.metrics` */
struct config_metrics {
	int level; /* enum config_metrics_level; NONE: there are no readers */
	const struct config_metrics_reader *readers;
	size_t reader_count;
	size_t ignored_count; /* readers of the file beside them: it has some, if of no use here */
};

/* The keys of `service` beyond extensions and pipelines. */
struct config_service {
	uint64_t shutdown_timeout_ns; /* for the drain of everything together */
	struct profcol_list plugins;  /* directories */
	/*
	 * Attributes of service.telemetry.resource. A null in the file removes an attribute that
	 * is there by itself (service.name, service.version, service.instance.id): its key is in
	 * @resource_removed and not in @resource.
	 */
	struct profcol_map resource;
	struct profcol_list resource_removed;
	struct config_logs logs;
	struct config_metrics metrics;
};

/* Everything in it lives until config_destroy. */
struct config {
	const struct config_component *components; /* in the order of the file; unused ones too */
	size_t component_count;
	const struct config_pipeline *pipelines;
	size_t pipeline_count;
	const size_t *extensions; /* enabled ones in order: positions in components */
	size_t extension_count;
	struct config_service service;
	const char *const *watched; /* absolute paths of the files it was read from, with those of
				     * ${file:...}, each once */
	size_t watched_count;
	const char *const *warnings; /* for the log: unset variables, unused components,
					renamed types; each with its place in front */
	size_t warning_count;
	struct arena *memory;
};

/* Merged and expanded, not decoded yet: the components' types need not be known. */
struct config_tree;

/* Read, merge and expand. The error is as config_tree_decode's. */
PROFCOL_MUST_CHECK struct profcol_error *config_tree_load(const struct config_sources *sources,
							  struct config_tree **ret);

/* As config_tree_load, from the @length bytes at @text alone; @name stands for the file. */
PROFCOL_MUST_CHECK struct profcol_error *config_tree_parse(const char *name, const char *text,
							   size_t length, struct config_tree **ret);

void config_tree_destroy(struct config_tree *tree); /* accepts NULL */

/* The directories of service::plugins, valid as long as @tree. Its own faults it leaves to
 * config_tree_decode. */
void config_tree_plugins(struct config_tree *tree, struct profcol_list *ret);

/*
 * Note that the plugins could not be loaded, for config_tree_decode, which then fails: each line of
 * @error, which is borrowed, is a problem of service::plugins. Types that are not known are not
 * reported any more: a plugin may have them.
 */
void config_tree_refuse_plugins(struct config_tree *tree, const struct profcol_error *error);

/*
 * Decode and check everything. Takes @tree, whatever the result. The error is of
 * code CONFIG and has one line per problem, in the order of the sources.
 */
PROFCOL_MUST_CHECK struct profcol_error *
config_tree_decode(struct config_tree *tree, const struct component_registry *registry,
		   struct config **ret);

/* Both steps, for who knows all types before. */
PROFCOL_MUST_CHECK struct profcol_error *config_load(const struct config_sources *sources,
						     const struct component_registry *registry,
						     struct config **ret);

/* As config_load, from @length bytes at @text; @name stands for the file in messages. */
PROFCOL_MUST_CHECK struct profcol_error *config_parse(const char *name, const char *text,
						      size_t length,
						      const struct component_registry *registry,
						      struct config **ret);

void config_destroy(struct config *config); /* accepts NULL */

enum config_format { CONFIG_YAML_FORMAT, CONFIG_JSON_FORMAT };

/*
 * The effective configuration, defaults included, in the Collector's order of
 * sections. @redacted: secrets are [REDACTED], as are all values of maps that may hold
 * some; else the text has every secret.
 */
void config_print(const struct config *config, enum config_format format, bool redacted, FILE *to);

/* A JSON schema of whole configurations, for editors (schema.c). False without memory. */
bool config_print_schema(const struct component_registry *registry, FILE *to);
