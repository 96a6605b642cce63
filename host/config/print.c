// SPDX-License-Identifier: Apache-2.0
/* The effective configuration, laid out as the Collector's print-config has it. */
#include "config.h"
#include "effective.h"
#include "emit.h"
#include "loading.h"
#include "quantity.h"
#include "service_options.h"

#include "base/base.h"
#include "sending/sending.h"

#include <string.h>

struct printing {
	const struct config *config;
	struct emitter emitter;
	bool redacted;
};

/* The table lies in @memory or is the component's. */
static void print_component(struct printing *printing, const struct config_component *component)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	const struct profcol_option *table;
	size_t size;

	emit_key(&printing->emitter, component->id);
	if (!memory || !sending_compose(component->type, memory, &table, &size)) {
		emit_null(&printing->emitter);
		return;
	}
	effective_emit(&printing->emitter, table, component->options, printing->redacted);
}

static void print_components(struct printing *printing, enum profcol_kind kind)
{
	const struct config *config = printing->config;

	emit_key(&printing->emitter, components_section(kind));
	emit_begin_map(&printing->emitter);
	for (size_t i = 0; i < config->component_count; i++)
		if (config->components[i].kind == kind)
			print_component(printing, &config->components[i]);
	emit_end_map(&printing->emitter);
}

static void print_references(struct printing *printing, const char *key, const size_t *positions,
			     size_t count)
{
	emit_key(&printing->emitter, key);
	emit_begin_list(&printing->emitter);
	for (size_t i = 0; i < count; i++)
		emit_text(&printing->emitter, printing->config->components[positions[i]].id);
	emit_end_list(&printing->emitter);
}

static void print_pipelines(struct printing *printing)
{
	const struct config *config = printing->config;

	emit_key(&printing->emitter, "pipelines");
	emit_begin_map(&printing->emitter);
	for (size_t i = 0; i < config->pipeline_count; i++) {
		const struct config_pipeline *pipeline = &config->pipelines[i];

		emit_key(&printing->emitter, pipeline->id);
		emit_begin_map(&printing->emitter);
		print_references(printing, "exporters", pipeline->exporters,
				 pipeline->exporter_count);
		print_references(printing, "processors", pipeline->processors,
				 pipeline->processor_count);
		print_references(printing, "receivers", pipeline->receivers,
				 pipeline->receiver_count);
		emit_end_map(&printing->emitter);
	}
	emit_end_map(&printing->emitter);
}

static void print_text(struct emitter *emitter, const char *key, const char *text)
{
	emit_key(emitter, key);
	emit_text(emitter, text);
}

static void print_bool(struct emitter *emitter, const char *key, bool value)
{
	emit_key(emitter, key);
	emit_bool(emitter, value);
}

static void print_int(struct emitter *emitter, const char *key, int64_t value)
{
	emit_key(emitter, key);
	emit_int(emitter, value);
}

static void print_duration(struct emitter *emitter, const char *key, uint64_t ns)
{
	char text[QUANTITY_TEXT_MAX];

	quantity_print_duration((int64_t)ns, text);
	print_text(emitter, key, text);
}

static void print_list(struct emitter *emitter, const char *key, const struct profcol_list *list)
{
	emit_key(emitter, key);
	emit_begin_list(emitter);
	for (size_t i = 0; i < list->count; i++)
		emit_text(emitter, list->items[i]);
	emit_end_list(emitter);
}

/* Of a map of the user's own: a token may be among them, as in other maps. */
static void print_value(struct printing *printing, const char *key, const char *value)
{
	print_text(&printing->emitter, key, printing->redacted && *value ? REDACTED : value);
}

static void print_logs(struct printing *printing, const struct config_logs *logs)
{
	struct emitter *emitter = &printing->emitter;
	static const char *const levels[] = { "debug", "info", "warn", "error" };

	emit_key(emitter, "logs");
	emit_begin_map(emitter);
	print_bool(emitter, "development", logs->development);
	print_bool(emitter, "disable_caller", logs->disable_caller);
	print_bool(emitter, "disable_stacktrace", logs->disable_stacktrace);
	print_bool(emitter, "disable_zap_resource", logs->disable_zap_resource);
	print_text(emitter, "encoding", logs->encoding == CONFIG_JSON ? "json" : "console");
	print_list(emitter, "error_output_paths", &logs->error_output_paths);
	emit_key(emitter, "initial_fields");
	emit_begin_map(emitter);
	for (size_t i = 0; i < logs->initial_fields.count; i++)
		print_value(printing, logs->initial_fields.keys[i], logs->initial_fields.values[i]);
	emit_end_map(emitter);
	print_text(emitter, "level", levels[logs->level]);
	print_list(emitter, "output_paths", &logs->output_paths);
	emit_key(emitter, "sampling");
	emit_begin_map(emitter);
	print_bool(emitter, "enabled", logs->sampling);
	print_int(emitter, "initial", logs->sampling_initial);
	print_int(emitter, "thereafter", logs->sampling_thereafter);
	print_duration(emitter, "tick", logs->sampling_tick_ns);
	emit_end_map(emitter);
	emit_end_map(emitter);
}

/* "localhost:8888" as host and port again. */
static void print_endpoint(struct emitter *emitter, const char *endpoint)
{
	const char *colon = strrchr(endpoint, ':');
	bool in_brackets = *endpoint == '[' && colon > endpoint && colon[-1] == ']';
	char host[SERVICE_HOST_MAX + 3];

	snprintf(host, sizeof(host), "%.*s", (int)(colon - endpoint) - 2 * in_brackets,
		 endpoint + in_brackets);
	print_text(emitter, "host", host);
	print_int(emitter, "port", strtol(colon + 1, NULL, 10));
}

static void print_reader(struct emitter *emitter, const struct config_metrics_reader *reader)
{
	emit_begin_map(emitter);
	emit_key(emitter, "pull");
	emit_begin_map(emitter);
	emit_key(emitter, "exporter");
	emit_begin_map(emitter);
	emit_key(emitter, "prometheus");
	emit_begin_map(emitter);
	print_endpoint(emitter, reader->endpoint);
	emit_key(emitter, "with_resource_constant_labels");
	emit_begin_map(emitter);
	print_list(emitter, "excluded", &reader->excluded_resource_labels);
	print_list(emitter, "included", &reader->resource_labels);
	emit_end_map(emitter);
	print_bool(emitter, "without_scope_info", reader->without_scope_info);
	print_bool(emitter, "without_type_suffix", reader->without_type_suffix);
	print_bool(emitter, "without_units", reader->without_units);
	emit_end_map(emitter);
	emit_end_map(emitter);
	emit_end_map(emitter);
	emit_end_map(emitter);
}

static void print_metrics(struct emitter *emitter, const struct config_metrics *metrics)
{
	static const char *const levels[] = { "none", "basic", "normal", "detailed" };

	emit_key(emitter, "metrics");
	emit_begin_map(emitter);
	print_text(emitter, "level", levels[metrics->level]);
	emit_key(emitter, "readers");
	emit_begin_list(emitter);
	for (size_t i = 0; i < metrics->reader_count; i++)
		print_reader(emitter, &metrics->readers[i]);
	// An empty list is refused, and none at all has a default.
	for (size_t i = 0; i < metrics->ignored_count; i++) {
		emit_begin_map(emitter);
		emit_end_map(emitter);
	}
	emit_end_list(emitter);
	emit_end_map(emitter);
}

static void print_resource(struct printing *printing, const struct config_service *service)
{
	struct emitter *emitter = &printing->emitter;

	emit_key(emitter, "resource");
	emit_begin_map(emitter);
	for (size_t i = 0; i < service->resource.count; i++)
		print_value(printing, service->resource.keys[i], service->resource.values[i]);
	for (size_t i = 0; i < service->resource_removed.count; i++) {
		emit_key(emitter, service->resource_removed.items[i]);
		emit_null(emitter);
	}
	emit_end_map(emitter);
}

static void print_service(struct printing *printing)
{
	const struct config *config = printing->config;
	struct emitter *emitter = &printing->emitter;

	emit_key(emitter, "service");
	emit_begin_map(emitter);
	print_references(printing, "extensions", config->extensions, config->extension_count);
	print_pipelines(printing);
	print_list(emitter, "plugins", &config->service.plugins);
	print_duration(emitter, "shutdown_timeout", config->service.shutdown_timeout_ns);
	emit_key(emitter, "telemetry");
	emit_begin_map(emitter);
	print_logs(printing, &config->service.logs);
	print_metrics(emitter, &config->service.metrics);
	print_resource(printing, &config->service);
	emit_end_map(emitter);
	emit_end_map(emitter);
}

void config_print(const struct config *config, enum config_format format, bool redacted, FILE *to)
{
	struct printing printing = { .config = config, .redacted = redacted };

	emitter_init(&printing.emitter, format == CONFIG_JSON_FORMAT ? EMIT_JSON : EMIT_YAML, to);
	printing.emitter.escapes_dollars = true;
	emit_begin_map(&printing.emitter);
	emit_key(&printing.emitter, "connectors");
	emit_begin_map(&printing.emitter);
	emit_end_map(&printing.emitter);
	print_components(&printing, PROFCOL_EXPORTER);
	print_components(&printing, PROFCOL_EXTENSION);
	print_components(&printing, PROFCOL_PROCESSOR);
	print_components(&printing, PROFCOL_RECEIVER);
	print_service(&printing);
	emit_end_map(&printing.emitter);
}
