// SPDX-License-Identifier: Apache-2.0
/* profile_select() over random batches, and edits of dictionary entries. */
#include "random_batch.h"

#include "profile/builder.h"
#include "profile/profile.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SEEDS = 200 };

/* Rows of profiles and samples, each kept or not as @seed draws. */
struct choice {
	uint8_t *profiles, *samples;
};

static uint8_t *draw(uint32_t count, unsigned int *seed)
{
	uint8_t *rows = malloc((size_t)count + 1);

	assert_non_null(rows);
	for (uint32_t i = 0; i < count; i++)
		rows[i] = rand_r(seed) % 3 != 0;
	return rows;
}

static struct choice choice_create(const struct profcol_batch *batch, unsigned int seed)
{
	return (struct choice){
		.profiles = draw(profcol_batch_count(batch, PROFCOL_PROFILES), &seed),
		.samples = draw(profcol_batch_count(batch, PROFCOL_SAMPLES), &seed),
	};
}

static void choice_deinit(struct choice *choice)
{
	free(choice->profiles);
	free(choice->samples);
}

static struct profcol_batch *select_rows(const struct profcol_batch *batch,
					 const struct choice *choice)
{
	const struct profile_kept kept = { choice->profiles, choice->samples };
	struct profcol_batch *selected = NULL;

	assert_null(profile_select(batch, &kept, &selected));
	return selected;
}

/* How many observations profile_print() shows of the chosen samples of one profile. */
static uint64_t chosen_events(const struct profcol_batch *batch, const struct choice *choice)
{
	uint64_t events = 0;

	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_PROFILES); i++) {
		struct profcol_range range;

		profcol_batch_profile(batch, i, &range);
		for (uint32_t row = range.begin; row < range.end && choice->profiles[i]; row++) {
			struct profcol_sample sample = profcol_batch_sample(batch, row);

			if (choice->samples[row])
				events += profile_sample_events(&sample,
								profile_counts_samples(batch, i));
		}
	}
	return events;
}

static uint32_t count_ones(const uint8_t *rows, uint32_t count)
{
	uint32_t ones = 0;

	for (uint32_t i = 0; i < count; i++)
		ones += rows[i];
	return ones;
}

/* Profiles that lose samples lose their payloads: for a comparison of the rest, all do. */
static struct profcol_batch *without_payloads(struct profcol_batch *batch)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	struct profcol_batch *made = NULL;

	assert_non_null(builder);
	profile_clear_payloads(builder);
	assert_null(profcol_builder_seal(builder, &made));
	profcol_batch_unref(batch);
	return made;
}

/* What is kept and what is not are all: as observations, none changed, none twice. */
static void the_chosen_and_the_others_are_all(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *left = NULL, *right = NULL;
		struct choice choice CLEANUP(choice_deinit) = choice_create(batch, seed);
		struct observations all = { 0 }, both = { 0 };
		uint32_t profiles = profcol_batch_count(batch, PROFCOL_PROFILES);
		uint32_t samples = profcol_batch_count(batch, PROFCOL_SAMPLES);

		memset(choice.profiles, 1, profiles);
		left = without_payloads(select_rows(batch, &choice));
		assert_int_equal(profcol_batch_count(left, PROFCOL_SAMPLES),
				 count_ones(choice.samples, samples));
		assert_int_equal(profcol_batch_events(left), chosen_events(batch, &choice));
		for (uint32_t i = 0; i < samples; i++)
			choice.samples[i] = !choice.samples[i];
		right = without_payloads(select_rows(batch, &choice));
		batch = without_payloads(TAKE(batch));
		observations_add(&all, batch);
		observations_add(&both, left);
		observations_add(&both, right);
		assert_true(observations_equal(&all, &both));
		observations_deinit(&all);
		observations_deinit(&both);
	}
}

static void profiles_go_with_their_samples(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *selected = NULL;
		struct choice choice CLEANUP(choice_deinit) = choice_create(batch, seed);
		struct profcol_range range;

		selected = select_rows(batch, &choice);
		assert_int_equal(
			profcol_batch_count(selected, PROFCOL_PROFILES),
			count_ones(choice.profiles, profcol_batch_count(batch, PROFCOL_PROFILES)));
		assert_int_equal(profcol_batch_events(selected), chosen_events(batch, &choice));
		for (uint32_t i = 0; i < profcol_batch_count(selected, PROFCOL_SCOPES); i++) {
			profcol_batch_scope(selected, i, &range);
			assert_true(range.begin < range.end);
		}
		for (uint32_t i = 0; i < profcol_batch_count(selected, PROFCOL_RESOURCES); i++) {
			profcol_batch_resource(selected, i, &range);
			assert_true(range.begin < range.end);
		}
	}
}

/* Nothing that a row of the tree does not lead to. */
static void what_is_left_is_compact(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *selected = NULL, *compacted = NULL;
		struct choice choice CLEANUP(choice_deinit) = choice_create(batch, seed);

		selected = select_rows(batch, &choice);
		assert_null(profile_compact(selected, &compacted));
		for (unsigned int table = PROFCOL_STRINGS; table <= PROFCOL_SAMPLES; table++)
			assert_int_equal(profcol_batch_count(selected, table),
					 profcol_batch_count(compacted, table));
	}
}

/* A seal that takes nothing for checked finds nothing wrong. */
static void assert_valid(const struct profcol_batch *batch)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *copy = NULL;

	memset(builder->checked, 0, sizeof(builder->checked));
	assert_null(profcol_builder_seal(builder, &copy));
}

static void every_id_names_a_row(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *selected = NULL;
		struct choice choice CLEANUP(choice_deinit) = choice_create(batch, seed);

		selected = select_rows(batch, &choice);
		assert_valid(selected);
	}
}

/* Dropping what is unused says the same as compacting, in the old order. */
static void only_what_is_unused_is_dropped(void **state)
{
	(void)state;
	for (unsigned int seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *larger = NULL, *dropped = NULL;
		PROFCOL_CLEANUP_BATCH struct profcol_batch *compacted = NULL;
		struct profcol_builder *builder = profcol_builder_from(batch);
		CLEANUP_FREE char *before = NULL;
		CLEANUP_FREE char *after = NULL;

		profcol_builder_cstring(builder, "nobody needs this");
		profcol_builder_attribute_int(builder, "nor this", 7);
		assert_null(profcol_builder_seal(builder, &larger));
		assert_null(profile_drop_unused(larger, &dropped));
		assert_null(profile_compact(batch, &compacted));
		assert_valid(dropped);
		before = batch_text(batch);
		after = batch_text(dropped);
		assert_string_equal(before, after);
		for (unsigned int table = PROFCOL_STRINGS; table <= PROFCOL_SAMPLES; table++)
			assert_int_equal(profcol_batch_count(dropped, table),
					 profcol_batch_count(compacted, table));
	}
}

static void nothing_is_an_empty_batch(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(1);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *selected = NULL;
	struct choice choice CLEANUP(choice_deinit) = choice_create(batch, 1);

	(void)state;
	memset(choice.profiles, 0, profcol_batch_count(batch, PROFCOL_PROFILES));
	selected = select_rows(batch, &choice);
	for (unsigned int table = PROFCOL_STRINGS; table <= PROFCOL_LINKS; table++)
		assert_int_equal(profcol_batch_count(selected, table), 1);
	for (unsigned int table = PROFCOL_RESOURCES; table <= PROFCOL_SAMPLES; table++)
		assert_int_equal(profcol_batch_count(selected, table), 0);
}

/* ---- entries of the dictionary ---- */

/* Two mappings, one location in each. */
static struct profcol_batch *two_mappings(void)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;

	assert_non_null(builder);
	for (int64_t i = 1; i <= 2; i++) {
		const uint32_t id = profcol_builder_attribute_int(builder, "id", i);
		const struct profcol_mapping mapping = {
			.attributes = profcol_builder_attribute_list(builder, &id, 1),
		};
		const struct profcol_location location = {
			.mapping = profcol_builder_mapping(builder, &mapping),
			.attributes = mapping.attributes,
		};

		profcol_builder_location(builder, &location);
	}
	assert_null(profcol_builder_seal(builder, &batch));
	return batch;
}

static void edited_entries_are_found_by_what_they_are_now(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = two_mappings();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *edited = NULL;
	struct profcol_builder *builder = profcol_builder_from(batch);
	const struct profcol_mapping before = profcol_batch_mapping(batch, 2);
	const struct profcol_location location_before = profcol_batch_location(batch, 2);
	const uint32_t id = profcol_builder_attribute_int(builder, "id", 3);
	uint32_t list = profcol_builder_attribute_list(builder, &id, 1);

	(void)state;
	// Both tables have been looked up before the edit.
	assert_int_equal(profcol_builder_mapping(builder, &before), 2);
	assert_int_equal(profcol_builder_location(builder, &location_before), 2);
	profcol_builder_set_mapping_attributes(builder, 2, list);
	profcol_builder_set_location_attributes(builder, 2, list);
	assert_int_equal(
		profcol_builder_mapping(builder, &(struct profcol_mapping){ .attributes = list }),
		2);
	assert_int_equal(profcol_builder_mapping(builder, &before), 3);
	assert_int_equal(
		profcol_builder_location(
			builder, &(struct profcol_location){ .mapping = 2, .attributes = list }),
		2);
	assert_null(profcol_builder_seal(builder, &edited));
	assert_int_equal(profcol_batch_mapping(edited, 2).attributes, list);
	assert_int_equal(profcol_batch_mapping(batch, 2).attributes, before.attributes);
	assert_int_equal(profcol_batch_location(batch, 2).attributes, before.attributes);
}

static void edits_are_checked(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = two_mappings();
	struct profcol_batch *edited = NULL;
	struct profcol_builder *builder = profcol_builder_from(batch);
	PROFCOL_CLEANUP_ERROR struct profcol_error *bad_list = NULL, *bad_row = NULL;

	(void)state;
	profcol_builder_set_mapping_attributes(builder, 1, 99);
	bad_list = profcol_builder_seal(builder, &edited);
	assert_int_equal(profcol_error_code(bad_list), PROFCOL_BAD_DATA);
	builder = profcol_builder_from(batch);
	profcol_builder_set_location_attributes(builder, 99, 0);
	bad_row = profcol_builder_seal(builder, &edited);
	assert_int_equal(profcol_error_code(bad_row), PROFCOL_BAD_DATA);
}

static void the_zero_value_stays(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = two_mappings();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *edited = NULL;
	struct profcol_builder *builder = profcol_builder_from(batch);

	(void)state;
	profcol_builder_set_mapping_attributes(builder, 0, 1);
	profcol_builder_set_location_attributes(builder, 0, 1);
	assert_null(profcol_builder_seal(builder, &edited));
	assert_int_equal(profcol_batch_mapping(edited, 0).attributes, 0);
	assert_int_equal(profcol_batch_location(edited, 0).attributes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_chosen_and_the_others_are_all),
		cmocka_unit_test(profiles_go_with_their_samples),
		cmocka_unit_test(what_is_left_is_compact),
		cmocka_unit_test(every_id_names_a_row),
		cmocka_unit_test(only_what_is_unused_is_dropped),
		cmocka_unit_test(nothing_is_an_empty_batch),
		cmocka_unit_test(edited_entries_are_found_by_what_they_are_now),
		cmocka_unit_test(edits_are_checked),
		cmocka_unit_test(the_zero_value_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
