// SPDX-License-Identifier: Apache-2.0
#include "pprof_content.h"
#include "random_batch.h"

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <pprof.pb-c.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

static struct profcol_batch *seal(struct profcol_builder *builder)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = profcol_builder_seal(builder, &batch);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return batch;
}

/* Seal, encode and read; free with perftools__profile__free_unpacked(). */
static Perftools__Profile *encode_builder(struct profcol_builder *builder)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = seal(builder);
	const struct pprof_encode_options options = { 0 };
	CLEANUP_FREE uint8_t *bytes = NULL;
	Perftools__Profile *profile;
	struct profcol_error *error;
	size_t length;

	error = pprof_encode(batch, &options, &bytes, &length);
	if (error)
		fail_msg("%s", profcol_error_message(error));
	profile = perftools__profile__unpack(NULL, length, bytes);
	assert_non_null(profile);
	return profile;
}

static bool string_is(const Perftools__Profile *profile, int64_t index, const char *wanted)
{
	const ProtobufCBinaryData *text;

	assert_true(index >= 0 && (size_t)index < profile->n_string_table);
	text = &profile->string_table[index];
	return text->len == strlen(wanted) &&
	       (!text->len || memcmp(text->data, wanted, text->len) == 0);
}

/* The only label of @sample with @key. */
static const Perftools__Label *find_label(const Perftools__Profile *profile,
					  const Perftools__Sample *sample, const char *key)
{
	const Perftools__Label *found = NULL;

	for (size_t i = 0; i < sample->n_label; i++) {
		if (!string_is(profile, sample->label[i]->key, key))
			continue;
		assert_null(found);
		found = sample->label[i];
	}
	if (!found)
		fail_msg("no label %s", key);
	return found;
}

static void add_profile(struct profcol_builder *builder, const char *type, const char *unit,
			int64_t period, uint64_t time, uint64_t duration)
{
	struct profcol_profile profile = {
		.sample_type = profcol_builder_cstring(builder, type),
		.sample_unit = profcol_builder_cstring(builder, unit),
		.time_unix_ns = time,
		.duration_ns = duration,
	};

	if (period) {
		profile.period_type = profcol_builder_cstring(builder, "cpu");
		profile.period_unit = profcol_builder_cstring(builder, "nanoseconds");
		profile.period = period;
	}
	profcol_builder_add_profile(builder, &profile);
}

static void add_value(struct profcol_builder *builder, uint32_t stack, uint32_t attributes,
		      int64_t value)
{
	profcol_builder_add_sample(builder, &(struct profcol_sample){ .stack = stack,
								      .attributes = attributes,
								      .value_count = 1,
								      .values = &value });
}

static void add_times(struct profcol_builder *builder, uint32_t stack, uint32_t attributes,
		      uint64_t first, uint32_t count)
{
	uint64_t times[8];

	for (uint32_t i = 0; i < count; i++)
		times[i] = first + i;
	profcol_builder_add_sample(builder,
				   &(struct profcol_sample){ .stack = stack,
							     .attributes = attributes,
							     .timestamp_count = count,
							     .timestamps_unix_ns = times });
}

static void open_scope(struct profcol_builder *builder, uint32_t resource_attributes)
{
	profcol_builder_add_resource(
		builder, &(struct profcol_resource){ .attributes = resource_attributes });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
}

static uint32_t add_frame(struct profcol_builder *builder, uint64_t address)
{
	uint32_t location =
		profcol_builder_location(builder, &(struct profcol_location){ .address = address });

	return profcol_builder_stack(builder, &location, 1);
}

static void sampled_counts_get_a_column_of_their_worth(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	Perftools__Profile *profile;
	const Perftools__Sample *sample;
	uint32_t stack = add_frame(builder, 1);

	(void)state;
	open_scope(builder, 0);
	add_profile(builder, "samples", "count", 50000000, 10 * SECOND, 5 * SECOND);
	add_times(builder, stack, 0, 11 * SECOND, 3);
	add_value(builder, stack, 0, 2);
	add_profile(builder, "off_cpu", "nanoseconds", 0, 8 * SECOND, 4 * SECOND);
	add_value(builder, stack, 0, 700);
	profile = encode_builder(builder);
	assert_int_equal(profile->n_sample_type, 3);
	assert_true(string_is(profile, profile->sample_type[0]->type, "samples"));
	assert_true(string_is(profile, profile->sample_type[1]->type, "off_cpu"));
	assert_true(string_is(profile, profile->sample_type[2]->type, "cpu"));
	assert_true(string_is(profile, profile->sample_type[2]->unit, "nanoseconds"));
	assert_true(string_is(profile, profile->default_sample_type, "cpu"));
	assert_true(string_is(profile, profile->period_type->type, "cpu"));
	assert_int_equal(profile->period, 50000000);
	assert_int_equal(profile->n_sample, 1);
	sample = profile->sample[0];
	assert_int_equal(sample->n_value, 3);
	assert_int_equal(sample->value[0], 5);
	assert_int_equal(sample->value[1], 700);
	assert_int_equal(sample->value[2], 250000000);
	// From the earliest start to the latest end.
	assert_int_equal(profile->time_nanos, 8 * SECOND);
	assert_int_equal(profile->duration_nanos, 7 * SECOND);
	perftools__profile__free_unpacked(profile, NULL);
}

static void columns_stand_in_one_order(void **state)
{
	static const char *const kinds[] = { "page_faults", "samples", "off_cpu" };
	static const char *const wanted[] = { "samples", "off_cpu", "page_faults", "cpu" };

	(void)state;
	// Each kind is the first of a batch once, as it is with processes that only waited.
	for (size_t first = 0; first < 3; first++) {
		struct profcol_builder *builder = profcol_builder_create();
		Perftools__Profile *profile;

		for (size_t i = 0; i < 3; i++) {
			const char *kind = kinds[(first + i) % 3];
			bool is_counted = strcmp(kind, "off_cpu") != 0;

			open_scope(builder, 0);
			add_profile(builder, kind, is_counted ? "count" : "nanoseconds",
				    strcmp(kind, "samples") == 0 ? 1000 : 0, 0, 0);
			add_value(builder, 0, 0, kind[0]);
		}
		profile = encode_builder(builder);
		assert_int_equal(profile->n_sample_type, 4);
		for (size_t i = 0; i < 4; i++)
			assert_true(string_is(profile, profile->sample_type[i]->type, wanted[i]));
		assert_true(string_is(profile, profile->default_sample_type, "cpu"));
		// All three have the empty stack, so they are one sample of the file.
		assert_int_equal(profile->n_sample, 1);
		assert_int_equal(profile->sample[0]->value[0], 's');
		assert_int_equal(profile->sample[0]->value[1], 'o');
		assert_int_equal(profile->sample[0]->value[2], 'p');
		assert_int_equal(profile->sample[0]->value[3], 's' * 1000);
		perftools__profile__free_unpacked(profile, NULL);
	}
}

/* Without samples that were counted, the main kind is the one that the sender put first. */
static void the_first_kind_of_others_stays_the_main_one(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	Perftools__Profile *profile;

	(void)state;
	open_scope(builder, 0);
	add_profile(builder, "inuse_space", "bytes", 0, 0, 0);
	add_value(builder, 0, 0, 5);
	add_profile(builder, "alloc_space", "bytes", 0, 0, 0);
	add_value(builder, 0, 0, 7);
	profile = encode_builder(builder);
	assert_true(string_is(profile, profile->sample_type[0]->type, "alloc_space"));
	assert_true(string_is(profile, profile->default_sample_type, "inuse_space"));
	assert_int_equal(profile->sample[0]->value[0], 7);
	perftools__profile__free_unpacked(profile, NULL);
}

/* As in OTLP made from pprof by others: the counts must not be added to the times. */
static void a_scope_that_has_the_worth_gets_no_column(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t stack = add_frame(builder, 1);
	Perftools__Profile *profile;

	(void)state;
	open_scope(builder, 0);
	add_profile(builder, "samples", "count", 10, SECOND, SECOND);
	add_value(builder, stack, 0, 2);
	add_profile(builder, "cpu", "nanoseconds", 10, SECOND, SECOND);
	add_value(builder, stack, 0, 19);
	profile = encode_builder(builder);
	assert_int_equal(profile->n_sample_type, 2);
	assert_int_equal(profile->sample[0]->value[0], 2);
	assert_int_equal(profile->sample[0]->value[1], 19);
	assert_int_equal(profile->time_nanos, SECOND);
	assert_int_equal(profile->duration_nanos, SECOND);
	perftools__profile__free_unpacked(profile, NULL);
}

static uint32_t list_of(struct profcol_builder *builder, uint32_t a, uint32_t b)
{
	const uint32_t ids[] = { a, b };

	return profcol_builder_attribute_list(builder, ids, b ? 2 : 1);
}

static void labels_come_from_sample_link_and_resource(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t resource = list_of(
		builder, profcol_builder_attribute_string(builder, "container.id", "c0ffee", 6),
		profcol_builder_attribute_int(builder, "process.pid", 7));
	uint32_t sample_list =
		list_of(builder, profcol_builder_attribute_int(builder, "process.pid", 42),
			profcol_builder_attribute_string(builder, "thread.name", "worker", 6));
	const struct profcol_link link = { .trace_id = { 1, [15] = 0xff }, .span_id = { 0xab } };
	const int64_t one = 1;
	Perftools__Profile *profile;
	const Perftools__Sample *sample;

	(void)state;
	open_scope(builder, resource);
	add_profile(builder, "events", "count", 0, 0, 0);
	profcol_builder_add_sample(
		builder, &(struct profcol_sample){ .attributes = sample_list,
						   .link = profcol_builder_link(builder, &link),
						   .value_count = 1,
						   .values = &one });
	profile = encode_builder(builder);
	sample = profile->sample[0];
	assert_int_equal(sample->n_label, 5);
	assert_int_equal(find_label(profile, sample, "pid")->num, 42);
	assert_true(string_is(profile, find_label(profile, sample, "comm")->str, "worker"));
	assert_true(string_is(profile, find_label(profile, sample, "container.id")->str, "c0ffee"));
	assert_true(string_is(profile, find_label(profile, sample, "trace_id")->str,
			      "010000000000000000000000000000ff"));
	assert_true(string_is(profile, find_label(profile, sample, "span_id")->str,
			      "ab00000000000000"));
	perftools__profile__free_unpacked(profile, NULL);
}

/* google/pprof drops a label whose string, number and unit are all 0. */
static void zero_labels_survive(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t list =
		list_of(builder, profcol_builder_attribute_int(builder, "cpu.logical_number", 0),
			profcol_builder_attribute_string(builder, "empty", "", 0));
	Perftools__Profile *profile;
	const Perftools__Label *label;

	(void)state;
	open_scope(builder, 0);
	add_profile(builder, "events", "count", 0, 0, 0);
	add_value(builder, 0, list, 1);
	profile = encode_builder(builder);
	label = find_label(profile, profile->sample[0], "cpu.logical_number");
	assert_int_equal(label->num, 0);
	assert_true(string_is(profile, label->num_unit, "cpu.logical_number"));
	label = find_label(profile, profile->sample[0], "empty");
	assert_int_not_equal(label->str, 0);
	assert_true(string_is(profile, label->str, ""));
	perftools__profile__free_unpacked(profile, NULL);
}

/* An array attribute of the bytes @blob of an AnyValue. */
static uint32_t add_array(struct profcol_builder *builder, const char *key, const void *blob,
			  size_t length)
{
	return profcol_builder_attribute(
		builder, &(struct profcol_attribute){
				 .key = profcol_builder_cstring(builder, key),
				 .value = { .type = PROFCOL_VALUE_ARRAY,
					    .blob = profcol_builder_blob(builder, blob, length) },
			 });
}

static void arrays_become_labels_or_text(void **state)
{
	// [[1], {"k": nothing}] and ["x", 7], and bytes that are no array at all.
	static const uint8_t nested[] = { 0x2a, 19, 0x0a, 6, 0x2a, 4, 0x0a, 2,    0x18, 1, 0x0a, 9,
					  0x32, 7,  0x0a, 5, 0x0a, 1, 'k',  0x12, 0 };
	static const uint8_t flat[] = { 0x2a, 9, 0x0a, 3, 0x0a, 1, 'x', 0x0a, 2, 0x18, 7 };
	static const uint8_t broken[] = { 0x2a, 9, 1 };
	uint8_t deep[40 * 6];
	struct profcol_builder *builder = profcol_builder_create();
	Perftools__Profile *profile;
	const Perftools__Sample *sample;
	uint32_t ids[4];

	(void)state;
	// 40 arrays, each in the one before, from the innermost on; lengths take two bytes.
	for (size_t i = 0, at = sizeof(deep); at; i++) {
		size_t inner = sizeof(deep) - at;

		deep[--at] = (uint8_t)(inner >> 7);
		deep[--at] = (uint8_t)(inner | 0x80);
		deep[--at] = i % 2 ? 0x2a : 0x0a;
	}
	ids[0] = add_array(builder, "nested", nested, sizeof(nested));
	ids[1] = add_array(builder, "flat", flat, sizeof(flat));
	ids[2] = add_array(builder, "broken", broken, sizeof(broken));
	ids[3] = add_array(builder, "deep", deep, sizeof(deep));
	open_scope(builder, 0);
	add_profile(builder, "events", "count", 0, 0, 0);
	add_value(builder, 0, profcol_builder_attribute_list(builder, ids, 4), 1);
	profile = encode_builder(builder);
	sample = profile->sample[0];
	assert_int_equal(sample->n_label, 5);
	assert_true(string_is(profile, find_label(profile, sample, "nested")->str,
			      "[[1],{\"k\":null}]"));
	assert_true(string_is(profile, find_label(profile, sample, "broken")->str, "2a0901"));
	assert_true(profile->string_table[find_label(profile, sample, "deep")->str].len ==
		    2 * sizeof(deep));
	perftools__profile__free_unpacked(profile, NULL);
}

static void samples_equal_in_stack_and_labels_become_one(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t a = profcol_builder_attribute_string(builder, "a", "x", 1);
	uint32_t b = profcol_builder_attribute_string(builder, "b", "y", 1);
	uint32_t stack = add_frame(builder, 1), other_stack = add_frame(builder, 2);
	Perftools__Profile *profile;

	(void)state;
	// The same labels, from sample and resource in turns and in either order.
	open_scope(builder, list_of(builder, a, 0));
	add_profile(builder, "events", "count", 0, 0, 0);
	add_value(builder, stack, list_of(builder, b, 0), 1);
	add_value(builder, stack, list_of(builder, b, a), 10);
	open_scope(builder, 0);
	add_profile(builder, "events", "count", 0, 0, 0);
	add_value(builder, stack, list_of(builder, a, b), 100);
	add_value(builder, other_stack, list_of(builder, a, b), 1000);
	add_value(builder, stack, list_of(builder, a, 0), 10000);
	profile = encode_builder(builder);
	assert_int_equal(profile->n_sample_type, 1);
	assert_int_equal(profile->n_sample, 3);
	assert_int_equal(profile->sample[0]->value[0], 111);
	assert_int_equal(profile->sample[1]->value[0], 1000);
	assert_int_equal(profile->sample[2]->value[0], 10000);
	perftools__profile__free_unpacked(profile, NULL);
}

static void sums_stop_at_the_limit(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	Perftools__Profile *profile;

	(void)state;
	open_scope(builder, 0);
	add_profile(builder, "samples", "count", 1000, 0, 0);
	add_value(builder, 0, 0, INT64_MAX);
	add_value(builder, 0, 0, 1);
	profile = encode_builder(builder);
	assert_true(profile->sample[0]->value[0] == INT64_MAX);
	assert_true(profile->sample[0]->value[1] == INT64_MAX);
	perftools__profile__free_unpacked(profile, NULL);
}

static uint32_t add_mapping(struct profcol_builder *builder, uint64_t start, const char *first_key,
			    const char *second_key)
{
	uint32_t list = list_of(
		builder, profcol_builder_attribute_string(builder, first_key, "1111", 4),
		second_key ? profcol_builder_attribute_string(builder, second_key, "2222", 4) : 0);

	return profcol_builder_mapping(
		builder, &(struct profcol_mapping){
				 .memory_start = start,
				 .memory_limit = start + 4096,
				 .filename = profcol_builder_cstring(builder, "/bin/true"),
				 .attributes = list,
			 });
}

static void mappings_carry_build_ids_and_flags(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t both = add_mapping(builder, 0x1000, "process.executable.build_id.htlhash",
				    "process.executable.build_id.gnu");
	uint32_t hash = add_mapping(builder, 0x4000, "process.executable.build_id.htlhash", NULL);
	uint32_t name = profcol_builder_cstring(builder, "main");
	const struct profcol_line line = {
		.function = profcol_builder_function(builder,
						     &(struct profcol_function){ .name = name }),
	};
	const uint32_t locations[] = {
		profcol_builder_location(builder, &(struct profcol_location){ .mapping = both,
									      .address = 0x1010,
									      .lines = &line,
									      .line_count = 1 }),
		profcol_builder_location(
			builder, &(struct profcol_location){ .mapping = hash, .address = 0x4010 }),
	};
	uint32_t stack = profcol_builder_stack(builder, locations, 2);
	Perftools__Profile *profile;

	(void)state;
	open_scope(builder, 0);
	add_profile(builder, "events", "count", 0, 0, 0);
	add_value(builder, stack, 0, 1);
	profile = encode_builder(builder);
	assert_int_equal(profile->n_mapping, 2);
	assert_true(string_is(profile, profile->mapping[0]->build_id, "2222"));
	assert_true(profile->mapping[0]->has_functions);
	assert_false(profile->mapping[0]->has_filenames);
	assert_false(profile->mapping[0]->has_line_numbers);
	assert_true(string_is(profile, profile->mapping[1]->build_id, "1111"));
	assert_false(profile->mapping[1]->has_functions);
	assert_int_equal(profile->location[0]->mapping_id, profile->mapping[0]->id);
	assert_int_equal(profile->sample[0]->location_id[0], profile->location[0]->id);
	assert_int_equal(profile->location[0]->line[0]->function_id, profile->function[0]->id);
	perftools__profile__free_unpacked(profile, NULL);
}

/* A location that says what may be shown in place of a function has one of that name; its mapping
 * does not say that functions are known. */
static void labels_become_functions(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t mapping = add_mapping(builder, 0x1000, "process.executable.build_id.gnu", NULL);
	uint32_t label =
		profcol_builder_attribute_string(builder, PROFCOL_FRAME_LABEL, "a+0x10", 6);
	uint32_t list = profcol_builder_attribute_list(builder, &label, 1);
	const struct profcol_line line = { 0 };
	const uint32_t locations[] = {
		profcol_builder_location(builder, &(struct profcol_location){ .mapping = mapping,
									      .address = 0x1010,
									      .attributes = list }),
		profcol_builder_location(builder, &(struct profcol_location){ .mapping = mapping,
									      .address = 0x1020,
									      .attributes = list }),
		profcol_builder_location(builder, &(struct profcol_location){ .address = 0x30,
									      .lines = &line,
									      .line_count = 1,
									      .attributes = list }),
	};
	uint32_t stack = profcol_builder_stack(builder, locations, 3);
	Perftools__Profile *profile;

	(void)state;
	open_scope(builder, 0);
	add_profile(builder, "events", "count", 0, 0, 0);
	add_value(builder, stack, 0, 1);
	profile = encode_builder(builder);
	assert_int_equal(profile->n_function, 2); // the zero function, and one for both
	assert_true(string_is(profile, profile->function[1]->name, "a+0x10"));
	assert_int_not_equal(profile->function[0]->id, profile->function[1]->id);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(profile->location[i]->n_line, 1);
		assert_int_equal(profile->location[i]->line[0]->function_id,
				 profile->function[1]->id);
	}
	assert_int_equal(profile->location[2]->n_line, 1);
	assert_int_equal(profile->location[2]->line[0]->function_id, profile->function[0]->id);
	assert_false(profile->mapping[0]->has_functions);
	perftools__profile__free_unpacked(profile, NULL);
}

static uint32_t add_program(struct profcol_builder *builder, const char *path, uint64_t start)
{
	uint32_t name = profcol_builder_cstring(builder, path);

	return profcol_builder_mapping(builder,
				       &(struct profcol_mapping){ .memory_start = start,
								  .memory_limit = start + 0x1000,
								  .filename = name });
}

static void expect_first_mapping(const char *name, int64_t of_it, int64_t of_others)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t kernel = add_program(builder, "vmlinux", 0x1000);
	uint32_t libc = add_program(builder, "/lib/libc.so.6", 0x2000);
	uint32_t program = add_program(builder, "/opt/hotcpp", 0x3000);
	const uint32_t locations[] = {
		profcol_builder_location(builder, &(struct profcol_location){ .mapping = kernel }),
		profcol_builder_location(builder, &(struct profcol_location){ .mapping = libc }),
		profcol_builder_location(builder, &(struct profcol_location){ .mapping = program }),
	};
	uint32_t stack = profcol_builder_stack(builder, locations, 3);
	static const char *const names[] = { "hotcpp", "sh" };
	const int64_t values[] = { of_it, of_others };
	Perftools__Profile *profile;

	for (int i = 0; i < 2; i++) {
		uint32_t attribute = profcol_builder_attribute_string(
			builder, "process.executable.name", names[i], strlen(names[i]));

		open_scope(builder, profcol_builder_attribute_list(builder, &attribute, 1));
		add_profile(builder, "samples", "count", 0, 0, 0);
		add_value(builder, stack, 0, values[i]);
	}
	profile = encode_builder(builder);
	assert_int_equal(profile->n_mapping, 3);
	assert_true(string_is(profile, profile->mapping[0]->filename, name));
	for (size_t i = 0; i < 3; i++) {
		uint64_t id = profile->location[i]->mapping_id;

		assert_int_equal(profile->mapping[i]->id, i + 1);
		// Each location is in the mapping that it was in.
		assert_true(id >= 1 && id <= 3);
		assert_int_equal(profile->mapping[id - 1]->memory_start, 0x1000 * (i + 1));
	}
	perftools__profile__free_unpacked(profile, NULL);
}

static void the_program_that_was_profiled_comes_first(void **state)
{
	(void)state;
	expect_first_mapping("/opt/hotcpp", 10, 3);
	expect_first_mapping("vmlinux", 3, 3);
	expect_first_mapping("vmlinux", 3, 10); // nothing of "sh" is mapped
}

/* Ids may not be 0, but a stack may hold the zero location, and a line the zero function. */
static void zero_rows_get_an_id(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	const struct profcol_line line = { .line = 3 };
	const uint32_t locations[] = {
		0,
		profcol_builder_location(
			builder, &(struct profcol_location){ .lines = &line, .line_count = 1 }),
	};
	uint32_t stack = profcol_builder_stack(builder, locations, 2);
	Perftools__Profile *profile;

	(void)state;
	open_scope(builder, 0);
	add_profile(builder, "events", "count", 0, 0, 0);
	add_value(builder, stack, 0, 1);
	profile = encode_builder(builder);
	assert_int_equal(profile->n_location, 2);
	assert_int_equal(profile->n_function, 1);
	assert_int_equal(profile->location[0]->line[0]->function_id, profile->function[0]->id);
	assert_int_not_equal(profile->function[0]->id, 0);
	assert_int_equal(profile->sample[0]->location_id[0], profile->location[1]->id);
	assert_int_equal(profile->sample[0]->location_id[1], profile->location[0]->id);
	perftools__profile__free_unpacked(profile, NULL);
}

static void every_level_holds_the_same(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch_sized(3, 2000);
	CLEANUP_FREE char *plain_content = NULL;
	size_t plain_length = 0;

	(void)state;
	for (int level = 0; level <= 12; level++) {
		const struct pprof_encode_options options = { .compression_level = level };
		CLEANUP_FREE uint8_t *bytes = NULL;
		CLEANUP_FREE char *content = NULL;
		struct profcol_error *error;
		size_t length;

		error = pprof_encode(batch, &options, &bytes, &length);
		assert_null(error);
		content = pprof_content(bytes, length);
		if (!level) {
			plain_content = TAKE(content);
			plain_length = length;
			continue;
		}
		assert_true(bytes[0] == 0x1f && bytes[1] == 0x8b);
		assert_true(length < plain_length / 2);
		assert_true(content_equal(plain_content, content));
	}
}

static void an_empty_batch_is_a_valid_file(void **state)
{
	Perftools__Profile *profile = encode_builder(profcol_builder_create());

	(void)state;
	assert_int_equal(profile->n_string_table, 1);
	assert_int_equal(profile->string_table[0].len, 0);
	assert_int_equal(profile->n_sample, 0);
	perftools__profile__free_unpacked(profile, NULL);
}

static void too_many_kinds_of_samples_are_refused(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	const struct pprof_encode_options options = { 0 };
	uint8_t *bytes = NULL;
	char name[20];
	size_t length;

	(void)state;
	open_scope(builder, 0);
	for (int i = 0; i < 257; i++) {
		snprintf(name, sizeof(name), "type%d", i);
		add_profile(builder, name, "count", 0, 0, 0);
	}
	batch = seal(builder);
	error = pprof_encode(batch, &options, &bytes, &length);
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_REJECTED);
	assert_null(bytes);
}

/* A profile that a program shows as @name, with one sample without a stack. */
static void add_named(struct profcol_builder *builder, const char *name, uint64_t time,
		      uint64_t duration, int64_t value)
{
	uint32_t attribute =
		profcol_builder_attribute_string(builder, PROFCOL_PROFILE_NAME, name, strlen(name));
	struct profcol_profile profile = {
		.sample_type = profcol_builder_cstring(builder, "contentions"),
		.sample_unit = profcol_builder_cstring(builder, "count"),
		.time_unix_ns = time,
		.duration_ns = duration,
		.attributes = profcol_builder_attribute_list(builder, &attribute, 1),
	};

	profcol_builder_add_profile(builder, &profile);
	add_value(builder, 0, 0, value);
}

static int64_t value_of(const Perftools__Profile *profile, const char *name)
{
	const Perftools__Sample *found = NULL;

	for (size_t i = 0; i < profile->n_sample; i++) {
		const Perftools__Label *label = find_label(profile, profile->sample[i], "profile");

		if (!string_is(profile, label->str, name))
			continue;
		assert_null(found);
		found = profile->sample[i];
	}
	assert_non_null(found);
	return found->value[0];
}

static void the_newest_state_takes_the_place_of_earlier_ones(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	Perftools__Profile *profile;

	(void)state;
	open_scope(builder, 0);
	add_named(builder, "mutex", 2 * SECOND, 0, 20);
	add_named(builder, "block", SECOND, 0, 1);
	add_named(builder, "mutex", 3 * SECOND, 0, 30);
	add_named(builder, "mutex", SECOND, 0, 10);
	// What has come about in a window adds up.
	add_named(builder, "profile", SECOND, SECOND, 100);
	add_named(builder, "profile", 2 * SECOND, SECOND, 200);
	profile = encode_builder(builder);
	assert_int_equal(profile->n_sample, 3);
	assert_int_equal(value_of(profile, "mutex"), 30);
	assert_int_equal(value_of(profile, "block"), 1);
	assert_int_equal(value_of(profile, "profile"), 300);
	perftools__profile__free_unpacked(profile, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_become_functions),
		cmocka_unit_test(the_program_that_was_profiled_comes_first),
		cmocka_unit_test(sampled_counts_get_a_column_of_their_worth),
		cmocka_unit_test(columns_stand_in_one_order),
		cmocka_unit_test(the_first_kind_of_others_stays_the_main_one),
		cmocka_unit_test(a_scope_that_has_the_worth_gets_no_column),
		cmocka_unit_test(labels_come_from_sample_link_and_resource),
		cmocka_unit_test(zero_labels_survive),
		cmocka_unit_test(arrays_become_labels_or_text),
		cmocka_unit_test(samples_equal_in_stack_and_labels_become_one),
		cmocka_unit_test(the_newest_state_takes_the_place_of_earlier_ones),
		cmocka_unit_test(sums_stop_at_the_limit),
		cmocka_unit_test(mappings_carry_build_ids_and_flags),
		cmocka_unit_test(zero_rows_get_an_id),
		cmocka_unit_test(every_level_holds_the_same),
		cmocka_unit_test(an_empty_batch_is_a_valid_file),
		cmocka_unit_test(too_many_kinds_of_samples_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
