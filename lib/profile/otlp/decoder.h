/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the OTLP decoder share: a request is walked field by field, and
 * its rows go straight into a builder. Private to lib/profile/otlp.
 *
 * The dictionary is decoded before the tree, table by table in the order of who
 * refers to whom, wherever it stands in the request.
 */
#pragma once

#include "base/base.h"
#include "proto/proto.h"

#include <profcol/batch.h>

#include <stdbool.h>
#include <stdint.h>

/* Tables by their field numbers in ProfilesDictionary. */
enum otlp_table {
	OTLP_MAPPINGS = 1,
	OTLP_LOCATIONS,
	OTLP_FUNCTIONS,
	OTLP_LINKS,
	OTLP_STRINGS,
	OTLP_ATTRIBUTES,
	OTLP_STACKS,
	OTLP_TABLES,
};

/* Ids in the batch by index in the request. */
struct otlp_ids {
	uint32_t *ids;           /* owned */
	uint32_t count, decoded; /* rows in the request; those that are in the batch */
};

/* One of the pieces a dictionary came in; of each table from its first row to its last. */
struct otlp_piece {
	struct reader rows[OTLP_TABLES]; /* with rows of other tables between, if so written */
};

struct otlp_decoder {
	const uint8_t *begin; /* of the request, borrowed */
	struct profcol_builder *builder;
	size_t max_memory, memory_left;
	struct memory_share *share; /* borrowed; NULL = none */
	size_t share_left;          /* of what was taken of it */
	struct otlp_ids tables[OTLP_TABLES];
	VECTOR(struct otlp_piece) pieces;

	/* Scratch for one row each. */
	VECTOR(uint32_t) list; /* attribute ids, or the locations of a stack */
	VECTOR(struct profcol_line) lines;
	VECTOR(int64_t) values;
	VECTOR(uint64_t) timestamps;
	VECTOR(char) text;
	VECTOR(uint8_t) entities;
	struct proto_sizes sizes;

	const char *misread_message; /* whose field has a wire type that is not its own; or NULL */
	struct proto_field misread;
	bool may_be_old; /* a sample reads as if numbered by opentelemetry-proto 1.9 */
};

/* Bit sets of the wire types that a field may have. */
enum {
	AS_NUMBER = 1 << PROTO_VARINT,
	AS_FIXED64 = 1 << PROTO_FIXED64,
	AS_BYTES = 1 << PROTO_BYTES,
	AS_NUMBERS = AS_NUMBER | AS_BYTES, /* repeated: one, or packed */
	AS_FIXED64S = AS_FIXED64 | AS_BYTES,
	OTLP_MOST_FIELDS = 16, /* what a tag of one byte can say */
};

enum { OTLP_INDEX_BYTES = 12 }; /* a row in its hash index at 2/3 full; that doubles, too */

/* The fields of a message: by number how they may be on the wire, 0 = unknown. */
struct otlp_shape {
	const char *name;
	uint8_t wires[OTLP_MOST_FIELDS];
};

/*
 * The next field of @shape, unknown ones skipped. False at the end; then otlp_end() says
 * whether all went well.
 */
static inline bool otlp_next(struct otlp_decoder *decoder, struct reader *reader,
			     const struct otlp_shape *shape, struct proto_field *ret);
struct profcol_error *otlp_end(const struct otlp_decoder *decoder,
			       const struct reader *reader) PROFCOL_MUST_CHECK;

/* As above, for fields of any form. */
bool otlp_next_any(struct otlp_decoder *decoder, struct reader *reader,
		   const struct otlp_shape *shape, struct proto_field *ret);

/* Nearly all fields are known ones whose number or length is one byte. */
static inline bool otlp_next(struct otlp_decoder *decoder, struct reader *reader,
			     const struct otlp_shape *shape, struct proto_field *ret)
{
	const uint8_t *at = reader->at;
	size_t left = reader_left(reader);

	if (left < 2 || at[0] >= 0x80 || at[1] >= 0x80)
		return otlp_next_any(decoder, reader, shape, ret);
	*ret = (struct proto_field){
		.number = at[0] >> 3,
		.wire = (enum proto_wire)(at[0] & 7),
		.value = at[1],
	};
	if (!(shape->wires[ret->number] & 1u << ret->wire & (AS_NUMBER | AS_BYTES)))
		return otlp_next_any(decoder, reader, shape, ret);
	reader->at = at + 2;
	if (ret->wire == PROTO_VARINT)
		return true;
	if (at[1] > left - 2) {
		reader->failed = true;
		return false;
	}
	reader->at += at[1];
	ret->bytes = (struct reader){ .at = at + 2, .end = reader->at };
	return true;
}

/* Take @bytes out of the budget, twice: what grows doubles. An error when it is used up. */
struct profcol_error *otlp_charge(struct otlp_decoder *decoder, size_t bytes) PROFCOL_MUST_CHECK;
struct profcol_error *otlp_no_memory(void) PROFCOL_MUST_CHECK;

/* Room for @extra more items in a scratch vector, paid for. Gives an error. */
#define OTLP_RESERVE(decoder, vector, extra)                                                       \
	({                                                                                         \
		struct profcol_error *error_ = NULL;                                               \
		size_t wanted_ = (vector)->count + (extra);                                        \
                                                                                                   \
		if (wanted_ > (vector)->capacity) {                                                \
			error_ = otlp_charge(decoder, wanted_ * sizeof(*(vector)->items));         \
			if (!error_ && !VECTOR_RESERVE(vector, extra))                             \
				error_ = otlp_no_memory();                                         \
		}                                                                                  \
		error_;                                                                            \
	})

/* The id of row @index of @table; @what names the index in the error. */
struct profcol_error *otlp_index_error(const struct otlp_decoder *decoder, enum otlp_table table,
				       const char *what, uint64_t index) PROFCOL_MUST_CHECK;

static inline struct profcol_error *PROFCOL_MUST_CHECK otlp_id(const struct otlp_decoder *decoder,
							       enum otlp_table table,
							       const char *what, uint64_t index,
							       uint32_t *ret)
{
	const struct otlp_ids *ids = &decoder->tables[table];

	if (index < ids->decoded)
		*ret = ids->ids[index];
	else if (!index)
		*ret = 0; // "none" needs no table
	else
		return otlp_index_error(decoder, table, what, index);
	return NULL;
}

/* A `string` or `bytes` field into the batch. */
struct profcol_error *otlp_string(struct otlp_decoder *decoder, struct reader bytes,
				  uint32_t *ret) PROFCOL_MUST_CHECK;
struct profcol_error *otlp_blob(struct otlp_decoder *decoder, const void *bytes, size_t length,
				uint32_t *ret) PROFCOL_MUST_CHECK;

/* An id of @wanted bytes, or of none, which is all zeros; @what names it in the error. */
struct profcol_error *otlp_bytes_id(struct reader bytes, const char *what, uint8_t *to,
				    size_t wanted) PROFCOL_MUST_CHECK;

/* Append the attributes of an `attribute_indices` field to decoder->list. */
struct profcol_error *otlp_attribute_indices(struct otlp_decoder *decoder,
					     const struct proto_field *field) PROFCOL_MUST_CHECK;

/* decoder->list as an attribute list. */
struct profcol_error *otlp_attribute_list(struct otlp_decoder *decoder,
					  uint32_t *ret) PROFCOL_MUST_CHECK;

/* ---- any_value.c ---- */

/* An AnyValue as it is on the wire: the last of its members. */
struct otlp_any {
	uint32_t member; /* field number; 0 = none */
	uint64_t number;
	struct reader bytes;
};

/* Zero-initialized before the first piece of the message. */
struct profcol_error *otlp_any_read(struct otlp_decoder *decoder, struct reader bytes,
				    struct otlp_any *any) PROFCOL_MUST_CHECK;

/* Into the batch. */
struct profcol_error *otlp_any_value(struct otlp_decoder *decoder, const struct otlp_any *any,
				     struct profcol_value *ret) PROFCOL_MUST_CHECK;

/* A KeyValue of a resource or scope: append its attribute to decoder->list. */
struct profcol_error *otlp_key_value(struct otlp_decoder *decoder,
				     struct reader bytes) PROFCOL_MUST_CHECK;

/* ---- decode_dictionary.c ---- */

/* Note a piece of the dictionary, and decode them all. */
struct profcol_error *otlp_note_dictionary(struct otlp_decoder *decoder,
					   struct reader bytes) PROFCOL_MUST_CHECK;
struct profcol_error *otlp_decode_dictionary(struct otlp_decoder *decoder) PROFCOL_MUST_CHECK;

/* ---- decode_profile.c ---- */

/* A Profile and its samples, into the last scope of the builder. */
struct profcol_error *otlp_decode_profile(struct otlp_decoder *decoder,
					  struct reader bytes) PROFCOL_MUST_CHECK;
