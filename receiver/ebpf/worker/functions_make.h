/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a file, and perhaps its debug file, to the index of its functions: which source has them,
 * and what tells the others apart. One thread at a time.
 */
#pragma once

#include "elf_symbols.h"
#include "worker.h"

struct functions_files {
	const void *file; /* borrowed, as all here */
	size_t file_bytes;
	const void *debug; /* may be its debug file; NULL: there is none at hand */
	size_t debug_bytes;
	enum worker_debug debug_found_by;
	struct elf_release release; /* of both files */
};

struct functions_made {
	struct elf_facts facts;
	struct worker_index index;
};

/*
 * Write the index to @to, which has room for @room bytes. 0, whatever the files hold, -EFBIG when
 * there is no room for it, or -ENOMEM.
 */
int functions_make(const struct functions_files *files, void *to, size_t room,
		   struct functions_made *ret);
