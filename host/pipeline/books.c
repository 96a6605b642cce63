// SPDX-License-Identifier: Apache-2.0
#include "books.h"

#include <string.h>

void books_deinit(struct books *books)
{
	for (size_t i = 0; i < books->items.count; i++) {
		free(books->items.items[i]->exporter);
		free(books->items.items[i]);
	}
	VECTOR_DEINIT(&books->items);
}

static struct book *find_book(const struct books *books, const char *id)
{
	for (size_t i = 0; i < books->items.count; i++)
		if (strcmp(books->items.items[i]->exporter, id) == 0)
			return books->items.items[i];
	return NULL;
}

static bool add_book(struct books *books, const char *id)
{
	struct book *book;

	if (!VECTOR_RESERVE(&books->items, 1))
		return false;
	book = calloc(1, sizeof(*book));
	if (!book)
		return false;
	book->exporter = strdup(id);
	if (!book->exporter) {
		free(book);
		return false;
	}
	books->items.items[books->items.count++] = book;
	return true;
}

bool books_reserve(struct books *books, const struct layout *layout)
{
	for (size_t i = 0; i < layout->entries.count; i++) {
		const struct instance *instance = layout->entries.items[i].instance;

		if (instance_type_kind(instance) == PROFCOL_EXPORTER &&
		    !find_book(books, instance->id) && !add_book(books, instance->id))
			return false;
	}
	return true;
}

/* ---- what is open ---- */

static void take_figures(struct instance *instance, struct instance_figures *ret)
{
	*ret = (struct instance_figures){ .passed = edges_passed(&instance->next) };
	balance_add(&ret->booked, &instance->account);
}

/* What an instance on the way has taken in, and has neither booked nor handed on yet. */
static uint64_t held(const struct instance *instance, const struct instance_figures *now)
{
	const uint64_t *totals = now->booked.totals;
	uint64_t in = instance_type_kind(instance) == PROFCOL_RECEIVER
			      ? totals[PROFCOL_TAKEN]
			      : atomic_load(&instance->arrived);

	return in - totals[PROFCOL_FILTERED] - totals[PROFCOL_LOST] - now->passed;
}

/* How to look at the ways: while a period is being closed, or at any time. */
struct look {
	struct balance *balance; /* what is found is added here */
	bool closing;
};

/* Add what @instance, on a way, has done since the last period. @last: it leads to the exporter. */
static void add_open(const struct look *look, struct instance *instance, bool last)
{
	struct instance_figures figures;
	const struct instance_figures *now = &instance->closing;
	struct balance open = { 0 };

	if (!look->closing) {
		take_figures(instance, &figures);
		now = &figures;
	}
	balance_add_difference(&open, &now->booked, &instance->closed.booked);
	open.totals[PROFCOL_TAKEN] = open.totals[PROFCOL_FILTERED] + open.totals[PROFCOL_LOST];
	if (last)
		open.totals[PROFCOL_TAKEN] += now->passed - instance->closed.passed;
	// It goes on, and hands that on in a later period.
	if (!look->closing || instance->shut_down)
		open.totals[PROFCOL_TAKEN] += held(instance, now);
	balance_add_difference(look->balance, &open, NULL);
}

static void add_pipeline(const struct look *look, const struct layout_pipeline *pipeline)
{
	for (size_t i = 0; i < pipeline->receiver_count; i++)
		add_open(look, pipeline->receivers[i], pipeline->processor_count == 0);
	for (size_t i = 0; i < pipeline->processor_count; i++)
		add_open(look, pipeline->processors[i], i + 1 == pipeline->processor_count);
}

/* Add what was booked on all ways to the exporter called @id. */
static void add_ways(const struct look *look, const struct layout *layout, const char *id)
{
	for (size_t i = 0; i < layout->pipeline_count; i++) {
		const struct layout_pipeline *pipeline = &layout->pipelines[i];

		for (size_t j = 0; j < pipeline->exporter_count; j++)
			if (strcmp(pipeline->exporters[j]->id, id) == 0)
				add_pipeline(look, pipeline);
	}
}

/* ---- closing ---- */

void books_close(struct books *books, const struct layout *layout)
{
	// Of those that go on, once: what is the end of this period is the beginning of the next.
	for (size_t i = 0; i < layout->entries.count; i++) {
		struct instance *instance = layout->entries.items[i].instance;

		take_figures(instance, &instance->closing);
	}
	for (size_t i = 0; i < books->items.count; i++) {
		const struct look look = { &books->items.items[i]->balance, .closing = true };

		add_ways(&look, layout, books->items.items[i]->exporter);
	}
	for (size_t i = 0; i < layout->entries.count; i++) {
		struct instance *instance = layout->entries.items[i].instance;

		instance->closed = instance->closing;
	}
}

void books_keep(struct books *books, const struct instance *instance)
{
	struct book *book = find_book(books, instance->id);

	if (book && instance_type_kind(instance) == PROFCOL_EXPORTER)
		balance_add(&book->balance, &instance->account);
}

void books_add(const struct books *books, const struct layout *layout, const char *id,
	       struct balance *balance)
{
	const struct book *book = find_book(books, id);
	const struct look look = { .balance = balance };

	if (book)
		balance_add_difference(balance, &book->balance, NULL);
	for (size_t i = 0; i < layout->entries.count; i++) {
		const struct instance *instance = layout->entries.items[i].instance;

		if (instance_type_kind(instance) == PROFCOL_EXPORTER &&
		    strcmp(instance->id, id) == 0)
			balance_add(balance, &instance->account);
	}
	add_ways(&look, layout, id);
}
