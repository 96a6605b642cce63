// SPDX-License-Identifier: Apache-2.0
#include "otlp_reader.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: OTLP reader: not so: %s\n", __FILE__, __LINE__,    \
				#condition);                                                       \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct otlp_reader {
	struct profcol_builder *builder;
	const Otlp__ProfilesDictionary *dictionary;
	/* by index of the message's table: id in the batch */
	uint32_t *strings, *mappings, *locations, *functions, *links, *attributes, *stacks;
};

static uint32_t *table(size_t count)
{
	uint32_t *ids = calloc(count + 1, sizeof(*ids));

	MUST(ids);
	return ids;
}

static uint32_t read_text(struct otlp_reader *reader, const char *text)
{
	return profcol_builder_cstring(reader->builder, text);
}

static struct profcol_value read_value(struct otlp_reader *reader, const Otlp__AnyValue *any)
{
	struct profcol_value value = { 0 };
	CLEANUP_FREE uint8_t *packed = NULL;

	if (!any)
		return value;
	switch (any->value_case) {
	case OTLP__ANY_VALUE__VALUE__NOT_SET:
		break;
	case OTLP__ANY_VALUE__VALUE_STRING_VALUE:
		value.type = PROFCOL_VALUE_STRING;
		value.string = read_text(reader, any->string_value);
		break;
	case OTLP__ANY_VALUE__VALUE_BOOL_VALUE:
		value.type = PROFCOL_VALUE_BOOL;
		value.boolean = any->bool_value;
		break;
	case OTLP__ANY_VALUE__VALUE_INT_VALUE:
		value.type = PROFCOL_VALUE_INT;
		value.integer = any->int_value;
		break;
	case OTLP__ANY_VALUE__VALUE_DOUBLE_VALUE:
		value.type = PROFCOL_VALUE_DOUBLE;
		value.real = any->double_value;
		break;
	case OTLP__ANY_VALUE__VALUE_BYTES_VALUE:
		value.type = PROFCOL_VALUE_BYTES;
		value.blob = profcol_builder_blob(reader->builder, any->bytes_value.data,
						  any->bytes_value.len);
		break;
	case OTLP__ANY_VALUE__VALUE_ARRAY_VALUE:
	case OTLP__ANY_VALUE__VALUE_KVLIST_VALUE:
		value.type = any->value_case == OTLP__ANY_VALUE__VALUE_ARRAY_VALUE
				     ? PROFCOL_VALUE_ARRAY
				     : PROFCOL_VALUE_KVLIST;
		packed = malloc(otlp__any_value__get_packed_size(any) + 1);
		MUST(packed);
		value.blob = profcol_builder_blob(reader->builder, packed,
						  otlp__any_value__pack(any, packed));
		break;
	default:
		MUST(!"a value in a form that we do not write");
	}
	return value;
}

static uint32_t read_indices(struct otlp_reader *reader, const int32_t *indices, size_t count)
{
	CLEANUP_FREE uint32_t *ids = table(count);

	for (size_t i = 0; i < count; i++) {
		MUST(indices[i] >= 0 && (size_t)indices[i] < reader->dictionary->n_attribute_table);
		ids[i] = reader->attributes[indices[i]];
	}
	return profcol_builder_attribute_list(reader->builder, ids, (uint32_t)count);
}

static uint32_t read_inline(struct otlp_reader *reader, Otlp__KeyValue *const *pairs, size_t count)
{
	CLEANUP_FREE uint32_t *ids = table(count);

	for (size_t i = 0; i < count; i++) {
		MUST(pairs[i]->value && !pairs[i]->key_strindex);
		ids[i] = profcol_builder_attribute(
			reader->builder, &(struct profcol_attribute){
						 .key = read_text(reader, pairs[i]->key),
						 .value = read_value(reader, pairs[i]->value),
					 });
	}
	return profcol_builder_attribute_list(reader->builder, ids, (uint32_t)count);
}

#define STRING(reader, index)                                                                      \
	({                                                                                         \
		MUST((index) >= 0 && (size_t)(index) < (reader)->dictionary->n_string_table);      \
		(reader)->strings[index];                                                          \
	})

static void read_strings_and_attributes(struct otlp_reader *reader)
{
	const Otlp__ProfilesDictionary *dictionary = reader->dictionary;

	reader->strings = table(dictionary->n_string_table);
	for (size_t i = 0; i < dictionary->n_string_table; i++)
		reader->strings[i] = read_text(reader, dictionary->string_table[i]);
	reader->attributes = table(dictionary->n_attribute_table);
	for (size_t i = 0; i < dictionary->n_attribute_table; i++) {
		const Otlp__KeyValueAndUnit *row = dictionary->attribute_table[i];

		reader->attributes[i] = profcol_builder_attribute(
			reader->builder, &(struct profcol_attribute){
						 .key = STRING(reader, row->key_strindex),
						 .unit = STRING(reader, row->unit_strindex),
						 .value = read_value(reader, row->value),
					 });
	}
	reader->links = table(dictionary->n_link_table);
	for (size_t i = 1; i < dictionary->n_link_table; i++) {
		const Otlp__Link *row = dictionary->link_table[i];
		struct profcol_link link;

		MUST(row->trace_id.len == 16 && row->span_id.len == 8);
		memcpy(link.trace_id, row->trace_id.data, 16);
		memcpy(link.span_id, row->span_id.data, 8);
		reader->links[i] = profcol_builder_link(reader->builder, &link);
	}
}

static void read_frames(struct otlp_reader *reader)
{
	const Otlp__ProfilesDictionary *dictionary = reader->dictionary;

	reader->mappings = table(dictionary->n_mapping_table);
	for (size_t i = 0; i < dictionary->n_mapping_table; i++) {
		const Otlp__Mapping *row = dictionary->mapping_table[i];

		reader->mappings[i] = profcol_builder_mapping(
			reader->builder,
			&(struct profcol_mapping){
				.memory_start = row->memory_start,
				.memory_limit = row->memory_limit,
				.file_offset = row->file_offset,
				.filename = STRING(reader, row->filename_strindex),
				.attributes = read_indices(reader, row->attribute_indices,
							   row->n_attribute_indices),
			});
	}
	reader->functions = table(dictionary->n_function_table);
	for (size_t i = 0; i < dictionary->n_function_table; i++) {
		const Otlp__Function *row = dictionary->function_table[i];

		reader->functions[i] = profcol_builder_function(
			reader->builder,
			&(struct profcol_function){
				.name = STRING(reader, row->name_strindex),
				.system_name = STRING(reader, row->system_name_strindex),
				.filename = STRING(reader, row->filename_strindex),
				.start_line = row->start_line,
			});
	}
}

static uint32_t read_location(struct otlp_reader *reader, const Otlp__Location *row)
{
	struct profcol_line lines[16];
	struct profcol_location location = { .address = row->address, .lines = lines };

	MUST(row->n_lines <= 16);
	MUST(row->mapping_index >= 0 &&
	     (size_t)row->mapping_index < reader->dictionary->n_mapping_table);
	location.mapping = reader->mappings[row->mapping_index];
	location.line_count = (uint32_t)row->n_lines;
	location.attributes =
		read_indices(reader, row->attribute_indices, row->n_attribute_indices);
	for (size_t i = 0; i < row->n_lines; i++) {
		MUST(row->lines[i]->function_index >= 0 &&
		     (size_t)row->lines[i]->function_index < reader->dictionary->n_function_table);
		lines[i] = (struct profcol_line){
			.function = reader->functions[row->lines[i]->function_index],
			.line = row->lines[i]->line,
			.column = row->lines[i]->column,
		};
	}
	return profcol_builder_location(reader->builder, &location);
}

static void read_stacks(struct otlp_reader *reader)
{
	const Otlp__ProfilesDictionary *dictionary = reader->dictionary;

	reader->locations = table(dictionary->n_location_table);
	for (size_t i = 0; i < dictionary->n_location_table; i++)
		reader->locations[i] = read_location(reader, dictionary->location_table[i]);
	reader->stacks = table(dictionary->n_stack_table);
	for (size_t i = 0; i < dictionary->n_stack_table; i++) {
		const Otlp__Stack *row = dictionary->stack_table[i];
		CLEANUP_FREE uint32_t *ids = table(row->n_location_indices);

		for (size_t j = 0; j < row->n_location_indices; j++) {
			MUST(row->location_indices[j] >= 0 &&
			     (size_t)row->location_indices[j] < dictionary->n_location_table);
			ids[j] = reader->locations[row->location_indices[j]];
		}
		reader->stacks[i] = profcol_builder_stack(reader->builder, ids,
							  (uint32_t)row->n_location_indices);
	}
}

static void read_sample(struct otlp_reader *reader, const Otlp__Sample *row)
{
	MUST(row->stack_index >= 0 && (size_t)row->stack_index < reader->dictionary->n_stack_table);
	MUST(row->link_index >= 0 && (size_t)row->link_index < reader->dictionary->n_link_table);
	profcol_builder_add_sample(
		reader->builder, &(struct profcol_sample){
					 .stack = reader->stacks[row->stack_index],
					 .attributes = read_indices(reader, row->attribute_indices,
								    row->n_attribute_indices),
					 .link = reader->links[row->link_index],
					 .value_count = (uint32_t)row->n_values,
					 .timestamp_count = (uint32_t)row->n_timestamps_unix_nano,
					 .values = row->values,
					 .timestamps_unix_ns = row->timestamps_unix_nano,
				 });
}

static void read_profile(struct otlp_reader *reader, const Otlp__Profile *row)
{
	struct profcol_profile profile = {
		.period = row->period,
		.time_unix_ns = row->time_unix_nano,
		.duration_ns = row->duration_nano,
		.attributes =
			read_indices(reader, row->attribute_indices, row->n_attribute_indices),
		.dropped_attributes_count = row->dropped_attributes_count,
		.original_payload_format = read_text(reader, row->original_payload_format),
		.original_payload = profcol_builder_blob(
			reader->builder, row->original_payload.data, row->original_payload.len),
	};

	if (row->sample_type) {
		profile.sample_type = STRING(reader, row->sample_type->type_strindex);
		profile.sample_unit = STRING(reader, row->sample_type->unit_strindex);
	}
	if (row->period_type) {
		profile.period_type = STRING(reader, row->period_type->type_strindex);
		profile.period_unit = STRING(reader, row->period_type->unit_strindex);
	}
	MUST(row->profile_id.len == 0 || row->profile_id.len == 16);
	if (row->profile_id.len)
		memcpy(profile.profile_id, row->profile_id.data, 16);
	profcol_builder_add_profile(reader->builder, &profile);
	for (size_t i = 0; i < row->n_samples; i++)
		read_sample(reader, row->samples[i]);
}

static void read_scope(struct otlp_reader *reader, const Otlp__ScopeProfiles *row)
{
	struct profcol_scope scope = { .schema_url = read_text(reader, row->schema_url) };

	if (row->scope) {
		scope.name = read_text(reader, row->scope->name);
		scope.version = read_text(reader, row->scope->version);
		scope.attributes =
			read_inline(reader, row->scope->attributes, row->scope->n_attributes);
		scope.dropped_attributes_count = row->scope->dropped_attributes_count;
	}
	profcol_builder_add_scope(reader->builder, &scope);
	for (size_t i = 0; i < row->n_profiles; i++)
		read_profile(reader, row->profiles[i]);
}

/* The repeated field of @resource, packed again. */
static uint32_t read_entities(struct otlp_reader *reader, const Otlp__Resource *resource)
{
	Otlp__Resource only = OTLP__RESOURCE__INIT;
	CLEANUP_FREE uint8_t *packed = NULL;

	only.n_entity_refs = resource->n_entity_refs;
	only.entity_refs = resource->entity_refs;
	packed = malloc(otlp__resource__get_packed_size(&only) + 1);
	MUST(packed);
	return profcol_builder_blob(reader->builder, packed, otlp__resource__pack(&only, packed));
}

static void read_resource(struct otlp_reader *reader, const Otlp__ResourceProfiles *row)
{
	struct profcol_resource resource = { .schema_url = read_text(reader, row->schema_url) };

	if (row->resource) {
		resource.attributes =
			read_inline(reader, row->resource->attributes, row->resource->n_attributes);
		resource.dropped_attributes_count = row->resource->dropped_attributes_count;
		resource.entity_refs = read_entities(reader, row->resource);
	}
	profcol_builder_add_resource(reader->builder, &resource);
	for (size_t i = 0; i < row->n_scope_profiles; i++)
		read_scope(reader, row->scope_profiles[i]);
}

Otlp__ExportProfilesServiceRequest *otlp_read_message(const uint8_t *bytes, size_t length)
{
	Otlp__ExportProfilesServiceRequest *message =
		otlp__export_profiles_service_request__unpack(NULL, length, bytes);

	MUST(message && message->dictionary);
	return message;
}

struct profcol_batch *otlp_read(const uint8_t *bytes, size_t length)
{
	Otlp__ExportProfilesServiceRequest *message = otlp_read_message(bytes, length);
	struct otlp_reader reader = {
		.builder = profcol_builder_create(),
		.dictionary = message->dictionary,
	};
	struct profcol_batch *batch = NULL;
	struct profcol_error *error;

	MUST(reader.builder);
	read_strings_and_attributes(&reader);
	read_frames(&reader);
	read_stacks(&reader);
	for (size_t i = 0; i < message->n_resource_profiles; i++)
		read_resource(&reader, message->resource_profiles[i]);
	error = profcol_builder_seal(reader.builder, &batch);
	if (error)
		fprintf(stderr, "%s\n", profcol_error_message(error));
	MUST(!error);
	free(reader.strings);
	free(reader.mappings);
	free(reader.locations);
	free(reader.functions);
	free(reader.links);
	free(reader.attributes);
	free(reader.stacks);
	otlp__export_profiles_service_request__free_unpacked(message, NULL);
	return batch;
}
