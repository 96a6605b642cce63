// SPDX-License-Identifier: Apache-2.0
#include "tree.h"

#include "profile/profile.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

/* Samples between two looks at the clock. */
enum { SAMPLES_PER_LOOK = 256 };

/* ---- tables ---- */

struct wanted {
	const struct flame *flame;
	const void *row;
};

static bool string_equal(uint32_t id, const void *context)
{
	const struct wanted *wanted = context;
	const struct profcol_text *text = wanted->row, *known = &wanted->flame->strings.items[id];

	return known->length == text->length && !memcmp(known->bytes, text->bytes, text->length);
}

uint32_t flame_string(struct flame *flame, const char *bytes, size_t length)
{
	struct profcol_text text = { bytes, length };
	struct wanted wanted = { flame, &text };
	uint32_t hash = intern_hash_seeded(bytes, length, flame->hash_seed);
	uint32_t id = intern_find(&flame->string_index, hash, string_equal, &wanted);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)flame->strings.count;
	text.bytes = arena_strndup(flame->texts, bytes, length);
	if (text.bytes && VECTOR_PUSH(&flame->strings, text) &&
	    intern_insert(&flame->string_index, hash, id))
		return id;
	flame->out_of_memory = true;
	return 0;
}

static bool frame_equal(uint32_t id, const void *context)
{
	const struct wanted *wanted = context;

	return !memcmp(&wanted->flame->frames.items[id], wanted->row, sizeof(struct flame_frame));
}

uint32_t flame_frame(struct flame *flame, const struct flame_frame *frame)
{
	struct wanted wanted = { flame, frame };
	uint32_t hash = intern_hash_seeded(frame, sizeof(*frame), flame->hash_seed);
	uint32_t id = intern_find(&flame->frame_index, hash, frame_equal, &wanted);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)flame->frames.count;
	if (VECTOR_PUSH(&flame->frames, *frame) && intern_insert(&flame->frame_index, hash, id))
		return id;
	flame->out_of_memory = true;
	return 0;
}

static bool child_equal(uint32_t id, const void *context)
{
	const struct wanted *wanted = context;
	const struct flame_node *node = &wanted->flame->nodes.items[id], *row = wanted->row;

	return node->parent == row->parent && node->frame == row->frame;
}

uint32_t flame_child(struct flame *flame, uint32_t parent, uint32_t frame)
{
	struct flame_node node = { .parent = parent, .frame = frame };
	uint64_t key = (uint64_t)parent << 32 | frame;
	struct wanted wanted = { flame, &node };
	uint32_t hash = intern_hash_seeded(&key, sizeof(key), flame->hash_seed);
	uint32_t id = intern_find(&flame->node_index, hash, child_equal, &wanted);

	if (id != INTERN_MISSING)
		return id;
	id = (uint32_t)flame->nodes.count;
	if (id < FLAME_NODES_MAX && VECTOR_PUSH(&flame->nodes, node) &&
	    intern_insert(&flame->node_index, hash, id))
		return id;
	flame->out_of_memory = true;
	return 0;
}

int64_t flame_sum(int64_t left, int64_t right)
{
	int64_t sum;

	if (__builtin_add_overflow(left, right, &sum))
		return left > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}

int64_t *flame_totals(const struct flame *flame, enum flame_side side)
{
	const struct flame_node *nodes = flame->nodes.items;
	int64_t *totals = calloc(flame->nodes.count, sizeof(*totals));

	if (!totals)
		return NULL;
	// Children stand behind their parents.
	for (size_t i = flame->nodes.count; i-- > 0;) {
		totals[i] = flame_sum(totals[i], nodes[i].self[side]);
		if (i)
			totals[nodes[i].parent] = flame_sum(totals[nodes[i].parent], totals[i]);
	}
	return totals;
}

/* ---- life ---- */

static bool copy_text(char **to, const char *from)
{
	if (!from)
		return true;
	*to = strdup(from);
	return *to;
}

struct flame *flame_create(const struct flame_settings *settings)
{
	static const struct flame_frame nothing;
	struct flame *flame = calloc(1, sizeof(*flame));

	if (!flame)
		return NULL;
	if (getrandom(&flame->hash_seed, sizeof(flame->hash_seed), GRND_NONBLOCK) < 0)
		flame->hash_seed = clock_monotonic_ns();
	flame->texts = arena_create(0);
	// Row 0 of each table: the empty text, the root's frame, the root.
	if (flame->texts && copy_text(&flame->type, settings->type) &&
	    copy_text(&flame->unit, settings->unit) && copy_text(&flame->group, settings->group)) {
		flame_string(flame, "", 0);
		flame_frame(flame, &nothing);
		if (!VECTOR_PUSH(&flame->nodes, (struct flame_node){ 0 }))
			flame->out_of_memory = true;
		if (!flame->out_of_memory)
			return flame;
	}
	flame_destroy(flame);
	return NULL;
}

void flame_destroy(struct flame *flame)
{
	if (!flame)
		return;
	free(flame->type);
	free(flame->unit);
	free(flame->group);
	arena_destroy(flame->texts);
	VECTOR_DEINIT(&flame->strings);
	VECTOR_DEINIT(&flame->frames);
	VECTOR_DEINIT(&flame->nodes);
	intern_deinit(&flame->string_index);
	intern_deinit(&flame->frame_index);
	intern_deinit(&flame->node_index);
	free(flame);
}

int64_t flame_total(const struct flame *flame, enum flame_side side)
{
	return flame->total[side];
}

const char *flame_type(const struct flame *flame)
{
	return flame->type ? flame->type : "";
}

const char *flame_unit(const struct flame *flame)
{
	return flame->unit ? flame->unit : "";
}

/* ---- adding a batch ---- */

/* Ids of the batch's strings to those of the flame, and of its locations to runs of frames. */
struct adding {
	struct flame *flame;
	const struct profcol_batch *batch;
	uint32_t *strings;   /* owned; id + 1, 0 = not looked at yet */
	uint32_t *locations; /* owned; where its frames begin, + 1; 0 = not looked at yet */
	VECTOR(uint32_t)
	runs; /* of each location the count of its frames, then those, outer first */
	uint32_t frame_type, group,
		cut; /* string ids of the batch; the last a frame of the flame */
	uint64_t deadline_ns;
	enum flame_side side;
};

static void adding_deinit(struct adding *adding)
{
	free(adding->strings);
	free(adding->locations);
	VECTOR_DEINIT(&adding->runs);
}

/* The id of @text among the batch's strings; UINT32_MAX when it is not there. */
static uint32_t find_string(const struct profcol_batch *batch, const char *text)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_STRINGS);
	size_t length = strlen(text);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_text string = profcol_batch_string(batch, i);

		if (string.length == length && !memcmp(string.bytes, text, length))
			return i;
	}
	return UINT32_MAX;
}

static bool adding_init(struct adding *adding)
{
	struct flame *flame = adding->flame;
	const struct profcol_batch *batch = adding->batch;
	struct flame_frame cut = { 0 };

	adding->strings =
		calloc(profcol_batch_count(batch, PROFCOL_STRINGS) + 1, sizeof(*adding->strings));
	adding->locations = calloc(profcol_batch_count(batch, PROFCOL_LOCATIONS) + 1,
				   sizeof(*adding->locations));
	adding->frame_type = find_string(batch, "profile.frame.type");
	adding->group = flame->group ? find_string(batch, flame->group) : UINT32_MAX;
	cut.name = flame_string(flame, "(deeper frames)", strlen("(deeper frames)"));
	cut.kind = flame_string(flame, FLAME_KIND_CUT, strlen(FLAME_KIND_CUT));
	adding->cut = flame_frame(flame, &cut);
	return adding->strings && adding->locations && !flame->out_of_memory;
}

static uint32_t carry_string(struct adding *adding, uint32_t id)
{
	struct profcol_text text;

	if (!adding->strings[id]) {
		text = profcol_batch_string(adding->batch, id);
		adding->strings[id] = flame_string(adding->flame, text.bytes, text.length) + 1;
	}
	return adding->strings[id] - 1;
}

/* The attribute @key of @list. False when it is not there. */
static bool find_attribute(const struct profcol_batch *batch, uint32_t list, uint32_t key,
			   struct profcol_value *ret)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; key != UINT32_MAX && i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		if (attribute.key != key)
			continue;
		*ret = attribute.value;
		return true;
	}
	return false;
}

static uint32_t frame_kind(struct adding *adding, const struct profcol_location *location,
			   const struct profcol_mapping *mapping)
{
	struct profcol_text file = profcol_batch_string(adding->batch, mapping->filename);
	struct profcol_value value;

	if (find_attribute(adding->batch, location->attributes, adding->frame_type, &value) &&
	    value.type == PROFCOL_VALUE_STRING)
		return carry_string(adding, value.string);
	// In pprof files the mapping says it.
	if (!strncmp(file.bytes, "[kernel", 7) || !strncmp(file.bytes, "[guest.kernel", 13))
		return flame_string(adding->flame, "kernel", 6);
	return 0;
}

static void add_frame(struct adding *adding, const struct profcol_location *location, uint32_t line,
		      uint32_t file, uint32_t kind)
{
	struct profcol_function function = { 0 };
	struct flame_frame frame = {
		.file = file,
		.kind = kind,
		.inlined = line + 1 < location->line_count,
	};

	if (line < location->line_count)
		function = profcol_batch_function(adding->batch, location->lines[line].function);
	frame.name = carry_string(adding, function.name ? function.name : function.system_name);
	frame.source = carry_string(adding, function.filename);
	if (function.start_line > 0 && function.start_line < UINT32_MAX)
		frame.line = (uint32_t)function.start_line;
	if (!VECTOR_PUSH(&adding->runs, flame_frame(adding->flame, &frame)))
		adding->flame->out_of_memory = true;
}

/* Where the run of location @id begins. */
static size_t find_run(struct adding *adding, uint32_t id)
{
	struct profcol_location location;
	struct profcol_mapping mapping;
	uint32_t count, file, kind;

	if (adding->locations[id])
		return adding->locations[id] - 1;
	location = profcol_batch_location(adding->batch, id);
	mapping = profcol_batch_mapping(adding->batch, location.mapping);
	count = location.line_count ? location.line_count : 1;
	file = carry_string(adding, mapping.filename);
	kind = frame_kind(adding, &location, &mapping);
	adding->locations[id] = (uint32_t)adding->runs.count + 1;
	if (!VECTOR_PUSH(&adding->runs, count))
		adding->flame->out_of_memory = true;
	// What was inlined lies on top of what it was inlined into.
	for (uint32_t i = count; i-- > 0;)
		add_frame(adding, &location, i, file, kind);
	return adding->locations[id] - 1;
}

/* The frame for the value by which a sample is grouped. */
static uint32_t group_frame(struct adding *adding, uint32_t resource, uint32_t sample)
{
	struct flame *flame = adding->flame;
	struct flame_frame frame = { 0 };
	struct profcol_value value = { 0 };
	char number[32];

	if (!find_attribute(adding->batch, sample, adding->group, &value))
		(void)find_attribute(adding->batch, resource, adding->group, &value);
	frame.kind = flame_string(flame, FLAME_KIND_GROUP, strlen(FLAME_KIND_GROUP));
	switch (value.type) {
	case PROFCOL_VALUE_STRING:
		frame.name = carry_string(adding, value.string);
		break;
	case PROFCOL_VALUE_INT:
		snprintf(number, sizeof(number), "%lld", (long long)value.integer);
		frame.name = flame_string(flame, number, strlen(number));
		break;
	case PROFCOL_VALUE_BOOL:
		frame.name = flame_string(flame, value.boolean ? "true" : "false",
					  value.boolean ? 4 : 5);
		break;
	default: // what has no value, or none to be shown in a line
		break;
	}
	return flame_frame(flame, &frame);
}

/* The node of the leaf of @stack below @node. */
static uint32_t walk(struct adding *adding, uint32_t node, uint32_t stack)
{
	struct flame *flame = adding->flame;
	uint32_t depth, frames = 0;
	const uint32_t *locations = profcol_batch_stack(adding->batch, stack, &depth);

	while (depth-- && !flame->out_of_memory) {
		size_t run = find_run(adding, locations[depth]);

		for (uint32_t i = 0; !flame->out_of_memory && i < adding->runs.items[run]; i++) {
			if (++frames > FLAME_DEPTH_MAX)
				return flame_child(flame, node, adding->cut);
			node = flame_child(flame, node, adding->runs.items[run + 1 + i]);
		}
	}
	return node;
}

static int64_t sample_value(const struct profcol_sample *sample)
{
	int64_t value = 0;

	for (uint32_t i = 0; i < sample->value_count; i++)
		value = flame_sum(value, sample->values[i]);
	return sample->value_count ? value : sample->timestamp_count;
}

static struct profcol_error *add_profile(struct adding *adding, struct profcol_range samples,
					 uint32_t resource)
{
	struct flame *flame = adding->flame;

	for (uint32_t i = samples.begin; i < samples.end; i++) {
		struct profcol_sample sample = profcol_batch_sample(adding->batch, i);
		int64_t value = sample_value(&sample), *self;
		uint32_t node = 0;

		if (i % SAMPLES_PER_LOOK == 0 && clock_monotonic_ns() > adding->deadline_ns)
			return profcol_error_create(PROFCOL_UNAVAILABLE,
						    "the query took too long; ask for a shorter "
						    "time or fewer samples");
		if (!value)
			continue;
		if (flame->group)
			node = flame_child(flame, 0,
					   group_frame(adding, resource, sample.attributes));
		node = walk(adding, node, sample.stack);
		if (flame->out_of_memory)
			return flame->nodes.count >= FLAME_NODES_MAX
				       ? profcol_error_create(PROFCOL_REJECTED,
							      "too many different stacks; ask "
							      "for a shorter time or fewer samples")
				       : profcol_error_errno(ENOMEM, "make a call tree");
		self = &flame->nodes.items[node].self[adding->side];
		*self = flame_sum(*self, value);
		flame->total[adding->side] = flame_sum(flame->total[adding->side], value);
	}
	return NULL;
}

static bool text_is(const struct profcol_batch *batch, uint32_t id, const char *text)
{
	struct profcol_text string = profcol_batch_string(batch, id);

	return string.length == strlen(text) && !memcmp(string.bytes, text, string.length);
}

enum { KINDS_MAX = 16 }; /* of which one is chosen; real batches have one or two */

/* The kind with the most samples. */
static bool choose_kind(struct flame *flame, const struct profcol_batch *batch)
{
	struct {
		uint32_t type, unit;
		uint64_t samples;
	} kinds[KINDS_MAX] = { 0 };
	uint32_t profiles = profcol_batch_count(batch, PROFCOL_PROFILES);
	size_t count = 0, best = 0;

	for (uint32_t i = 0; i < profiles; i++) {
		struct profcol_range samples;
		struct profcol_profile profile = profcol_batch_profile(batch, i, &samples);
		size_t at = 0;

		while (at < count && (kinds[at].type != profile.sample_type ||
				      kinds[at].unit != profile.sample_unit))
			at++;
		if (at == KINDS_MAX || samples.begin == samples.end)
			continue;
		count = at < count ? count : at + 1;
		kinds[at].type = profile.sample_type;
		kinds[at].unit = profile.sample_unit;
		kinds[at].samples += samples.end - samples.begin;
		best = kinds[at].samples > kinds[best].samples ? at : best;
	}
	if (!count)
		return true;
	flame->type = strdup(profcol_batch_string(batch, kinds[best].type).bytes);
	flame->unit = strdup(profcol_batch_string(batch, kinds[best].unit).bytes);
	return flame->type && flame->unit;
}

static struct profcol_error *add_all(struct adding *adding)
{
	const struct profcol_batch *batch = adding->batch;
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);
	struct profcol_error *error = NULL;

	for (uint32_t i = 0; i < resources; i++) {
		struct profcol_range scopes, profiles, samples;
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);

		for (uint32_t j = scopes.begin; j < scopes.end; j++) {
			(void)profcol_batch_scope(batch, j, &profiles);
			for (uint32_t k = profiles.begin; k < profiles.end && !error; k++) {
				struct profcol_profile profile =
					profcol_batch_profile(batch, k, &samples);

				if (text_is(batch, profile.sample_type, adding->flame->type) &&
				    text_is(batch, profile.sample_unit, adding->flame->unit))
					error = add_profile(adding, samples, resource.attributes);
			}
		}
	}
	return error;
}

struct profcol_error *flame_add(struct flame *flame, const struct profcol_batch *batch,
				enum flame_side side, uint64_t deadline_ns)
{
	CLEANUP(adding_deinit)
	struct adding adding = {
		.flame = flame,
		.batch = batch,
		.side = side,
		.deadline_ns = deadline_ns,
	};

	if (!flame->type && !choose_kind(flame, batch))
		return profcol_error_errno(ENOMEM, "make a call tree");
	if (!flame->type) // nothing was ever counted
		return NULL;
	if (!adding_init(&adding))
		return profcol_error_errno(ENOMEM, "make a call tree");
	return add_all(&adding);
}
