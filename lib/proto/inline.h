/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of proto.h that are called for every field of a message, and what they are
 * made of. Included by proto.h alone.
 */
#pragma once

/* ---- writing ---- */

/*
 * nanopb takes every byte through a callback, which for numbers costs several times what
 * they are worth: those go straight to where its stream stands.
 */
enum { PROTO_LONGEST_VARINT = 10 };

static inline size_t proto_varint_size(uint64_t value)
{
	return (((size_t)__builtin_clzll(value | 1) ^ 63) * 9 + 73) / 64;
}

/* Gives the byte after the last. */
static inline uint8_t *proto_varint_write(uint8_t *at, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		*at++ = (uint8_t)(value | 0x80);
	*at++ = (uint8_t)value;
	return at;
}

/* Where the next @length bytes go, which the caller writes and counts; NULL past the end. */
static inline uint8_t *proto_room(const struct proto_writer *writer, size_t length)
{
	const pb_ostream_t *stream = &writer->stream;

	return length <= stream->max_size - stream->bytes_written
		       ? writer->buffer + stream->bytes_written
		       : NULL;
}

static inline void proto_written(struct proto_writer *writer, const uint8_t *end)
{
	writer->stream.bytes_written = (size_t)(end - writer->buffer);
}

/* The same at the end of the buffer, where there may be less room than a number can take. */
void proto_put_last_number(struct proto_writer *writer, uint64_t tag, uint64_t value);

/* A tag and the number after it: a value, or a length. */
static inline void proto_put_number(struct proto_writer *writer, pb_wire_type_t type,
				    uint32_t field, uint64_t value)
{
	uint64_t tag = (uint64_t)field << 3 | type;
	uint8_t *at;

	if (!writer->buffer) {
		writer->stream.bytes_written += proto_varint_size(tag) + proto_varint_size(value);
		return;
	}
	at = proto_room(writer, 2 * PROTO_LONGEST_VARINT);
	if (at)
		proto_written(writer, proto_varint_write(proto_varint_write(at, tag), value));
	else
		proto_put_last_number(writer, tag, value);
}

static inline void proto_put_member_uint(struct proto_writer *writer, uint32_t field,
					 uint64_t value)
{
	proto_put_number(writer, PB_WT_VARINT, field, value);
}

static inline void proto_put_uint(struct proto_writer *writer, uint32_t field, uint64_t value)
{
	if (value)
		proto_put_member_uint(writer, field, value);
}

static inline void proto_put_int(struct proto_writer *writer, uint32_t field, int64_t value)
{
	proto_put_uint(writer, field, (uint64_t)value);
}

/* Keep a size for the second pass. */
static inline size_t proto_size_push(struct proto_writer *writer, size_t size)
{
	struct proto_sizes *sizes = writer->sizes;

	if (!sizes)
		return 0;
	// A size that does not fit belongs to a message that is too long to be written.
	if (!VECTOR_PUSH(sizes, (uint32_t)size)) {
		writer->failed = true;
		return 0;
	}
	return sizes->count - 1;
}

/* The size kept by the first pass; 0 and failure when that one made fewer calls. */
static inline size_t proto_size_next(struct proto_writer *writer)
{
	if (writer->next >= writer->sizes->count) {
		writer->failed = true;
		return 0;
	}
	return writer->sizes->items[writer->next++];
}

static inline struct proto_message proto_begin(struct proto_writer *writer, uint32_t field)
{
	struct proto_message message = { .field = field };

	if (writer->buffer) {
		proto_put_number(writer, PB_WT_STRING, field, proto_size_next(writer));
		return message;
	}
	message.slot = proto_size_push(writer, 0);
	message.start = writer->stream.bytes_written;
	return message;
}

static inline void proto_end(struct proto_writer *writer, struct proto_message message)
{
	size_t size;

	if (writer->buffer)
		return;
	size = writer->stream.bytes_written - message.start;
	if (writer->sizes && !writer->failed)
		writer->sizes->items[message.slot] = (uint32_t)size;
	proto_put_number(writer, PB_WT_STRING, message.field, size);
}

/* ---- reading ---- */

static inline uint64_t proto_varint(struct reader *reader)
{
	if (reader->at < reader->end && *reader->at < 0x80)
		return *reader->at++;
	return reader_varint(reader);
}

/* Number and content of one field; of a group only the tag. False when malformed. */
static inline bool proto_read_field(struct reader *reader, struct proto_field *ret)
{
	uint64_t tag = proto_varint(reader), length;

	*ret = (struct proto_field){
		.number = (uint32_t)(tag >> 3),
		.wire = (enum proto_wire)(tag & 7),
	};
	if (tag > UINT32_MAX || !ret->number)
		return false;
	switch (ret->wire) {
	case PROTO_VARINT:
		ret->value = proto_varint(reader);
		break;
	case PROTO_BYTES:
		length = proto_varint(reader);
		if (length > reader_left(reader))
			return false;
		ret->bytes.at = reader->at;
		reader->at += length;
		ret->bytes.end = reader->at;
		break;
	case PROTO_FIXED64:
		ret->value = reader_u64(reader);
		break;
	case PROTO_FIXED32:
		ret->value = reader_u32(reader);
		break;
	case PROTO_GROUP:
	case PROTO_GROUP_END:
		break;
	default:
		return false;
	}
	return !reader->failed;
}

/* Skip up to the end of group @number, whose start has been read. False when malformed. */
bool proto_skip_group(struct reader *reader, uint32_t number);

static inline bool proto_next(struct reader *reader, struct proto_field *ret)
{
	while (reader_left(reader)) {
		if (!proto_read_field(reader, ret) || ret->wire == PROTO_GROUP_END ||
		    (ret->wire == PROTO_GROUP && !proto_skip_group(reader, ret->number))) {
			reader->failed = true;
			return false;
		}
		if (ret->wire != PROTO_GROUP)
			return true;
	}
	return false;
}
