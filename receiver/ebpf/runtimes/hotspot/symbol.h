/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a JVM: a Symbol is a length and so many bytes of modified UTF-8 (JVM specification,
 * 4.4.7; JDK, src/hotspot/share/oops/symbol.hpp). One thread at a time.
 */
#pragma once

#include "hotspot.h"

enum { HOTSPOT_TEXT_BYTES = 2000 }; /* of one name; the rest is cut */

struct hotspot_text {
	size_t length;
	char bytes[HOTSPOT_TEXT_BYTES];
};

/* The name at @address as UTF-8: what is none is U+FFFD. */
enum runtime_outcome hotspot_read_symbol(const struct hotspot_offsets *offsets,
					 const struct runtime_memory *memory, uint64_t address,
					 struct hotspot_text *ret);

/*
 * Take from the name of a class what differs between runs: the address at the end of the name of a
 * hidden class (`+0x…`, up to JDK 14 `/0x…`), and of one that stands for a lambda its number
 * (`$$Lambda$14`).
 */
void hotspot_mask_class(struct hotspot_text *name);

/* @character as UTF-8; a surrogate as U+FFFD. False: there is no room. */
bool hotspot_text_character(struct hotspot_text *to, uint32_t character);

/* Is the name at @address @name, which has less than 64 bytes? */
bool hotspot_is_symbol(const struct hotspot_offsets *offsets, const struct runtime_memory *memory,
		       uint64_t address, const char *name);

/* Of what fits. */
void hotspot_text_append(struct hotspot_text *to, const char *text, size_t length);
