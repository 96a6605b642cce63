// SPDX-License-Identifier: Apache-2.0
#include "shop_batch.h"

#include "base/base.h"
#include "profile/profile.h"

#include "fake_host.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t text_attribute(struct profcol_builder *builder, const char *key, const char *text)
{
	return profcol_builder_attribute_string(builder, key, text, strlen(text));
}

static uint32_t value_attribute(struct profcol_builder *builder, const char *key,
				struct profcol_value value)
{
	const struct profcol_attribute attribute = {
		.key = profcol_builder_cstring(builder, key),
		.value = value,
	};

	return profcol_builder_attribute(builder, &attribute);
}

static uint32_t frame(struct profcol_builder *builder, uint32_t mapping, const char *name,
		      const char *type)
{
	const uint32_t attribute = text_attribute(builder, "profile.frame.type", type);
	char file[64];
	struct profcol_function function = { .name = profcol_builder_cstring(builder, name) };
	struct profcol_line line;
	struct profcol_location location = { .mapping = mapping, .lines = &line, .line_count = 1 };

	snprintf(file, sizeof(file), "%s.c", name);
	function.filename = profcol_builder_cstring(builder, file);
	line = (struct profcol_line){ .function = profcol_builder_function(builder, &function) };
	location.attributes = profcol_builder_attribute_list(builder, &attribute, 1);
	return profcol_builder_location(builder, &location);
}

static uint32_t mapping(struct profcol_builder *builder, const char *filename, const char *build_id)
{
	const uint32_t attribute =
		text_attribute(builder, "process.executable.build_id.gnu", build_id);
	const struct profcol_mapping row = {
		.filename = profcol_builder_cstring(builder, filename),
		.attributes = profcol_builder_attribute_list(builder, &attribute, 1),
	};

	return profcol_builder_mapping(builder, &row);
}

static uint32_t stack(struct profcol_builder *builder, uint32_t leaf, uint32_t root)
{
	return profcol_builder_stack(builder, (const uint32_t[]){ leaf, root }, 2);
}

static void add_resource(struct profcol_builder *builder, const char *service, const char *space,
			 int64_t pid, double load, uint32_t last)
{
	const uint32_t attributes[] = {
		text_attribute(builder, "service.name", service),
		text_attribute(builder, "k8s.namespace.name", space),
		profcol_builder_attribute_int(builder, "process.pid", pid),
		value_attribute(builder, "load",
				(struct profcol_value){ PROFCOL_VALUE_DOUBLE, .real = load }),
		last,
	};
	const struct profcol_resource resource = {
		.attributes =
			profcol_builder_attribute_list(builder, attributes, COUNT(attributes)),
	};

	profcol_builder_add_resource(builder, &resource);
}

static void add_profile(struct profcol_builder *builder, const char *scope, const char *version,
			const char *type, const char *unit, const char *payload)
{
	const struct profcol_scope row = {
		.name = profcol_builder_cstring(builder, scope),
		.version = profcol_builder_cstring(builder, version),
	};
	const struct profcol_profile profile = {
		.sample_type = profcol_builder_cstring(builder, type),
		.sample_unit = profcol_builder_cstring(builder, unit),
		.time_unix_ns = 1000,
		.duration_ns = 1000,
		.original_payload_format = profcol_builder_cstring(builder, "x-raw"),
		.original_payload = profcol_builder_blob(builder, payload, strlen(payload)),
	};

	profcol_builder_add_scope(builder, &row);
	profcol_builder_add_profile(builder, &profile);
}

/* @value, or @timestamps of them when it is 0. @further: one more attribute, or 0. */
static void add_sample(struct profcol_builder *builder, uint32_t stack_id, const char *thread,
		       uint32_t further, int64_t value, uint32_t timestamps)
{
	static const uint64_t times[] = { 1001, 1002, 1003, 1004 };
	const uint32_t attributes[] = { text_attribute(builder, "thread.name", thread), further };
	const struct profcol_sample sample = {
		.stack = stack_id,
		.attributes =
			profcol_builder_attribute_list(builder, attributes, 1 + (further > 0)),
		.value_count = value != 0,
		.values = &value,
		.timestamp_count = timestamps,
		.timestamps_unix_ns = times,
	};

	profcol_builder_add_sample(builder, &sample);
}

struct profcol_batch *shop_batch_create(void)
{
	const struct profcol_value yes = { PROFCOL_VALUE_BOOL, .boolean = true };
	struct profcol_builder *builder = profcol_builder_create();
	struct profcol_batch *batch = NULL;
	uint32_t shop, cron, pay, tally, sweep, main_frame;

	assert_non_null(builder);
	shop = mapping(builder, "/usr/bin/shop", "0a0b");
	cron = mapping(builder, "/opt/cron", "0c0d");
	main_frame = frame(builder, shop, "main", "native");
	pay = stack(builder, frame(builder, shop, "pay", "native"), main_frame);
	tally = stack(builder, frame(builder, shop, "tally", "native"), main_frame);
	sweep = stack(builder, frame(builder, cron, "sweep", "cpython"),
		      frame(builder, cron, "cron_main", "native"));
	add_resource(builder, "shop", "prod", 4711, 0.5,
		     value_attribute(builder, "container.privileged", yes));
	add_profile(builder, "profcol", "1.0", "samples", "count", "raw: web, batch");
	add_sample(builder, pay, "web", profcol_builder_attribute_int(builder, "cpu", 1), 0, 3);
	add_sample(builder, tally, "batch", 0, 2, 0);
	add_profile(builder, "other", "2.0", "cpu", "nanoseconds", "raw: other");
	add_sample(builder, pay, "web", 0, 10000000, 0);
	add_resource(builder, "cron", "jobs", 815, 2,
		     text_attribute(builder, "process.command_line", "cron --password=hunter2"));
	add_profile(builder, "profcol", "1.0", "samples", "count",
		    "raw: sweeper, alice@example.com");
	add_sample(builder, sweep, "sweeper",
		   text_attribute(builder, "user.email", "alice@example.com"), 0, 4);
	assert_no_error(profcol_builder_seal(builder, &batch));
	return batch;
}

/* ---- looking ---- */

uint32_t resource_list(const struct profcol_batch *batch, uint32_t row)
{
	struct profcol_range scopes;

	assert_true(row < profcol_batch_count(batch, PROFCOL_RESOURCES));
	return profcol_batch_resource(batch, row, &scopes).attributes;
}

uint32_t sample_list(const struct profcol_batch *batch, uint32_t row)
{
	assert_true(row < profcol_batch_count(batch, PROFCOL_SAMPLES));
	return profcol_batch_sample(batch, row).attributes;
}

uint32_t location_list(const struct profcol_batch *batch, uint32_t id)
{
	assert_true(id < profcol_batch_count(batch, PROFCOL_LOCATIONS));
	return profcol_batch_location(batch, id).attributes;
}

uint32_t mapping_list(const struct profcol_batch *batch, uint32_t id)
{
	return profcol_batch_mapping(batch, id).attributes;
}

uint32_t find_mapping(const struct profcol_batch *batch, const char *filename)
{
	for (uint32_t id = 1; id < profcol_batch_count(batch, PROFCOL_MAPPINGS); id++)
		if (!strcmp(profcol_batch_string(batch, profcol_batch_mapping(batch, id).filename)
				    .bytes,
			    filename))
			return id;
	fail_msg("there is no mapping %s", filename);
	return 0;
}

struct profcol_value find_value(const struct profcol_batch *batch, uint32_t list, const char *key)
{
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute = profcol_batch_attribute(batch, ids[i]);

		if (!strcmp(profcol_batch_string(batch, attribute.key).bytes, key))
			return attribute.value;
	}
	return (struct profcol_value){ .type = PROFCOL_VALUE_EMPTY };
}

void expect_text(const struct profcol_batch *batch, uint32_t list, const char *key,
		 const char *text)
{
	struct profcol_value value = find_value(batch, list, key);

	if (!text) {
		assert_int_equal(value.type, PROFCOL_VALUE_EMPTY);
		return;
	}
	assert_int_equal(value.type, PROFCOL_VALUE_STRING);
	assert_string_equal(profcol_batch_string(batch, value.string).bytes, text);
}

void expect_int(const struct profcol_batch *batch, uint32_t list, const char *key, int64_t number)
{
	struct profcol_value value = find_value(batch, list, key);

	assert_int_equal(value.type, PROFCOL_VALUE_INT);
	assert_int_equal(value.integer, number);
}

static bool is_in(const void *bytes, size_t length, const char *text)
{
	return memmem(bytes, length, text, strlen(text));
}

static bool is_in_tables(const struct profcol_batch *batch, const char *text)
{
	for (uint32_t id = 0; id < profcol_batch_count(batch, PROFCOL_STRINGS); id++) {
		struct profcol_text string = profcol_batch_string(batch, id);

		if (is_in(string.bytes, string.length, text))
			return true;
	}
	for (uint32_t id = 0; id < profcol_batch_count(batch, PROFCOL_BLOBS); id++) {
		struct profcol_text blob = profcol_batch_blob(batch, id);

		if (is_in(blob.bytes, blob.length, text))
			return true;
	}
	return false;
}

bool is_anywhere(const struct profcol_batch *batch, const char *text)
{
	const struct otlp_encode_options by_reference = { .attribute_references = true };
	const struct pprof_encode_options plain = { .compression_level = 0 };
	PROFCOL_CLEANUP_BATCH struct profcol_batch *tidy = NULL;
	CLEANUP_FREE uint8_t *otlp = NULL;
	CLEANUP_FREE uint8_t *references = NULL;
	CLEANUP_FREE uint8_t *pprof = NULL;
	size_t otlp_length, references_length, pprof_length;

	assert_no_error(otlp_encode(batch, NULL, &otlp, &otlp_length));
	assert_no_error(otlp_encode(batch, &by_reference, &references, &references_length));
	assert_no_error(pprof_encode(batch, &plain, &pprof, &pprof_length));
	assert_no_error(profile_tidy((struct profcol_batch *)(uintptr_t)batch, &tidy));
	return is_in(otlp, otlp_length, text) || is_in(references, references_length, text) ||
	       is_in(pprof, pprof_length, text) || is_in_tables(tidy, text);
}
