// SPDX-License-Identifier: Apache-2.0
#include "proto.h"

#include "base/base.h"

#include <string.h>

void proto_sizes_deinit(struct proto_sizes *sizes)
{
	VECTOR_DEINIT(sizes);
}

struct proto_writer proto_writer_measuring(struct proto_sizes *sizes)
{
	if (sizes)
		sizes->count = 0;
	return (struct proto_writer){ .stream = PB_OSTREAM_SIZING, .sizes = sizes };
}

struct proto_writer proto_writer_writing(struct proto_sizes *sizes, uint8_t *buffer, size_t length)
{
	return (struct proto_writer){
		.stream = pb_ostream_from_buffer(buffer, length),
		.sizes = sizes,
		.buffer = buffer,
	};
}

size_t proto_writer_length(const struct proto_writer *writer)
{
	return writer->stream.bytes_written;
}

bool proto_writer_is_complete(const struct proto_writer *writer, size_t length)
{
	return !writer->failed && writer->stream.bytes_written == length &&
	       writer->next == writer->sizes->count;
}

static void put_tag(struct proto_writer *writer, pb_wire_type_t type, uint32_t field)
{
	writer->failed |= !pb_encode_tag(&writer->stream, type, field);
}

static void put_varint(struct proto_writer *writer, uint64_t value)
{
	writer->failed |= !pb_encode_varint(&writer->stream, value);
}

static void put_raw(struct proto_writer *writer, const void *bytes, size_t length)
{
	writer->failed |= !pb_write(&writer->stream, bytes, length);
}

void proto_put_member_uint(struct proto_writer *writer, uint32_t field, uint64_t value)
{
	put_tag(writer, PB_WT_VARINT, field);
	put_varint(writer, value);
}

void proto_put_uint(struct proto_writer *writer, uint32_t field, uint64_t value)
{
	if (value)
		proto_put_member_uint(writer, field, value);
}

void proto_put_int(struct proto_writer *writer, uint32_t field, int64_t value)
{
	proto_put_uint(writer, field, (uint64_t)value);
}

void proto_put_member_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value)
{
	put_tag(writer, PB_WT_64BIT, field);
	writer->failed |= !pb_encode_fixed64(&writer->stream, &value);
}

void proto_put_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value)
{
	if (value)
		proto_put_member_fixed64(writer, field, value);
}

void proto_put_bytes(struct proto_writer *writer, uint32_t field, const void *bytes, size_t length)
{
	put_tag(writer, PB_WT_STRING, field);
	put_varint(writer, length);
	put_raw(writer, bytes, length);
}

void proto_put_string(struct proto_writer *writer, uint32_t field, const char *bytes, size_t length)
{
	char *written;

	proto_put_bytes(writer, field, bytes, length);
	if (!writer->buffer || writer->failed || !length)
		return;
	// Repair takes as many bytes as it finds, so the first pass need not know. It ends
	// with a NUL: on what the next field overwrites, or on the spare byte.
	written = (char *)writer->buffer + writer->stream.bytes_written - length;
	if (!strings_is_utf8(written, length))
		strings_sanitize_utf8(written, written, length);
}

void proto_put_encoded(struct proto_writer *writer, const void *bytes, size_t length)
{
	if (length)
		put_raw(writer, bytes, length);
}

/* Keep a size for the second pass. */
static size_t size_push(struct proto_writer *writer, size_t size)
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
static size_t size_next(struct proto_writer *writer)
{
	if (writer->next >= writer->sizes->count) {
		writer->failed = true;
		return 0;
	}
	return writer->sizes->items[writer->next++];
}

static size_t varint_size(uint64_t value)
{
	return ((size_t)(63 - __builtin_clzll(value | 1)) * 9 + 73) / 64;
}

/*
 * Tag and length of a packed array. True when the items have to be written next;
 * while measuring, @size bytes are counted for them.
 */
static bool put_packed_head(struct proto_writer *writer, uint32_t field, size_t size)
{
	if (!writer->buffer)
		size_push(writer, size);
	put_tag(writer, PB_WT_STRING, field);
	put_varint(writer, size);
	if (writer->buffer)
		return true;
	writer->stream.bytes_written += size;
	return false;
}

void proto_put_packed_u32(struct proto_writer *writer, uint32_t field, const uint32_t *items,
			  size_t count)
{
	size_t size = 0;

	if (!count)
		return;
	if (writer->buffer)
		size = size_next(writer);
	else
		for (size_t i = 0; i < count; i++)
			size += varint_size(items[i]);
	if (put_packed_head(writer, field, size))
		for (size_t i = 0; i < count; i++)
			put_varint(writer, items[i]);
}

void proto_put_packed_i64(struct proto_writer *writer, uint32_t field, const int64_t *items,
			  size_t count)
{
	size_t size = 0;

	if (!count)
		return;
	if (writer->buffer)
		size = size_next(writer);
	else
		for (size_t i = 0; i < count; i++)
			size += varint_size((uint64_t)items[i]);
	if (put_packed_head(writer, field, size))
		for (size_t i = 0; i < count; i++)
			put_varint(writer, (uint64_t)items[i]);
}

void proto_put_packed_fixed64(struct proto_writer *writer, uint32_t field, const uint64_t *items,
			      size_t count)
{
	if (!count)
		return;
	put_tag(writer, PB_WT_STRING, field);
	put_varint(writer, count * sizeof(uint64_t));
	if (!writer->buffer)
		writer->stream.bytes_written += count * sizeof(uint64_t);
	else
		for (size_t i = 0; i < count; i++)
			writer->failed |= !pb_encode_fixed64(&writer->stream, &items[i]);
}

struct proto_message proto_begin(struct proto_writer *writer, uint32_t field)
{
	struct proto_message message = { .field = field };

	if (writer->buffer) {
		put_tag(writer, PB_WT_STRING, field);
		put_varint(writer, size_next(writer));
		return message;
	}
	message.slot = size_push(writer, 0);
	message.start = writer->stream.bytes_written;
	return message;
}

void proto_end(struct proto_writer *writer, struct proto_message message)
{
	size_t size;

	if (writer->buffer)
		return;
	size = writer->stream.bytes_written - message.start;
	if (writer->sizes && !writer->failed)
		writer->sizes->items[message.slot] = (uint32_t)size;
	put_tag(writer, PB_WT_STRING, message.field);
	put_varint(writer, size);
}
