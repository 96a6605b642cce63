// SPDX-License-Identifier: Apache-2.0
#include "inflate.h"

#include "base/base.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

enum {
	FIRST_ROOM = 64 << 10,
	XZ_MEMORY = 64 << 20, /* level 9 takes 65 MiB with its own state, level 6, the default, 9 */
};

static int inflate_zlib(const void *from, size_t length, void *to, size_t size)
{
	uLongf got = size;
	int status = uncompress(to, &got, from, length);

	if (status == Z_MEM_ERROR)
		return -ENOMEM;
	return status == Z_OK && got == size ? 0 : -EINVAL;
}

static int inflate_zstd(const void *from, size_t length, void *to, size_t size)
{
	size_t got = ZSTD_decompress(to, size, from, length);

	return !ZSTD_isError(got) && got == size ? 0 : -EINVAL;
}

int inflate_section(uint32_t type, const void *from, size_t length, void *to, size_t size)
{
	switch (type) {
	case ELFCOMPRESS_ZLIB:
		return inflate_zlib(from, length, to, size);
	case ELFCOMPRESS_ZSTD:
		return inflate_zstd(from, length, to, size);
	default:
		return -ENOTSUP;
	}
}

static int xz_status(lzma_ret status)
{
	switch (status) {
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -EFBIG;
	default:
		return -EINVAL;
	}
}

/* More room for what @stream writes to *@to. */
static int xz_grow(lzma_stream *stream, uint8_t **to, size_t *room, size_t max_bytes)
{
	size_t wanted = *room * 2 < max_bytes ? *room * 2 : max_bytes;
	uint8_t *grown;

	if (*room == max_bytes)
		return -EFBIG;
	grown = realloc(*to, wanted);
	if (!grown)
		return -ENOMEM;
	*to = grown;
	stream->next_out = grown + *room;
	stream->avail_out = wanted - *room;
	*room = wanted;
	return 0;
}

static int xz_run(lzma_stream *stream, uint8_t **to, size_t max_bytes)
{
	size_t room = FIRST_ROOM < max_bytes ? FIRST_ROOM : max_bytes;
	lzma_ret status;

	*to = malloc(room ? room : 1);
	if (!*to)
		return -ENOMEM;
	stream->next_out = *to;
	stream->avail_out = room;
	while ((status = lzma_code(stream, LZMA_FINISH)) == LZMA_OK) {
		int result = stream->avail_out ? 0 : xz_grow(stream, to, &room, max_bytes);

		if (result)
			return result;
	}
	return status == LZMA_STREAM_END ? 0 : xz_status(status);
}

int inflate_xz(const void *from, size_t length, size_t max_bytes, void **ret, size_t *bytes_ret)
{
	lzma_stream stream = LZMA_STREAM_INIT;
	CLEANUP_FREE uint8_t *to = NULL;
	lzma_ret begun;
	int result;

	begun = lzma_stream_decoder(&stream, XZ_MEMORY, 0);
	if (begun != LZMA_OK)
		return xz_status(begun);
	stream.next_in = from;
	stream.avail_in = length;
	result = xz_run(&stream, &to, max_bytes);
	*bytes_ret = stream.total_out;
	lzma_end(&stream);
	if (!result)
		*ret = TAKE(to);
	return result;
}
