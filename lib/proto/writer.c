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

void proto_put_last_number(struct proto_writer *writer, uint64_t tag, uint64_t value)
{
	writer->stream.state = writer->buffer + writer->stream.bytes_written;
	writer->failed |= !pb_encode_varint(&writer->stream, tag) ||
			  !pb_encode_varint(&writer->stream, value);
}

static void put_raw(struct proto_writer *writer, const void *bytes, size_t length)
{
	uint8_t *at;

	if (!writer->buffer) {
		writer->stream.bytes_written += length;
		return;
	}
	at = proto_room(writer, length);
	if (!at)
		writer->failed = true;
	else if (length)
		proto_written(writer, (uint8_t *)mempcpy(at, bytes, length));
}

void proto_put_member_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value)
{
	uint8_t bytes[PROTO_LONGEST_VARINT + sizeof(value)];
	uint8_t *at = proto_varint_write(bytes, (uint64_t)field << 3 | PB_WT_64BIT);

	memcpy(at, &value, sizeof(value));
	put_raw(writer, bytes, (size_t)(at - bytes) + sizeof(value));
}

void proto_put_fixed64(struct proto_writer *writer, uint32_t field, uint64_t value)
{
	if (value)
		proto_put_member_fixed64(writer, field, value);
}

void proto_put_bytes(struct proto_writer *writer, uint32_t field, const void *bytes, size_t length)
{
	proto_put_number(writer, PB_WT_STRING, field, length);
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

/*
 * Tag and length of a packed array of @size bytes (measured; while writing, the size kept).
 * True when its items have to be written next, from *@at to *@end.
 */
static inline bool packed_begin(struct proto_writer *writer, uint32_t field, size_t size,
				uint8_t **at, uint8_t **end)
{
	if (!writer->buffer) {
		proto_size_push(writer, size);
		proto_put_number(writer, PB_WT_STRING, field, size);
		writer->stream.bytes_written += size;
		return false;
	}
	size = proto_size_next(writer);
	proto_put_number(writer, PB_WT_STRING, field, size);
	*at = proto_room(writer, size);
	if (!*at) {
		writer->failed = true;
		return false;
	}
	*end = *at + size;
	return true;
}

/*
 * The items of a packed array of integers, from @at to @end. Where each takes one byte they
 * are only narrowed, many at once. Gives the end of what was written.
 */
#define PACKED_WRITE(at, end, items, count)                                                        \
	({                                                                                         \
		uint8_t *at_ = (at);                                                               \
		size_t i_ = 0;                                                                     \
                                                                                                   \
		if ((size_t)((end) - at_) == (count))                                              \
			for (; i_ < (count) && (uint64_t)(items)[i_] < 0x80; i_++)                 \
				at_[i_] = (uint8_t)(items)[i_];                                    \
		at_ += i_;                                                                         \
		while (i_ < (count) && (end) - at_ >= PROTO_LONGEST_VARINT)                        \
			at_ = proto_varint_write(at_, (uint64_t)(items)[i_++]);                    \
		while (i_ < (count) &&                                                             \
		       (size_t)((end) - at_) >= proto_varint_size((uint64_t)(items)[i_]))          \
			at_ = proto_varint_write(at_, (uint64_t)(items)[i_++]);                    \
		at_;                                                                               \
	})

static void packed_end(struct proto_writer *writer, const uint8_t *at, const uint8_t *end)
{
	writer->failed |= at != end;
	proto_written(writer, at);
}

void proto_put_packed_u32(struct proto_writer *writer, uint32_t field, const uint32_t *items,
			  size_t count)
{
	size_t size = count, i = 0;
	uint8_t *at, *end;

	if (!count)
		return;
	// Comparisons, unlike counting bits, are made for several items at once.
	for (; !writer->buffer && i < count; i++)
		size += (items[i] >= 1u << 7) + (items[i] >= 1u << 14) + (items[i] >= 1u << 21) +
			(items[i] >= 1u << 28);
	if (!packed_begin(writer, field, size, &at, &end))
		return;
	packed_end(writer, PACKED_WRITE(at, end, items, count), end);
}

void proto_put_packed_i64(struct proto_writer *writer, uint32_t field, const int64_t *items,
			  size_t count)
{
	size_t size = 0, i = 0;
	uint8_t *at, *end;

	if (!count)
		return;
	for (; !writer->buffer && i < count; i++)
		size += proto_varint_size((uint64_t)items[i]);
	if (!packed_begin(writer, field, size, &at, &end))
		return;
	packed_end(writer, PACKED_WRITE(at, end, items, count), end);
}

void proto_put_packed_fixed64(struct proto_writer *writer, uint32_t field, const uint64_t *items,
			      size_t count)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "memory is as the wire is");
	if (!count)
		return;
	proto_put_number(writer, PB_WT_STRING, field, count * sizeof(uint64_t));
	put_raw(writer, items, count * sizeof(uint64_t));
}
