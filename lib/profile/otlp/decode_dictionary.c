// SPDX-License-Identifier: Apache-2.0
// ProfilesDictionary: opentelemetry/proto/profiles/v1development/profiles.proto.
#include "decoder.h"

#include "../builder.h"

#include <inttypes.h>
#include <string.h>

static const struct otlp_shape dictionary_shape = {
	.name = "ProfilesDictionary",
	.wires = {
		[OTLP_MAPPINGS] = AS_BYTES,
		[OTLP_LOCATIONS] = AS_BYTES,
		[OTLP_FUNCTIONS] = AS_BYTES,
		[OTLP_LINKS] = AS_BYTES,
		[OTLP_STRINGS] = AS_BYTES,
		[OTLP_ATTRIBUTES] = AS_BYTES,
		[OTLP_STACKS] = AS_BYTES,
	},
};

struct profcol_error *otlp_note_dictionary(struct otlp_decoder *decoder, struct reader bytes)
{
	struct otlp_piece piece = { 0 };
	const uint8_t *at = bytes.at;
	struct profcol_error *error;
	struct proto_field field;

	if (!reader_left(&bytes))
		return NULL;
	for (; otlp_next(decoder, &bytes, &dictionary_shape, &field); at = bytes.at) {
		struct reader *rows = &piece.rows[field.number];

		if (!rows->at)
			rows->at = at;
		rows->end = bytes.at;
		decoder->tables[field.number].count++;
	}
	error = otlp_end(decoder, &bytes);
	if (!error)
		error = OTLP_RESERVE(decoder, &decoder->pieces, 1);
	if (!error)
		decoder->pieces.items[decoder->pieces.count++] = piece;
	return error;
}

/* ---- rows ---- */

static struct profcol_error *decode_attribute(struct otlp_decoder *decoder, struct reader bytes,
					      uint32_t *ret)
{
	static const struct otlp_shape shape = {
		.name = "KeyValueAndUnit",
		.wires = { [1] = AS_NUMBER, [2] = AS_BYTES, [3] = AS_NUMBER },
	};
	struct profcol_attribute attribute = { 0 };
	struct otlp_any any = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(attribute) + OTLP_INDEX_BYTES);
	struct proto_field field;

	while (!error && otlp_next(decoder, &bytes, &shape, &field)) {
		if (field.number == 1)
			error = otlp_id(decoder, OTLP_STRINGS, "key", field.value, &attribute.key);
		else if (field.number == 2)
			error = otlp_any_read(decoder, field.bytes, &any);
		else
			error = otlp_id(decoder, OTLP_STRINGS, "unit", field.value,
					&attribute.unit);
	}
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		error = otlp_any_value(decoder, &any, &attribute.value);
	if (!error)
		*ret = profcol_builder_attribute(decoder->builder, &attribute);
	return error;
}

static struct profcol_error *decode_mapping(struct otlp_decoder *decoder, struct reader bytes,
					    uint32_t *ret)
{
	static const struct otlp_shape shape = {
		.name = "Mapping",
		.wires = { [1] = AS_NUMBER,
			   [2] = AS_NUMBER,
			   [3] = AS_NUMBER,
			   [4] = AS_NUMBER,
			   [5] = AS_NUMBERS },
	};
	struct profcol_mapping mapping = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(mapping) + OTLP_INDEX_BYTES);
	struct proto_field field;

	decoder->list.count = 0;
	while (!error && otlp_next(decoder, &bytes, &shape, &field)) {
		if (field.number == 1)
			mapping.memory_start = field.value;
		else if (field.number == 2)
			mapping.memory_limit = field.value;
		else if (field.number == 3)
			mapping.file_offset = field.value;
		else if (field.number == 4)
			error = otlp_id(decoder, OTLP_STRINGS, "filename", field.value,
					&mapping.filename);
		else
			error = otlp_attribute_indices(decoder, &field);
	}
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		error = otlp_attribute_list(decoder, &mapping.attributes);
	if (!error)
		*ret = profcol_builder_mapping(decoder->builder, &mapping);
	return error;
}

static struct profcol_error *decode_function(struct otlp_decoder *decoder, struct reader bytes,
					     uint32_t *ret)
{
	static const struct otlp_shape shape = {
		.name = "Function",
		.wires = { [1] = AS_NUMBER, [2] = AS_NUMBER, [3] = AS_NUMBER, [4] = AS_NUMBER },
	};
	struct profcol_function function = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(function) + OTLP_INDEX_BYTES);
	struct proto_field field;

	while (!error && otlp_next(decoder, &bytes, &shape, &field)) {
		if (field.number == 1)
			error = otlp_id(decoder, OTLP_STRINGS, "name", field.value, &function.name);
		else if (field.number == 2)
			error = otlp_id(decoder, OTLP_STRINGS, "system name", field.value,
					&function.system_name);
		else if (field.number == 3)
			error = otlp_id(decoder, OTLP_STRINGS, "filename", field.value,
					&function.filename);
		else
			function.start_line = (int64_t)field.value;
	}
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		*ret = profcol_builder_function(decoder->builder, &function);
	return error;
}

/* Append a Line to decoder->lines. */
static struct profcol_error *decode_line(struct otlp_decoder *decoder, struct reader bytes)
{
	static const struct otlp_shape shape = {
		.name = "Line",
		.wires = { [1] = AS_NUMBER, [2] = AS_NUMBER, [3] = AS_NUMBER },
	};
	struct profcol_line line = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(line));
	struct proto_field field;

	while (!error && otlp_next(decoder, &bytes, &shape, &field)) {
		if (field.number == 1)
			error = otlp_id(decoder, OTLP_FUNCTIONS, "function", field.value,
					&line.function);
		else if (field.number == 2)
			line.line = (int64_t)field.value;
		else
			line.column = (int64_t)field.value;
	}
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		error = OTLP_RESERVE(decoder, &decoder->lines, 1);
	if (!error)
		decoder->lines.items[decoder->lines.count++] = line;
	return error;
}

static struct profcol_error *decode_location(struct otlp_decoder *decoder, struct reader bytes,
					     uint32_t *ret)
{
	static const struct otlp_shape shape = {
		.name = "Location",
		.wires = { [1] = AS_NUMBER, [2] = AS_NUMBER, [3] = AS_BYTES, [4] = AS_NUMBERS },
	};
	struct profcol_location location = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(location) + OTLP_INDEX_BYTES);
	struct proto_field field;

	decoder->list.count = decoder->lines.count = 0;
	while (!error && otlp_next(decoder, &bytes, &shape, &field)) {
		if (field.number == 1)
			error = otlp_id(decoder, OTLP_MAPPINGS, "mapping", field.value,
					&location.mapping);
		else if (field.number == 2)
			location.address = field.value;
		else if (field.number == 3)
			error = decode_line(decoder, field.bytes);
		else
			error = otlp_attribute_indices(decoder, &field);
	}
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		error = otlp_attribute_list(decoder, &location.attributes);
	location.lines = decoder->lines.items;
	location.line_count = (uint32_t)decoder->lines.count;
	if (!error)
		*ret = profcol_builder_location(decoder->builder, &location);
	return error;
}

/* Append locations to decoder->list. */
static struct profcol_error *decode_frames(struct otlp_decoder *decoder,
					   const struct proto_field *field)
{
	struct reader packed = field->bytes;
	struct profcol_error *error =
		OTLP_RESERVE(decoder, &decoder->list, reader_left(&packed) + 1);
	uint32_t *items;

	if (error)
		return error;
	items = decoder->list.items;
	if (field->wire != PROTO_BYTES)
		error = otlp_id(decoder, OTLP_LOCATIONS, "location", field->value,
				&items[decoder->list.count++]);
	while (!error && reader_left(&packed))
		error = otlp_id(decoder, OTLP_LOCATIONS, "location", proto_varint(&packed),
				&items[decoder->list.count++]);
	return error ? error : otlp_end(decoder, &packed);
}

static struct profcol_error *decode_stack(struct otlp_decoder *decoder, struct reader bytes,
					  uint32_t *ret)
{
	static const struct otlp_shape shape = { "Stack", { [1] = AS_NUMBERS } };
	struct profcol_error *error = NULL;
	struct proto_field field;

	decoder->list.count = 0;
	while (!error && otlp_next(decoder, &bytes, &shape, &field))
		error = decode_frames(decoder, &field);
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		error = otlp_charge(decoder, (decoder->list.count + 1) * sizeof(uint32_t) +
						     OTLP_INDEX_BYTES);
	if (!error)
		*ret = profcol_builder_stack(decoder->builder, decoder->list.items,
					     (uint32_t)decoder->list.count);
	return error;
}

static struct profcol_error *decode_link(struct otlp_decoder *decoder, struct reader bytes,
					 uint32_t *ret)
{
	static const struct otlp_shape shape = { "Link", { [1] = AS_BYTES, [2] = AS_BYTES } };
	struct profcol_link link = { 0 };
	struct profcol_error *error = otlp_charge(decoder, sizeof(link) + OTLP_INDEX_BYTES);
	struct proto_field field;

	while (!error && otlp_next(decoder, &bytes, &shape, &field))
		error = field.number == 1 ? otlp_bytes_id(field.bytes, "trace id", link.trace_id,
							  sizeof(link.trace_id))
					  : otlp_bytes_id(field.bytes, "span id", link.span_id,
							  sizeof(link.span_id));
	if (!error)
		error = otlp_end(decoder, &bytes);
	if (!error)
		*ret = profcol_builder_link(decoder->builder, &link);
	return error;
}

/* ---- tables ---- */

struct table {
	enum otlp_table table;
	enum profcol_table into;
	const char *name;
	struct profcol_error *(*row)(struct otlp_decoder *decoder, struct reader bytes,
				     uint32_t *ret);
};

static struct profcol_error *decode_row(struct otlp_decoder *decoder, const struct table *table,
					struct reader bytes)
{
	struct otlp_ids *ids = &decoder->tables[table->table];
	uint32_t row = ids->decoded;
	struct profcol_error *error = table->row(decoder, bytes, &ids->ids[row]);

	if (!error && !row && ids->ids[row])
		error = profcol_error_create(PROFCOL_BAD_DATA,
					     "the first entry is not empty; it has to be, since 0 "
					     "stands for none");
	if (error)
		return profcol_error_prefix(error, "%s %" PRIu32, table->name, row);
	ids->decoded++;
	return NULL;
}

static struct profcol_error *decode_table(struct otlp_decoder *decoder, const struct table *table)
{
	struct otlp_ids *ids = &decoder->tables[table->table];
	struct profcol_error *error = otlp_charge(decoder, (ids->count + 1ul) * sizeof(uint32_t));

	if (error)
		return error;
	ids->ids = calloc(ids->count + 1ul, sizeof(uint32_t));
	if (!ids->ids)
		return otlp_no_memory();
	// What its rows will be charged anyway; a hostile count may be of equal rows only.
	if (ids->count < decoder->memory_left / 2 / OTLP_INDEX_BYTES)
		dictionary_expect(decoder->builder, table->into, ids->count);
	for (size_t i = 0; i < decoder->pieces.count; i++) {
		struct reader rows = decoder->pieces.items[i].rows[table->table];
		struct proto_field field;

		while (otlp_next(decoder, &rows, &dictionary_shape, &field)) {
			if (field.number != (uint32_t)table->table)
				continue;
			error = decode_row(decoder, table, field.bytes);
			if (error)
				return error;
		}
	}
	return NULL;
}

struct profcol_error *otlp_decode_dictionary(struct otlp_decoder *decoder)
{
	/* A table after those that it refers to. */
	static const struct table tables[] = {
		{ OTLP_STRINGS, PROFCOL_STRINGS, "string", otlp_string },
		{ OTLP_ATTRIBUTES, PROFCOL_ATTRIBUTES, "attribute", decode_attribute },
		{ OTLP_MAPPINGS, PROFCOL_MAPPINGS, "mapping", decode_mapping },
		{ OTLP_FUNCTIONS, PROFCOL_FUNCTIONS, "function", decode_function },
		{ OTLP_LOCATIONS, PROFCOL_LOCATIONS, "location", decode_location },
		{ OTLP_STACKS, PROFCOL_STACKS, "stack", decode_stack },
		{ OTLP_LINKS, PROFCOL_LINKS, "link", decode_link },
	};
	struct profcol_error *error = NULL;

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && !error; i++)
		error = decode_table(decoder, &tables[i]);
	return error;
}
