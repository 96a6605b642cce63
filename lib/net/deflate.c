// SPDX-License-Identifier: Apache-2.0
#include "deflate.h"

#include "base/base.h"

#include <libdeflate.h>
#include <zstd.h>

#include <stdlib.h>

/* As gzip, Go and zstd have it. */
enum { DEFLATE_LEVEL = 6, DEFLATE_LEVEL_MOST = 9, ZSTD_LEVEL_MOST = 19 };

const char *const net_post_compression_names[] = {
	[NET_POST_EMPTY] = "",
	[NET_POST_GZIP] = "gzip",
	[NET_POST_ZLIB] = "zlib",
	[NET_POST_DEFLATE] = "deflate",
	[NET_POST_ZSTD] = "zstd",
	[NET_POST_SNAPPY] = "snappy",
	[NET_POST_FRAMED_SNAPPY] = "x-snappy-framed",
	[NET_POST_LZ4] = "lz4",
	[NET_POST_NONE] = "none",
	NULL,
};

const char *deflate_name(enum net_post_compression compression)
{
	switch (compression) {
	case NET_POST_EMPTY:
	case NET_POST_NONE:
		return NULL;
	default:
		return net_post_compression_names[compression];
	}
}

static uint8_t *pack_zstd(int level, const uint8_t *bytes, size_t length, size_t *length_ret)
{
	size_t bound = ZSTD_compressBound(length), packed;
	uint8_t *buffer = malloc(bound);

	if (!buffer)
		return NULL;
	packed = ZSTD_compress(buffer, bound, bytes, length, level);
	if (ZSTD_isError(packed)) {
		free(buffer);
		return NULL;
	}
	*length_ret = packed;
	return buffer;
}

static uint8_t *pack_deflate(bool gzip, int level, const uint8_t *bytes, size_t length,
			     size_t *length_ret)
{
	struct libdeflate_compressor *compressor;
	uint8_t *buffer;
	size_t bound, packed = 0;

	if (level <= 0 || level > DEFLATE_LEVEL_MOST)
		level = DEFLATE_LEVEL;
	compressor = libdeflate_alloc_compressor(level);
	if (!compressor)
		return NULL;
	bound = gzip ? libdeflate_gzip_compress_bound(compressor, length)
		     : libdeflate_zlib_compress_bound(compressor, length);
	buffer = malloc(bound);
	if (buffer && gzip)
		packed = libdeflate_gzip_compress(compressor, bytes, length, buffer, bound);
	else if (buffer)
		packed = libdeflate_zlib_compress(compressor, bytes, length, buffer, bound);
	libdeflate_free_compressor(compressor);
	if (!packed) {
		free(buffer);
		return NULL;
	}
	*length_ret = packed;
	return buffer;
}

uint8_t *deflate_message(enum net_post_compression compression, int level, const uint8_t *bytes,
			 size_t length, size_t *length_ret)
{
	uint8_t *packed, *shrunk;

	// Beyond these zstd takes hundreds of MiB.
	if (compression == NET_POST_ZSTD)
		packed = pack_zstd(level < 0                 ? 0
				   : level > ZSTD_LEVEL_MOST ? ZSTD_LEVEL_MOST
							     : level,
				   bytes, length, length_ret);
	else
		packed = pack_deflate(compression == NET_POST_GZIP, level, bytes, length,
				      length_ret);
	if (!packed)
		return NULL;
	// It may be held for as long as the peer takes to answer.
	shrunk = realloc(packed, *length_ret);
	return shrunk ? shrunk : packed;
}
