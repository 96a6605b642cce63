// SPDX-License-Identifier: Apache-2.0
#include "code.h"

#include "base/base.h"

#include <string.h>

/* The mappings of one space that count, by start. The newest of those that overlap is there. */
struct layer {
	const struct mapping **items; /* owned */
	size_t count, next;
};

/* A space and its parents: what lies in one layer hides what lies in those behind it. */
struct view {
	struct layer layers[SPACE_DEEPEST + 1];
	size_t count;
};

struct output {
	struct process_code *items;
	size_t room, count;
	struct process_code last;
};

static int compare_starts(const void *left, const void *right)
{
	uint64_t a = (*(const struct mapping *const *)left)->start;
	uint64_t b = (*(const struct mapping *const *)right)->start;

	return a < b ? -1 : a > b;
}

/* What was there at @time_ns. False without memory. */
static bool layer_init(struct layer *layer, const struct mappings *mappings, uint64_t time_ns)
{
	size_t room = mappings->now.count + mappings->past.count, sorted;

	*layer = (struct layer){ .items = calloc(room + 1, sizeof(const struct mapping *)) };
	if (!layer->items)
		return false;
	for (size_t i = 0; i < mappings->now.count; i++)
		if (mappings->now.items[i].begin_ns <= time_ns)
			layer->items[layer->count++] = &mappings->now.items[i];
	sorted = layer->count;
	for (size_t i = 0; i < mappings->past.count; i++)
		if (past_mapping_held(&mappings->past.items[i], time_ns))
			layer->items[layer->count++] = &mappings->past.items[i].mapping;
	if (layer->count > sorted)
		qsort(layer->items, layer->count, sizeof(const struct mapping *), compare_starts);
	return true;
}

static bool view_init(struct view *view, const struct space *space)
{
	uint64_t time_ns = UINT64_MAX;

	view->count = 0;
	for (; space && view->count <= SPACE_DEEPEST; space = space->parent) {
		if (!layer_init(&view->layers[view->count], &space->mappings, time_ns))
			return false;
		view->count++;
		if (space->parent_ns < time_ns)
			time_ns = space->parent_ns;
	}
	return true;
}

static void view_deinit(struct view *view)
{
	for (size_t i = 0; i < view->count; i++)
		free(view->layers[i].items);
}

/* What is at @address, which never decreases; NULL. @until is cut to where that may change. */
static const struct mapping *layer_at(struct layer *layer, uint64_t address, uint64_t *until)
{
	const struct mapping *newest = NULL;

	while (layer->next < layer->count && layer->items[layer->next]->limit <= address)
		layer->next++;
	for (size_t i = layer->next; i < layer->count; i++) {
		const struct mapping *mapping = layer->items[i];
		bool begun = mapping->start <= address;
		uint64_t edge = begun ? mapping->limit : mapping->start;

		if (edge <= address)
			continue;
		if (edge < *until)
			*until = edge;
		if (!begun)
			break;
		if (!newest || mapping->begin_ns > newest->begin_ns)
			newest = mapping;
	}
	return newest;
}

/* What shows at @address; NULL when nothing does. That is so up to @until_ret. */
static const struct mapping *view_at(struct view *view, uint64_t address, uint64_t *until_ret)
{
	const struct mapping *mapping = NULL;

	*until_ret = UINT64_MAX;
	for (size_t i = 0; i < view->count && !mapping; i++)
		mapping = layer_at(&view->layers[i], address, until_ret);
	return mapping;
}

static bool continues(const struct process_code *last, const struct process_code *code)
{
	if (!last->limit || last->limit != code->start || last->file != code->file ||
	    last->vdso != code->vdso)
		return false;
	return (code->file == PROCESS_NO_FILE && !code->vdso) ||
	       code->file_offset == last->file_offset + (last->limit - last->start);
}

static void output_flush(struct output *output)
{
	if (!output->last.limit)
		return;
	if (output->count < output->room)
		output->items[output->count] = output->last;
	output->count++;
	output->last.limit = 0;
}

static void output_add(struct output *output, const struct mapping *mapping, uint64_t start,
		       uint64_t limit)
{
	struct process_code code = { .start = start, .limit = limit, .file = mapping->file };

	if (mapping->file == MAPPING_FILE_UNRESOLVED)
		return;
	code.vdso = !mapping->inode && !strcmp(mapping->path->bytes, "[vdso]");
	if (code.file != PROCESS_NO_FILE || code.vdso)
		code.file_offset = mapping->file_offset + (start - mapping->start);
	if (continues(&output->last, &code)) {
		output->last.limit = limit;
		return;
	}
	output_flush(output);
	output->last = code;
}

size_t code_list(const struct space *space, struct process_code *ret, size_t count)
{
	struct output output = { .items = ret, .room = count };
	uint64_t address = 0, until;
	struct view view;
	bool whole = view_init(&view, space);

	while (whole && address != UINT64_MAX) {
		const struct mapping *mapping = view_at(&view, address, &until);

		if (mapping)
			output_add(&output, mapping, address, until);
		address = until;
	}
	output_flush(&output);
	view_deinit(&view);
	return output.count;
}
