// SPDX-License-Identifier: Apache-2.0
/*
 * Merging: first the tree of the result is planned, because equal resources and
 * scopes come together from all batches while the children of one parent must
 * stand next to each other; then it is written in order.
 */
#include "import.h"
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows of the result, in the order of their first appearance; ids are the result's. */
struct merge_scope {
	struct profcol_scope scope;
	uint32_t resource;
};

struct merge_profile {
	uint32_t scope;
	uint32_t batch, row; /* where it comes from */
};

struct merge {
	struct profcol_builder *builder; /* owned */
	struct import *imports;          /* owned; one for each batch */
	size_t count;
	struct intern resource_index, scope_index;
	VECTOR(struct profcol_resource) resources;
	VECTOR(struct merge_scope) scopes;
	VECTOR(struct merge_profile) profiles;
};

static void merge_deinit(struct merge *merge)
{
	profcol_builder_destroy(merge->builder);
	for (size_t i = 0; i < merge->count; i++)
		import_deinit(&merge->imports[i]);
	free(merge->imports);
	intern_deinit(&merge->resource_index);
	intern_deinit(&merge->scope_index);
	VECTOR_DEINIT(&merge->resources);
	VECTOR_DEINIT(&merge->scopes);
	VECTOR_DEINIT(&merge->profiles);
}

static bool merge_init(struct merge *merge, struct profcol_batch *const *batches, size_t count)
{
	merge->builder = profcol_builder_create();
	merge->imports = calloc(count ? count : 1, sizeof(*merge->imports));
	if (!merge->builder || !merge->imports)
		return false;
	for (; merge->count < count; merge->count++) {
		// Dictionaries come whole.
		merge->builder->batch->has_unused |= batches[merge->count]->has_unused;
		if (!import_init(&merge->imports[merge->count], batches[merge->count],
				 merge->builder))
			return false;
	}
	return true;
}

/* ---- plan ---- */

/* What the equality tests compare row @id with. */
struct merge_wanted {
	const struct merge *merge;
	const struct profcol_resource *resource;
	const struct merge_scope *scope;
};

_Static_assert(sizeof(struct profcol_resource) == 4 * sizeof(uint32_t), "no padding to compare");
_Static_assert(sizeof(struct merge_scope) == 6 * sizeof(uint32_t), "no padding to compare");

static bool merge_resource_equal(uint32_t id, const void *context)
{
	const struct merge_wanted *wanted = context;

	return memcmp(&wanted->merge->resources.items[id], wanted->resource,
		      sizeof(*wanted->resource)) == 0;
}

static bool merge_scope_equal(uint32_t id, const void *context)
{
	const struct merge_wanted *wanted = context;

	return memcmp(&wanted->merge->scopes.items[id], wanted->scope, sizeof(*wanted->scope)) == 0;
}

/* The row for @resource, planned now if it is new. False without memory. */
static bool merge_plan_resource(struct merge *merge, const struct profcol_resource *resource,
				uint32_t *row_ret)
{
	struct merge_wanted wanted = { .merge = merge, .resource = resource };
	uint32_t hash = intern_hash(resource, sizeof(*resource));

	*row_ret = intern_find(&merge->resource_index, hash, merge_resource_equal, &wanted);
	if (*row_ret != INTERN_MISSING)
		return true;
	*row_ret = (uint32_t)merge->resources.count;
	return VECTOR_PUSH(&merge->resources, *resource) &&
	       intern_insert(&merge->resource_index, hash, *row_ret);
}

static bool merge_plan_scope(struct merge *merge, const struct merge_scope *scope,
			     uint32_t *row_ret)
{
	struct merge_wanted wanted = { .merge = merge, .scope = scope };
	uint32_t hash = intern_hash(scope, sizeof(*scope));

	*row_ret = intern_find(&merge->scope_index, hash, merge_scope_equal, &wanted);
	if (*row_ret != INTERN_MISSING)
		return true;
	*row_ret = (uint32_t)merge->scopes.count;
	return VECTOR_PUSH(&merge->scopes, *scope) &&
	       intern_insert(&merge->scope_index, hash, *row_ret);
}

static bool merge_plan_scopes(struct merge *merge, uint32_t batch, struct profcol_range scopes,
			      uint32_t resource)
{
	struct import *import = &merge->imports[batch];

	for (uint32_t i = scopes.begin; i < scopes.end; i++) {
		struct profcol_range profiles;
		struct profcol_scope scope = profcol_batch_scope(import->from, i, &profiles);
		struct merge_scope planned = { import_scope(import, &scope), resource };
		uint32_t row;

		if (!merge_plan_scope(merge, &planned, &row))
			return false;
		for (uint32_t profile = profiles.begin; profile < profiles.end; profile++)
			if (!VECTOR_PUSH(&merge->profiles,
					 ((struct merge_profile){ row, batch, profile })))
				return false;
	}
	return true;
}

static bool merge_plan_batch(struct merge *merge, uint32_t batch)
{
	struct import *import = &merge->imports[batch];
	uint32_t count = profcol_batch_count(import->from, PROFCOL_RESOURCES);

	import_dictionary(import);
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range scopes;
		struct profcol_resource resource = profcol_batch_resource(import->from, i, &scopes);
		uint32_t row;

		resource = import_resource(import, &resource);
		if (!merge_plan_resource(merge, &resource, &row) ||
		    !merge_plan_scopes(merge, batch, scopes, row))
			return false;
	}
	return true;
}

/* ---- write ---- */

/*
 * Children sorted by parent, in their own order within one: a counting sort. Its
 * counts begin two cells late; summing makes cell p + 1 the beginning of parent p,
 * and placing the children moves that to cell p.
 */
struct grouping {
	uint32_t *begin;   /* owned; of each parent's children in `members`, and one for the end */
	uint32_t *members; /* in the same allocation */
};

static bool grouping_init(struct grouping *grouping, size_t parents, size_t children)
{
	grouping->begin = calloc(parents + 2 + children, sizeof(*grouping->begin));
	if (!grouping->begin)
		return false;
	grouping->members = grouping->begin + parents + 2;
	return true;
}

static void grouping_deinit(struct grouping *grouping)
{
	free(grouping->begin);
}

static void grouping_count(struct grouping *grouping, uint32_t parent)
{
	grouping->begin[parent + 2]++;
}

static void grouping_sum(struct grouping *grouping, size_t parents)
{
	for (size_t i = 2; i < parents + 2; i++)
		grouping->begin[i] += grouping->begin[i - 1];
}

static void grouping_place(struct grouping *grouping, uint32_t parent, uint32_t child)
{
	grouping->members[grouping->begin[parent + 1]++] = child;
}

static bool merge_group(struct merge *merge, struct grouping *scopes, struct grouping *profiles)
{
	if (!grouping_init(scopes, merge->resources.count, merge->scopes.count) ||
	    !grouping_init(profiles, merge->scopes.count, merge->profiles.count))
		return false;
	for (uint32_t i = 0; i < merge->scopes.count; i++)
		grouping_count(scopes, merge->scopes.items[i].resource);
	for (uint32_t i = 0; i < merge->profiles.count; i++)
		grouping_count(profiles, merge->profiles.items[i].scope);
	grouping_sum(scopes, merge->resources.count);
	grouping_sum(profiles, merge->scopes.count);
	for (uint32_t i = 0; i < merge->scopes.count; i++)
		grouping_place(scopes, merge->scopes.items[i].resource, i);
	for (uint32_t i = 0; i < merge->profiles.count; i++)
		grouping_place(profiles, merge->profiles.items[i].scope, i);
	return true;
}

static void merge_write_profile(struct merge *merge, const struct merge_profile *planned)
{
	struct import *import = &merge->imports[planned->batch];
	struct profcol_range samples;
	struct profcol_profile profile =
		profcol_batch_profile(import->from, planned->row, &samples);

	profile = import_profile(import, &profile);
	profcol_builder_add_profile(merge->builder, &profile);
	import_samples(import, samples.begin, samples.end);
}

static void merge_write(struct merge *merge, const struct grouping *scopes,
			const struct grouping *profiles)
{
	for (uint32_t resource = 0; resource < merge->resources.count; resource++) {
		profcol_builder_add_resource(merge->builder, &merge->resources.items[resource]);
		for (uint32_t i = scopes->begin[resource]; i < scopes->begin[resource + 1]; i++) {
			uint32_t scope = scopes->members[i];

			profcol_builder_add_scope(merge->builder,
						  &merge->scopes.items[scope].scope);
			for (uint32_t child = profiles->begin[scope];
			     child < profiles->begin[scope + 1]; child++)
				merge_write_profile(
					merge, &merge->profiles.items[profiles->members[child]]);
		}
	}
}

static bool merge_run(struct merge *merge)
{
	struct grouping scopes CLEANUP(grouping_deinit) = { 0 };
	struct grouping profiles CLEANUP(grouping_deinit) = { 0 };

	for (uint32_t i = 0; i < merge->count; i++)
		if (!merge_plan_batch(merge, i))
			return false;
	if (!merge_group(merge, &scopes, &profiles))
		return false;
	merge_write(merge, &scopes, &profiles);
	return true;
}

struct profcol_error *profile_merge(struct profcol_batch *const *batches, size_t count,
				    struct profcol_batch **ret)
{
	struct merge merge CLEANUP(merge_deinit) = { 0 };

	if (!merge_init(&merge, batches, count) || !merge_run(&merge))
		return profcol_error_errno(ENOMEM, "merge batches");
	return profcol_error_prefix(profcol_builder_seal(TAKE(merge.builder), ret),
				    "merge batches");
}
