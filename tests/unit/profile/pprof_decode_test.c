// SPDX-License-Identifier: Apache-2.0
// What the reader makes of files that are well-formed, and what it refuses in them.
#include "pprof_content.h"
#include "pprof_small_file.h"

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <string.h>

static const struct pprof_decode_limits limits = {
	.max_bytes = 16 << 20,
	.max_memory = 64 << 20,
};

static struct profcol_error *decode(const struct small_file *file, struct profcol_batch **ret)
{
	size_t length;
	CLEANUP_FREE uint8_t *bytes = small_file_pack(file, &length);

	return pprof_decode(bytes, length, &limits, ret);
}

static struct profcol_batch *decode_good(const struct small_file *file)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = decode(file, &batch);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return batch;
}

/* Decoded and encoded, the file says the same. */
static void assert_identity(const struct small_file *file)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = decode_good(file);
	const struct pprof_encode_options options = { 0 };
	CLEANUP_FREE uint8_t *before = NULL, *after = NULL;
	CLEANUP_FREE char *before_content = NULL, *after_content = NULL;
	size_t before_length, after_length;

	before = small_file_pack(file, &before_length);
	assert_null(pprof_encode(batch, &options, &after, &after_length));
	before_content = pprof_content(before, before_length);
	after_content = pprof_content(after, after_length);
	assert_true(content_equal(before_content, after_content));
}

static void assert_bad(struct profcol_error *error, const char *wanted)
{
	assert_non_null(error);
	assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
	if (!strstr(profcol_error_message(error), wanted))
		fail_msg("'%s' does not mention '%s'", profcol_error_message(error), wanted);
	profcol_error_destroy(error);
}

#define ASSERT_FILE_BAD(file, wanted)                                                              \
	do {                                                                                       \
		struct profcol_batch *batch_ = NULL;                                               \
		assert_bad(decode(file, &batch_), wanted);                                         \
		assert_null(batch_);                                                               \
	} while (0)

/* ---- good files ---- */

static void columns_become_profiles(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_range samples;
	struct profcol_profile profile;
	struct profcol_sample sample;
	struct small_file file;
	uint32_t count;

	(void)state;
	small_file_init(&file);
	batch = decode_good(&file);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 1);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_SCOPES), 1);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_PROFILES), 2);
	profile = profcol_batch_profile(batch, 1, &samples);
	assert_string_equal(profcol_batch_string(batch, profile.sample_type).bytes, "cpu");
	assert_int_equal(profile.period, 10);
	assert_int_equal(profile.time_unix_ns, 1700000000000000000);
	assert_int_equal(samples.end - samples.begin, 1);
	sample = profcol_batch_sample(batch, samples.begin);
	assert_int_equal(sample.value_count, 1);
	assert_int_equal(sample.values[0], 30);
	profcol_batch_stack(batch, sample.stack, &count);
	assert_int_equal(count, 2);
	assert_identity(&file);
}

static void samples_of_zeros_are_kept(void **state)
{
	struct small_file file;

	(void)state;
	small_file_init(&file);
	file.values[0] = file.values[1] = 0;
	assert_identity(&file);
	file.values[1] = -5;
	assert_identity(&file);
}

/* The worth of samples is not derived for a file that leaves it out. */
static void columns_stay_as_they_are(void **state)
{
	struct small_file file;

	(void)state;
	small_file_init(&file);
	file.profile.n_sample_type = file.sample.n_value = 1;
	assert_identity(&file);
	small_file_init(&file);
	file.types[1] = file.types[0]; // two of one type
	assert_identity(&file);
	small_file_init(&file);
	file.profile.default_sample_type = 0;
	assert_identity(&file);
}

static void merged_files_keep_their_columns(void **state)
{
	const struct pprof_encode_options options = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *one = NULL, *merged = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	Perftools__Profile *profile;
	struct small_file file;
	size_t length;

	(void)state;
	small_file_init(&file);
	file.types[1] = file.types[0];
	one = decode_good(&file);
	assert_null(profile_merge((struct profcol_batch *[]){ one, one, one }, 3, &merged));
	assert_null(pprof_encode(merged, &options, &bytes, &length));
	profile = perftools__profile__unpack(NULL, length, bytes);
	assert_non_null(profile);
	assert_int_equal(profile->n_sample_type, 2);
	assert_int_equal(profile->n_sample, 1);
	assert_int_equal(profile->sample[0]->value[0], 9);
	assert_int_equal(profile->sample[0]->value[1], 90);
	assert_int_equal(profile->n_comment, 2);
	perftools__profile__free_unpacked(profile, NULL);
}

static void labels_of_all_kinds_are_kept(void **state)
{
	struct small_file file;

	(void)state;
	small_file_init(&file);
	// One key with a string, another string, a number without and one with a unit.
	file.sample.n_label = 4;
	file.labels[1].str = S_MAIN;
	file.labels[2].num = -7;
	file.labels[3].num = 4096;
	file.labels[3].num_unit = S_BYTES;
	assert_identity(&file);
	// Numbers with a unit that is the key itself, and 0 that needs it.
	for (int i = 0; i < 4; i++)
		file.labels[i] = (Perftools__Label)PERFTOOLS__LABEL__INIT;
	file.labels[0].key = file.labels[0].num_unit = S_BYTES;
	file.labels[0].num = 16;
	file.labels[1].key = file.labels[1].num_unit = S_CPU;
	file.labels[2].key = S_KEY;
	file.labels[2].num_unit = S_BYTES;
	file.labels[3].key = S_MAIN; // nothing else: the number 0
	assert_identity(&file);
	// An empty string that is not string 0.
	file.strings[S_VALUE] = (ProtobufCBinaryData){ 0, NULL };
	file.labels[3].str = S_VALUE;
	assert_identity(&file);
}

static void number_0_in_the_unit_of_its_key_has_no_unit(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_attribute attribute;
	struct small_file file;
	const uint32_t *ids;
	uint32_t count;

	(void)state;
	small_file_init(&file);
	file.labels[0].str = 0;
	file.labels[0].num_unit = S_KEY;
	batch = decode_good(&file);
	ids = profcol_batch_attribute_list(batch, profcol_batch_sample(batch, 0).attributes,
					   &count);
	assert_int_equal(count, 1);
	attribute = profcol_batch_attribute(batch, ids[0]);
	assert_int_equal(attribute.value.type, PROFCOL_VALUE_INT);
	assert_int_equal(attribute.value.integer, 0);
	assert_int_equal(attribute.unit, 0);
}

static void mapping_flags_are_believed(void **state)
{
	struct small_file file;

	(void)state;
	small_file_init(&file);
	// Lines without has_functions: Java profilers write such.
	assert_identity(&file);
	file.mapping.has_functions = file.mapping.has_inline_frames = true;
	assert_identity(&file);
	// A mapping that is all zero is still one.
	file.mapping = (Perftools__Mapping)PERFTOOLS__MAPPING__INIT;
	file.mapping.id = 900;
	assert_identity(&file);
}

static void an_unknown_mapping_is_none(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct small_file file;

	(void)state;
	small_file_init(&file);
	file.location.mapping_id = 12345;
	batch = decode_good(&file);
	assert_int_equal(profcol_batch_location(batch, 1).mapping, 0);
}

static void odd_windows_and_text_are_kept(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_text text;
	struct small_file file;

	(void)state;
	small_file_init(&file);
	file.profile.time_nanos = -1;
	file.profile.duration_nanos = -1000;
	file.profile.period = -1;
	assert_identity(&file);
	file.profile.time_nanos = 0;
	assert_identity(&file);
	// A NUL does not end a string; bytes that are not UTF-8 are replaced one by one.
	file.strings[S_MAIN] = (ProtobufCBinaryData)BYTES("a\0b");
	file.strings[S_BIN] = (ProtobufCBinaryData)BYTES("\xc3\x28\xff");
	batch = decode_good(&file);
	text = profcol_batch_string(batch, profcol_batch_function(batch, 1).name);
	assert_int_equal(text.length, 3);
	assert_memory_equal(text.bytes, "a\0b", 3);
	text = profcol_batch_string(batch, profcol_batch_mapping(batch, 1).filename);
	assert_int_equal(text.length, 3);
	assert_memory_equal(text.bytes, "?(?", 3);
}

/* ---- what pprof refuses ---- */

static void wrong_ids_are_refused(void **state)
{
	struct small_file file;

	(void)state;
	small_file_init(&file);
	file.mapping.id = 0;
	ASSERT_FILE_BAD(&file, "mapping 0 has id 0");
	small_file_init(&file);
	file.function.id = 0;
	ASSERT_FILE_BAD(&file, "function 0 has id 0");
	small_file_init(&file);
	file.location.id = 0;
	ASSERT_FILE_BAD(&file, "location 0 has id 0");
	small_file_init(&file);
	file.profile.n_mapping = 2;
	ASSERT_FILE_BAD(&file, "mapping 1 has id 900, which another one has");
	small_file_init(&file);
	file.profile.n_function = 2;
	ASSERT_FILE_BAD(&file, "function 1 has id 9223372036854775808");
	small_file_init(&file);
	file.profile.n_location = 2;
	ASSERT_FILE_BAD(&file, "location 1 has id 5");
	small_file_init(&file);
	file.line.function_id = 6;
	ASSERT_FILE_BAD(&file, "location 0 refers to function id 6, which does not exist");
	file.line.function_id = 0;
	ASSERT_FILE_BAD(&file, "location 0 refers to function id 0");
	small_file_init(&file);
	file.location_ids[1] = 7;
	ASSERT_FILE_BAD(&file, "sample 0 refers to location id 7, which does not exist");
}

static void wrong_strings_are_refused(void **state)
{
	struct small_file file;
	int64_t *const indices[] = {
		&file.types[0].type,        &file.types[1].unit,
		&file.period_type.unit,     &file.mapping.filename,
		&file.mapping.build_id,     &file.function.name,
		&file.function.system_name, &file.function.filename,
		&file.labels[0].key,        &file.labels[0].str,
		&file.labels[0].num_unit,   &file.comments[1],
		&file.profile.drop_frames,  &file.profile.keep_frames,
		&file.profile.doc_url,      &file.profile.default_sample_type,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(indices) / sizeof(indices[0]); i++) {
		small_file_init(&file);
		*indices[i] = 11;
		ASSERT_FILE_BAD(&file, "refers to string 11 of 11");
		*indices[i] = -1;
		ASSERT_FILE_BAD(&file, "refers to string -1 of 11");
	}
	small_file_init(&file);
	file.strings[0] = (ProtobufCBinaryData)BYTES("x");
	ASSERT_FILE_BAD(&file, "string 0 is not empty");
	file.profile.n_string_table = 0;
	ASSERT_FILE_BAD(&file, "no string table");
}

static void wrong_values_are_refused(void **state)
{
	struct small_file file;

	(void)state;
	small_file_init(&file);
	file.sample.n_value = 1;
	ASSERT_FILE_BAD(&file, "sample 0 has 1 values, but there are 2 sample types");
	file.sample.n_value = 3;
	ASSERT_FILE_BAD(&file, "sample 0 has 3 values");
	file.sample.n_value = 0;
	file.profile.n_sample_type = 0;
	ASSERT_FILE_BAD(&file, "samples, but no sample type");
}

static void several_profiles_in_a_row_are_refused(void **state)
{
	struct small_file file;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = NULL, *twice = NULL;
	struct profcol_batch *batch = NULL;

	(void)state;
	small_file_init(&file);
	bytes = small_file_pack(&file, &length);
	twice = malloc(2 * length);
	memcpy(twice, bytes, length);
	memcpy(twice + length, bytes, length);
	assert_bad(pprof_decode(twice, 2 * length, &limits, &batch), "several profiles in a row");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_become_profiles),
		cmocka_unit_test(samples_of_zeros_are_kept),
		cmocka_unit_test(columns_stay_as_they_are),
		cmocka_unit_test(merged_files_keep_their_columns),
		cmocka_unit_test(labels_of_all_kinds_are_kept),
		cmocka_unit_test(number_0_in_the_unit_of_its_key_has_no_unit),
		cmocka_unit_test(mapping_flags_are_believed),
		cmocka_unit_test(an_unknown_mapping_is_none),
		cmocka_unit_test(odd_windows_and_text_are_kept),
		cmocka_unit_test(wrong_ids_are_refused),
		cmocka_unit_test(wrong_strings_are_refused),
		cmocka_unit_test(wrong_values_are_refused),
		cmocka_unit_test(several_profiles_in_a_row_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
