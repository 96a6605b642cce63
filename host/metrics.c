// SPDX-License-Identifier: Apache-2.0
#include "metrics.h"

#include <stdlib.h>
#include <string.h>

void metrics_init(struct metrics *metrics)
{
	*metrics = (struct metrics){ .lock = PTHREAD_MUTEX_INITIALIZER };
	metrics->last = &metrics->first;
}

void metrics_deinit(struct metrics *metrics)
{
	struct metrics_entry *entry = metrics->first;

	while (entry) {
		struct metrics_entry *next = entry->next;

		free(entry);
		entry = next;
	}
	pthread_mutex_destroy(&metrics->lock);
}

static char *copy_text(char **to, const char *text)
{
	char *copy = *to;

	*to = stpcpy(copy, text) + 1;
	return copy;
}

static struct metrics_entry *entry_create(enum profcol_metric_kind kind, const char *name,
					  const char *label, const char *doc)
{
	size_t text_bytes = strlen(name) + strlen(label) + strlen(doc) + 3;
	struct metrics_entry *entry = calloc(1, sizeof(*entry) + text_bytes);
	char *text = (char *)(entry + 1);

	if (!entry)
		return NULL;
	entry->kind = kind;
	entry->name = copy_text(&text, name);
	entry->label = copy_text(&text, label);
	entry->doc = copy_text(&text, doc);
	return entry;
}

static struct metrics_entry *find_entry(const struct metrics *metrics, const char *name,
					const char *label)
{
	for (struct metrics_entry *entry = metrics->first; entry; entry = entry->next)
		if (strcmp(entry->name, name) == 0 && strcmp(entry->label, label) == 0)
			return entry;
	return NULL;
}

struct profcol_metric *metrics_register(struct metrics *metrics, enum profcol_metric_kind kind,
					const char *name, const char *label, const char *doc)
{
	struct metrics_entry *entry;

	if (!label)
		label = "";
	pthread_mutex_lock(&metrics->lock);
	entry = find_entry(metrics, name, label);
	if (!entry && metrics->count < METRICS_MAX) {
		entry = entry_create(kind, name, label, doc ? doc : "");
		if (entry) {
			*metrics->last = entry;
			metrics->last = &entry->next;
			metrics->count++;
		}
	}
	metrics->left_out += !entry;
	pthread_mutex_unlock(&metrics->lock);
	return entry ? &entry->metric : &metrics->spare;
}

uint64_t metrics_left_out(struct metrics *metrics)
{
	uint64_t left_out;

	pthread_mutex_lock(&metrics->lock);
	left_out = metrics->left_out;
	pthread_mutex_unlock(&metrics->lock);
	return left_out;
}

bool metrics_have(struct metrics *metrics, const char *name)
{
	bool found = false;

	pthread_mutex_lock(&metrics->lock);
	for (const struct metrics_entry *entry = metrics->first; entry && !found;
	     entry = entry->next)
		found = strcmp(entry->name, name) == 0;
	pthread_mutex_unlock(&metrics->lock);
	return found;
}

void metrics_visit(struct metrics *metrics,
		   void (*visit)(const struct metrics_entry *entry, void *context), void *context)
{
	pthread_mutex_lock(&metrics->lock);
	for (const struct metrics_entry *entry = metrics->first; entry; entry = entry->next)
		visit(entry, context);
	pthread_mutex_unlock(&metrics->lock);
}
