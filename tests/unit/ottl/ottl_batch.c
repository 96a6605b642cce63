// SPDX-License-Identifier: Apache-2.0
#include "ottl_batch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* AnyValues on the wire. */
#define WIRE_STRING(length, text) "\x0a" length text
/* ["a", "b", 3] */
#define WIRE_LIST                                                                                  \
	"\x2a\x0e\x0a\x03" WIRE_STRING("\x01", "a") "\x0a\x03" WIRE_STRING("\x01",                 \
									   "b") "\x0a\x02\x18\x03"
/* {"a": 1, "b": {"c": ["x", "y"]}, "n": nil} */
#define WIRE_XY "\x2a\x0a\x0a\x03" WIRE_STRING("\x01", "x") "\x0a\x03" WIRE_STRING("\x01", "y")
#define WIRE_C                                                                                     \
	"\x32\x13\x0a\x11\x0a\x01"                                                                 \
	"c"                                                                                        \
	"\x12\x0c" WIRE_XY
#define WIRE_MAP                                                                                   \
	"\x32\x2c\x0a\x07\x0a\x01"                                                                 \
	"a"                                                                                        \
	"\x12\x02\x18\x01"                                                                         \
	"\x0a\x1a\x0a\x01"                                                                         \
	"b"                                                                                        \
	"\x12\x15" WIRE_C "\x0a\x05\x0a\x01"                                                       \
	"n"                                                                                        \
	"\x12\x00"

static struct profcol_builder *builder;

static uint32_t string(const char *text)
{
	return profcol_builder_cstring(builder, text);
}

static uint32_t attribute(const char *key, struct profcol_value value)
{
	struct profcol_attribute attribute = { .key = string(key), .value = value };

	return profcol_builder_attribute(builder, &attribute);
}

static uint32_t text(const char *key, const char *value)
{
	return profcol_builder_attribute_string(builder, key, value, strlen(value));
}

static uint32_t wire(const char *key, enum profcol_value_type type, const char *bytes,
		     size_t length)
{
	return attribute(key, (struct profcol_value){
				      .type = type,
				      .blob = profcol_builder_blob(builder, bytes, length),
			      });
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define LIST(...)                                                                                  \
	({                                                                                         \
		const uint32_t ids_[] = { __VA_ARGS__ };                                           \
		profcol_builder_attribute_list(builder, ids_, COUNT(ids_));                        \
	})

static uint32_t resource_attributes(void)
{
	struct profcol_value cpus = { .type = PROFCOL_VALUE_INT, .integer = 8 };
	struct profcol_value load = { .type = PROFCOL_VALUE_DOUBLE, .real = 0.75 };
	struct profcol_value prod = { .type = PROFCOL_VALUE_BOOL, .boolean = true };
	struct profcol_value empty = { .type = PROFCOL_VALUE_EMPTY };

	return LIST(text("service.name", "checkout"), text("k8s.namespace.name", "shop"),
		    attribute("host.cpus", cpus), attribute("load", load), attribute("prod", prod),
		    attribute("empty", empty), text("number", "42"), text("float", "1.5"),
		    text("city", "Z\xc3\x9cRICH"), wire("raw", PROFCOL_VALUE_BYTES, "\x01\xff", 2),
		    wire("list", PROFCOL_VALUE_ARRAY, WIRE_LIST, sizeof(WIRE_LIST) - 1),
		    wire("map", PROFCOL_VALUE_KVLIST, WIRE_MAP, sizeof(WIRE_MAP) - 1));
}

static uint32_t function(const char *name, const char *filename)
{
	struct profcol_function function = { .name = string(name), .filename = string(filename) };

	return profcol_builder_function(builder, &function);
}

static uint32_t mapping(const char *filename)
{
	struct profcol_mapping mapping = { .filename = string(filename), .memory_limit = 4096 };

	return profcol_builder_mapping(builder, &mapping);
}

static uint32_t location(uint32_t mapping, const char *type, uint64_t address,
			 const struct profcol_line *lines, uint32_t line_count)
{
	struct profcol_location location = {
		.mapping = mapping,
		.attributes = type ? LIST(text("profile.frame.type", type)) : 0,
		.address = address,
		.lines = lines,
		.line_count = line_count,
	};

	return profcol_builder_location(builder, &location);
}

/* malloc in libc, run inlined into main, and a place without a name. */
static uint32_t user_stack(void)
{
	uint32_t app = mapping("/usr/bin/app");
	struct profcol_line in_libc = { .function = function("malloc", "malloc.c") };
	struct profcol_line in_app[] = { { .function = function("run", "app.c") },
					 { .function = function("main", "app.c") } };
	const uint32_t frames[] = {
		location(mapping("/lib/libc.so.6"), "native", 0x1000, &in_libc, 1),
		location(app, "native", 0x2000, in_app, 2),
		location(app, "native", 0x3000, NULL, 0),
	};

	return profcol_builder_stack(builder, frames, COUNT(frames));
}

static uint32_t kernel_stack(void)
{
	struct profcol_line line = { .function = function("schedule", "") };
	uint32_t frame = location(0, "kernel", 0x9000, &line, 1);

	return profcol_builder_stack(builder, &frame, 1);
}

static void add_samples(void)
{
	static const int64_t values[] = { 3, 4 };
	static const uint64_t times[] = { 1700000000000000001, 1700000000000000002 };
	struct profcol_value id = { .type = PROFCOL_VALUE_INT, .integer = 77 };
	struct profcol_link link = { { 1 }, { 2 } };
	struct profcol_sample user = {
		.stack = user_stack(),
		.attributes = LIST(text("thread.name", "worker-1"), attribute("thread.id", id)),
		.link = profcol_builder_link(builder, &link),
		.values = values,
		.value_count = 2,
		.timestamps_unix_ns = times,
		.timestamp_count = 2,
	};
	struct profcol_sample kernel = {
		.stack = kernel_stack(),
		.attributes = LIST(text("thread.name", "kworker/0:1")),
		.timestamps_unix_ns = times,
		.timestamp_count = 2,
	};
	struct profcol_sample bare = { .values = values, .value_count = 1 };

	profcol_builder_add_sample(builder, &user);
	profcol_builder_add_sample(builder, &kernel);
	profcol_builder_add_sample(builder, &bare);
}

static struct profcol_batch *seal(void)
{
	struct profcol_batch *batch = NULL;
	struct profcol_error *error = profcol_builder_seal(builder, &batch);

	if (error) {
		fprintf(stderr, "%s\n", profcol_error_message(error));
		abort();
	}
	return batch;
}

struct profcol_batch *ottl_batch_create(void)
{
	struct profcol_resource resource = { .dropped_attributes_count = 3 };
	struct profcol_scope scope = { .dropped_attributes_count = 1 };
	struct profcol_profile profile = {
		.period = 10101010,
		.time_unix_ns = 1700000000000000000,
		.duration_ns = 5000000000,
		.profile_id = { 0xab, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
		.dropped_attributes_count = 2,
	};

	builder = profcol_builder_create();
	resource.attributes = resource_attributes();
	resource.schema_url = string("https://opentelemetry.io/schemas/1.40.0");
	profcol_builder_add_resource(builder, &resource);
	scope.name = string("profcol");
	scope.version = string("1.2.3");
	scope.schema_url = string("https://example.com/scope");
	scope.attributes = LIST(text("scope.key", "v"));
	profcol_builder_add_scope(builder, &scope);
	profile.sample_type = string("samples");
	profile.sample_unit = string("count");
	profile.period_type = string("cpu");
	profile.period_unit = string("nanoseconds");
	profile.attributes = LIST(text("profile.kind", "cpu"));
	profile.original_payload_format = string("pprof");
	profile.original_payload = profcol_builder_blob(builder, "\x1f\x8b", 2);
	profcol_builder_add_profile(builder, &profile);
	add_samples();
	profcol_builder_add_resource(builder, &(struct profcol_resource){ 0 });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
	return seal();
}

static void add_wide_sample(uint32_t i, uint32_t letters)
{
	static const int64_t one = 1;
	struct profcol_sample sample = { .values = &one, .value_count = 1 };
	struct profcol_value number = { .type = PROFCOL_VALUE_INT, .integer = i };
	struct profcol_line line = { 0 };
	char name[32];
	uint32_t frame;

	snprintf(name, sizeof(name), "function %u", i);
	line.function = function(name, "wide.c");
	frame = location(0, NULL, i + 1, &line, 1);
	sample.stack = profcol_builder_stack(builder, &frame, 1);
	sample.attributes = LIST(letters, attribute("number", number));
	profcol_builder_add_sample(builder, &sample);
}

struct profcol_batch *ottl_batch_create_wide(uint32_t count, size_t length)
{
	char *bytes = malloc(length + 1);
	uint32_t letters;

	if (!bytes)
		abort();
	memset(bytes, 'a', length);
	builder = profcol_builder_create();
	letters = profcol_builder_attribute_string(builder, "text", bytes, length);
	free(bytes);
	profcol_builder_add_resource(builder,
				     &(struct profcol_resource){ .attributes = LIST(letters) });
	profcol_builder_add_scope(builder, &(struct profcol_scope){ 0 });
	profcol_builder_add_profile(builder, &(struct profcol_profile){ 0 });
	for (uint32_t i = 0; i < count; i++)
		add_wide_sample(i, letters);
	return seal();
}
