/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of one to five bytes, as HotSpot packs its tables (JDK, src/hotspot/share/code/
 * compressedStream.hpp; utilities/unsigned5.hpp from JDK 20 on), read from the memory of a process.
 * One thread at a time.
 */
#pragma once

#include "runtimes/runtime.h"

struct compressed {
	const struct runtime_memory *memory;
	uint64_t at, limit; /* addresses: of what comes next, and where it ends */
	bool without_zeros; /* from JDK 20 on no byte of a number is 0 */
	uint32_t ahead;     /* bytes that were read, but not given */
	uint8_t bytes[64];
};

/* From @at on, up to @limit. @version: of the JDK. */
struct compressed compressed_begin(const struct runtime_memory *memory, uint64_t at, uint64_t limit,
				   uint16_t version);

/* False at the end, where memory cannot be read, and for what is no number. */
bool compressed_byte(struct compressed *from, uint8_t *ret);
bool compressed_number(struct compressed *from, uint32_t *ret);
bool compressed_signed(struct compressed *from, int32_t *ret);
