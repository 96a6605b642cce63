// SPDX-License-Identifier: Apache-2.0
#include "query.h"

#include "base/base.h"
#include "flame/flame.h"
#include "profile/profile.h"

#include <errno.h>
#include <string.h>

/* Samples between two looks at the clock. */
enum { SAMPLES_PER_LOOK = 64 };

struct judging {
	const struct profcol_batch *batch; /* borrowed, as the next two */
	const struct selection *selection;
	struct query_result *result;
	struct ottl_run *run;        /* owned */
	uint8_t *profiles, *samples; /* owned; 0 = it goes */
	uint64_t deadline_ns;
};

static void judging_deinit(struct judging *judging)
{
	ottl_run_destroy(judging->run);
	free(judging->profiles);
	free(judging->samples);
}

static bool matches(struct judging *judging, const struct ottl_position *position)
{
	const struct selection *selection = judging->selection;

	for (size_t i = 0; i < selection->conditions.count; i++) {
		switch (ottl_evaluate(selection->conditions.items[i], judging->run, position)) {
		case OTTL_TRUE:
			continue;
		case OTTL_FALSE:
			return false;
		case OTTL_ERROR:
			if (!judging->result->failures++)
				snprintf(judging->result->message, sizeof(judging->result->message),
					 "%s", ottl_run_message(judging->run));
			return false;
		}
	}
	return true;
}

static struct profcol_error *judge_profile(struct judging *judging, struct ottl_position position)
{
	struct profcol_range samples;

	profcol_batch_profile(judging->batch, position.profile, &samples);
	for (uint32_t i = samples.begin; i < samples.end; i++) {
		if (i % SAMPLES_PER_LOOK == 0 && clock_monotonic_ns() > judging->deadline_ns)
			return profcol_error_create(PROFCOL_UNAVAILABLE,
						    "the query took too long; ask for a shorter "
						    "time, or by a simpler condition");
		position.sample = i;
		judging->samples[i] = matches(judging, &position);
		judging->profiles[position.profile] |= judging->samples[i];
	}
	return NULL;
}

static struct profcol_error *judge_all(struct judging *judging)
{
	const struct profcol_batch *batch = judging->batch;
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);
	struct profcol_error *error = NULL;
	struct profcol_range scopes, profiles;

	for (uint32_t i = 0; i < resources; i++) {
		profcol_batch_resource(batch, i, &scopes);
		for (uint32_t j = scopes.begin; j < scopes.end; j++) {
			profcol_batch_scope(batch, j, &profiles);
			for (uint32_t k = profiles.begin; k < profiles.end && !error; k++)
				error = judge_profile(judging,
						      (struct ottl_position){ i, j, k, 0 });
		}
	}
	return error;
}

static struct profcol_error *apply_conditions(const struct profcol_batch *batch,
					      const struct selection *selection,
					      uint64_t deadline_ns, struct profcol_batch **ret,
					      struct query_result *result)
{
	CLEANUP(judging_deinit)
	struct judging judging = {
		.batch = batch,
		.selection = selection,
		.result = result,
		.run = ottl_run_create(batch),
		.profiles = calloc(profcol_batch_count(batch, PROFCOL_PROFILES) + 1, 1),
		.samples = calloc(profcol_batch_count(batch, PROFCOL_SAMPLES) + 1, 1),
		.deadline_ns = deadline_ns,
	};
	struct profcol_error *error;

	if (!judging.run || !judging.profiles || !judging.samples)
		return profcol_error_errno(ENOMEM, "answer a query");
	error = judge_all(&judging);
	if (error)
		return error;
	return profile_select(batch, &(struct profile_kept){ judging.profiles, judging.samples },
			      ret);
}

struct profcol_error *query_batch(const struct history *history, const struct selection *selection,
				  uint64_t deadline_ns, struct profcol_batch **ret,
				  struct query_result *result)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *all = NULL;
	struct profcol_error *error;

	*result = (struct query_result){ 0 };
	error = history_read(history, selection->range, &all, &result->covered);
	if (error)
		return error;
	if (selection->conditions.count)
		return apply_conditions(all, selection, deadline_ns, ret, result);
	return profile_drop_unused(all, ret);
}

/* The kind of sample that is kept under the name @type, or where that is NULL, the first one. */
static void find_kind(const struct history *history, const struct parameters *parameters,
		      struct flame_settings *settings)
{
	size_t count = history_kind_count(history);

	for (size_t i = 0; i < count; i++) {
		struct history_kind kind = history_kind(history, i);

		if ((parameters->type && strcmp(parameters->type, kind.type) != 0) ||
		    (parameters->unit && strcmp(parameters->unit, kind.unit) != 0))
			continue;
		settings->type = kind.type;
		settings->unit = kind.unit;
		return;
	}
	settings->type = parameters->type ? parameters->type : "";
	settings->unit = parameters->unit ? parameters->unit : "";
}

static struct profcol_error *add_side(const struct history *history,
				      const struct selection *selection, uint64_t deadline_ns,
				      struct flame *flame, enum flame_side side,
				      struct query_result *result)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_error *error = query_batch(history, selection, deadline_ns, &batch, result);

	return error ? error : flame_add(flame, batch, side, deadline_ns);
}

struct profcol_error *query_flame(const struct history *history,
				  const struct parameters *parameters, uint64_t deadline_ns,
				  struct flame **ret, struct query_result *result,
				  struct query_result *base_result)
{
	struct flame_settings settings = { .group = parameters->group };
	FLAME_CLEANUP struct flame *flame = NULL;
	struct profcol_error *error;

	find_kind(history, parameters, &settings);
	flame = flame_create(&settings);
	if (!flame)
		return profcol_error_errno(ENOMEM, "answer a query");
	error = add_side(history, &parameters->now, deadline_ns, flame, FLAME_NOW, result);
	if (!error && parameters->has_base)
		error = add_side(history, &parameters->base, deadline_ns, flame, FLAME_BASE,
				 base_result);
	if (!error)
		*ret = TAKE(flame);
	return error;
}
