// SPDX-License-Identifier: Apache-2.0
/* The keys of `service` that say how profcol itself behaves, telemetry above all. */
#include "conceal.h"
#include "decode.h"
#include "emit.h"
#include "loading.h"
#include "service_options.h"
#include "yaml.h"

#include "base/base.h"
#include "confighttp/confighttp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { READERS_MAX = 100 };

static void *allocate(struct loading *loading, size_t bytes)
{
	void *memory = arena_alloc(loading->memory, bytes + 1);

	if (!memory)
		loading->problems->no_memory = true;
	return memory;
}

/* A map or list on one line. */
static const char *flatten(struct loading *loading, const struct yaml_node *node)
{
	CLEANUP_FREE char *text = NULL;
	CLEANUP_FILE FILE *stream = NULL;
	struct emitter emitter;
	const char *kept = NULL;
	size_t length;

	stream = open_memstream(&text, &length);
	if (stream) {
		emitter_init(&emitter, EMIT_JSON_LINE, stream);
		emit_node(&emitter, node);
		if (!fflush(stream))
			kept = arena_strndup(loading->memory, text, length);
	}
	loading->problems->no_memory |= !kept;
	return kept ? kept : "";
}

static void read_initial_fields(struct loading *loading, const struct yaml_node *node,
				const struct path *path)
{
	struct profcol_map *fields = &loading->service.logs.initial_fields;
	const char **keys, **values;

	if (!node || !loading_expect_map(loading, node, path))
		return;
	keys = allocate(loading, node->count * sizeof(*keys));
	values = allocate(loading, node->count * sizeof(*values));
	if (!keys || !values)
		return;
	for (size_t i = 0; i < node->count; i++) {
		const struct yaml_entry *entry = &node->entries[i];

		keys[i] = entry->key->text;
		values[i] = entry->value->kind == YAML_SCALAR ? entry->value->text
							      : flatten(loading, entry->value);
	}
	*fields = (struct profcol_map){ .keys = keys, .values = values, .count = node->count };
}

static void warn_unused(struct loading *loading, const struct yaml_node *node,
			const struct path *parent, const char *key, const char *why)
{
	struct path path = { .parent = parent, .key = key };

	if (!yaml_is_null(node) && !node->broken && !(node->kind == YAML_LIST && !node->count))
		problems_warn(loading->problems, node->place, &path, "has no effect: %s", why);
}

static void read_logs(struct loading *loading, const struct yaml_node *section,
		      const struct path *telemetry)
{
	struct config_logs *logs = &loading->service.logs;
	struct path path = { .parent = telemetry, .key = "logs" };
	struct path fields = { .parent = &path, .key = "initial_fields" };

	logs->level = (int)service_log_level(logs->level);
	logs->encoding = (int)service_log_encoding(logs->encoding);
	logs->sampling = logs->sampling && logs->sampling_tick_ns;
	if (!section || section->kind != YAML_MAP)
		return;
	read_initial_fields(loading, yaml_map_find(section, "initial_fields"), &fields);
	warn_unused(loading, yaml_map_find(section, "processors"), &path, "processors",
		    "profcol sends its own logs nowhere but to output_paths");
}

/* As the Collector has it where the file names no readers. */
static void default_reader(struct loading *loading)
{
	static const struct config_metrics_reader reader = {
		.endpoint = "localhost:8888",
		.without_scope_info = true,
		.without_type_suffix = true,
		.without_units = true,
	};

	loading->service.metrics.readers = &reader;
	loading->service.metrics.reader_count = 1;
}

static void warn_reader(struct loading *loading, const struct reader_config *reader,
			const struct yaml_node *node, const struct path *path)
{
	if (reader->periodic_named)
		problems_warn(loading->problems, node->place, path,
			      "has no effect: profcol sends its metrics nowhere, it lets "
			      "Prometheus fetch them with a pull reader");
	else if (!reader->pull_named || !reader->prometheus_named)
		problems_warn(loading->problems, node->place, path,
			      "has no effect: it has no pull::exporter::prometheus");
}

static const char *endpoint_of(struct loading *loading, const struct reader_config *reader)
{
	const char *host = *reader->host ? reader->host : "0.0.0.0", *endpoint;
	bool is_ipv6 = strchr(host, ':') && *host != '[';

	endpoint = arena_printf(loading->memory, is_ipv6 ? "[%s]:%d" : "%s:%d", host,
				(int)reader->port);
	loading->problems->no_memory |= !endpoint;
	return endpoint;
}

static bool has_endpoint(const struct config_metrics *metrics, const char *endpoint)
{
	for (size_t i = 0; i < metrics->reader_count; i++)
		if (!strcmp(metrics->readers[i].endpoint, endpoint))
			return true;
	return false;
}

/* Said here, with its place, rather than by the start. */
static bool is_sound_endpoint(struct loading *loading, const char *endpoint,
			      const struct yaml_node *node, const struct path *path)
{
	CLEANUP_FREE char *message = NULL;
	struct confighttp_endpoint parts;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error =
		confighttp_endpoint_init(&parts, endpoint);

	confighttp_endpoint_deinit(&parts);
	if (!error)
		return true;
	message = strdup(profcol_error_message(error));
	loading->problems->no_memory |= !message;
	if (!message)
		return false;
	conceal(node, message);
	problems_add(loading->problems, node->place, path, "%s", message);
	return false;
}

static void keep_reader(struct loading *loading, const struct reader_config *reader,
			const struct yaml_node *node, const struct path *path,
			struct config_metrics_reader *to)
{
	struct config_metrics *metrics = &loading->service.metrics;
	const char *endpoint, *place;

	if (strlen(reader->host) > SERVICE_HOST_MAX) {
		problems_add(loading->problems, node->place, path,
			     "its host has more than %d characters; no name is that long",
			     SERVICE_HOST_MAX);
		return;
	}
	endpoint = endpoint_of(loading, reader);
	place = loading_place(loading, node->place);
	if (!endpoint || !place || !is_sound_endpoint(loading, endpoint, node, path))
		return;
	if (reader->port && has_endpoint(metrics, endpoint)) {
		CLEANUP_FREE char *shown = strdup(endpoint);

		loading->problems->no_memory |= !shown;
		if (!shown)
			return;
		conceal(node, shown);
		problems_add(loading->problems, node->place, path,
			     "listens on %s, as another reader does; give it another port", shown);
		return;
	}
	to[metrics->reader_count++] = (struct config_metrics_reader){
		.endpoint = endpoint,
		.place = place,
		.without_scope_info = reader->without_scope_info,
		.without_type_suffix = reader->without_type_suffix,
		.without_units = reader->without_units,
		.resource_labels = reader->included,
		.excluded_resource_labels = reader->excluded,
	};
}

static void read_readers(struct loading *loading, const struct profcol_sections *readers,
			 const struct yaml_node *list, const struct path *metrics)
{
	struct path path = { .parent = metrics, .key = "readers" };
	const struct reader_config *items = readers->items;
	struct config_metrics_reader *kept;

	if (readers->count > READERS_MAX) {
		problems_add(loading->problems, list->place, &path,
			     "more than %d readers; remove some", READERS_MAX);
		return;
	}
	kept = allocate(loading, readers->count * sizeof(*kept));
	if (!kept)
		return;
	loading->service.metrics.readers = kept;
	for (size_t i = 0; i < readers->count; i++) {
		struct path here = { .parent = &path, .index = i };

		warn_reader(loading, &items[i], list->items[i], &here);
		if (items[i].pull_named && items[i].prometheus_named)
			keep_reader(loading, &items[i], list->items[i], &here, kept);
		else
			loading->service.metrics.ignored_count++;
	}
}

static void read_metrics(struct loading *loading, const struct profcol_sections *readers,
			 const struct yaml_node *section, const struct path *telemetry)
{
	struct config_metrics *metrics = &loading->service.metrics;
	struct path path = { .parent = telemetry, .key = "metrics" };
	const struct yaml_node *list = NULL, *views = NULL;

	if (section && section->kind == YAML_MAP) {
		list = yaml_map_find(section, "readers");
		views = yaml_map_find(section, "views");
	}
	if (!yaml_is_null(views) && metrics->level != CONFIG_METRICS_DETAILED)
		problems_add(loading->problems, views->place, telemetry,
			     "service::telemetry::metrics::views can only be set when "
			     "service::telemetry::metrics::level is detailed; remove it");
	else
		warn_unused(loading, views, &path, "views", "profcol has no views of metrics");
	if (list && list->kind == YAML_LIST && !list->count &&
	    metrics->level != CONFIG_METRICS_NONE)
		problems_add(loading->problems, list->place, telemetry,
			     "collector telemetry metrics reader should exist when metric level is "
			     "not none; write 'level: none' to have no metrics");
	if (metrics->level == CONFIG_METRICS_NONE)
		return;
	if (yaml_is_null(list))
		default_reader(loading);
	else if (list->kind == YAML_LIST)
		read_readers(loading, readers, list, &path);
}

static void read_telemetry(struct loading *loading, const struct service_config *config,
			   const struct yaml_node *section, const struct path *service)
{
	struct path path = { .parent = service, .key = "telemetry" };
	struct path traces_path = { .parent = &path, .key = "traces" };
	struct path resource_path = { .parent = &path, .key = "resource" };
	const struct yaml_node *logs = NULL, *metrics = NULL, *traces = NULL, *resource = NULL;

	if (section && section->kind == YAML_MAP) {
		logs = yaml_map_find(section, "logs");
		metrics = yaml_map_find(section, "metrics");
		traces = yaml_map_find(section, "traces");
		resource = yaml_map_find(section, "resource");
	}
	read_logs(loading, logs, &path);
	read_metrics(loading, &config->readers, metrics, &path);
	if (traces && traces->kind == YAML_MAP)
		warn_unused(loading, yaml_map_find(traces, "processors"), &traces_path,
			    "processors", "profcol has no traces of its own");
	if (resource)
		resource_read(loading, resource, &resource_path);
}

void service_settings_read(struct loading *loading, const struct yaml_node *section,
			   struct place place, const struct path *service)
{
	bool incomplete = false;
	struct decoding decoding = {
		.memory = loading->memory,
		.problems = loading->problems,
		.incomplete = &incomplete,
	};
	size_t before = problems_count(loading->problems);
	struct service_config config = {};

	decode_options(&decoding, service_options, section, place, service, &config);
	// A half-decoded struct would only give rise to more problems.
	if (problems_count(loading->problems) != before || incomplete ||
	    loading->problems->no_memory)
		return;
	loading->service = config.service;
	read_telemetry(loading, &config, section ? yaml_map_find(section, "telemetry") : NULL,
		       service);
}
