// SPDX-License-Identifier: Apache-2.0
#include "transition.h"

#include "lifecycle.h"

#include <stdio.h>
#include <string.h>

struct transition {
	struct graph *graph;
	const struct transition_settings *settings;
	struct layout *from; /* the graph's until it is left */
	struct layout *to;
	bool back;      /* to a configuration that ran already: go on without what does not start */
	size_t missing; /* did not start on the way back */
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

static bool is_exporter(const struct instance *instance)
{
	return instance_type_kind(instance) == PROFCOL_EXPORTER;
}

/* ---- what is going to happen ---- */

/* The place in the next layout of an instance that goes on, else NULL. */
static struct layout_entry *find_kept(const struct transition *transition,
				      const struct instance *instance)
{
	return layout_find(transition->to, instance);
}

enum { NAMES_BYTES = 1024 };

struct names {
	char text[NAMES_BYTES]; /* "exporter 'debug', processor 'filter'" */
	size_t length;
	size_t count;
};

static void names_add(struct names *names, const struct instance *instance)
{
	int wanted = snprintf(names->text + names->length, sizeof(names->text) - names->length,
			      "%s%s '%s'", names->count ? ", " : "", instance_kind(instance),
			      instance->id);

	names->count++;
	if (wanted > 0 && names->length + (size_t)wanted < sizeof(names->text))
		names->length += (size_t)wanted;
	else
		names->text[names->length] = '\0'; // the count tells how many there are
}

static void log_plan(const struct transition *transition)
{
	const struct profcol_logger *logger = transition->settings->logger;
	struct names stopped = { .text = "" }, started = { .text = "" };
	const struct layout *to = transition->to;

	for (size_t i = 0; i < transition->from->entries.count; i++)
		if (!find_kept(transition, transition->from->entries.items[i].instance))
			names_add(&stopped, transition->from->entries.items[i].instance);
	for (size_t i = 0; i < to->entries.count; i++)
		if (!to->entries.items[i].kept)
			names_add(&started, to->entries.items[i].instance);
	profcol_log_info(logger, "Config updated, %zu components go on as they are",
			 to->entries.count - started.count);
	if (stopped.count)
		profcol_log_info(logger, "Stopping %zu components: %s", stopped.count,
				 stopped.text);
	if (started.count)
		profcol_log_info(logger, "Starting %zu components: %s", started.count,
				 started.text);
}

/* ---- leaving the old layout ---- */

static void log_failure(const struct transition *transition, struct profcol_error *error)
{
	if (error)
		profcol_log_warn(transition->settings->logger, "failed to shutdown a component: %s",
				 profcol_error_message(error));
	profcol_error_destroy(error);
}

static void drain_retired_exporters(const struct transition *transition, uint64_t deadline_ns)
{
	for (size_t i = 0; i < transition->from->entries.count; i++) {
		struct instance *instance = transition->from->entries.items[i].instance;

		if (is_exporter(instance) && !find_kept(transition, instance))
			instance_drain(instance, deadline_ns);
	}
}

/* Half of what is left: who does not leave in time finishes on the old edges. */
static uint64_t hold_deadline(uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns();

	return deadline_ns > now_ns ? now_ns + (deadline_ns - now_ns) / 2 : now_ns;
}

static void hold(const struct transition *transition, struct instance *instance,
		 uint64_t deadline_ns)
{
	if (!edges_hold(&instance->next, hold_deadline(deadline_ns)))
		profcol_log_warn(transition->settings->logger,
				 "a batch is still on its way from %s '%s'; what was meant for a "
				 "component that is being stopped may be lost",
				 instance_kind(instance), instance->id);
}

/*
 * Upstream first: when it is an instance's turn, those that lead to it are shut down, or their
 * edges are held.
 */
static void leave(struct transition *transition, struct supervision *supervision)
{
	uint64_t deadline_ns = supervision->deadline_ns;
	const struct layout *from = transition->from;
	bool drained = false;

	// Who waits for room in a queue could not leave the edges that are to be held.
	for (size_t i = 0; i < from->entries.count; i++)
		if (!find_kept(transition, from->entries.items[i].instance))
			instance_expect_shutdown(from->entries.items[i].instance, deadline_ns);
	for (size_t i = from->entries.count; i > 0; i--) {
		struct instance *instance = from->entries.items[i - 1].instance;
		const struct layout_entry *entry = find_kept(transition, instance);

		if (entry) {
			if (entry->targets)
				hold(transition, instance, deadline_ns);
			continue;
		}
		if (is_exporter(instance) && !drained)
			drain_retired_exporters(transition, deadline_ns);
		drained |= is_exporter(instance);
		log_failure(transition, supervision_shutdown(supervision, instance));
	}
}

/* The next layout is the one that others see from here on. */
static void exchange(struct transition *transition)
{
	struct graph *graph = transition->graph;
	struct layout *from = transition->from;

	books_close(&graph->books, from);
	pthread_rwlock_wrlock(&graph->lock);
	graph->layout = transition->to;
	pthread_rwlock_unlock(&graph->lock);
	for (size_t i = from->entries.count; i > 0; i--) {
		struct instance *instance = from->entries.items[i - 1].instance;

		if (!find_kept(transition, instance))
			graph->retired.items[graph->retired.count++] = instance;
	}
	layout_destroy(TAKE(transition->from));
}

/* ---- entering the new one ---- */

static struct profcol_error *start_entries(struct transition *transition, bool receivers)
{
	const struct layout *to = transition->to;

	for (size_t i = 0; i < to->entries.count; i++) {
		struct instance *instance = to->entries.items[i].instance;
		struct profcol_error *error;

		if (to->entries.items[i].kept ||
		    (instance_type_kind(instance) == PROFCOL_RECEIVER) != receivers)
			continue;
		error = lifecycle_start_instance(instance);
		if (error && !transition->back && !lifecycle_is_ending(transition->graph))
			return error;
		if (!error)
			continue;
		transition->missing++;
		profcol_log_error(transition->settings->logger,
				  "%s; the other components go on without it, until the "
				  "next reload",
				  profcol_error_message(error));
		profcol_error_destroy(error);
	}
	return NULL;
}

/* Lead those that go on to their new neighbours, and let go on who waits there. */
static void release_edges(struct layout *layout)
{
	for (size_t i = 0; i < layout->entries.count; i++) {
		struct layout_entry *entry = &layout->entries.items[i];

		if (entry->kept)
			edges_release(&entry->instance->next, TAKE(entry->targets));
	}
}

static struct profcol_error *enter(struct transition *transition)
{
	struct profcol_error *error = start_entries(transition, false);

	if (error)
		return error;
	release_edges(transition->to);
	// What waits at the doors still gets to the exporters; more need not come.
	return lifecycle_is_ending(transition->graph) ? NULL : start_entries(transition, true);
}

/* ---- planning ---- */

/* Where a component takes the new options while it runs, its new instance is not needed. */
static void reconfigure(struct transition *transition)
{
	uint64_t deadline_ns = clock_monotonic_ns() + transition->settings->patience->drain_ns;
	struct graph *graph = transition->graph;

	for (size_t i = 0; i < transition->to->entries.count; i++) {
		struct layout_entry *entry = &transition->to->entries.items[i];
		struct instance *old = entry->replaces;
		const struct config_component *configuration = entry->instance->configuration;

		// What others hold directly, an extension's queues, cannot be moved.
		if (!old || old->type != configuration->type || configuration->type->storage ||
		    !instance_is_well(old) ||
		    !instance_reconfigure(old, configuration->options, deadline_ns))
			continue;
		pthread_rwlock_wrlock(&graph->lock);
		old->configuration = configuration;
		pthread_rwlock_unlock(&graph->lock);
		old->generation->users--;
		old->generation = entry->instance->generation;
		old->generation->users++;
		layout_keep(transition->to, entry, old);
		profcol_log_info(transition->settings->logger, "%s '%s' has taken new options over",
				 instance_kind(old), old->id);
	}
}

/*
 * On the way back the edges of what went on are still held. If one of them is to be shut down after
 * all, or asked to take its old options back, nobody may wait in it, nor in what is behind it: let
 * all go on to the layout that failed, where what does not run refuses.
 */
static void open_doors(struct transition *transition)
{
	for (size_t i = 0; i < transition->from->entries.count; i++) {
		const struct layout_entry *entry = &transition->from->entries.items[i];

		if (!entry->kept || find_kept(transition, entry->instance))
			continue;
		release_edges(transition->from);
		return;
	}
}

/* All that can fail before anything is stopped. */
static struct profcol_error *plan(struct transition *transition, struct generation *generation)
{
	struct graph *graph = transition->graph;
	struct profcol_error *error;

	transition->from = graph->layout;
	error = layout_create(generation, &graph->settings, graph->layout, &transition->to);
	if (error)
		return error;
	if (!VECTOR_RESERVE(&graph->retired, transition->from->entries.count) ||
	    !books_reserve(&graph->books, transition->to)) {
		layout_abandon(TAKE(transition->to));
		return no_memory();
	}
	if (transition->back)
		open_doors(transition);
	// From here on nothing fails: a component cannot be asked to give new options back.
	reconfigure(transition);
	layout_connect(transition->to);
	return NULL;
}

static struct profcol_error *switch_over(struct transition *transition)
{
	struct supervision supervision;

	supervision_begin(&supervision, transition->settings->patience);
	leave(transition, &supervision);
	supervision_end(&supervision);
	exchange(transition);
	return enter(transition);
}

/* ---- the whole ---- */

/* Put the configuration back that @generation is. *@ret is set when the result is FATAL. */
static enum transition_result go_back(struct graph *graph, struct generation *generation,
				      const struct transition_settings *settings,
				      struct profcol_error **ret)
{
	struct transition transition = { .graph = graph, .settings = settings, .back = true };
	struct profcol_error *error = plan(&transition, generation);

	if (error) {
		// Nobody may wait for ever; what has not been started refuses.
		release_edges(graph->layout);
		*ret = profcol_error_prefix(error, "cannot go back to the old configuration");
		return TRANSITION_FATAL;
	}
	*ret = switch_over(&transition);
	if (*ret)
		return TRANSITION_FATAL;
	return transition.missing ? TRANSITION_PUT_BACK_PARTLY : TRANSITION_PUT_BACK;
}

enum transition_result transition_apply(struct graph *graph, struct config *config,
					const struct transition_settings *settings,
					struct profcol_error **ret)
{
	struct transition transition = { .graph = graph, .settings = settings };
	struct generation *old = graph->layout->generation;
	struct generation *generation = graph_add_generation(graph, config, config);
	enum transition_result result = TRANSITION_REFUSED;
	struct profcol_error *failure = NULL;

	if (!generation) {
		config_destroy(config);
		*ret = no_memory();
		return TRANSITION_REFUSED;
	}
	*ret = plan(&transition, generation);
	if (!*ret) {
		log_plan(&transition);
		graph_set_changing(graph, true);
		*ret = switch_over(&transition);
		result = TRANSITION_DONE;
	}
	if (*ret && result == TRANSITION_DONE) {
		profcol_log_error(settings->logger, "%s; going back to the old configuration",
				  profcol_error_message(*ret));
		result = go_back(graph, old, settings, &failure);
		*ret = profcol_error_join(*ret, failure);
	}
	graph_set_changing(graph, false);
	graph_collect(graph);
	return result;
}
