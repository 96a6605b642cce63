/* SPDX-License-Identifier: (GPL-2.0 OR Apache-2.0) */
/* What the receiver tells the kernel side of the code that HotSpot, the JVM, makes. */
#pragma once

#include "unwind_tables.h"

/*
 * Where the process itself says how the frames of this code look: JDK,
 * src/hotspot/share/memory/heap.hpp (CodeHeap) and code/codeBlob.hpp. The heap is made of segments,
 * and has blocks, each of some of them. Offsets are in bytes from a block's beginning on.
 */
struct hotspot_area {
	/* Page of 4 KiB: of each segment a byte, how far back the one before it in the block is
	 * that is to be asked next. 0: it is the first one; 255: it is in no block. */
	__u64 segments : 35;
	/* Where the code cache, all heaps of it, begins before `start`, and ends after it; in
	 * HOTSPOT_UNITs, rounded up. */
	__u64 below : 13;
	__u64 above : 13;
	/* HOTSPOT_PARTs from the interpreter's block on that hold nothing else. */
	__u64 interpreter_parts : 3;
	__u8 shift;        /* log2 of a segment's bytes, and HOTSPOT_* */
	__u8 frame_words;  /* offset of 4 bytes: words of a frame */
	__u8 complete;     /* of a number: from which byte of the code on a frame is complete */
	__u8 code;         /* of the code's address, or of its offset from `blob` on */
	__u16 interpreter; /* number of the segment that its block begins with; 65535: none */
	__u8 kind;         /* as the range's (struct unwind_range) */
	__u8 name;         /* offset of the address of what it is called */
} __attribute__((may_alias));

enum {
	HOTSPOT_SHIFT = 31,       /* mask */
	HOTSPOT_NARROW = 1 << 5,  /* `complete` is of 2 bytes, else 4 */
	HOTSPOT_OFFSETS = 1 << 6, /* `code` is of an offset, of 4 bytes */
	HOTSPOT_SMALL = 1 << 7,   /* a blob lies 8 bytes into its block, else 16 */
	HOTSPOT_FREE = 255,
	HOTSPOT_NO_SEGMENT = 65535,
	/* Bytes. A cache has 2 GiB at most. A unit is short: words that lead somewhere near the
	 * cache are taken for return addresses. */
	HOTSPOT_UNIT = 1 << 18,
	HOTSPOT_UNITS = (1 << 13) - 1,
	HOTSPOT_PART = 1 << 14, /* bytes; the interpreter has some 100 KiB */
	HOTSPOT_PARTS = (1 << 3) - 1,
};

_Static_assert(sizeof(struct hotspot_area) == sizeof(((struct unwind_range *)0)->area),
	       "it is all of an area");
_Static_assert(__builtin_offsetof(struct hotspot_area, kind) == UNWIND_AREA_KIND, "one kind");
