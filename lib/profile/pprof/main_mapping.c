// SPDX-License-Identifier: Apache-2.0
#include "main_mapping.h"

#include "keys.h"

#include "../profile.h"

#include "base/base.h"

#include <string.h>

/* A program, by the string of its name. */
struct program {
	uint32_t name;
	uint64_t samples;
};

static uint64_t resource_samples(const struct profcol_batch *batch, struct profcol_range scopes)
{
	struct profcol_range profiles, samples;
	uint64_t count = 0;

	for (uint32_t i = scopes.begin; i < scopes.end; i++) {
		profcol_batch_scope(batch, i, &profiles);
		for (uint32_t j = profiles.begin; j < profiles.end; j++) {
			bool counts = profile_counts_samples(batch, j);

			profcol_batch_profile(batch, j, &samples);
			for (uint32_t k = samples.begin; k < samples.end; k++) {
				struct profcol_sample sample = profcol_batch_sample(batch, k);

				count += profile_sample_events(&sample, counts);
			}
		}
	}
	return count;
}

/* Whoever could have more than half: the one candidate of Boyer and Moore's majority vote. */
static struct program find_candidate(const struct profcol_batch *batch, uint64_t *total_ret)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_RESOURCES);
	struct program candidate = { 0 };

	*total_ret = 0;
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range scopes;
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);
		uint64_t samples = resource_samples(batch, scopes);
		struct profcol_value name = { 0 };

		attribute_find(batch, resource.attributes, KEY_EXECUTABLE_NAME,
			       PROFCOL_VALUE_STRING, &name);
		*total_ret += samples;
		if (candidate.name == name.string)
			candidate.samples += samples;
		else if (candidate.samples >= samples)
			candidate.samples -= samples;
		else
			candidate = (struct program){ name.string, samples - candidate.samples };
	}
	return candidate;
}

/* What resources of @name have in all. */
static uint64_t count_samples(const struct profcol_batch *batch, uint32_t name)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_RESOURCES);
	uint64_t samples = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range scopes;
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);
		struct profcol_value found = { 0 };

		if (attribute_find(batch, resource.attributes, KEY_EXECUTABLE_NAME,
				   PROFCOL_VALUE_STRING, &found) &&
		    found.string == name)
			samples += resource_samples(batch, scopes);
	}
	return samples;
}

static bool is_called(const struct profcol_batch *batch, uint32_t mapping, const char *name)
{
	uint32_t filename = profcol_batch_mapping(batch, mapping).filename;
	const char *path = profcol_batch_string(batch, filename).bytes;
	const char *slash = strrchr(path, '/');

	return !strcmp(slash ? slash + 1 : path, name);
}

uint32_t main_mapping(const struct profcol_batch *batch)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_MAPPINGS);
	struct program candidate;
	const char *name;
	uint64_t total;

	candidate = find_candidate(batch, &total);
	if (!candidate.name || count_samples(batch, candidate.name) <= total / 2)
		return 0;
	name = profcol_batch_string(batch, candidate.name).bytes;
	for (uint32_t i = 1; i < count; i++)
		if (is_called(batch, i, name))
			return i;
	return 0;
}
