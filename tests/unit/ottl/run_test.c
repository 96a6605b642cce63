// SPDX-License-Identifier: Apache-2.0
/* Conditions over whole batches: what is remembered, and what ends at a bound. */
#include "ottl/ottl.h"
#include "tests/unit/ottl/ottl_batch.h"

#include "base/base.h"

// cmocka wants these before itself.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <pthread.h>
#include <time.h>

/* No part of it has to be in what it matches: nothing but trying shows that it does not. */
#define CATASTROPHIC "\"^(a|aa)+[b-d]$\""

enum { SAMPLES = 3000 };

static struct ottl_condition *compile(const char *text)
{
	struct ottl_condition *condition = NULL;
	struct profcol_error *error = ottl_compile(OTTL_SAMPLE, text, &condition);

	if (error)
		fail_msg("%s: %s", text, profcol_error_message(error));
	return condition;
}

/* Of all samples of @batch, how many have each result. */
static void count_results(const struct profcol_batch *batch, struct ottl_run *run,
			  const struct ottl_condition *condition, uint32_t counts[static 3])
{
	uint32_t samples = profcol_batch_count(batch, PROFCOL_SAMPLES);

	memset(counts, 0, 3 * sizeof(*counts));
	for (uint32_t i = 0; i < samples; i++) {
		struct ottl_position position = { .sample = i };

		counts[ottl_evaluate(condition, run, &position)]++;
	}
}

static uint64_t thread_time_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void every_entry_has_its_own_result(void **state)
{
	static const struct {
		const char *text;
		uint32_t matches; /* of 0 to 2999 */
	} cases[] = {
		{ "IsMatch(frame.function, \"7$\")", 300 },
		{ "HasSuffix(frame.function, \"99\") or attributes[\"number\"] < 10", 40 },
		{ "not (frame.function == \"function 17\" or stack.depth != 1)", 2999 },
		{ "frame.file == \"wide.c\" and resource.attributes[\"text\"] == \"aaaa\"", 3000 },
		{ "attributes[\"number\"] == Int(Split(frame.function, \" \")[1])", 3000 },
		{ "frame.function == Concat([\"function\", attributes[\"number\"]], \" \")", 3000 },
		{ "IsMatch(String(attributes[\"number\"]), "
		  "Concat([\"^\", attributes[\"number\"], \"$\"], \"\"))",
		  3000 },
		{ "mapping.filename == \"\" and frame.type == \"\"", 3000 },
	};
	struct profcol_batch *batch = ottl_batch_create_wide(SAMPLES, 4);
	struct ottl_condition *conditions[sizeof(cases) / sizeof(cases[0])];
	struct ottl_run *run = ottl_run_create(batch);
	uint32_t counts[3];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		conditions[i] = compile(cases[i].text);
	// The second time all that can be is remembered.
	for (unsigned int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			count_results(batch, run, conditions[i], counts);
			if (counts[OTTL_TRUE] != cases[i].matches || counts[OTTL_ERROR])
				fail_msg("%s: %u", cases[i].text, counts[OTTL_TRUE]);
		}
	}
	ottl_run_destroy(run);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ottl_condition_destroy(conditions[i]);
	profcol_batch_unref(batch);
}

static void a_catastrophic_pattern_costs_a_run_but_a_moment(void **state)
{
	enum { HOSTILE = 500 };
	struct profcol_batch *batch = ottl_batch_create_wide(HOSTILE, 200);
	struct ottl_condition *condition =
		compile("IsMatch(attributes[\"text\"], " CATASTROPHIC ")");
	struct ottl_run *run = ottl_run_create(batch);
	uint64_t begin = thread_time_ns();
	uint32_t counts[3];

	(void)state;
	count_results(batch, run, condition, counts);
	assert_int_equal(counts[OTTL_ERROR], HOSTILE);
	assert_string_equal(ottl_run_message(run),
			    "1:1: IsMatch has reached its limit on a text of 200 bytes");
	// Without limits one of them alone would take years.
	assert_true(thread_time_ns() - begin < 5 * (uint64_t)1000000000);
	ottl_run_destroy(run);
	ottl_condition_destroy(condition);
	profcol_batch_unref(batch);
}

/* The texts of the last ten samples are one letter long: what was slow before is not theirs. */
static void hostile_texts_leave_the_others_their_answers(void **state)
{
	struct profcol_batch *batch = ottl_batch_create_wide(400, 2000);
	struct ottl_condition *condition =
		compile("IsMatch(Substring(attributes[\"text\"], 0, "
			"2000 - 1999 * (attributes[\"number\"] / 390)), " CATASTROPHIC ")");
	struct ottl_run *run = ottl_run_create(batch);
	uint32_t counts[3];

	(void)state;
	count_results(batch, run, condition, counts);
	assert_int_equal(counts[OTTL_ERROR], 390);
	assert_int_equal(counts[OTTL_FALSE], 10);
	ottl_run_destroy(run);
	ottl_condition_destroy(condition);
	profcol_batch_unref(batch);
}

static void what_is_the_resources_is_asked_once(void **state)
{
	struct profcol_batch *batch = ottl_batch_create_wide(SAMPLES, 200);
	struct ottl_condition *condition =
		compile("attributes[\"number\"] >= 0 and "
			"IsMatch(resource.attributes[\"text\"], " CATASTROPHIC ")");
	struct ottl_run *run = ottl_run_create(batch);
	uint64_t begin = thread_time_ns();
	uint32_t counts[3];

	(void)state;
	count_results(batch, run, condition, counts);
	assert_int_equal(counts[OTTL_ERROR], SAMPLES);
	assert_string_equal(ottl_run_message(run),
			    "1:31: IsMatch has reached its limit on a text of 200 bytes");
	// Asked for each sample, it would have taken half a second and more.
	assert_true(thread_time_ns() - begin < 400000000);
	ottl_run_destroy(run);
	ottl_condition_destroy(condition);
	profcol_batch_unref(batch);
}

static void each_condition_has_its_own_message(void **state)
{
	static const char *const texts[] = { "HasPrefix(attributes[\"number\"], \"a\")",
					     "attributes[\"none\"] + 1 == 1" };
	static const char *const messages[] = { "HasPrefix: expected string but got int64",
						"nil + int64: both must be int64 or float64" };
	struct profcol_batch *batch = ottl_batch_create_wide(2, 1);
	struct ottl_condition *conditions[] = { compile(texts[0]), compile(texts[1]) };
	struct ottl_run *run = ottl_run_create(batch);

	(void)state;
	for (unsigned int i = 0; i < 8; i++) {
		struct ottl_position position = { .sample = i / 2 % 2 };

		assert_int_equal(ottl_evaluate(conditions[i % 2], run, &position), OTTL_ERROR);
		assert_string_equal(ottl_run_message(run), messages[i % 2]);
	}
	ottl_run_destroy(run);
	ottl_condition_destroy(conditions[0]);
	ottl_condition_destroy(conditions[1]);
	profcol_batch_unref(batch);
}

/* Messages are logged: what an attribute's value is is nobody's business. */
static void messages_have_no_data(void **state)
{
	static const struct {
		const char *text, *message;
	} cases[] = {
		{ "Double(attributes[\"text\"]) == 1.0",
		  "Double: a string of 9 bytes is no number" },
		{ "IsMatch(\"x\", Concat([attributes[\"text\"], \"(\"], \"\"))",
		  "1:1: IsMatch is given no regular expression but a text of 10 bytes" },
		{ "Substring(attributes[\"text\"], attributes[\"number\"], 10) == \"\"",
		  "Substring: start + length cannot be greater than the length of target string "
		  "(9)" },
		{ "Split(attributes[\"text\"], \",\")[attributes[\"number\"] + 17] == \"\"",
		  "index out of bounds" },
	};
	struct profcol_batch *batch = ottl_batch_create_wide(1, 9);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct ottl_condition *condition = compile(cases[i].text);
		OTTL_CLEANUP_RUN struct ottl_run *run = ottl_run_create(batch);
		struct ottl_position position = { 0 };

		assert_int_equal(ottl_evaluate(condition, run, &position), OTTL_ERROR);
		assert_string_equal(ottl_run_message(run), cases[i].message);
		ottl_condition_destroy(condition);
	}
	profcol_batch_unref(batch);
}

static void texts_have_a_bound(void **state)
{
	static const char *const texts[] = {
		"Concat([attributes[\"text\"], attributes[\"text\"]], \"\") == \"\"",
		"Len(Split(attributes[\"text\"], \"a\")) == 1",
		"Len(Split(attributes[\"text\"], \"\")) == 1",
		"String([attributes[\"text\"], attributes[\"text\"]]) == \"\"",
		"ToLowerCase(Concat([attributes[\"text\"], attributes[\"text\"]], \"\")) == \"\"",
	};
	struct profcol_batch *batch = ottl_batch_create_wide(1, OTTL_MAX_STRING - 10);

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct ottl_condition *condition = compile(texts[i]);
		OTTL_CLEANUP_RUN struct ottl_run *run = ottl_run_create(batch);
		uint32_t counts[3];

		count_results(batch, run, condition, counts);
		if (!counts[OTTL_ERROR])
			fail_msg("%s has no bound", texts[i]);
		ottl_condition_destroy(condition);
	}
	profcol_batch_unref(batch);
}

/* A sample whose stack has that many frames, each of another function. */
static struct profcol_batch *deep_batch_create(uint32_t frames)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_sample sample = { .value_count = 1, .values = &(const int64_t){ 1 } };
	uint32_t *locations = calloc(frames, sizeof(*locations));
	struct profcol_batch *batch = NULL;

	assert_non_null(builder);
	assert_non_null(locations);
	for (uint32_t i = 0; i < frames; i++) {
		struct profcol_line line = { 0 };
		struct profcol_function function = { 0 };
		char name[32];

		snprintf(name, sizeof(name), "function %u", i);
		function.name = profcol_builder_cstring(builder, name);
		line.function = profcol_builder_function(builder, &function);
		locations[i] = profcol_builder_location(
			builder, &(struct profcol_location){ .lines = &line, .line_count = 1 });
	}
	sample.stack = profcol_builder_stack(builder, locations, frames);
	free(locations);
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
	profcol_builder_add_sample(builder, &sample);
	assert_null(profcol_builder_seal(builder, &batch));
	return batch;
}

/* What one frame needs is free for the next: together they would need 9 MiB. */
static void deep_stacks_need_no_more_memory_than_shallow_ones(void **state)
{
	struct profcol_batch *batch = deep_batch_create(2000);
	struct ottl_condition *condition =
		compile("Len(Split(Concat([frame.function, "
			"\"0123456789012345678901234567890123456789012345678901234567890123456789"
			"0123456789012345678901234567890123456789012345678901234567890123456789\""
			"], \"\"), \"\")) == 0");
	OTTL_CLEANUP_RUN struct ottl_run *run = ottl_run_create(batch);
	uint32_t counts[3];

	(void)state;
	count_results(batch, run, condition, counts);
	if (counts[OTTL_ERROR])
		fail_msg("%s", ottl_run_message(run));
	ottl_condition_destroy(condition);
	profcol_batch_unref(batch);
}

static void a_place_outside_of_the_batch_is_empty(void **state)
{
	struct profcol_batch *batch = ottl_batch_create_wide(2, 1);
	struct ottl_condition *condition =
		compile("stack.depth == 0 and frame.function != \"\" and attributes[\"text\"] == "
			"nil and Len(values) == 0 and resource.attributes[\"text\"] == nil and "
			"profile.period == 0 and scope.name == \"\"");
	OTTL_CLEANUP_RUN struct ottl_run *run = ottl_run_create(batch);
	struct ottl_position position = { 7, 7, 7, UINT32_MAX };

	(void)state;
	assert_int_equal(ottl_evaluate(condition, run, &position), OTTL_TRUE);
	ottl_condition_destroy(condition);
	profcol_batch_unref(batch);
}

/* ---- threads ---- */

struct task {
	const struct profcol_batch *batch;
	const struct ottl_condition *condition;
	uint32_t counts[3];
};

static void *count_in_thread(void *context)
{
	struct task *task = context;
	OTTL_CLEANUP_RUN struct ottl_run *run = ottl_run_create(task->batch);

	count_results(task->batch, run, task->condition, task->counts);
	return NULL;
}

static void threads_share_a_condition(void **state)
{
	struct profcol_batch *batch = ottl_batch_create_wide(SAMPLES, 4);
	struct ottl_condition *condition =
		compile("IsMatch(ToLowerCase(frame.function), \"(?i)FUNCTION .*\\\\d7$\")");
	struct task tasks[3];
	pthread_t threads[3];

	(void)state;
	for (unsigned int i = 0; i < 3; i++) {
		tasks[i] = (struct task){ .batch = batch, .condition = condition };
		assert_int_equal(pthread_create(&threads[i], NULL, count_in_thread, &tasks[i]), 0);
	}
	for (unsigned int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(tasks[i].counts[OTTL_TRUE], 299);
	}
	ottl_condition_destroy(condition);
	profcol_batch_unref(batch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_entry_has_its_own_result),
		cmocka_unit_test(a_catastrophic_pattern_costs_a_run_but_a_moment),
		cmocka_unit_test(hostile_texts_leave_the_others_their_answers),
		cmocka_unit_test(what_is_the_resources_is_asked_once),
		cmocka_unit_test(each_condition_has_its_own_message),
		cmocka_unit_test(messages_have_no_data),
		cmocka_unit_test(texts_have_a_bound),
		cmocka_unit_test(deep_stacks_need_no_more_memory_than_shallow_ones),
		cmocka_unit_test(a_place_outside_of_the_batch_is_empty),
		cmocka_unit_test(threads_share_a_condition),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
