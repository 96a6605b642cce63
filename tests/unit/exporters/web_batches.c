// SPDX-License-Identifier: Apache-2.0
#include "web_batches.h"

#include "fake_host.h"

#include "base/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FUNCTIONS = 40, DEPTH_MAX = 12, SAMPLES_MAX = 14 };

uint64_t web_chance_below(struct web_chance *chance, uint64_t limit)
{
	chance->state ^= chance->state << 13;
	chance->state ^= chance->state >> 7;
	chance->state ^= chance->state << 17;
	return chance->state % limit;
}

static uint32_t add_location(struct profcol_builder *builder, uint32_t number, uint32_t function)
{
	static const char *const types[] = { "native", "kernel" };
	const char *type = types[function % 7 == 0];
	struct profcol_line lines[2] = { 0 };
	char name[64], file[64];
	uint32_t attribute =
		profcol_builder_attribute_string(builder, "profile.frame.type", type, strlen(type));

	// One that only this batch has.
	if (function)
		snprintf(name, sizeof(name), "function_%u", function);
	else
		snprintf(name, sizeof(name), "only_in_%u", number);
	snprintf(file, sizeof(file), "/lib/lib%u.so", function % 3);
	for (uint32_t i = 0; i < 2; i++) {
		struct profcol_function row = {
			.name = profcol_builder_cstring(builder, i ? "outer" : name),
			.filename = profcol_builder_cstring(builder, "source.c"),
		};

		lines[i].function = profcol_builder_function(builder, &row);
	}
	return profcol_builder_location(
		builder,
		&(struct profcol_location){
			.mapping = profcol_builder_mapping(
				builder,
				&(struct profcol_mapping){
					.filename = profcol_builder_cstring(builder, file),
				}),
			.address = function,
			.attributes = profcol_builder_attribute_list(builder, &attribute, 1),
			.lines = lines,
			.line_count = function % 5 == 1 ? 2 : 1,
		});
}

static void add_sample(struct web_chance *chance, struct profcol_builder *builder, uint32_t number,
		       uint64_t start_ns, bool is_count)
{
	uint32_t locations[DEPTH_MAX], depth = (uint32_t)web_chance_below(chance, DEPTH_MAX);
	uint32_t thread;
	char name[32];
	int64_t values[3];
	uint64_t times[3];
	struct profcol_sample sample = { .values = values, .timestamps_unix_ns = times };

	for (uint32_t i = 0; i < depth; i++)
		locations[i] = add_location(builder, number,
					    (uint32_t)web_chance_below(chance, FUNCTIONS));
	snprintf(name, sizeof(name), "thread %u", (uint32_t)web_chance_below(chance, 3));
	thread = profcol_builder_attribute_string(builder, "thread.name", name, strlen(name));
	for (uint32_t i = 0; i < 3; i++) {
		values[i] = (int64_t)web_chance_below(chance, 1000) + 1;
		times[i] = start_ns + web_chance_below(chance, 5000000000);
	}
	// The three shapes.
	switch (web_chance_below(chance, 3)) {
	case 0:
		sample.value_count = 1;
		break;
	case 1:
		sample.timestamp_count = 3;
		sample.value_count = is_count ? 0 : 3;
		break;
	default:
		sample.timestamp_count = sample.value_count = 1;
	}
	sample.stack = profcol_builder_stack(builder, locations, depth);
	sample.attributes = profcol_builder_attribute_list(builder, &thread, 1);
	profcol_builder_add_sample(builder, &sample);
}

struct profcol_batch *web_batch(struct web_chance *chance, uint32_t number, uint64_t start_ns)
{
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;

	for (uint32_t resource = 0; resource < 2; resource++) {
		const char *service = resource ? "shop" : "<script>alert(\"1\")</script>";
		uint32_t attributes[2] = {
			profcol_builder_attribute_string(builder, "service.name", service,
							 strlen(service)),
			profcol_builder_attribute_int(builder, "process.pid", 100 + resource),
		};

		profcol_builder_add_resource(
			builder,
			&(struct profcol_resource){ .attributes = profcol_builder_attribute_list(
							    builder, attributes, 2) });
		profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
		for (int kind = 0; kind < 2; kind++) {
			profcol_builder_add_profile(
				builder, &(struct profcol_profile){
						 .sample_type = profcol_builder_cstring(
							 builder, kind ? "cpu" : "samples"),
						 .sample_unit = profcol_builder_cstring(
							 builder, kind ? "nanoseconds" : "count"),
						 .time_unix_ns = start_ns,
						 .duration_ns = 5000000000,
					 });
			for (uint64_t i = web_chance_below(chance, SAMPLES_MAX); i > 0; i--)
				add_sample(chance, builder, number, start_ns, !kind);
		}
	}
	assert_no_error(profcol_builder_seal(builder, &batch));
	return batch;
}

/* ---- sums ---- */

static int64_t sample_value(const struct profcol_sample *sample)
{
	int64_t value = sample->value_count ? 0 : sample->timestamp_count;

	for (uint32_t i = 0; i < sample->value_count; i++)
		value += sample->values[i];
	return value;
}

int64_t web_batch_sum(const struct profcol_batch *batch, const char *type)
{
	uint32_t count = profcol_batch_count(batch, PROFCOL_PROFILES);
	int64_t sum = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_range samples;
		struct profcol_profile profile = profcol_batch_profile(batch, i, &samples);

		if (strcmp(profcol_batch_string(batch, profile.sample_type).bytes, type) != 0)
			continue;
		for (uint32_t j = samples.begin; j < samples.end; j++) {
			struct profcol_sample sample = profcol_batch_sample(batch, j);

			sum += sample_value(&sample);
		}
	}
	return sum;
}

struct line {
	char *text;
	int64_t value;
};

struct lines {
	VECTOR(struct line) items;
};

static void write_attributes(FILE *stream, const struct profcol_batch *batch, uint32_t list)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		fprintf(stream, "%s=", profcol_batch_string(batch, attribute.key).bytes);
		if (attribute.value.type == PROFCOL_VALUE_STRING)
			fprintf(stream, "%s ",
				profcol_batch_string(batch, attribute.value.string).bytes);
		else
			fprintf(stream, "%lld ", (long long)attribute.value.integer);
	}
}

static void write_stack(FILE *stream, const struct profcol_batch *batch, uint32_t stack)
{
	uint32_t depth;
	const uint32_t *locations = profcol_batch_stack(batch, stack, &depth);

	for (uint32_t i = 0; i < depth; i++) {
		struct profcol_location location = profcol_batch_location(batch, locations[i]);
		struct profcol_mapping mapping = profcol_batch_mapping(batch, location.mapping);

		fprintf(stream, "%llx@%s", (unsigned long long)location.address,
			profcol_batch_string(batch, mapping.filename).bytes);
		for (uint32_t j = 0; j < location.line_count; j++) {
			struct profcol_function function =
				profcol_batch_function(batch, location.lines[j].function);

			fprintf(stream, ":%s", profcol_batch_string(batch, function.name).bytes);
		}
		putc(';', stream);
	}
}

static void add_profile(struct lines *lines, const struct profcol_batch *batch, uint32_t resource,
			uint32_t id)
{
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(batch, id, &samples);

	for (uint32_t i = samples.begin; i < samples.end; i++) {
		struct profcol_sample sample = profcol_batch_sample(batch, i);
		struct line line = { .value = sample_value(&sample) };
		size_t length;
		FILE *stream = open_memstream(&line.text, &length);

		assert_non_null(stream);
		fprintf(stream, "%s ", profcol_batch_string(batch, profile.sample_type).bytes);
		write_attributes(stream, batch, resource);
		write_stack(stream, batch, sample.stack);
		putc(' ', stream);
		write_attributes(stream, batch, sample.attributes);
		assert_int_equal(fclose(stream), 0);
		assert_true(VECTOR_PUSH(&lines->items, line));
	}
}

static void add_batch(struct lines *lines, const struct profcol_batch *batch)
{
	uint32_t resources = profcol_batch_count(batch, PROFCOL_RESOURCES);
	struct profcol_range scopes, profiles;

	for (uint32_t i = 0; i < resources; i++) {
		struct profcol_resource resource = profcol_batch_resource(batch, i, &scopes);

		for (uint32_t j = scopes.begin; j < scopes.end; j++) {
			profcol_batch_scope(batch, j, &profiles);
			for (uint32_t k = profiles.begin; k < profiles.end; k++)
				add_profile(lines, batch, resource.attributes, k);
		}
	}
}

static int compare_lines(const void *left, const void *right)
{
	return strcmp(((const struct line *)left)->text, ((const struct line *)right)->text);
}

char *web_batches_text(struct profcol_batch *const *batches, size_t count)
{
	struct lines lines = { 0 };
	char *text = NULL;
	size_t length;
	FILE *stream = open_memstream(&text, &length);

	assert_non_null(stream);
	for (size_t i = 0; i < count; i++)
		add_batch(&lines, batches[i]);
	if (lines.items.count)
		qsort(lines.items.items, lines.items.count, sizeof(struct line), compare_lines);
	for (size_t i = 0; i < lines.items.count; i++) {
		struct line *line = &lines.items.items[i], *next = line + 1;

		if (i + 1 < lines.items.count && !compare_lines(line, next))
			next->value += line->value;
		else
			fprintf(stream, "%s %lld\n", line->text, (long long)line->value);
		free(line->text);
	}
	VECTOR_DEINIT(&lines.items);
	assert_int_equal(fclose(stream), 0);
	return text;
}
