// SPDX-License-Identifier: Apache-2.0
// ProfilesDictionary: opentelemetry/proto/profiles/v1development/profiles.proto.
#include "encoder.h"

enum dictionary_field {
	DICTIONARY_MAPPINGS = 1,
	DICTIONARY_LOCATIONS,
	DICTIONARY_FUNCTIONS,
	DICTIONARY_LINKS,
	DICTIONARY_STRINGS,
	DICTIONARY_ATTRIBUTES,
	DICTIONARY_STACKS,
};

/* Entry 0 of a table: an empty message, which is what readers compare it with. */
static void put_zero_entry(struct otlp_encoder *encoder, uint32_t field)
{
	proto_put_bytes(&encoder->writer, field, NULL, 0);
}

static void put_mappings(struct otlp_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const struct profcol_mapping *mappings =
		COLUMN(batch, COLUMN_MAPPING, struct profcol_mapping);
	struct proto_writer *writer = &encoder->writer;

	put_zero_entry(encoder, DICTIONARY_MAPPINGS);
	for (uint32_t i = 1; i < column_length(batch, COLUMN_MAPPING); i++) {
		struct proto_message message = proto_begin(writer, DICTIONARY_MAPPINGS);

		proto_put_uint(writer, 1, mappings[i].memory_start);
		proto_put_uint(writer, 2, mappings[i].memory_limit);
		proto_put_uint(writer, 3, mappings[i].file_offset);
		proto_put_uint(writer, 4,
			       numbering_string(&encoder->numbering, mappings[i].filename));
		otlp_put_attribute_list(encoder, 5, mappings[i].attributes);
		proto_end(writer, message);
	}
}

static void put_line(struct proto_writer *writer, const struct profcol_line *line)
{
	struct proto_message message = proto_begin(writer, 3);

	proto_put_uint(writer, 1, line->function);
	proto_put_int(writer, 2, line->line);
	proto_put_int(writer, 3, line->column);
	proto_end(writer, message);
}

static void put_locations(struct otlp_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const struct location_row *locations = COLUMN(batch, COLUMN_LOCATION, struct location_row);
	const struct profcol_line *lines = COLUMN(batch, COLUMN_LINE, struct profcol_line);
	struct proto_writer *writer = &encoder->writer;

	put_zero_entry(encoder, DICTIONARY_LOCATIONS);
	for (uint32_t i = 1; i < column_length(batch, COLUMN_LOCATION); i++) {
		struct proto_message message = proto_begin(writer, DICTIONARY_LOCATIONS);

		proto_put_uint(writer, 1, locations[i].mapping);
		proto_put_uint(writer, 2, locations[i].address);
		for (uint32_t at = locations[i - 1].lines_end; at < locations[i].lines_end; at++)
			put_line(writer, &lines[at]);
		otlp_put_attribute_list(encoder, 4, locations[i].attributes);
		proto_end(writer, message);
	}
}

static void put_functions(struct otlp_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const struct profcol_function *functions =
		COLUMN(batch, COLUMN_FUNCTION, struct profcol_function);
	const struct numbering *numbering = &encoder->numbering;
	struct proto_writer *writer = &encoder->writer;

	put_zero_entry(encoder, DICTIONARY_FUNCTIONS);
	for (uint32_t i = 1; i < column_length(batch, COLUMN_FUNCTION); i++) {
		struct proto_message message = proto_begin(writer, DICTIONARY_FUNCTIONS);

		proto_put_uint(writer, 1, numbering_string(numbering, functions[i].name));
		proto_put_uint(writer, 2, numbering_string(numbering, functions[i].system_name));
		proto_put_uint(writer, 3, numbering_string(numbering, functions[i].filename));
		proto_put_int(writer, 4, functions[i].start_line);
		proto_end(writer, message);
	}
}

static void put_links(struct otlp_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const struct profcol_link *links = COLUMN(batch, COLUMN_LINK, struct profcol_link);
	struct proto_writer *writer = &encoder->writer;

	// The proto text would have zero-filled ids here; strict readers want it empty.
	put_zero_entry(encoder, DICTIONARY_LINKS);
	for (uint32_t i = 1; i < column_length(batch, COLUMN_LINK); i++) {
		struct proto_message message = proto_begin(writer, DICTIONARY_LINKS);

		proto_put_bytes(writer, 1, links[i].trace_id, sizeof(links[i].trace_id));
		proto_put_bytes(writer, 2, links[i].span_id, sizeof(links[i].span_id));
		proto_end(writer, message);
	}
}

static void put_strings(struct otlp_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const uint32_t *ends = COLUMN(batch, COLUMN_STRING_END, uint32_t);
	const char *bytes = COLUMN(batch, COLUMN_STRING_BYTES, char);

	put_zero_entry(encoder, DICTIONARY_STRINGS);
	for (uint32_t i = 1; i < column_length(batch, COLUMN_STRING_END); i++)
		if (numbering_has_string(&encoder->numbering, i))
			proto_put_string(&encoder->writer, DICTIONARY_STRINGS, bytes + ends[i - 1],
					 ends[i] - ends[i - 1] - 1);
}

static void put_attributes(struct otlp_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const struct profcol_attribute *attributes =
		COLUMN(batch, COLUMN_ATTRIBUTE, struct profcol_attribute);
	struct proto_writer *writer = &encoder->writer;

	put_zero_entry(encoder, DICTIONARY_ATTRIBUTES);
	for (uint32_t i = 1; i < column_length(batch, COLUMN_ATTRIBUTE); i++) {
		struct proto_message message;

		if (!numbering_has_attribute(&encoder->numbering, i))
			continue;
		message = proto_begin(writer, DICTIONARY_ATTRIBUTES);
		proto_put_uint(writer, 1, numbering_string(&encoder->numbering, attributes[i].key));
		otlp_put_value(encoder, 2, &attributes[i].value);
		proto_put_uint(writer, 3,
			       numbering_string(&encoder->numbering, attributes[i].unit));
		proto_end(writer, message);
	}
}

static void put_stacks(struct otlp_encoder *encoder)
{
	const struct profcol_batch *batch = encoder->batch;
	const uint32_t *ends = COLUMN(batch, COLUMN_STACK_END, uint32_t);
	const uint32_t *locations = COLUMN(batch, COLUMN_STACK_LOCATION, uint32_t);
	struct proto_writer *writer = &encoder->writer;

	put_zero_entry(encoder, DICTIONARY_STACKS);
	for (uint32_t i = 1; i < column_length(batch, COLUMN_STACK_END); i++) {
		struct proto_message message = proto_begin(writer, DICTIONARY_STACKS);

		if (ends[i] > ends[i - 1])
			proto_put_packed_u32(writer, 1, locations + ends[i - 1],
					     ends[i] - ends[i - 1]);
		proto_end(writer, message);
	}
}

void otlp_put_dictionary(struct otlp_encoder *encoder, uint32_t field)
{
	struct proto_message message = proto_begin(&encoder->writer, field);

	put_mappings(encoder);
	put_locations(encoder);
	put_functions(encoder);
	put_links(encoder);
	put_strings(encoder);
	put_attributes(encoder);
	put_stacks(encoder);
	proto_end(&encoder->writer, message);
}
