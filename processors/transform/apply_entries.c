// SPDX-License-Identifier: Apache-2.0
/*
 * Samples, frames and mappings. Samples repeat their attributes, frames their functions: what a
 * group makes of one is found out once, and kept with what it depends on.
 */
#include "apply.h"

#include "profile/profile.h"

#include <stdlib.h>

/* What became of an entry: a list of attributes, or a function. */
struct known {
	uint32_t epoch;      /* of the rows above it; 0 = nothing is known */
	uint32_t id, beside; /* the entry, and what else it depends on: a stack, a mapping */
	uint32_t becomes;
	uint32_t failed; /* statements and conditions that failed then */
};

/* An entry has one place, by its ids: another one there takes it over. */
struct memory {
	struct known *items; /* owned */
	uint32_t mask;       /* a power of two less one */
	uint32_t epoch;
	bool has_beside;
};

static bool memory_init(struct memory *memory, uint32_t entries, bool has_beside)
{
	uint32_t size = 1;

	while (size < entries && size < UINT32_C(1) << 30)
		size *= 2;
	memory->mask = size - 1;
	memory->epoch = 1;
	memory->has_beside = has_beside;
	memory->items = calloc(size, sizeof(*memory->items));
	return memory->items;
}

static void memory_deinit(struct memory *memory)
{
	free(memory->items);
}

static struct known *memory_find(const struct memory *memory, uint32_t id, uint32_t beside,
				 bool *known_ret)
{
	uint32_t place = memory->has_beside
				 ? (id * UINT32_C(2654435761)) ^ (beside * UINT32_C(2246822519))
				 : id;
	struct known *known;

	if (memory->has_beside)
		place ^= place >> 15;
	known = &memory->items[place & memory->mask];
	*known_ret = known->epoch == memory->epoch && known->id == id && known->beside == beside;
	return known;
}

/* What was known of an entry counts as often as it is met. */
static void count_again(struct applying *applying, const struct group *group,
			const struct known *known)
{
	applying->failed += known->failed;
	if (group->error_mode == ERROR_MODE_IGNORE)
		applying->failures->count += known->failed;
}

/* ---- samples ---- */

/* Is what a group makes of a sample a matter of its attributes, its stack and what is above it? */
static bool is_memorable(const struct group *group)
{
	return !(group->writes & ~(unsigned int)OTTL_PART_SAMPLE_ATTRIBUTES) &&
	       !(group->reads & OTTL_PART_SAMPLE);
}

static void apply_to_sample(struct applying *applying, const struct group *group,
			    struct memory *memory, struct ottl_position *position)
{
	struct profcol_sample sample =
		profcol_batch_sample(applying_batch(applying), position->sample);
	uint64_t failed = applying->failed;
	struct known *known;
	bool is_known;

	if (!memory->items) {
		apply_row(applying, group, position);
		return;
	}
	known = memory_find(memory, sample.attributes, memory->has_beside ? sample.stack : 0,
			    &is_known);
	if (is_known) {
		count_again(applying, group, known);
		if (known->becomes != sample.attributes)
			profcol_builder_set_sample_attributes(applying->builder, position->sample,
							      known->becomes);
		return;
	}
	apply_row(applying, group, position);
	*known = (struct known){
		.epoch = memory->epoch,
		.id = sample.attributes,
		.beside = memory->has_beside ? sample.stack : 0,
		.becomes =
			profcol_batch_sample(applying_batch(applying), position->sample).attributes,
		.failed = (uint32_t)(applying->failed - failed),
	};
}

static void apply_to_profile(struct applying *applying, const struct group *group,
			     struct memory *memory, struct ottl_position *position)
{
	struct profcol_range samples;

	profcol_batch_profile(applying_batch(applying), position->profile, &samples);
	for (uint32_t row = samples.begin; row < samples.end && !applying->failures->refused;
	     row++) {
		position->sample = row;
		apply_to_sample(applying, group, memory, position);
	}
	memory->epoch += (group->reads & OTTL_PART_PARENTS) != 0;
}

static void apply_to_scope(struct applying *applying, const struct group *group,
			   struct memory *memory, struct ottl_position *position)
{
	struct profcol_range profiles;

	profcol_batch_scope(applying_batch(applying), position->scope, &profiles);
	for (uint32_t row = profiles.begin; row < profiles.end; row++) {
		position->profile = row;
		apply_to_profile(applying, group, memory, position);
	}
}

void apply_samples(struct applying *applying, const struct group *group)
{
	const struct profcol_batch *batch = applying_batch(applying);
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);
	bool by_stack = group->reads & OTTL_PART_STACK;
	uint32_t entries =
		profcol_batch_count(batch, by_stack ? PROFCOL_SAMPLES : PROFCOL_ATTRIBUTE_LISTS);
	struct memory memory CLEANUP(memory_deinit) = { 0 };
	struct ottl_position position = { 0 };
	struct profcol_range scopes;

	if (is_memorable(group) && !memory_init(&memory, entries, by_stack)) {
		applying->has_no_memory = true;
		return;
	}
	for (; position.resource < resources; position.resource++) {
		profcol_batch_resource(applying_batch(applying), position.resource, &scopes);
		for (uint32_t row = scopes.begin; row < scopes.end; row++) {
			position.scope = row;
			apply_to_scope(applying, group, &memory, &position);
		}
	}
}

/* ---- frames ---- */

/* The function that line @index of @location has from now on. */
static uint32_t apply_to_frame(struct applying *applying, const struct group *group,
			       struct memory *memory, const struct profcol_location *location,
			       uint32_t function)
{
	struct ottl_position position = {
		.function = function,
		.mapping = location->mapping,
		.location_attributes = location->attributes,
	};
	uint64_t failed = applying->failed;
	bool is_known, remembers = !(group->reads & OTTL_PART_LOCATION);
	struct known *known = memory_find(memory, function,
					  memory->has_beside ? location->mapping : 0, &is_known);

	if (remembers && is_known) {
		count_again(applying, group, known);
		return known->becomes;
	}
	apply_row(applying, group, &position);
	*known = (struct known){
		.epoch = memory->epoch,
		.id = function,
		.beside = memory->has_beside ? location->mapping : 0,
		.becomes = position.function,
		.failed = (uint32_t)(applying->failed - failed),
	};
	return position.function;
}

/* Of what has no name, nothing is edited. */
static void apply_to_location(struct applying *applying, const struct group *group,
			      struct memory *memory, uint32_t id)
{
	uint32_t count = profcol_batch_location(applying_batch(applying), id).line_count;

	for (uint32_t i = 0; i < count && !applying->failures->refused; i++) {
		struct profcol_location location =
			profcol_batch_location(applying_batch(applying), id);
		uint32_t function = location.lines[i].function, becomes;

		if (!function)
			continue;
		becomes = apply_to_frame(applying, group, memory, &location, function);
		if (becomes != function)
			profile_set_line_function(applying->builder, id, i, becomes);
	}
}

void apply_frames(struct applying *applying, const struct group *group)
{
	const struct profcol_batch *batch = applying_batch(applying);
	bool by_mapping = group->reads & OTTL_PART_MAPPING;
	uint32_t locations = profcol_batch_count(batch, PROFCOL_LOCATIONS);
	uint32_t entries =
		profcol_batch_count(batch, by_mapping ? PROFCOL_LOCATIONS : PROFCOL_FUNCTIONS);
	struct memory memory CLEANUP(memory_deinit) = { 0 };

	if (!memory_init(&memory, entries, by_mapping)) {
		applying->has_no_memory = true;
		return;
	}
	for (uint32_t id = 1; id < locations && !applying->failures->refused; id++)
		apply_to_location(applying, group, &memory, id);
}

/* ---- mappings ---- */

void apply_mappings(struct applying *applying, const struct group *group)
{
	uint32_t count = profcol_batch_count(applying_batch(applying), PROFCOL_MAPPINGS);

	for (uint32_t id = 1; id < count && !applying->failures->refused; id++) {
		struct ottl_position position = { .mapping = id };

		apply_row(applying, group, &position);
	}
}
