// SPDX-License-Identifier: Apache-2.0
/* Merge, split and compact over random batches. */
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

/* Byte for byte the same text, so the same order of observations. */
static void assert_same_text(uint64_t seed, const struct profcol_batch *left,
			     const struct profcol_batch *right)
{
	CLEANUP_FREE char *left_text = batch_text(left);
	CLEANUP_FREE char *right_text = batch_text(right);

	if (strcmp(left_text, right_text))
		fail_msg("seed %lu: texts differ", (unsigned long)seed);
}

/* A seal that takes nothing for checked finds nothing wrong. */
static void assert_valid(const struct profcol_batch *batch)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *copy = NULL;

	memset(builder->checked, 0, sizeof(builder->checked));
	assert_null(profcol_builder_seal(builder, &copy));
}

static struct profcol_batch *compact(const struct profcol_batch *batch)
{
	struct profcol_batch *compacted = NULL;

	assert_null(profile_compact(batch, &compacted));
	return compacted;
}

static bool same_counts(const struct profcol_batch *left, const struct profcol_batch *right)
{
	for (unsigned int table = PROFCOL_STRINGS; table <= PROFCOL_SAMPLES; table++)
		if (profcol_batch_count(left, table) != profcol_batch_count(right, table))
			return false;
	return true;
}

static void sealed_copy_is_the_batch(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *copy = NULL;

		assert_null(profcol_builder_seal(profcol_builder_from(batch), &copy));
		assert_true(same_counts(batch, copy));
		assert_same_text(seed, batch, copy);
	}
}

/* ---- compact ---- */

/* Every id that a table holds, marked in the table it points to. */
struct used {
	bool *rows[PROFCOL_LINKS + 1];
};

static void use_list(struct used *used, const struct profcol_batch *batch, uint32_t list)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	used->rows[PROFCOL_ATTRIBUTE_LISTS][list] = true;
	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		used->rows[PROFCOL_ATTRIBUTES][ids[i]] = true;
		used->rows[PROFCOL_STRINGS][attribute.key] = true;
		used->rows[PROFCOL_STRINGS][attribute.unit] = true;
		if (attribute.value.type == PROFCOL_VALUE_STRING)
			used->rows[PROFCOL_STRINGS][attribute.value.string] = true;
		if (attribute.value.type >= PROFCOL_VALUE_BYTES)
			used->rows[PROFCOL_BLOBS][attribute.value.blob] = true;
	}
}

static void use_location(struct used *used, const struct profcol_batch *batch, uint32_t id)
{
	struct profcol_location location = profcol_batch_location(batch, id);
	struct profcol_mapping mapping = profcol_batch_mapping(batch, location.mapping);

	used->rows[PROFCOL_LOCATIONS][id] = true;
	used->rows[PROFCOL_MAPPINGS][location.mapping] = true;
	used->rows[PROFCOL_STRINGS][mapping.filename] = true;
	use_list(used, batch, mapping.attributes);
	use_list(used, batch, location.attributes);
	for (uint32_t i = 0; i < location.line_count; i++) {
		struct profcol_function function =
			profcol_batch_function(batch, location.lines[i].function);

		used->rows[PROFCOL_FUNCTIONS][location.lines[i].function] = true;
		used->rows[PROFCOL_STRINGS][function.name] = true;
		used->rows[PROFCOL_STRINGS][function.system_name] = true;
		used->rows[PROFCOL_STRINGS][function.filename] = true;
	}
}

static void use_sample(struct used *used, const struct profcol_batch *batch, uint32_t row)
{
	struct profcol_sample sample = profcol_batch_sample(batch, row);
	uint32_t count;
	const uint32_t *locations = profcol_batch_stack(batch, sample.stack, &count);

	used->rows[PROFCOL_STACKS][sample.stack] = true;
	used->rows[PROFCOL_LINKS][sample.link] = true;
	use_list(used, batch, sample.attributes);
	for (uint32_t i = 0; i < count; i++)
		use_location(used, batch, locations[i]);
}

static void use_tree(struct used *used, const struct profcol_batch *batch)
{
	struct profcol_range range;

	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_RESOURCES); i++) {
		struct profcol_resource resource = profcol_batch_resource(batch, i, &range);

		use_list(used, batch, resource.attributes);
		used->rows[PROFCOL_STRINGS][resource.schema_url] = true;
		used->rows[PROFCOL_BLOBS][resource.entity_refs] = true;
	}
	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_SCOPES); i++) {
		struct profcol_scope scope = profcol_batch_scope(batch, i, &range);

		use_list(used, batch, scope.attributes);
		used->rows[PROFCOL_STRINGS][scope.name] = true;
		used->rows[PROFCOL_STRINGS][scope.version] = true;
		used->rows[PROFCOL_STRINGS][scope.schema_url] = true;
	}
	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_PROFILES); i++) {
		struct profcol_profile profile = profcol_batch_profile(batch, i, &range);

		use_list(used, batch, profile.attributes);
		used->rows[PROFCOL_STRINGS][profile.sample_type] = true;
		used->rows[PROFCOL_STRINGS][profile.sample_unit] = true;
		used->rows[PROFCOL_STRINGS][profile.period_type] = true;
		used->rows[PROFCOL_STRINGS][profile.period_unit] = true;
		used->rows[PROFCOL_STRINGS][profile.original_payload_format] = true;
		used->rows[PROFCOL_BLOBS][profile.original_payload] = true;
	}
	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_SAMPLES); i++)
		use_sample(used, batch, i);
}

/* Marked afresh, by other code than what compacts: no row is left that nothing names. */
static void assert_no_unused_rows(uint64_t seed, const struct profcol_batch *batch)
{
	struct used used;

	for (unsigned int table = 0; table <= PROFCOL_LINKS; table++) {
		used.rows[table] = calloc(profcol_batch_count(batch, table), sizeof(bool));
		assert_non_null(used.rows[table]);
		used.rows[table][0] = true;
	}
	use_tree(&used, batch);
	for (unsigned int table = 0; table <= PROFCOL_LINKS; table++) {
		for (uint32_t i = 0; i < profcol_batch_count(batch, table); i++)
			if (!used.rows[table][i])
				fail_msg("seed %lu: row %u of table %u is unused",
					 (unsigned long)seed, i, table);
		free(used.rows[table]);
	}
}

static void compact_drops_what_is_unused_and_nothing_else(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *once = compact(batch);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *twice = compact(once);

		assert_valid(once);
		assert_same_text(seed, batch, once);
		assert_no_unused_rows(seed, once);
		for (unsigned int id = 0; id < COLUMN_COUNT; id++)
			assert_ptr_equal(once->columns[id].block, twice->columns[id].block);
	}
}

static void compact_drops_text(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *compacted = NULL;
	CLEANUP_FREE char *text = calloc(1, 1000000);

	(void)state;
	assert_non_null(text);
	profcol_builder_string(builder, text, 1000000);
	assert_null(profcol_builder_seal(builder, &batch));
	compacted = compact(batch);
	assert_int_equal(profcol_batch_count(compacted, PROFCOL_STRINGS), 1);
	assert_true(profile_memory(batch) > 1000000);
	assert_true(profile_memory(compacted) < 20000);
}

/* ---- merge ---- */

static void merge_is_the_union(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		struct observations expected = { 0 }, merged_lines = { 0 };
		PROFCOL_CLEANUP_BATCH struct profcol_batch *merged = NULL;
		struct profcol_batch *batches[5];
		uint32_t profiles = 0;
		size_t count = 1 + seed % 5;

		for (size_t i = 0; i < count; i++) {
			// Every other seed merges a batch with itself.
			batches[i] = random_batch(seed % 2 ? seed + i : seed);
			profiles += profcol_batch_count(batches[i], PROFCOL_PROFILES);
			observations_add(&expected, batches[i]);
		}
		assert_null(profile_merge(batches, count, &merged));
		assert_valid(merged);
		observations_add(&merged_lines, merged);
		assert_true(observations_equal(&expected, &merged_lines));
		assert_int_equal(profcol_batch_count(merged, PROFCOL_PROFILES), profiles);
		for (size_t i = 0; i < count; i++)
			profcol_batch_unref(batches[i]);
		observations_deinit(&expected);
		observations_deinit(&merged_lines);
	}
}

static void merge_makes_equal_parents_one(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *once = NULL;
		PROFCOL_CLEANUP_BATCH struct profcol_batch *merged = NULL;
		uint32_t profiles = profcol_batch_count(batch, PROFCOL_PROFILES);

		// Once alone: equal parents of one batch become one as well.
		assert_null(profile_merge(&batch, 1, &once));
		assert_null(profile_merge((struct profcol_batch *[]){ batch, once, batch }, 3,
					  &merged));
		for (unsigned int table = PROFCOL_STRINGS; table <= PROFCOL_SCOPES; table++)
			assert_int_equal(profcol_batch_count(merged, table),
					 profcol_batch_count(once, table));
		assert_int_equal(profcol_batch_count(merged, PROFCOL_PROFILES), 3 * profiles);
	}
}

static void merge_of_nothing_is_empty(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *empty = random_batch(16);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *nothing = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *empties = NULL;

	(void)state;
	assert_null(profile_merge(NULL, 0, &nothing));
	assert_true(same_counts(empty, nothing));
	assert_null(profile_merge((struct profcol_batch *[]){ empty, empty }, 2, &empties));
	assert_true(same_counts(empty, empties));
}

/* ---- split ---- */

/* One observation in all, so that @batch may be larger than asked. */
static bool is_single(const struct profcol_batch *batch)
{
	struct profcol_sample sample = profcol_batch_sample(batch, 0);

	return profcol_batch_count(batch, PROFCOL_SAMPLES) == 1 && sample.value_count <= 1 &&
	       sample.timestamp_count <= 1;
}

/* Split until nothing is left; the number of parts. */
static uint32_t split_all(uint64_t seed, const struct profcol_batch *batch, size_t max_bytes,
			  struct observations *lines)
{
	struct profcol_batch *rest = NULL, *head, *tail;
	uint32_t parts = 0;

	assert_null(profcol_builder_seal(profcol_builder_from(batch), &rest));
	for (; rest; rest = tail, parts++) {
		head = tail = NULL;
		assert_null(profile_split(rest, NULL, max_bytes, &head, &tail));
		assert_valid(head);
		assert_no_unused_rows(seed, head);
		observations_add(lines, head);
		if (otlp_encoded_size(head, NULL) > max_bytes && !is_single(head) &&
		    profcol_batch_count(head, PROFCOL_SAMPLES))
			fail_msg("seed %lu: part of %zu bytes, at most %zu asked",
				 (unsigned long)seed, otlp_encoded_size(head, NULL), max_bytes);
		if (tail) {
			assert_valid(tail);
			assert_true(profcol_batch_events(head) > 0);
			assert_true(profcol_batch_events(tail) > 0);
			assert_ptr_equal(tail->columns[COLUMN_STACK_LOCATION].block,
					 rest->columns[COLUMN_STACK_LOCATION].block);
		}
		profcol_batch_unref(head);
		profcol_batch_unref(rest);
	}
	return parts;
}

static void parts_make_up_the_whole(void **state)
{
	static const size_t limits[] = { 1, 400, 3000, 20000 };

	(void)state;
	for (uint64_t seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		struct observations whole = { 0 }, parts = { 0 };
		// Very many parts take long: for some seeds only.
		size_t limit = limits[seed % 20 == 1 ? seed / 20 % 2 : 2 + seed % 2];

		observations_add(&whole, batch);
		split_all(seed, batch, limit, &parts);
		assert_true(observations_equal(&whole, &parts));
		observations_deinit(&whole);
		observations_deinit(&parts);
	}
}

static void tiny_limit_gives_single_observations(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch_sized(1, 50);
	struct observations parts = { 0 };

	(void)state;
	assert_int_equal(split_all(1, batch, 0, &parts), 50);
	assert_int_equal(parts.count, 50);
	observations_deinit(&parts);
}

static void batch_that_fits_is_not_cut(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed <= 40; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *small = compact(batch);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *head = NULL;
		struct profcol_batch *tail = batch;

		assert_null(
			profile_split(small, NULL, otlp_encoded_size(small, NULL), &head, &tail));
		assert_null(tail);
		// All rows, those without samples too, and no copy.
		assert_true(same_counts(small, head));
		assert_ptr_equal(head->columns[COLUMN_STACK_END].block,
				 small->columns[COLUMN_STACK_END].block);
	}
}

static void heads_are_nearly_full(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch_sized(7, 3000);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *small = compact(batch);
	struct observations parts = { 0 };
	size_t bytes = otlp_encoded_size(small, NULL), limit = bytes / 10;

	(void)state;
	// Each part repeats some of the dictionary, so there are more than 10, not many more.
	assert_in_range(split_all(7, batch, limit, &parts), 10, 20);
	assert_int_equal(parts.count, 3000);
	observations_deinit(&parts);
}

/* One sample with @count observations, in a profile between two without samples. */
static struct profcol_batch *batch_of_one_sample(uint32_t count)
{
	struct profcol_builder *builder = profcol_builder_create();
	CLEANUP_FREE uint64_t *times = calloc(count, sizeof(*times));
	CLEANUP_FREE int64_t *values = calloc(count, sizeof(*values));
	struct profcol_batch *batch = NULL;

	assert_non_null(times);
	assert_non_null(values);
	for (uint32_t i = 0; i < count; i++) {
		times[i] = 1000 + i;
		values[i] = i + 1;
	}
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	for (uint32_t i = 0; i < 3; i++) {
		profcol_builder_add_profile(
			builder,
			&(struct profcol_profile){ .time_unix_ns = 1000 + i, .duration_ns = 5000 });
		if (i == 1)
			profcol_builder_add_sample(
				builder, &(struct profcol_sample){ .values = values,
								   .value_count = count,
								   .timestamps_unix_ns = times,
								   .timestamp_count = count });
	}
	assert_null(profcol_builder_seal(builder, &batch));
	return batch;
}

static void large_sample_is_cut_inside(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = batch_of_one_sample(1000);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *head = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *tail = NULL;
	struct observations whole = { 0 }, parts = { 0 };
	struct profcol_range range;

	(void)state;
	assert_null(profile_split(batch, NULL, 2000, &head, &tail));
	assert_non_null(tail);
	assert_int_equal(profcol_batch_sample(head, 0).values[0], 1);
	assert_int_equal(profcol_batch_sample(tail, 0).values[0],
			 1 + (int64_t)profcol_batch_events(head));
	// The profile that is cut has its window on both sides; the ones around it stay whole.
	assert_int_equal(profcol_batch_count(head, PROFCOL_PROFILES), 2);
	assert_int_equal(profcol_batch_count(tail, PROFCOL_PROFILES), 2);
	assert_int_equal(profcol_batch_profile(head, 1, &range).time_unix_ns, 1001);
	assert_int_equal(range.end, 1);
	assert_int_equal(profcol_batch_profile(tail, 0, &range).time_unix_ns, 1001);
	assert_int_equal(range.end, 1);
	assert_int_equal(profcol_batch_profile(tail, 0, &range).duration_ns, 5000);

	observations_add(&whole, batch);
	assert_in_range(split_all(1, batch, 2000, &parts), 4, 12);
	assert_true(observations_equal(&whole, &parts));
	observations_deinit(&whole);
	observations_deinit(&parts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sealed_copy_is_the_batch),
		cmocka_unit_test(compact_drops_what_is_unused_and_nothing_else),
		cmocka_unit_test(compact_drops_text),
		cmocka_unit_test(merge_is_the_union),
		cmocka_unit_test(merge_makes_equal_parents_one),
		cmocka_unit_test(merge_of_nothing_is_empty),
		cmocka_unit_test(parts_make_up_the_whole),
		cmocka_unit_test(tiny_limit_gives_single_observations),
		cmocka_unit_test(batch_that_fits_is_not_cut),
		cmocka_unit_test(heads_are_nearly_full),
		cmocka_unit_test(large_sample_is_cut_inside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
