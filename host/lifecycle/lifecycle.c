// SPDX-License-Identifier: Apache-2.0
#include "lifecycle.h"

#include <poll.h>

struct profcol_error *lifecycle_start_instance(struct instance *instance)
{
	return profcol_error_prefix(instance_start(instance), "%s '%s'", instance_kind(instance),
				    instance->id);
}

bool lifecycle_is_ending(const struct graph *graph)
{
	struct pollfd end = { .fd = graph->settings.end_fd, .events = POLLIN };

	return end.fd && poll(&end, 1, 0) == 1;
}

struct profcol_error *lifecycle_start(struct graph *graph)
{
	const size_t count = graph->layout->entries.count;
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < count && !error && !lifecycle_is_ending(graph); i++)
		error = lifecycle_start_instance(graph->layout->entries.items[i].instance);
	return error;
}

static bool is_exporter(const struct instance *instance)
{
	return instance_type_kind(instance) == PROFCOL_EXPORTER;
}

/* Nothing comes to the exporters any more: they empty their queues side by side. */
static void drain_exporters(const struct layout *layout, uint64_t deadline_ns)
{
	for (size_t i = 0; i < layout->entries.count; i++)
		if (is_exporter(layout->entries.items[i].instance))
			instance_drain(layout->entries.items[i].instance, deadline_ns);
}

struct profcol_error *lifecycle_shutdown(struct graph *graph,
					 const struct lifecycle_patience *patience)
{
	const struct layout *layout = graph->layout;
	struct profcol_error *errors = NULL;
	struct supervision supervision;
	bool drained = false;

	supervision_begin(&supervision, patience);
	// A receiver that waits for room in a queue could not be shut down.
	for (size_t i = 0; i < layout->entries.count; i++)
		instance_expect_shutdown(layout->entries.items[i].instance,
					 supervision.deadline_ns);
	for (size_t i = layout->entries.count; i > 0; i--) {
		struct instance *instance = layout->entries.items[i - 1].instance;

		if (is_exporter(instance) && !drained)
			drain_exporters(layout, supervision.deadline_ns);
		drained |= is_exporter(instance);
		errors = profcol_error_join(errors, supervision_shutdown(&supervision, instance));
	}
	supervision_end(&supervision);
	return errors;
}
