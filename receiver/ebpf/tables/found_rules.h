/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of single places, out of pages as the kernel side has them, for walks in user space. A
 * page comes out of the kernel as a whole slab, so those that were asked for are kept, up to a
 * bound, and so is what was found. One thread at a time.
 */
#pragma once

#include "memory.h"

enum {
	FOUND_RULES = 2048, /* a power of two */
	FOUND_PAGES = 4096, /* the same: some 700 have a place each, mostly */
};

/* All zero but for `most_bytes` is empty. */
struct found_rules {
	struct found_rule {
		uint64_t address;
		uint32_t number; /* of the file, + 1; 0: free */
		uint32_t rule;
	} rules[FOUND_RULES];
	struct found_page {
		uint64_t address; /* of its start */
		uint32_t number;  /* as above */
		uint32_t length, handle;
		uint8_t *bytes; /* owned */
	} pages[FOUND_PAGES];
	size_t page_bytes, most_bytes; /* of all of them; set by the owner, UNWIND_OBJECT_BYTES at
					  least */
};

/* Numbers of files may be given to others from now on. */
void found_rules_clear(struct found_rules *found);
void found_rules_deinit(struct found_rules *found);

/*
 * The 16 bits of the row that holds ELF address @address of @file, whose page is the object
 * @handle. A number of a file is not given to another content before found_rules_clear, so what is
 * remembered stays true. Negative when the page cannot be read or says nothing.
 */
int32_t found_rules_find(struct found_rules *found, const struct memory *memory, uint32_t file,
			 uint64_t address, uint32_t handle, size_t length);
