// SPDX-License-Identifier: Apache-2.0
#include "code.h"

#include "base/base.h"

#include <string.h>

/*
 * The owner's lock is held meanwhile. One space with as many mappings as there may be takes less
 * than half of it, and parents with as many of their own are cut short.
 */
enum { VISITS = 8 };

/* The mappings of one space that were there at a time. */
struct layer {
	const struct mappings *mappings;
	uint64_t time_ns;
	const struct mapping **past; /* owned: those covered since, by start; may overlap */
	size_t past_count;
	size_t next, past_next; /* the first ones that may be of interest */
};

/* A space and its parents: what lies in one layer hides what lies in those behind it. */
struct view {
	struct layer layers[SPACE_DEEPEST + 1];
	size_t count;
	size_t visits; /* mappings looked at */
};

struct output {
	VECTOR(struct process_code) kept; /* up to twice @room */
	size_t room;
	size_t count; /* there were */
	struct process_code last;
	bool failed; /* no memory */
};

static int compare_starts(const void *left, const void *right)
{
	uint64_t a = (*(const struct mapping *const *)left)->start;
	uint64_t b = (*(const struct mapping *const *)right)->start;

	return a < b ? -1 : a > b;
}

/* False without memory. */
static bool layer_init(struct layer *layer, const struct mappings *mappings, uint64_t time_ns)
{
	*layer = (struct layer){ .mappings = mappings, .time_ns = time_ns };
	if (!mappings->past.count || time_ns == UINT64_MAX)
		return true;
	layer->past = calloc(mappings->past.count, sizeof(const struct mapping *));
	if (!layer->past)
		return false;
	for (size_t i = 0; i < mappings->past.count; i++)
		if (past_mapping_held(&mappings->past.items[i], time_ns))
			layer->past[layer->past_count++] = &mappings->past.items[i].mapping;
	qsort(layer->past, layer->past_count, sizeof(const struct mapping *), compare_starts);
	return true;
}

static bool view_init(struct view *view, const struct space *space)
{
	uint64_t time_ns = UINT64_MAX;

	view->count = view->visits = 0;
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
		free(view->layers[i].past);
}

/*
 * What is at @address, which never decreases, of `now`; NULL. @until is cut to where that may
 * change.
 */
static const struct mapping *now_at(struct layer *layer, uint64_t address, uint64_t *until,
				    size_t *visits)
{
	for (; layer->next < layer->mappings->now.count; layer->next++) {
		const struct mapping *mapping = &layer->mappings->now.items[layer->next];
		bool begun = mapping->start <= address;
		uint64_t edge = begun ? mapping->limit : mapping->start;

		++*visits;
		if (mapping->limit <= address || mapping->begin_ns > layer->time_ns)
			continue;
		if (edge < *until)
			*until = edge;
		return begun ? mapping : NULL;
	}
	return NULL;
}

/* The same of what was covered since. */
static const struct mapping *past_at(struct layer *layer, uint64_t address, uint64_t *until,
				     size_t *visits)
{
	const struct mapping *newest = NULL;

	while (layer->past_next < layer->past_count &&
	       layer->past[layer->past_next]->limit <= address)
		layer->past_next++;
	for (size_t i = layer->past_next; i < layer->past_count; i++) {
		const struct mapping *mapping = layer->past[i];
		bool begun = mapping->start <= address;
		uint64_t edge = begun ? mapping->limit : mapping->start;

		++*visits;
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
	for (size_t i = 0; i < view->count && !mapping; i++) {
		mapping = now_at(&view->layers[i], address, until_ret, &view->visits);
		if (!mapping)
			mapping = past_at(&view->layers[i], address, until_ret, &view->visits);
	}
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

static bool has_name(const struct process_code *code)
{
	return code->file != PROCESS_NO_FILE || code->vdso;
}

/* Leave out those without a file, the highest first, until the rest fits. */
static void output_shrink(struct output *output)
{
	size_t named = 0, anonymous, kept = 0;

	for (size_t i = 0; i < output->kept.count; i++)
		named += has_name(&output->kept.items[i]);
	if (named > output->room)
		named = output->room;
	anonymous = output->room - named;
	for (size_t i = 0; i < output->kept.count; i++) {
		size_t *left = has_name(&output->kept.items[i]) ? &named : &anonymous;

		if (!*left)
			continue;
		--*left;
		output->kept.items[kept++] = output->kept.items[i];
	}
	output->kept.count = kept;
}

static void output_flush(struct output *output)
{
	if (!output->last.limit)
		return;
	if (output->kept.count >= 2 * output->room)
		output_shrink(output);
	output->failed |= !VECTOR_PUSH(&output->kept, output->last);
	output->count++;
	output->last.limit = 0;
}

static void output_add(struct output *output, const struct mapping *mapping, uint64_t start,
		       uint64_t limit)
{
	struct process_code code = {
		.start = start,
		.limit = limit,
		.file = mapping_file(mapping),
	};

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

size_t code_list(const struct space *space, size_t most, struct process_code *ret, size_t count)
{
	struct output output = { .room = count };
	uint64_t address = 0, until;
	struct view view;
	bool whole = view_init(&view, space);

	while (whole && address != UINT64_MAX && view.visits / VISITS < most) {
		const struct mapping *mapping = view_at(&view, address, &until);

		if (mapping)
			output_add(&output, mapping, address, until);
		address = until;
	}
	output_flush(&output);
	if (output.kept.count > count)
		output_shrink(&output);
	if (output.failed)
		output.count = output.kept.count = 0;
	for (size_t i = 0; i < output.kept.count; i++)
		ret[i] = output.kept.items[i];
	VECTOR_DEINIT(&output.kept);
	view_deinit(&view);
	return output.count;
}
