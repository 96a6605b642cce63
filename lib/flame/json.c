// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

void flame_write_json_text(FILE *stream, const char *bytes, size_t length)
{
	bool is_utf8 = strings_is_utf8(bytes, length);

	putc('"', stream);
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)bytes[i];

		if (byte == '"' || byte == '\\')
			fprintf(stream, "\\%c", byte);
		else if (byte < ' ' || byte == 0x7f || byte == '<' || byte == '>' || byte == '&')
			fprintf(stream, "\\u%04x", byte);
		else
			putc(byte > 0x7f && !is_utf8 ? '?' : byte, stream);
	}
	putc('"', stream);
}

/* ---- which nodes are written ---- */

/* Nodes and frames of the file: what is left out is added up in one child of its parent. */
struct plan {
	const struct flame *flame;
	uint32_t *places;         /* owned; of each node its number in the file, or UINT32_MAX */
	struct flame_node *nodes; /* owned; those of the file */
	size_t count;
	size_t left_out;  /* nodes */
	uint32_t *frames; /* owned; of each frame its number in the file + 1, 0 = not used */
	uint32_t *used;   /* owned; the other way round */
	size_t frame_count;
	uint32_t cut; /* the frame that stands for what is left out */
};

static void plan_deinit(struct plan *plan)
{
	free(plan->places);
	free(plan->nodes);
	free(plan->frames);
	free(plan->used);
}

static uint64_t magnitude(int64_t value)
{
	return value < 0 ? -(uint64_t)value : (uint64_t)value;
}

static int compare_weights(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? 1 : a > b ? -1 : 0;
}

/* The weight below which nodes are left out, so that @max of @count stay; ties go. */
static bool find_threshold(const uint64_t *weights, size_t count, size_t max, uint64_t *ret)
{
	CLEANUP_FREE uint64_t *sorted = NULL;

	*ret = 0;
	if (!max || count <= max)
		return true;
	sorted = malloc(count * sizeof(*sorted));
	if (!sorted)
		return false;
	memcpy(sorted, weights, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_weights);
	*ret = sorted[max] + 1;
	return true;
}

/* Of each node what it and its callees have, on both sides, whatever their signs. */
static uint64_t *find_weights(const struct flame *flame)
{
	uint64_t *weights = calloc(flame->nodes.count, sizeof(*weights));

	if (!weights)
		return NULL;
	for (size_t i = flame->nodes.count; i-- > 0;) {
		const struct flame_node *node = &flame->nodes.items[i];

		weights[i] += magnitude(node->self[FLAME_NOW]) / 4 +
			      magnitude(node->self[FLAME_BASE]) / 4 + 1;
		if (i && weights[node->parent] + weights[i] >= weights[i])
			weights[node->parent] += weights[i];
	}
	return weights;
}

static void add_node(struct plan *plan, uint32_t parent, uint32_t frame, const int64_t self[2])
{
	plan->nodes[plan->count++] = (struct flame_node){
		.parent = parent,
		.frame = frame,
		.self = { self[0], self[1] },
	};
	if (!plan->frames[frame]) {
		plan->used[plan->frame_count++] = frame;
		plan->frames[frame] = (uint32_t)plan->frame_count;
	}
}

/* Add @node to what is left out of its caller at @place, which may have such a child already. */
static void leave_out(struct plan *plan, uint32_t *cuts, uint32_t place,
		      const struct flame_node *node)
{
	static const int64_t nothing[2];
	struct flame_node *cut;

	plan->left_out++;
	if (!cuts[place]) {
		cuts[place] = (uint32_t)plan->count;
		add_node(plan, place, plan->cut, nothing);
	}
	cut = &plan->nodes[cuts[place]];
	for (int side = 0; side < 2; side++)
		cut->self[side] = flame_sum(cut->self[side], node->self[side]);
}

static bool plan_nodes(struct plan *plan, const uint64_t *weights, uint64_t threshold)
{
	const struct flame_node *nodes = plan->flame->nodes.items;
	size_t count = plan->flame->nodes.count;
	// By place in the file, of which there are at most twice as many as nodes.
	CLEANUP_FREE uint32_t *cuts = calloc(2 * count, sizeof(*cuts));

	if (!cuts)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t parent = plan->places[nodes[i].parent];

		if (!i || weights[i] >= threshold) {
			plan->places[i] = (uint32_t)plan->count;
			add_node(plan, i ? parent : 0, nodes[i].frame, nodes[i].self);
			continue;
		}
		// Its own callees are left out as well, for they weigh less.
		plan->places[i] = parent;
		leave_out(plan, cuts, parent, &nodes[i]);
	}
	return true;
}

static bool plan_init(struct plan *plan, struct flame *flame, size_t nodes_max)
{
	static const char name[] = "(smaller frames)";
	struct flame_frame cut = { 0 };
	CLEANUP_FREE uint64_t *weights = NULL;
	uint64_t threshold;
	size_t count = flame->nodes.count;

	cut.name = flame_string(flame, name, sizeof(name) - 1);
	cut.kind = flame_string(flame, FLAME_KIND_CUT, strlen(FLAME_KIND_CUT));
	plan->cut = flame_frame(flame, &cut);
	plan->flame = flame;
	plan->places = malloc(count * sizeof(*plan->places));
	plan->nodes = malloc(2 * count * sizeof(*plan->nodes));
	plan->frames = calloc(flame->frames.count, sizeof(*plan->frames));
	plan->used = malloc(flame->frames.count * sizeof(*plan->used));
	weights = find_weights(flame);
	if (flame->out_of_memory || !plan->places || !plan->nodes || !plan->frames || !plan->used ||
	    !weights || !find_threshold(weights, count, nodes_max, &threshold))
		return false;
	plan->places[0] = 0;
	return plan_nodes(plan, weights, threshold);
}

/* ---- writing ---- */

enum frame_column { NAME, FILE_OF_CODE, SOURCE, LINE, KIND, INLINED, FRAME_COLUMNS };

static uint32_t frame_cell(const struct flame_frame *frame, enum frame_column column)
{
	switch (column) {
	case NAME:
		return frame->name;
	case FILE_OF_CODE:
		return frame->file;
	case SOURCE:
		return frame->source;
	case LINE:
		return frame->line;
	case KIND:
		return frame->kind;
	default:
		return frame->inlined;
	}
}

static void write_frames(const struct plan *plan, FILE *stream)
{
	static const char *const names[FRAME_COLUMNS] = { "name", "file", "source",
							  "line", "kind", "inlined" };

	fputs(",\n\"frames\":{", stream);
	for (unsigned int column = 0; column < FRAME_COLUMNS; column++) {
		fprintf(stream, "%s\"%s\":[", column ? ",\n" : "", names[column]);
		for (size_t i = 0; i < plan->frame_count; i++)
			fprintf(stream, "%s%" PRIu32, i ? "," : "",
				frame_cell(&plan->flame->frames.items[plan->used[i]], column));
		putc(']', stream);
	}
	putc('}', stream);
}

static void write_values(const struct plan *plan, FILE *stream, const char *name,
			 enum flame_side side)
{
	fprintf(stream, ",\n\"%s\":[", name);
	for (size_t i = 0; i < plan->count; i++)
		fprintf(stream, "%s%" PRId64, i ? "," : "", plan->nodes[i].self[side]);
	putc(']', stream);
}

static void write_nodes(const struct plan *plan, bool has_base, FILE *stream)
{
	fputs(",\n\"nodes\":{\"parent\":[", stream);
	for (size_t i = 0; i < plan->count; i++)
		fprintf(stream, "%s%" PRIu32, i ? "," : "", plan->nodes[i].parent);
	fputs("],\n\"frame\":[", stream);
	for (size_t i = 0; i < plan->count; i++)
		fprintf(stream, "%s%" PRIu32, i ? "," : "", plan->frames[plan->nodes[i].frame] - 1);
	putc(']', stream);
	write_values(plan, stream, "self", FLAME_NOW);
	if (has_base)
		write_values(plan, stream, "base", FLAME_BASE);
	putc('}', stream);
}

/* All of the flame's: those that are not referred to are few. */
static void write_strings(const struct flame *flame, FILE *stream)
{
	fputs(",\n\"strings\":[", stream);
	for (size_t i = 0; i < flame->strings.count; i++) {
		if (i)
			putc(',', stream);
		flame_write_json_text(stream, flame->strings.items[i].bytes,
				      flame->strings.items[i].length);
	}
	putc(']', stream);
}

struct profcol_error *flame_write_json(struct flame *flame,
				       const struct flame_json_settings *settings, FILE *stream)
{
	CLEANUP(plan_deinit) struct plan plan = { 0 };
	const char *type = flame_type(flame), *unit = flame_unit(flame);

	if (!plan_init(&plan, flame, settings->nodes_max))
		return profcol_error_errno(ENOMEM, "write a call tree");
	fputs("{\"format\":1,\"type\":", stream);
	flame_write_json_text(stream, type, strlen(type));
	fputs(",\"unit\":", stream);
	flame_write_json_text(stream, unit, strlen(unit));
	fprintf(stream, ",\"total\":%" PRId64, flame->total[FLAME_NOW]);
	if (settings->has_base)
		fprintf(stream, ",\"base_total\":%" PRId64, flame->total[FLAME_BASE]);
	fprintf(stream, ",\"left_out\":%zu", plan.left_out);
	if (flame->group) {
		fputs(",\"group\":", stream);
		flame_write_json_text(stream, flame->group, strlen(flame->group));
	}
	if (settings->members)
		fprintf(stream, ",%s", settings->members);
	write_strings(flame, stream);
	write_frames(&plan, stream);
	write_nodes(&plan, settings->has_base, stream);
	fputs("}\n", stream);
	return NULL;
}
