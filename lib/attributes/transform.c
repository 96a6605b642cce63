// SPDX-License-Identifier: Apache-2.0
/*
 * Actions on all lists of one level. Lists repeat: what becomes of one, and whether it matches, is
 * found out once.
 */
#include "action.h"

#include "profile/profile.h"

#include <stdlib.h>

/* What is known of a list. */
struct known_list {
	uint32_t becomes;
	bool is_edited;  /* `becomes` is known */
	bool is_matched; /* the rest is */
	bool is_included, is_excluded;
};

struct work {
	const struct attributes_transform *transform;
	const struct profcol_batch *batch; /* borrowed: as it came */
	struct edit edit;                  /* its builder is owned here */
	struct known_list *lists;          /* owned; of the batch's own lists */
	bool hides;                        /* the actions remove or hash */
	bool changed;
};

static void work_deinit(struct work *work)
{
	edit_deinit(&work->edit);
	profcol_builder_destroy(work->edit.builder);
	free(work->lists);
}

static bool work_init(struct work *work, const struct profcol_batch *batch)
{
	work->edit.builder = profcol_builder_from(batch);
	work->lists = calloc(profcol_batch_count(batch, PROFCOL_ATTRIBUTE_LISTS) + 1,
			     sizeof(*work->lists));
	return work->edit.builder && work->lists;
}

/* Which of the two conditions the parents of a row leave open. */
struct parents {
	bool may_include, may_exclude;
};

/* Where a pattern cannot tell, the safe side is to hide what is to be hidden, and else to leave it.
 */
static bool is_included(const struct work *work, enum ottl_result result)
{
	return result == OTTL_TRUE || (result == OTTL_ERROR && work->hides);
}

static bool is_excluded(const struct work *work, enum ottl_result result)
{
	return result == OTTL_TRUE || (result == OTTL_ERROR && !work->hides);
}

static struct parents look_at_parents(struct work *work, uint32_t resource, uint32_t scope)
{
	const struct attributes_match *include = work->transform->include;
	const struct attributes_match *exclude = work->transform->exclude;
	struct ottl_budget *budget = &work->edit.matches;

	return (struct parents){
		.may_include = !include ||
			       is_included(work, attributes_match_parents(include, work->batch,
									  resource, scope, budget)),
		.may_exclude = exclude &&
			       is_excluded(work, attributes_match_parents(exclude, work->batch,
									  resource, scope, budget)),
	};
}

/* Is list @id, of a row with those parents, to be changed? */
static bool is_wanted(struct work *work, uint32_t id, struct parents parents)
{
	const struct attributes_match *include = work->transform->include;
	const struct attributes_match *exclude = work->transform->exclude;
	struct ottl_budget *budget = &work->edit.matches;
	struct known_list *list = &work->lists[id];

	if (!list->is_matched) {
		list->is_matched = true;
		list->is_included =
			!include ||
			is_included(work, attributes_match_list(include, work->batch, id, budget));
		list->is_excluded =
			exclude &&
			is_excluded(work, attributes_match_list(exclude, work->batch, id, budget));
	}
	return parents.may_include && list->is_included &&
	       !(parents.may_exclude && list->is_excluded);
}

/* What list @id becomes; true when that is another one. */
static bool work_on(struct work *work, uint32_t id, struct parents parents, uint32_t *ret)
{
	struct known_list *list = &work->lists[id];

	if (!is_wanted(work, id, parents))
		return false;
	if (!list->is_edited) {
		list->is_edited = true;
		list->becomes = edit_list(&work->edit, work->transform->actions, id);
	}
	*ret = list->becomes;
	work->changed |= list->becomes != id;
	return list->becomes != id;
}

/* ---- levels ---- */

static void work_on_resources(struct work *work)
{
	uint32_t count = profcol_batch_count(work->batch, PROFCOL_RESOURCES);

	for (uint32_t row = 0; row < count; row++) {
		struct profcol_range scopes;
		struct profcol_resource resource =
			profcol_batch_resource(work->batch, row, &scopes);
		uint32_t list;

		if (work_on(work, resource.attributes, look_at_parents(work, row, UINT32_MAX),
			    &list))
			profcol_builder_set_resource_attributes(work->edit.builder, row, list);
	}
}

static void work_on_scope(struct work *work, uint32_t resource, uint32_t scope)
{
	struct parents parents = look_at_parents(work, resource, scope);
	struct profcol_range profiles, samples;

	profcol_batch_scope(work->batch, scope, &profiles);
	for (uint32_t profile = profiles.begin; profile < profiles.end; profile++) {
		profcol_batch_profile(work->batch, profile, &samples);
		for (uint32_t row = samples.begin; row < samples.end; row++) {
			struct profcol_sample sample = profcol_batch_sample(work->batch, row);
			uint32_t list;

			if (work_on(work, sample.attributes, parents, &list))
				profcol_builder_set_sample_attributes(work->edit.builder, row,
								      list);
		}
	}
}

static void work_on_samples(struct work *work)
{
	uint32_t count = profcol_batch_count(work->batch, PROFCOL_RESOURCES);

	for (uint32_t resource = 0; resource < count; resource++) {
		struct profcol_range scopes;

		profcol_batch_resource(work->batch, resource, &scopes);
		for (uint32_t scope = scopes.begin; scope < scopes.end; scope++)
			work_on_scope(work, resource, scope);
	}
}

/* Of the dictionary, where there are no parents. Entry 0 is nobody's. */
static const struct parents no_parents = { .may_include = true, .may_exclude = true };

static void work_on_locations(struct work *work)
{
	uint32_t count = profcol_batch_count(work->batch, PROFCOL_LOCATIONS);

	for (uint32_t id = 1; id < count; id++) {
		struct profcol_location location = profcol_batch_location(work->batch, id);
		uint32_t list;

		if (work_on(work, location.attributes, no_parents, &list))
			profcol_builder_set_location_attributes(work->edit.builder, id, list);
	}
}

static void work_on_mappings(struct work *work)
{
	uint32_t count = profcol_batch_count(work->batch, PROFCOL_MAPPINGS);

	for (uint32_t id = 1; id < count; id++) {
		struct profcol_mapping mapping = profcol_batch_mapping(work->batch, id);
		uint32_t list;

		if (work_on(work, mapping.attributes, no_parents, &list))
			profcol_builder_set_mapping_attributes(work->edit.builder, id, list);
	}
}

static void (*const work_on_level[])(struct work *work) = {
	[ATTRIBUTES_RESOURCE] = work_on_resources,
	[ATTRIBUTES_SAMPLE] = work_on_samples,
	[ATTRIBUTES_LOCATION] = work_on_locations,
	[ATTRIBUTES_MAPPING] = work_on_mappings,
};

static struct profcol_error *no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "change attributes: out of memory");
}

struct profcol_error *attributes_transform(const struct attributes_transform *transform,
					   struct profcol_batch *batch, struct profcol_batch **ret)
{
	struct work work CLEANUP(work_deinit) = {
		.transform = transform,
		.batch = batch,
		.hides = attributes_actions_hide(transform->actions),
	};
	bool is_entry =
		transform->level == ATTRIBUTES_LOCATION || transform->level == ATTRIBUTES_MAPPING;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *edited = NULL;
	struct profcol_error *error;

	if (!work_init(&work, batch))
		return no_memory();
	work_on_level[transform->level](&work);
	if (work.edit.no_memory)
		return no_memory();
	if (!work.changed) {
		*ret = profcol_batch_ref(batch);
		return NULL;
	}
	// What is gone from the lists is still in what the profiles were made from.
	if (work.edit.removed) {
		profile_clear_payloads(work.edit.builder);
		profile_mark_unused(work.edit.builder);
	}
	error = profcol_builder_seal(TAKE(work.edit.builder), &edited);
	// Entries that have become equal have to become one.
	if (!error && is_entry)
		error = profile_compact(edited, ret);
	else if (!error)
		*ret = TAKE(edited);
	return profcol_error_prefix(error, "change attributes");
}
