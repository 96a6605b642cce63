// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include "registry.h"

#include <string.h>

/* What is at hand while the layout grows. */
struct build {
	struct layout *layout;
	const struct config *config;
	struct instance_settings settings;
	const struct layout *previous; /* may be NULL */
	struct instance **shared;      /* by position in the configuration; NULL = not made yet */
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

/* ---- the end ---- */

void layout_destroy(struct layout *layout)
{
	if (!layout)
		return;
	for (size_t i = 0; i < layout->entries.count; i++)
		edges_targets_destroy(layout->entries.items[i].targets);
	VECTOR_DEINIT(&layout->entries);
	arena_destroy(layout->memory);
	free(layout);
}

void layout_destroy_instance(struct instance *instance)
{
	if (instance->generation)
		instance->generation->users--;
	instance_destroy(instance);
}

void layout_abandon(struct layout *layout)
{
	if (!layout)
		return;
	// Upstream first: a receiver that still has a thread must not outlive what it calls.
	for (size_t i = layout->entries.count; i > 0; i--) {
		struct layout_entry *entry = &layout->entries.items[i - 1];

		edges_targets_destroy(TAKE(entry->targets));
		if (!entry->kept)
			layout_destroy_instance(entry->instance);
	}
	layout_destroy(layout);
}

static void layout_cleanup(struct layout **layout)
{
	layout_abandon(*layout);
}

/* ---- what was there before ---- */

struct layout_entry *layout_find(const struct layout *layout, const struct instance *instance)
{
	for (size_t i = 0; i < layout->entries.count; i++)
		if (layout->entries.items[i].instance == instance)
			return &layout->entries.items[i];
	return NULL;
}

static bool is_called(const struct instance *instance, const struct config_component *component)
{
	return instance_type_kind(instance) == component->kind &&
	       strcmp(instance->id, component->id) == 0;
}

/* The one instance of a receiver, an exporter or an extension. */
static struct instance *find_shared(const struct layout *previous,
				    const struct config_component *component)
{
	for (size_t i = 0; previous && i < previous->entries.count; i++)
		if (is_called(previous->entries.items[i].instance, component))
			return previous->entries.items[i].instance;
	return NULL;
}

/* The instance of a processor in the pipeline of that name. */
static struct instance *find_processor(const struct layout *previous, const char *pipeline_id,
				       const struct config_component *component)
{
	for (size_t i = 0; previous && i < previous->pipeline_count; i++) {
		const struct layout_pipeline *pipeline = &previous->pipelines[i];

		if (strcmp(pipeline->id, pipeline_id) != 0)
			continue;
		for (size_t j = 0; j < pipeline->processor_count; j++)
			if (is_called(pipeline->processors[j], component))
				return pipeline->processors[j];
	}
	return NULL;
}

/* May @instance go on as what @component asks for? */
static bool is_alike(const struct build *build, struct instance *instance,
		     const struct config_component *component)
{
	const struct config_component *mine = instance->configuration;

	// Who has given up is given another chance.
	if (!instance_is_well(instance) || instance->type != component->type)
		return false;
	// Its queue is in the hands of an extension, which has to stay, too.
	if (instance->storage && !layout_find(build->layout, instance->storage))
		return false;
	return mine == component ||
	       (mine->text && component->text && strcmp(mine->text, component->text) == 0);
}

/* ---- instances ---- */

static struct profcol_error *create_instance(struct build *build,
					     const struct config_component *component,
					     struct instance **ret)
{
	struct generation *generation = build->layout->generation;
	struct profcol_error *error = instance_create(component, &build->settings, ret);

	if (error)
		return profcol_error_prefix(error, "%s: failed to create %s '%s'", component->place,
					    registry_kind_name(component->kind), component->id);
	(*ret)->generation = generation;
	generation->users++;
	return NULL;
}

/* @before is the one with the same id of the layout before, or NULL. */
static struct profcol_error *add_instance(struct build *build, size_t position,
					  struct instance *before, struct instance **ret)
{
	const struct config_component *component = &build->config->components[position];
	struct layout_entry entry = { .replaces = before };
	struct profcol_error *error = NULL;

	if (!VECTOR_RESERVE(&build->layout->entries, 1))
		return no_memory();
	if (before && is_alike(build, before, component))
		entry = (struct layout_entry){ .instance = before, .kept = true };
	else
		error = create_instance(build, component, &entry.instance);
	if (error)
		return error;
	build->layout->entries.items[build->layout->entries.count++] = entry;
	*ret = entry.instance;
	return NULL;
}

static struct instance **alloc_instances(struct build *build, size_t count)
{
	return arena_alloc(build->layout->memory, (count + 1) * sizeof(struct instance *));
}

static struct profcol_error *add_shared(struct build *build, const size_t *positions, size_t count,
					struct instance ***ret)
{
	struct instance **instances = alloc_instances(build, count);
	struct profcol_error *error = NULL;

	if (!instances)
		return no_memory();
	for (size_t i = 0; i < count && !error; i++) {
		const struct config_component *component = &build->config->components[positions[i]];
		struct instance **slot = &build->shared[positions[i]];

		if (!*slot)
			error = add_instance(build, positions[i],
					     find_shared(build->previous, component), slot);
		instances[i] = *slot;
	}
	*ret = instances;
	return error;
}

/* One by one, so that an extension may find those before it. */
static struct profcol_error *add_extensions(struct build *build)
{
	const struct config *config = build->config;
	struct layout *layout = build->layout;
	struct profcol_error *error = NULL;

	layout->extensions = alloc_instances(build, config->extension_count);
	if (!layout->extensions)
		return no_memory();
	build->settings.extensions = layout->extensions;
	for (size_t i = 0; i < config->extension_count && !error; i++) {
		size_t position = config->extensions[i];

		error = add_instance(build, position,
				     find_shared(build->previous, &config->components[position]),
				     &layout->extensions[i]);
		if (!error)
			build->settings.extension_count = ++layout->extension_count;
	}
	return error;
}

static struct profcol_error *add_exporters(struct build *build, size_t index)
{
	const struct config_pipeline *from = &build->config->pipelines[index];
	struct layout_pipeline *to = &build->layout->pipelines[index];

	to->id = from->id;
	to->exporter_count = from->exporter_count;
	return add_shared(build, from->exporters, from->exporter_count, &to->exporters);
}

static struct profcol_error *add_processors(struct build *build, size_t index)
{
	const struct config_pipeline *from = &build->config->pipelines[index];
	struct layout_pipeline *to = &build->layout->pipelines[index];
	struct profcol_error *error = NULL;

	to->processors = alloc_instances(build, from->processor_count);
	if (!to->processors)
		return no_memory();
	to->processor_count = from->processor_count;
	build->settings.pipeline = from->id;
	for (size_t i = from->processor_count; i > 0 && !error; i--) {
		size_t position = from->processors[i - 1];

		error = add_instance(build, position,
				     find_processor(build->previous, from->id,
						    &build->config->components[position]),
				     &to->processors[i - 1]);
	}
	build->settings.pipeline = NULL;
	return error;
}

static struct profcol_error *add_receivers(struct build *build, size_t index)
{
	const struct config_pipeline *from = &build->config->pipelines[index];
	struct layout_pipeline *to = &build->layout->pipelines[index];

	to->receiver_count = from->receiver_count;
	return add_shared(build, from->receivers, from->receiver_count, &to->receivers);
}

static struct profcol_error *add_all(struct build *build)
{
	static struct profcol_error *(*const rounds[])(struct build *build, size_t index) = {
		add_exporters,
		add_processors,
		add_receivers,
	};
	struct profcol_error *error = add_extensions(build);

	for (size_t i = 0; i < sizeof(rounds) / sizeof(rounds[0]) && !error; i++)
		for (size_t j = 0; j < build->layout->pipeline_count && !error; j++)
			error = rounds[i](build, j);
	return error;
}

/* ---- edges ---- */

struct next {
	struct instance *const *instances;
	size_t count;
};

/* Where @instance leads in one pipeline. */
static struct next find_next(const struct layout_pipeline *pipeline,
			     const struct instance *instance)
{
	const struct next exporters = { pipeline->exporters, pipeline->exporter_count };
	size_t last = pipeline->processor_count;

	for (size_t i = 0; i < pipeline->receiver_count; i++)
		if (pipeline->receivers[i] == instance)
			return last ? (struct next){ pipeline->processors, 1 } : exporters;
	for (size_t i = 0; i < last; i++)
		if (pipeline->processors[i] == instance)
			return i + 1 < last ? (struct next){ pipeline->processors + i + 1, 1 }
					    : exporters;
	return (struct next){ 0 };
}

static bool reserve_targets(struct layout *layout)
{
	for (size_t i = 0; i < layout->entries.count; i++) {
		struct layout_entry *entry = &layout->entries.items[i];
		size_t count = 0;

		for (size_t j = 0; j < layout->pipeline_count; j++)
			count += find_next(&layout->pipelines[j], entry->instance).count;
		entry->targets = edges_targets_create(count);
		if (!entry->targets)
			return false;
	}
	return true;
}

static void connect_entry(const struct layout *layout, struct layout_entry *entry)
{
	struct edges *edges = &entry->instance->next;

	for (size_t i = 0; i < layout->pipeline_count; i++) {
		struct next next = find_next(&layout->pipelines[i], entry->instance);

		for (size_t j = 0; j < next.count; j++)
			edges_targets_add(entry->targets, next.instances[j]);
	}
	if (!entry->kept)
		edges_release(edges, TAKE(entry->targets));
	else if (edges_lead_to(edges, entry->targets))
		edges_targets_destroy(TAKE(entry->targets));
}

void layout_connect(struct layout *layout)
{
	for (size_t i = 0; i < layout->entries.count; i++)
		connect_entry(layout, &layout->entries.items[i]);
}

/* ---- the whole ---- */

struct profcol_error *layout_create(struct generation *generation,
				    const struct instance_settings *settings,
				    const struct layout *previous, struct layout **ret)
{
	CLEANUP(layout_cleanup) struct layout *layout = calloc(1, sizeof(*layout));
	const struct config *config = generation->config;
	struct build build = {
		.layout = layout,
		.config = config,
		.settings = *settings,
		.previous = previous,
	};
	struct profcol_error *error;

	if (!layout)
		return no_memory();
	layout->generation = generation;
	layout->memory = arena_create(0);
	if (!layout->memory)
		return no_memory();
	layout->pipelines = arena_alloc(layout->memory,
					(config->pipeline_count + 1) * sizeof(*layout->pipelines));
	build.shared = alloc_instances(&build, config->component_count);
	if (!layout->pipelines || !build.shared)
		return no_memory();
	layout->pipeline_count = config->pipeline_count;
	error = add_all(&build);
	if (!error && !reserve_targets(layout))
		error = no_memory();
	if (!error)
		*ret = TAKE(layout);
	return error;
}

static void replace(struct instance **instances, size_t count, const struct instance *from,
		    struct instance *to)
{
	for (size_t i = 0; i < count; i++)
		if (instances[i] == from)
			instances[i] = to;
}

void layout_keep(struct layout *layout, struct layout_entry *entry, struct instance *instance)
{
	struct instance *unused = entry->instance;

	// It leads where the unused one would have led.
	*entry = (struct layout_entry){
		.instance = instance,
		.kept = true,
		.targets = entry->targets,
	};
	replace(layout->extensions, layout->extension_count, unused, instance);
	for (size_t i = 0; i < layout->pipeline_count; i++) {
		struct layout_pipeline *pipeline = &layout->pipelines[i];

		replace(pipeline->receivers, pipeline->receiver_count, unused, instance);
		replace(pipeline->processors, pipeline->processor_count, unused, instance);
		replace(pipeline->exporters, pipeline->exporter_count, unused, instance);
	}
	layout_destroy_instance(unused);
}
