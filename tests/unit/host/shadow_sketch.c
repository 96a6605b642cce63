// SPDX-License-Identifier: Apache-2.0
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "shadow_sketch.h"

#include <string.h>

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

void add_resource(struct profcol_builder *builder, const struct sketch *sketch)
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

void tell_at(struct tally *tally, enum tally_side side, const struct sketch *sketches, size_t count,
	     uint64_t now_ns)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	for (size_t i = 0; i < count; i++)
		add_sketch(builder, &sketches[i]);
	assert_null(profcol_builder_seal(builder, &batch));
	assert_null(tally_add(tally, side, batch, now_ns));
}

void tell(struct tally *tally, enum tally_side side, struct sketch sketch)
{
	tell_at(tally, side, &sketch, 1, sketch.from_ns + sketch.times * sketch.step_ns);
}

struct tally *begun(void)
{
	struct tally *tally = tally_create(60 * second);

	assert_non_null(tally);
	tell_at(tally, TALLY_OTHER,
		&(struct sketch){
			.pid = 1, .from_ns = begin_ns - second, .times = 1, .step_ns = 1 },
		1, begin_ns);
	return tally;
}

void cleanup_tally(struct tally **tally)
{
	tally_destroy(*tally);
}

static const struct frame_sketch start = { "native", "aa", "shop", "_start", 0x100 };

struct sketch ours(const char *name, uint64_t address, uint32_t times)
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

struct sketch theirs(uint64_t address, uint32_t times)
{
	struct sketch sketch = ours(NULL, address, times);

	sketch.frames[0].file = "shop";
	sketch.frames[1].name = NULL;
	return sketch;
}
