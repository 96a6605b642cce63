/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers and pointers as DWARF sections write them: LEB128 (DWARF 5, section 7.6) and the
 * pointer encodings of .eh_frame (Linux Standard Base 5.0 Core, section 10.5). One thread at a
 * time.
 */
#pragma once

#include "base/base.h"

enum {
	ENCODING_ABSPTR = 0x00,
	ENCODING_ULEB128 = 0x01,
	ENCODING_UDATA2 = 0x02,
	ENCODING_UDATA4 = 0x03,
	ENCODING_UDATA8 = 0x04,
	ENCODING_SLEB128 = 0x09,
	ENCODING_SDATA2 = 0x0a,
	ENCODING_SDATA4 = 0x0b,
	ENCODING_SDATA8 = 0x0c,
	ENCODING_FORMAT = 0x0f, /* mask of the above */
	ENCODING_PCREL = 0x10,
	ENCODING_DATAREL = 0x30,
	ENCODING_FUNCREL = 0x40,
	ENCODING_BASE = 0x70, /* mask of the above */
	ENCODING_INDIRECT = 0x80,
	ENCODING_OMIT = 0xff,
};

/* What a pointer may be relative to. */
struct encoding_bases {
	const uint8_t *bytes; /* a place in the input ... */
	uint64_t address;     /* ... and its address */
	uint64_t data;        /* start of .eh_frame_hdr */
	uint64_t function;    /* start of the function */
};

/* Both fail the reader past 64 bits. */
uint64_t encoding_read_uleb128(struct reader *reader);
int64_t encoding_read_sleb128(struct reader *reader);

/*
 * A pointer of @encoding. One that is INDIRECT, or relative to what we do not know, fails the
 * reader.
 */
uint64_t encoding_read_pointer(struct reader *reader, uint8_t encoding,
			       const struct encoding_bases *bases);
