/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of single places, out of pages as the kernel side has them, for walks that are finished
 * in user space. A page comes out of the kernel as a whole slab, so what was found is remembered.
 * One thread at a time.
 */
#pragma once

#include "memory.h"

enum { FOUND_RULES = 2048 }; /* a power of two */

struct found_rules {
	struct found_rule {
		uint64_t address;
		uint32_t number; /* of the file, + 1; 0: free */
		uint32_t rule;
	} found[FOUND_RULES];
	uint8_t page[UNWIND_OBJECT_BYTES];
	struct found_rule page_place; /* of what is in `page`, at whose start the address is */
};

/* Numbers of files may be given to others from now on. */
void found_rules_clear(struct found_rules *rules);

/*
 * The 16 bits of the row that holds ELF address @address of @file, whose page is the object
 * @handle. A number of a file is not given to another content before found_rules_clear, so what is
 * remembered stays true. Negative when the page cannot be read or says nothing.
 */
int32_t found_rules_find(struct found_rules *rules, const struct memory *memory, uint32_t file,
			 uint64_t address, uint32_t handle, size_t length);
