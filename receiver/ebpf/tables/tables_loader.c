// SPDX-License-Identifier: Apache-2.0
/*
 * Programs that walk stacks of processes with runtimes are loaded by a thread of their own: the
 * kernel verifies such a one for as long as hundreds of answers about new processes take.
 */
#include "tables_parts.h"

#include <stdio.h>

/* The names of runtimes, with commas between them. */
static void list_runtimes(uint32_t numbers, char *text, size_t bytes)
{
	size_t length = 0;

	*text = '\0';
	for (size_t i = 0; i < RUNTIMES; i++)
		if (numbers & 1u << i && all_runtimes[i] && length < bytes)
			length += (size_t)snprintf(text + length, bytes - length, "%s%s",
						   length ? ", " : "", all_runtimes[i]->name);
}

/* Takes what is wanted next; false: nothing is. */
static bool take_wanted(struct tables *tables)
{
	struct walk_loader *loader = &tables->loader;

	pthread_mutex_lock(&tables->lock);
	loader->number = spaces_next_walk(tables->spaces, &loader->runtimes);
	pthread_mutex_unlock(&tables->lock);
	return loader->number;
}

static void count_refusal(const struct tables_metrics *metrics, uint32_t numbers)
{
	for (size_t i = 0; i < RUNTIMES; i++)
		if (numbers & 1u << i && all_runtimes[i])
			profcol_metric_add(metrics->runtimes[i].walks_refused, 1);
}

static void load_walk(struct tables *tables)
{
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	struct walk_loader *loader = &tables->loader;
	char names[128];

	error = loader->load_walk(loader->context, loader->runtimes, loader->number);
	pthread_mutex_lock(&tables->lock);
	spaces_learn_walk(tables->spaces, loader->number, !error);
	pthread_mutex_unlock(&tables->lock);
	if (!error)
		return;
	list_runtimes(loader->runtimes, names, sizeof(names));
	profcol_log_warn(tables->host->logger,
			 "%s, stacks of programs that run by %s are cut there",
			 profcol_error_message(error), names);
	count_refusal(&tables->metrics, loader->runtimes);
}

static void *load_walks(void *context)
{
	struct tables *tables = context;

	pthread_setname_np(pthread_self(), "loader");
	do
		load_walk(tables);
	while (take_wanted(tables));
	atomic_store(&tables->loader.ended, true);
	return NULL;
}

void tables_end_loading(struct tables *tables)
{
	if (tables->loader.running)
		pthread_join(tables->loader.thread, NULL);
	tables->loader.running = false;
}

void tables_load_next_walk(struct tables *tables)
{
	struct walk_loader *loader = &tables->loader;

	if (!loader->load_walk || (loader->running && !atomic_load(&loader->ended)))
		return;
	tables_end_loading(tables);
	if (!take_wanted(tables))
		return;
	atomic_store(&loader->ended, false);
	loader->running = !pthread_create(&loader->thread, NULL, load_walks, tables);
	// Without a thread, this one.
	if (!loader->running)
		load_walk(tables);
}
