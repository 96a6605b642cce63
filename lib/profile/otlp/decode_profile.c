// SPDX-License-Identifier: Apache-2.0
// Profile and Sample: opentelemetry/proto/profiles/v1development/profiles.proto.
#include "decoder.h"
#include "version.h"

#include <inttypes.h>
#include <string.h>

enum profile_field {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLES,
	PROFILE_TIME,
	PROFILE_DURATION,
	PROFILE_PERIOD_TYPE,
	PROFILE_PERIOD,
	PROFILE_ID,
	PROFILE_DROPPED_ATTRIBUTES,
	PROFILE_PAYLOAD_FORMAT,
	PROFILE_PAYLOAD,
	PROFILE_ATTRIBUTES,
};

enum sample_field {
	SAMPLE_STACK = 1,
	SAMPLE_ATTRIBUTES,
	SAMPLE_LINK,
	SAMPLE_VALUES,
	SAMPLE_TIMESTAMPS,
};

enum { SAMPLE_COLUMNS_BYTES = 20 };

static const struct otlp_shape profile_shape = {
	.name = "Profile",
	.wires = {
		[PROFILE_SAMPLE_TYPE] = AS_BYTES,
		[PROFILE_SAMPLES] = AS_BYTES,
		[PROFILE_TIME] = AS_FIXED64,
		[PROFILE_DURATION] = AS_NUMBER,
		[PROFILE_PERIOD_TYPE] = AS_BYTES,
		[PROFILE_PERIOD] = AS_NUMBER,
		[PROFILE_ID] = AS_BYTES,
		[PROFILE_DROPPED_ATTRIBUTES] = AS_NUMBER,
		[PROFILE_PAYLOAD_FORMAT] = AS_BYTES,
		[PROFILE_PAYLOAD] = AS_BYTES,
		[PROFILE_ATTRIBUTES] = AS_NUMBERS,
	},
};

/* ---- samples ---- */

static struct profcol_error *decode_values(struct otlp_decoder *decoder,
					   const struct proto_field *field)
{
	struct reader packed = field->bytes;
	struct profcol_error *error =
		OTLP_RESERVE(decoder, &decoder->values, reader_left(&packed) + 1);

	if (error)
		return error;
	if (field->wire != PROTO_BYTES)
		decoder->values.items[decoder->values.count++] = (int64_t)field->value;
	while (reader_left(&packed))
		decoder->values.items[decoder->values.count++] = (int64_t)proto_varint(&packed);
	return otlp_end(decoder, &packed);
}

static struct profcol_error *decode_timestamps(struct otlp_decoder *decoder,
					       const struct proto_field *field)
{
	bool is_packed = field->wire == PROTO_BYTES;
	size_t length = is_packed ? reader_left(&field->bytes) : sizeof(uint64_t);
	size_t count = length / sizeof(uint64_t);
	struct profcol_error *error;

	if (length % sizeof(uint64_t))
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "timestamps take %zu bytes, which is no multiple of 8",
					    length);
	error = OTLP_RESERVE(decoder, &decoder->timestamps, count);
	if (error || !count)
		return error;
	memcpy(decoder->timestamps.items + decoder->timestamps.count,
	       is_packed ? field->bytes.at : (const void *)&field->value, length);
	decoder->timestamps.count += count;
	return NULL;
}

/*
 * What the batch takes: timestamps, one value, or as many of both. That a sample has
 * neither may also come of reading another version's fields.
 */
static struct profcol_error *check_sample(struct otlp_decoder *decoder)
{
	size_t values = decoder->values.count, timestamps = decoder->timestamps.count;

	if (values ? timestamps == values || (values == 1 && !timestamps) : timestamps > 0)
		return NULL;
	if (values)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "%zu values do not fit %zu timestamps", values,
					    timestamps);
	decoder->may_be_old = true;
	return profcol_error_create(PROFCOL_BAD_DATA, "it has neither timestamps nor a value");
}

static struct profcol_error *decode_sample_field(struct otlp_decoder *decoder,
						 const struct proto_field *field,
						 struct profcol_sample *sample)
{
	struct profcol_error *error;

	switch ((enum sample_field)field->number) {
	case SAMPLE_STACK:
		return otlp_id(decoder, OTLP_STACKS, "stack", field->value, &sample->stack);
	case SAMPLE_ATTRIBUTES:
		error = otlp_attribute_indices(decoder, field);
		decoder->may_be_old |= error != NULL;
		return error;
	case SAMPLE_LINK:
		if (field->wire == PROTO_BYTES)
			return version_error();
		return otlp_id(decoder, OTLP_LINKS, "link", field->value, &sample->link);
	case SAMPLE_VALUES:
		return decode_values(decoder, field);
	case SAMPLE_TIMESTAMPS:
		break;
	}
	return decode_timestamps(decoder, field);
}

/*
 * Could the one value be a link of 1.9, which has values in what is read as attributes, or
 * timestamps? Called for a number that is not packed only.
 */
static bool value_looks_like_link(const struct otlp_decoder *decoder)
{
	return decoder->values.count == 1 && decoder->values.items[0] > 0 &&
	       decoder->values.items[0] < decoder->tables[OTLP_LINKS].decoded &&
	       (decoder->list.count || decoder->timestamps.count);
}

/* Could the attributes be values of 1.9: one for each timestamp, and all the same? */
static bool attributes_look_like_values(const struct otlp_decoder *decoder)
{
	const uint32_t *ids = decoder->list.items;
	size_t count = decoder->list.count;

	return count > 1 && count == decoder->timestamps.count && !decoder->values.count &&
	       !memcmp(ids, ids + 1, (count - 1) * sizeof(*ids));
}

static struct profcol_error *decode_sample(struct otlp_decoder *decoder, struct reader bytes)
{
	static const struct otlp_shape shape = {
		.name = "Sample",
		.wires = {
			[SAMPLE_STACK] = AS_NUMBER,
			[SAMPLE_ATTRIBUTES] = AS_NUMBERS,
			[SAMPLE_LINK] = AS_NUMBERS, // a packed one is of another version
			[SAMPLE_VALUES] = AS_NUMBERS,
			[SAMPLE_TIMESTAMPS] = AS_FIXED64S,
		},
	};
	struct profcol_sample sample = { 0 };
	struct profcol_error *error = NULL;
	struct proto_field field;
	bool is_single = false; // a value on its own, not packed

	decoder->list.count = decoder->values.count = decoder->timestamps.count = 0;
	while (!error && otlp_next(decoder, &bytes, &shape, &field)) {
		is_single |= field.number == SAMPLE_VALUES && field.wire != PROTO_BYTES;
		error = decode_sample_field(decoder, &field, &sample);
	}
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		error = check_sample(decoder);
	decoder->may_be_old |= attributes_look_like_values(decoder) ||
			       (is_single && value_looks_like_link(decoder));
	sample.value_count = (uint32_t)decoder->values.count;
	sample.timestamp_count = (uint32_t)decoder->timestamps.count;
	sample.values = decoder->values.items;
	sample.timestamps_unix_ns = decoder->timestamps.items;
	if (!error)
		error = otlp_charge(decoder, SAMPLE_COLUMNS_BYTES +
						     (sample.value_count + sample.timestamp_count) *
							     sizeof(uint64_t));
	if (!error)
		error = otlp_attribute_list(decoder, &sample.attributes);
	if (!error)
		profcol_builder_add_sample(decoder->builder, &sample);
	return error;
}

static struct profcol_error *decode_samples(struct otlp_decoder *decoder, struct reader profile)
{
	struct proto_field field;
	uint32_t row = 0;

	while (otlp_next(decoder, &profile, &profile_shape, &field)) {
		struct profcol_error *error = NULL;

		if (field.number == PROFILE_SAMPLES)
			error = decode_sample(decoder, field.bytes);
		if (error)
			return profcol_error_prefix(error, "sample %" PRIu32, row);
		row += field.number == PROFILE_SAMPLES;
	}
	return NULL;
}

/* ---- the profile itself ---- */

static struct profcol_error *decode_value_type(struct otlp_decoder *decoder, struct reader bytes,
					       uint32_t *type_ret, uint32_t *unit_ret)
{
	static const struct otlp_shape shape = { "ValueType",
						 { [1] = AS_NUMBER, [2] = AS_NUMBER } };
	struct profcol_error *error = NULL;
	struct proto_field field;

	while (!error && otlp_next(decoder, &bytes, &shape, &field))
		error = field.number == 1
				? otlp_id(decoder, OTLP_STRINGS, "type", field.value, type_ret)
				: otlp_id(decoder, OTLP_STRINGS, "unit", field.value, unit_ret);
	return error ? error : otlp_end(decoder, &bytes);
}

static struct profcol_error *decode_profile_field(struct otlp_decoder *decoder,
						  const struct proto_field *field,
						  struct profcol_profile *profile)
{
	switch ((enum profile_field)field->number) {
	case PROFILE_SAMPLE_TYPE:
		return profcol_error_prefix(decode_value_type(decoder, field->bytes,
							      &profile->sample_type,
							      &profile->sample_unit),
					    "sample type");
	case PROFILE_PERIOD_TYPE:
		return profcol_error_prefix(decode_value_type(decoder, field->bytes,
							      &profile->period_type,
							      &profile->period_unit),
					    "period type");
	case PROFILE_TIME:
		profile->time_unix_ns = field->value;
		break;
	case PROFILE_DURATION:
		profile->duration_ns = field->value;
		break;
	case PROFILE_PERIOD:
		profile->period = (int64_t)field->value;
		break;
	case PROFILE_ID:
		return otlp_bytes_id(field->bytes, "profile id", profile->profile_id,
				     sizeof(profile->profile_id));
	case PROFILE_DROPPED_ATTRIBUTES:
		profile->dropped_attributes_count = (uint32_t)field->value;
		break;
	case PROFILE_PAYLOAD_FORMAT:
		return otlp_string(decoder, field->bytes, &profile->original_payload_format);
	case PROFILE_PAYLOAD:
		return otlp_blob(decoder, field->bytes.at, reader_left(&field->bytes),
				 &profile->original_payload);
	case PROFILE_ATTRIBUTES:
		return otlp_attribute_indices(decoder, field);
	case PROFILE_SAMPLES:
		break; // they come after the profile they belong to
	}
	return NULL;
}

struct profcol_error *otlp_decode_profile(struct otlp_decoder *decoder, struct reader bytes)
{
	struct profcol_profile profile = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(profile) + sizeof(uint32_t));
	struct reader all = bytes;
	struct proto_field field;

	decoder->list.count = 0;
	while (!error && otlp_next(decoder, &bytes, &profile_shape, &field))
		error = decode_profile_field(decoder, &field, &profile);
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		error = otlp_attribute_list(decoder, &profile.attributes);
	if (error)
		return error;
	profcol_builder_add_profile(decoder->builder, &profile);
	return decode_samples(decoder, all);
}
