// SPDX-License-Identifier: Apache-2.0
#include "gzip.h"

#include "base/base.h"

#include <libdeflate.h>
#include <zlib.h>

enum { GZIP_WINDOW_BITS = 15 + 16, FIRST_BYTES = 64 * 1024 };

bool gzip_is_magic(const uint8_t *bytes, size_t length)
{
	return length >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

static void compressor_cleanup(struct libdeflate_compressor **compressor)
{
	libdeflate_free_compressor(*compressor);
}

struct profcol_error *gzip_compress(const uint8_t *bytes, size_t length, int level,
				    uint8_t **bytes_ret, size_t *length_ret)
{
	CLEANUP(compressor_cleanup)
	struct libdeflate_compressor *compressor = libdeflate_alloc_compressor(level);
	CLEANUP_FREE uint8_t *packed = NULL;
	size_t bound, packed_length;

	if (!compressor)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to compress");
	bound = libdeflate_gzip_compress_bound(compressor, length);
	packed = malloc(bound);
	if (!packed)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to compress");
	packed_length = libdeflate_gzip_compress(compressor, bytes, length, packed, bound);
	if (!packed_length)
		return profcol_error_create(PROFCOL_SYSTEM, "libdeflate did not compress");
	*bytes_ret = TAKE(packed);
	*length_ret = packed_length;
	return NULL;
}

/* What is inflated so far. */
struct output {
	uint8_t *bytes;
	size_t length, capacity, max_bytes;
	struct memory_share *share; /* borrowed; NULL = none */
};

/*
 * Room for more. The buffer may grow one byte past the limit: whoever uses that one
 * is too long, without one that fits exactly being refused.
 */
static struct profcol_error *output_reserve(struct output *output)
{
	size_t limit = output->max_bytes < SIZE_MAX ? output->max_bytes + 1 : SIZE_MAX;
	size_t grown = output->capacity ? output->capacity * 2 : FIRST_BYTES;
	uint8_t *bytes;

	if (output->length < output->capacity)
		return NULL;
	if (output->length >= limit)
		return profcol_error_create(PROFCOL_BAD_DATA, "gzip holds more than %zu bytes",
					    output->max_bytes);
	if (grown > limit || grown < output->capacity)
		grown = limit;
	if (output->share && !memory_share_take(output->share, grown - output->capacity))
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to inflate: %s",
					    memory_share_reason(output->share));
	bytes = realloc(output->bytes, grown);
	if (!bytes)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to inflate");
	output->bytes = bytes;
	output->capacity = grown;
	return NULL;
}

static unsigned int clamp(size_t length)
{
	return length > UINT32_MAX / 2 ? UINT32_MAX / 2 : (unsigned int)length;
}

/* One call of inflate() over what is left on both sides. */
static int inflate_step(z_stream *stream, const uint8_t *bytes, size_t *at, size_t length,
			struct output *output)
{
	unsigned int in = clamp(length - *at), out = clamp(output->capacity - output->length);
	int status;

	stream->next_in = (Bytef *)(uintptr_t)(bytes + *at);
	stream->avail_in = in;
	stream->next_out = output->bytes + output->length;
	stream->avail_out = out;
	status = inflate(stream, Z_NO_FLUSH);
	*at += in - stream->avail_in;
	output->length += out - stream->avail_out;
	return status;
}

static struct profcol_error *inflate_members(z_stream *stream, const uint8_t *bytes, size_t length,
					     struct output *output)
{
	size_t at = 0;

	for (;;) {
		struct profcol_error *error = output_reserve(output);
		int status;

		if (error)
			return error;
		status = inflate_step(stream, bytes, &at, length, output);
		if (status == Z_STREAM_END) {
			if (at == length)
				return NULL;
			if (inflateReset(stream) != Z_OK)
				return profcol_error_create(PROFCOL_NO_MEMORY,
							    "no memory to inflate");
			continue;
		}
		if (status == Z_MEM_ERROR)
			return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to inflate");
		if (status != Z_OK && status != Z_BUF_ERROR)
			return profcol_error_create(PROFCOL_BAD_DATA,
						    "gzip is damaged at byte %zu: %s", at,
						    stream->msg ? stream->msg : "no detail");
		if (at == length && output->length < output->capacity)
			return profcol_error_create(PROFCOL_BAD_DATA,
						    "gzip is cut short after %zu bytes", length);
	}
}

struct profcol_error *gzip_inflate(const uint8_t *bytes, size_t length, size_t max_bytes,
				   struct memory_share *share, uint8_t **bytes_ret,
				   size_t *length_ret)
{
	struct output output = { .max_bytes = max_bytes, .share = share };
	z_stream stream = { 0 };
	struct profcol_error *error;

	if (inflateInit2(&stream, GZIP_WINDOW_BITS) != Z_OK)
		return profcol_error_create(PROFCOL_NO_MEMORY, "no memory to inflate");
	error = inflate_members(&stream, bytes, length, &output);
	inflateEnd(&stream);
	if (!error && output.length > max_bytes)
		error = profcol_error_create(PROFCOL_BAD_DATA, "gzip holds more than %zu bytes",
					     max_bytes);
	if (error) {
		free(output.bytes);
		return error;
	}
	*bytes_ret = output.bytes;
	*length_ret = output.length;
	return NULL;
}
