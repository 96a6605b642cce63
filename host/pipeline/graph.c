// SPDX-License-Identifier: Apache-2.0
#include "graph.h"

#include <stdio.h>
#include <string.h>

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "out of memory");
}

/* ---- life ---- */

static void destroy_generation(struct generation *generation)
{
	config_destroy(generation->owned);
	free(generation);
}

void graph_destroy(struct graph *graph)
{
	if (!graph)
		return;
	// They may lead to what still runs, but nothing leads to them when all is shut down.
	for (size_t i = 0; i < graph->retired.count; i++)
		layout_destroy_instance(graph->retired.items[i]);
	VECTOR_DEINIT(&graph->retired);
	if (graph->layout)
		for (size_t i = 0; i < graph->layout->entries.count; i++)
			graph->layout->entries.items[i].kept = false;
	layout_abandon(graph->layout);
	for (size_t i = 0; i < graph->generations.count; i++)
		destroy_generation(graph->generations.items[i]);
	VECTOR_DEINIT(&graph->generations);
	books_deinit(&graph->books);
	pthread_rwlock_destroy(&graph->lock);
	free(graph);
}

static void graph_cleanup(struct graph **graph)
{
	graph_destroy(*graph);
}

struct generation *graph_add_generation(struct graph *graph, const struct config *config,
					struct config *owned)
{
	struct generation *generation;

	if (!VECTOR_RESERVE(&graph->generations, 1))
		return NULL;
	generation = calloc(1, sizeof(*generation));
	if (!generation)
		return NULL;
	generation->config = config;
	generation->owned = owned;
	graph->generations.items[graph->generations.count++] = generation;
	return generation;
}

struct profcol_error *graph_create(const struct config *config,
				   const struct instance_settings *settings, struct graph **ret)
{
	CLEANUP(graph_cleanup) struct graph *graph = calloc(1, sizeof(*graph));
	struct generation *generation;
	struct profcol_error *error;

	if (!graph)
		return no_memory();
	pthread_rwlock_init(&graph->lock, NULL);
	graph->settings = *settings;
	graph->settings.graph = graph;
	graph->start_unix_ns = clock_realtime_ns();
	graph->ready_unix_ns = graph->start_unix_ns;
	generation = graph_add_generation(graph, config, NULL);
	if (!generation)
		return no_memory();
	error = layout_create(generation, &graph->settings, NULL, &graph->layout);
	if (error)
		return error;
	layout_connect(graph->layout);
	if (!books_reserve(&graph->books, graph->layout))
		return no_memory();
	*ret = TAKE(graph);
	return NULL;
}

static void collect_instances(struct graph *graph)
{
	size_t kept = 0;

	for (size_t i = 0; i < graph->retired.count; i++) {
		struct instance *instance = graph->retired.items[i];

		if (atomic_load(&instance->references)) {
			graph->retired.items[kept++] = instance;
			continue;
		}
		books_keep(&graph->books, instance);
		layout_destroy_instance(instance);
	}
	graph->retired.count = kept;
}

void graph_collect(struct graph *graph)
{
	size_t kept = 0;

	collect_instances(graph);
	for (size_t i = 0; i < graph->generations.count; i++) {
		struct generation *generation = graph->generations.items[i];

		if (generation->users || generation == graph->layout->generation)
			graph->generations.items[kept++] = generation;
		else
			destroy_generation(generation);
	}
	graph->generations.count = kept;
}

/* ---- reading ---- */

void graph_lock(struct graph *graph)
{
	pthread_rwlock_rdlock(&graph->lock);
}

void graph_unlock(struct graph *graph)
{
	pthread_rwlock_unlock(&graph->lock);
}

void graph_visit(struct graph *graph, void (*visit)(struct instance *instance, void *context),
		 void *context)
{
	for (size_t i = 0; i < graph->layout->entries.count; i++)
		visit(graph->layout->entries.items[i].instance, context);
}

void graph_set_ready(struct graph *graph, bool ready)
{
	pthread_rwlock_wrlock(&graph->lock);
	graph->ready = ready;
	graph->ready_unix_ns = clock_realtime_ns();
	pthread_rwlock_unlock(&graph->lock);
}

void graph_set_changing(struct graph *graph, bool changing)
{
	pthread_rwlock_wrlock(&graph->lock);
	graph->changing = changing;
	pthread_rwlock_unlock(&graph->lock);
}

/* ---- accounting ---- */

void graph_balance(const struct graph *graph, const char *id, struct balance *ret)
{
	*ret = (struct balance){ 0 };
	books_add(&graph->books, graph->layout, id, ret);
	// Shut down, but somebody still has a batch for it.
	for (size_t i = 0; i < graph->retired.count; i++) {
		const struct instance *instance = graph->retired.items[i];

		if (instance_type_kind(instance) == PROFCOL_EXPORTER &&
		    strcmp(instance->id, id) == 0)
			balance_add(ret, &instance->account);
	}
}

struct samples_line {
	char *to;
	size_t size, length;
	bool several; /* exporters: each has its id in front */
	const char *separator;
	const char *rest; /* cause of what is under way, which is lost; or NULL */
};

static void add_exporter(struct samples_line *line, const struct graph *graph, const char *id)
{
	struct balance balance;
	int wanted;

	if (line->length + 1 >= line->size)
		return;
	graph_balance(graph, id, &balance);
	if (line->rest)
		balance_lose_rest(&balance, line->rest);
	wanted = snprintf(line->to + line->length, line->size - line->length, "%s%s%s",
			  line->separator, line->several ? id : "", line->several ? ": " : "");
	line->separator = "; ";
	line->length += wanted > 0 ? (size_t)wanted : 0;
	if (line->length < line->size)
		line->length += balance_format(&balance, line->to + line->length,
					       line->size - line->length);
}

static bool is_running_exporter(const struct graph *graph, const char *id)
{
	for (size_t i = 0; i < graph->layout->entries.count; i++) {
		const struct instance *instance = graph->layout->entries.items[i].instance;

		if (instance_type_kind(instance) == PROFCOL_EXPORTER &&
		    strcmp(instance->id, id) == 0)
			return true;
	}
	return false;
}

void graph_format_samples(const struct graph *graph, const char *rest, char *to, size_t size)
{
	struct samples_line line = {
		.to = to,
		.size = size,
		.length = (size_t)snprintf(to, size, "samples:"),
		.several = graph->books.items.count > 1,
		.separator = " ",
		.rest = rest,
	};

	// There is a book for each exporter there ever was, in the order of their coming.
	for (size_t i = 0; i < graph->books.items.count; i++)
		if (is_running_exporter(graph, graph->books.items.items[i]->exporter))
			add_exporter(&line, graph, graph->books.items.items[i]->exporter);
	for (size_t i = 0; i < graph->books.items.count; i++)
		if (!is_running_exporter(graph, graph->books.items.items[i]->exporter))
			add_exporter(&line, graph, graph->books.items.items[i]->exporter);
}
