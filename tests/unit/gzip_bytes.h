/* SPDX-License-Identifier: Apache-2.0 */
/* Packs bytes as gzip(1) does. Behind the headers that cmocka needs. */
#pragma once

#include <cmocka.h>
#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

/* The caller's to free, of *@length_ret bytes. */
static inline uint8_t *gzip_bytes(const uint8_t *bytes, size_t length, size_t *length_ret)
{
	size_t bound = compressBound(length) + 64;
	uint8_t *packed = malloc(bound);
	z_stream stream = { .next_in = (Bytef *)(uintptr_t)bytes,
			    .avail_in = (unsigned int)length,
			    .next_out = packed,
			    .avail_out = (unsigned int)bound };

	assert_int_equal(deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY),
			 Z_OK);
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	*length_ret = stream.total_out;
	deflateEnd(&stream);
	return packed;
}
