// SPDX-License-Identifier: Apache-2.0
/*
 * Selecting walks over what is kept twice: to mark what it needs of the dictionary, and, when that
 * is made, to write it.
 */
#include "builder.h"
#include "profile.h"
#include "prune.h"

#include <errno.h>

struct selection {
	struct prune prune;
	const struct profile_kept *kept; /* borrowed; NULL: all, also what is empty */
	struct profcol_builder *builder; /* owned; NULL while marking */
};

static void selection_deinit(struct selection *selection)
{
	prune_deinit(&selection->prune);
	profcol_builder_destroy(selection->builder);
}

/* An id of the old dictionary: marked, or made one of the new. */
static void visit(struct selection *selection, enum profcol_table table, uint32_t *id)
{
	if (selection->builder)
		*id = prune_id(&selection->prune, table, *id);
	else
		prune_need(&selection->prune, table, *id);
}

static bool keeps_profile(const struct selection *selection, uint32_t row)
{
	return !selection->kept || selection->kept->profiles[row];
}

static bool keeps_scope(const struct selection *selection, uint32_t scope)
{
	struct profcol_range profiles;

	if (!selection->kept)
		return true;
	profcol_batch_scope(selection->prune.from, scope, &profiles);
	for (uint32_t row = profiles.begin; row < profiles.end; row++)
		if (keeps_profile(selection, row))
			return true;
	return false;
}

static bool keeps_resource(const struct selection *selection, struct profcol_range scopes)
{
	if (!selection->kept)
		return true;
	for (uint32_t row = scopes.begin; row < scopes.end; row++)
		if (keeps_scope(selection, row))
			return true;
	return false;
}

static void mark_sample(struct selection *selection, uint32_t row)
{
	const struct profcol_batch *from = selection->prune.from;

	prune_need(&selection->prune, PROFCOL_STACKS,
		   COLUMN(from, COLUMN_SAMPLE_STACK, uint32_t)[row]);
	prune_need(&selection->prune, PROFCOL_ATTRIBUTE_LISTS,
		   COLUMN(from, COLUMN_SAMPLE_ATTRIBUTES, uint32_t)[row]);
	prune_need(&selection->prune, PROFCOL_LINKS,
		   COLUMN(from, COLUMN_SAMPLE_LINK, uint32_t)[row]);
}

static void select_sample(struct selection *selection, uint32_t row)
{
	struct profcol_sample sample;

	if (!selection->builder) {
		mark_sample(selection, row);
		return;
	}
	sample = profcol_batch_sample(selection->prune.from, row);
	visit(selection, PROFCOL_STACKS, &sample.stack);
	visit(selection, PROFCOL_ATTRIBUTE_LISTS, &sample.attributes);
	visit(selection, PROFCOL_LINKS, &sample.link);
	profcol_builder_add_sample(selection->builder, &sample);
}

static bool loses_samples(const struct selection *selection, struct profcol_range samples)
{
	for (uint32_t i = samples.begin; selection->kept && i < samples.end; i++)
		if (!selection->kept->samples[i])
			return true;
	return false;
}

/* In the format that the profile came in, with all that it came with. */
static void clear_payload(struct profcol_profile *profile)
{
	profile->original_payload_format = 0;
	profile->original_payload = 0;
}

static void select_profile(struct selection *selection, uint32_t row)
{
	struct profcol_range samples;
	struct profcol_profile profile =
		profcol_batch_profile(selection->prune.from, row, &samples);

	if (loses_samples(selection, samples))
		clear_payload(&profile);
	visit(selection, PROFCOL_STRINGS, &profile.sample_type);
	visit(selection, PROFCOL_STRINGS, &profile.sample_unit);
	visit(selection, PROFCOL_STRINGS, &profile.period_type);
	visit(selection, PROFCOL_STRINGS, &profile.period_unit);
	visit(selection, PROFCOL_ATTRIBUTE_LISTS, &profile.attributes);
	visit(selection, PROFCOL_STRINGS, &profile.original_payload_format);
	visit(selection, PROFCOL_BLOBS, &profile.original_payload);
	if (selection->builder)
		profcol_builder_add_profile(selection->builder, &profile);
	for (uint32_t i = samples.begin; i < samples.end; i++)
		if (!selection->kept || selection->kept->samples[i])
			select_sample(selection, i);
}

static void select_scope(struct selection *selection, uint32_t row)
{
	struct profcol_range profiles;
	struct profcol_scope scope = profcol_batch_scope(selection->prune.from, row, &profiles);

	visit(selection, PROFCOL_STRINGS, &scope.name);
	visit(selection, PROFCOL_STRINGS, &scope.version);
	visit(selection, PROFCOL_ATTRIBUTE_LISTS, &scope.attributes);
	visit(selection, PROFCOL_STRINGS, &scope.schema_url);
	if (selection->builder)
		profcol_builder_add_scope(selection->builder, &scope);
	for (uint32_t i = profiles.begin; i < profiles.end; i++)
		if (keeps_profile(selection, i))
			select_profile(selection, i);
}

static void select_resource(struct selection *selection, uint32_t row)
{
	struct profcol_range scopes;
	struct profcol_resource resource =
		profcol_batch_resource(selection->prune.from, row, &scopes);

	if (!keeps_resource(selection, scopes))
		return;
	visit(selection, PROFCOL_ATTRIBUTE_LISTS, &resource.attributes);
	visit(selection, PROFCOL_STRINGS, &resource.schema_url);
	visit(selection, PROFCOL_BLOBS, &resource.entity_refs);
	if (selection->builder)
		profcol_builder_add_resource(selection->builder, &resource);
	for (uint32_t i = scopes.begin; i < scopes.end; i++)
		if (keeps_scope(selection, i))
			select_scope(selection, i);
}

static void select_all(struct selection *selection)
{
	uint32_t resources = profcol_batch_count(selection->prune.from, PROFCOL_RESOURCES);

	for (uint32_t row = 0; row < resources; row++)
		select_resource(selection, row);
}

static struct profcol_error *select_rows(const struct profcol_batch *batch,
					 const struct profile_kept *kept,
					 struct profcol_batch **ret)
{
	struct selection selection CLEANUP(selection_deinit) = { .kept = kept };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *dictionary = NULL;

	if (!prune_init(&selection.prune, batch))
		return profcol_error_errno(ENOMEM, "copy batch");
	select_all(&selection);
	dictionary = prune_make(&selection.prune);
	if (dictionary)
		selection.builder = profcol_builder_from(dictionary);
	if (!selection.builder)
		return profcol_error_errno(ENOMEM, "copy batch");
	select_all(&selection);
	return profcol_builder_seal(TAKE(selection.builder), ret);
}

struct profcol_error *profile_select(const struct profcol_batch *batch,
				     const struct profile_kept *kept, struct profcol_batch **ret)
{
	return profcol_error_prefix(select_rows(batch, kept, ret), "select samples");
}

struct profcol_error *profile_drop_unused(const struct profcol_batch *batch,
					  struct profcol_batch **ret)
{
	return profcol_error_prefix(select_rows(batch, NULL, ret), "drop unused entries");
}

void profile_mark_unused(struct profcol_builder *builder)
{
	builder->batch->has_unused = true;
}

struct profcol_error *profile_tidy(struct profcol_batch *batch, struct profcol_batch **ret)
{
	if (batch->has_unused)
		return profile_drop_unused(batch, ret);
	*ret = profcol_batch_ref(batch);
	return NULL;
}

void profile_clear_payloads(struct profcol_builder *builder)
{
	const struct profcol_batch *batch = builder->batch;
	const struct profile_row *rows = COLUMN(batch, COLUMN_PROFILE, struct profile_row);
	uint32_t count = column_length(batch, COLUMN_PROFILE);
	struct profile_row *own = NULL;

	for (uint32_t i = 0; i < count; i++) {
		if (!rows[i].profile.original_payload && !rows[i].profile.original_payload_format)
			continue;
		// The column is copied only when there is something to write.
		own = column_own(&builder->batch->columns[COLUMN_PROFILE], COLUMN_PROFILE);
		if (!own) {
			builder->out_of_memory = true;
			return;
		}
		rows = own;
		clear_payload(&own[i].profile);
	}
}
