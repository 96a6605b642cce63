/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads foreign bytes front to back without ever leaving them. After the first
 * failed read every further one fails too and gives zero, so a parser may read a
 * whole structure and ask once. Little-endian. One thread at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool failed;
};

static inline struct reader reader_over(const void *bytes, size_t length)
{
	const uint8_t *begin = bytes;

	// Nothing may come as NULL, to which not even 0 may be added.
	return (struct reader){ .at = begin, .end = length ? begin + length : begin };
}

static inline size_t reader_left(const struct reader *reader)
{
	return reader->failed ? 0 : (size_t)(reader->end - reader->at);
}

/* The next @length bytes, borrowed from the input; NULL when there are fewer. */
const void *reader_bytes(struct reader *reader, size_t length);

uint8_t reader_u8(struct reader *reader);
uint16_t reader_u16(struct reader *reader);
uint32_t reader_u32(struct reader *reader);
uint64_t reader_u64(struct reader *reader);

/* Protocol Buffers varint: at most 10 bytes, fails past 64 bits. */
uint64_t reader_varint(struct reader *reader);

/* A NUL-terminated string inside the input; NULL when no NUL follows. */
const char *reader_cstring(struct reader *reader);
