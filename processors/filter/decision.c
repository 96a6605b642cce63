// SPDX-License-Identifier: Apache-2.0
#include "decision.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

struct judging {
	struct decision *decision;
	const struct conditions *conditions;
	const struct profcol_batch *batch;
	struct ottl_run *run; /* owned */
	struct look *look;    /* owned; NULL: nothing is selected */
	struct ottl_position position;
	uint32_t resource_attributes;
};

static void judging_deinit(struct judging *judging)
{
	ottl_run_destroy(judging->run);
	look_destroy(judging->look);
}

void decision_deinit(struct decision *decision)
{
	free(decision->profiles);
	free(decision->samples);
}

static bool is_refused(const struct judging *judging)
{
	return judging->decision->failures.refused;
}

static bool matches(struct judging *judging, enum ottl_context context)
{
	return conditions_match(judging->conditions, context, judging->run, &judging->position,
				&judging->decision->failures);
}

static void drop_sample(struct judging *judging, uint32_t row, const struct profcol_sample *sample,
			bool counts_samples, enum cause cause)
{
	struct decision *decision = judging->decision;

	decision->samples[row] = 0;
	decision->events[cause] += profile_sample_events(sample, counts_samples);
	decision->drops = true;
}

/* All of the profile, because of a condition on it or above it. */
static void drop_profile(struct judging *judging, uint32_t profile)
{
	bool counts_samples = profile_counts_samples(judging->batch, profile);
	struct profcol_range samples;

	profcol_batch_profile(judging->batch, profile, &samples);
	for (uint32_t row = samples.begin; row < samples.end; row++) {
		struct profcol_sample sample = profcol_batch_sample(judging->batch, row);

		drop_sample(judging, row, &sample, counts_samples, CAUSE_CONDITION);
	}
	judging->decision->profiles[profile] = 0;
	judging->decision->drops = true;
}

static bool is_dropped(struct judging *judging, uint32_t row, const struct profcol_sample *sample,
		       enum cause *ret)
{
	judging->position.sample = row;
	*ret = CAUSE_CONDITION;
	if (matches(judging, OTTL_SAMPLE))
		return true;
	if (!judging->look)
		return false;
	switch (look_at(judging->look, judging->resource_attributes, sample)) {
	case LOOK_KEPT:
		return false;
	case LOOK_NOT_INCLUDED:
		*ret = CAUSE_NOT_INCLUDED;
		return true;
	case LOOK_EXCLUDED:
		break;
	}
	*ret = CAUSE_EXCLUDED;
	return true;
}

static void judge_samples(struct judging *judging, uint32_t profile, struct profcol_range samples)
{
	bool counts_samples = profile_counts_samples(judging->batch, profile);
	uint32_t kept = 0;

	if (!judging->look && !conditions_has(judging->conditions, OTTL_SAMPLE))
		return;
	for (uint32_t row = samples.begin; row < samples.end && !is_refused(judging); row++) {
		struct profcol_sample sample = profcol_batch_sample(judging->batch, row);
		enum cause cause;

		if (is_dropped(judging, row, &sample, &cause))
			drop_sample(judging, row, &sample, counts_samples, cause);
		else
			kept++;
	}
	// What was empty before stays: nothing says that it should go.
	if (!kept && samples.begin < samples.end)
		judging->decision->profiles[profile] = 0;
}

static void judge_profile(struct judging *judging, uint32_t profile, bool is_doomed)
{
	struct profcol_range samples;

	judging->position.profile = profile;
	profcol_batch_profile(judging->batch, profile, &samples);
	if (is_doomed || matches(judging, OTTL_PROFILE))
		drop_profile(judging, profile);
	else
		judge_samples(judging, profile, samples);
}

static void judge_scope(struct judging *judging, uint32_t scope, bool is_doomed)
{
	struct profcol_range profiles;

	judging->position.scope = scope;
	is_doomed = is_doomed || matches(judging, OTTL_SCOPE);
	profcol_batch_scope(judging->batch, scope, &profiles);
	for (uint32_t row = profiles.begin; row < profiles.end && !is_refused(judging); row++)
		judge_profile(judging, row, is_doomed);
}

static void judge_resource(struct judging *judging, uint32_t resource)
{
	bool is_doomed;
	struct profcol_range scopes;

	judging->position.resource = resource;
	judging->resource_attributes =
		profcol_batch_resource(judging->batch, resource, &scopes).attributes;
	is_doomed = matches(judging, OTTL_RESOURCE);
	for (uint32_t row = scopes.begin; row < scopes.end && !is_refused(judging); row++)
		judge_scope(judging, row, is_doomed);
}

/* An array of ones; NULL without memory. */
static uint8_t *all_kept(uint32_t count)
{
	uint8_t *rows = malloc((size_t)count + 1);

	return rows ? memset(rows, 1, (size_t)count + 1) : NULL;
}

struct profcol_error *decision_make(struct decision *decision, const struct conditions *conditions,
				    const struct selection *selection,
				    const struct profcol_batch *batch)
{
	struct judging judging CLEANUP(judging_deinit) = {
		.decision = decision,
		.conditions = conditions,
		.batch = batch,
		.run = ottl_run_create(batch),
	};
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);

	*decision = (struct decision){
		.profiles = all_kept(profcol_batch_count(batch, PROFCOL_PROFILES)),
		.samples = all_kept(profcol_batch_count(batch, PROFCOL_SAMPLES)),
	};
	if (!selection_is_empty(selection))
		judging.look = look_create(selection, batch);
	if (!judging.run || !decision->profiles || !decision->samples ||
	    (!judging.look && !selection_is_empty(selection)))
		return profcol_error_create(PROFCOL_NO_MEMORY, "filter: out of memory");
	for (uint32_t row = 0; row < resources && !is_refused(&judging); row++)
		judge_resource(&judging, row);
	return NULL;
}
