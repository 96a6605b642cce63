// SPDX-License-Identifier: Apache-2.0
/* What `shadow` makes of the batches of two profilers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "host/commands/shadow/comparison.h"
#include "host/commands/shadow/profiler_cost.h"
#include "host/commands/shadow/report.h"
#include "host/commands/shadow/sender.h"

#include "base/base.h"

#include <arpa/inet.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FRAMES_MAX = 4 };

static const uint64_t second = 1000000000u;
static const uint64_t begin_ns = 1700000000 * second;

/* A frame; the leaf comes first. */
struct frame_sketch {
	const char *type, *build_id, *file, *name; /* NULL: has none */
	uint64_t address;
};

/* What a profiler tells in one batch: one stack, so often, from a time on. */
struct sketch {
	int64_t pid;
	const char *executable, *service;
	struct frame_sketch frames[FRAMES_MAX];
	uint32_t times;
	uint64_t from_ns, step_ns;
	const char *sample_type; /* NULL: samples/count */
	int64_t cpu_ns;          /* instead: a value of cpu/nanoseconds, without time stamps */
	int64_t period_ns;       /* of these; 0 = not said */
	bool same_resource;      /* as the one before */
};

static uint32_t add_type(struct profcol_builder *builder, const char *type)
{
	uint32_t id =
		profcol_builder_attribute_string(builder, "profile.frame.type", type, strlen(type));

	return profcol_builder_attribute_list(builder, &id, 1);
}

static uint32_t add_mapping(struct profcol_builder *builder, const struct frame_sketch *frame)
{
	uint32_t id;

	if (!frame->file)
		return 0;
	id = frame->build_id
		     ? profcol_builder_attribute_string(builder,
							"process.executable.build_id.htlhash",
							frame->build_id, strlen(frame->build_id))
		     : 0;
	return profcol_builder_mapping(
		builder,
		&(struct profcol_mapping){
			.filename = profcol_builder_cstring(builder, frame->file),
			.attributes = profcol_builder_attribute_list(builder, &id, id ? 1 : 0),
		});
}

static uint32_t add_frame(struct profcol_builder *builder, const struct frame_sketch *frame)
{
	struct profcol_line line = { 0 };

	if (frame->name)
		line.function = profcol_builder_function(
			builder, &(struct profcol_function){
					 .name = profcol_builder_cstring(builder, frame->name) });
	return profcol_builder_location(builder,
					&(struct profcol_location){
						.mapping = add_mapping(builder, frame),
						.attributes = add_type(builder, frame->type),
						.address = frame->address,
						.lines = &line,
						.line_count = frame->name != NULL,
					});
}

static void add_resource(struct profcol_builder *builder, const struct sketch *sketch)
{
	uint32_t attributes[3], count = 0;

	attributes[count++] = profcol_builder_attribute_int(builder, "process.pid", sketch->pid);
	if (sketch->executable)
		attributes[count++] = profcol_builder_attribute_string(
			builder, "process.executable.name", sketch->executable,
			strlen(sketch->executable));
	if (sketch->service)
		attributes[count++] = profcol_builder_attribute_string(
			builder, "service.name", sketch->service, strlen(sketch->service));
	profcol_builder_add_resource(
		builder, &(struct profcol_resource){ .attributes = profcol_builder_attribute_list(
							     builder, attributes, count) });
}

static void add_sketch(struct profcol_builder *builder, const struct sketch *sketch)
{
	const char *type = sketch->cpu_ns        ? "cpu"
			   : sketch->sample_type ? sketch->sample_type
						 : "samples";
	const char *unit = sketch->cpu_ns ? "nanoseconds" : "count";
	uint32_t frames[FRAMES_MAX], count = 0;
	uint64_t times[1024];

	if (!sketch->same_resource) {
		add_resource(builder, sketch);
		profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	}
	profcol_builder_add_profile(
		builder, &(struct profcol_profile){
				 .sample_type = profcol_builder_cstring(builder, type),
				 .sample_unit = profcol_builder_cstring(builder, unit),
				 .period_type = profcol_builder_cstring(builder, "cpu"),
				 .period_unit = profcol_builder_cstring(builder, "nanoseconds"),
				 .period = sketch->cpu_ns ? sketch->period_ns : 50000000,
				 .time_unix_ns = sketch->from_ns,
				 .duration_ns = sketch->times * sketch->step_ns,
			 });
	for (; count < FRAMES_MAX && sketch->frames[count].type; count++)
		frames[count] = add_frame(builder, &sketch->frames[count]);
	assert_true(sketch->times <= sizeof(times) / sizeof(times[0]));
	for (uint32_t i = 0; i < sketch->times; i++)
		times[i] = sketch->from_ns + i * sketch->step_ns;
	profcol_builder_add_sample(builder,
				   &(struct profcol_sample){
					   .stack = profcol_builder_stack(builder, frames, count),
					   .value_count = sketch->cpu_ns != 0,
					   .values = &sketch->cpu_ns,
					   .timestamp_count = sketch->cpu_ns ? 0 : sketch->times,
					   .timestamps_unix_ns = times,
				   });
}

/* @side tells @sketches, at the moment that they end. */
static void tell_at(struct tally *tally, enum tally_side side, const struct sketch *sketches,
		    size_t count, uint64_t now_ns)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	for (size_t i = 0; i < count; i++)
		add_sketch(builder, &sketches[i]);
	assert_null(profcol_builder_seal(builder, &batch));
	assert_null(tally_add(tally, side, batch, now_ns));
}

static void tell(struct tally *tally, enum tally_side side, struct sketch sketch)
{
	tell_at(tally, side, &sketch, 1, sketch.from_ns + sketch.times * sketch.step_ns);
}

/* The other's first batch: from here on time is compared. */
static struct tally *begun(void)
{
	struct tally *tally = tally_create(60 * second);

	assert_non_null(tally);
	tell_at(tally, TALLY_OTHER,
		&(struct sketch){
			.pid = 1, .from_ns = begin_ns - second, .times = 1, .step_ns = 1 },
		1, begin_ns);
	return tally;
}

static void cleanup_tally(struct tally **tally)
{
	tally_destroy(*tally);
}
#define CLEANUP_TALLY CLEANUP(cleanup_tally)

static const struct comparison_service *find(const struct comparison *comparison, const char *name)
{
	for (size_t i = 0; i < comparison->services.count; i++)
		if (!strcmp(comparison->services.items[i].name, name))
			return &comparison->services.items[i];
	fail_msg("no service %s", name);
	return NULL;
}

static const struct frame_sketch start = { "native", "aa", "shop", "_start", 0x100 };

/* A sample of the function @name at @address of the program `shop`, as ours and as one of a
 * profiler that has no names. */
static struct sketch ours(const char *name, uint64_t address, uint32_t times)
{
	return (struct sketch){
		.pid = 7,
		.executable = "shop",
		.times = times,
		.from_ns = begin_ns,
		.step_ns = 1,
		.frames = { { "native", "aa", "/usr/bin/shop", name, address }, start },
	};
}

static struct sketch theirs(uint64_t address, uint32_t times)
{
	struct sketch sketch = ours(NULL, address, times);

	sketch.frames[0].file = "shop";
	sketch.frames[1].name = NULL;
	return sketch;
}

/* ---- time ---- */

static void only_the_time_of_both_counts(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch sketch = ours("pay", 0x2000, 10);

	(void)state;
	// Ten of ours in each of the seconds 0 to 9; the other has told until 4.5.
	sketch.step_ns = second / 10;
	for (int i = 0; i < 10; i++, sketch.from_ns += second)
		tell(tally, TALLY_OWN, sketch);
	sketch = theirs(0x2000, 50);
	sketch.step_ns = second / 10;
	sketch.from_ns = begin_ns - second / 2;
	tell(tally, TALLY_OTHER, sketch);
	tally_close(tally, begin_ns + 10 * second);
	assert_int_equal(tally->to_ns - tally->from_ns, 4 * second + second / 2);
	assert_int_equal(tally->figures[TALLY_OWN].inside, 45);
	assert_int_equal(tally->figures[TALLY_OWN].after, 55);
	assert_int_equal(tally->figures[TALLY_OTHER].inside, 45);
	assert_int_equal(tally->figures[TALLY_OTHER].before, 5 + 1);
}

static void what_comes_late_still_counts(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch sketch = theirs(0x2000, 10), late = ours("pay", 0x2000, 3);

	(void)state;
	sketch.step_ns = second;
	tell(tally, TALLY_OTHER, sketch);
	tell(tally, TALLY_OWN, sketch);
	tell_at(tally, TALLY_OWN, &late, 1, begin_ns + 12 * second);
	tally_close(tally, begin_ns + 20 * second);
	assert_int_equal(tally->figures[TALLY_OWN].inside, 13);
}

static void a_time_in_the_future_covers_nothing(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch sketch = theirs(0x2000, 2);

	(void)state;
	sketch.step_ns = 3600 * second;
	tell_at(tally, TALLY_OTHER, &sketch, 1, begin_ns + second);
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->to_ns, begin_ns + second);
	assert_int_equal(tally->figures[TALLY_OTHER].after, 1);
}

static void without_the_other_nothing_begins(void **state)
{
	CLEANUP_TALLY struct tally *tally = tally_create(60 * second);

	(void)state;
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->from_ns, 0);
	assert_int_equal(tally->figures[TALLY_OWN].before, 10);
}

static void other_kinds_are_not_compared(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	struct sketch sketch = theirs(0x2000, 5);

	(void)state;
	sketch.sample_type = "off_cpu";
	tell(tally, TALLY_OTHER, sketch);
	tally_close(tally, begin_ns + 60 * second);
	assert_int_equal(tally->figures[TALLY_OTHER].other_kinds, 5);
	assert_int_equal(tally->figures[TALLY_OTHER].inside, 0);
}

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

/* ---- agreement ---- */

/* Both compared, until all have been told. */
static void compare(struct tally *tally, struct comparison *ret)
{
	struct sketch last = theirs(0x2000, 1);

	last.frames[0] = (struct frame_sketch){ "kernel", NULL, NULL, "last", 0 };
	last.from_ns = begin_ns + 60 * second;
	tell(tally, TALLY_OTHER, last);
	tally_close(tally, begin_ns + 60 * second);
	assert_true(comparison_init(ret, tally));
}

static void addresses_get_the_names_that_ours_have(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	const struct comparison_service *shop;

	(void)state;
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 30));
	tell(tally, TALLY_OWN, ours("pay", 0x2400, 30));
	tell(tally, TALLY_OWN, ours("ship", 0x9000, 40));
	tell(tally, TALLY_OTHER, theirs(0x2000, 20)); // the very place
	tell(tally, TALLY_OTHER, theirs(0x2200, 20)); // between two of one function
	tell(tally, TALLY_OTHER, theirs(0x2480, 20)); // close to one
	tell(tally, TALLY_OTHER, theirs(0x9000, 30));
	tell(tally, TALLY_OTHER, theirs(0x7000, 10)); // in no function that is known
	compare(tally, &comparison);
	shop = find(&comparison, "shop");
	assert_int_equal(shop->samples[TALLY_OWN], 100);
	assert_int_equal(shop->samples[TALLY_OTHER], 100);
	assert_int_equal(shop->hottest_count, 3);
	assert_string_equal(shop->hottest[0].name, "pay");
	assert_string_equal(shop->hottest[0].file, "shop");
	assert_int_equal(shop->hottest[0].samples[TALLY_OTHER], 60);
	assert_string_equal(shop->hottest[2].name, "");
	assert_int_equal(shop->hottest[2].samples[TALLY_OTHER], 10);
	// 0.6 + 0.3 of what both have, of 1.
	assert_float_equal(shop->agreement, 0.9, 1e-9);
	assert_float_equal(shop->by_file, 0.05, 1e-9);
	assert_true(shop->expected > 0.85 && shop->expected < 0.97);
}

static void names_may_come_later(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;

	(void)state;
	tell(tally, TALLY_OWN, ours(NULL, 0x2000, 5));
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 5));
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	compare(tally, &comparison);
	assert_int_equal(find(&comparison, "shop")->hottest[0].samples[TALLY_OWN], 10);
	assert_float_equal(find(&comparison, "shop")->agreement, 1, 1e-9);
}

static void files_are_told_by_their_build(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch sketch = theirs(0x2000, 10);

	(void)state;
	sketch.frames[0].build_id = "bb"; // of the same name
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, sketch);
	compare(tally, &comparison);
	assert_float_equal(find(&comparison, "shop")->agreement, 0, 1e-9);
}

static void without_build_ids_the_name_of_the_file_counts(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch own = ours("pay", 0x2000, 10), other = theirs(0x2000, 10);

	(void)state;
	own.frames[0].build_id = other.frames[0].build_id = NULL;
	tell(tally, TALLY_OWN, own);
	tell(tally, TALLY_OTHER, other);
	compare(tally, &comparison);
	assert_float_equal(find(&comparison, "shop")->agreement, 1, 1e-9);
}

static void rates_do_not_matter_for_agreement(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;

	(void)state;
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 100));
	tell(tally, TALLY_OWN, ours("ship", 0x9000, 300));
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	tell(tally, TALLY_OTHER, theirs(0x9000, 30));
	compare(tally, &comparison);
	assert_float_equal(find(&comparison, "shop")->agreement, 1, 1e-9);
}

static void a_service_is_what_either_calls_it(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch named = theirs(0x2000, 5);
	struct sketch nobody = { .pid = 12, .times = 4, .from_ns = begin_ns, .step_ns = 1 };

	(void)state;
	named.service = "checkout";
	named.executable = NULL;
	nobody.frames[0] = (struct frame_sketch){ "kernel", NULL, NULL, "kthread", 0 };
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, named);
	tell(tally, TALLY_OWN, nobody);
	compare(tally, &comparison);
	assert_int_equal(comparison.services.count, 2);
	assert_int_equal(find(&comparison, "checkout")->samples[TALLY_OWN], 10);
	assert_int_equal(find(&comparison, "checkout")->samples[TALLY_OTHER], 5);
	assert_int_equal(find(&comparison, "[kernel]")->samples[TALLY_OWN], 4);
	assert_true(isnan(find(&comparison, "[kernel]")->agreement));
}

static void exec_begins_another_service(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch shell = ours("parse", 0x1000, 2), nameless = theirs(0x2000, 7);

	(void)state;
	shell.executable = "dash";
	nameless.executable = NULL;
	tell(tally, TALLY_OWN, shell);
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, nameless);
	shell.times = 3; // tells of what was before
	tell(tally, TALLY_OTHER, shell);
	compare(tally, &comparison);
	assert_int_equal(find(&comparison, "dash")->samples[TALLY_OWN], 2);
	assert_int_equal(find(&comparison, "dash")->samples[TALLY_OTHER], 3);
	assert_int_equal(find(&comparison, "shop")->samples[TALLY_OWN], 10);
	assert_int_equal(find(&comparison, "shop")->samples[TALLY_OTHER], 7);
}

static void what_has_no_name_yet_gets_it_later(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch young = ours("pay", 0x2000, 4);

	(void)state;
	young.executable = NULL;
	tell(tally, TALLY_OWN, young);
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	compare(tally, &comparison);
	assert_int_equal(comparison.services.count, 1);
	assert_int_equal(find(&comparison, "shop")->samples[TALLY_OWN], 14);
	assert_int_equal(find(&comparison, "shop")->samples[TALLY_OTHER], 10);
}

static void a_name_without_room_is_no_kernel_thread(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	char name[16];

	(void)state;
	for (int i = 0; !tally->places.refused; i++) {
		int length = snprintf(name, sizeof(name), "%d", i);

		places_add_text(&tally->places, name, (size_t)length);
	}
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	compare(tally, &comparison);
	assert_int_equal(find(&comparison, "(not named)")->samples[TALLY_OWN], 10);
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
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP_FREE uint32_t *ids = calloc(MANY, sizeof(*ids));
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	uint64_t begin_ms, begin_time = begin_ns;
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
	begin_ms = cpu_ms();
	assert_null(tally_add(tally, TALLY_OWN, batch, begin_ns + second));
	assert_in_range(cpu_ms() - begin_ms, 0, 1500);
	assert_int_equal(tally->places.items.count, MANY + 1);
}

static void a_stack_is_complete_where_ours_end(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	struct sketch cut = ours("pay", 0x2000, 3), short_one = theirs(0x2000, 4),
		      marked = theirs(0x2000, 5), kernel = theirs(0x2000, 6),
		      leaving = theirs(0x2000, 7);

	(void)state;
	cut.frames[1] = (struct frame_sketch){ "abort-marker", NULL, NULL, "no rule", 0 };
	short_one.frames[1] = (struct frame_sketch){ "native", "aa", "shop", NULL, 0x8000 };
	marked.frames[2] = (struct frame_sketch){ "abort-marker", NULL, NULL, NULL, 0 };
	kernel.frames[0] = (struct frame_sketch){ "kernel", NULL, NULL, "do_syscall_64", 0 };
	kernel.frames[1] = (struct frame_sketch){ 0 };
	leaving.frames[0] = (struct frame_sketch){ "kernel", NULL, NULL, "do_exit.isra.0", 0 };
	leaving.frames[1] = (struct frame_sketch){ 0 };
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OWN, cut);
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	tell(tally, TALLY_OTHER, short_one);
	tell(tally, TALLY_OTHER, marked);
	tell(tally, TALLY_OTHER, kernel);
	tell(tally, TALLY_OTHER, leaving);
	compare(tally, &comparison);
	assert_int_equal(comparison.all.samples[TALLY_OWN], 13);
	assert_int_equal(comparison.all.whole[TALLY_OWN], 10);
	assert_int_equal(comparison.all.samples[TALLY_OTHER], 32);
	assert_int_equal(comparison.all.whole[TALLY_OTHER], 10 + 7);
}

/* ---- the report ---- */

static char *print(struct tally *tally, const struct comparison *comparison, bool json)
{
	const struct report report = {
		.version = "1",
		.address = "127.0.0.1:4317",
		.span_ns = 60 * second,
		.tally = tally,
		.comparison = comparison,
		.costs = {
			{ 0.0031, 0.001, 62 << 20, 12 << 20 },
			{ (double)NAN, (double)NAN, (double)NAN, (double)NAN },
		},
	};
	char *text = NULL;
	size_t length;
	FILE *to = open_memstream(&text, &length);

	if (json)
		assert_true(report_print_json(&report, to));
	else
		report_print(&report, to);
	fclose(to);
	return text;
}

static void the_table_is_for_people(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	CLEANUP_FREE char *text = NULL;
	struct sketch odd = ours("pay", 0x2000, 1);
	size_t width = 0;

	(void)state;
	odd.pid = 8;
	odd.executable = "evil\033[2J\nname that is much longer than its column is wide";
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OWN, odd);
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	compare(tally, &comparison);
	text = print(tally, &comparison, false);
	assert_non_null(strstr(text, "60.0 s that both have sampled: 2023-11-14 22:13:20 to "
				     "22:14:20 UTC\n"));
	assert_non_null(
		strstr(text, "samples                                  11             10\n"));
	assert_non_null(
		strstr(text, "CPU, % of one                          0.31              -\n"));
	assert_non_null(strstr(text, "shop                                10        10    100.0    "
				     "100.0      100      100        0\n"));
	assert_non_null(strstr(text, "    100.0     100.0  pay (shop)\n"));
	assert_non_null(strstr(text, "--pid N says which it is"));
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "evil?[2J?name that is much"));
	for (const char *line = text; *line; line += width + (line[width] == '\n')) {
		width = strcspn(line, "\n");
		assert_true(width <= 100);
	}
}

static void many_services_become_one_line(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	for (int i = 0; i < 25; i++) {
		struct sketch sketch = ours("pay", 0x2000, 2);
		char name[16];

		snprintf(name, sizeof(name), "program%d", i);
		sketch.pid = 100 + i;
		sketch.executable = name;
		tell(tally, TALLY_OWN, sketch);
	}
	compare(tally, &comparison);
	text = print(tally, &comparison, false);
	assert_non_null(strstr(text, "(5 more)                            10         0"));
	assert_non_null(strstr(text, "all                                 50         0"));
}

static void json_has_the_same(void **state)
{
	CLEANUP_TALLY struct tally *tally = begun();
	CLEANUP(comparison_deinit) struct comparison comparison;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	tell(tally, TALLY_OWN, ours("pay", 0x2000, 10));
	tell(tally, TALLY_OTHER, theirs(0x2000, 10));
	compare(tally, &comparison);
	text = print(tally, &comparison, true);
	assert_non_null(strstr(text, "\"name\": \"shop\""));
	assert_non_null(strstr(text, "\"agreement\": 1.0"));
	assert_non_null(strstr(text, "\"function\": \"pay\""));
	assert_non_null(strstr(text, "\"cpu\": null"));
	assert_non_null(strstr(text, "\"address\": \"127.0.0.1:4317\""));
}

static void the_port_is_behind_the_last_colon(void **state)
{
	(void)state;
	assert_int_equal(sender_port("[::1]:4317"), 4317);
	assert_int_equal(sender_port("localhost:65535"), 65535);
	assert_int_equal(sender_port("localhost:65536"), 0);
	assert_int_equal(sender_port("unix:///run/x"), 0);
	assert_int_equal(sender_port("nothing"), 0);
}

/* ---- who sends ---- */

static int listen_at(const char *address, uint16_t *port)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(*port) };
	socklen_t length = sizeof(name);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(inet_pton(AF_INET, address, &name.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 200), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &length), 0);
	*port = ntohs(name.sin_port);
	return fd;
}

/* A process that keeps @count connections to that address until it is killed. */
static pid_t connect_from_child(const char *address, uint16_t port, int count)
{
	struct sockaddr_in name = { .sin_family = AF_INET, .sin_port = htons(port) };
	int ready[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	assert_int_equal(inet_pton(AF_INET, address, &name.sin_addr), 1);
	pid = fork();
	if (!pid) {
		for (int fd = 3; fd < 64; fd++)
			if (fd != ready[1])
				close(fd);
		for (int i = 0; i < count; i++)
			if (connect(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&name,
				    sizeof(name)))
				_exit(1);
		(void)!write(ready[1], "x", 1);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

/* A server in another process, at the same port of another address, which it gets from us. */
static pid_t serve_from_child(int fd)
{
	pid_t pid = fork();

	if (!pid) {
		for (;;)
			accept(fd, NULL, NULL);
	}
	close(fd);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The connections of others at that port come before, and are too many to be remembered. */
static void the_sender_is_who_is_connected_to_us(void **state)
{
	uint16_t port = 0;
	int ours_fd = listen_at("127.0.0.1", &port), accepted;
	pid_t server = serve_from_child(listen_at("127.0.0.2", &port));
	pid_t bystander = connect_from_child("127.0.0.2", port, 150), sender, found[4];

	(void)state;
	assert_int_equal(sender_find(port, found, 4), 0);
	sender = connect_from_child("127.0.0.1", port, 1);
	accepted = accept(ours_fd, NULL, NULL);
	assert_true(accepted >= 0);
	assert_int_equal(sender_find(port, found, 4), 1);
	assert_int_equal(found[0], sender);
	close(accepted);
	close(ours_fd);
	end_child(sender);
	end_child(bystander);
	end_child(server);
}

static void a_process_that_ends_is_told_from_the_next(void **state)
{
	pid_t pid = fork();
	struct profiler_cost cost;

	(void)state;
	if (!pid)
		for (;;)
			pause();
	cost = profiler_cost_read(&pid, 1);
	assert_true(cost.now_ns && cost.starts && cost.memory_bytes);
	assert_false(cost.has_bpf);
	assert_int_equal(profiler_cost_read(&pid, 1).starts, cost.starts);
	end_child(pid);
	assert_int_equal(profiler_cost_read(&pid, 1).now_ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_time_of_both_counts),
		cmocka_unit_test(what_comes_late_still_counts),
		cmocka_unit_test(a_time_in_the_future_covers_nothing),
		cmocka_unit_test(without_the_other_nothing_begins),
		cmocka_unit_test(other_kinds_are_not_compared),
		cmocka_unit_test(the_period_turns_cpu_time_into_samples),
		cmocka_unit_test(without_a_period_cpu_time_is_not_compared),
		cmocka_unit_test(samples_and_their_cpu_time_count_once),
		cmocka_unit_test(bytes_are_of_what_was_observed),
		cmocka_unit_test(addresses_get_the_names_that_ours_have),
		cmocka_unit_test(names_may_come_later),
		cmocka_unit_test(files_are_told_by_their_build),
		cmocka_unit_test(without_build_ids_the_name_of_the_file_counts),
		cmocka_unit_test(rates_do_not_matter_for_agreement),
		cmocka_unit_test(a_service_is_what_either_calls_it),
		cmocka_unit_test(exec_begins_another_service),
		cmocka_unit_test(what_has_no_name_yet_gets_it_later),
		cmocka_unit_test(a_name_without_room_is_no_kernel_thread),
		cmocka_unit_test(texts_are_safe_and_cut_between_characters),
		cmocka_unit_test(attributes_do_not_multiply),
		cmocka_unit_test(a_stack_is_complete_where_ours_end),
		cmocka_unit_test(the_table_is_for_people),
		cmocka_unit_test(many_services_become_one_line),
		cmocka_unit_test(json_has_the_same),
		cmocka_unit_test(the_port_is_behind_the_last_colon),
		cmocka_unit_test(the_sender_is_who_is_connected_to_us),
		cmocka_unit_test(a_process_that_ends_is_told_from_the_next),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
