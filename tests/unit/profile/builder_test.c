// SPDX-License-Identifier: Apache-2.0
/* Building, reading and editing one batch. */
#include "random_batch.h"

#include "profile/columns.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct profcol_batch *seal(struct profcol_builder *builder)
{
	struct profcol_batch *batch = NULL;

	assert_null(profcol_builder_seal(builder, &batch));
	assert_non_null(batch);
	return batch;
}

/* The seal refuses @builder with BAD_DATA and a text that contains @text. */
static void assert_bad_data(struct profcol_builder *builder, const char *text)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = profcol_builder_seal(builder, &batch);

	assert_non_null(error);
	assert_null(batch);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	if (!strstr(profcol_error_message(error), text))
		fail_msg("'%s' is not in '%s'", text, profcol_error_message(error));
	profcol_error_destroy(error);
}

static uint32_t open_profile(struct profcol_builder *builder)
{
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	return profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
}

static void add_event(struct profcol_builder *builder, struct profcol_sample sample)
{
	uint64_t time = 5;

	sample.timestamps_unix_ns = &time;
	sample.timestamp_count = 1;
	profcol_builder_add_sample(builder, &sample);
}

static void empty_batch_has_the_zero_values_and_nothing_else(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = seal(profcol_builder_create());

	(void)state;
	for (unsigned int table = PROFCOL_STRINGS; table <= PROFCOL_LINKS; table++)
		assert_int_equal(profcol_batch_count(batch, table), 1);
	for (unsigned int table = PROFCOL_RESOURCES; table <= PROFCOL_SAMPLES; table++)
		assert_int_equal(profcol_batch_count(batch, table), 0);
	assert_string_equal(profcol_batch_string(batch, 0).bytes, "");
	assert_int_equal(profcol_batch_events(batch), 0);
	assert_int_equal(profcol_batch_count(batch, (enum profcol_table)99), 0);
}

static void ids_outside_a_table_read_as_zero_values(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = seal(profcol_builder_create());
	struct profcol_range range = { 7, 8 };
	uint32_t count = 9;

	(void)state;
	assert_int_equal(profcol_batch_string(batch, 1).length, 0);
	assert_string_equal(profcol_batch_blob(batch, UINT32_MAX).bytes, "");
	assert_int_equal(profcol_batch_function(batch, 1).name, 0);
	assert_int_equal(profcol_batch_mapping(batch, 1).filename, 0);
	assert_int_equal(profcol_batch_location(batch, 1).line_count, 0);
	assert_int_equal(profcol_batch_attribute(batch, 1).key, 0);
	assert_int_equal(profcol_batch_link(batch, 1).trace_id[0], 0);
	assert_null(profcol_batch_stack(batch, 1, &count));
	assert_int_equal(count, 0);
	profcol_batch_resource(batch, 0, &range);
	assert_int_equal(range.begin + range.end, 0);
	assert_int_equal(profcol_batch_sample(batch, 0).timestamp_count, 0);
}

static void equal_entries_get_one_id(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_line lines[2];
	struct profcol_location location = { .address = 16, .lines = lines, .line_count = 2 };
	struct profcol_attribute flag;
	uint32_t main_id, id, flag_id;

	(void)state;
	main_id = profcol_builder_cstring(builder, "main");
	assert_int_equal(main_id, 1);
	assert_int_equal(profcol_builder_string(builder, "mainly", 4), main_id);
	assert_int_equal(profcol_builder_string(builder, "main\0", 5), 2);
	assert_int_equal(profcol_builder_cstring(builder, ""), 0);
	assert_int_equal(profcol_builder_stack(builder, NULL, 0), 0);
	assert_int_equal(profcol_builder_location(builder, &(struct profcol_location){ 0 }), 0);

	// Bytes between the fields, and those of other types of value, do not count.
	memset(lines, 0xaa, sizeof(lines));
	for (unsigned int i = 0; i < 2; i++) {
		lines[i].function = 0;
		lines[i].line = i;
		lines[i].column = 0;
	}
	id = profcol_builder_location(builder, &location);
	memset(lines, 0x55, sizeof(lines));
	for (unsigned int i = 0; i < 2; i++) {
		lines[i].function = 0;
		lines[i].line = i;
		lines[i].column = 0;
	}
	assert_int_equal(profcol_builder_location(builder, &location), id);
	lines[1].column = 1;
	assert_int_equal(profcol_builder_location(builder, &location), id + 1);

	memset(&flag, 0xaa, sizeof(flag));
	flag.key = main_id;
	flag.unit = 0;
	flag.value.type = PROFCOL_VALUE_BOOL;
	flag.value.boolean = true;
	flag_id = profcol_builder_attribute(builder, &flag);
	memset(&flag.value, 0x55, sizeof(flag.value));
	flag.value.type = PROFCOL_VALUE_BOOL;
	flag.value.boolean = true;
	assert_int_equal(profcol_builder_attribute(builder, &flag), flag_id);

	batch = seal(builder);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_STRINGS), 3);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_LOCATIONS), 3);
	assert_int_equal(profcol_batch_string(batch, 2).length, 5);
	assert_memory_equal(profcol_batch_string(batch, 2).bytes, "main\0", 6);
}

static void doubles_are_equal_when_their_bits_are(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_attribute plus = { .value = { .type = PROFCOL_VALUE_DOUBLE, .real = 0.0 } };
	struct profcol_attribute minus = { .value = { .type = PROFCOL_VALUE_DOUBLE,
						      .real = -0.0 } };

	(void)state;
	assert_int_not_equal(profcol_builder_attribute(builder, &plus),
			     profcol_builder_attribute(builder, &minus));
	profcol_builder_destroy(builder);
}

static void many_rows_keep_their_ids(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	enum { ROWS = 20000 };
	char text[32];

	(void)state;
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= ROWS; i++) {
			int length = snprintf(text, sizeof(text), "name %u", i);

			assert_int_equal(profcol_builder_string(builder, text, (size_t)length), i);
		}
	for (uint32_t i = 1; i <= ROWS; i += 97) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_string_equal(profcol_batch_string(profcol_builder_peek(builder), i).bytes,
				    text);
	}
	profcol_builder_destroy(builder);
}

/* A processor that drops leaves passes pointers into the builder's own tables. */
static void arguments_may_lie_in_the_builder_itself(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t locations[100], count, id;
	const uint32_t *stack;

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		locations[i] = profcol_builder_location(
			builder, &(struct profcol_location){ .address = i + 1 });
	id = profcol_builder_stack(builder, locations, 100);
	for (uint32_t length = 100; length > 1; length--) {
		stack = profcol_batch_stack(profcol_builder_peek(builder), id, &count);
		assert_int_equal(count, length);
		id = profcol_builder_stack(builder, stack + 1, count - 1);
	}
	stack = profcol_batch_stack(profcol_builder_peek(builder), id, &count);
	assert_int_equal(count, 1);
	assert_int_equal(stack[0], locations[99]);
	profcol_builder_destroy(builder);
}

static void tree_rows_own_their_children(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_range range;
	int64_t value = 3;

	(void)state;
	open_profile(builder);
	add_event(builder, (struct profcol_sample){ 0 });
	profcol_builder_add_sample(builder,
				   &(struct profcol_sample){ .values = &value, .value_count = 1 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ .duration_ns = 9 });
	add_event(builder, (struct profcol_sample){ 0 });
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_batch_profile(profcol_builder_peek(builder), 1, &range);
	assert_int_equal(range.begin, 2);
	assert_int_equal(range.end, 3);

	batch = seal(builder);
	profcol_batch_resource(batch, 0, &range);
	assert_int_equal(range.end - range.begin, 1);
	profcol_batch_resource(batch, 1, &range);
	assert_int_equal(range.end - range.begin, 0);
	profcol_batch_scope(batch, 0, &range);
	assert_int_equal(range.end, 2);
	assert_int_equal(profcol_batch_profile(batch, 1, &range).duration_ns, 9);
	assert_int_equal(profcol_batch_sample(batch, 1).values[0], 3);
	assert_int_equal(profcol_batch_sample(batch, 1).timestamp_count, 0);
	assert_int_equal(profcol_batch_events(batch), 3);
}

static void rows_without_a_parent_are_refused(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();

	(void)state;
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	assert_bad_data(builder, "scope added without a resource");

	builder = profcol_builder_create();
	open_profile(builder);
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	add_event(builder, (struct profcol_sample){ 0 });
	assert_bad_data(builder, "sample added without a profile");

	builder = profcol_builder_create();
	profcol_builder_set_sample_attributes(builder, 0, 0);
	assert_bad_data(builder, "a row that is not there");
}

struct bad_row {
	const char *text;
	void (*add)(struct profcol_builder *builder);
};

static void add_bad_function(struct profcol_builder *builder)
{
	profcol_builder_function(builder, &(struct profcol_function){ .system_name = 5 });
}

static void add_bad_mapping(struct profcol_builder *builder)
{
	profcol_builder_mapping(builder, &(struct profcol_mapping){ .attributes = 1 });
}

static void add_bad_line(struct profcol_builder *builder)
{
	struct profcol_line lines[2] = { { 0 }, { .function = 1 } };

	profcol_builder_location(builder,
				 &(struct profcol_location){ .lines = lines, .line_count = 2 });
}

static void add_bad_stack(struct profcol_builder *builder)
{
	profcol_builder_stack(builder, &(uint32_t){ 0 }, 1);
	profcol_builder_stack(builder, (uint32_t[]){ 0, UINT32_MAX }, 2);
}

static void add_bad_attribute(struct profcol_builder *builder)
{
	profcol_builder_attribute(builder,
				  &(struct profcol_attribute){
					  .value = { .type = PROFCOL_VALUE_STRING, .string = 1 } });
}

static void add_bad_type(struct profcol_builder *builder)
{
	profcol_builder_attribute(
		builder,
		&(struct profcol_attribute){ .value = { .type = (enum profcol_value_type)77 } });
}

static void add_bad_list(struct profcol_builder *builder)
{
	profcol_builder_attribute_list(builder, &(uint32_t){ 1 }, 1);
}

static void add_bad_resource(struct profcol_builder *builder)
{
	profcol_builder_add_resource(builder, &(struct profcol_resource){ .entity_refs = 1 });
}

static void add_bad_scope(struct profcol_builder *builder)
{
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ .version = 1 });
}

static void add_bad_profile(struct profcol_builder *builder)
{
	open_profile(builder);
	profcol_builder_add_profile(builder, &(struct profcol_profile){ .period_unit = 1 });
}

static void add_bad_sample_stack(struct profcol_builder *builder)
{
	open_profile(builder);
	add_event(builder, (struct profcol_sample){ 0 });
	add_event(builder, (struct profcol_sample){ .stack = 1 });
}

static void add_bad_sample_link(struct profcol_builder *builder)
{
	open_profile(builder);
	add_event(builder, (struct profcol_sample){ .link = UINT32_MAX });
}

static void add_sample_without_observation(struct profcol_builder *builder)
{
	open_profile(builder);
	profcol_builder_add_sample(builder, &(struct profcol_sample){ 0 });
}

static void add_sample_of_two_values(struct profcol_builder *builder)
{
	int64_t values[2] = { 1, 2 };

	open_profile(builder);
	profcol_builder_add_sample(builder,
				   &(struct profcol_sample){ .values = values, .value_count = 2 });
}

static void add_sample_of_uneven_counts(struct profcol_builder *builder)
{
	uint64_t times[2] = { 1, 2 };
	int64_t value = 1;

	open_profile(builder);
	profcol_builder_add_sample(builder, &(struct profcol_sample){ .values = &value,
								      .value_count = 1,
								      .timestamps_unix_ns = times,
								      .timestamp_count = 2 });
}

static const struct bad_row bad_rows[] = {
	{ "function 1: system name id 5 is not in its table of 1", add_bad_function },
	{ "mapping 1: attribute list id 1", add_bad_mapping },
	{ "location 1: function id 1", add_bad_line },
	{ "stack 2: location id 4294967295 is not in its table of 1", add_bad_stack },
	{ "attribute 1: string value id 1", add_bad_attribute },
	{ "attribute 1: 77 is not a type of value", add_bad_type },
	{ "attribute list 1: attribute id 1", add_bad_list },
	{ "resource 0: entity references id 1", add_bad_resource },
	{ "scope 0: version id 1", add_bad_scope },
	{ "profile 1: period unit id 1", add_bad_profile },
	{ "sample 1: stack id 1 is not in its table of 1", add_bad_sample_stack },
	{ "sample 0: link id 4294967295", add_bad_sample_link },
	{ "sample 0: 0 values do not fit 0 timestamps", add_sample_without_observation },
	{ "sample 0: 2 values do not fit 0 timestamps", add_sample_of_two_values },
	{ "sample 0: 1 values do not fit 2 timestamps", add_sample_of_uneven_counts },
};

static void seal_names_the_first_bad_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(bad_rows) / sizeof(bad_rows[0]); i++) {
		struct profcol_builder *builder = profcol_builder_create();

		bad_rows[i].add(builder);
		assert_bad_data(builder, bad_rows[i].text);
	}
}

/* ---- editing ---- */

static const void *block(const struct profcol_batch *batch, enum column_id id)
{
	return batch->columns[id].block;
}

static void untouched_copy_shares_every_column(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(3);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *copy = seal(profcol_builder_from(batch));

	(void)state;
	for (unsigned int id = 0; id < COLUMN_COUNT; id++)
		assert_ptr_equal(block(batch, id), block(copy, id));
}

static void sample_attributes_copy_only_their_columns(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(3);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *edited = NULL;
	struct profcol_builder *builder = profcol_builder_from(batch);
	uint32_t samples = profcol_batch_count(batch, PROFCOL_SAMPLES), attribute, list;
	char *before = batch_text(batch), *after;

	(void)state;
	assert_true(samples > 1);
	attribute = profcol_builder_attribute(
		builder, &(struct profcol_attribute){
				 .value = { .type = PROFCOL_VALUE_INT, .integer = 4242 } });
	list = profcol_builder_attribute_list(builder, &attribute, 1);
	for (uint32_t i = 0; i < samples; i++)
		profcol_builder_set_sample_attributes(builder, i, list);
	edited = seal(builder);
	for (unsigned int id = 0; id < COLUMN_COUNT; id++) {
		bool grown = id == COLUMN_ATTRIBUTE || id == COLUMN_ATTRIBUTE_LIST_END ||
			     id == COLUMN_ATTRIBUTE_LIST_ITEM;

		// Where there is room behind the last row, not even those that grow are copied.
		if (!grown)
			assert_int_equal(block(batch, id) != block(edited, id),
					 id == COLUMN_SAMPLE_ATTRIBUTES);
	}
	for (uint32_t i = 0; i < samples; i++)
		assert_int_equal(profcol_batch_sample(edited, i).attributes, list);
	after = batch_text(batch);
	assert_string_equal(before, after);
	free(before);
	free(after);
}

static void edited_rows_are_checked_again(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(3);
	struct profcol_builder *builder = profcol_builder_from(batch);

	(void)state;
	profcol_builder_set_sample_attributes(builder, 1, 1000000);
	assert_bad_data(builder, "sample 1: attribute list id 1000000");
	builder = profcol_builder_from(batch);
	profcol_builder_set_resource_attributes(builder, 0, 1000000);
	assert_bad_data(builder, "resource 0: attribute list id 1000000");
}

static void copy_finds_what_is_there_and_goes_on(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *longer = NULL;
	uint32_t name = profcol_builder_cstring(builder, "name");

	(void)state;
	open_profile(builder);
	add_event(builder, (struct profcol_sample){ 0 });
	batch = seal(builder);

	builder = profcol_builder_from(batch);
	assert_int_equal(profcol_builder_cstring(builder, "name"), name);
	assert_int_equal(profcol_builder_cstring(builder, "other"), name + 1);
	add_event(builder, (struct profcol_sample){ 0 });
	longer = seal(builder);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_STRINGS), name + 1);
	assert_int_equal(profcol_batch_events(batch), 1);
	assert_int_equal(profcol_batch_events(longer), 2);
}

static void add_value(struct profcol_builder *builder, const int64_t *value)
{
	profcol_builder_add_sample(builder,
				   &(struct profcol_sample){ .values = value, .value_count = 1 });
}

static void a_sample_that_counts_samples_is_as_many_events(void **state)
{
	static const int64_t seven = 7, absurd = INT64_MAX, none = 0;
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *longer = NULL;
	struct profcol_profile counts = {
		.sample_type = profcol_builder_cstring(builder, "samples"),
		.sample_unit = profcol_builder_cstring(builder, "count"),
	};
	struct profcol_profile bytes = {
		.sample_type = profcol_builder_cstring(builder, "alloc_space"),
		.sample_unit = profcol_builder_cstring(builder, "bytes"),
	};

	(void)state;
	open_profile(builder);
	profcol_builder_add_profile(builder, &counts);
	add_value(builder, &seven);
	add_value(builder, &none);
	profcol_builder_add_profile(builder, &bytes);
	add_value(builder, &seven);
	batch = seal(builder);
	assert_int_equal(profcol_batch_events(batch), 7 + 1 + 1);

	// A peer may claim anything; the account has to be able to add it up.
	builder = profcol_builder_from(batch);
	profcol_builder_add_profile(builder, &counts);
	add_value(builder, &absurd);
	longer = seal(builder);
	assert_int_equal(profcol_batch_events(longer), 9 + (uint64_t)UINT32_MAX);
}

static void batch_outlives_its_origin(void **state)
{
	struct profcol_batch *batch = random_batch(5);
	struct profcol_batch *copy = seal(profcol_builder_from(batch));
	char *before = batch_text(batch), *after;

	(void)state;
	assert_true(profile_memory(batch) > 0);
	profcol_batch_unref(profcol_batch_ref(batch));
	profcol_batch_unref(batch);
	after = batch_text(copy);
	assert_string_equal(before, after);
	profcol_batch_unref(copy);
	profcol_batch_unref(NULL);
	free(before);
	free(after);
}

static void printed_line_says_all(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_line line = { .line = 12 };
	uint32_t pid, attributes, location, stack;
	char *text;

	(void)state;
	pid = profcol_builder_attribute_int(builder, "process.pid", 42);
	attributes = profcol_builder_attribute_list(builder, &pid, 1);
	line.function = profcol_builder_function(
		builder,
		&(struct profcol_function){ .name = profcol_builder_cstring(builder, "a\nb") });
	location = profcol_builder_location(
		builder,
		&(struct profcol_location){
			.mapping = profcol_builder_mapping(
				builder,
				&(struct profcol_mapping){
					.memory_limit = 4096,
					.filename = profcol_builder_cstring(builder, "lib"),
				}),
			.address = 0xff,
			.lines = &line,
			.line_count = 1,
		});
	stack = profcol_builder_stack(builder, &location, 1);
	open_profile(builder);
	add_event(builder, (struct profcol_sample){ .stack = stack, .attributes = attributes });
	batch = seal(builder);
	text = batch_text(batch);
	assert_non_null(strstr(text, "| [\"lib\"[0-1000@0]+ff \"a\\nb\"@\"\"0:12:0] "
				     "{\"process.pid\"=42} link - value 1 at 5\n"));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_batch_has_the_zero_values_and_nothing_else),
		cmocka_unit_test(ids_outside_a_table_read_as_zero_values),
		cmocka_unit_test(equal_entries_get_one_id),
		cmocka_unit_test(doubles_are_equal_when_their_bits_are),
		cmocka_unit_test(many_rows_keep_their_ids),
		cmocka_unit_test(arguments_may_lie_in_the_builder_itself),
		cmocka_unit_test(tree_rows_own_their_children),
		cmocka_unit_test(rows_without_a_parent_are_refused),
		cmocka_unit_test(seal_names_the_first_bad_row),
		cmocka_unit_test(untouched_copy_shares_every_column),
		cmocka_unit_test(sample_attributes_copy_only_their_columns),
		cmocka_unit_test(edited_rows_are_checked_again),
		cmocka_unit_test(copy_finds_what_is_there_and_goes_on),
		cmocka_unit_test(a_sample_that_counts_samples_is_as_many_events),
		cmocka_unit_test(batch_outlives_its_origin),
		cmocka_unit_test(printed_line_says_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
