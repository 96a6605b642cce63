// SPDX-License-Identifier: Apache-2.0
#include "otlp_small_request.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The strings by index. */
enum {
	STRING_MAIN = 1,
	STRING_FILE,
	STRING_SAMPLES,
	STRING_COUNT,
	STRING_CPU,
	STRING_NANOSECONDS,
	STRING_THREAD_ID,
	STRING_BUILD_ID,
	STRING_FRAME_TYPE,
	STRING_BYTES,
	STRINGS,
};

static char text_empty[] = "", text_main[] = "main", text_file[] = "/usr/bin/app",
	    text_samples[] = "samples", text_count[] = "count", text_cpu[] = "cpu",
	    text_nanoseconds[] = "nanoseconds", text_thread_id[] = "thread.id",
	    text_build_id[] = "process.executable.build_id.gnu",
	    text_frame_type[] = "profile.frame.type", text_bytes[] = "By", text_native[] = "native",
	    text_id[] = "0123abcd", text_pid[] = "process.pid", text_service[] = "service.name",
	    text_app[] = "app", text_process[] = "process", text_scope[] = "profiler",
	    text_version[] = "1.0", text_key[] = "scope.key", text_more[] = "more";

/* Initialize all rows of a table, and point to them. */
#define TABLE_INIT(request, name, init)                                                            \
	for (size_t row_ = 0; row_ < COUNT((request)->name); row_++) {                             \
		init(&(request)->name[row_]);                                                      \
		(request)->name##_rows[row_] = &(request)->name[row_];                             \
	}

static void string_value(Otlp__AnyValue *value, char *text)
{
	otlp__any_value__init(value);
	value->value_case = OTLP__ANY_VALUE__VALUE_STRING_VALUE;
	value->string_value = text;
}

static void int_value(Otlp__AnyValue *value, int64_t number)
{
	otlp__any_value__init(value);
	value->value_case = OTLP__ANY_VALUE__VALUE_INT_VALUE;
	value->int_value = number;
}

static void init_strings(struct small_request *request)
{
	char *const strings[SMALL_STRINGS] = {
		[0] = text_empty,
		[STRING_MAIN] = text_main,
		[STRING_FILE] = text_file,
		[STRING_SAMPLES] = text_samples,
		[STRING_COUNT] = text_count,
		[STRING_CPU] = text_cpu,
		[STRING_NANOSECONDS] = text_nanoseconds,
		[STRING_THREAD_ID] = text_thread_id,
		[STRING_BUILD_ID] = text_build_id,
		[STRING_FRAME_TYPE] = text_frame_type,
		[STRING_BYTES] = text_bytes,
		[STRINGS] = text_more,
	};

	memcpy(request->strings, strings, sizeof(strings));
	request->dictionary.n_string_table = STRINGS;
	request->dictionary.string_table = request->strings;
}

static void init_attributes(struct small_request *request)
{
	TABLE_INIT(request, attributes, otlp__key_value_and_unit__init);
	request->attributes[1].key_strindex = STRING_THREAD_ID;
	int_value(&request->values[1], 42);
	request->attributes[2].key_strindex = STRING_BUILD_ID;
	string_value(&request->values[2], text_id);
	request->attributes[3].key_strindex = STRING_FRAME_TYPE;
	request->attributes[3].unit_strindex = STRING_BYTES;
	string_value(&request->values[3], text_native);
	string_value(&request->values[4], text_more);
	for (size_t i = 1; i < SMALL_ATTRIBUTES; i++)
		request->attributes[i].value = &request->values[i];
	request->dictionary.n_attribute_table = 4;
	request->dictionary.attribute_table = request->attributes_rows;
}

static void init_frames(struct small_request *request)
{
	Otlp__ProfilesDictionary *dictionary = &request->dictionary;

	TABLE_INIT(request, mappings, otlp__mapping__init);
	request->mappings[1].memory_start = 0x1000;
	request->mappings[1].memory_limit = 0x9000;
	request->mappings[1].filename_strindex = STRING_FILE;
	request->mappings[1].attribute_indices = request->mapping_attributes;
	request->mappings[1].n_attribute_indices = 1;
	request->mapping_attributes[0] = 2;
	TABLE_INIT(request, functions, otlp__function__init);
	request->functions[1].name_strindex = STRING_MAIN;
	request->functions[1].start_line = 3;
	TABLE_INIT(request, lines, otlp__line__init);
	request->lines[0].function_index = 1;
	request->lines[0].line = 7;
	TABLE_INIT(request, locations, otlp__location__init);
	request->locations[1].mapping_index = 1;
	request->locations[1].address = 0x1234;
	request->locations[1].lines = request->lines_rows;
	request->locations[1].n_lines = 1;
	request->locations[1].attribute_indices = request->location_attributes;
	request->locations[1].n_attribute_indices = 1;
	request->location_attributes[0] = 3;
	TABLE_INIT(request, stacks, otlp__stack__init);
	request->stacks[1].location_indices = request->location_indices;
	request->stacks[1].n_location_indices = 1;
	request->location_indices[0] = 1;
	dictionary->n_mapping_table = dictionary->n_function_table = 2;
	dictionary->n_location_table = dictionary->n_stack_table = 2;
	dictionary->mapping_table = request->mappings_rows;
	dictionary->function_table = request->functions_rows;
	dictionary->location_table = request->locations_rows;
	dictionary->stack_table = request->stacks_rows;
}

static void init_links(struct small_request *request)
{
	TABLE_INIT(request, links, otlp__link__init);
	memset(request->trace_id, 0x11, sizeof(request->trace_id));
	memset(request->span_id, 0x22, sizeof(request->span_id));
	request->links[1].trace_id = (ProtobufCBinaryData){ 16, request->trace_id };
	request->links[1].span_id = (ProtobufCBinaryData){ 8, request->span_id };
	request->dictionary.n_link_table = 2;
	request->dictionary.link_table = request->links_rows;
}

static void init_sample(struct small_request *request)
{
	Otlp__Sample *sample = &request->samples[0];

	TABLE_INIT(request, samples, otlp__sample__init);
	sample->stack_index = 1;
	sample->link_index = 1;
	sample->attribute_indices = request->sample_attributes;
	sample->n_attribute_indices = 1;
	request->sample_attributes[0] = 1;
	for (uint64_t i = 0; i < COUNT(request->sample_timestamps); i++)
		request->sample_timestamps[i] = (SMALL_TIME_SECONDS + i) * 1000000000;
	sample->timestamps_unix_nano = request->sample_timestamps;
	sample->n_timestamps_unix_nano = 2;
	sample->values = request->sample_values;
}

static void init_profile(struct small_request *request)
{
	Otlp__Profile *profile = &request->profiles[0];

	TABLE_INIT(request, profiles, otlp__profile__init);
	otlp__value_type__init(&request->sample_type);
	otlp__value_type__init(&request->period_type);
	request->sample_type.type_strindex = STRING_SAMPLES;
	request->sample_type.unit_strindex = STRING_COUNT;
	request->period_type.type_strindex = STRING_CPU;
	request->period_type.unit_strindex = STRING_NANOSECONDS;
	profile->sample_type = &request->sample_type;
	profile->period_type = &request->period_type;
	profile->period = 50000000;
	profile->time_unix_nano = SMALL_TIME_SECONDS * UINT64_C(1000000000);
	profile->duration_nano = SMALL_DURATION_SECONDS * UINT64_C(1000000000);
	memset(request->profile_id, 0x33, sizeof(request->profile_id));
	profile->profile_id = (ProtobufCBinaryData){ 16, request->profile_id };
	profile->attribute_indices = request->profile_attributes;
	profile->samples = request->samples_rows;
	profile->n_samples = 1;
}

static void init_resource(struct small_request *request)
{
	Otlp__Resource *resource = &request->resource;

	TABLE_INIT(request, resource_attributes, otlp__key_value__init);
	int_value(&request->resource_values[0], 42);
	string_value(&request->resource_values[1], text_app);
	string_value(&request->resource_values[2], text_more);
	for (size_t i = 0; i < SMALL_ROWS; i++)
		request->resource_attributes[i].value = &request->resource_values[i];
	request->resource_attributes[0].key = text_pid;
	request->resource_attributes[1].key = text_service;
	otlp__entity_ref__init(&request->entity);
	request->entity.type = text_process;
	request->entity_keys[0] = text_pid;
	request->entity.id_keys = request->entity_keys;
	request->entity.n_id_keys = 1;
	request->entity_row = &request->entity;
	otlp__resource__init(resource);
	resource->attributes = request->resource_attributes_rows;
	resource->n_attributes = 2;
	resource->entity_refs = &request->entity_row;
	resource->n_entity_refs = 1;
}

static void init_scope(struct small_request *request)
{
	TABLE_INIT(request, scope_attributes, otlp__key_value__init);
	string_value(&request->scope_values[0], text_more);
	string_value(&request->scope_values[1], text_more);
	request->scope_attributes[0].key = text_key;
	request->scope_attributes[0].value = &request->scope_values[0];
	request->scope_attributes[1].value = &request->scope_values[1];
	otlp__instrumentation_scope__init(&request->scope);
	request->scope.name = text_scope;
	request->scope.version = text_version;
	request->scope.attributes = request->scope_attributes_rows;
	request->scope.n_attributes = 1;
}

void small_request_init(struct small_request *request)
{
	memset(request, 0, sizeof(*request));
	otlp__export_profiles_service_request__init(&request->request);
	otlp__profiles_dictionary__init(&request->dictionary);
	init_strings(request);
	init_attributes(request);
	init_frames(request);
	init_links(request);
	init_sample(request);
	init_profile(request);
	init_resource(request);
	init_scope(request);
	TABLE_INIT(request, resource_profiles, otlp__resource_profiles__init);
	TABLE_INIT(request, scope_profiles, otlp__scope_profiles__init);
	request->scope_profiles[0].scope = &request->scope;
	request->scope_profiles[0].profiles = request->profiles_rows;
	request->scope_profiles[0].n_profiles = 1;
	request->resource_profiles[0].resource = &request->resource;
	request->resource_profiles[0].scope_profiles = request->scope_profiles_rows;
	request->resource_profiles[0].n_scope_profiles = 1;
	request->request.resource_profiles = request->resource_profiles_rows;
	request->request.n_resource_profiles = 1;
	request->request.dictionary = &request->dictionary;
}

uint8_t *small_request_pack(const struct small_request *request, size_t *length_ret)
{
	const Otlp__ExportProfilesServiceRequest *message = &request->request;
	uint8_t *bytes =
		malloc(otlp__export_profiles_service_request__get_packed_size(message) + 1);

	if (!bytes)
		abort();
	*length_ret = otlp__export_profiles_service_request__pack(message, bytes);
	return bytes;
}
