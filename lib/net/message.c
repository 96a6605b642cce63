// SPDX-License-Identifier: Apache-2.0
#include "message.h"

#include "base/base.h"

#include <grpc/byte_buffer_reader.h>
#include <grpc/slice.h>
#include <libdeflate.h>

#include <stdlib.h>
#include <string.h>

/* As gzip and Go have it: here the smallest that is worth its time. */
enum { GZIP_LEVEL = 6 };

static bool message_deflate(const uint8_t *bytes, size_t length, grpc_slice *ret)
{
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(GZIP_LEVEL);
	size_t bound, packed = 0;
	uint8_t *buffer = NULL, *shrunk;

	if (!compressor)
		return false;
	bound = libdeflate_gzip_compress_bound(compressor, length);
	buffer = malloc(bound);
	if (buffer)
		packed = libdeflate_gzip_compress(compressor, bytes, length, buffer, bound);
	libdeflate_free_compressor(compressor);
	if (!packed) {
		free(buffer);
		return false;
	}
	// It may be held for as long as the peer takes to answer.
	shrunk = realloc(buffer, packed);
	*ret = grpc_slice_new(shrunk ? shrunk : buffer, packed, free);
	return true;
}

grpc_byte_buffer *message_pack(const uint8_t *bytes, size_t length, bool gzip)
{
	grpc_byte_buffer *buffer;
	grpc_slice slice;

	if (!gzip) {
		// Copied: of a call that was cancelled, the transport may hold the bytes longer
		// than our caller does.
		slice = grpc_slice_from_copied_buffer((const char *)bytes, length);
		buffer = grpc_raw_byte_buffer_create(&slice, 1);
	} else if (message_deflate(bytes, length, &slice)) {
		buffer = grpc_raw_compressed_byte_buffer_create(&slice, 1, GRPC_COMPRESS_GZIP);
	} else {
		return NULL;
	}
	grpc_slice_unref(slice);
	return buffer;
}

/* All of @buffer as it is. */
static uint8_t *message_collect(grpc_byte_buffer *buffer, size_t length)
{
	grpc_byte_buffer_reader reader;
	uint8_t *bytes = malloc(length);
	size_t at = 0;
	grpc_slice slice;

	if (!bytes)
		return NULL;
	if (!grpc_byte_buffer_reader_init(&reader, buffer)) {
		free(bytes);
		return NULL;
	}
	while (grpc_byte_buffer_reader_next(&reader, &slice)) {
		size_t part = GRPC_SLICE_LENGTH(slice);

		if (part > length - at)
			part = length - at;
		memcpy(bytes + at, GRPC_SLICE_START_PTR(slice), part);
		at += part;
		grpc_slice_unref(slice);
	}
	grpc_byte_buffer_reader_destroy(&reader);
	return bytes;
}

enum message_fault message_unpack(grpc_byte_buffer *buffer, size_t max_bytes, uint8_t **bytes_ret,
				  size_t *length_ret)
{
	size_t length = grpc_byte_buffer_length(buffer);
	grpc_compression_algorithm algorithm = buffer->data.raw.compression;
	CLEANUP_FREE uint8_t *bytes = NULL;
	struct memory_share share = { 0 };

	*bytes_ret = NULL;
	*length_ret = 0;
	if (length && length <= max_bytes)
		bytes = message_collect(buffer, length);
	// Before there is an inflated copy, too.
	grpc_byte_buffer_destroy(buffer);
	if (!length)
		return MESSAGE_SOUND;
	if (length > max_bytes)
		return MESSAGE_TOO_LARGE;
	if (!bytes)
		return MESSAGE_NO_MEMORY;
	if (algorithm != GRPC_COMPRESS_NONE)
		return inflate_message(algorithm == GRPC_COMPRESS_GZIP ? INFLATE_GZIP
								       : INFLATE_ZLIB,
				       bytes, length, max_bytes, &share, bytes_ret, length_ret);
	*bytes_ret = TAKE(bytes);
	*length_ret = length;
	return MESSAGE_SOUND;
}
