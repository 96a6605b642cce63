// SPDX-License-Identifier: Apache-2.0
#include "inflate.h"

#include <libdeflate.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	/* The last four bytes of gzip say how long it was, modulo 2^32. */
	GZIP_LEAST = 18,
	ROOM_LEAST = 4096,
	/* deflate makes at most 1032 bytes of one. */
	RATIO_MOST = 1032,
};

enum inflate_kind inflate_recognize(const char *name, size_t length)
{
	static const struct {
		const char *name;
		enum inflate_kind kind;
	} names[] = {
		{ "identity", INFLATE_NONE }, { "gzip", INFLATE_GZIP }, { "x-gzip", INFLATE_GZIP },
		{ "deflate", INFLATE_ZLIB },  { "zlib", INFLATE_ZLIB }, { "zstd", INFLATE_ZSTD },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strlen(names[i].name) == length && !strncasecmp(names[i].name, name, length))
			return names[i].kind;
	return length ? INFLATE_UNKNOWN : INFLATE_NONE;
}

const char *message_fault_text(enum message_fault fault)
{
	static const char *const texts[] = {
		[MESSAGE_SOUND] = "nothing is wrong with the message",
		[MESSAGE_TOO_LARGE] = "a message is too large, or inflates beyond the limit",
		[MESSAGE_BROKEN] = "a compressed message is broken",
		[MESSAGE_NO_MEMORY] = "no memory for a message",
	};

	return texts[fault];
}

/* Guesses the length of the result by what the sender says of it, which may be wrong. */
static size_t guess_length(enum inflate_kind kind, const uint8_t *bytes, size_t length)
{
	unsigned long long said;

	if (kind == INFLATE_GZIP && length >= GZIP_LEAST) {
		const uint8_t *end = bytes + length - 4;

		return (size_t)end[0] | (size_t)end[1] << 8 | (size_t)end[2] << 16 |
		       (size_t)end[3] << 24;
	}
	if (kind == INFLATE_ZSTD) {
		said = ZSTD_getFrameContentSize(bytes, length);
		if (said != ZSTD_CONTENTSIZE_UNKNOWN && said != ZSTD_CONTENTSIZE_ERROR)
			return (size_t)said;
	}
	return length * 8;
}

/* Room to begin with: a lie about it costs no more than the message may have anyway. */
static size_t first_room(enum inflate_kind kind, const uint8_t *bytes, size_t length,
			 size_t max_bytes)
{
	size_t room = guess_length(kind, bytes, length);

	if (kind != INFLATE_ZSTD && room / RATIO_MOST > length)
		room = length * 8;
	if (room < ROOM_LEAST)
		room = ROOM_LEAST;
	return room < max_bytes ? room : max_bytes;
}

/* ---- into room that may be too small: then TOO_LARGE ---- */

static enum message_fault fault_of(enum libdeflate_result result)
{
	if (result == LIBDEFLATE_SUCCESS)
		return MESSAGE_SOUND;
	return result == LIBDEFLATE_INSUFFICIENT_SPACE ? MESSAGE_TOO_LARGE : MESSAGE_BROKEN;
}

static enum message_fault inflate_gzip(struct libdeflate_decompressor *decompressor,
				       const uint8_t *bytes, size_t length, uint8_t *to,
				       size_t room, size_t *length_ret)
{
	size_t done = 0;

	// One after the other, as Go's reader takes them.
	do {
		size_t taken, made;
		enum libdeflate_result result = libdeflate_gzip_decompress_ex(
			decompressor, bytes, length, to + done, room - done, &taken, &made);

		if (result != LIBDEFLATE_SUCCESS)
			return fault_of(result);
		bytes += taken;
		length -= taken;
		done += made;
	} while (length);
	*length_ret = done;
	return MESSAGE_SOUND;
}

static enum message_fault inflate_zstd(const uint8_t *bytes, size_t length, uint8_t *to,
				       size_t room, size_t *length_ret)
{
	size_t result = ZSTD_decompress(to, room, bytes, length);

	if (!ZSTD_isError(result)) {
		*length_ret = result;
		return MESSAGE_SOUND;
	}
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_dstSize_tooSmall:
		return MESSAGE_TOO_LARGE;
	case ZSTD_error_memory_allocation:
		return MESSAGE_NO_MEMORY;
	default:
		return MESSAGE_BROKEN;
	}
}

static enum message_fault inflate_into(enum inflate_kind kind,
				       struct libdeflate_decompressor *decompressor,
				       const uint8_t *bytes, size_t length, uint8_t *to,
				       size_t room, size_t *length_ret)
{
	if (kind == INFLATE_ZSTD)
		return inflate_zstd(bytes, length, to, room, length_ret);
	if (kind == INFLATE_GZIP)
		return inflate_gzip(decompressor, bytes, length, to, room, length_ret);
	return fault_of(
		libdeflate_zlib_decompress(decompressor, bytes, length, to, room, length_ret));
}

enum message_fault inflate_message(enum inflate_kind kind, const uint8_t *bytes, size_t length,
				   size_t max_bytes, struct memory_share *share,
				   uint8_t **bytes_ret, size_t *length_ret)
{
	struct libdeflate_decompressor *decompressor;
	enum message_fault fault = MESSAGE_NO_MEMORY;
	size_t room = first_room(kind, bytes, length, max_bytes), paid = 0;
	uint8_t *buffer = NULL;

	*bytes_ret = NULL;
	*length_ret = 0;
	decompressor = libdeflate_alloc_decompressor();
	if (!decompressor)
		return MESSAGE_NO_MEMORY;
	for (;; room = room < max_bytes / 4 ? room * 4 : max_bytes) {
		free(buffer);
		buffer = memory_share_take(share, room - paid) ? malloc(room ? room : 1) : NULL;
		if (!buffer)
			break;
		paid = room;
		fault = inflate_into(kind, decompressor, bytes, length, buffer, room, length_ret);
		if (fault != MESSAGE_TOO_LARGE || room == max_bytes)
			break;
	}
	libdeflate_free_decompressor(decompressor);
	if (!buffer)
		return MESSAGE_NO_MEMORY;
	if (fault == MESSAGE_SOUND && *length_ret)
		*bytes_ret = TAKE(buffer);
	free(buffer);
	return fault;
}
