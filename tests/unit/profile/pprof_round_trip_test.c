// SPDX-License-Identifier: Apache-2.0
// pprof out and in again: nothing that pprof can say is lost or made up.
#include "pprof_content.h"
#include "random_batch.h"

#include "profile/profile.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

enum { SEEDS = 200 };

static const struct pprof_decode_limits limits = {
	.max_bytes = 64 << 20,
	.max_memory = 512 << 20,
};

static void encode(const struct profcol_batch *batch, uint8_t **bytes, size_t *length)
{
	const struct pprof_encode_options options = { .compression_level = 1 };
	struct profcol_error *error = pprof_encode(batch, &options, bytes, length);

	if (error)
		fail_msg("%s", profcol_error_message(error));
}

static struct profcol_batch *decode(const uint8_t *bytes, size_t length)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = pprof_decode(bytes, length, &limits, &batch);

	if (error)
		fail_msg("%s", profcol_error_message(error));
	return batch;
}

/* ---- what a batch should look like in pprof, from its observations ---- */

static const char *string(const struct profcol_batch *batch, uint32_t id)
{
	return profcol_batch_string(batch, id).bytes;
}

static void print_string(const struct profcol_batch *batch, FILE *stream, uint32_t id)
{
	struct profcol_text text = profcol_batch_string(batch, id);

	fputc(' ', stream);
	content_print_text(stream, text.bytes, text.length);
}

static bool blob_is(const struct profcol_batch *batch, uint32_t id, const char *bytes,
		    size_t length)
{
	struct profcol_text blob = profcol_batch_blob(batch, id);

	return blob.length == length && memcmp(blob.bytes, bytes, length) == 0;
}

/* random_batch.c knows four trees. */
static void expect_tree(struct content_labels *labels, const struct profcol_batch *batch,
			const char *key, const struct profcol_attribute *attribute)
{
	uint32_t blob = attribute->value.blob;

	if (blob_is(batch, blob, "\x2a\x00", 2)) {
		content_label_string(labels, key, "[]", 2);
	} else if (blob_is(batch, blob, "\x32\x00", 2)) {
		content_label_string(labels, key, "{}", 2);
	} else if (attribute->value.type == PROFCOL_VALUE_ARRAY) {
		content_label_string(labels, key, "a", 1);
		content_label_number(labels, key, 3, string(batch, attribute->unit));
	} else {
		content_label_string(labels, key, "{\"k\":true}", 10);
	}
}

static void expect_label(struct content_labels *labels, const struct profcol_batch *batch,
			 const char *key, const struct profcol_attribute *attribute)
{
	struct profcol_text text;
	char buffer[64] = "";

	switch (attribute->value.type) {
	case PROFCOL_VALUE_EMPTY:
		content_label_string(labels, key, "", 0);
		return;
	case PROFCOL_VALUE_STRING:
		text = profcol_batch_string(batch, attribute->value.string);
		content_label_string(labels, key, text.bytes, text.length);
		return;
	case PROFCOL_VALUE_INT:
		content_label_number(labels, key, attribute->value.integer,
				     string(batch, attribute->unit));
		return;
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		expect_tree(labels, batch, key, attribute);
		return;
	case PROFCOL_VALUE_BOOL:
		snprintf(buffer, sizeof(buffer), "%s", attribute->value.boolean ? "true" : "false");
		break;
	case PROFCOL_VALUE_DOUBLE:
		for (int digits = 15;
		     digits == 15 || (digits < 18 && strtod(buffer, NULL) != attribute->value.real);
		     digits++)
			snprintf(buffer, sizeof(buffer), "%.*g", digits, attribute->value.real);
		break;
	case PROFCOL_VALUE_BYTES:
		text = profcol_batch_blob(batch, attribute->value.blob);
		for (size_t i = 0; i < text.length; i++)
			sprintf(buffer + 2 * i, "%02x", (unsigned char)text.bytes[i]);
		break;
	}
	content_label_string(labels, key, buffer, strlen(buffer));
}

static const char *label_name(const char *key)
{
	if (strcmp(key, "process.pid") == 0)
		return "pid";
	if (strcmp(key, "thread.id") == 0)
		return "tid";
	return strcmp(key, "thread.name") == 0 ? "comm" : key;
}

/* Keys that @labels has already are left out. */
static void expect_list(struct content_labels *labels, const struct profcol_batch *batch,
			uint32_t list)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);
		const char *key = label_name(string(batch, attribute.key));

		if (!content_labels_have(labels, key))
			expect_label(labels, batch, key, &attribute);
	}
}

static void expect_link(struct content_labels *labels, const struct profcol_batch *batch,
			uint32_t id)
{
	struct profcol_link link = profcol_batch_link(batch, id);
	char trace[33], span[17];

	if (!id)
		return;
	for (size_t i = 0; i < 16; i++)
		sprintf(trace + 2 * i, "%02x", link.trace_id[i]);
	for (size_t i = 0; i < 8; i++)
		sprintf(span + 2 * i, "%02x", link.span_id[i]);
	content_label_string(labels, "trace_id", trace, 32);
	content_label_string(labels, "span_id", span, 16);
}

/* Which flags the lines of all locations of @mapping allow it. */
static void expect_flags(const struct profcol_batch *batch, uint32_t mapping, FILE *stream)
{
	bool functions = false, filenames = false, numbers = false, inlined = false;

	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_LOCATIONS); i++) {
		struct profcol_location location = profcol_batch_location(batch, i);

		if (location.mapping != mapping)
			continue;
		functions |= location.line_count > 0;
		inlined |= location.line_count > 1;
		for (uint32_t j = 0; j < location.line_count; j++) {
			filenames |= profcol_batch_function(batch, location.lines[j].function)
					     .filename != 0;
			numbers |= location.lines[j].line != 0;
		}
	}
	fprintf(stream, "%d%d%d%d", functions, filenames, numbers, inlined);
}

static void expect_mapping(const struct profcol_batch *batch, FILE *stream, uint32_t id)
{
	struct profcol_mapping mapping = profcol_batch_mapping(batch, id);

	fprintf(stream, "mapping %" PRIx64 "-%" PRIx64 "@%" PRIx64 " ", mapping.memory_start,
		mapping.memory_limit, mapping.file_offset);
	expect_flags(batch, id, stream);
	print_string(batch, stream, mapping.filename);
	fputs(" \"\"", stream); // no build id among the random attributes
}

static void expect_function(const struct profcol_batch *batch, FILE *stream, uint32_t id)
{
	struct profcol_function function = profcol_batch_function(batch, id);

	fputs("function", stream);
	print_string(batch, stream, function.name);
	print_string(batch, stream, function.system_name);
	print_string(batch, stream, function.filename);
	fprintf(stream, " %" PRId64, function.start_line);
}

static void expect_location(const struct profcol_batch *batch, FILE *stream, uint32_t id)
{
	struct profcol_location location = profcol_batch_location(batch, id);

	fprintf(stream, "location %" PRIx64, location.address);
	if (location.mapping) {
		fputs(" ", stream);
		expect_mapping(batch, stream, location.mapping);
	}
	for (uint32_t i = 0; i < location.line_count; i++) {
		fprintf(stream, "; %" PRId64 ":%" PRId64 " ", location.lines[i].line,
			location.lines[i].column);
		expect_function(batch, stream, location.lines[i].function);
	}
}

static uint64_t location_hash(const struct profcol_batch *batch, uint32_t id)
{
	CLEANUP_FREE char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	expect_location(batch, stream, id);
	fclose(stream);
	return content_hash(text);
}

static int64_t add(int64_t a, int64_t b)
{
	int64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum; // random values are not < 0
}

/* Columns of random batches: samples/count, and cpu/nanoseconds if any profile has a period. */
static void expect_sample(struct content *content, const struct profcol_batch *batch,
			  uint32_t resource_attributes, const struct profcol_profile *profile,
			  const struct profcol_sample *sample)
{
	struct content_labels labels = { 0 };
	CLEANUP_FREE char *key = NULL;
	int64_t values[2] = { 0, 0 };
	uint32_t count;
	const uint32_t *locations = profcol_batch_stack(batch, sample->stack, &count);
	size_t length;
	FILE *stream = open_memstream(&key, &length);

	for (uint32_t i = 0; i < count; i++)
		fprintf(stream, "%016" PRIx64 " ", location_hash(batch, locations[i]));
	fputc('|', stream);
	expect_list(&labels, batch, sample->attributes);
	expect_link(&labels, batch, sample->link);
	expect_list(&labels, batch, resource_attributes);
	content_labels_print(&labels, stream);
	fclose(stream);
	if (!sample->value_count)
		values[0] = sample->timestamp_count;
	for (uint32_t i = 0; i < sample->value_count; i++)
		values[0] = add(values[0], sample->values[i]);
	if (profile->period && __builtin_mul_overflow(values[0], profile->period, &values[1]))
		values[1] = INT64_MAX;
	content_add(content, key, values);
}

static void expect_samples(struct content *content, const struct profcol_batch *batch)
{
	struct profcol_range scopes, profiles, samples;

	for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_RESOURCES); i++) {
		uint32_t attributes = profcol_batch_resource(batch, i, &scopes).attributes;

		for (uint32_t j = scopes.begin; j < scopes.end; j++) {
			profcol_batch_scope(batch, j, &profiles);
			for (uint32_t k = profiles.begin; k < profiles.end; k++) {
				struct profcol_profile profile =
					profcol_batch_profile(batch, k, &samples);

				for (uint32_t l = samples.begin; l < samples.end; l++) {
					struct profcol_sample sample =
						profcol_batch_sample(batch, l);

					expect_sample(content, batch, attributes, &profile,
						      &sample);
				}
			}
		}
	}
}

/* The samples' part of the content, which comes last. */
static const char *samples_of(const char *content)
{
	const char *samples = strncmp(content, "sample |", 8) == 0 ? content : NULL;

	for (const char *line = content; line && !samples; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, "sample ", 7) == 0 && strncmp(line, "sample type", 11) != 0 &&
		    strncmp(line, "sample unit", 11) != 0)
			samples = line;
		if (!*line)
			break;
	}
	return samples ? samples : "";
}

static void random_batches_hold_the_same_in_pprof(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		CLEANUP_FREE uint8_t *bytes = NULL;
		CLEANUP_FREE char *content = NULL, *expected = NULL;
		struct content expectation = { 0 };
		struct profcol_range samples;
		size_t length;

		if (profcol_batch_count(batch, PROFCOL_PROFILES))
			expectation.columns = 1;
		for (uint32_t i = 0; i < profcol_batch_count(batch, PROFCOL_PROFILES); i++)
			if (profcol_batch_profile(batch, i, &samples).period)
				expectation.columns = 2;
		expect_samples(&expectation, batch);
		expected = content_finish(&expectation);
		encode(batch, &bytes, &length);
		content = pprof_content(bytes, length);
		assert_true(content_equal(expected, samples_of(content)));
	}
}

static void encoding_what_was_decoded_keeps_the_content(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = random_batch(seed);
		PROFCOL_CLEANUP_BATCH struct profcol_batch *decoded = NULL, *again = NULL;
		CLEANUP_FREE uint8_t *first = NULL, *second = NULL;
		CLEANUP_FREE char *before = NULL, *after = NULL;
		size_t first_length, second_length;

		// Without profiles there is no column, and so nowhere to keep the rest.
		if (!profcol_batch_count(batch, PROFCOL_PROFILES))
			continue;
		encode(batch, &first, &first_length);
		decoded = decode(first, first_length);
		encode(decoded, &second, &second_length);
		before = pprof_content(first, first_length);
		after = pprof_content(second, second_length);
		assert_true(content_equal(before, after));
		again = decode(second, second_length);
		assert_true(batch_same_observations(decoded, again));
	}
}

/* ---- files of other programs ---- */

static void check_file(const char *name)
{
	CLEANUP_FREE char *path = NULL, *file = NULL, *before = NULL, *after = NULL;
	PROFCOL_CLEANUP_BATCH struct profcol_batch *batch = NULL;
	CLEANUP_FREE uint8_t *bytes = NULL;
	size_t file_length, length;

	assert_true(asprintf(&path, "%s/../shared/data/%s", PROFCOL_SOURCE_DIR, name) > 0);
	if (file_read(AT_FDCWD, path, 64 << 20, &file, &file_length) < 0) {
		print_message("%s is not there: skipped\n", path);
		free(path); // skip() leaves by longjmp, past the cleanup
		path = NULL;
		skip();
	}
	batch = decode((uint8_t *)file, file_length);
	encode(batch, &bytes, &length);
	before = pprof_content((uint8_t *)file, file_length);
	after = pprof_content(bytes, length);
	assert_true(content_equal(before, after));
	print_message("%s: %zu bytes, %" PRIu32 " samples\n", name, file_length,
		      profcol_batch_count(batch, PROFCOL_SAMPLES));
}

static void file_go_cpu_labels(void **state)
{
	(void)state;
	check_file("go.cpu.labels.pprof");
}

static void file_dotnet_labels(void **state)
{
	(void)state;
	check_file("dotnet.labels.pprof");
}

static void file_java(void **state)
{
	(void)state;
	check_file("profile_java");
}

static void file_span_id(void **state)
{
	(void)state;
	check_file("single_group_with_optional_span_id.pb.gz");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_batches_hold_the_same_in_pprof),
		cmocka_unit_test(encoding_what_was_decoded_keeps_the_content),
		cmocka_unit_test(file_go_cpu_labels),
		cmocka_unit_test(file_dotnet_labels),
		cmocka_unit_test(file_java),
		cmocka_unit_test(file_span_id),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
