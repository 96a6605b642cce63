// SPDX-License-Identifier: Apache-2.0
#include "otlp_reader.h"
#include "random_batch.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>

enum { SEEDS = 200 };

static void encode(const struct profcol_batch *batch, uint8_t **bytes, size_t *length)
{
	struct profcol_error *error = otlp_encode(batch, NULL, bytes, length);

	if (error)
		fail_msg("%s", profcol_error_message(error));
}

static struct profcol_batch *seal(struct profcol_builder *builder)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = profcol_builder_seal(builder, &batch);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return batch;
}

static void random_batches_read_back_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *read = NULL;
		CLEANUP_FREE uint8_t *bytes = NULL;
		CLEANUP_FREE char *before = NULL, *after = NULL;
		size_t length;

		encode(batch, &bytes, &length);
		assert_int_equal(length, otlp_encoded_size(batch, NULL));
		read = otlp_read(bytes, length);
		before = batch_text(batch);
		after = batch_text(read);
		assert_string_equal(before, after);
		assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES),
				 profcol_batch_count(read, PROFCOL_PROFILES));
		assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES),
				 profcol_batch_count(read, PROFCOL_RESOURCES));
	}
}

/* Reading gives a batch with other string ids; writing it must give the same bytes. */
static void encoding_what_was_read_gives_the_same_bytes(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed += 7) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *read = NULL;
		CLEANUP_FREE uint8_t *first = NULL, *second = NULL;
		size_t first_length, second_length;

		encode(batch, &first, &first_length);
		read = otlp_read(first, first_length);
		encode(read, &second, &second_length);
		assert_int_equal(first_length, second_length);
		assert_memory_equal(first, second, first_length);
	}
}

static void empty_batch_has_all_tables_with_their_zero_entry(void **state)
{
	static const uint8_t expected[] = { 0x12, 14, 0x0a, 0, 0x12, 0, 0x1a, 0,
					    0x22, 0,  0x2a, 0, 0x32, 0, 0x3a, 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = seal(profcol_builder_create());
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t length;

	(void)state;
	encode(batch, &bytes, &length);
	assert_int_equal(length, sizeof(expected));
	assert_memory_equal(bytes, expected, length);
}

/* A batch of one sample in one profile, with a resource attribute. */
static struct profcol_batch *small_batch(const char *value, size_t length)
{
	struct profcol_builder *builder = profcol_builder_create();
	uint32_t attribute = profcol_builder_attribute_string(builder, "host.name", value, length);
	uint32_t list = profcol_builder_attribute_list(builder, &attribute, 1);
	uint64_t time = 7;

	profcol_builder_add_resource(builder, &(struct profcol_resource){ .attributes = list });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder,
				    &(struct profcol_profile){
					    .sample_type = profcol_builder_cstring(builder, "s"),
					    .time_unix_ns = 1,
					    .duration_ns = 10,
				    });
	profcol_builder_add_sample(
		builder,
		&(struct profcol_sample){ .timestamp_count = 1, .timestamps_unix_ns = &time });
	return seal(builder);
}

static void resource_attributes_are_inline_and_leave_no_orphans(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = small_batch("box", 3);
	Otlp__ExportProfilesServiceRequest *message;
	CLEANUP_FREE uint8_t *bytes = NULL;
	const Otlp__KeyValue *pair;
	size_t length;

	(void)state;
	encode(batch, &bytes, &length);
	message = otlp_read_message(bytes, length);
	pair = message->resource_profiles[0]->resource->attributes[0];
	assert_string_equal(pair->key, "host.name");
	assert_string_equal(pair->value->string_value, "box");
	assert_int_equal(message->dictionary->n_attribute_table, 1);
	assert_int_equal(message->dictionary->n_string_table, 2);
	assert_string_equal(message->dictionary->string_table[1], "s");
	otlp__export_profiles_service_request__free_unpacked(message, NULL);
}

/* Strict readers refuse a whole message for one name that is not UTF-8. */
static void invalid_utf8_is_repaired_without_changing_the_size(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *bad = small_batch("b\xff\xc3", 3);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *good = small_batch("b??", 3);
	CLEANUP_FREE uint8_t *bad_bytes = NULL, *good_bytes = NULL;
	size_t bad_length, good_length;

	(void)state;
	encode(bad, &bad_bytes, &bad_length);
	encode(good, &good_bytes, &good_length);
	assert_int_equal(bad_length, otlp_encoded_size(bad, NULL));
	assert_int_equal(bad_length, good_length);
	assert_memory_equal(bad_bytes, good_bytes, good_length);
}

/* Members of a oneof are there or not: 0, false and "" are values too. */
static void zero_values_are_written(void **state)
{
	struct profcol_builder *builder = profcol_builder_create();
	const struct profcol_value values[] = {
		{ .type = PROFCOL_VALUE_STRING }, { .type = PROFCOL_VALUE_BOOL },
		{ .type = PROFCOL_VALUE_INT },    { .type = PROFCOL_VALUE_DOUBLE },
		{ .type = PROFCOL_VALUE_BYTES },  { .type = PROFCOL_VALUE_EMPTY },
	};
	const Otlp__AnyValue__ValueCase cases[] = {
		OTLP__ANY_VALUE__VALUE_STRING_VALUE, OTLP__ANY_VALUE__VALUE_BOOL_VALUE,
		OTLP__ANY_VALUE__VALUE_INT_VALUE,    OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE,
		OTLP__ANY_VALUE__VALUE_BYTES_VALUE,  OTLP__ANY_VALUE__VALUE__NOT_SET,
	};
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	Otlp__ExportProfilesServiceRequest *message;
	CLEANUP_FREE uint8_t *bytes = NULL;
	uint32_t ids[6], list;
	size_t length;

	(void)state;
	for (size_t i = 0; i < 6; i++)
		ids[i] = profcol_builder_attribute(
			builder, &(struct profcol_attribute){
					 .key = profcol_builder_cstring(builder, "k"),
					 .value = values[i],
				 });
	list = profcol_builder_attribute_list(builder, ids, 6);
	profcol_builder_mapping(builder, &(struct profcol_mapping){ .attributes = list });
	batch = seal(builder);
	encode(batch, &bytes, &length);
	message = otlp_read_message(bytes, length);
	assert_int_equal(message->dictionary->n_attribute_table, 7);
	for (size_t i = 0; i < 6; i++) {
		assert_non_null(message->dictionary->attribute_table[i + 1]->value);
		assert_int_equal(message->dictionary->attribute_table[i + 1]->value->value_case,
				 cases[i]);
	}
	otlp__export_profiles_service_request__free_unpacked(message, NULL);
}

/* What a profiler of today sends, through our tables: the same in no more bytes. */
static void a_real_request_is_kept(void **state)
{
	const char *path = PROFCOL_SOURCE_DIR "/../shared/data/otlp-1.10-ebpf-profile.bin";
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL, *again = NULL;
	CLEANUP_FREE char *file = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t file_length, length;

	(void)state;
	if (file_read(AT_FDCWD, path, 64 << 20, &file, &file_length) < 0) {
		print_message("%s is not there: skipped\n", path);
		skip();
	}
	batch = otlp_read((uint8_t *)file, file_length);
	encode(batch, &bytes, &length);
	print_message("%zu bytes sent, %zu bytes written\n", file_length, length);
	assert_true(length <= file_length);
	again = otlp_read(bytes, length);
	assert_true(batch_same_observations(batch, again));
}

/* References make the text of an attribute that comes once a little longer. */
static void pieces_keep_their_bound_with_references(void **state)
{
	const struct otlp_encode_options references = { .attribute_references = true };
	enum { BOUND = 4000 };

	(void)state;
	for (uint64_t seed = 1; seed < SEEDS; seed += 11) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *rest = random_batch_sized(seed, 300);

		while (rest) {
			PROFCOL_CLEANUP_BATCH struct profcol_batch *head = NULL, *tail = NULL;

			assert_null(profile_split(rest, &references, BOUND, &head, &tail));
			if (profcol_batch_count(head, PROFCOL_SAMPLES) > 1)
				assert_true(otlp_encoded_size(head, &references) <= BOUND);
			profcol_batch_unref(rest);
			rest = TAKE(tail);
		}
	}
}

static void profiles_of_a_request_are_counted(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		CLEANUP_FREE uint8_t *bytes = NULL;
		uint64_t profiles = profcol_batch_count(batch, PROFCOL_PROFILES);
		size_t length = 0;

		assert_null(otlp_encode(batch, NULL, &bytes, &length));
		assert_int_equal(otlp_count_profiles(bytes, length), profiles);
		// Whatever is cut off: no more than there are, and no byte beyond.
		for (size_t cut = 0; cut < length; cut += 1 + length / 64) {
			CLEANUP_FREE uint8_t *part = malloc(cut ? cut : 1);

			memcpy(part, bytes, cut);
			assert_true(otlp_count_profiles(part, cut) <= profiles);
		}
	}
	assert_int_equal(otlp_count_profiles(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles_of_a_request_are_counted),
		cmocka_unit_test(random_batches_read_back_the_same),
		cmocka_unit_test(encoding_what_was_read_gives_the_same_bytes),
		cmocka_unit_test(empty_batch_has_all_tables_with_their_zero_entry),
		cmocka_unit_test(resource_attributes_are_inline_and_leave_no_orphans),
		cmocka_unit_test(invalid_utf8_is_repaired_without_changing_the_size),
		cmocka_unit_test(zero_values_are_written),
		cmocka_unit_test(a_real_request_is_kept),
		cmocka_unit_test(pieces_keep_their_bound_with_references),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
