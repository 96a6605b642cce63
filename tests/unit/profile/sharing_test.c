// SPDX-License-Identifier: Apache-2.0
/* Batches made from one batch: they share its rows and look-ups, and see nothing of each other. */
#include "random_batch.h"

#include "profile/profile.h"

#include "base/base.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { THREADS = 4, ROUNDS = 50, TEXTS = 100, GENERATIONS = 20 };

static bool string_is(const struct profcol_batch *batch, uint32_t id, const char *expected)
{
	struct profcol_text text = profcol_batch_string(batch, id);

	return text.length == strlen(expected) && !memcmp(text.bytes, expected, text.length);
}

static uint32_t put(struct profcol_builder *builder, int owner, int number, char text[32])
{
	snprintf(text, 32, "text-%d-%d", owner, number);
	return profcol_builder_string(builder, text, strlen(text));
}

/* A batch with more texts, of @owner, behind those of @batch. Does it have just these? */
static bool extends(const struct profcol_batch *batch, int owner)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *made = NULL;
	uint32_t first = profcol_batch_count(batch, PROFCOL_STRINGS);
	struct profcol_error *error;
	char text[32];

	for (int i = 0; i < TEXTS; i++)
		if (put(builder, owner, i, text) != first + (uint32_t)i)
			return false;
	error = profcol_builder_seal(builder, &made);
	if (error) {
		profcol_error_destroy(error);
		return false;
	}
	for (int i = 0; i < TEXTS; i++) {
		snprintf(text, sizeof(text), "text-%d-%d", owner, i);
		if (!string_is(made, first + (uint32_t)i, text))
			return false;
	}
	return profcol_batch_count(made, PROFCOL_STRINGS) == first + TEXTS &&
	       profcol_batch_count(batch, PROFCOL_STRINGS) == first;
}

static void those_made_side_by_side_see_only_their_own(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(3);
	struct profcol_builder *left = profcol_builder_from(batch);
	struct profcol_builder *right = profcol_builder_from(batch);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *first = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *second = NULL;
	uint32_t begin = profcol_batch_count(batch, PROFCOL_STRINGS);
	CLEANUP_FREE char *before = batch_text(batch);
	CLEANUP_FREE char *after = NULL;
	char text[32];

	(void)state;
	for (int i = 0; i < TEXTS; i++) {
		assert_int_equal(put(left, 1, i, text), begin + (uint32_t)i);
		assert_int_equal(put(right, 2, i, text), begin + (uint32_t)i);
	}
	assert_null(profcol_builder_seal(left, &first));
	assert_null(profcol_builder_seal(right, &second));
	for (int i = 0; i < TEXTS; i++) {
		snprintf(text, sizeof(text), "text-1-%d", i);
		assert_true(string_is(first, begin + (uint32_t)i, text));
		snprintf(text, sizeof(text), "text-2-%d", i);
		assert_true(string_is(second, begin + (uint32_t)i, text));
	}
	after = batch_text(batch);
	assert_string_equal(before, after);
}

/* Each generation finds all texts of those before it, under the ids that they gave. */
static void each_generation_knows_the_texts_before_it(void **state)
{
	struct profcol_batch *batch = random_batch(5);
	uint32_t ids[GENERATIONS];
	char text[32];

	(void)state;
	for (int generation = 0; generation < GENERATIONS; generation++) {
		struct profcol_builder *builder = profcol_builder_from(batch);

		for (int i = 0; i < generation; i++)
			assert_int_equal(put(builder, 0, i, text), ids[i]);
		ids[generation] = put(builder, 0, generation, text);
		assert_int_equal(ids[generation], profcol_batch_count(batch, PROFCOL_STRINGS));
		profcol_batch_unref(batch);
		batch = NULL;
		assert_null(profcol_builder_seal(builder, &batch));
	}
	for (int i = 0; i < GENERATIONS; i++) {
		snprintf(text, sizeof(text), "text-0-%d", i);
		assert_true(string_is(batch, ids[i], text));
	}
	profcol_batch_unref(batch);
}

/* ---- threads ---- */

struct extender {
	const struct profcol_batch *batch; /* borrowed, of all */
	int owner;
	bool went_well;
};

static void *run_extender(void *context)
{
	struct extender *extender = context;

	extender->went_well = true;
	for (int i = 0; i < ROUNDS; i++)
		extender->went_well &= extends(extender->batch, extender->owner * ROUNDS + i);
	return NULL;
}

static void threads_make_theirs_from_one(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(7);
	CLEANUP_FREE char *before = batch_text(batch);
	CLEANUP_FREE char *after = NULL;
	struct extender extenders[THREADS];
	pthread_t threads[THREADS];

	(void)state;
	for (int i = 0; i < THREADS; i++) {
		extenders[i] = (struct extender){ .batch = batch, .owner = i };
		assert_int_equal(pthread_create(&threads[i], NULL, run_extender, &extenders[i]), 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		assert_true(extenders[i].went_well);
	}
	after = batch_text(batch);
	assert_string_equal(before, after);
}

/* ---- what was removed ---- */

static struct profcol_batch *batch_with_secret(void)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t attributes[] = {
		profcol_builder_attribute_string(builder, "password", "hunter2", 7),
		profcol_builder_attribute_string(builder, "team", "a", 1),
	};
	uint64_t time = 1;
	struct profcol_batch *batch = NULL;

	profcol_builder_add_resource(
		builder, &(struct profcol_resource){ .attributes = profcol_builder_attribute_list(
							     builder, attributes, 2) });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
	for (int i = 0; i < 3; i++)
		profcol_builder_add_sample(builder,
					   &(struct profcol_sample){ .timestamps_unix_ns = &time,
								     .timestamp_count = 1 });
	assert_null(profcol_builder_seal(builder, &batch));
	return batch;
}

/* The last resource of @batch without its first attribute. */
static struct profcol_batch *without_secret(const struct profcol_batch *batch)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	uint32_t row = profcol_batch_count(batch, PROFCOL_RESOURCES) - 1, count;
	struct profcol_range scopes;
	struct profcol_resource resource = profcol_batch_resource(batch, row, &scopes);
	uint32_t kept = profcol_batch_attribute_list(batch, resource.attributes, &count)[1];
	struct profcol_batch *made = NULL;

	profcol_builder_set_resource_attributes(builder, row,
						profcol_builder_attribute_list(builder, &kept, 1));
	profile_mark_unused(builder);
	assert_null(profcol_builder_seal(builder, &made));
	return made;
}

static bool is_encoded(const struct profcol_batch *batch, bool references, const char *text)
{
	const struct otlp_encode_options options = { .attribute_references = references };
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	assert_null(otlp_encode(batch, &options, &bytes, &length));
	assert_int_equal(length, otlp_encoded_size(batch, &options));
	return memmem(bytes, length, text, strlen(text));
}

static bool is_written(const struct profcol_batch *batch, const char *text)
{
	return is_encoded(batch, false, text) || is_encoded(batch, true, text);
}

static bool is_string(const struct profcol_batch *batch, const char *text)
{
	for (uint32_t id = 0; id < profcol_batch_count(batch, PROFCOL_STRINGS); id++)
		if (string_is(batch, id, text))
			return true;
	return false;
}

static void expect_no_secret(const struct profcol_batch *batch)
{
	assert_false(is_written(batch, "hunter2"));
	assert_false(is_written(batch, "password"));
	assert_true(is_written(batch, "team"));
}

static void what_is_removed_is_written_by_nobody(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = batch_with_secret();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *edited = without_secret(batch);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *further = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *merged = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *head = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *tail = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *tidy = NULL;

	(void)state;
	assert_true(is_written(batch, "hunter2"));
	expect_no_secret(edited);
	assert_null(profcol_builder_seal(profcol_builder_from(edited), &further));
	expect_no_secret(further);
	assert_null(profile_tidy(further, &tidy));
	assert_false(is_string(tidy, "hunter2"));
	assert_true(is_string(tidy, "team"));
	assert_null(profile_merge((struct profcol_batch *[]){ edited, further }, 2, &merged));
	expect_no_secret(merged);
	assert_null(profile_split(edited, NULL, 1, &head, &tail));
	assert_false(is_string(head, "hunter2"));
	assert_non_null(tail);
	expect_no_secret(tail);
	profcol_batch_unref(TAKE(tidy));
	assert_null(profile_tidy(tail, &tidy));
	assert_false(is_string(tidy, "hunter2"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_made_side_by_side_see_only_their_own),
		cmocka_unit_test(each_generation_knows_the_texts_before_it),
		cmocka_unit_test(threads_make_theirs_from_one),
		cmocka_unit_test(what_is_removed_is_written_by_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
