/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What libjvm.so says of its code cache to debuggers (JDK, src/hotspot/share/runtime/
 * vmStructs.hpp: gHotSpotVMStructs, an array of the fields of its structures by type and name). The
 * file has the fields' names; where in their structure they lie the library writes there when it
 * starts. So the file tells where to read that.
 */
#pragma once

#include "runtimes/runtime.h"

/* Words of 8 bytes in the memory of a program that has loaded libjvm.so. Those that are offsets in
 * bytes into a structure it has written when its code cache is there. */
enum hotspot_word {
	HOTSPOT_HEAPS,         /* CodeCache::_heaps: address of a GrowableArray<CodeHeap *> */
	HOTSPOT_INTERPRETER,   /* AbstractInterpreter::_code: address of a StubQueue */
	HOTSPOT_ARRAY_LENGTH,  /* offset of an int in a GrowableArray... */
	HOTSPOT_ARRAY_ITEMS,   /* ...and of the address of its items */
	HOTSPOT_HEAP_MEMORY,   /* offset of a VirtualSpace in a CodeHeap: the code */
	HOTSPOT_HEAP_SEGMENTS, /* the same, with a byte for each segment of it */
	HOTSPOT_HEAP_SHIFT,    /* of an int: log2 of a segment's bytes */
	HOTSPOT_SPACE_LOW,     /* of an address in a VirtualSpace: where it is reserved from... */
	HOTSPOT_SPACE_HIGH,    /* ...and up to */
	HOTSPOT_STUBS_START,   /* of an address in a StubQueue: where the interpreter begins */
	HOTSPOT_STUBS_BYTES,   /* of an int: how long what is made of it is */
	HOTSPOT_BLOB_NAME,     /* of an address in a CodeBlob: what it is called */
	HOTSPOT_BLOB_CODE,     /* of where its code begins: see code_bytes */
	HOTSPOT_BLOB_COMPLETE, /* of how far in its code a frame is complete: complete_bytes */
	HOTSPOT_BLOB_FRAME_WORDS, /* of an int: of a frame, with its return address; or 0 */
	HOTSPOT_WORDS,
};

/* Where to read what of the code cache of a JVM (hotspot_read). */
struct hotspot_layout {
	uint64_t words[HOTSPOT_WORDS]; /* ELF addresses, multiples of 8, by enum
					  hotspot_word */
	uint32_t block_bytes;   /* of a HeapBlock, which lies before each CodeBlob; 8 or 16 */
	uint8_t code_bytes;     /* 8: an address; 4: a number of bytes from the CodeBlob on */
	uint8_t complete_bytes; /* of a signed number: 2 or 4 */
	uint16_t reserved;      /* 0 */
};

_Static_assert(sizeof(struct hotspot_layout) == 128, "no padding, 8-byte multiple");

/* False when @file is no libjvm.so, or of a version that lacks one of the fields. Bounded, whatever
 * the file holds; allocates nothing. Any thread. */
bool hotspot_read(const struct runtime_file *file, void *layout_ret);

/* Can @layout, of which no byte is believed, be one? */
bool hotspot_check(const void *layout);

/*
 * Where the heaps of a JVM's code cache lie (JDK, src/hotspot/share/code/codeCache.hpp), as its
 * memory says: what the kernel side needs to find the frames of code in them (struct hotspot_area).
 * The addresses are fixed as soon as the JVM has started; what is in the heaps comes and goes, and
 * is not read here. No word is believed. False: there are none (yet). Any thread.
 */
bool hotspot_heaps(const void *layout, uint64_t base, const struct runtime_memory *memory,
		   struct runtime_found *ret);
