// SPDX-License-Identifier: Apache-2.0
#include "hottest.h"

#include "frame.h"
#include "text.h"

#include "base/base.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_MAX = 16 }; /* tables a batch may give; real ones have one or two */

struct hot_function {
	struct frame frame;
	uint64_t flat, cumulative;
	uint32_t last_stack; /* id + 1 of the stack that was counted last; 0 = none */
};

struct hottest {
	const struct profcol_batch *batch; /* borrowed */
	VECTOR(struct hot_function) functions;
	struct intern index; /* frame to position in functions */
	uint64_t *weights;   /* by stack id; owned */
	uint32_t stack_count;
	uint64_t total;
};

struct kind {
	uint32_t type, unit; /* string ids */
};

static void hottest_deinit(struct hottest *hottest)
{
	VECTOR_DEINIT(&hottest->functions);
	intern_deinit(&hottest->index);
	free(hottest->weights);
}

static uint64_t add_saturating(uint64_t left, uint64_t right)
{
	return left > UINT64_MAX - right ? UINT64_MAX : left + right;
}

/* What a sample weighs: its values, or one for each timestamp. Negative values do not count. */
static uint64_t hottest_sample_weight(const struct profcol_sample *sample)
{
	uint64_t weight = 0;

	if (!sample->value_count)
		return sample->timestamp_count;
	for (uint32_t i = 0; i < sample->value_count; i++)
		if (sample->values[i] > 0)
			weight = add_saturating(weight, (uint64_t)sample->values[i]);
	return weight;
}

static void hottest_weigh_stacks(struct hottest *hottest, struct kind kind)
{
	uint32_t profile_count = profcol_batch_count(hottest->batch, PROFCOL_PROFILES);

	for (uint32_t i = 0; i < profile_count; i++) {
		struct profcol_range samples;
		struct profcol_profile profile = profcol_batch_profile(hottest->batch, i, &samples);

		if (profile.sample_type != kind.type || profile.sample_unit != kind.unit)
			continue;
		for (uint32_t j = samples.begin; j < samples.end; j++) {
			struct profcol_sample sample = profcol_batch_sample(hottest->batch, j);
			uint64_t weight = hottest_sample_weight(&sample);

			hottest->total = add_saturating(hottest->total, weight);
			if (sample.stack < hottest->stack_count)
				hottest->weights[sample.stack] =
					add_saturating(hottest->weights[sample.stack], weight);
		}
	}
}

struct frame_lookup {
	const struct hottest *hottest;
	struct frame frame;
};

static bool hottest_frame_equal(uint32_t id, const void *context)
{
	const struct frame_lookup *lookup = context;
	struct frame frame = lookup->hottest->functions.items[id].frame;

	return frame.name == lookup->frame.name && frame.file == lookup->frame.file;
}

/* NULL without memory. */
static struct hot_function *hottest_function(struct hottest *hottest, struct frame frame)
{
	struct frame_lookup lookup = { .hottest = hottest, .frame = frame };
	uint32_t hash = intern_hash(&frame, sizeof(frame));
	uint32_t id = intern_find(&hottest->index, hash, hottest_frame_equal, &lookup);

	if (id == INTERN_MISSING) {
		id = (uint32_t)hottest->functions.count;
		if (!VECTOR_PUSH(&hottest->functions, (struct hot_function){ .frame = frame }) ||
		    !intern_insert(&hottest->index, hash, id))
			return NULL;
	}
	return &hottest->functions.items[id];
}

/* Give the weight of stack @id to its functions. False without memory. */
static bool hottest_count_stack(struct hottest *hottest, uint32_t id)
{
	uint64_t weight = hottest->weights[id];
	uint32_t count;
	const uint32_t *locations = profcol_batch_stack(hottest->batch, id, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_location location =
			profcol_batch_location(hottest->batch, locations[i]);

		for (uint32_t j = 0; !j || j < location.line_count; j++) {
			struct hot_function *function = hottest_function(
				hottest, frame_of_location(hottest->batch, &location, j));

			if (!function)
				return false;
			if (!i && !j)
				function->flat = add_saturating(function->flat, weight);
			if (function->last_stack == id + 1)
				continue;
			function->last_stack = id + 1;
			function->cumulative = add_saturating(function->cumulative, weight);
		}
	}
	return true;
}

/* Flat, then cumulative, largest first; then by name, so that equal input prints equal text. */
static int hottest_compare(const void *left, const void *right, void *context)
{
	const struct hot_function *a = left, *b = right;
	const struct profcol_batch *batch = context;
	int order;

	if (a->flat != b->flat)
		return a->flat > b->flat ? -1 : 1;
	if (a->cumulative != b->cumulative)
		return a->cumulative > b->cumulative ? -1 : 1;
	order = strcmp(profcol_batch_string(batch, a->frame.name).bytes,
		       profcol_batch_string(batch, b->frame.name).bytes);
	if (order)
		return order;
	return strcmp(profcol_batch_string(batch, a->frame.file).bytes,
		      profcol_batch_string(batch, b->frame.file).bytes);
}

static void hottest_add_table(struct text *text, const struct hottest *hottest, struct kind kind,
			      uint32_t limit)
{
	double percent = hottest->total ? 100.0 / (double)hottest->total : 0;
	const struct profcol_batch *batch = hottest->batch;

	text_add(text, "Hottest functions by ");
	text_add_string(text, profcol_batch_string(batch, kind.type));
	text_add(text, " (");
	text_add_string(text, profcol_batch_string(batch, kind.unit));
	text_add(text, "), %" PRIu64 " in all\n", hottest->total);
	text_add(text, "%12s %7s %12s %7s  function\n", "flat", "flat%", "cum", "cum%");
	for (size_t i = 0; i < hottest->functions.count && i < limit && !text->cut; i++) {
		const struct hot_function *function = &hottest->functions.items[i];

		text_add(text, "%12" PRIu64 " %6.2f%% %12" PRIu64 " %6.2f%%  ", function->flat,
			 (double)function->flat * percent, function->cumulative,
			 (double)function->cumulative * percent);
		frame_add(text, batch, function->frame);
		text_add(text, "\n");
	}
}

static struct profcol_error *hottest_print_kind(struct text *text,
						const struct profcol_batch *batch, struct kind kind,
						uint32_t limit)
{
	CLEANUP(hottest_deinit)
	struct hottest hottest = {
		.batch = batch,
		.stack_count = profcol_batch_count(batch, PROFCOL_STACKS),
	};

	hottest.weights = calloc((size_t)hottest.stack_count + 1, sizeof(*hottest.weights));
	if (!hottest.weights)
		return profcol_error_errno(ENOMEM, "find the hottest functions");
	hottest_weigh_stacks(&hottest, kind);
	for (uint32_t id = 0; id < hottest.stack_count; id++)
		if (hottest.weights[id] && !hottest_count_stack(&hottest, id))
			return profcol_error_errno(ENOMEM, "find the hottest functions");
	if (hottest.functions.count)
		qsort_r(hottest.functions.items, hottest.functions.count,
			sizeof(*hottest.functions.items), hottest_compare,
			(void *)(uintptr_t)batch);
	hottest_add_table(text, &hottest, kind, limit);
	return NULL;
}

struct profcol_error *hottest_print(struct text *text, const struct profcol_batch *batch,
				    uint32_t limit)
{
	uint32_t profile_count = profcol_batch_count(batch, PROFCOL_PROFILES), kind_count = 0;
	struct kind kinds[KINDS_MAX];
	struct profcol_error *error = NULL;

	for (uint32_t i = 0; i < profile_count && kind_count < KINDS_MAX; i++) {
		struct profcol_range samples;
		struct profcol_profile profile = profcol_batch_profile(batch, i, &samples);
		uint32_t known = 0;

		while (known < kind_count && (kinds[known].type != profile.sample_type ||
					      kinds[known].unit != profile.sample_unit))
			known++;
		if (known < kind_count || samples.begin == samples.end)
			continue;
		kinds[kind_count++] = (struct kind){ profile.sample_type, profile.sample_unit };
	}
	for (uint32_t i = 0; i < kind_count && !error; i++)
		error = hottest_print_kind(text, batch, kinds[i], limit);
	return error;
}
