// SPDX-License-Identifier: Apache-2.0
/* What the exporter web keeps: no sum changes, whatever is merged, and the memory is bounded. */
#include "fake_host.h"
#include "web_batches.h"

#include "base/base.h"
#include "exporters/web/history.h"
#include "profile/profile.h"

#include <profcol/options.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Ten o'clock: a multiple of all widths of slices. */
static const uint64_t start = UINT64_C(1795687200) * 1000000000;
static const struct history_range all = { 0, UINT64_MAX };

enum { BATCHES = 40 };

static struct history *create(uint64_t retention_ns, uint64_t memory_bytes)
{
	struct history_settings settings = { retention_ns, memory_bytes };
	struct history *history = history_create(&settings);

	assert_non_null(history);
	return history;
}

static struct profcol_batch *read_range(const struct history *history, struct history_range range)
{
	struct history_range covered;
	struct profcol_batch *batch = NULL;

	assert_no_error(history_read(history, range, &batch, &covered));
	return batch;
}

static void assert_holds(const struct history *history, struct profcol_batch *const *batches,
			 size_t count)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = read_range(history, all);
	CLEANUP_FREE char *kept = web_batches_text(&batch, 1);
	CLEANUP_FREE char *given = web_batches_text(batches, count);

	assert_string_equal(kept, given);
}

static uint64_t events(struct profcol_batch *const *batches, size_t count)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += profcol_batch_events(batches[i]);
	return sum;
}

/* However old it becomes, what was given can be read, each sum as it was. */
static void merging_slices_changes_no_sum(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 3; seed++) {
		struct web_chance chance = { seed * 7919 };
		struct history *history = create(48 * PROFCOL_HOUR, 64 << 20);
		struct profcol_batch *batches[BATCHES];
		uint64_t slices = UINT64_MAX;

		for (uint32_t i = 0; i < BATCHES; i++) {
			uint64_t time = start + web_chance_below(&chance, 2 * PROFCOL_HOUR);

			batches[i] = web_batch(&chance, i, time);
			assert_no_error(
				history_add(history, batches[i], NULL, start + 2 * PROFCOL_HOUR));
		}
		assert_holds(history, batches, BATCHES);
		for (uint64_t hours = 0; hours < 5; hours++) {
			struct history_figures figures;

			history_age(history, start + (2 + hours) * PROFCOL_HOUR);
			assert_holds(history, batches, BATCHES);
			figures = history_figures(history);
			assert_true(figures.slices <= slices);
			slices = figures.slices;
			assert_int_equal(figures.samples, events(batches, BATCHES));
			assert_int_equal(figures.evicted_samples + figures.expired_samples, 0);
		}
		// Two hours in slices of ten minutes.
		assert_true(slices <= 13);
		// One that comes late lies in a slice that is there.
		profcol_batch_unref(batches[0]);
		history_destroy(history);
		for (uint32_t i = 1; i < BATCHES; i++)
			profcol_batch_unref(batches[i]);
	}
}

static void slices_are_as_wide_as_they_are_old(void **state)
{
	struct web_chance chance = { 42 };
	struct history *history = create(24 * PROFCOL_HOUR, 64 << 20);
	uint64_t now = start + 3 * PROFCOL_HOUR;

	(void)state;
	for (uint64_t time = start; time < now; time += 5 * PROFCOL_SECOND) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = web_batch(&chance, 0, time);

		assert_no_error(history_add(history, batch, NULL, now));
	}
	history_age(history, now);
	// 2 hours of ten minutes, 55 minutes, and 5 minutes of five seconds.
	assert_int_equal(history_figures(history).slices, 12 + 55 + 60);
	assert_int_equal(history_figures(history).begin_ns, start);
	assert_int_equal(history_figures(history).end_ns, now);
	history_destroy(history);
}

static void what_is_older_than_the_retention_goes(void **state)
{
	struct web_chance chance = { 3 };
	struct history *history = create(PROFCOL_HOUR, 64 << 20);
	struct profcol_batch *batches[2];
	struct history_figures figures;

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		batches[i] = web_batch(&chance, i, start + i * 30 * PROFCOL_MINUTE);
		assert_no_error(history_add(history, batches[i], NULL, start + PROFCOL_HOUR));
	}
	history_age(history, start + PROFCOL_HOUR + 2 * PROFCOL_MINUTE);
	assert_holds(history, batches + 1, 1);
	figures = history_figures(history);
	assert_int_equal(figures.expired_samples, profcol_batch_events(batches[0]));
	assert_int_equal(figures.samples, profcol_batch_events(batches[1]));
	history_age(history, start + 10 * PROFCOL_HOUR);
	assert_int_equal(history_figures(history).samples, 0);
	profcol_batch_unref(batches[0]);
	profcol_batch_unref(batches[1]);
	history_destroy(history);
}

/* The dictionary goes with the samples: names of programs that are gone are no leak. */
static void memory_is_bounded_and_the_oldest_goes(void **state)
{
	enum { MEMORY = 512 << 10, MANY = 800 };
	struct web_chance chance = { 11 };
	struct history *history = create(24 * PROFCOL_HOUR, MEMORY);
	uint64_t given = 0;
	struct history_figures figures;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		uint64_t time = start + i * 5 * PROFCOL_SECOND;
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = web_batch(&chance, i, time);

		given += profcol_batch_events(batch);
		assert_no_error(history_add(history, batch, NULL, time));
		if (i % 12 == 0)
			history_age(history, time);
		figures = history_figures(history);
		assert_true(figures.memory_bytes <= MEMORY);
		assert_int_equal(figures.samples + figures.evicted_samples, given);
	}
	assert_true(figures.evicted_samples > 0);
	// It is the newest that is there, and a good part of the memory is in use.
	assert_true(figures.end_ns == start + (uint64_t)MANY * 5 * PROFCOL_SECOND);
	assert_true(figures.memory_bytes > MEMORY / 2);
	history_destroy(history);
}

static void a_batch_that_does_not_fit_at_all_leaves_nothing(void **state)
{
	struct web_chance chance = { 5 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = web_batch(&chance, 1, start);
	struct history *history = create(PROFCOL_HOUR, 1 << 10);
	struct history_figures figures;

	(void)state;
	assert_no_error(history_add(history, batch, NULL, start));
	figures = history_figures(history);
	assert_int_equal(figures.samples, 0);
	assert_int_equal(figures.evicted_samples, profcol_batch_events(batch));
	history_destroy(history);
}

static void a_range_takes_slices_whole_and_each_once(void **state)
{
	struct web_chance chance = { 77 };
	struct history *history = create(24 * PROFCOL_HOUR, 64 << 20);
	int64_t whole, parts = 0;

	(void)state;
	for (uint32_t i = 0; i < 40; i++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch =
			web_batch(&chance, i, start + i * 5 * PROFCOL_SECOND);

		assert_no_error(history_add(history, batch, NULL, start + PROFCOL_HOUR));
	}
	{
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = read_range(history, all);

		whole = web_batch_sum(batch, "samples");
	}
	for (uint64_t i = 0; i < 10; i++) {
		struct history_range range = { start + i * 21 * PROFCOL_SECOND,
					       start + (i + 1) * 21 * PROFCOL_SECOND };
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = read_range(history, range);

		parts += web_batch_sum(batch, "samples");
	}
	assert_int_equal(parts, whole);
	history_destroy(history);
}

static void a_moment_gives_the_slice_around_it(void **state)
{
	struct web_chance chance = { 78 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *given = web_batch(&chance, 1, start);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *kept = NULL;
	struct history *history = create(PROFCOL_HOUR, 64 << 20);
	struct history_range range = { start + PROFCOL_SECOND, start + PROFCOL_SECOND + 1 };
	struct history_range covered;

	(void)state;
	assert_no_error(history_add(history, given, NULL, start));
	assert_no_error(history_read(history, range, &kept, &covered));
	assert_int_equal(web_batch_sum(kept, "cpu"), web_batch_sum(given, "cpu"));
	assert_int_equal(covered.from_ns, start);
	assert_int_equal(covered.to_ns, start + 5 * PROFCOL_SECOND);
	history_destroy(history);
}

/* As of the profile that is taken from now on. */
static void only_what_lies_in_a_range_is_added(void **state)
{
	struct web_chance chance = { 9 };
	struct history *history = create(PROFCOL_HOUR, 64 << 20);
	struct history *halves[2] = { create(PROFCOL_HOUR, 64 << 20),
				      create(PROFCOL_HOUR, 64 << 20) };
	struct history_range ranges[2] = {
		{ start, start + 2 * PROFCOL_SECOND },
		{ start + 2 * PROFCOL_SECOND, start + 5 * PROFCOL_SECOND },
	};
	uint64_t sum = 0;

	(void)state;
	for (uint32_t i = 0; i < 20; i++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = web_batch(&chance, i, start);

		assert_no_error(history_add(history, batch, NULL, start));
		for (int half = 0; half < 2; half++)
			assert_no_error(history_add(halves[half], batch, &ranges[half], start));
	}
	for (int half = 0; half < 2; half++) {
		assert_true(history_figures(halves[half]).samples > 0);
		sum += history_figures(halves[half]).samples;
		history_destroy(halves[half]);
	}
	assert_int_equal(sum, history_figures(history).samples);
	history_destroy(history);
}

static void times_that_cannot_be_count_as_now(void **state)
{
	static const uint64_t times[] = { 0, UINT64_MAX - 1 };
	struct history *history = create(PROFCOL_HOUR, 64 << 20);

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct web_chance chance = { 21 + i };
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch =
			web_batch(&chance, (uint32_t)i, times[i]);

		assert_no_error(history_add(history, batch, NULL, start));
	}
	assert_true(history_figures(history).begin_ns >= start - 5 * PROFCOL_SECOND);
	assert_true(history_figures(history).end_ns <= start + 5 * PROFCOL_SECOND);
	history_destroy(history);
}

static void load_over_time_adds_up(void **state)
{
	struct web_chance chance = { 99 };
	struct history *history = create(24 * PROFCOL_HOUR, 64 << 20);
	const char *keys[HISTORY_KEYS_MAX];
	int64_t sum = 0, given = 0;

	(void)state;
	for (uint32_t i = 0; i < 30; i++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch =
			web_batch(&chance, i, start + i * 17 * PROFCOL_SECOND);

		given += web_batch_sum(batch, "cpu");
		assert_no_error(history_add(history, batch, NULL, start + PROFCOL_HOUR));
	}
	assert_int_equal(history_kind_count(history), 2);
	for (size_t kind = 0; kind < 2; kind++) {
		if (strcmp(history_kind(history, kind).type, "cpu") != 0)
			continue;
		assert_string_equal(history_kind(history, kind).unit, "nanoseconds");
		assert_int_equal(history_kind(history, kind).value, given);
		for (size_t i = 0; i < history_slice_count(history); i++)
			sum += history_slice_load(history, i, kind).value;
	}
	assert_int_equal(sum, given);
	assert_int_equal(history_keys(history, keys), 4);
	history_destroy(history);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merging_slices_changes_no_sum),
		cmocka_unit_test(slices_are_as_wide_as_they_are_old),
		cmocka_unit_test(what_is_older_than_the_retention_goes),
		cmocka_unit_test(memory_is_bounded_and_the_oldest_goes),
		cmocka_unit_test(a_batch_that_does_not_fit_at_all_leaves_nothing),
		cmocka_unit_test(a_range_takes_slices_whole_and_each_once),
		cmocka_unit_test(a_moment_gives_the_slice_around_it),
		cmocka_unit_test(only_what_lies_in_a_range_is_added),
		cmocka_unit_test(times_that_cannot_be_count_as_now),
		cmocka_unit_test(load_over_time_adds_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
