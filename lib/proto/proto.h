/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol Buffers on the wire, without a tree of objects. The one header of
 * lib/proto that other folders include; messages that protobuf-c decodes come
 * from the generated NAME.pb-c.h.
 *
 * Writing takes two passes over the same code: the first measures and keeps the
 * size of each submessage in the order of the calls, the second writes. Both must
 * therefore make the same calls with the same values.
 */
#pragma once

#include "base/base.h"

#include <profcol/errors.h>

#include <pb_encode.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- writing (writer.c): one thread at a time ---- */

/* Sizes of submessages and packed arrays in the order of the calls. */
struct proto_sizes {
	uint32_t *items; /* owned */
	size_t count, capacity;
};

void proto_sizes_deinit(struct proto_sizes *sizes);

struct proto_writer {
	pb_ostream_t stream;
	struct proto_sizes *sizes; /* borrowed; NULL when measuring for the total only */
	uint8_t *buffer;           /* borrowed; NULL while measuring */
	size_t next;               /* size to use next, while writing */
	bool failed;               /* no memory, or the two passes differ */
};

/* Largest message that peers take: 2^31 - 1 bytes. Sizes above are measured, but not written. */
enum { PROTO_MAX_BYTES = INT32_MAX };

/* First pass. @sizes (emptied) may be NULL when no second pass follows: no memory is needed then.
 */
struct proto_writer proto_writer_measuring(struct proto_sizes *sizes);

/*
 * Second pass, into @buffer of @length bytes as measured plus one spare byte.
 * @length must not exceed PROTO_MAX_BYTES.
 */
struct proto_writer proto_writer_writing(struct proto_sizes *sizes, uint8_t *buffer, size_t length);

/* Bytes so far. */
size_t proto_writer_length(const struct proto_writer *writer);

/* Did the second pass write @length bytes, neither more nor less? */
bool proto_writer_is_complete(const struct proto_writer *writer, size_t length);

/* Scalars: left out when 0, as proto3 has it. */
static inline void proto_put_uint(struct proto_writer *writer, uint32_t field, uint64_t value);
static inline void proto_put_int(struct proto_writer *writer, uint32_t field, int64_t value);
void proto_put_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value);

/* Members of a oneof: written even when 0. */
static inline void proto_put_member_uint(struct proto_writer *writer, uint32_t field,
					 uint64_t value);
void proto_put_member_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value);

/* Written even when empty; ask first for a singular field. */
void proto_put_bytes(struct proto_writer *writer, uint32_t field, const void *bytes, size_t length);

/*
 * As above for `string` fields, where invalid UTF-8 would make strict readers
 * refuse the whole message: each bad byte becomes '?'.
 */
void proto_put_string(struct proto_writer *writer, uint32_t field, const char *bytes,
		      size_t length);

/* Bytes that are encoded already, tags included. */
void proto_put_encoded(struct proto_writer *writer, const void *bytes, size_t length);

/* Packed arrays; left out when empty. */
void proto_put_packed_u32(struct proto_writer *writer, uint32_t field, const uint32_t *items,
			  size_t count);
void proto_put_packed_i64(struct proto_writer *writer, uint32_t field, const int64_t *items,
			  size_t count);
void proto_put_packed_fixed64(struct proto_writer *writer, uint32_t field, const uint64_t *items,
			      size_t count);

/* An open submessage; pass to proto_end what proto_begin gave. */
struct proto_message {
	uint32_t field;
	size_t slot;  /* in the sizes */
	size_t start; /* bytes measured before it */
};

static inline struct proto_message proto_begin(struct proto_writer *writer, uint32_t field);
static inline void proto_end(struct proto_writer *writer, struct proto_message message);

/* Makes the calls that write one whole message; @context holds the writer it uses. */
typedef void (*proto_put_function)(void *context);

/*
 * Both passes over a message: *@bytes_ret is the caller's to free(). @writer is the one that
 * @put writes with, @what names the format in errors, @remedy the way out of "too large".
 * REJECTED past PROTO_MAX_BYTES, NO_MEMORY, BAD_DATA when the passes differ.
 */
PROFCOL_MUST_CHECK struct profcol_error *proto_encode(struct proto_writer *writer,
						      struct proto_sizes *sizes,
						      proto_put_function put, void *context,
						      const char *what, const char *remedy,
						      uint8_t **bytes_ret, size_t *length_ret);

/* ---- reading field by field (field.c): pure ---- */

enum proto_wire {
	PROTO_VARINT,
	PROTO_FIXED64,
	PROTO_BYTES,
	PROTO_GROUP,
	PROTO_GROUP_END,
	PROTO_FIXED32,
};

struct proto_field {
	uint32_t number;
	enum proto_wire wire; /* never of a group */
	uint64_t value;       /* of a number */
	struct reader bytes;  /* of PROTO_BYTES, borrowed from the input */
};

/*
 * The next field of the message that @reader is over. False at its end, and then
 * @reader has failed if the bytes are malformed. Groups are skipped, nested ones up to 64 deep.
 */
static inline bool proto_next(struct reader *reader, struct proto_field *ret);

/* A varint of which most are one byte long; fails like reader_varint(). */
static inline uint64_t proto_varint(struct reader *reader);

/* ---- checking before a decoder that bounds nothing (check.c): pure ---- */

/*
 * What a message looks like, as far as the check needs it: the fields that hold
 * messages or packed varints. All others are skipped by wire type.
 */
struct proto_shape;

struct proto_field_shape {
	uint32_t field;
	const struct proto_shape *message; /* NULL: packed varints */
};

struct proto_shape {
	const struct proto_field_shape *fields;
	size_t count;
};

struct proto_limits {
	unsigned int max_depth;
	size_t max_elements; /* fields and packed items, unknown ones included */
};

/*
 * Walk @bytes as a message of @shape. Returns NULL when it is well-formed and
 * inside the limits, else what is wrong (a constant) with *@offset_ret the byte
 * where. Groups are refused.
 */
const char *proto_check(const uint8_t *bytes, size_t length, const struct proto_shape *shape,
			const struct proto_limits *limits, size_t *offset_ret);

/* What is called for every field. */
#include "inline.h"
