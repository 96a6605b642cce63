// SPDX-License-Identifier: Apache-2.0
// ExportProfilesServiceRequest: opentelemetry-proto 1.11, collector/profiles/v1development.
#include "encoder.h"

#include "../profile.h"
#include "base/base.h"

#include <string.h>

void otlp_put_value(struct otlp_encoder *encoder, uint32_t field, const struct profcol_value *value)
{
	struct proto_writer *writer = &encoder->writer;
	struct proto_message message = proto_begin(writer, field);
	struct profcol_text text;
	uint64_t bits;

	switch (value->type) {
	case PROFCOL_VALUE_STRING:
		text = profcol_batch_string(encoder->batch, value->string);
		proto_put_string(writer, 1, text.bytes, text.length);
		break;
	case PROFCOL_VALUE_BOOL:
		proto_put_member_uint(writer, 2, value->boolean);
		break;
	case PROFCOL_VALUE_INT:
		proto_put_member_uint(writer, 3, (uint64_t)value->integer);
		break;
	case PROFCOL_VALUE_DOUBLE:
		memcpy(&bits, &value->real, sizeof(bits));
		proto_put_member_fixed64(writer, 4, bits);
		break;
	case PROFCOL_VALUE_BYTES:
		text = profcol_batch_blob(encoder->batch, value->blob);
		proto_put_bytes(writer, 7, text.bytes, text.length);
		break;
	case PROFCOL_VALUE_ARRAY:
	case PROFCOL_VALUE_KVLIST:
		text = profcol_batch_blob(encoder->batch, value->blob);
		proto_put_encoded(writer, text.bytes, text.length);
		break;
	case PROFCOL_VALUE_EMPTY:
		break;
	}
	proto_end(writer, message);
}

void otlp_put_attribute_list(struct otlp_encoder *encoder, uint32_t field, uint32_t list)
{
	uint32_t count;
	const uint32_t *attributes = numbering_list(&encoder->numbering, list, &count);

	proto_put_packed_u32(&encoder->writer, field, attributes, count);
}

/* A `string` field by string id, left out when empty. */
static void put_text(struct otlp_encoder *encoder, uint32_t field, uint32_t string)
{
	struct profcol_text text = profcol_batch_string(encoder->batch, string);

	if (text.length)
		proto_put_string(&encoder->writer, field, text.bytes, text.length);
}

/* The key and value of a KeyValue, by index where they are strings. */
static void put_references(struct otlp_encoder *encoder, const struct profcol_attribute *attribute)
{
	struct proto_writer *writer = &encoder->writer;
	struct proto_message message;

	if (attribute->value.type == PROFCOL_VALUE_STRING) {
		message = proto_begin(writer, 2);
		proto_put_member_uint(
			writer, 8, numbering_string(&encoder->numbering, attribute->value.string));
		proto_end(writer, message);
	} else {
		otlp_put_value(encoder, 2, &attribute->value);
	}
	proto_put_uint(writer, 3, numbering_string(&encoder->numbering, attribute->key));
}

/* Repeated KeyValue. */
static void put_key_values(struct otlp_encoder *encoder, uint32_t field, uint32_t list)
{
	struct proto_writer *writer = &encoder->writer;
	uint32_t count;
	const uint32_t *ids = profcol_batch_attribute_list(encoder->batch, list, &count);

	for (uint32_t i = 0; i < count; i++) {
		struct profcol_attribute attribute =
			profcol_batch_attribute(encoder->batch, ids[i]);
		struct proto_message message = proto_begin(writer, field);

		if (encoder->references) {
			put_references(encoder, &attribute);
		} else {
			put_text(encoder, 1, attribute.key);
			otlp_put_value(encoder, 2, &attribute.value);
		}
		proto_end(writer, message);
	}
}

static void put_value_type(struct otlp_encoder *encoder, uint32_t field, uint32_t type,
			   uint32_t unit)
{
	struct proto_writer *writer = &encoder->writer;
	struct proto_message message;

	if (!type && !unit)
		return;
	message = proto_begin(writer, field);
	proto_put_uint(writer, 1, numbering_string(&encoder->numbering, type));
	proto_put_uint(writer, 2, numbering_string(&encoder->numbering, unit));
	proto_end(writer, message);
}

static void put_samples(struct otlp_encoder *encoder, struct profcol_range samples)
{
	const struct profcol_batch *batch = encoder->batch;
	const uint32_t *stacks = COLUMN(batch, COLUMN_SAMPLE_STACK, uint32_t);
	const uint32_t *attributes = COLUMN(batch, COLUMN_SAMPLE_ATTRIBUTES, uint32_t);
	const uint32_t *links = COLUMN(batch, COLUMN_SAMPLE_LINK, uint32_t);
	const uint32_t *values_ends = COLUMN(batch, COLUMN_SAMPLE_VALUES_END, uint32_t);
	const uint32_t *times_ends = COLUMN(batch, COLUMN_SAMPLE_TIMESTAMPS_END, uint32_t);
	const int64_t *values = COLUMN(batch, COLUMN_VALUE, int64_t);
	const uint64_t *times = COLUMN(batch, COLUMN_TIMESTAMP, uint64_t);
	struct proto_writer *writer = &encoder->writer;

	for (uint32_t i = samples.begin; i < samples.end; i++) {
		struct proto_message message = proto_begin(writer, 2);
		uint32_t first_value = column_row_begin(values_ends, i);
		uint32_t first_time = column_row_begin(times_ends, i);

		proto_put_uint(writer, 1, stacks[i]);
		otlp_put_attribute_list(encoder, 2, attributes[i]);
		proto_put_uint(writer, 3, links[i]);
		if (values_ends[i] > first_value)
			proto_put_packed_i64(writer, 4, values + first_value,
					     values_ends[i] - first_value);
		if (times_ends[i] > first_time)
			proto_put_packed_fixed64(writer, 5, times + first_time,
						 times_ends[i] - first_time);
		proto_end(writer, message);
	}
}

static void put_profile(struct otlp_encoder *encoder, uint32_t id)
{
	static const uint8_t unset[16];
	struct proto_writer *writer = &encoder->writer;
	struct profcol_range samples;
	struct profcol_profile profile = profcol_batch_profile(encoder->batch, id, &samples);
	struct profcol_text payload = profcol_batch_blob(encoder->batch, profile.original_payload);
	struct proto_message message = proto_begin(writer, 2);

	put_value_type(encoder, 1, profile.sample_type, profile.sample_unit);
	put_samples(encoder, samples);
	proto_put_fixed64(writer, 3, profile.time_unix_ns);
	proto_put_uint(writer, 4, profile.duration_ns);
	put_value_type(encoder, 5, profile.period_type, profile.period_unit);
	proto_put_int(writer, 6, profile.period);
	if (memcmp(profile.profile_id, unset, sizeof(unset)) != 0)
		proto_put_bytes(writer, 7, profile.profile_id, sizeof(profile.profile_id));
	proto_put_uint(writer, 8, profile.dropped_attributes_count);
	put_text(encoder, 9, profile.original_payload_format);
	if (payload.length)
		proto_put_bytes(writer, 10, payload.bytes, payload.length);
	otlp_put_attribute_list(encoder, 11, profile.attributes);
	proto_end(writer, message);
}

static void put_scope_profiles(struct otlp_encoder *encoder, uint32_t id)
{
	struct proto_writer *writer = &encoder->writer;
	struct profcol_range profiles;
	struct profcol_scope scope = profcol_batch_scope(encoder->batch, id, &profiles);
	struct proto_message message = proto_begin(writer, 2), inner = proto_begin(writer, 1);

	put_text(encoder, 1, scope.name);
	put_text(encoder, 2, scope.version);
	put_key_values(encoder, 3, scope.attributes);
	proto_put_uint(writer, 4, scope.dropped_attributes_count);
	proto_end(writer, inner);
	for (uint32_t i = profiles.begin; i < profiles.end; i++)
		put_profile(encoder, i);
	put_text(encoder, 3, scope.schema_url);
	proto_end(writer, message);
}

static void put_resource_profiles(struct otlp_encoder *encoder, uint32_t id)
{
	struct proto_writer *writer = &encoder->writer;
	struct profcol_range scopes;
	struct profcol_resource resource = profcol_batch_resource(encoder->batch, id, &scopes);
	struct profcol_text entities = profcol_batch_blob(encoder->batch, resource.entity_refs);
	struct proto_message message = proto_begin(writer, 1), inner = proto_begin(writer, 1);

	put_key_values(encoder, 1, resource.attributes);
	proto_put_uint(writer, 2, resource.dropped_attributes_count);
	proto_put_encoded(writer, entities.bytes, entities.length);
	proto_end(writer, inner);
	for (uint32_t i = scopes.begin; i < scopes.end; i++)
		put_scope_profiles(encoder, i);
	put_text(encoder, 3, resource.schema_url);
	proto_end(writer, message);
}

/* One pass over the batch, measuring or writing as the writer is set. */
static void put_request(void *context)
{
	struct otlp_encoder *encoder = context;
	uint32_t resources = profcol_batch_count(encoder->batch, PROFCOL_RESOURCES);

	for (uint32_t i = 0; i < resources; i++)
		put_resource_profiles(encoder, i);
	otlp_put_dictionary(encoder, 2);
}

static void encoder_init(struct otlp_encoder *encoder, const struct profcol_batch *batch,
			 const struct otlp_encode_options *options)
{
	*encoder = (struct otlp_encoder){
		.batch = batch,
		.references = options && options->attribute_references,
		.writer = proto_writer_measuring(NULL),
	};
	numbering_init(&encoder->numbering, batch, encoder->references);
}

size_t otlp_encoded_size(const struct profcol_batch *batch,
			 const struct otlp_encode_options *options)
{
	struct otlp_encoder encoder;

	encoder_init(&encoder, batch, options);
	put_request(&encoder);
	numbering_deinit(&encoder.numbering);
	return proto_writer_length(&encoder.writer);
}

struct profcol_error *otlp_encode(const struct profcol_batch *batch,
				  const struct otlp_encode_options *options, uint8_t **bytes_ret,
				  size_t *length_ret)
{
	struct proto_sizes sizes = { 0 };
	struct otlp_encoder encoder;
	struct profcol_error *error;

	encoder_init(&encoder, batch, options);
	// Without memory all would be written, also what must not be.
	if (batch->has_unused && !encoder.numbering.strings)
		return profcol_error_create(PROFCOL_NO_MEMORY, "encode OTLP: out of memory");
	error = proto_encode(&encoder.writer, &sizes, put_request, &encoder, "OTLP", "split it",
			     bytes_ret, length_ret);
	numbering_deinit(&encoder.numbering);
	proto_sizes_deinit(&sizes);
	return error;
}
