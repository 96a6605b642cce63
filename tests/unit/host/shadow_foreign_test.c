// SPDX-License-Identifier: Apache-2.0
/* What `shadow` takes from a profiler that is another one: its units, its texts, its sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shadow_sketch.h"

#include "host/commands/shadow/report.h"

#include <string.h>
#include <time.h>

/* ---- values of CPU time ---- */

/* Ten seconds of CPU time in one value, of a profiler that has no time stamps. */
static struct sketch ten_seconds(int64_t period_ns)
{
	struct sketch sketch = theirs(0x2000, 10);

	sketch.step_ns = second;
	sketch.cpu_ns = 10 * (int64_t)second;
	sketch.period_ns = period_ns;
	return sketch;
}

static void the_period_turns_cpu_time_into_samples(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();

	(void)state;
	tell(tally, TALLY_OTHER, ten_seconds(10000000));
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->figures[TALLY_OTHER].inside, 1000);
	assert_int_equal(tally->figures[TALLY_OTHER].untimed, 1000);
	assert_int_equal(tally->figures[TALLY_OTHER].period_ns, 10000000);
}

static void without_a_period_cpu_time_is_not_compared(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();

	(void)state;
	tell(tally, TALLY_OTHER, ten_seconds(0));
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->figures[TALLY_OTHER].inside, 0);
	assert_int_equal(tally->figures[TALLY_OTHER].unscaled, 1);
}

static void samples_and_their_cpu_time_count_once(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch both[] = { theirs(0x2000, 10), ten_seconds(1000000000) };

	(void)state;
	both[0].step_ns = second;
	both[1].same_resource = true;
	tell_at(tally, TALLY_OTHER, both, 2, begin_ns + 10 * second);
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->figures[TALLY_OTHER].inside, 10);
}

static void bytes_are_of_what_was_observed(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	const struct report report = { .tally = tally };
	const struct tally_side_figures *other = &tally->figures[TALLY_OTHER];

	(void)state;
	tell(tally, TALLY_OTHER, ten_seconds(10000000));
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(other->inside, 1000);
	assert_in_range(other->bytes, 100, 1000);
	assert_int_equal(report_bytes(&report, TALLY_OTHER), other->bytes);
}

/* ---- texts ---- */

static void texts_are_safe_and_cut_between_characters(void **state)
{
	static const char euro[] = "\xe2\x82\xac";
	CLEANUP_TALLY struct tally *tally = tally_create(second);
	struct places *places = &tally->places;
	char text[3 * 100 + 1] = "x";
	const char *kept;
	uint32_t id;

	(void)state;
	id = places_add_text(places,
			     "\xc2\x9b"
			     "2J\033\xc2\xa0",
			     7);
	assert_string_equal(places_text(places, id), "??2J?\xc2\xa0");
	for (size_t at = 1; at + 3 < sizeof(text); at += 3)
		memcpy(text + at, euro, 3);
	id = places_add_text(places, text, strlen(text));
	kept = places_text(places, id);
	assert_int_equal(strlen(kept), 1 + 3 * 79);
	assert_null(strchr(kept, '?'));
}

/* ---- stacks ---- */

static uint64_t cpu_ms(void)
{
	return (uint64_t)clock() * 1000 / CLOCKS_PER_SEC;
}

/* A file with very many attributes, and very many places in it. */
static void attributes_do_not_multiply(void **state)
{
	enum { MANY = 30000 };
	CLEANUP_FREE uint32_t *ids = calloc(MANY, sizeof(*ids));
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	uint64_t least_ms = UINT64_MAX, begin_time = begin_ns;
	uint32_t mapping, stack;

	(void)state;
	add_resource(builder, &(struct sketch){ .pid = 7, .executable = "shop" });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(
		builder, &(struct profcol_profile){
				 .sample_type = profcol_builder_cstring(builder, "samples"),
				 .sample_unit = profcol_builder_cstring(builder, "count") });
	for (uint32_t i = 0; i < MANY; i++)
		ids[i] = profcol_builder_attribute_int(builder, "process.executable.x", i);
	mapping = profcol_builder_mapping(
		builder,
		&(struct profcol_mapping){
			.filename = profcol_builder_cstring(builder, "shop"),
			.attributes = profcol_builder_attribute_list(builder, ids, MANY) });
	for (uint32_t i = 0; i < MANY; i++)
		ids[i] = profcol_builder_location(
			builder, &(struct profcol_location){ .mapping = mapping, .address = i });
	stack = profcol_builder_stack(builder, ids, MANY);
	profcol_builder_add_sample(builder,
				   &(struct profcol_sample){ .stack = stack,
							     .timestamp_count = 1,
							     .timestamps_unix_ns = &begin_time });
	assert_null(profcol_builder_seal(builder, &batch));
	// A machine that stands still for others may count that as work.
	for (int i = 0; i < 3 && least_ms > 1500; i++) {
		CLEANUP_TALLY struct tally *tally = begun();
		uint64_t begin_ms = cpu_ms(), took_ms;

		assert_null(tally_add(tally, TALLY_OWN, batch, begin_ns + second));
		took_ms = cpu_ms() - begin_ms;
		least_ms = took_ms < least_ms ? took_ms : least_ms;
		assert_int_equal(tally->places.items.count, MANY + 1);
	}
	assert_in_range(least_ms, 0, 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_period_turns_cpu_time_into_samples),
		cmocka_unit_test(without_a_period_cpu_time_is_not_compared),
		cmocka_unit_test(samples_and_their_cpu_time_count_once),
		cmocka_unit_test(bytes_are_of_what_was_observed),
		cmocka_unit_test(texts_are_safe_and_cut_between_characters),
		cmocka_unit_test(attributes_do_not_multiply),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
