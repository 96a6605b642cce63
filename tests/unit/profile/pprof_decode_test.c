// SPDX-License-Identifier: Apache-2.0
// What the reader makes of files, good and hostile. They are packed by protobuf-c from
// objects, so they may say anything.
#include "pprof_content.h"
#include "random_batch.h"

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <pprof.pb-c.h>
#include <string.h>
#include <zlib.h>

static const struct pprof_decode_limits limits = {
	.max_bytes = 16 << 20,
	.max_memory = 64 << 20,
};

/* ---- a small file to change ---- */

enum { S_EMPTY, S_SAMPLES, S_COUNT, S_CPU, S_NS, S_MAIN, S_BIN, S_KEY, S_VALUE, S_BYTES, S_ID };

#define BYTES(text) { sizeof(text) - 1, (uint8_t *)(uintptr_t)(text) }

struct small_file {
	Perftools__Profile profile;
	Perftools__ValueType types[2], period_type, *type_list[2];
	Perftools__Mapping mapping, *mapping_list[2];
	Perftools__Function function, *function_list[2];
	Perftools__Line line, *line_list[1];
	Perftools__Location location, *location_list[2];
	Perftools__Label labels[4], *label_list[4];
	Perftools__Sample sample, *sample_list[2];
	uint64_t location_ids[2];
	int64_t values[3], comments[2];
	ProtobufCBinaryData strings[11];
};

static void file_tables(struct small_file *file)
{
	file->mapping = (Perftools__Mapping)PERFTOOLS__MAPPING__INIT;
	file->mapping.id = 900;
	file->mapping.memory_limit = 4096;
	file->mapping.filename = S_BIN;
	file->mapping.build_id = S_ID;
	file->mapping_list[0] = file->mapping_list[1] = &file->mapping;
	file->function = (Perftools__Function)PERFTOOLS__FUNCTION__INIT;
	file->function.id = 1ull << 63;
	file->function.name = S_MAIN;
	file->function_list[0] = file->function_list[1] = &file->function;
	file->line = (Perftools__Line)PERFTOOLS__LINE__INIT;
	file->line.function_id = file->function.id;
	file->line.line = 12;
	file->line.column = 3;
	file->line_list[0] = &file->line;
	file->location = (Perftools__Location)PERFTOOLS__LOCATION__INIT;
	file->location.id = 5;
	file->location.mapping_id = 900;
	file->location.address = 100;
	file->location.n_line = 1;
	file->location.line = file->line_list;
	file->location.is_folded = true;
	file->location_list[0] = file->location_list[1] = &file->location;
}

static void file_samples(struct small_file *file)
{
	for (int i = 0; i < 2; i++) {
		file->types[i] = (Perftools__ValueType)PERFTOOLS__VALUE_TYPE__INIT;
		file->type_list[i] = &file->types[i];
	}
	file->types[0].type = S_SAMPLES;
	file->types[0].unit = S_COUNT;
	file->types[1].type = S_CPU;
	file->types[1].unit = S_NS;
	file->period_type = file->types[1];
	for (int i = 0; i < 4; i++) {
		file->labels[i] = (Perftools__Label)PERFTOOLS__LABEL__INIT;
		file->labels[i].key = S_KEY;
		file->label_list[i] = &file->labels[i];
	}
	file->labels[0].str = S_VALUE;
	file->sample = (Perftools__Sample)PERFTOOLS__SAMPLE__INIT;
	file->location_ids[0] = file->location_ids[1] = 5;
	file->sample.n_location_id = 2;
	file->sample.location_id = file->location_ids;
	file->values[0] = 3;
	file->values[1] = 30;
	file->sample.n_value = 2;
	file->sample.value = file->values;
	file->sample.n_label = 1;
	file->sample.label = file->label_list;
	file->sample_list[0] = file->sample_list[1] = &file->sample;
}

static void file_init(struct small_file *file)
{
	static const ProtobufCBinaryData strings[] = {
		BYTES(""),       BYTES("samples"),     BYTES("count"),
		BYTES("cpu"),    BYTES("nanoseconds"), BYTES("main"),
		BYTES("/bin/x"), BYTES("key"),         BYTES("value"),
		BYTES("bytes"),  BYTES("abcd"),
	};

	*file = (struct small_file){ .profile = PERFTOOLS__PROFILE__INIT };
	memcpy(file->strings, strings, sizeof(strings));
	file_tables(file);
	file_samples(file);
	file->comments[0] = S_MAIN;
	file->comments[1] = S_BIN;
	file->profile.n_sample_type = 2;
	file->profile.sample_type = file->type_list;
	file->profile.n_sample = 1;
	file->profile.sample = file->sample_list;
	file->profile.n_mapping = file->profile.n_function = file->profile.n_location = 1;
	file->profile.mapping = file->mapping_list;
	file->profile.function = file->function_list;
	file->profile.location = file->location_list;
	file->profile.n_string_table = sizeof(strings) / sizeof(strings[0]);
	file->profile.string_table = file->strings;
	file->profile.drop_frames = S_KEY;
	file->profile.keep_frames = S_VALUE;
	file->profile.doc_url = S_BYTES;
	file->profile.time_nanos = 1700000000000000000;
	file->profile.duration_nanos = 1000;
	file->profile.period_type = &file->period_type;
	file->profile.period = 10;
	file->profile.n_comment = 2;
	file->profile.comment = file->comments;
	file->profile.default_sample_type = S_SAMPLES;
}

static uint8_t *file_pack(const struct small_file *file, size_t *length_ret)
{
	uint8_t *bytes = malloc(perftools__profile__get_packed_size(&file->profile) + 1);

	assert_non_null(bytes);
	*length_ret = perftools__profile__pack(&file->profile, bytes);
	return bytes;
}

static struct profcol_error *decode(const struct small_file *file, struct profcol_batch **ret)
{
	size_t length;
	CLEANUP_FREE uint8_t *bytes = file_pack(file, &length);

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

	before = file_pack(file, &before_length);
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
	file_init(&file);
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
	file_init(&file);
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
	file_init(&file);
	file.profile.n_sample_type = file.sample.n_value = 1;
	assert_identity(&file);
	file_init(&file);
	file.types[1] = file.types[0]; // two of one type
	assert_identity(&file);
	file_init(&file);
	file.profile.default_sample_type = 0;
	assert_identity(&file);
}

static void labels_of_all_kinds_are_kept(void **state)
{
	struct small_file file;

	(void)state;
	file_init(&file);
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
	file_init(&file);
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
	file_init(&file);
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
	file_init(&file);
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
	file_init(&file);
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
	file_init(&file);
	file.mapping.id = 0;
	ASSERT_FILE_BAD(&file, "mapping 0 has id 0");
	file_init(&file);
	file.function.id = 0;
	ASSERT_FILE_BAD(&file, "function 0 has id 0");
	file_init(&file);
	file.location.id = 0;
	ASSERT_FILE_BAD(&file, "location 0 has id 0");
	file_init(&file);
	file.profile.n_mapping = 2;
	ASSERT_FILE_BAD(&file, "mapping 1 has id 900, which another one has");
	file_init(&file);
	file.profile.n_function = 2;
	ASSERT_FILE_BAD(&file, "function 1 has id 9223372036854775808");
	file_init(&file);
	file.profile.n_location = 2;
	ASSERT_FILE_BAD(&file, "location 1 has id 5");
	file_init(&file);
	file.line.function_id = 6;
	ASSERT_FILE_BAD(&file, "location 0 refers to function id 6, which does not exist");
	file.line.function_id = 0;
	ASSERT_FILE_BAD(&file, "location 0 refers to function id 0");
	file_init(&file);
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
		file_init(&file);
		*indices[i] = 11;
		ASSERT_FILE_BAD(&file, "refers to string 11 of 11");
		*indices[i] = -1;
		ASSERT_FILE_BAD(&file, "refers to string -1 of 11");
	}
	file_init(&file);
	file.strings[0] = (ProtobufCBinaryData)BYTES("x");
	ASSERT_FILE_BAD(&file, "string 0 is not empty");
	file.profile.n_string_table = 0;
	ASSERT_FILE_BAD(&file, "no string table");
}

static void wrong_values_are_refused(void **state)
{
	struct small_file file;

	(void)state;
	file_init(&file);
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
	file_init(&file);
	bytes = file_pack(&file, &length);
	twice = malloc(2 * length);
	memcpy(twice, bytes, length);
	memcpy(twice + length, bytes, length);
	assert_bad(pprof_decode(twice, 2 * length, &limits, &batch), "several profiles in a row");
}

/* ---- hostile bytes ---- */

static uint8_t *gzip(const uint8_t *bytes, size_t length, size_t *length_ret)
{
	size_t bound = compressBound(length) + 64;
	uint8_t *packed = malloc(bound);
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes,
			    .avail_in = (unsigned int)length,
			    .next_out = packed,
			    .avail_out = (unsigned int)bound };

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	*length_ret = stream.total_out;
	deflateEnd(&stream);
	return packed;
}

/* Whatever the answer is, it must be an answer. A copy of the exact size shows reads past it. */
static bool is_accepted(const uint8_t *bytes, size_t length)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	PROFCOL_CLEANUP_ERROR struct profcol_error *error = NULL;
	CLEANUP_FREE uint8_t *copy = malloc(length ? length : 1);

	memcpy(copy, bytes, length);
	error = pprof_decode(copy, length, &limits, &batch);
	assert_true(!error == !!batch);
	return !error;
}

static void every_truncation_is_answered(void **state)
{
	struct small_file file;
	size_t length, packed_length;
	CLEANUP_FREE uint8_t *bytes = NULL, *packed = NULL;

	(void)state;
	file_init(&file);
	bytes = file_pack(&file, &length);
	packed = gzip(bytes, length, &packed_length);
	for (size_t i = 0; i < length; i++)
		is_accepted(bytes, i);
	for (size_t i = 0; i < packed_length; i++)
		assert_false(is_accepted(packed, i));
	assert_true(is_accepted(bytes, length));
	assert_true(is_accepted(packed, packed_length));
}

static void every_flipped_bit_is_answered(void **state)
{
	struct small_file file;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = NULL;

	(void)state;
	file_init(&file);
	bytes = file_pack(&file, &length);
	for (size_t i = 0; i < length * 8; i++) {
		bytes[i / 8] ^= 1 << i % 8;
		is_accepted(bytes, length);
		bytes[i / 8] ^= 1 << i % 8;
	}
}

static void damaged_gzip_is_refused(void **state)
{
	struct small_file file;
	size_t length, packed_length;
	CLEANUP_FREE uint8_t *bytes = NULL, *packed = NULL;
	struct profcol_batch *batch = NULL;

	(void)state;
	file_init(&file);
	bytes = file_pack(&file, &length);
	packed = gzip(bytes, length, &packed_length);
	assert_bad(pprof_decode(packed, packed_length - 3, &limits, &batch), "cut short");
	packed[packed_length - 6] ^= 1; // the checksum
	assert_bad(pprof_decode(packed, packed_length, &limits, &batch), "gzip is damaged");
}

static void members_of_gzip_are_joined(void **state)
{
	struct small_file file;
	size_t length, first_length, second_length;
	CLEANUP_FREE uint8_t *bytes = NULL, *first = NULL, *second = NULL, *both = NULL;

	(void)state;
	file_init(&file);
	bytes = file_pack(&file, &length);
	first = gzip(bytes, 20, &first_length);
	second = gzip(bytes + 20, length - 20, &second_length);
	both = malloc(first_length + second_length);
	memcpy(both, first, first_length);
	memcpy(both + first_length, second, second_length);
	assert_true(is_accepted(both, first_length + second_length));
	// What follows the last member must be another one.
	both[first_length] = 'x';
	assert_false(is_accepted(both, first_length + second_length));
}

static void a_gzip_bomb_is_refused(void **state)
{
	enum { LENGTH = 64 << 20 };
	CLEANUP_FREE uint8_t *zeros = calloc(1, LENGTH), *packed = NULL;
	const struct pprof_decode_limits exact = { .max_bytes = 1000, .max_memory = 1 << 20 };
	struct profcol_batch *batch = NULL;
	size_t packed_length;

	(void)state;
	packed = gzip(zeros, LENGTH, &packed_length);
	assert_bad(pprof_decode(packed, packed_length, &limits, &batch),
		   "gzip holds more than 16777216 bytes");
	free(packed);
	// The limit itself is allowed: the complaint is about what is inside.
	packed = gzip(zeros, 1000, &packed_length);
	assert_bad(pprof_decode(packed, packed_length, &exact, &batch), "not a pprof file");
	free(packed);
	packed = gzip(zeros, 1001, &packed_length);
	assert_bad(pprof_decode(packed, packed_length, &exact, &batch), "more than 1000 bytes");
	assert_bad(pprof_decode(zeros, 1001, &exact, &batch), "more than the limit of 1000");
}

static void memory_is_bounded(void **state)
{
	enum { SAMPLES = 1000000 };
	const struct pprof_decode_limits tight = { .max_bytes = 16 << 20, .max_memory = 8 << 20 };
	CLEANUP_FREE uint8_t *bytes = malloc(2 * SAMPLES);
	struct profcol_batch *batch = NULL;

	(void)state;
	// Two bytes each on the wire, but an object each in memory.
	for (size_t i = 0; i < SAMPLES; i++) {
		bytes[2 * i] = 0x12;
		bytes[2 * i + 1] = 0;
	}
	assert_bad(pprof_decode(bytes, 2 * SAMPLES, &tight, &batch), "memory");
	assert_bad(pprof_decode(bytes, 2 * SAMPLES, &limits, &batch), "");
}

static void garbage_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t length;
	} cases[] = {
		{ "", 0 },
		{ "\x1f\x8b", 2 },
		{ "heap profile: 1: 2 [3: 4] @ heapprofile\n", 41 },
		{ "\x7f"
		  "ELF\x02\x01\x01",
		  7 },
		{ "\x0a\xff\xff\xff\xff\x0f", 6 },
		{ "\x48\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
		{ "\x0b\x0c", 2 },
		{ "\x08\x01", 2 }, // sample_type as a number
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profcol_batch *batch = NULL;

		assert_bad(pprof_decode((const uint8_t *)cases[i].bytes, cases[i].length, &limits,
					&batch),
			   "");
	}
}

static void unknown_fields_are_skipped(void **state)
{
	static const uint8_t unknown[] = { 0xf8, 0x06, 7, 0xf9, 0x06, 1,    2,    3, 4, 5, 6, 7, 8,
					   0xfa, 0x06, 2, 'h',  'i',  0xfd, 0x06, 1, 2, 3, 4 };
	struct small_file file;
	size_t length;
	CLEANUP_FREE uint8_t *bytes = NULL, *longer = NULL;

	(void)state;
	file_init(&file);
	bytes = file_pack(&file, &length);
	longer = malloc(length + sizeof(unknown));
	memcpy(longer, unknown, sizeof(unknown));
	memcpy(longer + sizeof(unknown), bytes, length);
	assert_true(is_accepted(longer, length + sizeof(unknown)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_become_profiles),
		cmocka_unit_test(samples_of_zeros_are_kept),
		cmocka_unit_test(columns_stay_as_they_are),
		cmocka_unit_test(labels_of_all_kinds_are_kept),
		cmocka_unit_test(number_0_in_the_unit_of_its_key_has_no_unit),
		cmocka_unit_test(mapping_flags_are_believed),
		cmocka_unit_test(an_unknown_mapping_is_none),
		cmocka_unit_test(odd_windows_and_text_are_kept),
		cmocka_unit_test(wrong_ids_are_refused),
		cmocka_unit_test(wrong_strings_are_refused),
		cmocka_unit_test(wrong_values_are_refused),
		cmocka_unit_test(several_profiles_in_a_row_are_refused),
		cmocka_unit_test(every_truncation_is_answered),
		cmocka_unit_test(every_flipped_bit_is_answered),
		cmocka_unit_test(damaged_gzip_is_refused),
		cmocka_unit_test(members_of_gzip_are_joined),
		cmocka_unit_test(a_gzip_bomb_is_refused),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(garbage_is_refused),
		cmocka_unit_test(unknown_fields_are_skipped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
