// SPDX-License-Identifier: Apache-2.0
#include "decoder.h"

#include <inttypes.h>
#include <string.h>

/* What is taken of a share at a time. */
enum { SHARE_PIECE_BYTES = 256 << 10 };

bool otlp_next_any(struct otlp_decoder *decoder, struct reader *reader,
		   const struct otlp_shape *shape, struct proto_field *ret)
{
	while (proto_next(reader, ret)) {
		uint8_t wires = ret->number < OTLP_MOST_FIELDS ? shape->wires[ret->number] : 0;

		if (wires & 1u << ret->wire)
			return true;
		if (!wires)
			continue;
		decoder->misread_message = shape->name;
		decoder->misread = *ret;
		reader->failed = true;
	}
	return false;
}

struct profcol_error *otlp_end(const struct otlp_decoder *decoder, const struct reader *reader)
{
	if (!reader->failed)
		return NULL;
	if (decoder->misread_message)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "field %" PRIu32 " of a %s cannot have wire type %d",
					    decoder->misread.number, decoder->misread_message,
					    (int)decoder->misread.wire);
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "not OTLP, or damaged: a field is cut short or malformed at "
				    "byte %zu",
				    (size_t)(reader->at - decoder->begin));
}

/* In pieces, since others take of the same budget: it is asked seldom. */
static struct profcol_error *charge_share(struct otlp_decoder *decoder, size_t bytes)
{
	size_t piece = bytes > SHARE_PIECE_BYTES ? bytes : SHARE_PIECE_BYTES;

	if (bytes > decoder->share_left) {
		if (!memory_share_take(decoder->share, piece))
			return profcol_error_create(PROFCOL_NO_MEMORY,
						    "no memory to decode OTLP: %s; try again",
						    memory_share_reason(decoder->share));
		decoder->share_left += piece;
	}
	decoder->share_left -= bytes;
	return NULL;
}

struct profcol_error *otlp_charge(struct otlp_decoder *decoder, size_t bytes)
{
	if (bytes > decoder->memory_left / 2)
		return profcol_error_create(PROFCOL_BAD_DATA,
					    "request takes more than the limit of %zu bytes of "
					    "memory to decode; raise the limit if its sender can "
					    "be trusted",
					    decoder->max_memory);
	decoder->memory_left -= bytes * 2;
	return decoder->share ? charge_share(decoder, bytes * 2) : NULL;
}

struct profcol_error *otlp_no_memory(void)
{
	return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to decode OTLP");
}

struct profcol_error *otlp_index_error(const struct otlp_decoder *decoder, enum otlp_table table,
				       const char *what, uint64_t index)
{
	// Indices are int32, so negative ones are most of the large ones.
	return profcol_error_create(PROFCOL_BAD_DATA,
				    "%s index %" PRId64 " is not in the table of %" PRIu32, what,
				    (int64_t)index, decoder->tables[table].decoded);
}

/* ---- rows of all kinds ---- */

struct profcol_error *otlp_string(struct otlp_decoder *decoder, struct reader bytes, uint32_t *ret)
{
	size_t length = reader_left(&bytes);
	const char *text = (const char *)bytes.at;
	struct profcol_error *error =
		otlp_charge(decoder, length + 1 + sizeof(uint32_t) + OTLP_INDEX_BYTES);

	if (!error && !strings_is_utf8(text, length)) {
		decoder->text.count = 0;
		error = OTLP_RESERVE(decoder, &decoder->text, length + 1);
		if (!error)
			strings_sanitize_utf8(decoder->text.items, text, length);
		text = decoder->text.items;
	}
	if (!error)
		*ret = profcol_builder_string(decoder->builder, text, length);
	return error;
}

struct profcol_error *otlp_blob(struct otlp_decoder *decoder, const void *bytes, size_t length,
				uint32_t *ret)
{
	struct profcol_error *error =
		otlp_charge(decoder, length + 1 + sizeof(uint32_t) + OTLP_INDEX_BYTES);

	if (!error)
		*ret = profcol_builder_blob(decoder->builder, bytes, length);
	return error;
}

struct profcol_error *otlp_bytes_id(struct reader bytes, const char *what, uint8_t *to,
				    size_t wanted)
{
	size_t length = reader_left(&bytes);

	if (length && length != wanted)
		return profcol_error_create(PROFCOL_BAD_DATA, "%s has %zu bytes instead of %zu",
					    what, length, wanted);
	memset(to, 0, wanted);
	memcpy(to, bytes.at, length);
	return NULL;
}

struct profcol_error *otlp_attribute_indices(struct otlp_decoder *decoder,
					     const struct proto_field *field)
{
	struct profcol_error *error;
	struct reader packed;
	uint32_t id;

	if (field->wire != PROTO_BYTES) {
		error = otlp_id(decoder, OTLP_ATTRIBUTES, "attribute", field->value, &id);
		if (!error)
			error = OTLP_RESERVE(decoder, &decoder->list, 1);
		if (!error)
			decoder->list.items[decoder->list.count++] = id;
		return error;
	}
	// As many as there can be: none is shorter than a byte.
	packed = field->bytes;
	error = OTLP_RESERVE(decoder, &decoder->list, reader_left(&packed));
	while (!error && reader_left(&packed)) {
		error = otlp_id(decoder, OTLP_ATTRIBUTES, "attribute", proto_varint(&packed), &id);
		if (!error)
			decoder->list.items[decoder->list.count++] = id;
	}
	return error ? error : otlp_end(decoder, &packed);
}

struct profcol_error *otlp_attribute_list(struct otlp_decoder *decoder, uint32_t *ret)
{
	size_t count = decoder->list.count;
	struct profcol_error *error = NULL;

	*ret = 0;
	if (count)
		error = otlp_charge(decoder, (count + 1) * sizeof(uint32_t) + OTLP_INDEX_BYTES);
	if (count && !error)
		*ret = profcol_builder_attribute_list(decoder->builder, decoder->list.items,
						      (uint32_t)count);
	return error;
}
