// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include "registry.h"

#include <stdio.h>

/* What is at hand while the graph grows. */
struct build {
	struct graph *graph;
	const struct config *config;
	struct instance_settings settings;
	struct instance **shared; /* by position in the configuration; NULL = not made yet */
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

void graph_destroy(struct graph *graph)
{
	if (!graph)
		return;
	// Upstream first: a receiver that still has a thread must not outlive what it calls.
	for (size_t i = graph->instances.count; i > 0; i--)
		instance_destroy(graph->instances.items[i - 1]);
	VECTOR_DEINIT(&graph->instances);
	arena_destroy(graph->memory);
	free(graph);
}

static void graph_cleanup(struct graph **graph)
{
	graph_destroy(*graph);
}

/* ---- instances ---- */

static struct profcol_error *add_instance(struct build *build, size_t position,
					  struct instance **ret)
{
	const struct config_component *configuration = &build->config->components[position];
	struct profcol_error *error;
	struct instance *instance;

	if (!VECTOR_RESERVE(&build->graph->instances, 1))
		return no_memory();
	error = instance_create(configuration, &build->settings, &instance);
	if (error)
		return profcol_error_prefix(
			error, "%s: failed to create %s '%s'", configuration->place,
			registry_kind_name(configuration->type->kind), configuration->id);
	build->graph->instances.items[build->graph->instances.count++] = instance;
	*ret = instance;
	return NULL;
}

static struct profcol_error *add_shared(struct build *build, const size_t *positions, size_t count,
					struct instance ***ret)
{
	struct instance **instances =
		arena_alloc(build->graph->memory, (count + 1) * sizeof(struct instance *));
	struct profcol_error *error = NULL;

	if (!instances)
		return no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		struct instance **slot = &build->shared[positions[i]];

		if (!*slot)
			error = add_instance(build, positions[i], slot);
		instances[i] = *slot;
	}
	*ret = instances;
	return error;
}

/* One by one, so that an extension may find those before it. */
static struct profcol_error *add_extensions(struct build *build)
{
	const struct config *config = build->config;
	struct graph *graph = build->graph;
	struct profcol_error *error = NULL;

	graph->extensions = arena_alloc(graph->memory,
					(config->extension_count + 1) * sizeof(struct instance *));
	if (!graph->extensions)
		return no_memory();
	build->settings.extensions = graph->extensions;
	for (size_t i = 0; i < config->extension_count && !error; i++) {
		error = add_instance(build, config->extensions[i], &graph->extensions[i]);
		if (!error)
			build->settings.extension_count = ++graph->extension_count;
	}
	return error;
}

static struct profcol_error *add_exporters(struct build *build, size_t index)
{
	const struct config_pipeline *from = &build->config->pipelines[index];
	struct graph_pipeline *to = &build->graph->pipelines[index];

	to->id = from->id;
	to->exporter_count = from->exporter_count;
	return add_shared(build, from->exporters, from->exporter_count, &to->exporters);
}

static struct profcol_error *add_processors(struct build *build, size_t index)
{
	const struct config_pipeline *from = &build->config->pipelines[index];
	struct graph_pipeline *to = &build->graph->pipelines[index];
	struct profcol_error *error = NULL;

	to->processors = arena_alloc(build->graph->memory,
				     (from->processor_count + 1) * sizeof(struct instance *));
	if (!to->processors)
		return no_memory();
	to->processor_count = from->processor_count;
	for (size_t i = from->processor_count; i > 0 && !error; i--)
		error = add_instance(build, from->processors[i - 1], &to->processors[i - 1]);
	return error;
}

static struct profcol_error *add_receivers(struct build *build, size_t index)
{
	const struct config_pipeline *from = &build->config->pipelines[index];
	struct graph_pipeline *to = &build->graph->pipelines[index];

	to->receiver_count = from->receiver_count;
	return add_shared(build, from->receivers, from->receiver_count, &to->receivers);
}

/* ---- edges ---- */

static bool connect_to_exporters(const struct graph_pipeline *pipeline, struct instance *from)
{
	for (size_t i = 0; i < pipeline->exporter_count; i++)
		if (!instance_connect(from, pipeline->exporters[i]))
			return false;
	return true;
}

static bool connect_pipeline(const struct graph_pipeline *pipeline)
{
	size_t last = pipeline->processor_count;

	for (size_t i = 0; i < pipeline->receiver_count; i++) {
		struct instance *receiver = pipeline->receivers[i];

		if (last > 0 ? !instance_connect(receiver, pipeline->processors[0])
			     : !connect_to_exporters(pipeline, receiver))
			return false;
	}
	for (size_t i = 0; i + 1 < last; i++)
		if (!instance_connect(pipeline->processors[i], pipeline->processors[i + 1]))
			return false;
	return last == 0 || connect_to_exporters(pipeline, pipeline->processors[last - 1]);
}

/* ---- the whole ---- */

static struct profcol_error *build_graph(struct build *build)
{
	static struct profcol_error *(*const rounds[])(struct build *build, size_t index) = {
		add_exporters,
		add_processors,
		add_receivers,
	};
	struct profcol_error *failure = add_extensions(build);

	if (failure)
		return failure;
	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]); i++) {
		for (size_t j = 0; j < build->graph->pipeline_count; j++) {
			struct profcol_error *error = rounds[i](build, j);

			if (error)
				return error;
		}
	}
	for (size_t i = 0; i < build->graph->pipeline_count; i++)
		if (!connect_pipeline(&build->graph->pipelines[i]))
			return no_memory();
	return NULL;
}

struct profcol_error *graph_create(const struct config *config,
				   const struct instance_settings *settings, struct graph **ret)
{
	CLEANUP(graph_cleanup) struct graph *graph = calloc(1, sizeof(*graph));
	struct build build = { .graph = graph, .config = config, .settings = *settings };
	struct profcol_error *error;

	if (!graph)
		return no_memory();
	graph->memory = arena_create(0);
	if (!graph->memory)
		return no_memory();
	graph->pipelines = arena_alloc(graph->memory,
				       (config->pipeline_count + 1) * sizeof(*graph->pipelines));
	build.shared = arena_alloc(graph->memory,
				   (config->component_count + 1) * sizeof(struct instance *));
	if (!graph->pipelines || !build.shared)
		return no_memory();
	graph->pipeline_count = config->pipeline_count;
	error = build_graph(&build);
	if (!error)
		*ret = TAKE(graph);
	return error;
}

/* ---- accounting ---- */

static void add_accounts(struct balance *balance, struct instance *const *instances, size_t count)
{
	for (size_t i = 0; i < count; i++)
		balance_add(balance, &instances[i]->account);
}

void graph_balance(const struct graph *graph, const struct instance *exporter, struct balance *ret)
{
	*ret = (struct balance){ 0 };
	balance_add(ret, &exporter->account);
	for (size_t i = 0; i < graph->pipeline_count; i++) {
		const struct graph_pipeline *pipeline = &graph->pipelines[i];

		for (size_t j = 0; j < pipeline->exporter_count; j++) {
			if (pipeline->exporters[j] != exporter)
				continue;
			add_accounts(ret, pipeline->receivers, pipeline->receiver_count);
			add_accounts(ret, pipeline->processors, pipeline->processor_count);
		}
	}
}

static size_t count_exporters(const struct graph *graph)
{
	size_t count = 0;

	for (size_t i = 0; i < graph->instances.count; i++)
		count += graph->instances.items[i]->configuration->type->kind == PROFCOL_EXPORTER;
	return count;
}

void graph_format_samples(const struct graph *graph, char *to, size_t size)
{
	bool several = count_exporters(graph) > 1;
	size_t length = (size_t)snprintf(to, size, "samples:");
	const char *separator = " ";

	for (size_t i = 0; i < graph->instances.count && length + 1 < size; i++) {
		const struct instance *instance = graph->instances.items[i];
		struct balance balance;
		int wanted;

		if (instance->configuration->type->kind != PROFCOL_EXPORTER)
			continue;
		graph_balance(graph, instance, &balance);
		wanted = snprintf(to + length, size - length, "%s%s%s", separator,
				  several ? instance->host.id : "", several ? ": " : "");
		separator = "; ";
		length += wanted > 0 ? (size_t)wanted : 0;
		if (length < size)
			length += balance_format(&balance, to + length, size - length);
	}
}
