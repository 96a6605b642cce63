// SPDX-License-Identifier: Apache-2.0
/*
 * Running out of memory. The linker leads every allocation of this program through
 * the functions below (--wrap), which let the n-th fail: n grows until all of an
 * operation goes through. Leaks and use of freed memory are the sanitizers' to find.
 */
#include "random_batch.h"

#include "profile/profile.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *memory, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *memory, size_t bytes);

/* Allocations that still go through; -1 = all. */
static long allocations_left = -1;
static bool allocations_stay_refused; /* and not only the n-th */

static bool allocation_fails(void)
{
	if (allocations_left < 0)
		return false;
	if (allocations_left > 0) {
		allocations_left--;
		return false;
	}
	if (!allocations_stay_refused)
		allocations_left = -1;
	return true;
}

void *__wrap_malloc(size_t bytes)
{
	return allocation_fails() ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes)
{
	return allocation_fails() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *memory, size_t bytes)
{
	return allocation_fails() ? NULL : __real_realloc(memory, bytes);
}

/* An operation on @batch; its result, or NULL after an error, which must be NO_MEMORY. */
typedef struct profcol_batch *(*operation)(struct profcol_batch *batch);

static struct profcol_batch *result(struct profcol_error *error, struct profcol_batch *batch)
{
	if (!error)
		return batch;
	allocations_left = -1;
	assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
	assert_null(batch);
	profcol_error_destroy(error);
	return NULL;
}

/*
 * Try @run with every single allocation failing once, which must make it fail unless it
 * @may_do_without. Returns how many it takes.
 */
static long fail_each_allocation(operation run, struct profcol_batch *batch, bool stay_refused,
				 bool may_do_without)
{
	for (long n = 0;; n++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *made = NULL;
		bool failed;

		allocations_left = n;
		allocations_stay_refused = stay_refused;
		made = run(batch);
		failed = allocations_left < 0;
		allocations_left = -1;
		if (failed && made && !may_do_without)
			fail_msg("went through without allocation %ld", n);
		if (made && !failed)
			return n;
	}
}

static void survives(operation run, bool may_do_without)
{
	for (uint64_t seed = 1; seed <= 3; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch_sized(seed, 40);
		CLEANUP_FREE char *before = batch_text(batch);
		CLEANUP_FREE char *after = NULL;

		assert_true(fail_each_allocation(run, batch, false, may_do_without) > 0);
		assert_true(fail_each_allocation(run, batch, true, may_do_without) > 0);
		after = batch_text(batch);
		assert_string_equal(before, after);
	}
}

/* ---- operations ---- */

static struct profcol_batch *edit(struct profcol_batch *batch)
{
	struct profcol_builder *builder = profcol_builder_from(batch);
	struct profcol_batch *made = NULL;
	struct profcol_error *error;
	uint32_t attribute, list;
	uint64_t time = 1;

	if (!builder)
		return NULL;
	attribute = profcol_builder_attribute_string(builder, "k8s.pod.name", "web", 3);
	list = profcol_builder_attribute_list(builder, &attribute, 1);
	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_SAMPLES); i++)
		profcol_builder_set_sample_attributes(builder, i, list);
	profcol_builder_set_resource_attributes(builder, 0, list);
	profcol_builder_add_resource(builder, &(struct profcol_resource){ .attributes = list });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ .attributes = list });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ .attributes = list });
	for (uint32_t i = 1; i <= 300; i++) {
		struct profcol_line line = { .line = i };
		uint32_t location = profcol_builder_location(
			builder, &(struct profcol_location){
					 .address = i, .lines = &line, .line_count = 1 });

		profcol_builder_add_sample(
			builder, &(struct profcol_sample){
					 .stack = profcol_builder_stack(builder, &location, 1),
					 .timestamps_unix_ns = &time,
					 .timestamp_count = 1,
				 });
		// Whatever fails, what is there so far must be readable.
		profcol_batch_sample(
			profcol_builder_peek(builder),
			profcol_batch_count(profcol_builder_peek(builder), PROFCOL_SAMPLES) - 1);
	}
	error = profcol_builder_seal(builder, &made);
	return result(error, made);
}

static struct profcol_batch *merge(struct profcol_batch *batch)
{
	struct profcol_batch *made = NULL;
	struct profcol_error *error =
		profile_merge((struct profcol_batch *[]){ batch, batch }, 2, &made);

	return result(error, made);
}

static struct profcol_batch *compact(struct profcol_batch *batch)
{
	struct profcol_batch *made = NULL;
	struct profcol_error *error = profile_compact(batch, &made);

	return result(error, made);
}

static struct profcol_batch *drop_unused(struct profcol_batch *batch)
{
	struct profcol_batch *made = NULL;
	struct profcol_error *error = profile_drop_unused(batch, &made);

	return result(error, made);
}

/* Every other sample. */
static struct profcol_batch *select_half(struct profcol_batch *batch)
{
	uint8_t profiles[64], samples[64];
	const struct profile_kept kept = { profiles, samples };
	struct profcol_batch *made = NULL;
	struct profcol_error *error;

	for (unsigned int i = 0; i < sizeof(samples); i++) {
		profiles[i] = 1;
		samples[i] = i % 2;
	}
	error = profile_select(batch, &kept, &made);
	return result(error, made);
}

static struct profcol_batch *split(struct profcol_batch *batch)
{
	struct profcol_batch *head = NULL, *tail = NULL;
	struct profcol_error *error = profile_split(batch, NULL, 2000, &head, &tail);

	if (error)
		assert_null(tail);
	else
		assert_int_equal(profcol_batch_events(head) +
					 (tail ? profcol_batch_events(tail) : 0),
				 profcol_batch_events(batch));
	profcol_batch_unref(tail);
	return result(error, head);
}

static void builder_survives_lack_of_memory(void **state)
{
	(void)state;
	survives(edit, false);
}

static void merge_survives_lack_of_memory(void **state)
{
	(void)state;
	survives(merge, false);
}

static void compact_survives_lack_of_memory(void **state)
{
	(void)state;
	survives(compact, false);
}

static void drop_unused_survives_lack_of_memory(void **state)
{
	(void)state;
	survives(drop_unused, false);
}

static void select_survives_lack_of_memory(void **state)
{
	(void)state;
	survives(select_half, false);
}

static void split_survives_lack_of_memory(void **state)
{
	(void)state;
	// Measuring the head does without its table of strings, and finds it a little larger.
	survives(split, true);
}

/* An id past 2^31 - 1 is as much a lack of room as a refused allocation. */
static void too_long_text_is_refused(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;
	struct profcol_error *error;

	(void)state;
	assert_int_equal(profcol_builder_blob(builder, "", (size_t)INT32_MAX + 1), 0);
	error = profcol_builder_seal(builder, &batch);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_NO_MEMORY);
	assert_non_null(strstr(profcol_error_message(error), "make batches smaller"));
	profcol_error_destroy(error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(builder_survives_lack_of_memory),
		cmocka_unit_test(merge_survives_lack_of_memory),
		cmocka_unit_test(compact_survives_lack_of_memory),
		cmocka_unit_test(drop_unused_survives_lack_of_memory),
		cmocka_unit_test(select_survives_lack_of_memory),
		cmocka_unit_test(split_survives_lack_of_memory),
		cmocka_unit_test(too_long_text_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
