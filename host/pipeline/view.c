// SPDX-License-Identifier: Apache-2.0
#include "view.h"

#include "graph.h"

struct view {
	struct profcol_service_view base; /* first: what the component has */
	struct arena *memory;             /* this struct, too */
};

static bool copy_component(struct arena *memory, struct instance *instance,
			   struct profcol_component_view *to)
{
	const struct profcol_component *type = instance->type;
	char message[STATUS_MESSAGE_BYTES];

	to->kind = instance_kind(instance);
	to->mutates = type->capabilities & PROFCOL_MUTATES;
	to->status = status_read(&instance->status, &to->since_unix_ns, message);
	to->id = arena_strdup(memory, instance->id);
	to->message = message[0] ? arena_strdup(memory, message) : "";
	return to->id && to->message;
}

/* Where a reload has got to with a component is not how the service is. */
static bool is_coming_or_going(const struct profcol_component_view *component)
{
	switch (component->status) {
	case PROFCOL_STATUS_NONE:
	case PROFCOL_STATUS_STARTING:
	case PROFCOL_STATUS_STOPPING:
	case PROFCOL_STATUS_STOPPED:
		return true;
	default:
		return false;
	}
}

/* Components on their way into a view. */
struct copying {
	struct arena *memory;
	bool changing; /* a reload is under way */
	struct profcol_component_view *to;
	size_t count; /* so far */
};

static bool copy_components(struct copying *copying, struct instance *const *instances,
			    size_t count, size_t *shown_ret)
{
	size_t before = copying->count;

	for (size_t i = 0; i < count; i++) {
		struct profcol_component_view *to = &copying->to[copying->count];

		if (!copy_component(copying->memory, instances[i], to))
			return false;
		copying->count += !copying->changing || !is_coming_or_going(to);
	}
	*shown_ret = copying->count - before;
	return true;
}

static bool copy_pipeline(struct arena *memory, bool changing, const struct layout_pipeline *from,
			  struct profcol_pipeline_view *to)
{
	size_t count = from->receiver_count + from->processor_count + from->exporter_count;
	struct copying copying = { .memory = memory, .changing = changing };

	copying.to = arena_alloc(memory, (count + 1) * sizeof(*copying.to));
	to->id = arena_strdup(memory, from->id);
	to->components = copying.to;
	if (!copying.to || !to->id ||
	    !copy_components(&copying, from->receivers, from->receiver_count,
			     &to->receiver_count) ||
	    !copy_components(&copying, from->processors, from->processor_count,
			     &to->processor_count) ||
	    !copy_components(&copying, from->exporters, from->exporter_count, &to->exporter_count))
		return false;
	for (size_t i = 0; i < copying.count; i++)
		to->mutates |= copying.to[i].mutates;
	return true;
}

/* Under the lock of the graph. */
static bool copy_layout(struct arena *memory, const struct graph *graph,
			struct profcol_service_view *to)
{
	const struct layout *layout = graph->layout;
	struct copying extensions = { .memory = memory, .changing = graph->changing };
	struct profcol_pipeline_view *pipelines;

	pipelines = arena_alloc(memory, (layout->pipeline_count + 1) * sizeof(*pipelines));
	extensions.to = arena_alloc(memory, (layout->extension_count + 1) * sizeof(*extensions.to));
	if (!pipelines || !extensions.to)
		return false;
	for (size_t i = 0; i < layout->pipeline_count; i++)
		if (!copy_pipeline(memory, graph->changing, &layout->pipelines[i], &pipelines[i]))
			return false;
	to->pipelines = pipelines;
	to->pipeline_count = layout->pipeline_count;
	to->extensions = extensions.to;
	return copy_components(&extensions, layout->extensions, layout->extension_count,
			       &to->extension_count);
}

struct profcol_service_view *view_create(struct graph *graph, const char *version)
{
	CLEANUP_ARENA struct arena *memory = arena_create(0);
	struct view *view = memory ? arena_alloc(memory, sizeof(*view)) : NULL;
	bool complete;

	if (!view)
		return NULL;
	view->base.version = version;
	graph_lock(graph);
	view->base.start_unix_ns = graph->start_unix_ns;
	view->base.ready = graph->ready;
	view->base.ready_unix_ns = graph->ready_unix_ns;
	complete = copy_layout(memory, graph, &view->base);
	graph_unlock(graph);
	if (!complete)
		return NULL;
	view->memory = TAKE(memory);
	return &view->base;
}

void view_release(struct profcol_service_view *view)
{
	// The view is the first member of what view_create made.
	if (view)
		arena_destroy(((struct view *)(void *)view)->memory);
}
