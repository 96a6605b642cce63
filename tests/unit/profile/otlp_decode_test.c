// SPDX-License-Identifier: Apache-2.0
// What the decoder accepts, next to what protobuf-c reads from the same bytes.
#include "otlp_reader.h"
#include "otlp_small_request.h"
#include "random_batch.h"
#include "wire_bytes.h"

#include "base/base.h"
#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <string.h>

enum { SEEDS = 200 };

static const struct otlp_decode_limits limits = { .max_memory = 64 << 20 };
static const struct otlp_encode_options with_references = { .attribute_references = true };

static struct wire_bytes encode(const struct profcol_batch *batch,
				const struct otlp_encode_options *options)
{
	struct wire_bytes result = { 0 };
	struct profcol_error *error = otlp_encode(batch, options, &result.bytes, &result.length);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return result;
}

static struct profcol_batch *decode(const struct wire_bytes *bytes)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = otlp_decode(bytes->bytes, bytes->length, &limits, &batch);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return batch;
}

static void assert_same_text(const struct profcol_batch *left, const struct profcol_batch *right)
{
	CLEANUP_FREE char *left_text = batch_text(left), *right_text = batch_text(right);

	assert_string_equal(left_text, right_text);
	for (unsigned int table = PROFCOL_RESOURCES; table <= PROFCOL_SAMPLES; table++)
		assert_int_equal(profcol_batch_count(left, table),
				 profcol_batch_count(right, table));
}

static void what_we_wrote_is_written_the_same_again(void **state)
{
	const struct otlp_encode_options *const options[] = { NULL, &with_references };

	(void)state;
	for (uint64_t seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);

		for (size_t i = 0; i < 2; i++) {
			CLEANUP_WIRE_BYTES struct wire_bytes first = encode(batch, options[i]);
			PROFCOL_CLEANUP_BATCH struct profcol_batch *read = decode(&first);
			CLEANUP_WIRE_BYTES struct wire_bytes second = encode(read, options[i]);

			assert_int_equal(first.length, otlp_encoded_size(batch, options[i]));
			assert_int_equal(first.length, second.length);
			assert_memory_equal(first.bytes, second.bytes, first.length);
			assert_same_text(batch, read);
		}
	}
}

static void protobuf_c_reads_the_same(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed <= SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		CLEANUP_WIRE_BYTES struct wire_bytes bytes = encode(batch, NULL);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *ours = decode(&bytes);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *theirs =
			otlp_read(bytes.bytes, bytes.length);

		assert_same_text(ours, theirs);
	}
}

/* False, with a message, when the file is not there. */
static bool shared_data(const char *name, struct wire_bytes *ret)
{
	char path[300];
	char *file;

	snprintf(path, sizeof(path), "%s/../shared/data/%s", PROFCOL_SOURCE_DIR, name);
	if (file_read(AT_FDCWD, path, 64 << 20, &file, &ret->length) < 0) {
		print_message("%s is not there: skipped\n", path);
		return false;
	}
	ret->bytes = (uint8_t *)file;
	return true;
}

static void a_real_request_keeps_its_contents(void **state)
{
	CLEANUP_WIRE_BYTES struct wire_bytes file = { 0 };

	(void)state;
	if (!shared_data("otlp-1.10-ebpf-profile.bin", &file))
		skip();
	PROFCOL_CLEANUP_BATCH struct profcol_batch *first = decode(&file);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *theirs = otlp_read(file.bytes, file.length);
	CLEANUP_WIRE_BYTES struct wire_bytes written = encode(first, NULL);
	PROFCOL_CLEANUP_BATCH struct profcol_batch *second = decode(&written);
	CLEANUP_WIRE_BYTES struct wire_bytes again = encode(second, NULL);

	assert_int_equal(profcol_batch_count(first, PROFCOL_RESOURCES), 77);
	assert_int_equal(profcol_batch_count(first, PROFCOL_SAMPLES), 317);
	assert_int_equal(profcol_batch_events(first), 5321);
	assert_same_text(first, theirs);
	assert_same_text(first, second);
	assert_int_equal(written.length, again.length);
	assert_memory_equal(written.bytes, again.bytes, again.length);
}

/* The limit in profile.h that usual requests stay below. */
static void a_real_request_takes_eight_times_its_length(void **state)
{
	CLEANUP_WIRE_BYTES struct wire_bytes file = { 0 };
	struct profcol_batch *batch = NULL;

	(void)state;
	if (!shared_data("otlp-1.10-ebpf-profile.bin", &file))
		skip();
	const struct otlp_decode_limits eight = { .max_memory = 8 * file.length };

	assert_null(otlp_decode(file.bytes, file.length, &eight, &batch));
	assert_true(profile_memory(batch) < eight.max_memory);
	profcol_batch_unref(batch);
}

static void requests_of_1_9_are_refused_by_name(void **state)
{
	CLEANUP_WIRE_BYTES struct wire_bytes profile = { 0 }, k8s = { 0 };
	struct profcol_batch *batch = NULL;
	size_t at = 0, requests = 0;

	(void)state;
	if (!shared_data("profile.otlp", &profile) || !shared_data("k8s.otlp", &k8s))
		skip();
	while (at <= k8s.length) {
		const uint8_t *bytes = requests ? k8s.bytes + at : profile.bytes;
		size_t length = profile.length;

		if (requests) {
			length = (size_t)bytes[0] << 24 | bytes[1] << 16 | bytes[2] << 8 | bytes[3];
			bytes += 4;
			at += length + 4;
		}
		PROFCOL_CLEANUP_ERROR struct profcol_error *error =
			otlp_decode(bytes, length, &limits, &batch);

		assert_non_null(error);
		assert_int_equal(profcol_error_code(error), PROFCOL_BAD_DATA);
		if (!strstr(profcol_error_message(error), "opentelemetry-proto 1.9"))
			fail_msg("%s", profcol_error_message(error));
		requests++;
		if (at == k8s.length)
			break;
	}
	assert_int_equal(requests, 3);
}

/* ---- odd, but right ---- */

/* The small request as a batch, @batch taken, is the usual one. */
static void assert_is_small_request(struct profcol_batch *batch)
{
	struct small_request request;
	CLEANUP_WIRE_BYTES struct wire_bytes plain = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *expected = NULL;

	small_request_init(&request);
	plain.bytes = small_request_pack(&request, &plain.length);
	expected = decode(&plain);
	assert_int_equal(profcol_batch_count(expected, PROFCOL_SAMPLES), 1);
	assert_same_text(expected, batch);
	profcol_batch_unref(batch);
}

/* Protocol Buffers: messages in a row are one. */
static void a_dictionary_in_pieces_is_one(void **state)
{
	struct small_request request;
	Otlp__ProfilesDictionary strings = OTLP__PROFILES_DICTIONARY__INIT;
	Otlp__ExportProfilesServiceRequest first = OTLP__EXPORT_PROFILES_SERVICE_REQUEST__INIT;
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };
	uint8_t piece[300];
	size_t length;

	(void)state;
	small_request_init(&request);
	strings.n_string_table = 4;
	strings.string_table = request.strings;
	first.dictionary = &strings;
	assert_true(otlp__export_profiles_service_request__get_packed_size(&first) < sizeof(piece));
	wire_raw(&bytes, piece, otlp__export_profiles_service_request__pack(&first, piece));
	request.dictionary.n_string_table -= 4;
	request.dictionary.string_table += 4;
	CLEANUP_FREE uint8_t *rest = small_request_pack(&request, &length);

	wire_raw(&bytes, rest, length);
	assert_is_small_request(decode(&bytes));
}

/* An attribute of a resource: a KeyValue with true for a value. */
static void put_attribute(struct wire_bytes *resource, const char *key)
{
	struct wire_bytes pair = { 0 }, value = { 0 };

	wire_text(&pair, 1, key);
	wire_number(&value, 2, 1);
	wire_message(&pair, 2, &value);
	wire_message(resource, 1, &pair);
}

static void a_resource_in_pieces_is_one(void **state)
{
	struct wire_bytes first = { 0 }, second = { 0 }, row = { 0 };
	CLEANUP_WIRE_BYTES struct wire_bytes request = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_resource resource;
	struct profcol_range scopes;
	uint32_t count;

	(void)state;
	put_attribute(&first, "a");
	put_attribute(&second, "b");
	wire_number(&second, 2, 3);
	wire_message(&row, 1, &first);
	wire_text(&row, 3, "https://schema");
	wire_message(&row, 1, &second);
	wire_message(&request, 1, &row);
	batch = decode(&request);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 1);
	resource = profcol_batch_resource(batch, 0, &scopes);
	profcol_batch_attribute_list(batch, resource.attributes, &count);
	assert_int_equal(count, 2);
	assert_int_equal(resource.dropped_attributes_count, 3);
	assert_string_equal(profcol_batch_string(batch, resource.schema_url).bytes,
			    "https://schema");
}

static void unknown_fields_and_groups_are_skipped(void **state)
{
	/* Field 99 of every wire type; a group with one inside. */
	static const uint8_t unknown[] = {
		0x98, 6, 0x80, 1,                               // varint
		0x99, 6, 1,    2,    3,    4,    5,    6, 7, 8, // 64 bits
		0x9a, 6, 2,    0xff, 0xff,                      // bytes
		0x9d, 6, 1,    2,    3,    4,                   // 32 bits
		0x9b, 6, 0x0b, 0x08, 1,    0x0c, 0x9c, 6,       // groups
	};
	struct small_request request;
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };

	(void)state;
	small_request_init(&request);
	bytes.bytes = small_request_pack(&request, &bytes.length);
	wire_raw(&bytes, unknown, sizeof(unknown));
	assert_is_small_request(decode(&bytes));
}

/* A request with one profile of the one sample @sample, and in its dictionary @tables. */
static struct wire_bytes one_sample(struct wire_bytes *sample, struct wire_bytes *tables)
{
	struct wire_bytes profile = { 0 }, scope = { 0 }, resource = { 0 }, request = { 0 };

	wire_message(&profile, 2, sample);
	wire_message(&scope, 2, &profile);
	wire_message(&resource, 2, &scope);
	wire_message(&request, 1, &resource);
	wire_message(&request, 2, tables);
	return request;
}

static void numbers_need_not_be_packed(void **state)
{
	struct wire_bytes stack = { 0 }, location = { 0 }, tables = { 0 }, sample = { 0 };
	struct wire_bytes packed = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	struct profcol_sample row;
	uint32_t count;

	(void)state;
	wire_text(&tables, 2, "");
	wire_number(&location, 2, 99);
	wire_message(&tables, 2, &location);
	wire_text(&tables, 7, "");
	wire_number(&stack, 1, 1);
	wire_number(&stack, 1, 0);
	wire_message(&tables, 7, &stack);
	wire_number(&sample, 1, 1);
	wire_varint(&packed, 7);
	wire_message(&sample, 4, &packed);
	wire_number(&sample, 4, UINT64_MAX);
	wire_fixed64(&sample, 5, 11);
	wire_text(&sample, 5, "12345678");
	CLEANUP_WIRE_BYTES struct wire_bytes request = one_sample(&sample, &tables);

	batch = decode(&request);
	row = profcol_batch_sample(batch, 0);
	assert_int_equal(row.value_count, 2);
	assert_int_equal(row.values[0], 7);
	assert_int_equal(row.values[1], -1);
	assert_int_equal(row.timestamp_count, 2);
	assert_int_equal(row.timestamps_unix_ns[0], 11);
	assert_memory_equal(&row.timestamps_unix_ns[1], "12345678", 8);
	profcol_batch_stack(batch, row.stack, &count);
	assert_int_equal(count, 2);
}

/* Also in older proto texts: tables that nothing refers to may be missing. */
static void a_sample_without_tables_is_taken(void **state)
{
	struct wire_bytes sample = { 0 }, tables = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;

	(void)state;
	wire_fixed64(&sample, 5, 11);
	CLEANUP_WIRE_BYTES struct wire_bytes request = one_sample(&sample, &tables);

	batch = decode(&request);
	assert_int_equal(profcol_batch_events(batch), 1);
}

static void an_empty_request_is_an_empty_batch(void **state)
{
	const struct wire_bytes nothing = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = decode(&nothing);

	(void)state;
	assert_int_equal(profcol_batch_count(batch, PROFCOL_RESOURCES), 0);
	assert_int_equal(profcol_batch_count(batch, PROFCOL_STRINGS), 1);
}

static void text_is_repaired(void **state)
{
	struct small_request request;
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE char *text = NULL;
	char bad[] = "b\xff\xc3", *array[] = { bad };
	Otlp__AnyValue item = OTLP__ANY_VALUE__INIT, *items[] = { &item };
	Otlp__ArrayValue list = OTLP__ARRAY_VALUE__INIT;

	(void)state;
	small_request_init(&request);
	request.strings[1] = bad;
	request.entity.description_keys = array;
	request.entity.n_description_keys = 1;
	item.value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	item.string_value = bad;
	list.values = items;
	list.n_values = 1;
	request.resource_values[1].value_case = OTLP__ANY_VALUE__VALUE_ARRAY_VALUE;
	request.resource_values[1].array_value = &list;
	bytes.bytes = small_request_pack(&request, &bytes.length);
	batch = decode(&bytes);
	text = batch_text(batch);
	assert_non_null(strstr(text, "\"b?\?\""));
	assert_non_null(strstr(text, "array:2a070a050a03623f3f"));
	assert_null(strstr(text, "ffc3"));
}

/* ---- references ---- */

static void reference_value(Otlp__AnyValue *value, int32_t index)
{
	*value = (Otlp__AnyValue)OTLP__ANY_VALUE__INIT;
	value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE_STRINDEX;
	value->string_value_strindex = index;
}

/* As Collector 0.164 writes: key and value by index, in scopes and attributes too. */
static void references_are_resolved(void **state)
{
	struct small_request request;
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };
	static char texts[4][20] = { "service.name", "app", "scope.key", "0123abcd" };
	char *strings[SMALL_STRINGS + 3];
	size_t count;

	(void)state;
	small_request_init(&request);
	count = request.dictionary.n_string_table;
	memcpy(strings, request.strings, sizeof(request.strings));
	for (size_t i = 0; i < 4; i++)
		strings[count + i] = texts[i];
	request.dictionary.string_table = strings;
	request.dictionary.n_string_table += 4;
	request.resource_attributes[1].key = (char *)(uintptr_t)protobuf_c_empty_string;
	request.resource_attributes[1].key_strindex = (int32_t)count;
	reference_value(&request.resource_values[1], (int32_t)count + 1);
	request.scope_attributes[0].key = (char *)(uintptr_t)protobuf_c_empty_string;
	request.scope_attributes[0].key_strindex = (int32_t)count + 2;
	reference_value(&request.values[2], (int32_t)count + 3);
	bytes.bytes = small_request_pack(&request, &bytes.length);
	assert_is_small_request(decode(&bytes));
}

/* Nested, a reference becomes text: a batch's trees mean the same in every message. */
static void references_inside_trees_become_text(void **state)
{
	struct small_request request;
	Otlp__AnyValue items[2], *rows[2] = { &items[0], &items[1] };
	Otlp__ArrayValue list = OTLP__ARRAY_VALUE__INIT;
	Otlp__KeyValue pair, *pairs[] = { &pair };
	Otlp__KeyValueList inner = OTLP__KEY_VALUE_LIST__INIT;
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = { 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE char *text = NULL;

	(void)state;
	small_request_init(&request);
	reference_value(&items[0], 1);
	items[1] = (Otlp__AnyValue)OTLP__ANY_VALUE__INIT;
	items[1].value_case = OTLP__ANY_VALUE__VALUE_KVLIST_VALUE;
	items[1].kvlist_value = &inner;
	inner.values = pairs;
	inner.n_values = 1;
	otlp__key_value__init(&pair);
	pair.key_strindex = 5;
	list.values = rows;
	list.n_values = 2;
	request.resource_values[1] = (Otlp__AnyValue)OTLP__ANY_VALUE__INIT;
	request.resource_values[1].value_case = OTLP__ANY_VALUE__VALUE_ARRAY_VALUE;
	request.resource_values[1].array_value = &list;
	bytes.bytes = small_request_pack(&request, &bytes.length);
	batch = decode(&bytes);
	text = batch_text(batch);
	// ["main", {"cpu": nothing}]
	assert_non_null(strstr(text, "array:2a150a060a046d61696e0a0b32090a070a036370751200"));
}

static void references_written_share_their_text(void **state)
{
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(7);
	CLEANUP_WIRE_BYTES struct wire_bytes bytes = encode(batch, &with_references);
	Otlp__ExportProfilesServiceRequest *message = otlp_read_message(bytes.bytes, bytes.length);
	size_t attributes = 0;

	(void)state;
	for (size_t i = 0; i < message->n_resource_profiles; i++) {
		const Otlp__Resource *resource = message->resource_profiles[i]->resource;

		for (size_t j = 0; j < resource->n_attributes; j++, attributes++) {
			assert_string_equal(resource->attributes[j]->key, "");
			assert_true(resource->attributes[j]->key_strindex > 0);
			assert_int_not_equal(resource->attributes[j]->value->value_case,
					     OTLP__ANY_VALUE__VALUE_STRING_VALUE);
		}
	}
	assert_true(attributes > 0);
	otlp__export_profiles_service_request__free_unpacked(message, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_we_wrote_is_written_the_same_again),
		cmocka_unit_test(protobuf_c_reads_the_same),
		cmocka_unit_test(a_real_request_keeps_its_contents),
		cmocka_unit_test(a_real_request_takes_eight_times_its_length),
		cmocka_unit_test(requests_of_1_9_are_refused_by_name),
		cmocka_unit_test(a_dictionary_in_pieces_is_one),
		cmocka_unit_test(a_resource_in_pieces_is_one),
		cmocka_unit_test(unknown_fields_and_groups_are_skipped),
		cmocka_unit_test(numbers_need_not_be_packed),
		cmocka_unit_test(a_sample_without_tables_is_taken),
		cmocka_unit_test(an_empty_request_is_an_empty_batch),
		cmocka_unit_test(text_is_repaired),
		cmocka_unit_test(references_are_resolved),
		cmocka_unit_test(references_inside_trees_become_text),
		cmocka_unit_test(references_written_share_their_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
