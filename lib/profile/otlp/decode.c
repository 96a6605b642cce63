// SPDX-License-Identifier: Apache-2.0
// ExportProfilesServiceRequest: opentelemetry-proto 1.11, collector/profiles/v1development.
#include "decoder.h"
#include "version.h"

#include "../profile.h"

#include <inttypes.h>

static const struct otlp_shape request_shape = { "ExportProfilesServiceRequest",
						 { [1] = AS_BYTES, [2] = AS_BYTES } };

/* ResourceProfiles and ScopeProfiles: head, rows, schema URL. */
static const struct otlp_shape resource_profiles_shape = {
	.name = "ResourceProfiles",
	.wires = { [1] = AS_BYTES, [2] = AS_BYTES, [3] = AS_BYTES },
};
static const struct otlp_shape scope_profiles_shape = {
	.name = "ScopeProfiles",
	.wires = { [1] = AS_BYTES, [2] = AS_BYTES, [3] = AS_BYTES },
};

typedef struct profcol_error *(*decode_function)(struct otlp_decoder *decoder, struct reader bytes);

/* Each field @number of @message by @decode; @what names it in errors. */
static struct profcol_error *decode_each(struct otlp_decoder *decoder, struct reader message,
					 const struct otlp_shape *shape, uint32_t number,
					 decode_function decode, const char *what)
{
	struct profcol_error *error = NULL;
	struct proto_field field;

	for (uint32_t row = 0; !error && otlp_next(decoder, &message, shape, &field);) {
		if (field.number != number)
			continue;
		error = profcol_error_prefix(decode(decoder, field.bytes), "%s %" PRIu32, what,
					     row);
		row++;
	}
	return error ? error : otlp_end(decoder, &message);
}

/* ---- scopes ---- */

/* An InstrumentationScope; its attributes go to decoder->list. */
static struct profcol_error *decode_scope(struct otlp_decoder *decoder, struct reader bytes,
					  struct profcol_scope *scope)
{
	static const struct otlp_shape shape = {
		.name = "InstrumentationScope",
		.wires = { [1] = AS_BYTES, [2] = AS_BYTES, [3] = AS_BYTES, [4] = AS_NUMBER },
	};
	struct profcol_error *error = NULL;
	struct proto_field field;

	while (!error && otlp_next(decoder, &bytes, &shape, &field)) {
		if (field.number == 1)
			error = otlp_string(decoder, field.bytes, &scope->name);
		else if (field.number == 2)
			error = otlp_string(decoder, field.bytes, &scope->version);
		else if (field.number == 3)
			error = otlp_key_value(decoder, field.bytes);
		else
			scope->dropped_attributes_count = (uint32_t)field.value;
	}
	return error ? error : otlp_end(decoder, &bytes);
}

static struct profcol_error *decode_scope_profiles(struct otlp_decoder *decoder,
						   struct reader bytes)
{
	struct profcol_scope scope = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(scope) + sizeof(uint32_t));
	struct reader rest = bytes;
	struct proto_field field;

	decoder->list.count = 0;
	while (!error && otlp_next(decoder, &rest, &scope_profiles_shape, &field)) {
		if (field.number == 1)
			error = decode_scope(decoder, field.bytes, &scope);
		else if (field.number == 3)
			error = otlp_string(decoder, field.bytes, &scope.schema_url);
	}
	if (!error)
		error = otlp_end(decoder, &rest);
	if (!error)
		error = otlp_attribute_list(decoder, &scope.attributes);
	if (error)
		return error;
	profcol_builder_add_scope(decoder->builder, &scope);
	return decode_each(decoder, bytes, &scope_profiles_shape, 2, otlp_decode_profile,
			   "profile");
}

/* ---- resources ---- */

static void put_entity(struct proto_writer *writer, struct reader bytes)
{
	struct proto_message message = proto_begin(writer, 3);
	struct proto_field field;

	while (proto_next(&bytes, &field))
		if (field.number <= 4 && field.wire == PROTO_BYTES)
			proto_put_string(writer, field.number, (const char *)field.bytes.at,
					 reader_left(&field.bytes));
	proto_end(writer, message);
}

/* Append an EntityRef, its fields alone, to decoder->entities. */
static struct profcol_error *decode_entity(struct otlp_decoder *decoder, struct reader bytes)
{
	static const struct otlp_shape shape = {
		.name = "EntityRef",
		.wires = { [1] = AS_BYTES, [2] = AS_BYTES, [3] = AS_BYTES, [4] = AS_BYTES },
	};
	struct proto_writer writer = proto_writer_measuring(&decoder->sizes);
	struct reader all = bytes;
	struct profcol_error *error;
	struct proto_field field;
	size_t length;

	while (otlp_next(decoder, &bytes, &shape, &field))
		;
	error = otlp_end(decoder, &bytes);
	if (error)
		return error;
	put_entity(&writer, all);
	length = proto_writer_length(&writer);
	error = OTLP_RESERVE(decoder, &decoder->entities, length + 1);
	if (!error && writer.failed)
		error = otlp_no_memory();
	if (error)
		return error;
	writer = proto_writer_writing(&decoder->sizes,
				      decoder->entities.items + decoder->entities.count, length);
	put_entity(&writer, all);
	decoder->entities.count += length;
	return NULL;
}

/* A Resource; its attributes go to decoder->list, its entities to decoder->entities. */
static struct profcol_error *decode_resource(struct otlp_decoder *decoder, struct reader bytes,
					     struct profcol_resource *resource)
{
	static const struct otlp_shape shape = {
		.name = "Resource",
		.wires = { [1] = AS_BYTES, [2] = AS_NUMBER, [3] = AS_BYTES },
	};
	struct profcol_error *error = NULL;
	struct proto_field field;

	while (!error && otlp_next(decoder, &bytes, &shape, &field)) {
		if (field.number == 1)
			error = otlp_key_value(decoder, field.bytes);
		else if (field.number == 2)
			resource->dropped_attributes_count = (uint32_t)field.value;
		else
			error = decode_entity(decoder, field.bytes);
	}
	return error ? error : otlp_end(decoder, &bytes);
}

static struct profcol_error *decode_resource_profiles(struct otlp_decoder *decoder,
						      struct reader bytes)
{
	struct profcol_resource resource = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(resource) + sizeof(uint32_t));
	struct reader rest = bytes;
	struct proto_field field;

	decoder->list.count = decoder->entities.count = 0;
	while (!error && otlp_next(decoder, &rest, &resource_profiles_shape, &field)) {
		if (field.number == 1)
			error = decode_resource(decoder, field.bytes, &resource);
		else if (field.number == 3)
			error = otlp_string(decoder, field.bytes, &resource.schema_url);
	}
	if (!error)
		error = otlp_end(decoder, &rest);
	if (!error)
		error = otlp_attribute_list(decoder, &resource.attributes);
	if (!error && decoder->entities.count)
		error = otlp_blob(decoder, decoder->entities.items, decoder->entities.count,
				  &resource.entity_refs);
	if (error)
		return error;
	profcol_builder_add_resource(decoder->builder, &resource);
	return decode_each(decoder, bytes, &resource_profiles_shape, 2, decode_scope_profiles,
			   "scope");
}

/* ---- the request ---- */

static struct profcol_error *decode_request(struct otlp_decoder *decoder, struct reader request)
{
	struct reader rest = request;
	struct profcol_error *error = NULL;
	struct proto_field field;

	while (!error && otlp_next(decoder, &rest, &request_shape, &field))
		if (field.number == 2)
			error = otlp_note_dictionary(decoder, field.bytes);
	if (!error)
		error = otlp_end(decoder, &rest);
	if (!error)
		error = otlp_decode_dictionary(decoder);
	if (!error)
		error = decode_each(decoder, request, &request_shape, 1, decode_resource_profiles,
				    "resource");
	return error;
}

/*
 * An older request is better named than what is wrong with it when read as a newer one; where
 * it only may be one, both are said.
 */
static struct profcol_error *explain(const struct otlp_decoder *decoder, struct reader request,
				     struct profcol_error *error)
{
	enum version version = VERSION_NEW;

	// It says nothing of the request.
	if (error && profcol_error_is_retryable(error))
		return error;
	if (error || decoder->may_be_old)
		version = version_judge(request);
	if (version == VERSION_NEW || (version == VERSION_UNCERTAIN && !decoder->may_be_old))
		return error;
	if (error && version == VERSION_UNCERTAIN)
		return version_doubt(error);
	profcol_error_destroy(error);
	return version_error();
}

static void decoder_deinit(struct otlp_decoder *decoder)
{
	profcol_builder_destroy(decoder->builder);
	for (unsigned int table = 0; table < OTLP_TABLES; table++)
		free(decoder->tables[table].ids);
	VECTOR_DEINIT(&decoder->pieces);
	VECTOR_DEINIT(&decoder->list);
	VECTOR_DEINIT(&decoder->lines);
	VECTOR_DEINIT(&decoder->values);
	VECTOR_DEINIT(&decoder->timestamps);
	VECTOR_DEINIT(&decoder->text);
	VECTOR_DEINIT(&decoder->entities);
	proto_sizes_deinit(&decoder->sizes);
}

struct profcol_error *otlp_decode(const uint8_t *bytes, size_t length,
				  const struct otlp_decode_limits *limits,
				  struct profcol_batch **ret)
{
	struct otlp_decoder decoder CLEANUP(decoder_deinit) = {
		.begin = bytes,
		.max_memory = limits->max_memory,
		.memory_left = limits->max_memory,
		.share = limits->share,
	};
	struct profcol_error *error;

	if (length > PROTO_MAX_BYTES)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "request of %zu bytes is longer than %d, which no "
					    "message may be",
					    length, PROTO_MAX_BYTES);
	decoder.builder = profcol_builder_create();
	if (!decoder.builder)
		return otlp_no_memory();
	error = decode_request(&decoder, reader_over(bytes, length));
	error = explain(&decoder, reader_over(bytes, length), error);
	return error ? error : profcol_builder_seal(TAKE(decoder.builder), ret);
}
