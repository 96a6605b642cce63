// SPDX-License-Identifier: Apache-2.0
#include "front.h"

#include "import.h"

#include <errno.h>

uint32_t front_observations(const struct profcol_sample *sample)
{
	return sample->timestamp_count ? sample->timestamp_count : sample->value_count;
}

struct front front_of(const struct profcol_batch *batch, uint32_t samples, uint32_t observations)
{
	struct front front = {
		.resources = profcol_batch_count(batch, PROFCOL_RESOURCES),
		.scopes = profcol_batch_count(batch, PROFCOL_SCOPES),
		.profiles = profcol_batch_count(batch, PROFCOL_PROFILES),
		.samples = samples,
		.observations = observations,
	};
	uint32_t touched = samples + (observations > 0);

	if (samples == profcol_batch_count(batch, PROFCOL_SAMPLES))
		return front;
	// Up to the first row of each table that reaches as far as the row below it.
	front.resources = front.scopes = front.profiles = 0;
	if (!touched)
		return front;
	while (COLUMN(batch, COLUMN_PROFILE, struct profile_row)[front.profiles++].samples_end <
	       touched)
		;
	while (COLUMN(batch, COLUMN_SCOPE, struct scope_row)[front.scopes++].profiles_end <
	       front.profiles)
		;
	while (COLUMN(batch, COLUMN_RESOURCE, struct resource_row)[front.resources++].scopes_end <
	       front.scopes)
		;
	return front;
}

static uint32_t least(uint32_t left, uint32_t right)
{
	return left < right ? left : right;
}

static void front_import_profile(struct import *import, const struct front *front, uint32_t row)
{
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(import->from, row, &samples);

	profile = import_profile(import, &profile);
	profcol_builder_add_profile(import->to, &profile);
	import_samples(import, samples.begin, least(samples.end, front->samples));
	if (front->observations && front->samples >= samples.begin &&
	    front->samples < samples.end) {
		struct profcol_sample sample = profcol_batch_sample(import->from, front->samples);

		sample.value_count = least(sample.value_count, front->observations);
		sample.timestamp_count = least(sample.timestamp_count, front->observations);
		import_sample(import, &sample);
	}
}

static void front_import_scope(struct import *import, const struct front *front, uint32_t row)
{
	struct profcol_range profiles;
	struct profcol_scope scope = profcol_batch_scope(import->from, row, &profiles);

	scope = import_scope(import, &scope);
	profcol_builder_add_scope(import->to, &scope);
	for (uint32_t i = profiles.begin; i < least(profiles.end, front->profiles); i++)
		front_import_profile(import, front, i);
}

static void front_import(struct import *import, const struct front *front)
{
	for (uint32_t row = 0; row < front->resources; row++) {
		struct profcol_range scopes;
		struct profcol_resource resource =
			profcol_batch_resource(import->from, row, &scopes);

		resource = import_resource(import, &resource);
		profcol_builder_add_resource(import->to, &resource);
		for (uint32_t i = scopes.begin; i < least(scopes.end, front->scopes); i++)
			front_import_scope(import, front, i);
	}
}

/* Did all rows of all tables come along? Then the copy differs in their order at most. */
static bool front_is_all(const struct profcol_batch *batch, const struct front *front,
			 const struct profcol_batch *extracted)
{
	if (front->observations)
		return false;
	for (unsigned int table = 0; table < ALL_TABLES; table++)
		if (profcol_batch_count(batch, table) != profcol_batch_count(extracted, table))
			return false;
	return true;
}

static void front_share(struct profcol_batch *to, const struct profcol_batch *from)
{
	for (unsigned int id = 0; id < COLUMN_COUNT; id++)
		column_share(&to->columns[id], &from->columns[id]);
	sealed_index_unref(to->index);
	to->index = sealed_index_ref(from->index);
}

struct profcol_error *front_extract(const struct profcol_batch *batch, struct front front,
				    struct profcol_batch **ret)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_error *error;
	struct import import;

	if (!builder || !import_init(&import, batch, builder)) {
		profcol_builder_destroy(builder);
		return profcol_error_errno(ENOMEM, "copy batch");
	}
	front_import(&import, &front);
	import_deinit(&import);
	error = profcol_builder_seal(builder, ret);
	if (!error && front_is_all(batch, &front, *ret))
		front_share(*ret, batch);
	return error;
}
